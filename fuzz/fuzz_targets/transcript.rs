//! A transcript of any text, cut anywhere, is read by every dialect.
//!
//! Input: where it is cut (2 bytes, little endian), then the text.

#![no_main]

use dogwatch_core::status::evidence::{Edge, EdgeKind, Turn};
use dogwatch_core::status::rollout;
use dogwatch_core::transcript::{self, Dialect};
use dogwatch_fuzz::Input;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

/// The longest text of a failure.
const MOST_TEXT: usize = 2_001;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let cut = usize::from(input.u16());
    let bytes = input.rest();
    let whole = String::from_utf8_lossy(bytes);
    let cut = String::from_utf8_lossy(&bytes[..cut.min(bytes.len())]);
    for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
        said(dialect, &whole, &cut);
        turns(dialect, &whole);
        turns(dialect, &cut);
    }
});

/// What is cut off is lost, and takes nothing with it that was whole.
fn said(dialect: Dialect, whole: &str, cut: &str) {
    let all = transcript::entries(dialect, whole);
    assert!(all.iter().all(|entry| !entry.text.is_empty()), "{dialect:?}: an empty entry");
    transcript::said_since(dialect, whole, Timestamp::MIN);
    let first = transcript::entries(dialect, cut);
    assert!(all.starts_with(&first), "{dialect:?}: {first:?} is not the beginning of {all:?}");
}

fn turns(dialect: Dialect, text: &str) {
    let turn = rollout::fold(dialect, text);
    assert_eq!(turn, rollout::fold(dialect, text), "{dialect:?}: another answer");
    // As its end is read: the first line is cut, and is no JSON.
    let after_rubbish = rollout::fold(dialect, &format!("\"te\": 7}}\n{text}"));
    assert_eq!(turn, after_rubbish, "{dialect:?}: rubbish is heard");
    within_bounds(dialect, &turn);
    // As it is read while it grows, a line after the other.
    let mut grown = Turn::default();
    for line in text.split_inclusive('\n') {
        rollout::fold_onto(&mut grown, dialect, line);
    }
    assert_eq!(turn, grown, "{dialect:?}: another answer line by line");
}

fn within_bounds(dialect: Dialect, turn: &Turn) {
    assert_eq!(turn.waiting, None, "{dialect:?}: no transcript tells of a question");
    let Some(Edge { at, what, told: _ }) = &turn.edge else { return };
    assert!(turn.last >= Some(*at), "{dialect:?}: {turn:?}");
    if let EdgeKind::Failed(failure) = what {
        for text in [&failure.kind, &failure.text] {
            assert!(text.chars().count() <= MOST_TEXT, "{dialect:?}: {} bytes", text.len());
        }
    }
}
