use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be remembered or recalled.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no place for dogwatch's state: neither HOME nor XDG_STATE_HOME is set")]
    NoHome,
    #[error("{id:?} is not an id of a session or a run")]
    BadId { id: String },
    #[error("{path} is not a folder")]
    NotAFolder { path: PathBuf },
    #[error("{path} belongs to another user")]
    NotYours { path: PathBuf },
    #[error("{path} can be read by others (mode {mode:03o})")]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("no space left on the disk of {path}")]
    Full { path: PathBuf },
    #[error("{path} cannot be written: {source}")]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written: {source}; nothing was changed")]
    NotShared { path: PathBuf, source: io::Error },
    #[error("{path} cannot be read: {source}")]
    NotReadable { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {message}; it was left as it is")]
    Corrupt { path: PathBuf, message: String },
    #[error(
        "{path} was written by a newer dogwatch (schema {found}, this one knows {known}); it was left as it is"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{path} is locked by another process for too long")]
    Busy { path: PathBuf },
    #[error(
        "{path} was removed or replaced while dogwatch was using it; what this command reads is out of date"
    )]
    Replaced { path: PathBuf },
    #[error("the log of {path} was deleted, and another process still uses it")]
    LogGone { path: PathBuf },
    #[error("the registry {path} cannot be used: {}{message}; it was left as it is", at(*.place))]
    BadRegistry { path: PathBuf, place: Option<(u64, u64)>, message: String },
    #[error(
        "the registry {path} could not be changed without disturbing what else is in it ({what}); it was left as it is"
    )]
    NotEditable { path: PathBuf, what: String },
    #[error("the database {path} failed: {message}")]
    Database { path: PathBuf, message: String },
}

impl StoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "set HOME, or DOGWATCH_STATE_DIR to a folder of your own".into(),
            Self::NotAFolder { path } => {
                format!("move {} away, or set DOGWATCH_STATE_DIR", path.display())
            }
            Self::NotYours { .. } => "set DOGWATCH_STATE_DIR to a folder of your own".into(),
            Self::TooOpen { path, .. } => format!("chmod 700 {}", path.display()),
            Self::Full { .. } => "free some space, then run the command again".into(),
            // The error itself says what to do.
            Self::NotWritable { source, .. } | Self::NotShared { source, .. } if is_link(source) => {
                return None;
            }
            Self::NotWritable { .. } => {
                "make it writable for you, or set DOGWATCH_STATE_DIR to a folder of your own".into()
            }
            Self::NotShared { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("."));
                format!("make the folder {}, or name another file", folder.display())
            }
            Self::NotShared { .. } => {
                "make it and its folder writable for you, or name another file".into()
            }
            Self::Corrupt { path, .. } => format!(
                "move it away (mv {0} {0}.damaged) and run the command again; running sessions are not touched",
                path.display()
            ),
            Self::Newer { .. } => {
                "update dogwatch, or set DOGWATCH_STATE_DIR to another folder".into()
            }
            Self::BadRegistry { .. } => {
                "put it right; until then sessions are watched, and nothing is written".into()
            }
            Self::NotEditable { .. } => {
                "write that session as a plain block of `key: value` lines, without anchors".into()
            }
            Self::LogGone { .. } => {
                "end `dogwatch watch`, `relay`, `monitor` and `story run`, and run the command again"
                    .into()
            }
            Self::Replaced { .. } => {
                "start this command again; `dogwatch doctor` checks the state folder".into()
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
            // What SQLite says when there is no room for the index of its log.
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

/// A frame that the index of the log names is not in the log.
fn is_short_read(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
}

fn is_full(path: &Path) -> bool {
    path.parent().and_then(|folder| rustix::fs::statvfs(folder).ok()).is_some_and(|disk| {
        // One page is the least that anything takes.
        disk.f_bavail.saturating_mul(disk.f_frsize) < 4096
    })
}
