//! The configured broker, with credentials from files and the environment.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dogwatch_core::config::{Address, MqttTable};
use dogwatch_core::fleet::Topics;

use crate::local_broker::USER;
use crate::{LocalBroker, read_regular};

/// Larger than any password file.
const MOST_BYTES: u64 = 64 * 1024;

/// Why the configured broker cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MqttError {
    #[error("cannot read {}: {source}", path.display())]
    NotReadable { path: PathBuf, source: io::Error },
    #[error("{} contains a password and is readable by other users (mode {mode:03o})", path.display())]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("no broker is configured: {} has no [mqtt] table", path.display())]
    NoBroker { path: PathBuf },
    #[error("{0}")]
    BadAddress(String),
}

impl MqttError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::TooOpen { path, .. } => Some(format!("chmod 600 {}", path.display())),
            Self::NoBroker { path } => Some(format!(
                "add `[mqtt]` and `url = \"mqtt://127.0.0.1:1883\"` to {}; `dogwatch broker` runs a broker at that address",
                path.display()
            )),
            Self::NotReadable { .. } | Self::BadAddress(_) => None,
        }
    }
}

/// A secret that is not printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The broker's address, and our credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mqtt {
    pub address: Address,
    pub topics: Topics,
    /// This host's name in topics.
    pub host: String,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub ca_file: Option<PathBuf>,
    /// The broker of `dogwatch broker` on this machine, if there is one.
    pub local: LocalBroker,
}

/// How to reach a broker now, and with which credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The socket of the local broker; `None` to use the address.
    pub socket: Option<PathBuf>,
    pub login: Option<(String, Secret)>,
}

/// What completes the configuration.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// The configuration file.
    pub file: &'a Path,
    /// This machine's name.
    pub machine: &'a str,
    /// The password from the environment.
    pub password: Option<&'a str>,
    pub local: LocalBroker,
}

impl Mqtt {
    pub fn resolve(table: &MqttTable, around: &Surroundings<'_>) -> Result<Self, MqttError> {
        let near = |file: &PathBuf| around.file.parent().unwrap_or(Path::new(".")).join(file);
        let password = match (around.password, &table.password_file) {
            (Some(password), _) => Some(Secret(password.to_owned())),
            (None, Some(file)) => Some(read_password(&near(file))?),
            (None, None) => None,
        };
        Ok(Self {
            address: table.address().map_err(MqttError::BadAddress)?,
            topics: table.topics(),
            host: table.host(around.machine),
            user: table.user.clone(),
            password,
            ca_file: table.ca_file.as_ref().map(near),
            local: around.local.clone(),
        })
    }

    /// Determined anew for each connection: the local broker may have been started since. Its password goes to its socket only;
    /// configured credentials go to the configured address.
    pub fn route(&self) -> Result<Route, MqttError> {
        let named = self.user.clone().map(|user| {
            let password = self.password.clone().unwrap_or_else(|| Secret(String::new()));
            (user, password)
        });
        if !self.local.is_at(&self.address) {
            return Ok(Route { socket: None, login: named });
        }
        let socket = Some(self.local.socket());
        match named {
            // Another broker listens there now.
            Some(login) if !self.local.runs() => Ok(Route { socket: None, login: Some(login) }),
            Some(login) => Ok(Route { socket, login: Some(login) }),
            None => Ok(Route { socket, login: Some((USER.to_owned(), self.local.password()?)) }),
        }
    }
}

/// The first line of a file that only its owner can read.
pub(crate) fn read_password(path: &Path) -> Result<Secret, MqttError> {
    let failed = |source| MqttError::NotReadable { path: path.to_owned(), source };
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(MqttError::TooOpen { path: path.to_owned(), mode });
    }
    let text = String::from_utf8(read_regular(path, MOST_BYTES).map_err(failed)?)
        .map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8")))?;
    Ok(Secret(text.lines().next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn password_files_must_be_private() {
        let tmp = tempfile::tempdir().unwrap();
        for (name, mode) in [("private", 0o600), ("open", 0o644)] {
            let path = tmp.path().join(name);
            fs::write(&path, "hunter2\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let file = tmp.path().join("config.toml");
        let read = |name: &str, password| {
            let text =
                format!("[mqtt]\nurl = 'mqtt://x'\npassword_file = '{name}'\nca_file = 'ca'");
            let table = dogwatch_core::config::parse(&text).unwrap().mqtt.unwrap();
            let local = LocalBroker::nowhere();
            Mqtt::resolve(&table, &Surroundings { file: &file, machine: "box", password, local })
        };
        let mqtt = read("private", None).unwrap();
        assert_eq!(mqtt.password.as_ref().map(Secret::reveal), Some("hunter2"));
        assert_eq!(format!("{:?}", mqtt.password), "Some((secret))");
        assert_eq!((mqtt.host.as_str(), mqtt.ca_file), ("box", Some(tmp.path().join("ca"))));
        assert!(matches!(read("open", None), Err(MqttError::TooOpen { mode: 0o644, .. })));
        assert!(matches!(read("none", None), Err(MqttError::NotReadable { .. })));
        let mqtt = read("none", Some("s3")).unwrap();
        assert_eq!(mqtt.password.as_ref().map(Secret::reveal), Some("s3"), "the environment wins");
    }

    #[test]
    fn the_password_of_the_local_broker_goes_to_its_socket_only() {
        let tmp = tempfile::tempdir().unwrap();
        let state = crate::StateDir::open(&tmp.path().join("s")).unwrap();
        let local = LocalBroker::of(&state);
        let mqtt = |text: &str| {
            let table = dogwatch_core::config::parse(text).unwrap().mqtt.unwrap();
            let file = tmp.path().join("config.toml");
            let local = local.clone();
            let around = Surroundings { file: &file, machine: "box", password: Some("p"), local };
            Mqtt::resolve(&table, &around).unwrap()
        };
        let plain = mqtt("[mqtt]\nurl = 'mqtt://localhost:18831'");
        assert_eq!(plain.route().unwrap(), Route { socket: None, login: None });
        let (made, _lock) = local.take("made").unwrap();
        local.note("127.0.0.1:18831".parse().unwrap()).unwrap();
        let own = Some((USER.to_owned(), made));
        // Also while it does not run: the password goes nowhere else.
        let route = plain.route().unwrap();
        assert_eq!(route, Route { socket: Some(local.socket()), login: own });
        let named = mqtt("[mqtt]\nurl = 'mqtt://127.0.0.1:18831'\nuser = 'me'");
        let login = Some(("me".to_owned(), Secret::new("p")));
        assert_eq!(named.route().unwrap(), Route { socket: None, login: login.clone() });
        let _listener = std::os::unix::net::UnixListener::bind(local.socket()).unwrap();
        assert_eq!(named.route().unwrap(), Route { socket: Some(local.socket()), login });
        let elsewhere = mqtt("[mqtt]\nurl = 'mqtt://127.0.0.1:18832'");
        assert_eq!(elsewhere.route().unwrap(), Route { socket: None, login: None });
    }
}
