//! Sending to an agent that does everything wrong: swallows Enter, shows late or not at all, draws over the text, asks in
//! between, dies.

use std::fs;
use std::process::Stdio;

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process, wait_until};
use rustix::process::Signal;
use serde_json::Value;

/// The picture of an agent at its prompt, with an empty box.
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";
const DIALOG: &str =
    include_str!("../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");
/// Where the box is in it.
const CURSOR: &str = "[2, 4]";

/// An agent that shows its prompt, takes a message in its own way, and tells of it by its hook.
fn agent(env: &TestEnv, box_: &str, then: &str) {
    agent_with(env, "", box_, then);
}

/// The same with something that it does at its prompt before it takes anything.
fn agent_with(env: &TestEnv, first: &str, box_: &str, then: &str) {
    spawn_agent(env, "a", first, box_, then);
}

/// One that does everything right, with a name.
pub(crate) fn agent_named(env: &TestEnv, name: &str) {
    spawn_agent(env, name, "", "", "");
}

fn spawn_agent(env: &TestEnv, name: &str, first: &str, box_: &str, then: &str) {
    env.write("prompt.txt", PROMPT);
    env.write("dialog.txt", DIALOG.trim_end());
    let scenario = format!(
        "record = 'received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = {CURSOR} }}\n{first}\
         [[step]]\n[step.input]\nwant = 'line'\n{box_}\n{then}\n\
         [[step]]\nlabel = 'taken'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, command = ['{}', 'hook', 'codex'] }}\n\
         [[step]]\nhook = {{ event = 'Stop', command = ['{}', 'hook', 'codex'] }}\n\
         [[step]]\ngoto = 'ready'\n",
        dogwatch(),
        dogwatch()
    );
    let file = env.write("agent.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
    env.spawn(&["codex", "--name", name]);
    eventually("it is at its prompt", || {
        env.dogwatch(&["why", name, "--json"]).success().json()["state"] == "idle"
    });
}

fn send(env: &TestEnv, text: &str) -> Value {
    let output = env.dogwatch(&["send", "a", text, "--timeout", "20s", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output}"))
}

/// How often the text was pasted, and how often Enter was pressed.
fn received(env: &TestEnv, text: &str) -> (usize, usize) {
    let bytes = fs::read(env.work().join("received")).unwrap_or_default();
    let seen = String::from_utf8_lossy(&bytes).into_owned();
    (seen.matches(text).count(), seen.matches('\r').count())
}

#[test]
fn the_good_way() {
    let env = TestEnv::new();
    agent(&env, "", "");
    for text in ["first message", "the second one"] {
        let receipt = send(&env, text);
        assert_eq!((&receipt["outcome"], &receipt["proof"]), (&"delivered".into(), &"hook".into()));
        assert_eq!(received(&env, text).0, 1);
    }
    let listed = env.dogwatch(&["messages", "a", "--json"]).success().json();
    let texts: Vec<_> = listed["messages"].as_array().unwrap().iter().map(|m| &m["text"]).collect();
    assert_eq!(texts, ["first message", "the second one"]);
}

#[test]
fn an_enter_that_is_swallowed_is_pressed_again() {
    let env = TestEnv::new();
    agent(&env, "swallow_enters = 1", "");
    assert_eq!(send(&env, "swallowed once")["outcome"], "delivered");
    assert_eq!(received(&env, "swallowed once"), (1, 2));
}

#[test]
fn enters_without_effect_are_given_up() {
    let env = TestEnv::new();
    agent(&env, "swallow_enters = 99", "");
    let receipt = send(&env, "never taken");
    assert_eq!(receipt["outcome"], "typed_not_submitted", "{receipt:#}");
    assert_eq!(received(&env, "never taken"), (1, 3));
}

#[test]
fn an_echo_that_is_late_is_waited_for() {
    let env = TestEnv::new();
    agent(&env, "echo = { late = '3s' }", "");
    let receipt = send(&env, "shown late");
    assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
    assert_eq!(received(&env, "shown late").0, 1);
}

/// Longer than any echo takes, and seen on a busy machine right after the start of an agent.
#[test]
fn an_agent_that_does_not_read_its_terminal_is_waited_for() {
    let env = TestEnv::new();
    let busy = "[[step]]\nawait_file = { path = 'begin', within = '60s' }\n\
                [[step]]\nwrite_file = { path = 'begun', text = 'x' }\n[[step]]\nhang = '13s'\n";
    agent_with(&env, busy, "", "");
    env.write("begin", "");
    eventually("it reads nothing any more", || env.work().join("begun").exists());
    let receipt = send(&env, "read late");
    assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
    assert_eq!(received(&env, "read late"), (1, 1), "and Enter was pressed once");
}

#[test]
fn what_never_shows_is_not_submitted() {
    let env = TestEnv::new();
    agent(&env, "echo = 'never'", "");
    let receipt = send(&env, "not to be seen");
    assert_eq!(receipt["outcome"], "failed", "{receipt:#}");
    assert!(receipt["because"].as_str().unwrap().contains("did not appear"), "{receipt:#}");
    assert_eq!(received(&env, "not to be seen"), (1, 0), "pasted once, and nothing pressed");
}

#[test]
fn a_text_that_is_drawn_over_comes_back() {
    let env = TestEnv::new();
    // The picture is drawn anew while the text is in the box, which shows it again a little later.
    let over = "timeout = { after = '2500ms', goto = 'again' }";
    let then = format!(
        "[[step]]\ngoto = 'taken'\n[[step]]\nlabel = 'again'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = {CURSOR} }}\n\
         [[step]]\n[step.input]\nwant = 'line'\necho = {{ late = '1s' }}\n"
    );
    agent(&env, &format!("echo = {{ late = '2s' }}\n{over}"), &then);
    let receipt = send(&env, "drawn over");
    assert!(["delivered", "failed"].contains(&receipt["outcome"].as_str().unwrap()), "{receipt:#}");
    assert_eq!(received(&env, "drawn over").0, 1, "never pasted twice");
}

#[test]
fn a_dialog_that_comes_up_is_not_answered() {
    let env = TestEnv::new();
    // It asks as soon as anything is in its box.
    let asks = "timeout = { after = '400ms', goto = 'asks' }\necho = { late = '5s' }";
    let then = "[[step]]\ngoto = 'taken'\n[[step]]\nlabel = 'asks'\n[[step]]\nscreen = { file = 'dialog.txt' }\n\
                [[step]]\n[step.input]\nwant = 'key'\necho = 'never'\n";
    agent(&env, asks, then);
    let receipt = send(&env, "yes or no");
    assert!(
        ["typed_not_submitted", "refused"].contains(&receipt["outcome"].as_str().unwrap()),
        "{receipt:#}"
    );
    assert_eq!(received(&env, "yes or no").1, 0, "nothing was pressed");
}

#[test]
fn an_agent_that_dies_of_a_message() {
    let env = TestEnv::new();
    agent(&env, "", "[[step]]\ncrash = 'KILL'\n");
    let receipt = send(&env, "the last word");
    assert_eq!(receipt["outcome"], "failed", "{receipt:#}");
    assert!(receipt["because"].as_str().unwrap().contains("ended"), "{receipt:#}");
    let again = env.dogwatch(&["send", "a", "anybody there?", "--json"]).code(1).json();
    assert!(again["because"].as_str().unwrap().contains("ended"), "{again:#}");
}

/// Supervisors die while the text is in the box: the last one goes on, and nothing is pasted twice.
#[test]
fn supervisors_that_are_killed_lose_and_repeat_nothing() {
    let env = TestEnv::new();
    agent(&env, "echo = { late = '3s' }", "");
    let mut sender =
        env.command(&["send", "a", "once and only once", "--timeout", "60s", "--json"]);
    let sender = sender.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it is in the box", || {
        let listed = env.dogwatch(&["messages", "a", "--json"]).success().json();
        listed["messages"][0]["staged"].is_string()
    });
    let mut killed = Vec::new();
    for _ in 0..4 {
        let next = || env.supervisor().filter(|pid| !killed.contains(pid));
        let pid = wait_until("the next one serves", next);
        process::signal(pid, Signal::KILL);
        killed.push(pid);
    }
    let receipt = env.ended(sender).success().json();
    assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
    assert_eq!(received(&env, "once and only once").0, 1);
}

#[test]
fn a_pane_in_copy_mode() {
    let env = TestEnv::new();
    agent(&env, "", "");
    env.tmux(&["copy-mode", "-t", "=a:"]);
    assert_eq!(send(&env, "into the agent")["outcome"], "delivered");
}

#[test]
fn bad_messages() {
    let env = TestEnv::new();
    agent(&env, "", "");
    env.spawn_script("plain", "exec sleep 300");
    let _ = env.dogwatch(&["send", "nosuch", "x"]).code(3);
    let _ = env.dogwatch(&["send", "plain", "x"]).code(2);
    let _ = env.dogwatch(&["send", "a"]).code(2);
    let _ = env.dogwatch(&["send", "a", " \n"]).code(2);
    let _ = env.dogwatch(&["send", "a", "!ls"]).code(2);
    let _ = env.dogwatch(&["send", "a", "--file", "/no/such"]).code(1);
    let mut not_utf8 = env.command(&["send", "a", "-"]);
    let _ = env.run_with_input(&mut not_utf8, b"\xff\xfe").code(2);
    let mut too_long = env.command(&["send", "a", "-"]);
    let _ = env.run_with_input(&mut too_long, &b"x".repeat(2 << 20)).code(2);
    let _ = env.dogwatch(&["messages", "--cancel", "nosuch"]).code(3);
    let _ = env.dogwatch(&["answer", "a", "yes"]).code(4);
    assert!(
        env.dogwatch(&["messages", "--json"]).success().json()["messages"] == Value::Array(vec![])
    );
}

/// It is the line of descent that tells an agent from a person, at the command line and at the socket.
#[test]
fn an_agent_answers_only_what_a_person_allows_agents() {
    let env = TestEnv::new();
    env.write("dialog.txt", DIALOG.trim_end());
    env.add_profile(
        "codex",
        "",
        "stty raw -echo; sed 's/$/\r/' dialog.txt; head -c 1 >/dev/null; clear; exec sleep 600",
    );
    env.spawn(&["codex", "--name", "asks"]);
    let dialog = wait_until("it asks for permission", || {
        let why = env.dogwatch(&["why", "asks", "--json"]).success().json();
        why["dialog"].as_str().map(ToOwned::to_owned)
    });
    let answer = ["answer", "asks", "1", "--json"];
    let refused = env.as_agent(&answer).code(4).json();
    assert_eq!(refused["error"]["code"], "not_allowed", "{refused}");
    let shown = env.dogwatch(&["supervisor", "--json"]).success().json();
    let ask =
        format!(r#"{{"id":1,"ask":"answer","session":"asks","choice":"1","dialog":"{dialog}"}}"#);
    let script = format!(
        "import os, socket, sys\nos.chdir(os.path.dirname(sys.argv[1]))\ns = socket.socket(socket.AF_UNIX)\n\
         s.connect(os.path.basename(sys.argv[1]))\ns.settimeout(20)\nlines = s.makefile('rw')\nlines.readline()\n\
         lines.write('{{\"hello\":{{\"protocol\":1}}}}\\n{ask}\\n')\nlines.flush()\nprint(lines.readline())\n"
    );
    let args = ["-c", &script, shown["listens"].as_str().unwrap()];
    let told = env.program_of_agent("python3", &args).success().json();
    assert_eq!(told["error"]["code"], "not_allowed", "{told}");
    let config = env.home().join(".config/dogwatch/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[mcp]\nallow = ['answer', 'approve']\n").unwrap();
    let answered = env.as_agent(&answer).success().json();
    assert_eq!(answered["outcome"], "answered", "{answered}");
}
