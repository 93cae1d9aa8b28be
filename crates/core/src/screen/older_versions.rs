//! Shapes that other versions of the agents draw, or that people configure. No recordings: written after what was seen
//! of them.

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
    assert_eq!(state("claude", &idle), State::Idle { done: true });
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
fn labels_in_the_edges_of_the_box() {
    for (above, below) in [
        ("──────────────── a label", "────────────────────────"),
        ("──────────── a label ──", "────────────────────────"),
        ("── a label ─────────────", "────────────────────────"),
        ("────────────────────────", "──────────────── PR #123"),
    ] {
        let screen = |activity: &str| {
            state(
                "claude",
                &format!("❯ hi\n\n{activity}\n\n{above}\n❯ \n{below}\n  ? for shortcuts"),
            )
        };
        assert_eq!(screen("● Hello."), State::Idle { done: true }, "{above}");
        assert_eq!(screen("✻ Brewing… (3s)"), State::Working, "{above}");
    }
}

#[test]
fn an_answer_that_streams_without_a_spinner() {
    let below = |footer: &str| {
        state("claude", &format!("❯ hi\n\n● Hello, I\n\n{RULE}\n❯ \n{RULE}\n{footer}"))
    };
    for footer in ["  esc to interrupt", "  ⏸ manual mode on · esc to interrupt · ← for agents"]
    {
        assert_eq!(below(footer), State::Working, "{footer}");
    }
    for footer in ["  ? for shortcuts", "  · esc to interrupt is what it said"] {
        assert_eq!(below(footer), State::Idle { done: true }, "{footer}");
    }
}

#[test]
fn a_full_context_is_no_limit_that_passes() {
    for text in
        ["Context limit reached · /compact or /clear to continue", "Context low · Run /compact"]
    {
        let state = claude(&format!("❯ go on\n  ⎿  {text}"));
        assert!(matches!(&state, State::Error { kind, .. } if kind == "context"), "{state:?}");
    }
}

#[test]
fn a_failure_behind_one_blank() {
    let text = "> go on\n  ⎿ API Error: 429 {\"type\":\"error\"}\n     and more";
    assert_eq!(claude(text), State::Limited { until: None });
}

fn codex(above: &str, footer: &str) -> State {
    state("codex", &format!("{above}\n\n› Ask\n\n{footer}"))
}

#[test]
fn codex_with_a_footer_that_names_no_folder() {
    for footer in
        ["  98% context left", "  ~/work · main", "  m · Context 98% left", "  anything", ""]
    {
        let codex = |above: &str| codex(above, footer);
        assert_eq!(codex("› x\n\n• Working (12s • esc to interrupt)"), State::Working);
        let divided = "› x\n\n─ Worked for 1m 02s ───\n\n• Done.";
        assert_eq!(codex(divided), State::Idle { done: true });
        assert_eq!(codex("› x\n\n• Done."), State::Idle { done: true });
        assert_eq!(codex("  a banner"), State::Idle { done: false });
    }
    assert_eq!(codex("  >_ OpenAI Codex", "  ? for shortcuts"), State::Starting);
    assert_eq!(codex("› x\n\n• Do", "  m · ~/p\n  tab to queue message"), State::Working);
}

#[test]
fn codex_of_a_version_that_marks_ends() {
    let streams = "› x\n\n• Done.\n\n  Worked for 2s • 14:21\n\n› y\n\n• Now I";
    assert_eq!(codex(streams, "  ~/work · main"), State::Working);
    let banner = "  >_ OpenAI Codex (v0.166.0)\n\n› y\n\n• Now I";
    assert_eq!(codex(banner, "  ~/work · main"), State::Working);
}

#[test]
fn a_title_does_not_undo_the_end_of_a_turn() {
    let text = "› x\n\n• Done.\n\n  Worked for 2s • 14:21\n\n› Ask\n\n  m · ~/proj";
    for title in ["⠋ proj", "[ ! ] Action Required | proj"] {
        let screen = Screen { bytes: text.as_bytes(), title: Some(title), ..Screen::default() };
        assert_eq!(read("codex", &screen).state, State::Idle { done: true }, "{title}");
    }
}

#[test]
fn codex_lists_in_a_draft_are_no_dialog() {
    let draft = "› 1. first this\n  2. then that\n\n  ~/work · main";
    assert_eq!(state("codex", &format!("• Done.\n\n{draft}")), State::Idle { done: true });
    let dialog =
        "› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel";
    let asks = state("codex", &format!("• Running rm\n\n{dialog}"));
    assert_eq!(asks, State::Waiting { need: Need::Permission });
}

#[test]
fn codex_without_its_box() {
    let stale = "• Working (4s • esc to interrupt)\n\n─ Worked for 1m 22s ──\n\n› x\n\n• Done.\n\n  m · ~/p";
    assert_eq!(state("codex", stale), State::Idle { done: true });
    let newest = "  › 1. A\n    2. B\n\n  enter to submit answer\n\n› A\n\n• Working (4s • esc to interrupt)";
    assert_eq!(state("codex", newest), State::Working);
}
