use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dogwatch_store::{StateDir, Store, StoreError};
use dogwatch_tmux::{Server, Socket};

/// What every use case needs to know of its surroundings, read from the environment once, at start.
#[derive(Debug, Clone)]
pub struct Context {
    pub state: StateDir,
    pub tmux: Server,
    /// Where that server's socket is: the server's identity in the store.
    pub socket: PathBuf,
    /// Our own binary, to be run in panes and by hooks.
    pub dogwatch: PathBuf,
    /// Folder of the user's own profiles, which override the built-in ones.
    pub profiles: Option<PathBuf>,
    /// What the user has set up; the file need not exist.
    pub config: Option<PathBuf>,
    pub path: OsString,
    pub home: Option<PathBuf>,
    /// Folders of agents that are not where they usually are, by the variable that says so.
    pub agent_roots: Vec<(String, PathBuf)>,
    pub host: String,
}

impl Context {
    pub fn store(&self) -> Result<Store, StoreError> {
        Store::open(&self.state)
    }
}

/// Path of the socket that tmux itself would use.
pub fn socket_path(
    socket: &Socket,
    tmux_variable: Option<&str>,
    tmux_tmpdir: Option<&Path>,
    uid: u32,
) -> PathBuf {
    let in_tmpdir = |name: &str| {
        let base = tmux_tmpdir.filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("/tmp"));
        // tmux resolves links in it (macOS: /tmp), and `$TMUX` shows the resolved path.
        let base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
        base.join(format!("tmux-{uid}")).join(name)
    };
    match socket {
        Socket::Path(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
        Socket::Name(name) => in_tmpdir(name),
        Socket::Default => tmux_variable
            .and_then(|value| value.split(',').next())
            .filter(|path| !path.is_empty())
            .map_or_else(|| in_tmpdir("default"), PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets() {
        let at = |socket, tmux| socket_path(&socket, tmux, Some(Path::new("/nowhere")), 7);
        assert_eq!(at(Socket::Default, None), Path::new("/nowhere/tmux-7/default"));
        assert_eq!(at(Socket::Default, Some("/x/s,12,0")), Path::new("/x/s"));
        assert_eq!(at(Socket::Name("a".into()), Some("/x/s,12,0")), Path::new("/nowhere/tmux-7/a"));
        assert_eq!(at(Socket::Path("/y".into()), Some("/x/s,12,0")), Path::new("/y"));
    }
}
