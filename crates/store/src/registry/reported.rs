//! What was reported about a registry, and what people did to it, across restarts.

use dogwatch_core::registry::{Drift, Outcome, Reported};
use dogwatch_protocol::event_data::{DriftFound, RegistryChanged};
use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;

use crate::{Store, StoreError, journal};

/// What a person's command did to a session of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Created,
    Adopted,
    Resumed,
    Deleted,
}

impl Act {
    /// Its name in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "session_created",
            Self::Adopted => "session_adopted",
            Self::Resumed => "session_resumed",
            Self::Deleted => "session_deleted",
        }
    }
}

impl Store {
    /// What was reported about a registry, and which of its sessions were changed by commands.
    pub fn reported(&self, registry: &str) -> Result<Reported, StoreError> {
        self.read(|c| {
            let drifts = c
                .prepare_cached("SELECT key FROM told_drifts WHERE registry = ?")?
                .query_map([registry], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let touched = c
                .prepare_cached("SELECT session, at FROM touches WHERE registry = ?")?
                .query_map([registry], |row| {
                    let at = Timestamp::from_millisecond(row.get(1)?).unwrap_or_default();
                    Ok((row.get(0)?, at))
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Reported { drifts, touched })
        })
    }

    /// Records new drifts with their events, and removes those that are over. Before the registry itself is written: after a crash in
    /// between, the next process makes the reported change, and no drift is reported twice. Returns the drifts that no other process
    /// has reported meanwhile.
    pub fn record_drifts(
        &mut self,
        registry: &str,
        outcome: &Outcome,
        at: Timestamp,
    ) -> Result<Vec<Drift>, StoreError> {
        if outcome.drifts.is_empty() && outcome.over.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(|tx| {
            for key in &outcome.over {
                tx.prepare_cached("DELETE FROM told_drifts WHERE registry = ? AND key = ?")?
                    .execute(params![registry, key])?;
            }
            let mut news = Vec::new();
            for drift in &outcome.drifts {
                let is_new = tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO told_drifts (registry, key, at) VALUES (?, ?, ?)",
                    )?
                    .execute(params![registry, drift.key, at.as_millisecond()])?;
                if is_new > 0 {
                    let data = DriftFound { drift: drift.shape(), registry: registry.to_owned() };
                    journal::append(tx, at, drift.session().unwrap_or_default(), "drift", &data)?;
                    news.push(drift.clone());
                }
            }
            Ok(news)
        })
    }

    /// Records that a person's command works on a session, so that no monitor undoes it.
    pub fn touch(
        &mut self,
        registry: &str,
        session: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| touch(tx, registry, session, at))
    }

    /// Records what a person's command did to a session.
    pub fn acted(
        &mut self,
        registry: &str,
        session: &str,
        act: Act,
        data: &impl Serialize,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction(|tx| {
            touch(tx, registry, session, at)?;
            let data = RegistryChanged {
                name: session.to_owned(),
                registry: registry.to_owned(),
                change: data,
            };
            journal::append(tx, at, session, act.as_str(), &data)
        })
    }
}

fn touch(
    tx: &rusqlite::Transaction<'_>,
    registry: &str,
    session: &str,
    at: Timestamp,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO touches (registry, session, at) VALUES (?1, ?2, ?3) \
         ON CONFLICT DO UPDATE SET at = ?3",
    )?
    .execute(params![registry, session, at.as_millisecond()])
    .map(drop)
}
