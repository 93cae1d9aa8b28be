use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_core::event::kind;
use dogwatch_core::name::{NameError, SessionName, StoryStep};
use dogwatch_core::record::{Ended, ProcessIdent, Started};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::json;

use crate::{Store, StoreError, journal};

/// Which tmux server a pane id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    pub pid: i64,
    /// `#{start_time}`, seconds.
    pub start: i64,
}

/// The place of a session in a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub role: String,
    /// The pane that leads the window.
    pub master: String,
    /// The pane that started it, and is told of what it has done.
    pub spawner: String,
    pub session_file: PathBuf,
}

/// A session as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
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
    pub started: Option<Started>,
    pub ended: Option<Ended>,
    /// Ended or cleaned up on purpose.
    pub put_away: bool,
    pub seat: Option<Seat>,
}

/// A session that is about to be made.
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
    pub seat: Option<&'a Seat>,
}

/// The name a new session wants.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// This one and no other.
    Exactly(&'a SessionName),
    /// This one, or the first free number after it.
    OrNumbered(&'a SessionName),
}

const COLUMNS: &str = "id, name, agent, project, cwd, step, epic, story, cycle, model, conversation, command, \
     socket, created, pane, server_pid, server_start, started, ending, put_away, runner_pid, runner_start, agent_pid, agent_start, \
     role, master, spawner, session_file";

impl Store {
    /// Remembers a session before it is made, so that none can exist that nobody knows of. Returns
    /// the name it got; `skip` lists names that tmux refused.
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
            Ok(Ok(name))
        })
        .inspect(|_| self.dir.tell_roll())
    }

    /// Forgets a session that could not be made.
    pub fn unregister(&mut self, id: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let Some(subject) = journal::subject(tx, id)? else { return Ok(()) };
            tx.execute("DELETE FROM sessions WHERE id = ?", [id])?;
            tx.execute("DELETE FROM journal WHERE session = ?", [id])?;
            // Somebody may have been told already that it is being made.
            let data = json!({ "because": "it could not be started" });
            journal::append_of(tx, Timestamp::now(), id, Some(&subject), kind::DELETED, &data)
        })
        .inspect(|()| self.dir.tell_roll())
    }

    /// Notes where tmux put the session.
    pub fn placed(&mut self, id: &str, pane: &str, server: Server) -> Result<(), StoreError> {
        self.transaction(|tx| {
            tx.execute(
                // It was not there yet when somebody put it away.
                "UPDATE sessions SET pane = ?, server_pid = ?, server_start = ?, put_away = NULL WHERE id = ?",
                params![pane, server.pid, server.start, id],
            )
            .map(drop)
        })
        .inspect(|()| self.dir.tell_roll())
    }

    /// Notes that the agent's program runs.
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
                    // In case the maker of the session was killed before it could note it.
                    pane,
                    id
                ],
            )?;
            if changed > 0 {
                journal::append(tx, *at, id, kind::STARTED, &json!({}))?;
            }
            Ok(())
        })
    }

    /// Notes how the agent ended; told once, however many processes notice it.
    pub fn ended(&mut self, id: &str, ended: &Ended) -> Result<(), StoreError> {
        let ending = serde_json::to_value(ended).unwrap_or_default();
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET ended = ?, ending = ? WHERE id = ? AND ended IS NULL",
                params![ended.at.as_millisecond(), ending.to_string(), id],
            )?;
            if changed > 0 {
                journal::append(tx, ended.at, id, kind::ENDED, &ending)?;
            }
            Ok(())
        })
    }

    /// Notes that the session is done with: lists no longer show it.
    pub fn put_away(&mut self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET put_away = ? WHERE id = ? AND put_away IS NULL",
                params![at.as_millisecond(), id],
            )?;
            if changed > 0 {
                journal::append(tx, at, id, kind::DELETED, &json!({}))?;
            }
            Ok(())
        })
        .inspect(|()| self.dir.tell_roll())
    }

    /// Sessions on one tmux server, oldest first; those that were put away only if `all`.
    pub fn sessions(&self, socket: &Path, all: bool) -> Result<Vec<Session>, StoreError> {
        let shown = if all { "" } else { "AND put_away IS NULL" };
        let sql =
            format!("SELECT {COLUMNS} FROM sessions WHERE socket = ? {shown} ORDER BY created, id");
        self.query(&sql, params![path_text(socket)])
    }

    /// Every session, on whatever server, oldest first.
    pub fn everything(&self) -> Result<Vec<Session>, StoreError> {
        self.query(&format!("SELECT {COLUMNS} FROM sessions ORDER BY created, id"), params![])
    }

    /// The sessions that bear a name on a server, newest first.
    pub fn named(&self, socket: &Path, name: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE socket = ? AND name = ? ORDER BY created DESC, id DESC"
        );
        self.query(&sql, params![path_text(socket), name])
    }

    /// The session with this id, or whose id alone starts so (at least 8 characters).
    pub fn by_id(&self, id: &str) -> Result<Option<Session>, StoreError> {
        if id.len() < 8 || !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Ok(None);
        }
        let sql =
            format!("SELECT {COLUMNS} FROM sessions WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2");
        let mut found = self.query(&sql, params![id])?;
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// Forgets an ended session with all that was noted of it.
    pub fn forget(&mut self, id: &str) -> Result<(), StoreError> {
        self.transaction(|tx| {
            let sql = "SELECT 1 FROM sessions WHERE id = ? AND put_away IS NULL";
            let was_listed = tx.query_row(sql, [id], |_| Ok(())).optional()?.is_some();
            let subject = journal::subject(tx, id)?.filter(|_| was_listed);
            for table in ["signals", "heartbeats", "looks", "states", "messages", "jobs", "journal"]
            {
                tx.execute(&format!("DELETE FROM {table} WHERE session = ?"), [id])?;
            }
            tx.execute("DELETE FROM sessions WHERE id = ?", [id])?;
            if subject.is_some() {
                let (at, data) = (Timestamp::now(), json!({ "because": "it was forgotten" }));
                journal::append_of(tx, at, id, subject.as_ref(), kind::DELETED, &data)?;
            }
            Ok(())
        })
        .inspect(|()| {
            let _ = fs::remove_file(self.dir.news_of(id));
            let _ = self.dir.typing_lock(id).map(fs::remove_file);
            self.dir.tell_roll();
        })
    }

    /// Forgets what was noted before that moment of agents that have no row of their own: those that others started, and
    /// hooks that came from nowhere.
    pub fn forget_strangers(&mut self, before: Timestamp) -> Result<(), StoreError> {
        let times = [
            ("signals", "at"),
            ("heartbeats", "at"),
            ("looks", "moved"),
            ("states", "seen"),
            ("messages", "posted"),
            ("jobs", "submitted"),
            ("journal", "at"),
        ];
        self.transaction(|tx| {
            for (table, time) in times {
                let sql = format!(
                    "DELETE FROM {table} WHERE {time} < ? AND session NOT IN (SELECT id FROM sessions)"
                );
                tx.execute(&sql, [before.as_millisecond()])?;
            }
            Ok(())
        })
    }

    /// Notes an order in the journal before it is carried out.
    pub fn note(&mut self, id: &str, event: &str, at: Timestamp) -> Result<(), StoreError> {
        self.transaction(|tx| journal::append(tx, at, id, event, &json!({})))
    }

    pub fn knows(&self, id: &str) -> Result<bool, StoreError> {
        self.read(|c| {
            c.query_row("SELECT 1 FROM sessions WHERE id = ?", [id], |_| Ok(()))
                .optional()
                .map(|found| found.is_some())
        })
    }

    fn query(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Session>, StoreError> {
        self.read(|c| c.prepare_cached(sql)?.query_map(values, from_row)?.collect())
    }
}

fn free_name(
    tx: &Transaction<'_>,
    socket: &Path,
    base: &SessionName,
    skip: &[SessionName],
) -> rusqlite::Result<Result<SessionName, NameError>> {
    let taken: HashSet<String> = tx
        .prepare_cached(
            "SELECT name FROM sessions WHERE socket = ?1 AND put_away IS NULL AND name >= ?2 AND name < ?2 || '.'",
        )?
        .query_map(params![path_text(socket), base.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut n = 1;
    loop {
        match base.numbered(n) {
            Ok(name) if taken.contains(name.as_str()) || skip.contains(&name) => n += 1,
            found => return Ok(found),
        }
    }
}

fn insert(tx: &Transaction<'_>, new: &NewSession<'_>, name: &SessionName) -> rusqlite::Result<()> {
    let story = new.story;
    tx.execute(
        "INSERT INTO sessions (id, name, agent, project, cwd, step, epic, story, cycle, model, conversation, \
         command, socket, created, role, master, spawner, session_file) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            new.id,
            name.as_str(),
            new.agent,
            path_text(new.project),
            path_text(new.cwd),
            story.map(|s| &s.step),
            story.map(|s| &s.epic),
            story.map(|s| &s.story),
            story.and_then(|s| s.cycle.as_ref()),
            new.model,
            new.conversation,
            json!(new.command).to_string(),
            path_text(new.socket),
            new.created.as_millisecond(),
            new.seat.map(|s| &s.role),
            new.seat.map(|s| &s.master),
            new.seat.map(|s| &s.spawner),
            new.seat.map(|s| path_text(&s.session_file)),
        ],
    )?;
    let data = json!({ "name": name, "agent": new.agent });
    journal::append(tx, new.created, new.id, kind::CREATED, &data)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    let time = |index| -> rusqlite::Result<Option<Timestamp>> {
        let ms: Option<i64> = row.get(index)?;
        Ok(ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
    };
    let path = |index| row.get::<_, String>(index).map(PathBuf::from);
    let step: Option<String> = row.get(5)?;
    let story = match step {
        Some(step) => {
            Some(StoryStep { step, epic: row.get(6)?, story: row.get(7)?, cycle: row.get(8)? })
        }
        None => None,
    };
    let server_pid: Option<i64> = row.get(15)?;
    let server_start: Option<i64> = row.get(16)?;
    let ending: Option<String> = row.get(18)?;
    Ok(Session {
        id: row.get(0)?,
        name: row.get(1)?,
        agent: row.get(2)?,
        project: path(3)?,
        cwd: path(4)?,
        story,
        model: row.get(9)?,
        conversation: row.get(10)?,
        command: serde_json::from_str(&row.get::<_, String>(11)?).unwrap_or_default(),
        socket: path(12)?,
        created: time(13)?.unwrap_or_default(),
        pane: row.get(14)?,
        server: server_pid.zip(server_start).map(|(pid, start)| Server { pid, start }),
        started: started(row, time(17)?)?,
        ended: ending.and_then(|text| serde_json::from_str(&text).ok()),
        put_away: row.get::<_, Option<i64>>(19)?.is_some(),
        seat: seat(row)?,
    })
}

fn seat(row: &Row<'_>) -> rusqlite::Result<Option<Seat>> {
    let Some(role) = row.get(24)? else { return Ok(None) };
    let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
    let session_file = PathBuf::from(text(27)?);
    Ok(Some(Seat { role, master: text(25)?, spawner: text(26)?, session_file }))
}

/// The runner's record, as far as the database has it.
fn started(row: &Row<'_>, at: Option<Timestamp>) -> rusqlite::Result<Option<Started>> {
    let process = |pid, start| -> rusqlite::Result<Option<ProcessIdent>> {
        let pid: Option<i32> = row.get(pid)?;
        let start: Option<i64> = row.get(start)?;
        Ok(pid.zip(start).map(|(pid, start)| ProcessIdent { pid, start: start.cast_unsigned() }))
    };
    let (runner, agent, pane) = (process(20, 21)?, process(22, 23)?, row.get(14)?);
    Ok(at.zip(runner).zip(agent).map(|((at, runner), agent)| Started { at, runner, agent, pane }))
}

/// Paths are kept as text; one that is not UTF-8 is kept readable rather than exact.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Look;
    use crate::StateDir;
    use dogwatch_core::record::{Cause, Exit};

    fn store() -> (tempfile::TempDir, Store) {
        let tmp = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&tmp.path().join("state")).unwrap();
        let store = Store::open(&dir).unwrap();
        (tmp, store)
    }

    fn new(id: &str) -> NewSession<'_> {
        NewSession {
            id,
            agent: "claude",
            project: Path::new("/p"),
            cwd: Path::new("/p/sub"),
            story: None,
            model: None,
            conversation: None,
            command: &[],
            socket: Path::new("/s"),
            created: Timestamp::UNIX_EPOCH,
            seat: None,
        }
    }

    #[test]
    fn a_seat_in_a_team() {
        let (_tmp, mut store) = store();
        let name = SessionName::new("x").unwrap();
        let seat = Seat {
            role: "dev".into(),
            master: "%0".into(),
            spawner: "%1".into(),
            session_file: "/p/s.md".into(),
        };
        let with_seat = NewSession { seat: Some(&seat), ..new("a") };
        store.register(&with_seat, Wanted::Exactly(&name), &[]).unwrap().unwrap();
        store.register(&new("b"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
        let found: Vec<_> =
            store.sessions(Path::new("/s"), false).unwrap().into_iter().map(|s| s.seat).collect();
        assert_eq!(found, [Some(seat), None]);
    }

    #[test]
    fn names_are_numbered_until_one_is_free() {
        let (_tmp, mut store) = store();
        let base = SessionName::new("sa-x").unwrap();
        let mut take = |id: &str, skip: &[SessionName]| {
            let name = store.register(&new(id), Wanted::OrNumbered(&base), skip).unwrap().unwrap();
            name.as_str().to_owned()
        };
        assert_eq!(take("a", &[]), "sa-x");
        assert_eq!(take("b", &[]), "sa-x-n2");
        assert_eq!(take("c", &[base.numbered(3).unwrap()]), "sa-x-n4");
    }

    #[test]
    fn an_end_is_told_once() {
        let (_tmp, mut store) = store();
        let name = SessionName::new("x").unwrap();
        store.register(&new("a"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
        let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let first = Ended { at, exit: Exit::Code(3), cause: Cause::Itself, error: None };
        let second = Ended { exit: Exit::Code(4), ..first.clone() };
        store.ended("a", &first).unwrap();
        store.ended("a", &second).unwrap();
        let found = store.named(Path::new("/s"), "x").unwrap();
        assert_eq!(found[0].ended, Some(first));
        let events: Vec<String> =
            store.journal("a").unwrap().into_iter().map(|e| e.event.kind).collect();
        assert_eq!(events, ["created", "ended"]);
    }

    #[test]
    fn strangers_are_forgotten_in_time() {
        let (_tmp, mut store) = store();
        let name = SessionName::new("x").unwrap();
        store.register(&new("ours"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        for (id, second) in [("ours", 100), ("%1-7-9", 100), ("%2-8-9", 900)] {
            let (session, print) = (id.to_owned(), "print".to_owned());
            store.keep_looks(&[Look { session, print, moved: at(second) }]).unwrap();
        }
        store.forget_strangers(at(500)).unwrap();
        let left = |id| store.last_look(id).unwrap().is_some();
        assert_eq!([left("ours"), left("%1-7-9"), left("%2-8-9")], [true, false, true]);
    }

    #[test]
    fn found_by_the_start_of_an_id() {
        let (_tmp, mut store) = store();
        let name = SessionName::new("x").unwrap();
        for id in ["01a1de6c-11ac-7930", "01a1de6c-11ad-7930"] {
            store.register(&new(id), Wanted::Exactly(&name), &[]).unwrap().unwrap();
        }
        let found = |id: &str| store.by_id(id).unwrap().map(|s| s.id);
        assert_eq!(found("01a1de6c-11ac").as_deref(), Some("01a1de6c-11ac-7930"));
        assert_eq!(found("01a1de6c"), None, "two fit");
        assert_eq!(found("01a1"), None, "too short");
        assert_eq!(found("x' OR 1=1"), None);
    }
}
