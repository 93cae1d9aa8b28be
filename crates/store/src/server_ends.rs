//! Ends of tmux servers: found by whichever process looks first, written once, and people notified once.

use std::path::Path;

use dogwatch_core::event::kind;
use dogwatch_core::notify::Planned;
use dogwatch_protocol::event_data::ServerDeath;
use dogwatch_protocol::status::ServerDied;
use jiff::Timestamp;
use rusqlite::params;

use crate::sessions::{COLUMNS, path_text};
use crate::{NotifyEvent, Server, Session, Store, StoreError, journal, notify};

impl Store {
    /// Servers of a socket that had sessions which live, or ended since then, and whose own end is not recorded.
    pub fn open_servers(&self, socket: &Path, since: Timestamp) -> Result<Vec<Server>, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT DISTINCT server_pid, server_start FROM sessions s \
                 WHERE socket = ?1 AND (over IS NULL OR over >= ?2) AND server_pid IS NOT NULL AND server_start IS NOT NULL AND NOT EXISTS \
                 (SELECT 1 FROM server_ends e WHERE e.socket = s.socket AND e.pid = server_pid AND e.start = server_start)",
            )?
            .query_map(params![path_text(socket), since.as_millisecond()], |row| {
                Ok(Server { pid: row.get(0)?, start: row.get(1)? })
            })?
            .collect()
        })
    }

    /// All sessions of one server, archived ones too.
    pub fn sessions_of(&self, socket: &Path, server: Server) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE socket = ? AND server_pid = ? AND server_start = ? ORDER BY created, id"
        );
        self.query(&sql, params![path_text(socket), server.pid, server.start])
    }

    /// Records the end of a server, and with a death the sessions that went with it; `false` if another process has done so.
    pub fn server_ended(
        &mut self,
        socket: &Path,
        server: Server,
        death: Option<(ServerDied, &[&Session])>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let socket = path_text(socket);
        let written = self.transaction(|tx| {
            let died = death.map(|(died, _)| died.at.as_millisecond());
            let added = tx
                .prepare_cached(
                    "INSERT OR IGNORE INTO server_ends (socket, pid, start, died) VALUES (?, ?, ?, ?)",
                )?
                .execute(params![socket, server.pid, server.start, died])?;
            let Some((died, lost)) = death.filter(|_| added > 0) else { return Ok(added > 0) };
            for session in lost {
                tx.prepare_cached(
                    "UPDATE sessions SET server_died = ?2, server_died_exact = ?3, over = coalesce(over, ?4) WHERE id = ?1",
                )?
                .execute(params![
                    session.id.as_str(),
                    died.at.as_millisecond(),
                    died.exact,
                    now.as_millisecond()
                ])?;
            }
            let sessions = lost.iter().map(|one| one.name.clone()).collect();
            let data = ServerDeath { socket: socket.clone(), pid: server.pid, died, sessions };
            journal::append(tx, died.at, "", kind::SERVER_DIED, &data)?;
            Ok(true)
        })?;
        if written {
            self.dir.tell_sessions();
        }
        Ok(written)
    }

    /// Servers that died, of which people are still to be notified, with the sessions that went with them.
    pub fn untold_deaths(&self, socket: &Path) -> Result<Vec<(Server, Vec<Session>)>, StoreError> {
        let servers: Vec<Server> = self.read(|c| {
            c.prepare_cached(
                "SELECT pid, start FROM server_ends WHERE socket = ? AND died IS NOT NULL AND told IS NULL ORDER BY died",
            )?
            .query_map([path_text(socket)], |row| Ok(Server { pid: row.get(0)?, start: row.get(1)? }))?
            .collect()
        })?;
        let lost = |server| {
            let mut sessions = self.sessions_of(socket, server)?;
            sessions.retain(|one| one.server_died.is_some());
            Ok((server, sessions))
        };
        servers.into_iter().map(lost).collect()
    }

    /// Whether there is one.
    pub fn has_untold_death(&self, socket: &Path) -> Result<bool, StoreError> {
        self.read(|c| {
            c.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM server_ends WHERE socket = ? AND died IS NOT NULL AND told IS NULL)",
            )?
            .query_row([path_text(socket)], |row| row.get(0))
        })
    }

    /// Writes the notification of a death down, if there is one to be sent, and that it was; `false` if another process has done so.
    pub fn death_told(
        &mut self,
        socket: &Path,
        server: Server,
        notification: Option<(&NotifyEvent<'_>, &[Planned])>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let socket = path_text(socket);
        self.transaction(|tx| {
            let marked = tx
                .prepare_cached(
                    "UPDATE server_ends SET told = ? WHERE socket = ? AND pid = ? AND start = ? AND told IS NULL",
                )?
                .execute(params![now.as_millisecond(), socket, server.pid, server.start])?;
            if marked > 0
                && let Some((event, planned)) = notification
            {
                notify::write_event(tx, event, planned)?;
            }
            Ok(marked > 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewSession, StateDir, Wanted};
    use dogwatch_core::name::SessionName;

    fn store() -> (tempfile::TempDir, Store) {
        let tmp = tempfile::tempdir().unwrap();
        let store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
        (tmp, store)
    }

    fn session(store: &mut Store, id: &str, name: &str, server: Server) {
        let new = NewSession {
            id,
            agent: "claude",
            project: Path::new("/p"),
            cwd: Path::new("/p"),
            story: None,
            model: None,
            conversation: None,
            command: &[],
            socket: Path::new("/s"),
            created: Timestamp::UNIX_EPOCH,
            tags: &[],
            membership: None,
            subscriber: None,
            limits: None,
            prompt: None,
        };
        let name = SessionName::new(name).unwrap();
        store.register(&new, Wanted::Exactly(&name), &[]).unwrap().unwrap();
        store.placed(id, "%0", server).unwrap();
    }

    #[test]
    fn a_death_is_recorded_and_told_once() {
        let (_tmp, mut store) = store();
        let (socket, now) = (Path::new("/s"), Timestamp::from_second(1_794_700_000).unwrap());
        let (old, new) = (Server { pid: 7, start: 1 }, Server { pid: 7, start: 9 });
        session(&mut store, "aaaaaaaa-1", "a", old);
        session(&mut store, "bbbbbbbb-1", "b", new);
        assert_eq!(store.open_servers(socket, now).unwrap(), [old, new]);
        assert_eq!(store.open_servers(Path::new("/other"), now).unwrap(), []);
        let lost = store.sessions_of(socket, old).unwrap();
        let died = ServerDied { at: now, exact: true };
        let death = Some((died, &[&lost[0]][..]));
        assert!(store.server_ended(socket, old, death, now).unwrap());
        assert!(!store.server_ended(socket, old, death, now).unwrap(), "another one was first");
        assert_eq!(store.open_servers(socket, now).unwrap(), [new]);
        let untold = store.untold_deaths(socket).unwrap();
        assert_eq!(untold.len(), 1);
        assert_eq!((untold[0].0, untold[0].1[0].server_died), (old, Some(died)));
        assert!(untold[0].1[0].is_over());
        let kinds = |store: &Store| {
            let all = store.entries(&crate::Range::default()).unwrap();
            all.into_iter().filter(|one| one.event.kind == kind::SERVER_DIED).count()
        };
        assert_eq!(kinds(&store), 1);
        assert!(store.has_untold_death(socket).unwrap());
        assert!(store.death_told(socket, old, None, now).unwrap());
        assert!(!store.has_untold_death(socket).unwrap());
        assert!(!store.death_told(socket, old, None, now).unwrap());
        assert_eq!(store.untold_deaths(socket).unwrap().len(), 0);
        // One that ended with its last session is no death.
        assert!(store.server_ended(socket, new, None, now).unwrap());
        assert_eq!((store.untold_deaths(socket).unwrap().len(), kinds(&store)), (0, 1));
    }
}
