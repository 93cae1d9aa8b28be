//! Names for shell completions. Opens the database read-only: it creates nothing, changes nothing and does not wait.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Params};

/// Limit per kind; a shell cannot show more in a useful way.
const MOST: u32 = 200;

/// A completion: the value, and a description.
pub type Candidate = (String, String);

#[derive(Debug)]
pub struct Names {
    connection: Connection,
}

impl Names {
    /// `None` if there is no database yet, or it cannot be read immediately.
    pub fn open(database: &Path) -> Option<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(database, flags).ok()?;
        connection.busy_timeout(Duration::from_millis(10)).ok()?;
        Some(Self { connection })
    }

    /// Sessions on one tmux server with their agents, newest first: those that have not ended, or those that have.
    pub fn sessions(&self, socket: &Path, ended: bool) -> Vec<Candidate> {
        let over = if ended { "NOT NULL" } else { "NULL" };
        let sql = format!(
            "SELECT name, agent FROM sessions WHERE socket = ?1 AND put_away IS NULL AND over IS {over} \
             ORDER BY created DESC LIMIT {MOST}"
        );
        self.list(&sql, [socket.to_string_lossy()])
    }

    /// Archived sessions on one tmux server with their agents, the last archived first.
    pub fn archived(&self, socket: &Path) -> Vec<Candidate> {
        let sql = format!(
            "SELECT name, agent FROM sessions WHERE socket = ?1 AND put_away IS NOT NULL \
             ORDER BY put_away DESC LIMIT {MOST}"
        );
        self.list(&sql, [socket.to_string_lossy()])
    }

    /// Every tag that a session has, in alphabetical order.
    pub fn tags(&self) -> Vec<Candidate> {
        let lists = self.list("SELECT tags, '' FROM labels WHERE tags <> ''", []);
        let tags: BTreeSet<String> =
            lists.iter().flat_map(|(tags, _)| tags.split(' ')).map(ToOwned::to_owned).collect();
        tags.into_iter().map(|tag| (tag, String::new())).collect()
    }

    /// Runs with their workflows, newest first.
    pub fn runs(&self) -> Vec<Candidate> {
        self.list(&format!("SELECT id, workflow FROM runs ORDER BY begun DESC LIMIT {MOST}"), [])
    }

    /// Jobs with the beginning of their prompts, newest first.
    pub fn jobs(&self) -> Vec<Candidate> {
        let sql =
            format!("SELECT id, substr(prompt, 1, 60) FROM jobs ORDER BY number DESC LIMIT {MOST}");
        self.list(&sql, [])
    }

    /// Open escalations by number, with their problems.
    pub fn escalations(&self) -> Vec<Candidate> {
        let sql = format!(
            "SELECT CAST(number AS TEXT), substr(json_extract(situation, '$.problem'), 1, 60) \
             FROM escalations WHERE settled IS NULL ORDER BY number DESC LIMIT {MOST}"
        );
        self.list(&sql, [])
    }

    /// Empty for an older schema or a locked database.
    fn list(&self, sql: &str, params: impl Params) -> Vec<Candidate> {
        let rows = || -> rusqlite::Result<Vec<Candidate>> {
            let mut statement = self.connection.prepare(sql)?;
            let text = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default()))
            };
            statement.query_map(params, text)?.collect()
        };
        rows().unwrap_or_default()
    }
}
