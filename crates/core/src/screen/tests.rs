//! The reader as a whole. How well it reads real screens is counted in `lab/scoreboard`.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "nobody"];

fn plain(agent: &str, lines: &[&str]) -> Reading {
    let text = lines.join("\n");
    read(agent, &Screen { bytes: text.as_bytes(), width: 40, ..Screen::default() })
}

const EDGE: &str = "────────────────────────────────────────";

#[test]
fn all_built_in_markers_can_be_read() {
    for source in BUILT_IN {
        Markers::parse(source).unwrap();
    }
    assert_eq!(AGENTS.map(|agent| markers(agent).is_some()), [true, true, true, true, false]);
    assert!(NO_MARKERS.rules.is_empty());
    assert!(!TERMINAL.rules.is_empty());
}

#[test]
fn rules_have_names_of_their_own() {
    for (_, markers) in &MARKERS {
        let markers = markers.as_ref().unwrap();
        let mut names: Vec<_> = markers.rules.iter().map(|rule| &rule.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), markers.rules.len(), "{}", markers.agent);
    }
}

#[test]
fn nothing_is_known_of_nothing() {
    for agent in AGENTS {
        let empty = read(agent, &Screen::default());
        assert_eq!((empty.state, empty.reasons), (State::Unknown, vec![]), "{agent}");
        let prose = plain(agent, &["Some words", "that no agent", "draws like this"]);
        assert_eq!(prose.state, State::Unknown, "{agent}");
    }
    assert_eq!(plain("nobody", &[EDGE, "❯", EDGE]).state, State::Idle { done: false });
}

#[test]
fn the_deciding_rule_comes_first_and_the_others_follow() {
    let reading = plain("claude", &["✻ Pondering… (1m 4s · ↓ 3 tokens)", "", EDGE, "❯ more", EDGE]);
    assert_eq!(reading.state, State::Working);
    let rules: Vec<_> = reading.reasons.iter().map(|reason| reason.rule.as_str()).collect();
    assert_eq!(rules, ["spinner", "at the prompt"]);
    assert_eq!(reading.details.label.as_deref(), Some("Pondering"));
    assert_eq!(reading.details.elapsed_secs, Some(64));
    assert_eq!(reading.details.draft.as_deref(), Some("more"));
}

#[test]
fn letters_of_any_alphabet_are_no_spinner() {
    let state = |line: &str| plain("claude", &[line, "", EDGE, "❯", EDGE]).state;
    for sign in ["✻", "·", "∗", "✢✢"] {
        assert_eq!(state(&format!("{sign} 好… (3s)")), State::Working, "{sign}");
    }
    for word in ["好", "é", "да", "ひと", "한", "ي", "x"] {
        assert_eq!(state(&format!("{word} 好… (3s)")), State::Idle { done: false }, "{word}");
    }
}

#[test]
fn a_dialog_outranks_the_title() {
    let text = "• Running rm\n\n  Would you like to run it?\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  \
                Press enter to confirm or esc to cancel";
    let screen =
        Screen { bytes: text.as_bytes(), title: Some("⠋ talk | proj"), ..Screen::default() };
    let reading = read("codex", &screen);
    assert_eq!(reading.state, State::Waiting { need: Need::Permission });
    assert_eq!(reading.details.options, ["Yes, proceed (y)", "No (esc)"]);
    assert_eq!(reading.details.question.as_deref(), Some("Would you like to run it?"));
}

#[test]
fn the_steps_of_a_plan_are_no_options() {
    let text = "• Proposed Plan\n\n  1. Read the code.\n  2. Ask whom?\n\n  Worked for 2s • 14:21\n\n  \
                Implement this plan?\n\n  1. Yes\n› 2. No, stay\n\n  enter select · esc back";
    let reading = read("codex", &Screen { bytes: text.as_bytes(), ..Screen::default() });
    assert_eq!(reading.state, State::Waiting { need: Need::Plan });
    assert_eq!(reading.details.options, ["Yes", "No, stay"]);
    assert_eq!(reading.details.question.as_deref(), Some("Implement this plan?"));
}

#[test]
fn a_stream_that_fell_silent_is_no_end_of_the_turn() {
    let at_rest = [EDGE, "❯ ", EDGE];
    let wide = ["✻ Waiting for API response · will retry in 3m 45s · check your network", ""];
    let narrow = ["✻", "Waiting for API    · will retry in 4m 11s · check", "response", ""];
    for above in [&wide[..], &narrow] {
        assert_eq!(plain("claude", &[above, &at_rest].concat()).state, State::Working, "{above:?}");
    }
    let reading = plain("claude", &[&wide[..], &at_rest].concat());
    assert_eq!(reading.details.label.as_deref(), Some("Waiting for API response"));
}

#[test]
fn a_pane_that_shows_no_more_than_its_box_hides_what_the_agent_is_at() {
    let working = format!("✻ Pondering… (3s)\n\n{EDGE}\n❯\n{EDGE}");
    let of_height = |height| {
        read("claude", &Screen { bytes: working.as_bytes(), height, ..Screen::default() }).state
    };
    assert_eq!(of_height(0), State::Working);
    assert_eq!(of_height(5), State::Working, "its lower edge on the last row is no upper one");
    assert_eq!([of_height(1), of_height(3)], [State::Unknown, State::Unknown]);
}

#[test]
fn dim_text_in_the_box_is_no_draft() {
    let draft = |inside: &str| {
        let text = format!("{EDGE}\n❯ {inside}\n{EDGE}");
        read("claude", &Screen { bytes: text.as_bytes(), ..Screen::default() }).details.draft
    };
    assert_eq!(draft("\x1b[7mf\x1b[0;2mix the tests\x1b[0m"), None);
    assert_eq!(draft("\x1b[38;5;2mfix\x1b[0m the tests"), Some("fix the tests".to_owned()));
    assert_eq!(draft(""), None);
}

#[test]
fn a_limit_says_until_when() {
    let reading = plain(
        "codex",
        &["■ You’ve hit your usage limit. Try again at 3:15 PM.", "", "› x", "", "  m · /p"],
    );
    assert_eq!(reading.state, State::Limited { until: Some("3:15 PM".to_owned()) });
}

#[test]
fn own_markers_of_a_user() {
    let own = Markers::parse(
        r#"
agent = "mine"
[layout.input]
prompt = '^>( |$)'
body = '^'
[[rule]]
name = "busy"
state = "working"
see = { region = "activity", match = '^busy (?P<label>.*)' }
"#,
    )
    .unwrap();
    let screen = Screen { bytes: b"busy with things\n\n> ", ..Screen::default() };
    let reading = read_with(&own, &screen);
    assert_eq!(reading.state, State::Working);
    assert_eq!(reading.details.label.as_deref(), Some("with things"));
    let broken = "agent = \"x\"\nrule = []\n[layout.input]\nprompt = '('\nbody = ''";
    let error = Markers::parse(broken).unwrap_err();
    assert!(error.reason.contains(r#""(": found open group"#), "{error}");
}

#[test]
fn a_reading_is_data() {
    let reading = plain("claude", &[EDGE, "❯", EDGE]);
    assert_eq!(
        serde_json::to_value(&reading).unwrap(),
        serde_json::json!({
            "state": "idle",
            "done": false,
            "details": {},
            "reasons": [{"rule": "at the prompt", "region": "box", "text": ""}],
        })
    );
}

#[test]
fn a_title_cannot_command_the_terminal_that_it_is_quoted_on() {
    let text = format!("{EDGE}\n❯\n{EDGE}");
    let title = format!("[ ! ] Action Required\x1b[2J\u{9b}31m\x07{}", "x".repeat(1 << 20));
    let screen = Screen { bytes: text.as_bytes(), title: Some(&title), ..Screen::default() };
    let reading = read("codex", &screen);
    let quoted = &reading.reasons.iter().find(|r| r.region == Region::Title).unwrap().text;
    assert!(quoted.starts_with("[ ! ] Action Required[2J31mxxx"), "{quoted}");
    assert!(quoted.len() < 1_000 && !quoted.contains(char::is_control), "{quoted}");
}

#[test]
fn ten_megabytes_are_read_in_no_time() {
    let line = format!("\x1b[1;38;5;3m✻ Working… {EDGE}\x1b]8;;x\x07\n❯ 1. Yes\n{EDGE}\n");
    let bytes = line.repeat((10 << 20) / line.len());
    for agent in AGENTS {
        let start = Instant::now();
        let screen = Screen { bytes: bytes.as_bytes(), width: 80, ..Screen::default() };
        read(agent, &screen);
        assert!(start.elapsed() < Duration::from_secs(20), "{agent}: {:?}", start.elapsed());
    }
}

/// Pieces that mean something to the reader, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("────────────────────\n".to_owned()),
        Just("▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄\n ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n".to_owned()),
        Just("  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n  ┃  △ x\n".to_owned()),
        Just("❯ 1. Yes\n  2. No\n".to_owned()),
        Just("› 1. Yes\n  enter confirm\n  m · /p\n".to_owned()),
        Just("\x1b[2m\x1b]8;;".to_owned()),
        Just("✻ 好… (3s)\n\n".to_owned()),
        "\\PC{0,12}",
        "[ \n\t\x1b\\[;0-9m]{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        size in any::<(u16, u16)>(),
        cursor in any::<Option<(u16, u16)>>(),
        title in any::<Option<String>>(),
    ) {
        for agent in AGENTS {
            let (width, height) = size;
            let title = title.as_deref();
            read(agent, &Screen { bytes: &bytes, width, height, title, cursor, alternate: None });
        }
    }

    #[test]
    fn no_picture_makes_it_panic(
        text in pieces(),
        size in (0_u16..60, 0_u16..30),
        cursor in prop::option::of((0_u16..80, 0_u16..40)),
        title in "\\PC{0,10}",
    ) {
        for agent in AGENTS {
            let (width, height) = size;
            let screen = Screen {
                bytes: text.as_bytes(), width, height, title: Some(&title), cursor, alternate: Some(true),
            };
            let reading = read(agent, &screen);
            prop_assert!(reading.state == State::Unknown || !reading.reasons.is_empty());
        }
    }
}

/// "Do you want to proceed?" is asked of every command, with the same options: what it is about tells dialogs apart.
#[test]
fn dialogs_about_different_things_are_different() {
    let read = |agent: &str, text: &str, width: u16| {
        read(agent, &Screen { bytes: text.as_bytes(), width, height: 60, ..Screen::default() })
    };
    for (agent, screen) in [
        ("claude", include_str!("../../testdata/screens/claude/2.1.325/permission_bash.txt")),
        ("codex", include_str!("../../testdata/screens/codex/0.166.0/permission_exec.txt")),
        ("gemini", include_str!("../../testdata/screens/gemini/0.61.0/permission_shell.txt")),
    ] {
        let one = read(agent, screen, 120);
        let other = read(agent, &screen.replace("scratch", "elsewhere"), 120);
        assert!(!one.details.options.is_empty(), "{agent} {one:?}");
        assert!(one.details.hands.about.contains("scratch"), "{agent} {}", one.details.hands.about);
        assert_ne!(one.details.hands.about, other.details.hands.about, "{agent}");
    }
    let narrow = include_str!("../../testdata/screens/claude/2.1.325/n80_permission.txt");
    let wide = include_str!("../../testdata/screens/claude/2.1.325/permission_bash.txt");
    let about = |screen, width| read("claude", screen, width).details.hands.about;
    assert_eq!(about(narrow, 80), about(wide, 200), "however wide they are");
}
