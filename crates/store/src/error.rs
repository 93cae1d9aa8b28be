use std::io;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;

/// Why reading or writing the state failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no state directory: neither HOME nor XDG_STATE_HOME is set")]
    NoHome,
    #[error("{id:?} is not a session id or run id")]
    BadId { id: String },
    #[error("{path} is not a directory")]
    NotAFolder { path: PathBuf },
    #[error("{path} belongs to another user")]
    NotYours { path: PathBuf },
    #[error("{path} is readable by other users (mode {mode:03o})")]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("no space left on the disk of {path}")]
    Full { path: PathBuf },
    #[error("cannot write {path}: {source}")]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}; nothing was changed")]
    NotShared { path: PathBuf, source: io::Error },
    #[error("cannot read {path}: {source}")]
    NotReadable { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {message}; it was not changed")]
    Corrupt { path: PathBuf, message: String },
    #[error(
        "{path} was written by a newer dogwatch (schema {found}, this version supports {known}); it was not changed"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("timeout: another process keeps {path} locked")]
    Busy { path: PathBuf },
    #[error(
        "{path} was removed or replaced while dogwatch was using it; this command would read outdated data"
    )]
    Replaced { path: PathBuf },
    #[error("the log file of {path} was deleted while another process uses it")]
    LogGone { path: PathBuf },
    #[error("cannot read the registry {path}: {}{message}; it was not changed", at(*.place))]
    BadRegistry { path: PathBuf, place: Option<(u64, u64)>, message: String },
    #[error(
        "cannot edit the registry {path} without changing other parts of it ({what}); it was not changed"
    )]
    NotEditable { path: PathBuf, what: String },
    #[error("database error in {path}: {message}")]
    Database { path: PathBuf, message: String },
}

impl StoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "set HOME, or set DOGWATCH_STATE_DIR to a directory of your own".into(),
            Self::NotAFolder { path } => {
                format!("move {} away, or set DOGWATCH_STATE_DIR", path.display())
            }
            Self::NotYours { .. } => "set DOGWATCH_STATE_DIR to a directory of your own".into(),
            Self::TooOpen { path, .. } => format!("chmod 700 {}", path.display()),
            Self::Full { .. } => "free some space and run the command again".into(),
            // The error's own message says what to do.
            Self::NotWritable { source, .. } | Self::NotShared { source, .. } if is_link(source) => {
                return None;
            }
            Self::NotWritable { .. } => {
                "make it writable for you, or set DOGWATCH_STATE_DIR to a directory of your own".into()
            }
            Self::NotShared { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("."));
                format!("create the directory {} or use another file", folder.display())
            }
            Self::NotShared { .. } => {
                "make the file and its directory writable for you, or use another file".into()
            }
            Self::Corrupt { path, .. } => format!(
                "move it away (mv {0} {0}.damaged) and run the command again; running sessions are not affected",
                path.display()
            ),
            Self::Newer { .. } => {
                "update dogwatch, or set DOGWATCH_STATE_DIR to another directory".into()
            }
            Self::BadRegistry { .. } => {
                "correct the file; until then dogwatch watches sessions but does not write to it".into()
            }
            Self::NotEditable { .. } => {
                "write that session as a plain block of `key: value` lines, without anchors".into()
            }
            Self::LogGone { .. } => {
                "stop `dogwatch watch`, `relay`, `monitor` and `story run`, then run the command again"
                    .into()
            }
            Self::Replaced { .. } => {
                "restart this command; `dogwatch doctor` checks the state directory".into()
            }
            Self::BadId { .. }
            | Self::NotReadable { .. }
            | Self::Busy { .. }
            | Self::Database { .. } => return None,
        })
    }

    pub(crate) fn writing(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::StorageFull {
            Self::Full { path: path.to_owned() }
        } else {
            Self::NotWritable { path: path.to_owned(), source }
        }
    }

    /// The same for a file that people edit too.
    pub(crate) fn sharing(path: &Path, source: io::Error) -> Self {
        match Self::writing(path, source) {
            Self::NotWritable { path, source } => Self::NotShared { path, source },
            other => other,
        }
    }

    pub(crate) fn sql(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        let message = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { path, message }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // SQLite's error when there is no space for the index of its log.
            Some(ErrorCode::SystemIoFailure) if is_full(&path) => Self::Full { path },
            Some(ErrorCode::SystemIoFailure) if is_short_read(error) => Self::LogGone { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, source: io::Error::other(message) }
            }
            _ => Self::Database { path, message },
        }
    }
}

fn is_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<crate::LinkInProject>)
}

fn at(place: Option<(u64, u64)>) -> String {
    place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default()
}

/// A frame that the log's index names is not in the log.
fn is_short_read(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
}

fn is_full(path: &Path) -> bool {
    path.parent()
        .and_then(|folder| rustix::fs::statvfs(folder).logged("look at a file system"))
        .is_some_and(|disk| {
            // Every write needs at least one page.
            disk.f_bavail.saturating_mul(disk.f_frsize) < 4096
        })
}
