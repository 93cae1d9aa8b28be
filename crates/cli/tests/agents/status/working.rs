//! A turn is running, however it looks.

use std::time::Duration;

use dogwatch_testkit::eventually;
use model_double::homes::Agent;

use crate::lab::Lab;
use crate::verdict::said;

/// Longer than any lag that the judge allows a source.
const A_WHILE: Duration = Duration::from_secs(4);
const A_MINUTE: Duration = Duration::from_secs(61);

/// Who says that a turn runs: claude itself, or codex's hooks.
fn teller(agent: Agent) -> &'static str {
    if agent == Agent::Claude { "own_word" } else { "hook" }
}

/// Who says that it is over: claude itself, or the last line of codex's transcript.
fn finisher(agent: Agent) -> &'static str {
    if agent == Agent::Claude { "own_word" } else { "transcript" }
}

/// Starts a turn that the gate holds up once it shows a text.
fn at_the_gate(agent: Agent, prompt: &str, shown: &str) -> Option<Lab> {
    let lab = Lab::new(agent)?;
    lab.spawn(&["--unattended", "--prompt", prompt]);
    lab.env.wait_screen("a", shown);
    lab.is("working", teller(agent));
    Some(lab)
}

fn passes_the_gate(lab: &Lab) {
    lab.double.release("gate");
    let idle = lab.settles("idle", finisher(lab.agent));
    assert_eq!(idle["after_turn"], true, "{idle:#}");
    assert_eq!(idle["interrupted"], false, "{idle:#}");
    lab.end(&["--now"]);
}

fn streaming(agent: Agent) {
    let Some(lab) = at_the_gate(agent, "[slow]", "I am answering") else { return };
    lab.stays("working", teller(agent), A_WHILE);
    lab.end(&["--now"]);
}

#[test]
fn claude_streams() {
    streaming(Agent::Claude);
}

#[test]
fn codex_streams() {
    streaming(Agent::Codex);
}

/// Between two paragraphs codex shows nothing that is unfinished, and its title may be switched off. Older versions are installed by
/// `lab/agents/install codex@VERSION`.
fn pauses_between_two_paragraphs(lab: Option<Lab>, teller: &str) {
    let Some(lab) = lab else { return };
    lab.spawn(&["--unattended", "--prompt", "[hello]", "--", "-c", "tui.terminal_title=[]"]);
    lab.env.wait_screen("a", "Hello from the double.");
    let _ = lab.dogwatch(&["send", "a", "[paragraph-gate]", "--timeout", "60s"]).success();
    lab.env.wait_screen("a", "it ends here.");
    lab.stays("working", teller, 2 * A_WHILE);
    passes_the_gate(&lab);
}

#[test]
fn codex_pauses() {
    pauses_between_two_paragraphs(Lab::new(Agent::Codex), teller(Agent::Codex));
}

#[test]
fn codex_without_hooks_pauses() {
    pauses_between_two_paragraphs(Lab::with_version(Agent::Codex, "0.110.0"), "transcript");
}

#[test]
fn codex_0_155_pauses() {
    let lab = Lab::with_version(Agent::Codex, "0.155.0");
    pauses_between_two_paragraphs(lab, teller(Agent::Codex));
}

/// Claude replaces its spinner by a word of warning then; codex shows nothing but its spinning title.
fn stalled_for_a_minute(agent: Agent) {
    let Some(lab) = at_the_gate(agent, "[gate]", "Waiting at the gate.") else { return };
    let working = lab.stays("working", teller(agent), A_MINUTE);
    assert!(said(&working, "screen").starts_with("working: "), "{working:#}");
    passes_the_gate(&lab);
}

/// Side by side, because nothing happens for so long.
#[test]
fn both_stall_for_a_minute() {
    std::thread::scope(|scope| {
        for agent in [Agent::Claude, Agent::Codex] {
            scope.spawn(move || stalled_for_a_minute(agent));
        }
    });
}

#[test]
fn claude_thinks() {
    let thought = "Let me think about this";
    let Some(lab) = at_the_gate(Agent::Claude, "[think-gate]", thought) else { return };
    let working = lab.stays("working", "own_word", A_WHILE);
    assert!(said(&working, "screen").contains("thinking"), "{working:#}");
    passes_the_gate(&lab);
}

#[test]
fn codex_thinks() {
    let thought = "Let me think about this";
    let Some(lab) = at_the_gate(Agent::Codex, "[think-gate]", thought) else { return };
    let working = lab.stays("working", "hook", A_WHILE);
    assert_eq!(working["task"], "Let me think about this for a moment.", "{working:#}");
    passes_the_gate(&lab);
}

/// A command that ends when the test says so.
fn long_tool(agent: Agent, task: &str) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", "[long-tool]"]);
    lab.wait_file("tool-began.txt");
    lab.is("working", teller(agent));
    let working = lab.stays("working", teller(agent), A_WHILE);
    assert_eq!(working["task"], task, "{working:#}");
    lab.env.write("tool-may-end.txt", "");
    let idle = lab.settles("idle", finisher(agent));
    assert_eq!(idle["background"], 0, "{idle:#}");
    lab.end(&["--now"]);
}

#[test]
fn claude_runs_a_long_tool() {
    long_tool(Agent::Claude, "Bash: Wait for a file");
}

#[test]
fn codex_runs_a_long_tool() {
    let command = "echo yes > tool-began.txt; until [ -e tool-may-end.txt ]; do sleep 0.1; done";
    long_tool(Agent::Codex, &format!("Bash: {command}"));
}

/// Its own turn is over, and it waits for its helper: by its hooks alone it would be idle.
#[test]
fn claude_has_a_subagent() {
    let helped = "Waiting for 1 background agent";
    let Some(lab) = at_the_gate(Agent::Claude, "[subagent-gate]", helped) else { return };
    let working = lab.stays("working", "own_word", A_WHILE);
    assert_eq!(working["task"], "Waiting for 1 background agent to finish", "{working:#}");
    assert_eq!(said(&working, "hook"), "turn ended", "{working:#}");
    passes_the_gate(&lab);
}

/// A second message, typed while it works, waits for its turn; `Enter` queues in claude, `Tab` in codex.
fn queued(agent: Agent, key: &str, shown: &str) -> Option<Lab> {
    let lab = Lab::new(agent)?;
    let session = lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    lab.env.wait_screen("a", "Waiting at the gate.");
    lab.env.keys(&session, &["-l", "[second-gate]"]);
    lab.env.wait_screen("a", "[second-gate]");
    lab.env.keys(&session, &[key]);
    lab.env.wait_screen("a", shown);
    lab.settles("working", teller(agent));
    Some(lab)
}

fn its_turn_comes(lab: &Lab) {
    lab.double.release("gate");
    lab.env.wait_screen("a", "Waiting at the second gate.");
    lab.is("working", teller(lab.agent));
    lab.stays("working", teller(lab.agent), A_WHILE);
}

fn and_goes(lab: &Lab) {
    lab.double.release("second-gate");
    lab.env.wait_screen("a", "Second gate passed.");
    let idle = lab.settles("idle", finisher(lab.agent));
    assert_eq!(idle["draft"], serde_json::Value::Null, "{idle:#}");
}

/// Between the two it says idle for some milliseconds, and whoever waits for that must not be told so.
#[test]
fn claude_has_a_message_queued() {
    let Some(lab) = queued(Agent::Claude, "Enter", "Press up to edit queued messages") else {
        return;
    };
    let idle = ["wait", "a", "--for", "idle", "--timeout", "60s"];
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| lab.dogwatch(&idle).success());
        its_turn_comes(&lab);
        assert!(!waiter.is_finished(), "it took the end of the first turn for the end of all");
        and_goes(&lab);
    });
    lab.end(&["--now"]);
}

#[test]
fn codex_has_a_message_queued() {
    let Some(lab) = queued(Agent::Codex, "Tab", "Queued follow-up inputs") else { return };
    its_turn_comes(&lab);
    and_goes(&lab);
    lab.end(&["--now"]);
}

/// Between its start and its first turn it is at its prompt, and says idle.
fn never_idle_before_its_first_turn(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--unattended", "--prompt", "[gate]"]);
    let mut seen = Vec::new();
    eventually("it works", || {
        seen.push(lab.why()["state"].as_str().unwrap().to_owned());
        seen.last().is_some_and(|state| state == "working")
    });
    assert!(!seen.iter().any(|state| state == "idle"), "{seen:?}");
    lab.end(&["--now"]);
}

#[test]
fn claude_is_never_idle_before_its_first_turn() {
    never_idle_before_its_first_turn(Agent::Claude);
}

#[test]
fn codex_is_never_idle_before_its_first_turn() {
    never_idle_before_its_first_turn(Agent::Codex);
}

/// A tool that fails in a turn that goes on is no error of the agent.
fn a_tool_fails(agent: Agent) {
    let Some(lab) = at_the_gate(agent, "[tool-fails]", "It failed.") else { return };
    lab.stays("working", teller(agent), A_WHILE);
    passes_the_gate(&lab);
}

#[test]
fn claude_has_a_tool_that_fails() {
    a_tool_fails(Agent::Claude);
}

#[test]
fn codex_has_a_tool_that_fails() {
    a_tool_fails(Agent::Codex);
}

/// `wait` is told, and returns what `status` says.
#[test]
fn waiting_for_a_turn_to_end() {
    let Some(lab) = at_the_gate(Agent::Claude, "[gate]", "Waiting at the gate.") else { return };
    let none =
        lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "200ms", "--json"]).code(124);
    assert_eq!(none.json()["outcome"], "timeout");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "30s", "--json"])
                .success()
                .json()
        });
        lab.double.release("gate");
        assert_eq!(waiter.join().unwrap()["sessions"][0]["state"], "idle");
    });
    lab.end(&["--now"]);
}
