//! A database that was deleted or moved away is made anew, and running sessions are registered again from what their folders say.
//!
//! The one transaction that makes the tables does so: whichever process opens the database first, and no other.

use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use dogwatch_core::name::SessionName;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::sessions::insert;
use crate::{NewSession, Server, StateDir, Store, StoreError};

/// What is registered of a session, as its folder keeps it. Older versions wrote none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    name: SessionName,
    agent: String,
    project: PathBuf,
    cwd: PathBuf,
    model: Option<String>,
    conversation: Option<String>,
    command: Vec<String>,
    socket: PathBuf,
    created: Timestamp,
    tags: Vec<String>,
    /// The tmux server of its pane: pid and start.
    #[serde(default)]
    server: Option<(i64, i64)>,
}

impl Registration {
    fn of(new: &NewSession<'_>, name: &SessionName) -> Self {
        Self {
            name: name.clone(),
            agent: new.agent.to_owned(),
            project: new.project.to_owned(),
            cwd: new.cwd.to_owned(),
            model: new.model.map(ToOwned::to_owned),
            conversation: new.conversation.map(ToOwned::to_owned),
            command: new.command.to_vec(),
            socket: new.socket.to_owned(),
            created: new.created,
            tags: new.tags.to_vec(),
            server: None,
        }
    }
}

/// Keeps in the session's folder what is registered of it. Without it, the session is only not found again.
pub(crate) fn keep(dir: &StateDir, new: &NewSession<'_>, name: &SessionName) {
    let folder = dir.session(new.id);
    if folder.path().exists() {
        folder.write_registration(&Registration::of(new, name)).logged("keep what is registered");
    }
}

/// Adds the tmux server, once it is known.
pub(crate) fn keep_server(dir: &StateDir, id: &str, server: Server) {
    let folder = dir.session(id);
    if let Some(kept) = folder.registration() {
        let kept = Registration { server: Some((server.pid, server.start)), ..kept };
        folder.write_registration(&kept).logged("keep what is registered");
    }
}

/// Registers sessions again whose folder has a start and no end.
pub(crate) fn register_again(tx: &Transaction<'_>, dir: &StateDir) -> rusqlite::Result<()> {
    let mut found = 0;
    let ids = dir.session_ids();
    for id in &ids {
        let folder = dir.session(id);
        let (Some(kept), Some(started)) = (folder.registration(), folder.started()) else {
            continue;
        };
        if folder.ended().is_some() {
            continue;
        }
        let new = NewSession {
            id,
            agent: &kept.agent,
            project: &kept.project,
            cwd: &kept.cwd,
            story: None,
            model: kept.model.as_deref(),
            conversation: kept.conversation.as_deref(),
            command: &kept.command,
            socket: &kept.socket,
            created: kept.created,
            tags: &kept.tags,
            membership: None,
            subscriber: None,
            limits: None,
            prompt: None,
        };
        insert(tx, &new, &kept.name)?;
        tx.execute(
            "UPDATE sessions SET started = ?, runner_pid = ?, runner_start = ?, agent_pid = ?, agent_start = ?, pane = ?, \
             server_pid = ?, server_start = ? WHERE id = ?",
            params![
                started.at.as_millisecond(),
                started.runner.pid,
                started.runner.start.cast_signed(),
                started.agent.pid,
                started.agent.start.cast_signed(),
                started.pane,
                kept.server.map(|(pid, _)| pid),
                kept.server.map(|(_, start)| start),
                id
            ],
        )?;
        found += 1;
    }
    if !ids.is_empty() {
        let sql = "INSERT INTO recoveries (at, found) VALUES (?, ?)";
        tx.execute(sql, params![Timestamp::now().as_millisecond(), found])?;
    }
    Ok(())
}

impl Store {
    /// When this database was made though there were sessions before, and how many of them were found again.
    pub fn recovery(&self) -> Result<Option<(Timestamp, u32)>, StoreError> {
        self.read(|c| {
            c.query_row("SELECT at, found FROM recoveries", [], |row| {
                let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or_default();
                Ok((at, row.get(1)?))
            })
            .optional()
        })
    }
}
