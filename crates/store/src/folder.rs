use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::launch::{self, Launch, PROMPT_FILE};
use dogwatch_core::record::{Ended, Started};
use dogwatch_core::startup::{Extras, Fallback, Reduced};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::handover::{self, Handover};
use crate::recovery::Registration;
use crate::state_dir::make_private;
use crate::{StoreError, read_regular, remove_beneath};

/// Size of a record on disk. The space is allocated when the session is created, so that the agent's end can be
/// recorded even on a full disk.
const RECORD_SIZE: usize = 1024;
/// Longest name of who ended a session: it must fit into a record.
const MAX_WHO: usize = 200;
/// Larger than any file of a session.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The directory of one session: the input of its runner, and the runner's records.
///
/// | file | written by | content |
/// | --- | --- | --- |
/// | `argv` | spawn | the command line, NUL-separated |
/// | `registration` | spawn | what the database knows of it, for the day that it is lost |
/// | `prompt` | spawn | the prompt, if there is one |
/// | `fallback-argv`, `fallback` | spawn | the command line without what is there for our sake, and by which words the agent would name that |
/// | `reduced` | spawn, runner | why it runs without that |
/// | `started`, `ended` | runner | one JSON object each, padded with spaces |
/// | `stopping` | kill | who ends it |
/// | `screen` | runner | the last screen, with attributes |
///
/// The environment, NUL-separated, is a file in `handover` under the session's id, which the runner removes after reading it.
#[derive(Debug, Clone)]
pub struct SessionFolder {
    path: PathBuf,
    /// The environment, until the runner takes it.
    handover: PathBuf,
}

/// The last screen of a session, saved by the runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptScreen {
    /// With escape codes for colours and attributes.
    pub ansi: Vec<u8>,
}

impl SessionFolder {
    pub(crate) fn new(path: PathBuf, handover: PathBuf) -> Self {
        Self { path, handover }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes everything the runner needs. Leaves nothing behind on failure. Hold the returned value until the runner
    /// has started or no longer can.
    pub fn create(&self, launch: &Launch, prompt: Option<&str>) -> Result<Handover, StoreError> {
        if let Some(parent) = self.path.parent() {
            make_private(parent)?;
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&self.path)
            .map_err(|source| StoreError::writing(&self.path, source))?;
        let written = self.write_all(launch, prompt);
        if written.is_err() {
            self.remove();
        }
        written
    }

    fn write_all(&self, launch: &Launch, prompt: Option<&str>) -> Result<Handover, StoreError> {
        let argv = launch.argv.iter().map(OsString::as_os_str);
        self.write("argv", &launch::to_nul_separated(argv))?;
        if let Some(prompt) = prompt {
            self.write(PROMPT_FILE, prompt.as_bytes())?;
        }
        for (name, content) in &launch.files {
            self.write(name, content.as_bytes())?;
        }
        if let Some(Fallback { argv, extras }) = &launch.fallback {
            let argv = argv.iter().map(OsString::as_os_str);
            self.write("fallback-argv", &launch::to_nul_separated(argv))?;
            let path = self.path.join("fallback");
            let extras = serde_json::to_vec(extras)
                .map_err(|error| StoreError::writing(&path, io::Error::other(error)))?;
            self.write("fallback", &extras)?;
        }
        for record in ["started", "ended"] {
            self.write(record, &[b' '; RECORD_SIZE])?;
        }
        let pairs: Vec<OsString> = launch.env.iter().map(|(k, v)| pair(k, v)).collect();
        let pairs = pairs.iter().map(OsString::as_os_str);
        handover::write(&self.handover, &launch::to_nul_separated(pairs))
    }

    /// Writes a new file; never follows or overwrites an existing one.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.path.join(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content))
            .map_err(|source| StoreError::writing(&path, source))
    }

    pub fn argv(&self) -> Result<Vec<OsString>, StoreError> {
        self.read("argv").map(|bytes| launch::from_nul_separated(&bytes))
    }

    /// How to start it should it not take what it is given; `None` if there is nothing to be left out.
    pub fn fallback(&self) -> Option<Fallback> {
        let extras: Extras = self.read_record("fallback")?;
        let argv = self.read("fallback-argv").logged("read a command line")?;
        Some(Fallback { argv: launch::from_nul_separated(&argv), extras })
    }

    /// Notes that the agent is started without what it is usually given.
    pub fn write_reduced(&self, reduced: &Reduced) -> Result<(), StoreError> {
        let path = self.path.join("reduced");
        let bytes = serde_json::to_vec(reduced)
            .map_err(|error| StoreError::writing(&path, io::Error::other(error)))?;
        crate::replace_in_passing(&path, &bytes)
    }

    pub(crate) fn write_registration(&self, kept: &Registration) -> Result<(), StoreError> {
        let path = self.path.join("registration");
        let bytes = serde_json::to_vec(kept)
            .map_err(|error| StoreError::writing(&path, io::Error::other(error)))?;
        crate::replace_in_passing(&path, &bytes)
    }

    pub(crate) fn registration(&self) -> Option<Registration> {
        self.read_record("registration")
    }

    pub fn reduced(&self) -> Option<Reduced> {
        self.read_record("reduced")
    }

    /// The environment for the command. It may hold secrets, so it is removed once read.
    pub fn take_environment(&self) -> Result<Vec<(OsString, OsString)>, StoreError> {
        let path = &self.handover;
        let failed = |source| StoreError::NotReadable { path: path.clone(), source };
        let bytes = read_regular(path, MAX_FILE).map_err(failed)?;
        fs::remove_file(path).map_err(|source| StoreError::writing(path, source))?;
        let pairs = launch::from_nul_separated(&bytes);
        Ok(pairs.iter().filter_map(|p| launch::split_pair(p)).collect())
    }

    /// Takes back what the runner needs to start the agent, so that none starts any more; `false` if the runner has it already.
    pub fn withdraw(&self) -> Result<bool, StoreError> {
        match fs::remove_file(&self.handover) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::writing(&self.handover, source)),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.path.join(name);
        read_regular(&path, MAX_FILE).map_err(|source| StoreError::NotReadable { path, source })
    }

    pub fn write_started(&self, started: &Started) -> Result<(), StoreError> {
        // Not flushed: a power failure that loses it ends the agent too.
        self.write_record("started", started).map(drop)
    }

    pub fn write_ended(&self, ended: &Ended) -> Result<(), StoreError> {
        let file = self.write_record("ended", ended)?;
        file.sync_data().map_err(|source| StoreError::writing(&self.path.join("ended"), source))
    }

    /// Records who ends the session; the runner copies it into the exit record.
    pub fn write_stopping(&self, who: &str) -> Result<(), StoreError> {
        let path = self.path.join("stopping");
        let who = &who[..who.floor_char_boundary(MAX_WHO)];
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .and_then(|mut file| file.write_all(who.as_bytes()))
            .map_err(|source| StoreError::writing(&path, source))
    }

    /// Who is ending the session, if that began at most so long ago.
    pub fn stopping(&self, at_most: Duration) -> Option<String> {
        let begun = fs::symlink_metadata(self.path.join("stopping"))
            .logged_unless_missing("look at a file")?
            .modified()
            .logged("read when a file was changed")?;
        // A clock that was set back does not make it older.
        let age = SystemTime::now().duration_since(begun).unwrap_or_default();
        let who =
            self.read("stopping").logged("read who ends a session").filter(|_| age <= at_most)?;
        Some(String::from_utf8_lossy(&who).into_owned()).filter(|who| !who.is_empty())
    }

    pub fn started(&self) -> Option<Started> {
        self.read_record("started")
    }

    /// How the agent ended; `None` while there is no exit record.
    pub fn ended(&self) -> Option<Ended> {
        self.read_record("ended")
    }

    /// Overwrites the reserved space in one write. A reader sees either spaces, which are not JSON, or the whole record.
    fn write_record<T: Serialize>(&self, name: &str, record: &T) -> Result<File, StoreError> {
        let path = self.path.join(name);
        let write = || {
            let mut bytes = serde_json::to_vec(record).map_err(io::Error::other)?;
            if bytes.len() < RECORD_SIZE {
                bytes.resize(RECORD_SIZE, b' ');
            }
            let file = OpenOptions::new().write(true).open(&path)?;
            file.write_all_at(&bytes, 0)?;
            Ok(file)
        };
        write().map_err(|source| StoreError::writing(&path, source))
    }

    fn read_record<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let path = self.path.join(name);
        let bytes = read_regular(&path, MAX_FILE).logged_unless_missing("read a record")?;
        // Reserved space without a record yet.
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        serde_json::from_slice(&bytes).logged("read a record")
    }

    /// Saves the last screen, which tmux will forget.
    pub fn keep_screen(&self, ansi: &[u8]) -> Result<(), StoreError> {
        crate::replace(&self.path.join("screen"), ansi)
    }

    pub fn screen(&self) -> Option<KeptScreen> {
        read_regular(&self.path.join("screen"), MAX_FILE)
            .logged_unless_missing("read a file")
            .map(|ansi| KeptScreen { ansi })
    }

    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Removes the directory. What cannot be removed stays for the next `gc`.
    pub fn remove(&self) -> bool {
        fs::remove_file(&self.handover).logged_unless_missing("remove a file");
        // `sessions/ID`: an agent may have replaced what is below the state directory.
        let root = self.path.ancestors().nth(2).unwrap_or(&self.path);
        let names = self.path.strip_prefix(root).unwrap_or(&self.path);
        remove_beneath(root, names).logged("remove a session's folder").unwrap_or(false)
    }
}

fn pair(key: &OsStr, value: &OsStr) -> OsString {
    let mut pair = key.to_owned();
    pair.push("=");
    pair.push(value);
    pair
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::record::{Cause, Exit};
    use std::os::unix::fs::MetadataExt;

    fn launch() -> Launch {
        Launch {
            argv: vec!["a".into(), "b c\n".into()],
            shown: vec![],
            env: vec![("K".into(), "v=w".into())],
            files: vec![("settings.json".into(), "{}".into())],
            prompt_in_file: false,
            fallback: None,
        }
    }

    fn folder() -> (tempfile::TempDir, SessionFolder) {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        let folder = SessionFolder::new(root.join("sessions/1"), root.join("handover/1"));
        (tmp, folder)
    }

    #[test]
    fn the_runner_reads_what_spawn_wrote() {
        let (_tmp, folder) = folder();
        let _held = folder.create(&launch(), Some("do it\0\u{1F436}")).unwrap();
        assert_eq!(folder.argv().unwrap(), ["a", "b c\n"]);
        assert_eq!(folder.take_environment().unwrap(), [("K".into(), "v=w".into())]);
        assert!(!folder.handover.exists(), "secrets do not stay on disk");
        assert!(!folder.withdraw().unwrap(), "the runner has it");
        for entry in fs::read_dir(folder.path()).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().mode() & 0o777;
            assert_eq!(mode, 0o600);
        }
        assert_eq!((folder.started(), folder.ended()), (None, None));
    }

    #[test]
    fn what_was_withdrawn_starts_nothing() {
        let (_tmp, folder) = folder();
        let _held = folder.create(&launch(), None).unwrap();
        assert!(folder.withdraw().unwrap());
        assert!(folder.take_environment().is_err());
    }

    #[test]
    fn records_are_written_into_reserved_space() {
        let (_tmp, folder) = folder();
        let _held = folder.create(&launch(), None).unwrap();
        let size = || fs::metadata(folder.path().join("ended")).unwrap().len();
        let before = size();
        let ended = Ended {
            at: "2026-11-15T08:00:00Z".parse().unwrap(),
            exit: Exit::Signal(9),
            cause: Cause::Itself,
            error: None,
            by: None,
            hangup: None,
        };
        folder.write_ended(&ended).unwrap();
        assert_eq!((folder.ended(), size()), (Some(ended), before));
    }

    #[test]
    fn an_existing_directory_is_not_written_into() {
        let (_tmp, folder) = folder();
        fs::create_dir_all(folder.path()).unwrap();
        fs::write(folder.path().join("argv"), "theirs").unwrap();
        assert!(folder.create(&launch(), None).is_err());
        assert_eq!(fs::read(folder.path().join("argv")).unwrap(), b"theirs");
    }
}
