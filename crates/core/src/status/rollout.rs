//! Transcripts of claude, codex and gemini, folded into the edges of turns.
//!
//! Newer versions write down when a turn begins and how it ends. Older ones write only who said what: there an edge
//! follows from who spoke last, and it is not [told](Edge::told).
//!
//! Lines are not strictly in order of time, so an edge counts only if it is not older than the last one; one that is much
//! older was written after the clock was set back, and counts. What is cut, unknown or not JSON is passed over: a
//! transcript is read while it is written.

mod claude;
mod codex;
mod gemini;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::evidence::{Course, Edge, EdgeKind, Failure, Turn};
use crate::text::shortened;
use crate::transcript::Dialect;

/// Edges of claude 2.1.325 were seen out of order by milliseconds, other lines by seconds.
const SET_BACK: SignedDuration = SignedDuration::from_mins(1);
/// claude 2.1.325 closes an interrupted turn like any other, 37 ms after it wrote that it was interrupted. Other lines of
/// a turn that has ended may come late as well.
const CLOSING: SignedDuration = SignedDuration::from_secs(2);
/// Longest text of a failure: it is handed on to tables and messages.
const MAX_TEXT: usize = 2_000;

/// What a line tells of the turn that it is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// Its beginning or end, in so many words.
    Told(EdgeKind),
    /// A person's message.
    Asked,
    /// The agent spoke; `last` if the model had no more to say.
    Said { last: bool },
    /// The model's answer is complete.
    Answered,
    /// The agent called a tool.
    Called,
    /// A tool has returned.
    Returned,
    /// The agent is at something that ends without an answer.
    Aside,
}

/// Folds the text of a transcript, or its end.
pub fn fold(dialect: Dialect, text: &str) -> Turn {
    let mut turn = Turn::default();
    fold_onto(&mut turn, dialect, text);
    turn
}

/// Folds what was written since.
pub fn fold_onto(turn: &mut Turn, dialect: Dialect, text: &str) {
    for line in text.lines() {
        // Most lines are long, and what they tell is not in their long parts.
        let glance = match dialect {
            Dialect::Claude => claude::glance(line),
            Dialect::Codex => codex::glance(line),
            Dialect::Gemini => None,
        };
        if let Some(Glance { timestamp, line }) = glance {
            if let Ok(at) = timestamp.parse() {
                turn.last = turn.last.max(Some(at));
                if let Some(line) = line {
                    note_that_it_tells(turn, dialect, &line);
                    take_in(turn, at, line);
                }
            }
        } else if let Ok(value) = serde_json::from_str::<Value>(line) {
            fold_line(turn, dialect, &value);
        }
    }
}

/// What a line tells, found without reading its long parts. It is the same that [`fold_line`] finds.
#[derive(Debug)]
struct Glance<'a> {
    timestamp: Cow<'a, str>,
    line: Option<Line>,
}

/// Takes one line in.
pub(crate) fn fold_line(turn: &mut Turn, dialect: Dialect, line: &Value) {
    let Some(at) = line["timestamp"].as_str().and_then(|t| t.parse().ok()) else { return };
    turn.last = turn.last.max(Some(at));
    if dialect == Dialect::Claude && line["type"] == "queue-operation" {
        queue(turn, at, line["operation"].as_str());
        return;
    }
    let line = match dialect {
        Dialect::Claude => claude::line(line),
        Dialect::Codex => codex::line(line),
        Dialect::Gemini => gemini::line(line),
    };
    if let Some(line) = line {
        note_that_it_tells(turn, dialect, &line);
        take_in(turn, at, line);
    }
}

/// Each version of codex that writes down when a turn begins writes down its end, whatever that was: `task_complete` or
/// `turn_aborted`; 0.80 has the latter only. claude does not always: Esc before the first word leaves no line.
fn note_that_it_tells(turn: &mut Turn, dialect: Dialect, line: &Line) {
    let tells = matches!(line, Line::Told(what) if *what != EdgeKind::Interrupted);
    turn.tells_ends |= dialect == Dialect::Codex && tells;
}

fn take_in(turn: &mut Turn, at: Timestamp, line: Line) {
    match line {
        Line::Told(what) => told(turn, at, what),
        Line::Asked => {
            // Versions that write the beginning of a turn write the message after it.
            if !turn.edge.as_ref().is_some_and(|edge| edge.told && edge.what == EdgeKind::Began) {
                begin(turn, at, false);
            }
            turn.course = Course { asked: true, ..Course::default() };
        }
        Line::Said { last } => {
            go_on(turn, at, last);
            turn.course.spoke_last = true;
            if last && is_at_likely_end(turn) {
                end(turn, at, false);
            }
        }
        Line::Answered if turn.course.spoke_last && is_likely(turn, &EdgeKind::Began) => {
            end(turn, at, false);
        }
        Line::Called => {
            go_on(turn, at, false);
            turn.course.spoke_last = false;
        }
        Line::Returned => turn.course.spoke_last = false,
        Line::Aside => turn.course.asked = false,
        Line::Answered => {}
    }
}

fn told(turn: &mut Turn, at: Timestamp, what: EdgeKind) {
    match what {
        EdgeKind::Began => {
            begin(turn, at, true);
            turn.course = Course::default();
        }
        // claude closes a failed turn like any other, right after the error.
        EdgeKind::Done if has_failed(turn) || was_interrupted_before(turn, at) => {}
        EdgeKind::Done => end(turn, at, true),
        // Without a message, no answer is missing: codex compacts and reviews in turns of their own, and a person's shell
        // command is one.
        EdgeKind::Unanswered if !turn.course.asked => end(turn, at, true),
        what => place(turn, at, what, true),
    }
}

fn begin(turn: &mut Turn, at: Timestamp, told: bool) {
    turn.turns_begun += 1;
    turn.began = Some(at);
    place(turn, at, EdgeKind::Began, told);
}

fn end(turn: &mut Turn, at: Timestamp, told: bool) {
    if !is_likely(turn, &EdgeKind::Done) {
        turn.turns_done += 1;
    }
    place(turn, at, EdgeKind::Done, told);
}

/// The agent is working: if the last turn has ended, another one has begun without a line that says so.
fn go_on(turn: &mut Turn, at: Timestamp, is_last: bool) {
    let is_over = match &turn.edge {
        None => true,
        Some(Edge { what: EdgeKind::Began, .. }) => false,
        // What was said before was not the last after all.
        Some(Edge { what: EdgeKind::Done, told: false, .. }) => !is_last,
        Some(edge) => at.duration_since(edge.at) > CLOSING,
    };
    if is_over {
        begin(turn, at, false);
    }
}

/// Whether the end of a turn fits here that is only likely.
fn is_at_likely_end(turn: &Turn) -> bool {
    let is_open = turn.edge.as_ref().is_some_and(|edge| edge.what == EdgeKind::Began);
    is_open || is_likely(turn, &EdgeKind::Done)
}

fn is_likely(turn: &Turn, what: &EdgeKind) -> bool {
    turn.edge.as_ref().is_some_and(|edge| !edge.told && edge.what == *what)
}

fn has_failed(turn: &Turn) -> bool {
    turn.edge.as_ref().is_some_and(|edge| matches!(edge.what, EdgeKind::Failed(_)))
}

fn was_interrupted_before(turn: &Turn, at: Timestamp) -> bool {
    turn.edge.as_ref().is_some_and(|edge| {
        edge.what == EdgeKind::Interrupted && at.duration_since(edge.at).abs() < CLOSING
    })
}

fn place(turn: &mut Turn, at: Timestamp, what: EdgeKind, told: bool) {
    let is_newer = |last: &Edge| last.at <= at || last.at.duration_since(at) > SET_BACK;
    if turn.edge.as_ref().is_none_or(is_newer) {
        turn.edge = Some(Edge { at, what, told });
    }
}

/// Claude's queue of messages. One may be taken into the running turn (`remove`), begin a turn of its own (`dequeue`; it
/// is counted by the message that follows), or go back into the input box with all others (`popAll`).
fn queue(turn: &mut Turn, at: Timestamp, operation: Option<&str>) {
    match operation {
        Some("enqueue") => turn.queued = turn.queued.saturating_add(1),
        Some("remove") => turn.queued = turn.queued.saturating_sub(1),
        Some("popAll") => turn.queued = 0,
        Some("dequeue") => {
            turn.queued = turn.queued.saturating_sub(1);
            turn.began = Some(at);
            place(turn, at, EdgeKind::Began, true);
        }
        _ => {}
    }
}

fn failed(kind: Option<&str>, text: &str) -> Line {
    Line::Told(EdgeKind::Failed(Failure {
        kind: shortened(kind.unwrap_or("unknown"), MAX_TEXT),
        text: shortened(text, MAX_TEXT),
        until: None,
    }))
}

#[cfg(test)]
mod tests;
