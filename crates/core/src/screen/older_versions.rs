//! Shapes that other versions of the agents draw. No recordings: written after public descriptions.

use super::*;

const RULE: &str = "────────────────────────────────────────";
const ROUND: &str = "╭──────────────────────────────────────╮
│ >                                    │
╰──────────────────────────────────────╯
  ? for shortcuts";

fn state(agent: &str, text: &str) -> State {
    read(agent, &Screen { bytes: text.as_bytes(), width: 40, ..Screen::default() }).state
}

fn claude(above: &str) -> State {
    state("claude", &format!("{above}\n\n{RULE}\n> \n{RULE}\n  ? for shortcuts\n"))
}

#[test]
fn round_boxes() {
    let working = format!("⏺ Bash(ls)\n  ⎿  Running…\n\n· Looking… (esc to interrupt)\n\n{ROUND}");
    assert_eq!(state("claude", &working), State::Working);
    let idle = format!("> hi\n\n⏺ Hello. · Looking… (3s)\n\n{ROUND}");
    assert_eq!(state("claude", &idle), State::Idle { done: false });
}

#[test]
fn round_dialogs() {
    let text = "⏺ Bash(rm x)\n  ⎿  Running…\n
╭──────────────────────────────────────╮
│ Bash command                         │
│   rm x                               │
│ Do you want to proceed?              │
│ ❯ 1. Yes                             │
│   2. No, and tell what to do (esc)   │
╰──────────────────────────────────────╯";
    let reading = read("claude", &Screen { bytes: text.as_bytes(), ..Screen::default() });
    assert_eq!(reading.state, State::Waiting { need: Need::Permission });
    assert_eq!(reading.details.question.as_deref(), Some("Do you want to proceed?"));
    assert_eq!(reading.details.options, ["Yes", "No, and tell what to do (esc)"]);
}

#[test]
fn spinners_with_other_hints() {
    let shown = "(esc to interrupt · ctrl+t to show todos · 26s · ↓ 837 tokens)";
    assert_eq!(claude(&format!("✢ Brewing… {shown}\n  ⎿  Next: the rest")), State::Working);
    assert_eq!(claude("❯ hi\n✽ Nebulizing… (12s · ↑ 1.2k tokens)"), State::Working);
    assert_eq!(claude("∴ Thought for 2s (ctrl+o to show thinking)"), State::Idle { done: false });
    assert_eq!(claude("⏺ PONG\n✻ Crunched for 1s"), State::Idle { done: true });
}

#[test]
fn limits_in_other_words() {
    let until = |text: &str| State::Limited { until: Some(text.to_owned()) };
    let old =
        "> go on\n  ⎿  5-hour limit reached ∙ resets 3pm (Europe/Berlin)\n     /upgrade for more";
    assert_eq!(claude(old), until("3pm (Europe/Berlin)"));
    let new = "❯ go on\n\n⏺ You've hit your session limit · resets 2:30am (UTC)";
    assert_eq!(claude(new), until("2:30am (UTC)"));
    assert_eq!(claude("✻ Waiting… usage limit resets 4pm"), until("4pm"));
}

#[test]
fn codex_with_a_footer_that_names_no_folder() {
    let codex = |above: &str| state("codex", &format!("{above}\n\n› Ask\n\n  98% context left"));
    assert_eq!(codex("› x\n\n• Working (12s • esc to interrupt)"), State::Working);
    let divided = "› x\n\n─ Worked for 1m 02s ───\n\n• Done.";
    assert_eq!(codex(divided), State::Idle { done: false });
    assert_eq!(state("codex", "  >_ OpenAI Codex\n\n› Ask\n\n  ? for shortcuts"), State::Starting);
}
