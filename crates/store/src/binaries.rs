//! What is known of agents' programs, one file each: asking a program for its version takes up to a second, and what it could
//! not take is found out by trying.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::startup::FileStamp;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state_dir::make_private;
use crate::{StateDir, StoreError, read_regular};

/// More than such a file has.
const MAX_FILE: u64 = 64 * 1024;

/// What is known of one program, as long as its file is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBinary {
    pub file: FileStamp,
    /// What it said of its version.
    pub version: Option<String>,
    pub asked: Timestamp,
    /// Why it is started without anything that is there for our sake.
    #[serde(default)]
    pub refused: Option<String>,
    /// The version of dogwatch that it refused this of: a later one may give it something else.
    #[serde(default)]
    pub by: String,
}

/// The file behind all links, as it is now.
pub fn stamp(program: &Path) -> io::Result<FileStamp> {
    let path = fs::canonicalize(program)?;
    let meta = fs::metadata(&path)?;
    let path = path.into_os_string().into_string();
    Ok(FileStamp {
        path: path.map_err(|_| io::Error::other("the path is not UTF-8"))?,
        device: meta.dev(),
        inode: meta.ino(),
        size: meta.size(),
        modified: (meta.mtime(), meta.mtime_nsec()),
    })
}

impl StateDir {
    /// What is known of this very file.
    pub fn known_binary(&self, file: &FileStamp) -> Option<KnownBinary> {
        let bytes =
            read_regular(&self.binary(file), MAX_FILE).logged_unless_missing("read a file")?;
        let known: KnownBinary = serde_json::from_slice(&bytes).logged("read JSON")?;
        (known.file == *file).then_some(known)
    }

    pub fn note_binary(&self, known: &KnownBinary) -> Result<(), StoreError> {
        let path = self.binary(&known.file);
        make_private(&self.binaries())?;
        let bytes = serde_json::to_vec(known)
            .map_err(|error| StoreError::writing(&path, io::Error::other(error)))?;
        crate::replace_in_passing(&path, &bytes)
    }

    fn binaries(&self) -> PathBuf {
        self.root().join("agents")
    }

    /// One file for each path, whatever becomes of the program there.
    fn binary(&self, file: &FileStamp) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        file.path.hash(&mut hasher);
        self.binaries().join(format!("{:016x}.json", hasher.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_long_as_the_file_is_the_same() {
        let tmp = tempfile::tempdir().unwrap();
        let state = StateDir::open(&tmp.path().join("state")).unwrap();
        let program = tmp.path().join("agent");
        fs::write(&program, "one").unwrap();
        let link = tmp.path().join("link");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        let file = stamp(&link).unwrap();
        assert_eq!(file, stamp(&program).unwrap(), "links are resolved");
        assert_eq!(state.known_binary(&file), None);
        let known = KnownBinary {
            file: file.clone(),
            version: Some("1.2.3".into()),
            asked: Timestamp::UNIX_EPOCH,
            refused: None,
            by: "0".into(),
        };
        state.note_binary(&known).unwrap();
        assert_eq!(state.known_binary(&file), Some(known));
        fs::write(&program, "longer").unwrap();
        assert_eq!(state.known_binary(&stamp(&program).unwrap()), None);
        assert!(stamp(&tmp.path().join("none")).is_err());
    }
}
