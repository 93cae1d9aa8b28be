//! Opencode's own database, read only. dogwatch never writes to it, and does not wait for it.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, params};

/// A conversation as opencode keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpencodeSession {
    pub id: String,
    pub title: String,
    /// Tokens in the context after the last reply.
    pub used: Option<u64>,
}

/// Conversations about a folder that were written to since then, without those of subagents. Empty if the database has another form
/// or cannot be read at once.
pub fn opencode_sessions(database: &Path, folder: &str, since: Timestamp) -> Vec<OpencodeSession> {
    read(database, folder, since).unwrap_or_default()
}

fn read(database: &Path, folder: &str, since: Timestamp) -> rusqlite::Result<Vec<OpencodeSession>> {
    let connection = open(database)?;
    let sql = "SELECT id, title, (SELECT json_extract(data, '$.tokens.total') FROM message \
         WHERE session_id = session.id AND json_extract(data, '$.tokens.total') > 0 ORDER BY time_created DESC LIMIT 1) \
         FROM session WHERE directory = ?1 AND parent_id IS NULL AND time_updated >= ?2 LIMIT 10";
    let mut statement = connection.prepare(sql)?;
    let row = |row: &rusqlite::Row<'_>| {
        let used: Option<i64> = row.get(2)?;
        Ok(OpencodeSession {
            id: row.get(0)?,
            title: row.get(1)?,
            used: used.and_then(|n| u64::try_from(n).ok()),
        })
    };
    statement.query_map(params![folder, since.as_millisecond()], row)?.collect()
}

/// A conversation as it is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpencodeConversation {
    pub id: String,
    pub title: String,
    pub folder: String,
    /// Milliseconds since 1970.
    pub updated: i64,
}

/// All conversations, without those of subagents.
pub fn opencode_conversations(database: &Path) -> Vec<OpencodeConversation> {
    let read = || -> rusqlite::Result<Vec<OpencodeConversation>> {
        let connection = open(database)?;
        let sql = "SELECT id, title, directory, time_updated FROM session WHERE parent_id IS NULL";
        let row = |row: &rusqlite::Row<'_>| {
            Ok(OpencodeConversation {
                id: row.get(0)?,
                title: row.get(1)?,
                folder: row.get(2)?,
                updated: row.get(3)?,
            })
        };
        connection.prepare(sql)?.query_map([], row)?.collect()
    };
    if database.is_file() { read().unwrap_or_default() } else { Vec::new() }
}

/// What was said in a conversation, oldest first: who said it (`user`, `assistant`, `tool`), when, and what. At most so many.
pub fn opencode_texts(
    database: &Path,
    conversation: &str,
    most: u32,
) -> Vec<(String, i64, String)> {
    let read = || -> rusqlite::Result<Vec<(String, i64, String)>> {
        let connection = open(database)?;
        let sql = "SELECT CASE json_extract(part.data, '$.type') WHEN 'tool' THEN 'tool' ELSE json_extract(message.data, '$.role') END, \
             part.time_created, coalesce(json_extract(part.data, '$.text'), json_extract(part.data, '$.tool') || ' ' || \
             coalesce(json_extract(part.data, '$.state.input.command'), json_extract(part.data, '$.state.input.filePath'), '')) \
             FROM part JOIN message ON message.id = part.message_id WHERE part.session_id = ?1 \
             AND json_extract(part.data, '$.type') IN ('text', 'tool') ORDER BY part.time_created, part.id LIMIT ?2";
        let row = |row: &rusqlite::Row<'_>| {
            let text: Option<String> = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, text.unwrap_or_default()))
        };
        connection.prepare(sql)?.query_map(params![conversation, most], row)?.collect()
    };
    read().unwrap_or_default()
}

pub(crate) fn open(database: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(Duration::from_millis(20))?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_of_a_folder() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("opencode.db");
        assert_eq!(opencode_sessions(&path, "/w", Timestamp::UNIX_EPOCH), []);
        assert!(!path.exists(), "nothing is made");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                r#"CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_updated INTEGER);
                CREATE TABLE message (session_id TEXT, time_created INTEGER, data TEXT);
                INSERT INTO session VALUES ('old', NULL, '/w', 'Old', 5), ('a', NULL, '/w', 'Parser', 50),
                    ('sub', 'a', '/w', 'Sub', 60), ('else', NULL, '/x', 'Else', 60);
                INSERT INTO message VALUES ('a', 1, '{"tokens":{"total":10}}'), ('a', 2, '{"tokens":{"total":20}}'), ('a', 3, '{}');"#,
            )
            .unwrap();
        let since = Timestamp::from_millisecond(10).unwrap();
        let found = opencode_sessions(&path, "/w", since);
        assert_eq!(
            found,
            [OpencodeSession { id: "a".into(), title: "Parser".into(), used: Some(20) }]
        );
    }
}
