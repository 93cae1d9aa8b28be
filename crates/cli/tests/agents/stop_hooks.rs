//! Stop hooks of the user's own: agents run them inside the turn, and they can make it go on. Until the turn is over nothing is
//! idle, no message is typed, and no job gets the answer to another one.

use std::time::Duration;

use dogwatch_testkit::eventually_or;
use model_double::Options;
use model_double::homes::Agent;
use serde_json::{Value, json};

use crate::lab::Lab;

/// Each message is answered with its own number, after up to 300 ms.
const ECHO: &str = r#"
default = ["I am the double."]

[[rule]]
match = '\[one\]'
steps = ["Answer one."]

[[rule]]
match = '\[two\]'
steps = ["Answer two."]

[[rule]]
match = '\[tests\]'
steps = ["First answer.", [{ gate = "tests" }, "All tests pass."]]

[[rule]]
match = 'run the tests before you stop'
steps = [[{ gate = "tests" }, "All tests pass."]]

[[rule]]
match = 'takes 0 ms'
steps = ["At once."]

[[rule]]
match = 'takes 100 ms'
steps = [[{ stall_s = 0.1 }, "A little later."]]

[[rule]]
match = 'takes 200 ms'
steps = [[{ stall_s = 0.2 }, "Later."]]

[[rule]]
match = 'takes 300 ms'
steps = [[{ stall_s = 0.3 }, "Last."]]
"#;

impl Lab {
    /// An agent whose user has a Stop hook of their own, which executes this script.
    fn with_stop_hook(agent: Agent, script: &str) -> Option<Self> {
        let lab = Self::with_scenario(agent, &Options::default(), ECHO)?;
        let command = lab.env.write_program("own-stop-hook", script);
        let hook = json!({ "type": "command", "command": command, "timeout": 60 });
        let stop = json!([{ "hooks": [hook] }]);
        let more: &[&str] = if agent == Agent::Claude {
            let path = lab.env.home().join(".claude/settings.json");
            let mut settings: Value =
                serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            settings["hooks"]["Stop"] = stop;
            std::fs::write(&path, settings.to_string()).unwrap();
            &["--unattended"]
        } else {
            let path = lab.env.home().join(".codex/hooks.json");
            std::fs::write(&path, json!({ "hooks": { "Stop": stop } }).to_string()).unwrap();
            // Else codex asks a person to review the hook.
            &["--unattended", "--", "--dangerously-bypass-hook-trust"]
        };
        lab.spawn(more);
        Some(lab)
    }

    fn job_done(&self, prompt: &str) -> Value {
        let words = ["job", "submit", "a", prompt, "--wait", "--timeout", "120s", "--json"];
        self.dogwatch(&words).json()
    }

    fn status_of_a(&self) -> Value {
        self.dogwatch(&["why", "a", "--json"]).success().json()
    }

    /// What the model was asked, request by request, as far as a person said it.
    fn requests_about(&self, text: &str) -> usize {
        self.asked().iter().filter(|asked| asked.contains(text)).count()
    }
}

/// Two jobs, the second while the hook of the first one's end runs.
fn each_job_has_its_own_result(agent: Agent) {
    let Some(lab) = Lab::with_stop_hook(agent, "cat > /dev/null; sleep 1") else { return };
    for round in 0..3 {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| lab.job_done(&format!("[one] {round}")));
            // sleep: the distance at which every second job got another's result.
            std::thread::sleep(Duration::from_millis(150));
            let second = scope.spawn(|| lab.job_done(&format!("[two] {round}")));
            for (job, result) in [(first, "Answer one."), (second, "Answer two.")] {
                let job = job.join().unwrap();
                assert_eq!(
                    (&job["state"], &job["result"]),
                    (&"done".into(), &result.into()),
                    "round {round}: {job:#}\n{}",
                    lab.env.screen("a")
                );
            }
        });
        for text in [format!("[one] {round}"), format!("[two] {round}")] {
            assert_eq!(lab.requests_about(&text), 1, "{:#?}", lab.asked());
        }
    }
    lab.end(&["--now"]);
}

#[test]
fn each_job_of_codex_has_its_own_result() {
    each_job_has_its_own_result(Agent::Codex);
}

#[test]
fn each_job_of_claude_has_its_own_result() {
    each_job_has_its_own_result(Agent::Claude);
}

/// Once, a hook has the agent go on; then a message is sent, and a job is waited for.
fn a_turn_that_a_hook_has_go_on(agent: Agent) {
    let script = r#"payload=$(cat)
case $payload in
*'"stop_hook_active":true'*) ;;
*) echo '{"decision":"block","reason":"run the tests before you stop"}' ;;
esac"#;
    let Some(lab) = Lab::with_stop_hook(agent, script) else { return };
    std::thread::scope(|scope| {
        let job = scope.spawn(|| lab.job_done("[tests] please"));
        lab.env.wait_screen("a", "First answer.");
        eventually_or("the turn goes on", || {
            let gates = lab.double.gates();
            if gates.waiting.contains_key("tests") { Ok(()) } else { Err(format!("{gates:?}")) }
        });
        for _ in 0..20 {
            let status = lab.status_of_a();
            assert_eq!(status["state"], "working", "{status:#}\n{}", lab.env.screen("a"));
            // sleep: what is said of it must stay so, for longer than any patience of ours.
            std::thread::sleep(Duration::from_millis(250));
        }
        let idle = ["wait", "a", "--for", "idle", "--timeout", "1s"];
        let _early = lab.dogwatch(&idle).code(124);
        lab.double.release("tests");
        let job = job.join().unwrap();
        assert_eq!(
            (&job["state"], &job["result"]),
            (&"done".into(), &"All tests pass.".into()),
            "{job:#}"
        );
    });
    let idle = ["wait", "a", "--for", "idle", "--timeout", "30s"];
    let _idle = lab.dogwatch(&idle).success();
    lab.end(&["--now"]);
}

#[test]
fn codex_goes_on_after_its_stop_hook() {
    a_turn_that_a_hook_has_go_on(Agent::Codex);
}

#[test]
fn claude_goes_on_after_its_stop_hook() {
    a_turn_that_a_hook_has_go_on(Agent::Claude);
}

/// Ten senders at once, with answers that take up to 300 ms: a turn for each message, and no message twice.
fn a_turn_for_each_message(agent: Agent) {
    let Some(lab) = Lab::with_scenario(agent, &Options::default(), ECHO) else { return };
    lab.spawn(&["--unattended"]);
    let text = |sender: usize, number: usize| {
        format!("sender {sender} number {number} takes {} ms", (sender + number) % 4 * 100)
    };
    std::thread::scope(|scope| {
        for sender in 0..10 {
            let (lab, text) = (&lab, &text);
            scope.spawn(move || {
                for number in 0..20 {
                    let words = text(sender, number);
                    let sent = lab.dogwatch(&["send", "a", &words, "--json", "--timeout", "300s"]);
                    let receipt = sent.json();
                    assert_eq!(receipt["outcome"], "delivered", "{receipt:#}");
                    assert_eq!(receipt["while_working"], false, "{receipt:#}");
                }
            });
        }
    });
    let idle = ["wait", "a", "--for", "idle", "--timeout", "30s"];
    let _idle = lab.dogwatch(&idle).success();
    let mut asked = lab.asked();
    let mut expected: Vec<String> =
        (0..10).flat_map(|sender| (0..20).map(move |number| text(sender, number))).collect();
    asked.sort();
    expected.sort();
    assert_eq!(asked, expected, "one request for each message");
    lab.end(&["--now"]);
}

#[test]
fn two_hundred_messages_of_ten_senders_to_codex() {
    a_turn_for_each_message(Agent::Codex);
}

#[test]
fn two_hundred_messages_of_ten_senders_to_claude() {
    a_turn_for_each_message(Agent::Claude);
}

/// A person may send while the agent works. While codex ends its turn it takes the text into that turn, or into the conversation
/// without asking its model; what is said of the message is true.
#[test]
fn a_message_to_codex_at_the_end_of_its_turn() {
    let script = "cat > /dev/null; until [ -e may-end ]; do sleep 0.05; done";
    let Some(lab) = Lab::with_stop_hook(Agent::Codex, script) else { return };
    let may_end = lab.env.work().join("may-end");
    for round in 0..3 {
        let one = format!("[one] {round}");
        let _ = lab.dogwatch(&["send", "a", &one, "--timeout", "60s"]).success();
        eventually_or("the answer is there, and the hook runs", || {
            let screen = lab.env.screen("a");
            if screen.matches("Answer one.").count() > round { Ok(()) } else { Err(screen) }
        });
        let two = format!("[two] {round}");
        let receipt = std::thread::scope(|scope| {
            let (lab, two) = (&lab, &two);
            let sent = scope.spawn(move || {
                let words = ["send", "a", two, "--when", "now", "--timeout", "60s", "--json"];
                lab.dogwatch(&words).json()
            });
            eventually_or("it is submitted", || {
                let all = lab.dogwatch(&["messages", "a", "--json"]).success().json();
                let last = all["messages"].as_array().unwrap().last().unwrap().clone();
                let is_so = last["text"] == **two && last["submitted"].is_string();
                if is_so { Ok(()) } else { Err(format!("{last:#}")) }
            });
            std::fs::write(&may_end, "").unwrap();
            sent.join().unwrap()
        });
        let idle = ["wait", "a", "--for", "idle", "--timeout", "30s"];
        let _idle = lab.dogwatch(&idle).success();
        std::fs::remove_file(&may_end).unwrap();
        match receipt["outcome"].as_str() {
            Some("delivered") => {
                assert_eq!(lab.requests_about(&two), 1, "{receipt:#}");
                assert_eq!(receipt["while_working"], true, "{receipt:#}");
            }
            Some("failed") => assert_eq!(lab.requests_about(&two), 0, "{receipt:#}"),
            _ => panic!("{receipt:#}"),
        }
    }
    lab.end(&["--now"]);
}
