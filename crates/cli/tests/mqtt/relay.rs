//! A `dogwatch relay` under way, and what it needs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use dogwatch_store::{StateDir, Store};
use dogwatch_testkit::{TestEnv, eventually_or, process, wait_until};
use rustix::process::Signal;
use serde_json::Value;

/// Writes `config.toml` for a broker on a port of this machine.
pub(crate) fn configure(env: &TestEnv, port: u16, host: &str, more: &str) {
    configure_url(env, &format!("mqtt://127.0.0.1:{port}"), host, more);
}

pub(crate) fn configure_url(env: &TestEnv, url: &str, host: &str, more: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let login = if more.contains("user = ") || url.starts_with("mqtts") {
        ""
    } else {
        let password = folder.join("password-of-tests");
        fs::write(&password, "hunter2\n").unwrap();
        fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
        "user = 'me'\npassword_file = 'password-of-tests'\n"
    };
    write_config(env, &format!("[mqtt]\nurl = '{url}'\nhost = '{host}'\n{login}{more}\n"));
}

pub(crate) fn write_config(env: &TestEnv, text: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

pub(crate) struct Relay {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Relay {
    pub(crate) fn start(env: &TestEnv) -> Self {
        Self::start_with(env, &["relay"], &[])
    }

    pub(crate) fn start_with(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = env.command(args);
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        Self { child, said }
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        eventually_or(&format!("it says {text:?}"), || {
            let said = self.said();
            if said.contains(text) { Ok(()) } else { Err(said) }
        });
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// As if its machine had gone: the tmux client that it holds goes with it. One that outlives it may hang, and with it a tmux
    /// 3.3a that is told to end at that moment (seen twice in 150 runs on a busy machine).
    pub(crate) fn killed(mut self) {
        let children = children(self.pid());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        for child in children.into_iter().filter(|child| process::is_alive(*child)) {
            let child = rustix::process::Pid::from_raw(child).unwrap();
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }

    /// Ends it as a person does; it must end well.
    #[track_caller]
    pub(crate) fn ended(mut self) {
        process::signal(self.pid(), Signal::TERM);
        let status = wait_until("the relay ends", || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "{}", self.said());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the relay said:\n{}", self.said());
        }
    }
}

fn children(parent: i32) -> Vec<i32> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1) == Some(parent.to_string().as_str())
    };
    pids.filter(is_child).collect()
}

pub(crate) fn store(env: &TestEnv) -> Store {
    Store::open(&StateDir::open(env.state_dir()).unwrap()).unwrap()
}

/// What the journal has, oldest first.
pub(crate) fn journal(env: &TestEnv) -> Vec<Value> {
    let said = env.dogwatch(&["events", "--json"]).success().text();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Events that wait for the broker.
pub(crate) fn waiting(env: &TestEnv) -> i64 {
    store(env).backlog().unwrap().map_or(0, |backlog| backlog.waiting)
}
