use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;

/// Identifies a tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Socket {
    /// The server that tmux itself would choose: `$TMUX` inside tmux, else the user's default one.
    #[default]
    Default,
    /// A name in tmux's socket directory (`-L`).
    Name(String),
    /// A socket file (`-S`).
    Path(PathBuf),
}

impl Socket {
    pub(crate) fn words(&self) -> Vec<OsString> {
        match self {
            Self::Default => vec![],
            Self::Name(name) => vec!["-L".into(), name.into()],
            Self::Path(path) => vec!["-S".into(), path.into()],
        }
    }

    /// A starting server deletes whatever is at its socket's path, and root may delete a device.
    pub(crate) fn refuse_other_files(&self) -> Result<(), Error> {
        match self {
            Self::Path(path) if fs::metadata(path).is_ok_and(|m| !m.file_type().is_socket()) => {
                Err(Error::NotASocket { path: path.clone() })
            }
            _ => Ok(()),
        }
    }

    /// If a server cannot create its socket, tmux exits with status 0: 3.2a silently, later ones with a message.
    pub(crate) fn must_have_folder(&self) -> Result<(), Error> {
        let Self::Path(path) = self else { return Ok(()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.map(fs::metadata) {
            None => Ok(()),
            Some(Ok(meta)) if meta.is_dir() => Ok(()),
            Some(_) => Err(Error::Failed {
                command: "new-session".to_owned(),
                message: format!("error creating {} (no such directory)", path.display()),
                status: None,
            }),
        }
    }

    /// Whether `$TMUX` must be ignored: it must neither override an explicit socket nor provide a default target from the caller's
    /// own pane.
    pub(crate) fn is_explicit(&self) -> bool {
        !matches!(self, Self::Default)
    }
}

/// As users write it: a value with a slash is a path, anything else a name.
impl FromStr for Socket {
    type Err = Infallible;

    fn from_str(value: &str) -> Result<Self, Infallible> {
        Ok(if value.contains('/') {
            Self::Path(value.into())
        } else {
            Self::Name(value.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_path() {
        let parse = |value: &str| value.parse::<Socket>().unwrap();
        assert_eq!(parse("work"), Socket::Name("work".into()));
        assert_eq!(parse("./s"), Socket::Path("./s".into()));
        assert_eq!(parse("/run/tmux/s"), Socket::Path("/run/tmux/s".into()));
    }

    #[test]
    fn only_a_socket_or_nothing_may_be_there() {
        let at = |path: &str| Socket::Path(path.into()).refuse_other_files();
        assert!(matches!(at("/dev/null"), Err(Error::NotASocket { .. })));
        assert!(at("/").is_err() && at("/etc/passwd").is_err());
        assert!(at("/no/such/file").is_ok());
    }

    #[test]
    fn options_of_each_kind_of_socket() {
        assert!(Socket::Default.words().is_empty());
        assert_eq!(Socket::Name("a".into()).words(), ["-L", "a"]);
        assert_eq!(Socket::Path("/a".into()).words(), ["-S", "/a"]);
    }
}
