//! `--notify-me`: an agent hears of the work that it gave to others, once, in a message of its own. And the skill that tells it so.

use std::fs;
use std::time::{Duration, Instant};

use dogwatch_testkit::{
    CommandOutput, McpClient, Spawned, TestEnv, dogwatch, eventually, eventually_or, process,
    wait_until,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The picture of an agent at its prompt, with an empty box.
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";

/// The same while it works.
const WORKING: &str = "› task\n\n◦ Thinking. (6s • esc to interrupt)\n\n› Ask Codex to do anything\n\n  GPT-5.5 default · /work";

const DIALOG: &str =
    include_str!("../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

/// Agents that take messages at their prompt and tell of them by hooks. What comes before their first prompt, and what they do with a
/// message, is in the scenario that `PLAY` names.
pub(crate) fn world() -> TestEnv {
    let env = TestEnv::new();
    env.write("prompt.txt", PROMPT);
    env.write("draft.txt", PROMPT.replace("› ", "› half a sentence"));
    env.write("dialog.txt", DIALOG.trim_end());
    scenario(&env, "agent", "", "");
    let script =
        format!("exec '{}' lab actor '{}/'${{PLAY:-agent}}.toml", dogwatch(), env.work().display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
    env
}

fn scenario(env: &TestEnv, name: &str, first: &str, work: &str) {
    let text = format!(
        "record = '{name}.received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n{first}\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, command = ['{0}', 'hook', 'codex'] }}\n\
         {work}\
         [[step]]\nhook = {{ event = 'Stop', command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\ngoto = 'ready'\n",
        dogwatch(),
    );
    env.write(&format!("{name}.toml"), text);
}

/// Stand-ins show messages as codex shows long ones: their box would not wrap a line as the agent's does.
fn takes_long_messages(env: &TestEnv) {
    let box_ = "want = 'line'\npaste_shown_as = '[Pasted Content {chars} chars]'\n";
    let plain = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    env.write("agent.toml", plain.replace("want = 'line'\n", box_));
}

pub(crate) fn agent(env: &TestEnv, name: &str) -> Spawned {
    let spawned = env.spawn(&["codex", "--name", name]);
    is(env, name, "idle");
    spawned
}

fn is(env: &TestEnv, name: &str, state: &str) {
    eventually(state, || env.dogwatch(&["why", name, "--json"]).success().json()["state"] == state);
}

/// A command that the agent of a session runs.
fn within(env: &TestEnv, session: &Spawned, args: &[&str]) -> CommandOutput {
    env.run(env.command(args).env("DOGWATCH_SESSION", &session.id))
}

/// The texts that a session was sent by dogwatch itself, once they are delivered.
fn told(env: &TestEnv, name: &str) -> Vec<String> {
    let listed = env.dogwatch(&["messages", name, "--json"]).success().json();
    let messages = listed["messages"].as_array().unwrap().clone();
    let ours = messages.into_iter().filter(|m| m["outcome"] == "delivered");
    let text = |m: Value| m["text"].as_str().unwrap().to_owned();
    ours.map(text).filter(|text| text.starts_with("[dogwatch]")).collect()
}

#[test]
fn each_end_is_reported_once() {
    let env = world();
    let lead = agent(&env, "lead");
    for worker in ["w1", "w2", "w3"] {
        agent(&env, worker);
    }
    let _job = within(&env, &lead, &["job", "submit", "w1", "first task", "--notify-me"]);
    let _job = within(&env, &lead, &["job", "submit", "w2", "second task", "--notify-me"]);
    let _sent = within(&env, &lead, &["send", "w3", "a hint", "--notify-me"]);
    eventually_or("the lead got all three", || {
        let all = told(&env, "lead").join("\n");
        if ["w1 ", "w2 ", "w3 "].iter().all(|name| all.contains(name)) { Ok(()) } else { Err(all) }
    });
    let _more = within(&env, &lead, &["send", "w1", "another hint"]).success();
    let _end = env.dogwatch(&["kill", "w1", "w2", "w3", "--now"]).success();
    let all = told(&env, "lead");
    for name in ["w1 ", "w2 ", "w3 "] {
        let count = all.iter().map(|text| text.matches(name).count()).sum::<usize>();
        assert_eq!(count, 1, "what happens later is none of its business: {all:#?}");
    }
}

#[test]
fn what_ends_together_is_one_message() {
    let env = world();
    scenario(&env, "worker", "", "[[step]]\nawait_file = { path = 'go', within = '60s' }\n");
    let lead = agent(&env, "lead");
    let names = ["w1", "w2", "w3"];
    for name in names {
        env.spawn(&["codex", "--name", name, "--env", "PLAY=worker"]);
        is(&env, name, "idle");
        let _job = within(&env, &lead, &["job", "submit", name, "a task", "--notify-me"]).success();
    }
    env.write("go", "");
    eventually("the lead got the message", || !told(&env, "lead").is_empty());
    let messages = told(&env, "lead");
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert!(messages[0].starts_with("[dogwatch] 3 events: "), "{messages:#?}");
    for name in names {
        assert_eq!(messages[0].matches(&format!("{name} finished job")).count(), 1, "{messages:?}");
    }
}

/// Nothing is typed while the lead is not at its prompt with an empty box; afterwards one message comes.
fn message_comes_after(obstacle: &str, state: &str) {
    let env = world();
    let first = format!(
        "[[step]]\nscreen = {{ file = '{obstacle}.txt', cursor = [19, 4] }}\n\
         [[step]]\nawait_file = {{ path = 'over', within = '60s' }}\n"
    );
    scenario(&env, "lead", &first, "");
    let lead = env.spawn(&["codex", "--name", "lead", "--env", "PLAY=lead"]);
    is(&env, "lead", state);
    agent(&env, "w");
    let job = within(&env, &lead, &["job", "submit", "w", "a task", "--notify-me", "--json"]);
    let job = job.success().json()["id"].as_str().unwrap().to_owned();
    let _ended = env.dogwatch(&["job", "wait", &job, "--timeout", "20s"]).success();
    // sleep: longer than dogwatch waits for events of one message; what must not happen causes no event.
    std::thread::sleep(Duration::from_secs(4));
    let typed = fs::read(env.work().join("lead.received")).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&typed), "", "nothing was typed");
    env.write("over", "");
    eventually_or("the lead got the message", || match told(&env, "lead").as_slice() {
        [one] if one.starts_with("[dogwatch] w finished job") => Ok(()),
        others => Err(format!("{others:?}")),
    });
}

#[test]
fn nothing_is_typed_into_a_dialog_of_the_lead() {
    message_comes_after("dialog", "waiting");
}

#[test]
fn nothing_is_typed_beside_a_draft_of_the_lead() {
    message_comes_after("draft", "idle");
}

#[test]
fn a_waiting_worker_is_reported_once_and_its_end_too() {
    let env = world();
    let asks = "[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nawait_file = { path = 'go', within = '60s' }\n";
    scenario(&env, "worker", "", asks);
    takes_long_messages(&env);
    let lead = agent(&env, "lead");
    env.spawn(&["codex", "--name", "w", "--env", "PLAY=worker"]);
    is(&env, "w", "idle");
    let _sent = within(&env, &lead, &["send", "w", "a hint", "--notify-me"]).success();
    eventually_or("the lead got its question", || match told(&env, "lead").len() {
        1 => Ok(()),
        _ => Err(env.dogwatch(&["why", "w"]).text() + &env.dogwatch(&["capture", "w"]).text()),
    });
    let question = told(&env, "lead").remove(0);
    assert!(question.contains("w waits for an answer (permission)"), "{question}");
    assert!(question.ends_with("a person decides"), "{question}");
    env.write("go", "");
    eventually("the lead got its end", || told(&env, "lead").len() == 2);
    assert!(told(&env, "lead").iter().any(|text| text.contains("w finished job")));
}

/// A working agent takes its task later; the lead need not wait for that.
#[test]
fn a_busy_worker_gets_its_task_later_and_the_lead_goes_on() {
    let env = world();
    env.write("working.txt", WORKING);
    let works = "[[step]]\nscreen = { file = 'working.txt', cursor = [2, 4] }\n\
                 [[step]]\nawait_file = { path = 'go', within = '120s' }\n";
    scenario(&env, "worker", "", works);
    takes_long_messages(&env);
    let lead = agent(&env, "lead");
    env.spawn(&["codex", "--name", "w", "--env", "PLAY=worker"]);
    is(&env, "w", "idle");
    let submit = |task| within(&env, &lead, &["job", "submit", "w", task, "--notify-me"]).success();
    let _first = submit("the first task");
    is(&env, "w", "working");
    let second = submit("the second task").text();
    let shown = env.dogwatch(&["job", "show", second.trim(), "--json"]).success().json();
    assert_eq!(shown["state"], "queued", "{shown}");
    let sent = within(&env, &lead, &["send", "w", "a hint", "--notify-me"]).success().text();
    assert!(sent.starts_with("queued: w: "), "{sent}");
    assert!(!env.work().join("go").exists());
    env.write("go", "");
    eventually_or("the lead got all three", || {
        let all = told(&env, "lead").join("\n");
        if all.matches("w finished job").count() == 3 { Ok(()) } else { Err(all) }
    });
}

/// A dialog keeps the task away from the worker: the lead hears of the dialog, and once it is answered the task is delivered.
#[test]
fn a_worker_in_a_dialog_gets_its_task_afterwards() {
    let env = world();
    let first = "[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nawait_file = { path = 'go', within = '120s' }\n";
    scenario(&env, "worker", first, "");
    takes_long_messages(&env);
    let lead = agent(&env, "lead");
    env.spawn(&["codex", "--name", "w", "--env", "PLAY=worker"]);
    is(&env, "w", "waiting");
    let job = within(&env, &lead, &["job", "submit", "w", "a task", "--notify-me", "--json"]);
    assert_eq!(job.success().json()["state"], "queued");
    eventually("the lead got its dialog", || !told(&env, "lead").is_empty());
    assert!(told(&env, "lead")[0].starts_with("[dogwatch] w waits"), "{:?}", told(&env, "lead"));
    env.write("go", "");
    eventually_or("the lead got its end", || match told(&env, "lead").as_slice() {
        [one, other] if format!("{one}{other}").contains("w finished job") => Ok(()),
        others => Err(format!("{others:?}")),
    });
}

/// `spawn --notify-me`, then `job submit --notify-me`, as the skill says: the lead waits for the worker twice, and hears of its dialog once.
#[test]
fn a_worker_with_two_callbacks_is_reported_once() {
    let env = world();
    let asks = "[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nawait_file = { path = 'go', within = '60s' }\n";
    scenario(&env, "worker", "", asks);
    takes_long_messages(&env);
    let lead = agent(&env, "lead");
    let spawn = ["spawn", "codex", "--name", "w", "--env", "PLAY=worker", "--notify-me"];
    let _spawned = within(&env, &lead, &spawn).success();
    is(&env, "w", "idle");
    let _job = within(&env, &lead, &["job", "submit", "w", "a task", "--notify-me"]).success();
    eventually("the lead got its dialog", || !told(&env, "lead").is_empty());
    env.write("go", "");
    eventually_or("the lead got its end", || {
        let all = told(&env, "lead").join("\n");
        if all.contains("w finished job") { Ok(()) } else { Err(all) }
    });
    let all = told(&env, "lead").join("\n");
    assert_eq!(all.matches("w waits for an answer").count(), 1, "{all}");
}

/// Its last turn failed, and it is at its prompt: a message can be typed.
#[test]
fn a_lead_whose_turn_failed_gets_the_message() {
    let env = world();
    let fails = format!(
        "[[step]]\nhook = {{ event = 'StopFailure', payload = {{ error = 'server_error', \
         last_assistant_message = 'API Error: 500 it broke' }}, command = ['{}', 'hook', 'codex'] }}\n",
        dogwatch()
    );
    scenario(&env, "lead", "", &fails);
    let text = fs::read_to_string(env.work().join("lead.toml")).unwrap();
    let stop = format!(
        "[[step]]\nhook = {{ event = 'Stop', command = ['{}', 'hook', 'codex'] }}\n",
        dogwatch()
    );
    assert!(text.contains(&stop));
    env.write("lead.toml", text.replace(&stop, ""));
    let lead = env.spawn(&["codex", "--name", "lead", "--env", "PLAY=lead"]);
    is(&env, "lead", "idle");
    let _sent = env.dogwatch(&["send", "lead", "begin"]).success();
    is(&env, "lead", "error");
    agent(&env, "w");
    let _job = within(&env, &lead, &["job", "submit", "w", "a task", "--notify-me"]).success();
    eventually_or("the lead got the message", || match told(&env, "lead").as_slice() {
        [one] if one.starts_with("[dogwatch] w finished job") => Ok(()),
        others => Err(format!("{others:?}\n{}", env.dogwatch(&["why", "lead"]).text())),
    });
}

/// The process that records and posts is killed: the lead still gets each event, once.
#[test]
fn a_supervisor_that_is_killed_loses_nothing() {
    let env = world();
    scenario(&env, "worker", "", "[[step]]\nawait_file = { path = 'go', within = '60s' }\n");
    let lead = agent(&env, "lead");
    env.spawn(&["codex", "--name", "w", "--env", "PLAY=worker"]);
    is(&env, "w", "idle");
    let _job = within(&env, &lead, &["job", "submit", "w", "a task", "--notify-me"]).success();
    let pid = wait_until("the supervisor serves", || env.supervisor());
    process::signal(pid, Signal::KILL);
    env.write("go", "");
    is(&env, "w", "idle");
    agent(&env, "v");
    let _job = within(&env, &lead, &["job", "submit", "v", "a task", "--notify-me"]).success();
    eventually_or("the lead got both", || {
        let all = told(&env, "lead").join("\n");
        let count = |name: &str| all.matches(&format!("{name} finished job")).count();
        if (count("w"), count("v")) == (1, 1) { Ok(()) } else { Err(all) }
    });
}

/// It ends its turn and does not run `agent complete`: the lead hears that from dogwatch.
#[test]
fn a_worker_that_forgets_to_report_its_task_is_noticed() {
    let env = world();
    takes_long_messages(&env);
    let lead = agent(&env, "lead");
    let spawn = ["pane", "spawn", "codex", "--role", "dev", "--master", &lead.pane, "--json"];
    let worker = within(&env, &lead, &spawn).success().json();
    let (name, pane) = (worker["name"].as_str().unwrap(), worker["pane"].as_str().unwrap());
    let _added = env.dogwatch(&["task", "add", "--role", "dev", "Fix it."]).success();
    let _claimed = env.dogwatch(&["agent", "claim", "--pane", pane]).success();
    let _job = within(&env, &lead, &["job", "submit", name, "begin", "--notify-me"]).success();
    eventually_or("the lead got the message", || match told(&env, "lead").as_slice() {
        [one] if one.ends_with("It has not reported TASK-001.") => Ok(()),
        others => Err(format!("{others:?}")),
    });
}

/// Whenever the server is killed while it starts a worker: either there is no worker, or the lead gets its end.
#[test]
fn a_server_that_is_killed_in_a_spawn_leaves_no_worker_unnoticed() {
    let env = world();
    let lead = agent(&env, "lead");
    env.add_profile("gemini", "", "exec sleep 600");
    let server = || McpClient::start(env.command(&["mcp"]).env("DOGWATCH_SESSION", &lead.id));
    for n in 0..6 {
        let server = server();
        let begun = Instant::now();
        server.begin_tool(
            "spawn",
            json!({ "agent": "gemini", "name": format!("w{n}"), "notify_me": true }),
        );
        let moment = Duration::from_millis(40 * n);
        eventually("the moment comes", || begun.elapsed() >= moment);
        server.kill();
    }
    let server = server();
    let listed = server.tool("sessions", json!({}))["sessions"].as_array().unwrap().clone();
    let workers: Vec<&str> = listed
        .iter()
        .filter_map(|one| one["name"].as_str().filter(|name| name.starts_with('w')))
        .collect();
    for name in &workers {
        let _killed = env.dogwatch(&["kill", name, "--now"]);
    }
    eventually_or("the lead got each end once", || {
        let all = told(&env, "lead").join("\n");
        let count = |name: &str| all.matches(&format!("{name} is ")).count();
        let is_once = workers.iter().all(|name| count(name) == 1);
        if is_once { Ok(()) } else { Err(format!("{workers:?}: {all}")) }
    });
}

#[test]
fn a_spawn_that_fails_returns_an_error_and_sends_no_message() {
    let env = world();
    let lead = agent(&env, "lead");
    env.add_profile("gemini", "", "exec sleep 600");
    let spawn = ["spawn", "gemini", "--name", "lead", "--notify-me"];
    let _refused = within(&env, &lead, &spawn).code(4);
    let _spawned =
        within(&env, &lead, &["spawn", "gemini", "--name", "w", "--notify-me"]).success();
    let _killed = env.dogwatch(&["kill", "w", "--now"]).success();
    eventually("the lead got its end", || !told(&env, "lead").is_empty());
    assert_eq!(told(&env, "lead"), ["[dogwatch] w is over: stopped."]);
}

#[test]
fn a_crash_is_reported_though_the_worker_could_not_report_it() {
    let env = world();
    let lead = agent(&env, "lead");
    env.add_profile("gemini", "", "echo working; sleep 1; exit 3");
    let spawned = within(&env, &lead, &["spawn", "gemini", "--name", "w", "--notify-me"]);
    let _spawned = spawned.success();
    eventually("the lead got the message", || {
        told(&env, "lead") == ["[dogwatch] w is over: crashed."]
    });
}

#[test]
fn notify_me_needs_a_session_of_the_caller() {
    let env = world();
    agent(&env, "w");
    let refused = env.dogwatch(&["job", "submit", "w", "task", "--notify-me", "--json"]).code(2);
    assert!(refused.to_string().contains("no_own_session"), "{refused}");
    let listed = env.dogwatch(&["job", "ls", "--json"]).success().json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 0, "nothing was submitted");
}

#[test]
fn a_plain_command_cannot_use_notify_me() {
    let env = world();
    agent(&env, "w");
    let build = env.spawn_script("build", "exec sleep 600");
    for args in [&["job", "submit", "w", "task"][..], &["send", "w", "task"], &["spawn", "codex"]] {
        let refused = within(&env, &build, &[args, &["--notify-me"]].concat()).code(2);
        assert!(refused.to_string().contains("build runs a plain command"), "{refused}");
    }
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "nothing was started: {listed}");
}

/// What the optional plugin runs when a session of claude starts.
#[test]
fn the_briefing_lists_the_agents_that_wait() {
    const HOOKS: &str =
        include_str!("../../../../contrib/claude-plugin/dogwatch-briefing/hooks/hooks.json");
    let env = world();
    let first = "[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nstall = 'forever'\n";
    scenario(&env, "asker", first, "");
    agent(&env, "quiet");
    env.spawn(&["codex", "--name", "asks", "--env", "PLAY=asker"]);
    is(&env, "asks", "waiting");
    let hooks: Value = serde_json::from_str(HOOKS).unwrap();
    let line = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let folder = std::path::Path::new(dogwatch()).parent().unwrap().display().to_string();
    let mut shell = env.foreign("sh");
    shell.args(["-c", line]).env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    let said = env.run(&mut shell).success().text();
    assert!(said.contains("asks") && !said.contains("quiet"), "{said}");
}

/// What the skill shows is what commands print, apart from what differs each time.
#[test]
fn the_skill_shows_what_commands_print() {
    const SKILL: &str =
        include_str!("../../../../contrib/claude-plugin/dogwatch/skills/dogwatch/SKILL.md");
    let shown = |command: &str| {
        let full = format!("$ dogwatch {command} ");
        let mut lines = SKILL.lines().skip_while(|line| !format!("{line} ").starts_with(&full));
        lines.nth(1).unwrap().to_owned()
    };
    let env = world();
    scenario(
        &env,
        "asker",
        "[[step]]\nscreen = { file = 'dialog.txt' }\n[[step]]\nstall = 'forever'\n",
        "",
    );
    let lead = agent(&env, "lead");
    let run = |args: &[&str]| within(&env, &lead, args).success();
    assert_eq!(
        run(&["spawn", "codex", "--name", "api", "--notify-me"]).text().trim(),
        shown("spawn")
    );
    is(&env, "api", "idle");
    let job = run(&["job", "submit", "api", "Now write the docs", "--notify-me"]).text();
    let job = job.trim();
    assert_eq!(job.len(), shown("job submit").len(), "{job}");
    let waited = run(&["job", "wait", &job[..13], "--timeout", "20s"]);
    let waited = waited.stderr.trim();
    assert!(waited.starts_with("job ") && waited.ends_with(" is done"), "{waited}");
    assert!(SKILL.contains(&format!("job {}… is done", &shown("job submit")[..9])));
    assert_eq!(run(&["send", "api", "Use the other branch"]).text().trim(), shown("send"));
    env.spawn(&["codex", "--name", "web", "--env", "PLAY=asker"]);
    is(&env, "web", "waiting");
    let listed = run(&["status"]).text();
    let words = |line: &str| line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    assert_eq!(words(listed.lines().next().unwrap()), words(&shown("status")), "{listed}");
    let waits =
        run(&["wait", "lead", "web", "--for", "waiting", "--any", "--timeout", "20s"]).text();
    let begins = shown("wait api web").replace("question: Which port?", "");
    assert!(waits.starts_with(&begins), "{waits}");
    let asks = run(&["status", "web"]).text();
    assert!(asks.contains("\n  1. ") && asks.contains("to answer: dogwatch answer web NUMBER"));
    assert!(SKILL.contains("\n  1. ") && SKILL.contains("to answer: dogwatch answer web NUMBER"));
}

#[test]
fn the_skill_is_written_and_taken_away_again() {
    let env = TestEnv::new();
    let table = [
        ("claude", ".claude/skills/dogwatch/SKILL.md", ".claude/skills/dogwatch/SKILL.md"),
        ("codex", ".codex/skills/dogwatch/SKILL.md", ".agents/skills/dogwatch/SKILL.md"),
        ("gemini", ".gemini/skills/dogwatch/SKILL.md", ".gemini/skills/dogwatch/SKILL.md"),
    ];
    fs::create_dir_all(env.work().join(".git")).unwrap();
    for (agent, of_user, of_project) in table {
        let places =
            [("--user", env.home().join(of_user)), ("--project", env.work().join(of_project))];
        for (option, path) in places {
            let said = env.dogwatch(&["install-skill", agent, option]).success().text();
            assert!(
                said.starts_with("written ") && said.contains(&path.display().to_string()),
                "{said}"
            );
            assert!(fs::read_to_string(&path).unwrap().contains("name: dogwatch"));
            let again = env.dogwatch(&["install-skill", agent, option, "--json"]).success().json();
            assert_eq!(again["files"][0]["done"], "unchanged");
            let gone = env.dogwatch(&["install-skill", agent, option, "--remove"]).success().text();
            assert!(gone.starts_with("removed ") && !path.parent().unwrap().exists(), "{gone}");
        }
    }
    let path = env.home().join(".claude/skills/dogwatch/SKILL.md");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "mine\n").unwrap();
    for more in [&[][..], &["--remove"]] {
        let refused = env.dogwatch(&[&["install-skill", "claude"][..], more].concat()).code(4);
        assert!(refused.to_string().contains("was not written by dogwatch"), "{refused}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    // A directory of the user may be a link; one that cannot be written is a clear error.
    let dotfiles = env.home().join("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::remove_dir_all(env.home().join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink(&dotfiles, env.home().join(".claude/skills")).unwrap();
    let _written = env.dogwatch(&["install-skill", "claude"]).success();
    assert!(dotfiles.join("dogwatch/SKILL.md").is_file());
    fs::remove_dir_all(env.home().join(".gemini/skills")).unwrap();
    fs::write(env.home().join(".gemini/skills"), "a file").unwrap();
    let refused = env.dogwatch(&["install-skill", "gemini"]).code(1);
    assert!(refused.to_string().contains(".gemini/skills"), "{refused}");
}

#[test]
fn outside_of_a_repository_the_project_is_the_directory() {
    let env = TestEnv::new();
    let said = env.dogwatch(&["install-skill", "claude", "--project"]).success().text();
    assert!(said.starts_with("written "), "{said}");
    assert!(env.work().join(".claude/skills/dogwatch/SKILL.md").is_file());
}
