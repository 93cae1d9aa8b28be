//! `dogwatch broker`: Mosquitto with a generated configuration, for one machine or a small team.
//!
//! Every client needs a password, on loopback too. Local clients use a socket in the state directory
//! ([`LocalBroker`]), with a generated password.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dogwatch_store::{LOCAL_USER, LocalBroker, Mqtt, Secret, replace};
use rustix::io::{FdFlags, fcntl_setfd};

use dogwatch_base::program::{self, withhold_secrets};
use dogwatch_engine::Error;
use dogwatch_engine::error::{AgentError, FleetError};

const MOST_CONNECTIONS: usize = 1000;
/// A MiB of payload plus headers.
const MOST_BYTES: usize = 1024 * 1024 + 64 * 1024;
/// How many messages may wait for one subscriber; at first all retained ones do.
const MOST_QUEUED: usize = 100_000;
/// Time limit for hashing the passwords.
const HASHING: Duration = Duration::from_secs(30);
/// Where Debian and Homebrew install it, outside a user's search path.
const ADMIN_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"];
const INSTALL: &str = "`apt install mosquitto` or `brew install mosquitto`; any other MQTT 5 broker will do as well, without this command (docs/mqtt.md)";

/// Replaces this process by Mosquitto, so it returns only with an error. `ready` is called before.
pub fn run(
    listen: SocketAddr,
    mqtt: Option<&Mqtt>,
    local: &LocalBroker,
    ready: impl FnOnce(SocketAddr),
) -> Result<std::convert::Infallible, Error> {
    let named = mqtt.and_then(credentials);
    if named.is_none() && !listen.ip().is_loopback() {
        return Err(FleetError::OpenToOthers { listen }.into());
    }
    let [mosquitto, mosquitto_passwd] = ["mosquitto", "mosquitto_passwd"].map(find);
    let (mosquitto, mosquitto_passwd) = (mosquitto?, mosquitto_passwd?);
    if local.folder().to_str().is_none_or(|path| path.contains(['\n', '\r'])) {
        return Err(FleetError::BadBrokerPath { path: local.folder().to_owned() }.into());
    }
    let (password, lock) = local.take(&new_password())?;
    // Reports a port in use as our own error, and turns port 0 into a real port.
    let probe = TcpListener::bind(listen).and_then(|probe| probe.local_addr());
    let listen = probe.map_err(Error::io(format!("listen on {listen}")))?;
    let own = (LOCAL_USER.to_owned(), password.reveal().to_owned());
    let passwords = local.folder().join("passwords");
    write_passwords(&mosquitto_passwd, &passwords, &[named, Some(own)])?;
    let config = local.folder().join("mosquitto.conf");
    let is_root = rustix::process::geteuid().is_root();
    replace(&config, configuration(listen, &local.socket(), &passwords, is_root).as_bytes())?;
    local.note(listen)?;
    // Mosquitto inherits the open file, and with it the lock.
    fcntl_setfd(&lock, FdFlags::empty()).map_err(|error| Error::io("keep a lock")(error.into()))?;
    ready(listen);
    let mut command = Command::new(&mosquitto);
    withhold_secrets(&mut command);
    let error = command.arg("-c").arg(&config).exec();
    Err(Error::io(format!("run {}", mosquitto.display()))(error))
}

/// User and password from the configuration. An empty password counts as none.
fn credentials(mqtt: &Mqtt) -> Option<(String, String)> {
    let password = mqtt.password.as_ref().map(Secret::reveal).filter(|word| !word.is_empty())?;
    Some((mqtt.user.clone()?, password.to_owned()))
}

/// 244 random bits.
fn new_password() -> String {
    [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

fn find(program: &str) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ADMIN_FOLDERS.map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    found.ok_or_else(|| {
        Error::Agent(AgentError::ProgramNotFound {
            program: program.to_owned(),
            install: INSTALL.to_owned(),
        })
    })
}

/// Mosquitto's own program hashes the passwords in the file: on a command line other users could read them.
fn write_passwords(
    mosquitto_passwd: &Path,
    file: &Path,
    users: &[Option<(String, String)>],
) -> Result<(), Error> {
    let mut text = String::new();
    for (user, password) in users.iter().flatten() {
        if [user, password].iter().any(|word| word.contains([':', '\n', '\r'])) {
            return Err(FleetError::BadBrokerUser { user: user.clone() }.into());
        }
        for part in [user, ":", password, "\n"] {
            text.push_str(part);
        }
    }
    replace(file, text.as_bytes())?;
    let mut command = Command::new(mosquitto_passwd);
    command.arg("-U").arg(file);
    let ended = program::run(command, b"", HASHING).map_err(Error::io("run mosquitto_passwd"))?;
    if ended.is_fine() {
        return Ok(());
    }
    Err(Error::io("hash passwords with mosquitto_passwd")(std::io::Error::other(ended.complaint())))
}

/// Mosquitto takes the rest of a line as a path, without quoting.
fn configuration(listen: SocketAddr, socket: &Path, passwords: &Path, is_root: bool) -> String {
    let (port, ip) = (listen.port(), listen.ip());
    // By default Mosquitto drops root for a user that may not read the directory.
    let user = if is_root { "user root\n" } else { "" };
    format!(
        "# Written by `dogwatch broker` at each start.\n\
         {user}allow_anonymous false\n\
         password_file {passwords}\n\
         persistence false\n\
         max_packet_size {MOST_BYTES}\n\
         max_queued_messages {MOST_QUEUED}\n\
         log_dest stderr\n\
         log_type error\n\
         log_type warning\n\
         listener 0 {socket}\n\
         max_connections {MOST_CONNECTIONS}\n\
         listener {port} {ip}\n\
         max_connections {MOST_CONNECTIONS}\n",
        passwords = passwords.display(),
        socket = socket.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_for_mosquitto() {
        let listen = "[::1]:1883".parse().unwrap();
        let text = configuration(listen, Path::new("/s/socket"), Path::new("/s/p w"), true);
        for line in [
            "user root",
            "allow_anonymous false",
            "password_file /s/p w",
            "listener 0 /s/socket",
            "listener 1883 ::1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let text = configuration(listen, Path::new("/s"), Path::new("/p"), false);
        assert!(!text.contains("user "), "{text}");
    }

    #[test]
    fn a_missing_mosquitto_is_reported_with_what_to_install() {
        let error = find("no-such-mosquitto").unwrap_err();
        assert_eq!(error.to_string(), "no-such-mosquitto was not found in PATH");
        let hint = error.hint().unwrap();
        assert!(hint.contains("apt install mosquitto") && hint.contains("docs/mqtt.md"), "{hint}");
    }

    #[test]
    fn names_and_passwords_that_would_add_a_user_are_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("passwords");
        for (user, password) in [("a:b", "c"), ("a", "b:c"), ("a", "b\nroot:x")] {
            let users = [Some((user.to_owned(), password.to_owned()))];
            let refused = write_passwords(Path::new("/no/such"), &file, &users);
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Fleet(FleetError::BadBrokerUser { .. })), "{error}");
            assert!(!file.exists());
        }
    }
}
