//! Sockets that tmux servers left behind. A server that was killed leaves its socket; tmux replaces it only when it is used again.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;

/// Whether no server can be behind it: it is not there, or nothing listens.
pub(crate) fn is_dead(socket: &Path) -> bool {
    match fs::symlink_metadata(socket) {
        Ok(meta) if meta.file_type().is_socket() => refuses(socket),
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn refuses(socket: &Path) -> bool {
    UnixStream::connect(socket).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Those of these sockets that are left over.
pub(crate) fn among(sockets: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    sockets.filter(|socket| socket.exists() && is_dead(socket)).collect()
}

/// Removes a socket that nothing listens on, under the lock that tmux takes before it makes one in its place.
pub(crate) fn remove(socket: &Path) {
    let mut lock = socket.as_os_str().to_owned();
    lock.push(".lock");
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock);
    if let Ok(lock) = lock
        && lock.try_lock().is_ok()
        && is_dead(socket)
    {
        // What cannot be removed stays for the next `gc`.
        fs::remove_file(socket).logged_unless_missing("remove a file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_what_nothing_listens_on() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |name: &str| tmp.path().join(name);
        let _living = UnixListener::bind(at("living")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        fs::write(at("file"), "").unwrap();
        let sockets = ["living", "stale", "file", "missing"].map(at);
        assert_eq!(sockets.each_ref().map(|path| is_dead(path)), [false, true, false, true]);
        assert_eq!(among(sockets.clone().into_iter()), [at("stale")]);
        for socket in &sockets {
            remove(socket);
        }
        assert_eq!(sockets.map(|path| path.exists()), [true, false, true, false]);
    }
}
