//! Adding to the index, and removing from it.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{BITS, SearchIndex};
use crate::StoreError;

/// A text of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    pub text: String,
    /// What kind of text: `title`, `prompt`, `person`, `agent`, `tool`, `screen`.
    pub said: &'static str,
    /// Milliseconds since 1970.
    pub at: Option<i64>,
}

/// What was read of a source, from one place to another.
#[derive(Debug, Clone)]
pub struct Addition<'a> {
    pub path: &'a str,
    pub agent: &'a str,
    pub conversation: Option<&'a str>,
    pub cwd: Option<&'a str>,
    pub title: Option<&'a str>,
    /// Where reading began: the index must have come exactly this far. `None`: all that it has of the source is replaced.
    pub from: Option<u64>,
    pub read_to: u64,
    pub print: u64,
    pub length: u64,
    pub modified: i64,
    pub docs: &'a [Doc],
}

impl SearchIndex {
    /// Adds what was read, in one transaction; `false` if another process was faster.
    pub fn add(&mut self, addition: &Addition<'_>) -> Result<bool, StoreError> {
        self.transaction(|tx| add(tx, addition))
    }

    /// Removes sources with all their texts.
    pub fn forget(&mut self, ids: &[i64]) -> Result<(), StoreError> {
        for id in ids {
            self.transaction(|tx| {
                clear(tx, *id)?;
                tx.execute("DELETE FROM sources WHERE id = ?", [id]).map(drop)
            })?;
        }
        Ok(())
    }
}

fn add(tx: &Transaction<'_>, new: &Addition<'_>) -> rusqlite::Result<bool> {
    let known: Option<(i64, i64, i64)> = tx
        .prepare_cached("SELECT id, read_to, count FROM sources WHERE path = ?")?
        .query_row([new.path], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let expected = new.from.map(u64::cast_signed);
    let (id, count) = match (known, expected) {
        (Some((id, read_to, count)), Some(from)) if read_to == from => (id, count),
        (None, Some(0) | None) => (insert(tx, new)?, 0),
        (Some((id, ..)), None) => {
            clear(tx, id)?;
            (id, 0)
        }
        _ => return Ok(false),
    };
    let mut latest = 0;
    let mut put =
        tx.prepare_cached("INSERT INTO texts (rowid, text, said, at) VALUES (?, ?, ?, ?)")?;
    for (doc, number) in new.docs.iter().zip(count..) {
        put.execute(params![(id << BITS) | number, doc.text, doc.said, doc.at])?;
        latest = latest.max(doc.at.unwrap_or(0));
    }
    let count = count + i64::try_from(new.docs.len()).unwrap_or(0);
    tx.prepare_cached(
        "UPDATE sources SET agent = ?2, conversation = coalesce(?3, conversation), cwd = coalesce(?4, cwd), \
         title = coalesce(?5, title), read_to = ?6, print = ?7, length = ?8, modified = ?9, count = ?10, \
         latest = max(latest, ?11) WHERE id = ?1",
    )?
    .execute(params![
        id,
        new.agent,
        new.conversation,
        new.cwd,
        new.title,
        new.read_to.cast_signed(),
        new.print.cast_signed(),
        new.length.cast_signed(),
        new.modified,
        count,
        latest
    ])?;
    Ok(true)
}

fn insert(tx: &Transaction<'_>, new: &Addition<'_>) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO sources (path, agent, read_to, print, length, modified, count, latest) VALUES (?, ?, 0, 0, 0, 0, 0, 0)",
    )?
    .execute(params![new.path, new.agent])?;
    Ok(tx.last_insert_rowid())
}

fn clear(tx: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    let (first, after) = (id << BITS, (id + 1) << BITS);
    tx.execute("DELETE FROM texts WHERE rowid >= ? AND rowid < ?", [first, after])?;
    tx.execute("UPDATE sources SET title = NULL, latest = 0 WHERE id = ?", [id]).map(drop)
}
