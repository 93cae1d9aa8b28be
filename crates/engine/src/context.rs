use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_store::{StateDir, Store, StoreError, lock_file};
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
    pub caller: Caller,
}

/// Who runs this process.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    pub user: String,
    /// Name of its terminal, such as `pts/3`.
    pub terminal: Option<String>,
    /// Id of the session of ours that it runs in.
    pub session: Option<String>,
}

impl Caller {
    /// `ann on pts/3`, or `agent lead` for an agent of ours.
    pub fn words(&self, store: &Store) -> String {
        let session =
            self.session.as_deref().and_then(|id| store.by_id(id).logged("read a session")?);
        match (session, &self.terminal) {
            (Some(session), _) => format!("agent {}", session.name),
            (None, Some(terminal)) => format!("{} on {terminal}", self.user),
            (None, None) => self.user.clone(),
        }
    }
}

impl Context {
    pub fn store(&self) -> Result<Store, StoreError> {
        Store::open(&self.state)
    }

    /// The lock of this name, for what one process may do at a time; `None` while another one has it.
    pub fn lock(&self, name: &str) -> Result<Option<File>, crate::Error> {
        let path = self.state.lock_named(name)?;
        match lock_file::try_lock(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(crate::Error::io(format!("lock {}", path.display()))(error)),
        }
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

/// The files to lock while sessions change, in the order in which they are tried: beside the socket, where all who use that server
/// find it whichever state folder they have, else in our state folder.
pub fn connect_lock_files(socket: &Path, state: &Path) -> Vec<PathBuf> {
    // A link to a socket is that socket.
    let socket = socket.canonicalize().unwrap_or_else(|_| socket.to_owned());
    let mut beside = socket.clone().into_os_string();
    beside.push(".dogwatch-lock");
    let name = socket.to_string_lossy().replace('%', "%%").replace('/', "%");
    vec![beside.into(), state.join(format!("tmux{name}.lock"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_lock_files_beside_the_socket_then_in_the_state_folder() {
        assert_eq!(
            connect_lock_files(Path::new("/no/such/s"), Path::new("/state")),
            [Path::new("/no/such/s.dogwatch-lock"), Path::new("/state/tmux%no%such%s.lock")]
        );
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().canonicalize().unwrap();
        std::fs::write(folder.join("s"), "").unwrap();
        std::os::unix::fs::symlink(folder.join("s"), folder.join("link")).unwrap();
        let state = Path::new("/state");
        assert_eq!(
            connect_lock_files(&folder.join("link"), state),
            connect_lock_files(&folder.join("s"), state)
        );
    }

    #[test]
    fn sockets() {
        let at = |socket, tmux| socket_path(&socket, tmux, Some(Path::new("/nowhere")), 7);
        assert_eq!(at(Socket::Default, None), Path::new("/nowhere/tmux-7/default"));
        assert_eq!(at(Socket::Default, Some("/x/s,12,0")), Path::new("/x/s"));
        assert_eq!(at(Socket::Name("a".into()), Some("/x/s,12,0")), Path::new("/nowhere/tmux-7/a"));
        assert_eq!(at(Socket::Path("/y".into()), Some("/x/s,12,0")), Path::new("/y"));
    }
}
