//! What transcripts say of conversations, so that only what was added to them need be read.

use std::collections::HashMap;
use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use dogwatch_core::topic::Topic;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{Store, StoreError};

/// What was read of a session's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTopic {
    pub path: PathBuf,
    /// Up to the end of the last whole line.
    pub read_to: u64,
    pub topic: Topic,
    pub seen: Timestamp,
}

impl Store {
    pub fn topic(&self, session: &str) -> Result<Option<KeptTopic>, StoreError> {
        let sql = "SELECT path, read_to, topic, seen FROM topics WHERE session = ?";
        self.read(|c| {
            c.prepare_cached(sql)?
                .query_row([session], |row| {
                    let topic: String = row.get(2)?;
                    Ok(KeptTopic {
                        path: row.get::<_, String>(0)?.into(),
                        read_to: row.get::<_, i64>(1)?.cast_unsigned(),
                        topic: serde_json::from_str(&topic).logged("read JSON").unwrap_or_default(),
                        seen: Timestamp::from_millisecond(row.get(3)?).unwrap_or_default(),
                    })
                })
                .optional()
        })
    }

    /// Keeps what was read, in one transaction.
    pub fn keep_topics(&mut self, topics: &[(&str, KeptTopic)]) -> Result<(), StoreError> {
        if topics.is_empty() {
            return Ok(());
        }
        self.transaction(|tx| {
            let mut keep = tx.prepare_cached(
                "INSERT INTO topics (session, path, read_to, topic, seen) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (session) DO UPDATE SET path = ?2, read_to = ?3, topic = ?4, seen = ?5",
            )?;
            topics.iter().try_for_each(|(session, kept)| {
                let topic = serde_json::to_string(&kept.topic).logged("write JSON");
                keep.execute(params![
                    session,
                    kept.path.to_string_lossy(),
                    kept.read_to.cast_signed(),
                    topic.unwrap_or_default(),
                    kept.seen.as_millisecond()
                ])
                .map(drop)
            })
        })
    }

    /// Sessions by the path of their transcript, as far as it is known.
    pub fn transcripts(&self) -> Result<HashMap<String, String>, StoreError> {
        let sql = "SELECT path, session FROM topics WHERE path <> ''";
        self.read(|c| {
            c.prepare_cached(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// The payload of the last hook call of a session, which most often names its transcript.
    pub fn last_payload(&self, session: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT payload FROM signals WHERE session = ? ORDER BY id DESC LIMIT 1";
        self.read(|c| c.prepare_cached(sql)?.query_row([session], |row| row.get(0)).optional())
    }

    /// The last call of a session's statusline, as the agent made it.
    pub fn last_statusline(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.read(|c| {
            c.prepare_cached("SELECT payload FROM heartbeats WHERE session = ?")?
                .query_row([session], |row| row.get(0))
                .optional()
        })
    }

    /// The first message that was posted to a session.
    pub fn first_message(&self, session: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM messages WHERE session = ? ORDER BY number LIMIT 1";
        self.read(|c| c.prepare_cached(sql)?.query_row([session], |row| row.get(0)).optional())
    }
}
