use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::id::is_id;
use dogwatch_core::usage::hash;

use crate::{SessionFolder, StoreError};

/// Replaces an invalid id in paths: no file has this name, and it does not leave the directory.
const NO_ID: &str = ".no-id";

/// The state directory. Directories in it are 0700, files 0600.
#[derive(Debug, Clone)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// The directory to use, by precedence: explicit, `XDG_STATE_HOME`, `HOME`.
    pub fn locate(
        explicit: Option<PathBuf>,
        xdg_state_home: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Result<PathBuf, StoreError> {
        let absolute = |p: &PathBuf| p.is_absolute();
        explicit
            .or_else(|| xdg_state_home.filter(absolute).map(|p| p.join("dogwatch")))
            .or_else(|| home.filter(absolute).map(|p| p.join(".local/state/dogwatch")))
            .ok_or(StoreError::NoHome)
    }

    /// Opens the directory; creates it if it is missing.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let root = std::path::absolute(root)
            .map_err(|source| StoreError::NotReadable { path: root.to_owned(), source })?;
        make_private(&root)?;
        let meta = fs::metadata(&root)
            .map_err(|source| StoreError::NotReadable { path: root.clone(), source })?;
        if !meta.is_dir() {
            return Err(StoreError::NotAFolder { path: root });
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(StoreError::NotYours { path: root });
        }
        // It contains prompts and transcripts: refuse a directory that others can read.
        let mode = meta.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(StoreError::TooOpen { path: root, mode });
        }
        Ok(Self { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("dogwatch.db")
    }

    /// SQLite's write-ahead log: a write to it means that the database changed.
    pub fn database_log(&self) -> PathBuf {
        self.root.join("dogwatch.db-wal")
    }

    /// What was read from transcripts about tokens; may be deleted at any time.
    pub fn usage(&self) -> PathBuf {
        self.root.join("usage.db")
    }

    /// The directory of one session, which may not exist.
    pub fn session(&self, id: &str) -> SessionFolder {
        let id = name_of(id);
        SessionFolder::new(self.sessions().join(id), self.handover().join(id))
    }

    /// The directory for bug reports.
    pub fn records(&self) -> Result<PathBuf, StoreError> {
        let records = self.root.join("records");
        make_private(&records)?;
        Ok(records)
    }

    /// The file with the verifications of an agent; creates its directory.
    pub fn verification(&self, agent: &str) -> Result<PathBuf, StoreError> {
        make_private(&self.root.join("verifications"))?;
        Ok(self.verification_path(agent))
    }

    /// The same, for reading.
    pub fn verification_path(&self, agent: &str) -> PathBuf {
        self.root.join("verifications").join(format!("{agent}.json"))
    }

    /// The directory for data about sessions of story-automator that are not managed.
    pub fn stories(&self) -> Result<PathBuf, StoreError> {
        let stories = self.root.join("stories");
        make_private(&stories)?;
        Ok(stories)
    }

    /// Removes old files from the directory for stories.
    pub fn remove_old_stories(&self, older_than: Duration, is_meant: impl Fn(&str) -> bool) {
        let entries = fs::read_dir(self.root.join("stories"));
        for entry in entries.into_iter().flatten().flatten() {
            let written =
                entry.metadata().and_then(|meta| meta.modified()).logged("look at a file");
            let age = written.and_then(|at| at.elapsed().ok());
            let is_old = age.is_some_and(|age| age > older_than);
            if is_old && entry.file_name().to_str().is_some_and(&is_meant) {
                // What cannot be removed stays for the next time.
                fs::remove_file(entry.path()).logged_unless_missing("remove a file");
            }
        }
    }

    /// The directory for the output of a run's sessions.
    pub fn run(&self, id: &str) -> Result<PathBuf, StoreError> {
        let folder = self.root.join("runs").join(parsed(id)?);
        make_private(&folder)?;
        Ok(folder)
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The directory of the log.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// A directory with one file per session; a write to it means that something about the session changed. Waiting processes
    /// watch it. The database cannot serve for this, because readers write to it too.
    pub fn news(&self) -> PathBuf {
        let news = self.root.join("news");
        // Without it there are no notifications, and waiting processes fall back to polling.
        make_private(&news).logged("make a folder");
        news
    }

    /// Locked by the supervisor of the tmux server with this socket for as long as it lives; says who that is. Never removed: who waits
    /// for the lock has it open.
    pub fn supervisor_lock(&self, socket: &Path) -> Result<PathBuf, StoreError> {
        let folder = self.root.join("supervisors");
        make_private(&folder)?;
        let socket = socket.canonicalize().unwrap_or_else(|_| socket.to_owned());
        let name = socket.to_string_lossy().replace('%', "%%").replace('/', "%");
        Ok(folder.join(name))
    }

    /// The folder of the supervisors' sockets, and the name that the one of this tmux server has in it. The name is short: a socket's whole
    /// path may have no more than about a hundred bytes.
    pub fn supervisor_socket(&self, socket: &Path) -> (PathBuf, String) {
        let socket = socket.canonicalize().unwrap_or_else(|_| socket.to_owned());
        let print = hash(socket.as_os_str().as_encoded_bytes()).cast_unsigned();
        (self.root.join("supervisors"), format!("{print:016x}.sock"))
    }

    /// What the supervisor of this tmux server has in hand, and what is set aside because supervisors died of it.
    pub fn supervisor_work(&self, socket: &Path) -> Result<PathBuf, StoreError> {
        let (folder, name) = self.supervisor_socket(socket);
        make_private(&folder)?;
        Ok(folder.join(name).with_extension("work"))
    }

    /// Written to when something about a session changed.
    pub fn news_of(&self, session: &str) -> PathBuf {
        self.root.join("news").join(name_of(session))
    }

    /// Written to when a session was added or archived.
    pub fn news_of_sessions(&self) -> PathBuf {
        self.news_of("roll")
    }

    /// Written to when a notification was stored for the supervisor to send.
    pub fn news_of_outbox(&self) -> PathBuf {
        self.news_of("outbox")
    }

    /// Locked by the process that does something which must not overlap. Version 0.1 had one for each session.
    pub fn lock_named(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.root.join("locks");
        make_private(&folder)?;
        Ok(folder.join(parsed(name)?))
    }

    /// Notifies waiting processes that something about a session was recorded.
    pub fn tell_news(&self, session: &str) {
        if is_id(session) {
            poke(&self.news_of(session));
        }
    }

    /// Notifies waiting processes that the list of sessions changed.
    pub fn tell_sessions(&self) {
        poke(&self.news_of_sessions());
    }

    /// Has the supervisor send what was stored.
    pub fn tell_outbox(&self) {
        poke(&self.news_of_outbox());
    }

    /// Ids of all sessions that have a directory.
    pub fn session_ids(&self) -> Vec<String> {
        let Some(entries) = fs::read_dir(self.sessions()).logged_unless_missing("list a folder")
        else {
            return Vec::new();
        };
        let mut ids: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        ids.sort();
        ids
    }
}

/// An id as a file name. Ids are validated on input; an invalid one becomes a name that does not exist.
fn name_of(id: &str) -> &str {
    if is_id(id) { id } else { NO_ID }
}

fn parsed(id: &str) -> Result<&str, StoreError> {
    if is_id(id) { Ok(id) } else { Err(StoreError::BadId { id: id.to_owned() }) }
}

/// Does nothing if the directory is missing: then no process ever waited.
fn poke(path: &Path) {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(b".")).logged("tell of news");
}

/// Creates a directory, and its parents, that only the owner can enter.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Err(StoreError::NotAFolder { path: path.to_owned() })
        }
        Err(source) => Err(StoreError::writing(path, source)),
    }
}

/// Mode of files that only the owner can read.
pub(crate) fn private_file() -> fs::Permissions {
    fs::Permissions::from_mode(0o600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explicit_directory_wins() {
        let p = |s: &str| Some(PathBuf::from(s));
        let at = |explicit, xdg, home| StateDir::locate(explicit, xdg, home).ok();
        assert_eq!(at(p("here"), p("/x"), p("/h")), p("here"));
        assert_eq!(at(None, p("/x"), p("/h")), p("/x/dogwatch"));
        assert_eq!(at(None, p("relative"), p("/h")), p("/h/.local/state/dogwatch"));
        assert_eq!(at(None, None, p("/h")), p("/h/.local/state/dogwatch"));
        assert_eq!(at(None, None, None), None);
    }

    #[test]
    fn no_id_leaves_its_directory() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join("state");
        let dir = StateDir::open(&root).unwrap();
        fs::write(root.join("dogwatch.db"), "precious").unwrap();
        fs::write(tmp.path().join("outside"), "precious").unwrap();
        let (news, outside) = (dir.news(), tmp.path().join("outside"));
        for id in
            ["../dogwatch.db", "../../outside", "..", ".", "", "a/b", &outside.to_string_lossy()]
        {
            dir.tell_news(id);
            assert_eq!(dir.news_of(id), news.join(NO_ID), "{id}");
            assert_eq!(dir.session(id).path(), root.join("sessions").join(NO_ID), "{id}");
            assert!(matches!(dir.lock_named(id), Err(StoreError::BadId { .. })), "{id}");
            assert!(matches!(dir.run(id), Err(StoreError::BadId { .. })), "{id}");
        }
        assert_eq!(fs::read_to_string(root.join("dogwatch.db")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
        assert_eq!(fs::read_dir(news).unwrap().count(), 0);
    }

    #[test]
    fn the_directory_is_created_private_and_an_open_one_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join("a/b");
        StateDir::open(&root).unwrap();
        assert_eq!(fs::metadata(&root).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(StateDir::open(&root), Err(StoreError::TooOpen { mode: 0o755, .. })));
        let file = tmp.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(StateDir::open(&file), Err(StoreError::NotAFolder { .. })));
    }
}
