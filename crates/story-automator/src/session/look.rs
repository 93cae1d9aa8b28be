//! One session as six columns.

use crate::decide::session::cues::Todos;
use crate::decide::session::row::{Row, Shown, State, Tongue};
use crate::decide::session::{cues, legacy, row};
use dogwatch_core::profile;
use dogwatch_core::status::Status;
use dogwatch_tmux::PaneFace;
use jiff::Timestamp;

use super::Runtime;
use super::polls::{self, Remembered};
use dogwatch_engine::actions::spawn::TYPED_FILE;
use dogwatch_engine::observe::capture;
use dogwatch_engine::observe::evidence::Memory;
use dogwatch_engine::observe::status::{self, Named, SessionStatus, StatusReader};
use dogwatch_engine::observe::tmux_snapshot::TmuxSnapshot;
use dogwatch_engine::{Context, Error};

/// Lines of an ended session that are read.
const LINES: u32 = 300;

/// The query.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub name: &'a str,
    pub tongue: Tongue,
    pub runtime: Runtime,
    /// Whether this poll counts towards the number after which silence means stuck.
    pub counts: bool,
}

/// A session's row, its identity and its screen.
#[derive(Debug)]
pub struct Described {
    pub row: Row,
    pub who: Who,
    /// The text of its screen.
    pub text: String,
}

#[derive(Debug)]
pub enum Who {
    Session(Box<SessionStatus>),
    Unmanaged(Box<PaneFace>),
    Missing,
}

/// Reads once.
pub fn once(context: &Context, asked: Asked<'_>) -> Result<Described, Error> {
    let (reader, named) = status::named(context, asked.name, Timestamp::now())?;
    Ok(describe(context, &reader, named, asked))
}

/// Reads again.
pub fn look(
    context: &Context,
    reader: &mut StatusReader<'_>,
    asked: Asked<'_>,
) -> Result<Described, Error> {
    let named = reader.named(asked.name, Timestamp::now())?;
    Ok(describe(context, reader, named, asked))
}

fn describe(
    context: &Context,
    reader: &StatusReader<'_>,
    named: Named,
    asked: Asked<'_>,
) -> Described {
    match named {
        Named::Session(status, snapshot) => {
            let todos = reader.memory(&status.seen.session.id).and_then(todos);
            session(context, *status, snapshot.as_ref(), todos, asked)
        }
        Named::Stranger(face, snapshot) => unmanaged(context, *face, snapshot, asked),
        Named::Nobody => {
            polls::forget(context, asked.name);
            Described { row: Row::plain(State::NotFound), who: Who::Missing, text: String::new() }
        }
    }
}

fn session(
    context: &Context,
    status: SessionStatus,
    snapshot: Option<&TmuxSnapshot>,
    todos: Option<Todos>,
    asked: Asked<'_>,
) -> Described {
    let text = cues::without_boxes(&text_of(context, &status, snapshot));
    let session = &status.seen.session;
    let is_plain = session.agent == profile::COMMAND;
    let remembered = || Remembered::of(context, asked.name, session.id.to_string());
    let was_typed = || context.state.session(&session.id).path().join(TYPED_FILE).exists();
    // An agent with better sources is read by them, however it was started.
    let is_legacy = is_plain && (asked.runtime == Runtime::Legacy || was_typed());
    let facts = legacy_facts(&status.verdict.status, &text);
    let row = if let Some(facts) = facts.filter(|_| is_legacy) {
        by_screen(facts, remembered(), asked)
    } else {
        let state = &status.verdict.status;
        let is_doubtful = matches!(state, Status::Stuck { .. } | Status::Unknown { .. });
        let has_pane = status.seen.pane.is_some();
        let clock_moves = is_doubtful && clock_moves(remembered(), &text);
        let tongue = asked.tongue;
        row::of(state, Shown { text: &text, todos, has_pane, is_plain, clock_moves, tongue })
    };
    Described { row, who: Who::Session(Box::new(status)), text }
}

/// The todo list that an agent shows.
fn todos(memory: &Memory) -> Option<Todos> {
    let shown = memory.screen()?.todos?;
    Some(Todos { done: shown.done, total: shown.done + shown.doing + shown.open })
}

fn unmanaged(
    context: &Context,
    face: PaneFace,
    mut snapshot: TmuxSnapshot,
    asked: Asked<'_>,
) -> Described {
    let pane = face.row.pane_id;
    let text = match snapshot.capture(&context.tmux, &[pane]) {
        Ok(()) => snapshot.picture(pane).map(|(_, text)| capture::plain(text)),
        Err(_) => None,
    };
    let Some(text) = text.map(|text| cues::without_boxes(&text)) else {
        let row = Row::error("capture_failed");
        return Described { row, who: Who::Unmanaged(Box::new(face)), text: String::new() };
    };
    let row = &face.row;
    let of = format!("{}-{}-{}", row.server_pid, row.server_start, row.session_no);
    let exit = row.dead_status.or_else(|| row.dead_signal.map(|signal| 128 + signal));
    let facts = legacy::Facts { text: &text, dead: row.dead, exit };
    let row = by_screen(facts, Remembered::of(context, asked.name, of), asked);
    Described { row, who: Who::Unmanaged(Box::new(face)), text }
}

fn by_screen(facts: legacy::Facts<'_>, remembered: Remembered, asked: Asked<'_>) -> Row {
    let (row, polls) = legacy::describe(facts, &remembered.polls, asked.tongue);
    if asked.counts {
        remembered.keep(polls);
    }
    row
}

/// What the tables for screens need to know; `None` if the session is gone.
fn legacy_facts<'a>(status: &Status, text: &'a str) -> Option<legacy::Facts<'a>> {
    let facts = legacy::Facts { text, dead: false, exit: None };
    match &status.without_stopped() {
        Status::Exited => Some(legacy::Facts { dead: true, exit: Some(0), ..facts }),
        Status::Crashed { exit } => {
            let exit = exit.map(|exit| i32::from(exit.status())).filter(|code| *code != 0);
            Some(legacy::Facts { dead: true, exit, ..facts })
        }
        Status::Lost { .. } => None,
        _ => Some(facts),
    }
}

/// Whether the status line's clock has moved since the last poll.
fn clock_moves(remembered: Remembered, text: &str) -> bool {
    let now = cues::clock(text);
    let mut polls = remembered.polls.clone();
    let moves = row::clock_moves(polls.last_statusline_time.as_deref(), now.as_deref());
    polls.last_statusline_time = now.or(polls.last_statusline_time);
    remembered.keep(polls);
    moves
}

/// The screen of a live session, or the last one of an ended session.
fn text_of(context: &Context, status: &SessionStatus, snapshot: Option<&TmuxSnapshot>) -> String {
    let seen = &status.seen;
    let living = seen.pane.filter(|pane| !pane.dead && !status.verdict.status.is_over());
    let shown = living.zip(snapshot).and_then(|(pane, snapshot)| snapshot.picture(pane.pane_id));
    match shown {
        Some((_, text)) => capture::plain(text),
        None => capture::kept(context, &seen.session.id, LINES)
            .map(|screen| capture::plain(&screen.text))
            .unwrap_or_default(),
    }
}
