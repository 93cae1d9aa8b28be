//! The model or the way to it fails. Claude's own word ends as idle then, and codex fires no hook.

use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;
use crate::verdict::said;

/// Nobody listens there.
const CLOSED: &str = "http://127.0.0.1:9";

/// Neither tries again, unless told to.
fn prompted(agent: Agent, prompt: &str, more: &[&str]) -> Option<Lab> {
    let lab = Lab::new(agent)?;
    let once = match agent {
        Agent::Claude => &["--env", "CLAUDE_CODE_MAX_RETRIES=0"][..],
        _ => &[
            "--",
            "-c",
            "model_providers.double.request_max_retries=0",
            "-c",
            "model_providers.double.stream_max_retries=0",
        ],
    };
    let mut args = vec!["--unattended", "--prompt", prompt];
    args.extend(once);
    args.extend(more);
    lab.spawn(&args);
    Some(lab)
}

/// Both the transcript and the screen know of it, and `wait` has never taken it for idle.
fn fails(agent: Agent, tag: &str, state: &str) -> Option<Value> {
    let lab = prompted(agent, tag, &[])?;
    let ended = ["wait", "a", "--for", "idle,limited,error", "--timeout", "30s", "--json"];
    let told = lab.dogwatch(&ended).success().json();
    assert_eq!(told["sessions"][0]["state"], state, "{told:#}");
    let verdict = lab.settles(state, "transcript");
    let seen = said(&verdict, "screen");
    assert!(seen.starts_with("a failure: ") || seen.starts_with("a limit: "), "{verdict:#}");
    lab.end(&["--now"]);
    Some(verdict)
}

#[track_caller]
fn errs(agent: Agent, tag: &str, kind: &str, text: &str) {
    let Some(verdict) = fails(agent, tag, "error") else { return };
    assert_eq!(verdict["kind"], kind, "{verdict:#}");
    assert!(verdict["text"].as_str().unwrap().contains(text), "{verdict:#}");
}

#[track_caller]
fn is_limited(agent: Agent, tag: &str, text: &str) -> Option<Value> {
    let verdict = fails(agent, tag, "limited")?;
    assert!(verdict["text"].as_str().unwrap().contains(text), "{verdict:#}");
    Some(verdict)
}

#[test]
fn claude_meets_429() {
    is_limited(Agent::Claude, "[429]", "(429)");
}

#[test]
fn codex_meets_429() {
    is_limited(Agent::Codex, "[429]", "429 Too Many Requests");
}

#[test]
fn codex_meets_its_usage_limit() {
    let Some(limited) = is_limited(Agent::Codex, "[usage-limit]", "usage limit") else { return };
    let until = limited["until"].as_str().expect("it says until when");
    assert!(until.ends_with("AM") || until.ends_with("PM"), "{until}");
}

#[test]
fn claude_meets_529() {
    is_limited(Agent::Claude, "[529]", "529 Overloaded");
}

#[test]
fn codex_meets_an_overload() {
    is_limited(Agent::Codex, "[529]", "at capacity");
}

#[test]
fn claude_meets_500() {
    errs(Agent::Claude, "[500]", "server_error", "500 Internal server error");
}

#[test]
fn codex_meets_500() {
    errs(Agent::Codex, "[500]", "internal_server_error", "temporary errors");
}

#[test]
fn claude_has_too_long_a_prompt() {
    errs(Agent::Claude, "[too-long]", "invalid_request", "Prompt is too long");
}

#[test]
fn codex_has_too_long_a_prompt() {
    errs(Agent::Codex, "[too-long]", "context_length_exceeded", "exceeds the context window");
}

#[test]
fn claude_is_refused_by_its_model() {
    errs(Agent::Claude, "[401]", "authentication_failed", "Invalid API key");
}

#[test]
fn codex_is_refused_by_its_model() {
    errs(Agent::Codex, "[401]", "authentication_failed", "401 Unauthorized");
}

#[test]
fn claude_cannot_connect() {
    let closed = format!("ANTHROPIC_BASE_URL={CLOSED}");
    let Some(lab) = prompted(Agent::Claude, "hello", &["--env", &closed]) else { return };
    let failed = lab.settles("error", "transcript");
    assert_eq!(failed["kind"], "connection_failed", "{failed:#}");
    assert!(failed["text"].as_str().unwrap().contains("ECONNREFUSED"), "{failed:#}");
    lab.end(&["--now"]);
}

/// It never gives up: its turn goes on.
#[test]
fn codex_cannot_connect() {
    let closed = format!("model_providers.double.base_url='{CLOSED}/v1'");
    let Some(lab) = prompted(Agent::Codex, "hello", &["-c", &closed]) else { return };
    lab.env.wait_screen("a", "waiting for network");
    let working = lab.settles("working", "hook");
    assert_eq!(working["task"], "Reconnecting... waiting for network", "{working:#}");
    lab.end(&["--now"]);
}

/// Before it gives up it is at work.
#[test]
fn claude_tries_again() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.spawn(&["--unattended", "--prompt", "[529]"]);
    lab.env.wait_screen("a", "Retrying in");
    let working = lab.settles("working", "own_word");
    assert!(working["task"].as_str().unwrap().contains("Retrying in"), "{working:#}");
    lab.end(&["--now"]);
}
