//! Mosquitto and its clients, as other people use them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use dogwatch_testkit::{PATIENCE, TestEnv, eventually, skip};
use serde_json::Value;

/// Whether Mosquitto is here; if not, and it need not be, the test passes without having tested anything.
pub(crate) fn is_here() -> bool {
    skip::has_program("mosquitto", skip::MOSQUITTO)
}

/// As whom the clients come, in words of `mosquitto_sub` and `mosquitto_pub`.
pub(crate) const LOGIN: [&str; 4] = ["-u", "me", "-P", "hunter2"];

pub(crate) fn free_port() -> u16 {
    dogwatch_testkit::free_port().unwrap()
}

/// A broker with a configuration of the test's own.
pub(crate) struct Mosquitto {
    pub(crate) port: u16,
    command: Command,
    log: PathBuf,
    child: Option<Child>,
}

impl Mosquitto {
    /// Listens on loopback and wants a password: that of [`LOGIN`].
    pub(crate) fn start(env: &TestEnv) -> Self {
        let file = env.root().join("passwords");
        let mut make = env.foreign("mosquitto_passwd");
        let _ = env.run(make.args(["-b", "-c"]).arg(&file).args([LOGIN[1], LOGIN[3]])).success();
        let more = format!("allow_anonymous false\npassword_file {}\n", file.display());
        Self::start_with(env, &more)
    }

    /// Takes everybody.
    pub(crate) fn start_open(env: &TestEnv) -> Self {
        Self::start_with(env, "allow_anonymous true\n")
    }

    pub(crate) fn start_with(env: &TestEnv, more: &str) -> Self {
        let mut broker = Self::prepare(env, more);
        broker.run();
        broker
    }

    /// One that does not run yet.
    pub(crate) fn prepare(env: &TestEnv, more: &str) -> Self {
        let port = free_port();
        let log = env.root().join(format!("mosquitto-{port}.log"));
        let config = env.root().join(format!("mosquitto-{port}.conf"));
        let user = if rustix::process::getuid().is_root() { "user root\n" } else { "" };
        // A line that belongs to the listener must come after it.
        let text = format!("{user}log_type all\nlistener {port} 127.0.0.1\n{more}");
        fs::write(&config, text).unwrap();
        let mut command = env.foreign("mosquitto");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"));
        command.arg("-c").arg(&config);
        Self { port, command, log, child: None }
    }

    pub(crate) fn run(&mut self) {
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let said = log.try_clone().unwrap();
        self.child = Some(self.command.stdout(said).stderr(log).spawn().unwrap());
        let port = self.port;
        eventually("mosquitto listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// As if the machine it runs on had gone.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<_> = log.lines().rev().take(30).collect();
            eprintln!("the broker's last lines, newest first:\n{}", tail.join("\n"));
        }
    }
}

/// A message as `mosquitto_sub` shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) topic: String,
    pub(crate) retained: bool,
    pub(crate) payload: String,
}

impl Message {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_default()
    }
}

/// A `mosquitto_sub` under way.
pub(crate) struct Sub {
    child: Child,
    messages: Receiver<Message>,
}

impl Sub {
    pub(crate) fn start(env: &TestEnv, port: u16, topic: &str, more: &[&str]) -> Self {
        let mut command = env.foreign("mosquitto_sub");
        let port = port.to_string();
        command.args(["-h", "127.0.0.1", "-p", &port, "-q", "1", "-F", "%r %t %p", "-t", topic]);
        let mut child = command.args(LOGIN).args(more).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let mut words = line.splitn(3, ' ');
                let retained = words.next() == Some("1");
                let mut next = || words.next().unwrap_or_default().to_owned();
                let message = Message { retained, topic: next(), payload: next() };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, messages }
    }

    /// The next message that is wanted; others are passed over.
    #[track_caller]
    pub(crate) fn hears(&self, what: &str, mut is_wanted: impl FnMut(&Message) -> bool) -> Message {
        let begun = Instant::now();
        let mut others = Vec::new();
        loop {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            match self.messages.recv_timeout(left) {
                Ok(message) if is_wanted(&message) => return message,
                Ok(message) => others.push(message),
                Err(RecvTimeoutError::Timeout) => panic!("never heard {what}, but {others:#?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("mosquitto_sub ended; {others:#?}"),
            }
        }
    }

    /// What comes until nothing has come for a while.
    pub(crate) fn rest(&self, quiet: Duration) -> Vec<Message> {
        std::iter::from_fn(|| self.messages.recv_timeout(quiet).ok()).collect()
    }
}

impl Drop for Sub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Publishes with `mosquitto_pub`.
pub(crate) fn publish(env: &TestEnv, port: u16, topic: &str, payload: &str, more: &[&str]) {
    let mut command = env.foreign("mosquitto_pub");
    let port = port.to_string();
    command.args([
        "-V",
        "5",
        "-h",
        "127.0.0.1",
        "-p",
        &port,
        "-q",
        "1",
        "-t",
        topic,
        "-m",
        payload,
    ]);
    let _ = env.run(command.args(LOGIN).args(more)).success();
}
