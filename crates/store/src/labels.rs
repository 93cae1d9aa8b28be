//! Titles and tags of sessions, and the archive.

use std::collections::HashMap;

use dogwatch_core::event::{Subject, kind};
use dogwatch_core::label::{self, LabelError};
use dogwatch_protocol::event_data::{Nothing, Renamed, Tagged};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::{NewSession, Store, StoreError, journal};

/// What a person calls a session, and its tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    pub title: Option<String>,
    /// In alphabetical order.
    pub tags: Vec<String>,
}

const TAKE: &str = "INSERT INTO labels (session, title, tags, changed) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (session) DO UPDATE SET title = ?2, tags = ?3, changed = ?4";

impl Store {
    pub fn labels(&self, session: &str) -> Result<Labels, StoreError> {
        let sql = "SELECT title, tags FROM labels WHERE session = ?";
        self.read(|c| {
            let found = c.prepare_cached(sql)?.query_row([session], from_row).optional();
            found.map(Option::unwrap_or_default)
        })
    }

    /// The tags of all sessions that have any, by the session's id.
    pub fn all_tags(&self) -> Result<HashMap<String, Vec<String>>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT title, tags, session FROM labels")?
                .query_map([], |row| Ok((row.get(2)?, from_row(row)?.tags)))?
                .collect()
        })
    }

    /// Sets or, with `None`, removes the title of a session, which may be unmanaged.
    pub fn set_title(
        &mut self,
        subject: &Subject,
        title: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let new = title.map(ToOwned::to_owned);
        self.transaction(|tx| {
            let before = labels(tx, &subject.id)?;
            if before.title == new {
                return Ok(());
            }
            put(tx, &subject.id, &Labels { title: new.clone(), ..before.clone() }, at)?;
            let data = Renamed { title: new, from: before.title };
            journal::append_of(tx, at, &subject.id, Some(subject), kind::RENAMED, &data)
        })
        .inspect(|()| self.dir.tell_sessions())
    }

    /// Adds and removes tags of a session, which may be unmanaged. Returns its tags.
    pub fn change_tags(
        &mut self,
        subject: &Subject,
        add: &[String],
        remove: &[String],
        at: Timestamp,
    ) -> Result<Result<Vec<String>, LabelError>, StoreError> {
        self.transaction(|tx| {
            let before = labels(tx, &subject.id)?;
            let after = match label::changed(&before.tags, add, remove) {
                Ok(tags) => tags,
                Err(error) => return Ok(Err(error)),
            };
            if after != before.tags {
                put(tx, &subject.id, &Labels { tags: after.clone(), ..before }, at)?;
                let data = Tagged { tags: after.clone() };
                journal::append_of(tx, at, &subject.id, Some(subject), kind::TAGGED, &data)?;
            }
            Ok(Ok(after))
        })
        .inspect(|_| self.dir.tell_sessions())
    }

    /// Brings a session back from the archive; `false` if it was not there.
    pub fn unarchive(&mut self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        self.transaction(|tx| {
            let changed = tx.execute(
                "UPDATE sessions SET put_away = NULL, unarchived = ? WHERE id = ? AND put_away IS NOT NULL",
                params![at.as_millisecond(), id],
            )?;
            if changed > 0 {
                journal::append(tx, at, id, kind::UNARCHIVED, &Nothing {})?;
            }
            Ok(changed > 0)
        })
        .inspect(|_| self.dir.tell_sessions())
    }
}

/// The labels of a session that is about to be created: its tags, and those of the session whose conversation it resumes.
pub(crate) fn begin(tx: &Transaction<'_>, new: &NewSession<'_>) -> rusqlite::Result<()> {
    // Few sessions have labels: they come first.
    let sql = "SELECT title, tags FROM labels CROSS JOIN sessions ON sessions.id = labels.session \
         WHERE conversation = ? AND agent = ? ORDER BY created DESC LIMIT 1";
    let resumed = tx
        .prepare_cached(sql)?
        .query_row(params![new.conversation, new.agent], from_row)
        .optional()?
        .unwrap_or_default();
    let tags = label::changed(&resumed.tags, new.tags, &[]).unwrap_or_else(|_| new.tags.to_vec());
    let labels = Labels { title: resumed.title, tags };
    if labels == Labels::default() { Ok(()) } else { put(tx, new.id, &labels, new.created) }
}

fn labels(tx: &Transaction<'_>, session: &str) -> rusqlite::Result<Labels> {
    let sql = "SELECT title, tags FROM labels WHERE session = ?";
    let found = tx.prepare_cached(sql)?.query_row([session], from_row).optional();
    found.map(Option::unwrap_or_default)
}

fn put(
    tx: &Transaction<'_>,
    session: &str,
    labels: &Labels,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let values = params![session, labels.title, labels.tags.join(" "), at.as_millisecond()];
    tx.prepare_cached(TAKE)?.execute(values).map(drop)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Labels> {
    Ok(Labels { title: row.get(0)?, tags: split(row.get(1)?) })
}

/// Tags as a column has them.
pub(crate) fn split(tags: Option<String>) -> Vec<String> {
    tags.iter()
        .flat_map(|tags| tags.split(' '))
        .filter(|tag| !tag.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}
