//! A screen that was masked is read as before: that is what recordings for bug reports are for.

use dogwatch_core::mask::{Known, Masks};
use dogwatch_scoreboard::corpus::{Corpus, Input, Recording};

fn masks() -> Masks {
    Masks::new(Known {
        homes: vec!["/home/agent".into()],
        names: vec!["agent".into(), "laboratory".into()],
        secrets: vec!["double-needs-no-key".into()],
    })
}

fn masked(recording: &Recording) -> Recording {
    let masks = masks();
    let width = recording.facts.width.into();
    let screen = |bytes: &[u8]| masks.screen(&String::from_utf8_lossy(bytes), width).into_bytes();
    let mut facts = recording.facts.clone();
    facts.pane_title = masks.screen(&facts.pane_title, 0);
    Recording { facts, plain: screen(&recording.plain), styled: screen(&recording.styled) }
}

#[test]
fn masking_changes_no_verdict_and_leaves_no_trace_of_the_home() {
    for corpus in [Corpus::given().unwrap(), Corpus::recorded().unwrap()] {
        for recording in &corpus.recordings {
            let masked = masked(recording);
            let name = recording.short_name();
            for input in Input::ALL {
                let (before, after) = (recording.read(input), masked.read(input));
                assert!(before.agrees_with(&after), "{name}: {before:#?} but {after:#?}");
            }
            for bytes in [&masked.plain, &masked.styled] {
                let text = String::from_utf8_lossy(bytes);
                assert!(!text.contains("/home/agent"), "{name}:\n{text}");
                assert!(!text.contains("double-needs-no-key"), "{name}:\n{text}");
            }
        }
    }
}
