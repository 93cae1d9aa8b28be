//! Tokens as the real agents write them, against what the double said that they used.

use std::process::Command;

use dogwatch_testkit::eventually;
use model_double::homes::Agent;
use model_double::{Options, agents};
use serde_json::Value;

use crate::lab::Lab;

/// No two answers have the same numbers.
const PLAY: &str = r#"
default = [[{ text = "Well." }, { usage = { input = 1003, output = 7, cached = 101 } }]]

[[rule]]
match = 'with a tool'
steps = [
  [{ text = "First." }, { shell = { command = "echo hi", why = "Look" } }, { usage = { input = 2005, output = 61, cached = 709, written = 17 } }],
  [{ text = "Done." }, { usage = { input = 2107, output = 67, cached = 911, written = 19 } }],
]

[[rule]]
match = 'with a helper'
steps = [
  [{ subagent = { description = "look", prompt = "look around for me" } }, { usage = { input = 3011, output = 71, cached = 307 } }],
  [{ text = "All done." }, { usage = { input = 3113, output = 73, cached = 401 } }],
]

[[rule]]
match = 'look around for me'
steps = [
  [{ shell = { command = "echo ho", why = "Look" } }, { usage = { input = 53, output = 5, cached = 11 } }],
  [{ text = "Looked." }, { usage = { input = 59, output = 3, cached = 13 } }],
]
"#;

fn lab(agent: Agent) -> Option<Lab> {
    Lab::with_scenario(agent, &Options::default(), PLAY)
}

/// Runs the agent once, without a terminal.
fn headless(lab: &Lab, args: &[&str]) {
    let program = agents::pinned(lab.agent.name()).and_then(|pinned| pinned.installed()).unwrap();
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(lab.environment()).current_dir(lab.env.work());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// Input, output, cache read, cache write of all answers but those that agents keep no record of: titles and the like.
fn sent(lab: &Lab) -> [u64; 4] {
    let mut sum = [0; 4];
    for request in lab.double.requests() {
        let (Some(question), Some(tokens)) = (request.question, request.tokens) else { continue };
        // Claude Code keeps no record of the summaries that it asks for to compact a conversation either.
        if question.side || question.human.starts_with("CRITICAL: Respond with TEXT ONLY") {
            continue;
        }
        // Of all protocols but one, what comes from the cache is a part of the input.
        let is_apart = question.dialect == "anthropic";
        let input = if is_apart { tokens.input } else { tokens.input - tokens.cached };
        let written = if is_apart { tokens.written } else { 0 };
        for (sum, n) in sum.iter_mut().zip([input, tokens.output, tokens.cached, written]) {
            *sum += n;
        }
    }
    sum
}

fn numbers(tokens: &Value) -> [u64; 4] {
    ["input", "output", "cache_read", "cache_write"].map(|key| tokens[key].as_u64().unwrap())
}

fn counted(lab: &Lab) -> Value {
    lab.dogwatch(&["usage", "--by", "session", "--json"]).success().json()
}

fn assert_equal(lab: &Lab) -> Value {
    let report = counted(lab);
    let requests = lab.double.requests();
    assert_eq!(numbers(&report["total"]["tokens"]), sent(lab), "{report:#}\n{requests:#?}");
    report
}

#[test]
fn claude_with_subagents_resumed_forked_and_compacted() {
    let Some(lab) = lab(Agent::Claude) else { return };
    let bold = "--dangerously-skip-permissions";
    headless(&lab, &[bold, "-p", "work with a tool"]);
    assert_equal(&lab);
    headless(&lab, &[bold, "-p", "--continue", "work with a helper"]);
    let report = assert_equal(&lab);
    let helped = numbers(&report["total"]["subagents"]);
    assert_eq!(helped, [53 + 59, 5 + 3, 11 + 13, 0], "{report:#}");
    assert_eq!(report["rows"].as_array().unwrap().len(), 1, "{report:#}");
    headless(&lab, &[bold, "-p", "--continue", "--fork-session", "again with a tool"]);
    let report = assert_equal(&lab);
    assert_eq!(report["rows"].as_array().unwrap().len(), 2, "{report:#}");
    headless(&lab, &[bold, "-p", "--continue", "/compact"]);
    headless(&lab, &[bold, "-p", "--continue", "more with a tool"]);
    assert_equal(&lab);
}

#[test]
fn codex_resumed() {
    let Some(lab) = lab(Agent::Codex) else { return };
    let bold = "--dangerously-bypass-approvals-and-sandbox";
    headless(&lab, &["exec", "--skip-git-repo-check", bold, "work with a tool"]);
    assert_equal(&lab);
    let args = ["exec", "--skip-git-repo-check", bold, "resume", "--last", "more with a tool"];
    headless(&lab, &args);
    headless(&lab, &["exec", "--skip-git-repo-check", bold, "another one"]);
    let report = assert_equal(&lab);
    assert_eq!(report["rows"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn gemini() {
    let Some(lab) = lab(Agent::Gemini) else { return };
    headless(&lab, &["--yolo", "-p", "work with a tool"]);
    headless(&lab, &["--yolo", "-p", "another one"]);
    assert_equal(&lab);
}

#[test]
fn opencode() {
    let Some(lab) = lab(Agent::Opencode) else { return };
    headless(&lab, &["run", "work with a tool"]);
    headless(&lab, &["run", "--continue", "another one"]);
    let report = assert_equal(&lab);
    assert_eq!(report["total"]["cost_usd"], Value::Null, "the double has no price");
    assert_eq!(report["total"]["unpriced"][0], "double");
}

/// In a session of dogwatch, `status` tells the same as `usage`, and both know whose it is.
#[test]
fn status_has_tokens_and_costs() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = lab(agent) else { return };
        let session = lab.spawn(&["--unattended", "--prompt", "work with a tool"]);
        lab.wait_event(&session, "Stop");
        let row =
            || lab.dogwatch(&["status", "a", "--json"]).success().json()["sessions"][0].clone();
        eventually("status has all tokens", || {
            numbers_or_none(&row()["usage"]["tokens"]) == Some(sent(&lab))
        });
        let (status, report) = (row(), assert_equal(&lab));
        assert!(status["usage"]["cost_usd"].as_f64().unwrap() > 0.0, "{status:#}");
        assert_eq!(status["usage"]["tokens"], report["total"]["tokens"]);
        assert_eq!(report["rows"][0]["key"], "a", "{report:#}");
        assert_eq!(report["rows"][0]["session"], session.id, "{report:#}");
        lab.end(&[]);
        assert_eq!(row()["usage"]["tokens"], report["total"]["tokens"], "after its end");
    }
}

fn numbers_or_none(tokens: &Value) -> Option<[u64; 4]> {
    tokens.is_object().then(|| numbers(tokens))
}

/// Puts a budget into the user's configuration.
fn configure(lab: &Lab, text: &str) {
    let folder = lab.env.home().join(".config/dogwatch");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// A prompt that is typed by hand once the budget is used up: the agent says why, the model gets nothing, and `status` knows of no
/// turn. Then it is lifted.
#[test]
fn a_budget_holds_the_next_prompt() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = lab(agent) else { return };
        configure(&lab, "[[budget]]\nper = \"session\"\ntokens = 1000\naction = \"hold\"\n");
        let session = lab.spawn(&["--unattended", "--prompt", "work with a tool"]);
        lab.wait_event(&session, "Stop");
        let events = || {
            let said = lab.dogwatch(&["events", "--kind", "budget", "--json"]).success();
            said.text().lines().filter(|line| line.contains("used_tokens")).count()
        };
        eventually("it is reported", || events() == 1);
        let asked = lab.asked().len();
        // By dogwatch: refused, and nothing is typed.
        let refused = lab.dogwatch(&["send", "a", "go on"]);
        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        assert!(refused.stderr.contains("dogwatch budget lift"), "{}", refused.stderr);
        let refused = lab.dogwatch(&["job", "submit", "a", "go on"]);
        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        // By hand.
        let pane = session.pane.as_str();
        lab.env.tmux(&["send-keys", "-t", pane, "-l", "please continue"]);
        eventually("it is typed", || lab.env.screen("a").contains("please continue"));
        lab.env.tmux(&["send-keys", "-t", pane, "Enter"]);
        eventually("the agent says why", || lab.env.screen("a").contains("is used up"));
        assert_eq!(lab.asked().len(), asked, "the model got nothing");
        eventually("it is idle", || {
            let row = lab.dogwatch(&["status", "a", "--json"]).success().json();
            row["sessions"][0]["state"] == "idle"
        });
        assert_eq!(events(), 1, "reported once");
        let lifted = lab.dogwatch(&["budget", "lift", "a", "--json"]).success().json();
        assert_eq!(lifted["lifted"][0]["name"], "a", "{lifted:#}");
        // Claude Code has put the prompt back into its input box.
        if agent == Agent::Claude {
            lab.env.tmux(&["send-keys", "-t", pane, "Enter"]);
        } else {
            let _sent = lab.dogwatch(&["send", "a", "now continue"]).success();
        }
        eventually("the model gets it", || lab.asked().len() > asked);
        lab.end(&[]);
    }
}
