//! Waits until a session is over, driven by events.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::decide::session::cues::Todos;
use crate::decide::session::row::{Row, State, Tongue};
use dogwatch_core::status::Status;
use dogwatch_protocol::id::SessionId;

use super::Runtime;
use super::look::{self, Asked, Described, Who};
use dogwatch_engine::observe::changes::Interest;
use dogwatch_engine::observe::status::StatusReader;
use dogwatch_engine::observe::wait::{self, Look};
use dogwatch_engine::observe::{proc_files, processes};
use dogwatch_engine::{Context, Error};

/// How often a poll counts towards the number after which a silent session is stuck.
const COUNTED: Duration = Duration::from_secs(5);
/// How long a session may be unreadable before that is reported.
const PATIENCE: Duration = Duration::from_mins(1);

/// What to wait for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub name: &'a str,
    pub tongue: Tongue,
    pub runtime: Runtime,
    /// How long a session may take to start.
    pub grace: Duration,
    pub at_most: Duration,
}

#[derive(Debug)]
pub struct Monitored {
    pub end: End,
    /// The last todos that were seen.
    pub todos: Todos,
}

#[derive(Debug)]
pub enum End {
    Over(Described),
    TimedOut,
    /// It could not be read for a while.
    Unavailable(Error),
}

/// The result of one poll.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub row: &'a Row,
    /// It differs from the one before.
    pub is_news: bool,
    pub after: Duration,
}

/// Waits. `tell` is called for every poll.
pub fn monitor(
    context: &Context,
    ask: Ask<'_>,
    mut tell: impl FnMut(Progress<'_>),
) -> Result<Monitored, Error> {
    let mut watch = Watch::new(ask);
    if ask.at_most.is_zero() {
        return Ok(Monitored { end: End::TimedOut, todos: Todos::default() });
    }
    let mut reader = StatusReader::new(context)?;
    let end = wait::until(context, Some(ask.at_most), || {
        Ok(match look::look(context, &mut reader, watch.next_look()) {
            Err(error) => watch.failed(error),
            Ok(described) => {
                let is_news = watch.is_news(&described.row);
                tell(Progress { row: &described.row, is_news, after: watch.begun.elapsed() });
                watch.judge(described, &reader)
            }
        })
    })?;
    Ok(Monitored { end: end.unwrap_or(End::TimedOut), todos: watch.todos })
}

struct Watch<'a> {
    ask: Ask<'a>,
    begun: Instant,
    last_counted: Option<Instant>,
    last_row: Option<Row>,
    todos: Todos,
    /// Since when nothing is known about it.
    unknown_since: Option<Instant>,
}

impl<'a> Watch<'a> {
    fn new(ask: Ask<'a>) -> Self {
        let begun = Instant::now();
        let (last_counted, last_row, unknown_since) = (None, None, None);
        Self { ask, begun, last_counted, last_row, todos: Todos::default(), unknown_since }
    }

    fn next_look(&mut self) -> Asked<'a> {
        let Ask { name, tongue, runtime, .. } = self.ask;
        let counts = self.last_counted.is_none_or(|at| at.elapsed() >= COUNTED);
        if counts {
            self.last_counted = Some(Instant::now());
        }
        Asked { name, tongue, runtime, counts }
    }

    fn is_news(&mut self, row: &Row) -> bool {
        if row.todos.total > 0 {
            self.todos = row.todos;
        }
        self.last_row.replace(row.clone()).as_ref() != Some(row)
    }

    fn judge(&mut self, described: Described, reader: &StatusReader<'_>) -> Look<End> {
        match described.row.state {
            State::Completed | State::Crashed | State::NotFound => {
                Look::Found(End::Over(described))
            }
            State::Stuck if self.is_final(&described) => Look::Found(End::Over(described)),
            State::Error | State::Stuck => Look::Listen(interests(&described, reader)),
            State::JustStarted | State::InProgress => {
                self.unknown_since = None;
                Look::Listen(interests(&described, reader))
            }
        }
    }

    /// A screen that is not understood for a moment does not mean that nothing happens.
    fn is_final(&mut self, described: &Described) -> bool {
        let is_judged = match &described.who {
            Who::Session(status) => !matches!(status.verdict.status, Status::Unknown { .. }),
            Who::Unmanaged(_) | Who::Missing => true,
        };
        let since = *self.unknown_since.get_or_insert_with(Instant::now);
        let has_lasted = is_judged || since.elapsed() >= PATIENCE;
        has_lasted && self.begun.elapsed() >= self.ask.grace
    }

    fn failed(&mut self, error: Error) -> Look<End> {
        let since = *self.unknown_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE {
            Look::Found(End::Unavailable(error))
        } else {
            Look::Listen(BTreeSet::new())
        }
    }
}

/// The sources that would report a change.
fn interests(described: &Described, reader: &StatusReader<'_>) -> BTreeSet<(Interest, SessionId)> {
    match &described.who {
        Who::Session(status) => reader.interests(std::slice::from_ref(status)),
        Who::Unmanaged(face) => {
            let pid = i32::try_from(face.row.pane_pid).unwrap_or(0);
            let terminal = proc_files::terminal(pid).map(Interest::Terminal);
            let end = processes::identify(pid).map(Interest::End);
            let name = &face.row.session_name;
            terminal
                .into_iter()
                .chain(end)
                .map(|interest| (interest, name.as_str().into()))
                .collect()
        }
        Who::Missing => BTreeSet::new(),
    }
}
