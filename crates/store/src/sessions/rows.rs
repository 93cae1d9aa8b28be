//! Sessions as rows of the database.

use dogwatch_protocol::event_data::Created;
use dogwatch_protocol::id::Origin;
use dogwatch_protocol::status::ServerDied;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::name::{NameError, SessionName, StoryStep};
use dogwatch_core::record::{ProcessIdent, Started};
use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use super::{NewSession, Server, Session, Stage, TeamMembership};
use crate::{journal, labels};

pub(crate) const COLUMNS: &str = "id, name, agent, project, cwd, step, epic, story, cycle, model, conversation, command, \
     socket, created, pane, server_pid, server_start, started, ending, put_away, runner_pid, runner_start, agent_pid, agent_start, \
     role, master, spawner, session_file, over, \
     (SELECT title FROM labels WHERE session = sessions.id), (SELECT tags FROM labels WHERE session = sessions.id), server_died, server_died_exact";

pub(super) fn free_name(
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

pub(crate) fn insert(
    tx: &Transaction<'_>,
    new: &NewSession<'_>,
    name: &SessionName,
) -> rusqlite::Result<()> {
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
            serde_json::to_string(new.command).unwrap_or_default(),
            path_text(new.socket),
            new.created.as_millisecond(),
            new.membership.map(|s| &s.role),
            new.membership.map(|s| &s.master),
            new.membership.map(|s| &s.spawner),
            new.membership.map(|s| path_text(&s.session_file)),
        ],
    )?;
    labels::begin(tx, new)?;
    let data = Created { name: name.to_string(), agent: new.agent.to_owned() };
    journal::append(tx, new.created, new.id, kind::CREATED, &data)
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
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
    let started = started(row, time(17)?)?;
    let ended = ending.and_then(|text| serde_json::from_str(&text).logged("read JSON"));
    let stage = match (started, ended, time(28)?) {
        (started, Some(ended), _) => Stage::Ended { started, ended },
        (started, None, Some(found)) => Stage::Lost { started, found },
        (Some(started), None, None) => Stage::Running(started),
        (None, None, None) => Stage::Made,
    };
    Ok(Session {
        id: row.get::<_, String>(0)?.into(),
        origin: Origin::Managed,
        name: row.get(1)?,
        agent: row.get(2)?,
        project: path(3)?,
        cwd: path(4)?,
        story,
        model: row.get(9)?,
        conversation: row.get(10)?,
        command: serde_json::from_str(&row.get::<_, String>(11)?)
            .logged("read JSON")
            .unwrap_or_default(),
        socket: path(12)?,
        created: time(13)?.unwrap_or_default(),
        pane: row.get(14)?,
        server: server_pid.zip(server_start).map(|(pid, start)| Server { pid, start }),
        stage,
        archived: row.get::<_, Option<i64>>(19)?.is_some(),
        title: row.get(29)?,
        tags: labels::split(row.get(30)?),
        membership: membership(row)?,
        server_died: time(31)?
            .map(|at| Ok::<_, rusqlite::Error>(ServerDied { at, exact: row.get(32)? }))
            .transpose()?,
    })
}

fn membership(row: &Row<'_>) -> rusqlite::Result<Option<TeamMembership>> {
    let Some(role) = row.get(24)? else { return Ok(None) };
    let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
    let session_file = PathBuf::from(text(27)?);
    Ok(Some(TeamMembership { role, master: text(25)?, spawner: text(26)?, session_file }))
}

/// The runner's start record, as far as the database has it.
fn started(row: &Row<'_>, at: Option<Timestamp>) -> rusqlite::Result<Option<Started>> {
    let process = |pid, start| -> rusqlite::Result<Option<ProcessIdent>> {
        let pid: Option<i32> = row.get(pid)?;
        let start: Option<i64> = row.get(start)?;
        Ok(pid.zip(start).map(|(pid, start)| ProcessIdent { pid, start: start.cast_unsigned() }))
    };
    let (runner, agent, pane) = (process(20, 21)?, process(22, 23)?, row.get(14)?);
    Ok(at.zip(runner).zip(agent).map(|((at, runner), agent)| Started { at, runner, agent, pane }))
}

/// Paths are stored as text; one that is not UTF-8 is stored lossily.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
