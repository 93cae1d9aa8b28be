//! One session, told in six columns.

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

/// Lines of an ended session that are looked at.
const LINES: u32 = 300;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub name: &'a str,
    pub tongue: Tongue,
    pub runtime: Runtime,
    /// Whether the look counts among those after which silence means something.
    pub counts: bool,
}

/// A session as it is told, and who it is.
#[derive(Debug)]
pub struct Told {
    pub row: Row,
    pub who: Who,
    /// What was on its screen.
    pub text: String,
}

#[derive(Debug)]
pub enum Who {
    Session(Box<SessionStatus>),
    Stranger(Box<PaneFace>),
    Nobody,
}

/// Looks once.
pub fn once(context: &Context, asked: Asked<'_>) -> Result<Told, Error> {
    let (reader, named) = status::named(context, asked.name, Timestamp::now())?;
    Ok(tell(context, &reader, named, asked))
}

/// Looks again.
pub fn look(
    context: &Context,
    reader: &mut StatusReader<'_>,
    asked: Asked<'_>,
) -> Result<Told, Error> {
    let named = reader.named(asked.name, Timestamp::now())?;
    Ok(tell(context, reader, named, asked))
}

fn tell(context: &Context, reader: &StatusReader<'_>, named: Named, asked: Asked<'_>) -> Told {
    match named {
        Named::Session(judged, sights) => {
            let todos = reader.memory(&judged.seen.session.id).and_then(todos);
            session(context, *judged, sights.as_ref(), todos, asked)
        }
        Named::Stranger(face, sights) => stranger(context, *face, sights, asked),
        Named::Nobody => {
            polls::forget(context, asked.name);
            Told { row: Row::plain(State::NotFound), who: Who::Nobody, text: String::new() }
        }
    }
}

fn session(
    context: &Context,
    judged: SessionStatus,
    sights: Option<&TmuxSnapshot>,
    todos: Option<Todos>,
    asked: Asked<'_>,
) -> Told {
    let text = cues::without_boxes(&text_of(context, &judged, sights));
    let session = &judged.seen.session;
    let is_plain = session.agent == profile::COMMAND;
    let remembered = || Remembered::of(context, asked.name, session.id.to_string());
    let was_typed = || context.state.session(&session.id).path().join(TYPED_FILE).exists();
    // An agent that can be asked is, however it was started.
    let is_legacy = is_plain && (asked.runtime == Runtime::Legacy || was_typed());
    let facts = legacy_facts(&judged.verdict.status, &text);
    let row = if let Some(facts) = facts.filter(|_| is_legacy) {
        by_screen(facts, remembered(), asked)
    } else {
        let status = &judged.verdict.status;
        let is_doubtful = matches!(status, Status::Stuck { .. } | Status::Unknown { .. });
        let has_pane = judged.seen.pane.is_some();
        let clock_moves = is_doubtful && clock_moves(remembered(), &text);
        let tongue = asked.tongue;
        row::of(status, Shown { text: &text, todos, has_pane, is_plain, clock_moves, tongue })
    };
    Told { row, who: Who::Session(Box::new(judged)), text }
}

/// The list that an agent shows of what it is about to do.
fn todos(memory: &Memory) -> Option<Todos> {
    let shown = memory.screen()?.todos?;
    Some(Todos { done: shown.done, total: shown.done + shown.doing + shown.open })
}

fn stranger(context: &Context, face: PaneFace, mut sights: TmuxSnapshot, asked: Asked<'_>) -> Told {
    let pane = face.row.pane_id;
    let text = match sights.capture(&context.tmux, &[pane]) {
        Ok(()) => sights.picture(pane).map(|(_, text)| capture::plain(text)),
        Err(_) => None,
    };
    let Some(text) = text.map(|text| cues::without_boxes(&text)) else {
        let row = Row::error("capture_failed");
        return Told { row, who: Who::Stranger(Box::new(face)), text: String::new() };
    };
    let row = &face.row;
    let of = format!("{}-{}-{}", row.server_pid, row.server_start, row.session_no);
    let exit = row.dead_status.or_else(|| row.dead_signal.map(|signal| 128 + signal));
    let facts = legacy::Facts { text: &text, dead: row.dead, exit };
    let row = by_screen(facts, Remembered::of(context, asked.name, of), asked);
    Told { row, who: Who::Stranger(Box::new(face)), text }
}

fn by_screen(facts: legacy::Facts<'_>, remembered: Remembered, asked: Asked<'_>) -> Row {
    let (row, polls) = legacy::tell(facts, &remembered.polls, asked.tongue);
    if asked.counts {
        remembered.keep(polls);
    }
    row
}

/// What the tables for screens need to know of one that was judged; nothing if it is not there at all.
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

/// Whether the status line's clock has moved since the last look.
fn clock_moves(remembered: Remembered, text: &str) -> bool {
    let now = cues::clock(text);
    let mut polls = remembered.polls.clone();
    let moves = row::clock_moves(polls.last_statusline_time.as_deref(), now.as_deref());
    polls.last_statusline_time = now.or(polls.last_statusline_time);
    remembered.keep(polls);
    moves
}

/// What is on the screen of a living session, or was when it ended.
fn text_of(context: &Context, judged: &SessionStatus, sights: Option<&TmuxSnapshot>) -> String {
    let seen = &judged.seen;
    let living = seen.pane.filter(|pane| !pane.dead && !judged.verdict.status.is_over());
    let shown = living.zip(sights).and_then(|(pane, sights)| sights.picture(pane.pane_id));
    match shown {
        Some((_, text)) => capture::plain(text),
        None => capture::kept(context, seen, LINES)
            .map(|screen| capture::plain(&screen.text))
            .unwrap_or_default(),
    }
}
