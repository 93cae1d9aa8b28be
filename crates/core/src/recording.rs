//! What was recorded of a session, as `meta.json` in the recording's folder tells it.
//!
//! The facts of the screen have the names that the laboratory's collections of screens use: the line can be put
//! into an `index.jsonl` there once somebody has filled in what is true.

pub use dogwatch_protocol::bug_report::{Evidence, Meta, ScreenAlone, Session};

use crate::screen::{Reading, Screen, State};

/// The version of the folder's format. Fields may be added to it; it rises when one changes its meaning.
pub const FORMAT: u32 = 1;

pub const META: &str = "meta.json";
pub const SCREEN: &str = "screen.txt";
pub const STYLED_SCREEN: &str = "screen.ansi";
pub const VERDICT: &str = "verdict.json";
pub const SIGNALS: &str = "signals.jsonl";
pub const TRANSCRIPT: &str = "transcript.jsonl";
pub const AGENT_STATE: &str = "agent-state.json";

/// What a screen says before and after it was masked.
pub fn compare(before: &Reading, after: &Reading) -> ScreenAlone {
    let same = before.agrees_with(after);
    ScreenAlone { before: words(before), after: words(after), same }
}

/// The state's word, and what is waited for.
fn words(reading: &Reading) -> String {
    match &reading.state {
        State::Waiting { need } => format!("waiting for {}", need.as_str()),
        state => state.as_str().to_owned(),
    }
}

/// The recorded screen as it is to be read.
pub fn screen<'a>(meta: &'a Meta, bytes: &'a [u8]) -> Screen<'a> {
    Screen {
        bytes,
        width: meta.width.unwrap_or(0),
        height: meta.height.unwrap_or(0),
        title: meta.pane_title.as_deref(),
        cursor: None,
        alternate: meta.alternate_screen,
    }
}
