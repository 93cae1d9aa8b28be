//! `--notify-me`: an agent hears of the work that it gave to others, once, in a message of its own. And the skill that tells it so.

use std::fs;

use dogwatch_testkit::{CommandOutput, Spawned, TestEnv, dogwatch, eventually, eventually_or};
use serde_json::Value;

/// The picture of an agent at its prompt, with an empty box.
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";

/// Agents that take messages at their prompt and tell of them by hooks.
fn world() -> TestEnv {
    let env = TestEnv::new();
    env.write("prompt.txt", PROMPT);
    let scenario = format!(
        "[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\nhook = {{ event = 'Stop', command = ['{0}', 'hook', 'codex'] }}\n\
         [[step]]\ngoto = 'ready'\n",
        dogwatch(),
    );
    let file = env.write("agent.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
    env
}

fn agent(env: &TestEnv, name: &str) -> Spawned {
    let spawned = env.spawn(&["codex", "--name", name]);
    eventually("it is at its prompt", || {
        env.dogwatch(&["why", name, "--json"]).success().json()["state"] == "idle"
    });
    spawned
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
fn each_end_is_told_once_and_together() {
    let env = world();
    let lead = agent(&env, "lead");
    for worker in ["w1", "w2", "w3"] {
        agent(&env, worker);
    }
    let _job = within(&env, &lead, &["job", "submit", "w1", "first task", "--notify-me"]);
    let _job = within(&env, &lead, &["job", "submit", "w2", "second task", "--notify-me"]);
    let _sent = within(&env, &lead, &["send", "w3", "a hint", "--notify-me"]);
    eventually_or("all three are told", || {
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
fn a_worker_that_crashes_is_told_of_though_it_could_not_report() {
    let env = world();
    let lead = agent(&env, "lead");
    env.add_profile("gemini", "", "echo working; sleep 1; exit 3");
    let spawned = within(&env, &lead, &["spawn", "gemini", "--name", "w", "--notify-me"]);
    let _spawned = spawned.success();
    eventually("it is told", || told(&env, "lead") == ["[dogwatch] w is over: crashed."]);
}

#[test]
fn without_a_session_of_its_own_nobody_can_be_told() {
    let env = world();
    agent(&env, "w");
    let refused = env.dogwatch(&["job", "submit", "w", "task", "--notify-me", "--json"]).code(2);
    assert!(refused.to_string().contains("no_own_session"), "{refused}");
    let listed = env.dogwatch(&["job", "ls", "--json"]).success().json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 0, "nothing was submitted");
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
}
