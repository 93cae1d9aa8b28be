mod removal;
mod rows;
#[cfg(test)]
mod tests;
mod which;

use dogwatch_protocol::event_data::{Deleted, Nothing, Restarted};
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::name::{NameError, SessionName, StoryStep};
use dogwatch_core::record::{Ended, Started};
use dogwatch_protocol::id::{Origin, SessionId};
use dogwatch_protocol::status::ServerDied;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

pub(crate) use self::rows::{COLUMNS, insert, path_text};
use self::rows::{free_name, from_row};
use crate::{
    LimitPolicy, NewCallback, NewMessage, Store, StoreError, callbacks, journal, limits, messages,
    recovery,
};

pub use which::{MOST_OVER, SHOWN_FOR, Which};

/// The tmux server that a pane id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    pub pid: i64,
    /// `#{start_time}`, seconds.
    pub start: i64,
}

/// A session's membership in a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMembership {
    pub role: String,
    /// The pane that leads the window.
    pub master: String,
    /// The pane that started the member, and gets its reports.
    pub spawner: String,
    pub session_file: PathBuf,
}

/// A session as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub origin: Origin,
    pub name: String,
    pub agent: String,
    pub project: PathBuf,
    pub cwd: PathBuf,
    pub story: Option<StoryStep>,
    pub model: Option<String>,
    pub conversation: Option<String>,
    pub command: Vec<String>,
    pub socket: PathBuf,
    pub created: Timestamp,
    pub pane: Option<String>,
    pub server: Option<Server>,
    pub stage: Stage,
    /// Killed or cleaned up on purpose; lists do not show it.
    pub archived: bool,
    /// What a person calls it.
    pub title: Option<String>,
    /// In alphabetical order.
    pub tags: Vec<String>,
    pub membership: Option<TeamMembership>,
    /// Its tmux server died, and it was one of those that went with it.
    pub server_died: Option<ServerDied>,
}

/// How far a session has come, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Registered; no record yet that its program started.
    Made,
    Running(Started),
    Ended {
        /// `None` if the end was recorded and the start was not.
        started: Option<Started>,
        ended: Ended,
    },
    /// Found gone at that time, without a record of its end.
    Lost {
        started: Option<Started>,
        found: Timestamp,
    },
}

impl Session {
    pub fn started(&self) -> Option<&Started> {
        match &self.stage {
            Stage::Made => None,
            Stage::Running(started) => Some(started),
            Stage::Ended { started, .. } | Stage::Lost { started, .. } => started.as_ref(),
        }
    }

    pub fn started_mut(&mut self) -> Option<&mut Started> {
        match &mut self.stage {
            Stage::Made => None,
            Stage::Running(started) => Some(started),
            Stage::Ended { started, .. } | Stage::Lost { started, .. } => started.as_mut(),
        }
    }

    pub fn ended(&self) -> Option<&Ended> {
        match &self.stage {
            Stage::Ended { ended, .. } => Some(ended),
            _ => None,
        }
    }

    /// Whether it is over: ended, or found lost.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. } | Stage::Lost { .. })
    }

    /// Adds a start that was found later than the rest.
    pub fn set_started(&mut self, found: Started) {
        match &mut self.stage {
            Stage::Made => self.stage = Stage::Running(found),
            Stage::Running(started) => *started = found,
            Stage::Ended { started, .. } | Stage::Lost { started, .. } => *started = Some(found),
        }
    }

    pub fn set_ended(&mut self, ended: Ended) {
        self.stage = Stage::Ended { started: self.started().cloned(), ended };
    }

    pub fn set_lost(&mut self, found: Timestamp) {
        self.stage = Stage::Lost { started: self.started().cloned(), found };
    }
}

/// A session that is about to be created.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    pub id: &'a str,
    pub agent: &'a str,
    pub project: &'a Path,
    pub cwd: &'a Path,
    pub story: Option<&'a StoryStep>,
    pub model: Option<&'a str>,
    pub conversation: Option<&'a str>,
    pub command: &'a [String],
    pub socket: &'a Path,
    pub created: Timestamp,
    pub tags: &'a [String],
    pub membership: Option<&'a TeamMembership>,
    /// The session that gets a message at the end of its first turn.
    pub subscriber: Option<&'a str>,
    /// What it does about usage limits.
    pub limits: Option<&'a LimitPolicy>,
    /// Its prompt, if that waits for the end of a limit.
    pub prompt: Option<&'a NewMessage<'a>>,
}

/// The name for a new session.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// Exactly this name.
    Exactly(&'a SessionName),
    /// This name, or the first free number after it.
    OrNumbered(&'a SessionName),
}

impl Store {
    /// Records a session before it is created, so that none can exist without a record. Returns
    /// its name; `skip` lists names that tmux refused.
    pub fn register(
        &mut self,
        new: &NewSession<'_>,
        wanted: Wanted<'_>,
        skip: &[SessionName],
    ) -> Result<Result<SessionName, NameError>, StoreError> {
        self.transaction(|tx| {
            let name = match wanted {
                Wanted::Exactly(name) => name.clone(),
                Wanted::OrNumbered(base) => match free_name(tx, new.socket, base, skip)? {
                    Ok(name) => name,
                    Err(error) => return Ok(Err(error)),
                },
            };
            insert(tx, new, &name)?;
            if let Some(subscriber) = new.subscriber {
                let (session, at) = (new.id, new.created);
                callbacks::insert(tx, &NewCallback { subscriber, session, job: None, at })?;
            }
            // With it, and not once its agent runs: nothing may fail then.
            if let Some(policy) = new.limits {
                limits::insert_policy(tx, policy, new.created)?;
            }
            if let Some(prompt) = new.prompt {
                messages::insert(tx, prompt)?;
            }
            Ok(Ok(name))
        })
        .inspect(|registered| {
            if let Ok(name) = registered {
                recovery::keep(&self.dir, new, name);
            }
            self.dir.tell_sessions();
        })
    }

    /// Removes a session that could not be created.
    pub fn unregister(&mut self, id: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let Some(subject) = journal::subject(tx, id)? else { return Ok(()) };
            tx.execute("DELETE FROM sessions WHERE id = ?", [id])?;
            tx.execute("DELETE FROM journal WHERE session = ?", [id])?;
            // The subscriber gets the error instead.
            tx.execute("DELETE FROM callbacks WHERE session = ?", [id])?;
            tx.execute("DELETE FROM limit_policies WHERE session = ?", [id])?;
            tx.execute("DELETE FROM messages WHERE session = ?", [id])?;
            // Its creation may have been published already.
            let data = Deleted { because: "it failed to start".to_owned() };
            journal::append_of(tx, Timestamp::now(), id, Some(&subject), kind::DELETED, &data)
        })
        .inspect(|()| self.dir.tell_sessions())
    }

    /// Records where tmux put the session.
    pub fn placed(&mut self, id: &str, pane: &str, server: Server) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                // It may have been archived before it existed.
                "UPDATE sessions SET pane = ?, server_pid = ?, server_start = ?, put_away = NULL, over = ended WHERE id = ?",
                params![pane, server.pid, server.start, id],
            )
            .map(drop)
        })
        .inspect(|()| {
            recovery::keep_server(&self.dir, id, server);
            self.dir.tell_sessions();
        })
    }

    /// Records that the agent's program runs.
    pub fn started(&mut self, id: &str, started: &Started) -> Result<(), StoreError> {
        let Started { at, runner, agent, pane } = started;
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET started = ?, runner_pid = ?, runner_start = ?, agent_pid = ?, \
                 agent_start = ?, pane = coalesce(pane, ?) WHERE id = ? AND started IS NULL",
                params![
                    at.as_millisecond(),
                    runner.pid,
                    runner.start.cast_signed(),
                    agent.pid,
                    agent.start.cast_signed(),
                    // In case `spawn` was killed before it could record the pane.
                    pane,
                    id
                ],
            )?;
            if changed > 0 {
                journal::append(tx, *at, id, kind::STARTED, &Nothing {})?;
            }
            Ok(())
        })
    }

    /// Notes that the agent was started again, without what it could not take: with that, it has no conversation of our
    /// choice any more.
    pub fn restarted(
        &mut self,
        id: &str,
        started: &Started,
        because: &str,
    ) -> Result<(), StoreError> {
        let Started { at, agent, .. } = started;
        self.transaction(|tx| {
            tx.execute(
                "UPDATE sessions SET agent_pid = ?, agent_start = ?, conversation = NULL WHERE id = ?",
                params![agent.pid, agent.start.cast_signed(), id],
            )?;
            let because = because.to_owned();
            journal::append(tx, *at, id, kind::RESTARTED, &Restarted { because })
        })
    }

    /// Records how the agent ended; journalled once, however many processes notice it.
    pub fn ended(&mut self, id: &str, ended: &Ended) -> Result<(), StoreError> {
        let ending = serde_json::to_value(ended).logged("write JSON").unwrap_or_default();
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET ended = ?1, over = ?1, ending = ?2 WHERE id = ?3 AND ended IS NULL",
                params![ended.at.as_millisecond(), ending.to_string(), id],
            )?;
            if changed > 0 {
                journal::append(tx, ended.at, id, kind::ENDED, &ending)?;
            }
            Ok(())
        })
    }

    /// Records that these sessions are lost: no process is left, and no end was recorded.
    pub fn lost(&mut self, ids: &[&str], at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let mut note =
                tx.prepare_cached("UPDATE sessions SET over = ? WHERE id = ? AND over IS NULL")?;
            ids.iter().try_for_each(|id| note.execute(params![at.as_millisecond(), id]).map(drop))
        })
    }

    /// Archives the session: lists no longer show it.
    pub fn archive(&mut self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET put_away = ? WHERE id = ? AND put_away IS NULL",
                params![at.as_millisecond(), id],
            )?;
            if changed > 0 {
                journal::append(tx, at, id, kind::DELETED, &Nothing {})?;
            }
            Ok(())
        })
        .inspect(|()| self.dir.tell_sessions())
    }

    /// The sessions of that name on a server, newest first.
    pub fn named(&self, socket: &Path, name: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE socket = ? AND name = ? ORDER BY created DESC, id DESC"
        );
        self.query(&sql, params![path_text(socket), name])
    }

    /// The session with this id, or the only one whose id starts with it (at least 8 characters).
    pub fn by_id(&self, id: &str) -> Result<Option<Session>, StoreError> {
        if id.len() < 8 || !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Ok(None);
        }
        let sql =
            format!("SELECT {COLUMNS} FROM sessions WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2");
        let mut found = self.query(&sql, params![id])?;
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// Records a request in the journal before it is executed.
    pub fn note(&mut self, id: &str, event: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| journal::append(tx, at, id, event, &Nothing {}))
    }

    pub fn knows(&self, id: &str) -> Result<bool, StoreError> {
        self.read(|c| {
            c.query_row("SELECT 1 FROM sessions WHERE id = ?", [id], |_| Ok(()))
                .optional()
                .map(|found| found.is_some())
        })
    }

    pub(crate) fn query(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Session>, StoreError> {
        self.read(|c| c.prepare_cached(sql)?.query_map(values, from_row)?.collect())
    }
}
