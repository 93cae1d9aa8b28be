//! 10,000 answers while dialogs change, move and imitate each other: none reaches another dialog than the one that it was decided for.
//!
//! Two ways lead to a dialog. Rules answer in the hook that the agent calls for this very request and waits for: there the decision must
//! be about what the request asks, whatever other requests are quoted in it. Keys go to whatever the pane shows: there every key is
//! preceded by a look, through the real screen reader, at the dialog that the answer is bound to. (What changes between the last look and
//! Enter no key can tell; that is why rules do not press keys.)

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::rules::{self, Answer, Rule, RuleTable};
use crate::screen;
use crate::status::testimony;

/// What is asked, and what the rules below answer.
const ASKED: [(&str, Answer); 10] = [
    ("cargo test", Answer::Allow),
    ("cargo test --lib", Answer::Allow),
    ("cargo  test", Answer::Allow),
    ("cargo test; rm -rf x", Answer::Ask),
    ("cargo run", Answer::Ask),
    ("git push", Answer::Deny),
    ("git push origin main", Answer::Deny),
    ("cargo test && git push", Answer::Deny),
    ("git status", Answer::Allow),
    ("sh -c 'git push $B'", Answer::Ask),
];
const RULES: &str = "rule = [ { answer = 'allow', command = ['cargo test *', 'git status'] }, { answer = 'deny', command = 'git push *' } ]";
const OPTIONS: usize = 3;
const PLACES: usize = 3;

fn rules() -> Vec<Rule> {
    #[derive(serde::Deserialize)]
    struct File {
        rule: Vec<RuleTable>,
    }
    rules::read(&toml::from_str::<File>(RULES).unwrap().rule, RULES).unwrap()
}

/// What the agent shows: which request, which option is marked, how far down, and which dialog an earlier answer quotes above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shown {
    asks: usize,
    marked: usize,
    place: usize,
    quotes: Option<usize>,
}

impl Shown {
    fn text(self) -> String {
        let mut text = "● Let me see.\n\n".repeat(self.place + 1);
        if let Some(quoted) = self.quotes {
            let quoted = Self { asks: quoted, marked: 1, place: 0, quotes: None };
            text += "● It showed:\n\n";
            for line in quoted.dialog().lines() {
                let _ = writeln!(text, "  {line}");
            }
            text.push('\n');
        }
        text + &self.dialog()
    }

    fn dialog(self) -> String {
        let command = ASKED[self.asks].0;
        let options = ["Yes", "Yes, and don't ask again for similar commands", "No"];
        let mut text = format!(
            "{}\n Bash command\n\n   {command}\n   Run it\n\n Do you want to proceed?\n",
            "─".repeat(100)
        );
        for (number, option) in (1..).zip(options) {
            let mark = if number == self.marked { "❯" } else { " " };
            let _ = writeln!(text, " {mark} {number}. {option}");
        }
        text + "\n Esc to cancel · Tab to amend\n"
    }
}

/// What the screen reader makes of all that can be shown; it is read once.
static LOOKS: LazyLock<HashMap<Shown, Option<Dialog>>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for asks in 0..ASKED.len() {
        for marked in 1..=OPTIONS {
            for place in 0..PLACES {
                for quotes in [None, Some((asks + 1) % ASKED.len()), Some(0)] {
                    let shown = Shown { asks, marked, place, quotes };
                    all.insert(shown, look(shown));
                }
            }
        }
    }
    all
});

fn look(shown: Shown) -> Option<Dialog> {
    let text = shown.text();
    let look = screen::Screen {
        bytes: text.as_bytes(),
        width: 100,
        height: 50,
        ..screen::Screen::default()
    };
    let screen = testimony::of(&look, |look| screen::read("claude", look));
    Dialog::seen(&screen, None)
}

/// What happens in the pane before a look or a key.
fn change(shown: Option<Shown>, choice: u8, to: usize) -> Option<Shown> {
    let now = shown.unwrap_or(Shown { asks: to, marked: 1, place: 0, quotes: None });
    let quotes = if choice.is_multiple_of(2) { Some(0) } else { Some((to + 1) % ASKED.len()) };
    match choice % 8 {
        0..=2 => shown,
        // It moves.
        3 => Some(Shown { place: (now.place + 1) % PLACES, ..now }),
        // It was answered, and nothing is asked.
        4 => None,
        // Another one is in its place.
        5 => Some(Shown { asks: to, marked: 1, ..now }),
        // Another one, which quotes it.
        6 => Some(Shown {
            asks: to,
            marked: 1,
            place: now.place,
            quotes: quotes.filter(|q| *q == 0 || *q == (to + 1) % ASKED.len()),
        }),
        _ => Some(Shown { marked: 1 + to % OPTIONS, ..now }),
    }
}

fn payload(asks: usize, quotes: usize, id: usize) -> serde_json::Value {
    let other =
        json!({"tool_name": "Bash", "tool_input": {"command": ASKED[quotes].0}}).to_string();
    json!({
        "hook_event_name": "PermissionRequest", "session_id": format!("s{id}"), "cwd": "/p", "tool_name": "Bash",
        "tool_input": {"command": ASKED[asks].0, "description": other},
    })
}

#[test]
fn every_dialog_is_read_and_has_a_mark_of_its_own() {
    let mut marks: HashMap<usize, HashSet<String>> = HashMap::new();
    for (shown, dialog) in LOOKS.iter() {
        let dialog = dialog.as_ref().unwrap_or_else(|| panic!("{shown:?}\n{}", shown.text()));
        assert_eq!(dialog.marked, Some(shown.marked), "{}", shown.text());
        marks.entry(shown.asks).or_default().insert(dialog.mark.clone());
    }
    for (asks, of_one) in &marks {
        for (other, of_other) in marks.iter().filter(|(other, _)| *other != asks) {
            // Blanks are not seen alike on every screen.
            if ASKED[*asks].0.replace(' ', "") != ASKED[*other].0.replace(' ', "") {
                assert!(of_one.is_disjoint(of_other), "{asks} {other}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_key_chooses_in_another_dialog(
        asks in 0..ASKED.len(),
        wanted in 1..=OPTIONS,
        changes in prop::collection::vec((any::<u8>(), 0..ASKED.len()), 24),
    ) {
        let decided = Shown { asks, marked: 1, place: 0, quotes: None };
        let bound = LOOKS[&decided].as_ref().unwrap().mark.clone();
        let mut pane = Some(decided);
        let mut first: Option<Dialog> = None;
        for pair in changes.chunks(2) {
            let [(before_look, to), (before_key, then)] = pair else { break };
            pane = change(pane, *before_look, *to);
            let Some(dialog) = pane.and_then(|shown| LOOKS[&shown].clone()) else { break };
            let Some(known) = &first else {
                if dialog.mark != bound {
                    break;
                }
                first = Some(dialog);
                continue;
            };
            if !dialog.is_same(known) {
                break;
            }
            let Some(marked) = dialog.marked else { break };
            if dialog.is_ready(known, wanted) {
                let chosen = pane.unwrap();
                let blind = |asks: usize| ASKED[asks].0.replace(' ', "");
                prop_assert_eq!(blind(chosen.asks), blind(asks));
                prop_assert_eq!(chosen.marked, wanted);
                break;
            }
            let Some(key) = key(marked, wanted, dialog.sideways) else { break };
            // An arrow may meet another dialog: it chooses nothing.
            pane = change(pane, *before_key, *then);
            if let Some(shown) = &mut pane {
                let moved = if key == "Down" { shown.marked + 1 } else { shown.marked - 1 };
                shown.marked = moved.clamp(1, OPTIONS);
            }
        }
    }

    #[test]
    fn no_rule_answers_another_request(
        requests in prop::collection::vec((0..ASKED.len(), 0..ASKED.len()), 1..6),
        order in any::<prop::sample::Index>(),
    ) {
        // All are open at once; the answers are given in another order.
        let mut open: Vec<_> = requests.iter().enumerate().map(|(id, (asks, quotes))| (id, *asks, payload(*asks, *quotes, id))).collect();
        let at = order.index(open.len());
        open.rotate_left(at);
        let rules = rules();
        for (_, asks, payload) in &open {
            let request = rules::Request { agent: "claude".into(), project: "/p".into(), ..rules::asked(payload).unwrap() };
            let decision = rules::decide(&rules, &request);
            prop_assert_eq!(decision.answer, ASKED[*asks].1, "{}", payload);
            for (_, _, other) in &open {
                let is_same = other["tool_input"] == payload["tool_input"];
                prop_assert_eq!(rules::asked(other).unwrap().fingerprint() == request.fingerprint(), is_same);
            }
        }
    }
}
