//! A private Mosquitto with a password, and a subscriber that records every event.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dogwatch_testkit::process;
use rustix::process::Signal;
use serde_json::Value;

use crate::world::World;

/// What the subscriber heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Payloads by the event's id.
    events: BTreeMap<String, String>,
    pub(crate) again: u64,
    /// Ids that came with two different contents.
    pub(crate) differing: Vec<String>,
}

impl Heard {
    fn take(&mut self, line: &str) {
        let Some((topic, payload)) = line.split_once(' ') else { return };
        if !topic.ends_with("/event") {
            return;
        }
        let event: Value = serde_json::from_str(payload).unwrap_or_default();
        let Some(id) = event["id"].as_str() else { return };
        match self.events.get(id) {
            None => drop(self.events.insert(id.to_owned(), payload.to_owned())),
            Some(before) if before == payload => self.again += 1,
            Some(before) => {
                self.differing.push(format!("{id}: {before}\n  and {payload}"));
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn missing(&self, wanted: &BTreeSet<String>) -> Vec<String> {
        wanted.iter().filter(|id| !self.events.contains_key(*id)).cloned().collect()
    }
}

#[derive(Debug)]
pub(crate) struct Broker {
    config: PathBuf,
    port: u16,
    child: Option<Child>,
    subscriber: Child,
    pub(crate) heard: Arc<Mutex<Heard>>,
}

const PASSWORD: &str = "torture-broker-password";

impl Broker {
    pub(crate) fn start(world: &World) -> io::Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let folder = world.path("broker");
        fs::create_dir(&folder)?;
        let passwords = folder.join("passwords");
        let made = world
            .program("mosquitto_passwd")
            .args(["-b", "-c"])
            .arg(&passwords)
            .args(["me", PASSWORD])
            .output()?;
        if !made.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()));
        }
        let user = if rustix::process::getuid().is_root() { "user root\n" } else { "" };
        let config = folder.join("mosquitto.conf");
        // It keeps what it has confirmed, also when it is stopped: a disconnected subscriber gets it later.
        let text = format!(
            "{user}persistence true\npersistence_location {}/\nmax_queued_messages 0\nmax_inflight_messages 0\n\
             password_file {}\nallow_anonymous false\nlistener {port} 127.0.0.1\n",
            folder.display(),
            passwords.display()
        );
        fs::write(&config, text)?;
        configure(world, port)?;
        let mut child = Some(run(world, &config)?);
        if let Err(error) = listens(port) {
            if let Some(mut child) = child.take() {
                let _ = (child.kill(), child.wait());
            }
            return Err(error);
        }
        let heard = Arc::new(Mutex::new(Heard::default()));
        let subscriber = subscribe(world, port, Arc::clone(&heard))?;
        Ok(Self { config, port, child, subscriber, heard })
    }

    /// Stops it as an administrator would, or like a crash.
    pub(crate) fn stop(&mut self, with: Signal) {
        if let Some(mut child) = self.child.take() {
            process::try_signal(i32::try_from(child.id()).unwrap_or(0), with);
            let _ = child.wait();
        }
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        let children = self.child.iter().chain([&self.subscriber]);
        children.filter_map(|child| i32::try_from(child.id()).ok()).collect()
    }

    pub(crate) fn run_again(&mut self, world: &World) -> io::Result<()> {
        if self.child.is_none() {
            self.child = Some(run(world, &self.config)?);
            listens(self.port)?;
        }
        Ok(())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = (self.subscriber.kill(), self.subscriber.wait());
        self.stop(Signal::KILL);
    }
}

fn configure(world: &World, port: u16) -> io::Result<()> {
    let folder = world.path("home").join(".config/dogwatch");
    let password = folder.join("password");
    fs::write(&password, PASSWORD)?;
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600))?;
    let notices = world.path("notices");
    let text = format!(
        "[mqtt]\nurl = 'mqtt://127.0.0.1:{port}'\nhost = 'desk'\nuser = 'me'\npassword_file = 'password'\n\n\
         [[notify]]\nkind = 'command'\ncommand = ['sh', '-c', 'cat >> {}; echo >> {}']\non = ['drift', 'escalation_raised']\n",
        notices.display(),
        notices.display()
    );
    fs::write(folder.join("config.toml"), text)
}

fn run(world: &World, config: &std::path::Path) -> io::Result<Child> {
    let mut command = world.program("mosquitto");
    command.arg("-c").arg(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn listens(port: u16) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > Duration::from_secs(10) => return Err(error),
            // sleep: poll interval.
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn subscribe(world: &World, port: u16, heard: Arc<Mutex<Heard>>) -> io::Result<Child> {
    let mut command = world.program("mosquitto_sub");
    let port = port.to_string();
    command.args([
        "-h",
        "127.0.0.1",
        "-p",
        &port,
        "-u",
        "me",
        "-P",
        PASSWORD,
        "-q",
        "1",
        "-c",
        "-i",
        "torture",
    ]);
    command.args(["-F", "%t %p", "-t", "dogwatch/#"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    if let Some(stdout) = child.stdout.take() {
        std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Ok(mut heard) = heard.lock() {
                    heard.take(&line);
                }
            }
        })?;
    }
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_event_must_have_the_same_content() {
        let mut heard = Heard::default();
        heard.take(r#"dogwatch/desk/session/a/event {"id":"1","n":1}"#);
        heard.take(r#"dogwatch/desk/session/a/event {"id":"1","n":1}"#);
        heard.take(r#"dogwatch/desk/session/a/state {"id":"1","n":2}"#);
        assert_eq!((heard.count(), heard.again, heard.differing.len()), (1, 1, 0));
        heard.take(r#"dogwatch/desk/session/a/event {"id":"1","n":2}"#);
        assert_eq!(heard.differing.len(), 1);
        let wanted = ["1", "2"].map(ToOwned::to_owned).into();
        assert_eq!(heard.missing(&wanted), ["2"]);
    }
}
