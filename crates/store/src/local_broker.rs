//! The broker of `dogwatch broker` on this machine: its password, and a socket that only its owner can reach.
//!
//! Local clients use the socket in the state directory and never the port. Any user of the machine could listen on a loopback
//! port first and would receive the password; in a directory of mode 0700 no other user can.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::config::Address;

use crate::mqtt::{MqttError, Secret, read_password};
use crate::{StateDir, StoreError, lock_file, read_regular, replace};

/// The user name of local clients.
pub const USER: &str = "dogwatch";
/// Longest path of a socket; macOS allows 104 bytes including NUL.
const LONGEST_PATH: usize = 103;

/// The directory of the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBroker {
    folder: PathBuf,
}

/// Why the broker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LocalBrokerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Password(#[from] MqttError),
    #[error("a broker of this user is already running{0}")]
    Runs(String),
    #[error(
        "the socket path is too long ({0} bytes, at most {LONGEST_PATH}); use a shorter --state-dir"
    )]
    TooLong(usize),
}

impl LocalBroker {
    pub fn of(state: &StateDir) -> Self {
        Self { folder: state.root().join("broker") }
    }

    /// A broker that does not exist, for callers without a state directory.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self { folder: PathBuf::from("/nonexistent") }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    pub fn password_file(&self) -> PathBuf {
        self.folder.join("password")
    }

    /// Locks this state directory's broker, and creates a password if there is none yet. Hold the lock while the broker
    /// runs.
    pub fn take(&self, new_password: &str) -> Result<(Secret, File), LocalBrokerError> {
        crate::state_dir::make_private(&self.folder)?;
        let length = self.socket().as_os_str().len();
        if length > LONGEST_PATH {
            return Err(LocalBrokerError::TooLong(length));
        }
        let path = self.folder.join("lock");
        let failed = |source| StoreError::writing(&path, source);
        let lock = match lock_file::try_lock(&path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let at = self.listening().map(|at| format!(", on {at}")).unwrap_or_default();
                return Err(LocalBrokerError::Runs(at));
            }
            Err(source) => return Err(failed(source).into()),
        };
        // Left by a broker that was killed.
        match fs::remove_file(self.socket()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::writing(&self.socket(), error).into());
            }
            _ => {}
        }
        if !self.password_file().exists() {
            replace(&self.password_file(), format!("{new_password}\n").as_bytes())?;
        }
        Ok((self.password()?, lock))
    }

    /// Records where it listens for other clients.
    pub fn note(&self, listen: SocketAddr) -> Result<(), StoreError> {
        replace(&self.folder.join("listening"), format!("{listen}\n").as_bytes())
    }

    pub fn password(&self) -> Result<Secret, MqttError> {
        read_password(&self.password_file())
    }

    /// Where it listens, or last did.
    pub fn listening(&self) -> Option<SocketAddr> {
        let bytes = read_regular(&self.folder.join("listening"), 1024)
            .logged_unless_missing("read a file")?;
        String::from_utf8(bytes).ok()?.trim().parse().ok()
    }

    /// Whether a configured address is this broker's.
    pub fn is_at(&self, address: &Address) -> bool {
        self.listening().is_some_and(|listen| is_same(address, listen))
    }

    /// Whether it accepts connections on its socket.
    pub fn runs(&self) -> bool {
        std::os::unix::net::UnixStream::connect(self.socket()).is_ok()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn is_same(address: &Address, listen: SocketAddr) -> bool {
    if address.tls || address.port != listen.port() {
        return false;
    }
    let everywhere = listen.ip().is_unspecified();
    match address.host.parse::<IpAddr>() {
        Ok(ip) => ip == listen.ip() || (everywhere && ip.is_loopback()),
        Err(_) => address.host == "localhost" && (everywhere || listen.ip().is_loopback()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn only_one_broker_runs_with_a_generated_password() {
        let tmp = tempfile::tempdir().unwrap();
        let broker = LocalBroker::of(&StateDir::open(&tmp.path().join("s")).unwrap());
        assert!(!broker.runs() && broker.listening().is_none());
        let (password, lock) = broker.take("first").unwrap();
        assert_eq!(password.reveal(), "first");
        let mode = fs::metadata(broker.password_file()).unwrap().mode() & 0o777;
        assert_eq!((mode, fs::metadata(broker.folder()).unwrap().mode() & 0o777), (0o600, 0o700));
        assert!(matches!(broker.take("second"), Err(LocalBrokerError::Runs(_))));
        drop(lock);
        let (password, _lock) = broker.take("second").unwrap();
        assert_eq!(password.reveal(), "first", "it stays the same");
    }

    #[test]
    fn addresses_of_the_local_broker_are_recognised() {
        let address = |host: &str, port, tls| Address { host: host.to_owned(), port, tls };
        let local: SocketAddr = "127.0.0.1:1883".parse().unwrap();
        let open: SocketAddr = "0.0.0.0:1883".parse().unwrap();
        let table = [
            (address("127.0.0.1", 1883, false), local, true),
            (address("localhost", 1883, false), local, true),
            (address("localhost", 1883, false), open, true),
            (address("127.0.0.1", 1883, false), open, true),
            (address("127.0.0.1", 1884, false), local, false),
            (address("127.0.0.1", 1883, true), local, false),
            (address("broker.example", 1883, false), open, false),
            (address("10.0.0.1", 1883, false), local, false),
        ];
        for (address, listen, want) in table {
            assert_eq!(is_same(&address, listen), want, "{address} {listen}");
        }
    }
}
