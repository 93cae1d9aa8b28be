//! An isolated environment for one test: home, state, tmux server and work directory below one temporary directory.
//!
//! Dropping it kills everything that was started in it, and fails the test if a process was left over
//! that should have ended with its session.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::{CommandOutput, Exit, PATIENCE, eventually, isolate, process, wait_until, wait_within};

#[derive(Debug)]
pub struct TestEnv {
    root: TempDir,
    home: PathBuf,
    state: PathBuf,
    work: PathBuf,
    /// All tmux servers of the test, dogwatch's first.
    sockets: Mutex<Vec<PathBuf>>,
    /// What its programs have in their environment beside the usual.
    variable: Option<(&'static str, &'static str)>,
}

/// What `spawn --json` printed.
#[derive(Debug, Clone)]
pub struct Spawned {
    pub id: String,
    pub name: String,
    pub pane: String,
    pub pid: i32,
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    pub fn new() -> Self {
        // Short, because the path of a unix socket is limited to about 100 bytes.
        let root = tempfile::Builder::new().prefix("dw").tempdir().expect("a temporary folder");
        let path = root.path().canonicalize().expect("it was just made");
        let (home, work) = (path.join("home"), path.join("work"));
        fs::create_dir(&home).expect("a home");
        // Makes it a project root, so that the search for one stops here.
        fs::create_dir_all(work.join(".git")).expect("a work folder");
        let sockets = Mutex::new(vec![path.join("tmux")]);
        Self { root, home, state: path.join("state"), work, sockets, variable: None }
    }

    pub fn with_variable(name: &'static str, value: &'static str) -> Self {
        let mut env = Self::new();
        env.variable = Some((name, value));
        env
    }

    pub fn root(&self) -> PathBuf {
        self.work.parent().expect("made in the root").to_owned()
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    pub fn work(&self) -> &Path {
        &self.work
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.sockets.lock().expect("no holder panics")
    }

    pub fn socket(&self) -> PathBuf {
        self.sockets()[0].clone()
    }

    pub fn session_dir(&self, session: &Spawned) -> PathBuf {
        self.state.join("sessions").join(&session.id)
    }

    /// A dogwatch command, not yet started.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.foreign(dogwatch());
        command.args(args);
        command
    }

    /// Another program in the test's environment.
    pub fn foreign(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        isolate(&mut command, &self.home, &self.state, &self.socket()).current_dir(&self.work);
        command.envs(self.variable);
        command
    }

    pub fn dogwatch<S: AsRef<OsStr>>(&self, args: &[S]) -> CommandOutput {
        self.run(&mut self.command(args))
    }

    pub fn run(&self, command: &mut Command) -> CommandOutput {
        let output = command.output().expect("the program can be started");
        CommandOutput::new(output, self.known())
    }

    pub fn run_with_input(&self, command: &mut Command, input: &[u8]) -> CommandOutput {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("it was asked for");
        std::thread::scope(|scope| {
            // On a thread: the program may not read all of its input.
            scope.spawn(move || drop(stdin.write_all(input)));
            let output = child.wait_with_output().expect("its output can be read");
            CommandOutput::new(output, self.known())
        })
    }

    /// Waits for a program that was started before and returns its output.
    pub fn ended(&self, child: Child) -> CommandOutput {
        let output = child.wait_with_output().expect("its output can be read");
        CommandOutput::new(output, self.known())
    }

    /// The longest first: some paths contain others.
    fn known(&self) -> Vec<(String, &'static str)> {
        let shown = |path: &Path| path.display().to_string();
        vec![
            (shown(&self.state), "$STATE"),
            (shown(&self.home), "$HOME"),
            (shown(&self.work), "$WORK"),
            (shown(&self.socket()), "$SOCKET"),
            (shown(&self.root()), "$ROOT"),
            (dogwatch().to_owned(), "$DOGWATCH"),
        ]
    }

    /// Spawns a session with these arguments; it must succeed.
    #[track_caller]
    pub fn spawn<S: AsRef<OsStr>>(&self, args: &[S]) -> Spawned {
        let mut command = self.command(&["spawn", "--json"]);
        command.args(args);
        let said = self.run(&mut command).success().json();
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        let pid = said["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        Spawned { id: text("id"), name: text("name"), pane: text("pane"), pid: pid.unwrap_or(0) }
    }

    /// Spawns a shell script under a name.
    #[track_caller]
    pub fn spawn_script(&self, name: &str, script: &str) -> Spawned {
        self.spawn(&["--name", name, "--", "sh", "-c", script])
    }

    /// Runs a dogwatch command as the agent of a new session would.
    #[track_caller]
    pub fn as_agent<S: AsRef<str>>(&self, args: &[S]) -> CommandOutput {
        self.program_of_agent(dogwatch(), args)
    }

    /// The same with another program.
    #[track_caller]
    pub fn program_of_agent<S: AsRef<str>>(&self, program: &str, args: &[S]) -> CommandOutput {
        let folder = tempfile::Builder::new().prefix("said").tempdir_in(self.root());
        let folder = folder.expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let quoted = |arg: &S| format!("'{}'", arg.as_ref().replace('\'', r"'\''"));
        let words: Vec<String> = args.iter().map(quoted).collect();
        let script = format!(
            "cd '{}'; '{}' {} >'{}' 2>'{}'; echo $? >'{}'; mv '{}' '{}'",
            self.work.display(),
            program,
            words.join(" "),
            at("stdout").display(),
            at("stderr").display(),
            at("code").display(),
            at("code").display(),
            at("done").display(),
        );
        let _session = self.spawn(&["--", "sh", "-c", &script]);
        eventually("the agent's command has ended", || at("done").exists());
        let read = |name: &str| fs::read(at(name)).expect("the command has ended");
        let code = String::from_utf8_lossy(&read("done")).trim().parse().expect("a number");
        let status = ExitStatus::from_raw(i32::wrapping_shl(code, 8));
        let output = Output { status, stdout: read("stdout"), stderr: read("stderr") };
        CommandOutput::new(output, self.known())
    }

    /// Spawns the scripted agent under a name.
    #[track_caller]
    pub fn spawn_actor(&self, name: &str, scenario: &str) -> Spawned {
        let file = self.write(&format!("{name}.toml"), scenario);
        let file = file.to_string_lossy();
        self.spawn(&["--name", name, "--", dogwatch(), "lab", "actor", &file])
    }

    /// Adds a user's own agent profile, with a script as the agent.
    pub fn add_profile(&self, name: &str, more: &str, script: &str) {
        let folder = self.home.join(".config/dogwatch/agents");
        fs::create_dir_all(&folder).expect("a folder for profiles");
        let program = self.write_program(name, script);
        let program = program.display();
        let profile =
            format!("name = '{name}'\ntitle = 'Test agent'\nprogram = '{program}'\n{more}");
        fs::write(folder.join(format!("{name}.toml")), profile).expect("a profile");
    }

    /// Writes a file in the work directory.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work.join(name);
        fs::write(&path, content).expect("a file in the work folder");
        path
    }

    /// Writes an executable script into the directory of programs.
    pub fn write_program(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.root().join("bin");
        fs::create_dir_all(&folder).expect("a folder for programs");
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path
    }

    /// The session of that name from `ls --all --json`; the newest if there are several.
    pub fn seen(&self, name: &str) -> Value {
        let listed = self.dogwatch(&["ls", "--all", "--json"]).success().json();
        let all = listed["sessions"].as_array().cloned().unwrap_or_default();
        all.into_iter().rfind(|s| s["name"] == name).unwrap_or(Value::Null)
    }

    /// Waits until the session is in a state, and returns its entry.
    #[track_caller]
    pub fn wait_state(&self, name: &str, state: &str) -> Value {
        let what = || format!("{name} is {state}: {}", self.seen(name));
        wait_within(PATIENCE, what, || Some(self.seen(name)).filter(|seen| seen["state"] == state))
    }

    /// Waits until the session's screen shows a text.
    #[track_caller]
    pub fn wait_screen(&self, name: &str, text: &str) {
        let what = || format!("{name} shows {text:?}, but:\n{}", self.screen(name));
        wait_within(PATIENCE, what, || self.screen(name).contains(text).then_some(()));
    }

    pub fn screen(&self, name: &str) -> String {
        self.dogwatch(&["capture", name]).text()
    }

    /// Runs a tmux command on dogwatch's server.
    #[track_caller]
    pub fn tmux(&self, args: &[&str]) -> String {
        self.tmux_on(&self.socket(), args)
    }

    #[track_caller]
    pub fn tmux_on(&self, socket: &Path, args: &[&str]) -> String {
        let output = self.tmux_command(socket, args).output().expect("tmux can be started");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {args:?}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    pub fn tmux_command(&self, socket: &Path, args: &[&str]) -> Command {
        let mut command = self.foreign("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(socket);
        if args.first() == Some(&"new-session") && args.contains(&"-x") && is_tmux_3_2() {
            // tmux ignores the size of a new session unless window-size is manual.
            command.args(["start-server", ";", "set-option", "-gw", "window-size", "manual", ";"]);
            command.args(args).args([";", "set-option", "-gwu", "window-size"]);
        } else {
            command.args(args);
        }
        command
    }

    /// Types keys into the session's pane.
    pub fn keys(&self, session: &Spawned, keys: &[&str]) {
        let mut args = vec!["send-keys", "-t", &session.pane];
        args.extend(keys);
        self.tmux(&args);
    }

    /// The socket of another tmux server, which also ends with the test.
    pub fn another_socket(&self, name: &str) -> PathBuf {
        let socket = self.root().join(name);
        self.sockets().push(socket.clone());
        socket
    }

    pub fn server_pid(&self) -> i32 {
        self.tmux(&["display-message", "-p", "#{pid}"]).parse().expect("a pid")
    }

    /// The pid of the supervisor of dogwatch's server.
    pub fn supervisor(&self) -> Option<i32> {
        let (state, socket) =
            (self.state.display().to_string(), self.socket().display().to_string());
        process::pids().into_iter().find(|pid| {
            let line = process::command_line(*pid);
            line.ends_with(" supervisor serve") && line.contains(&state) && line.contains(&socket)
        })
    }

    /// Waits until the supervisor's control client is connected, which it is as long as an agent lives, and returns the client's pid.
    pub fn control_client(&self) -> i32 {
        let list = ["list-clients", "-F", "#{client_control_mode} #{client_pid}"];
        wait_until("the supervisor is connected", || {
            let listed = self.tmux(&list);
            listed.lines().find_map(|line| line.strip_prefix("1 ")?.parse().ok())
        })
    }

    /// Does something while the supervisor stands still, so that commands look by themselves.
    pub fn without_supervisor<T>(&self, run: impl FnOnce() -> T) -> T {
        let pid = wait_until("a supervisor serves", || self.supervisor());
        process::signal(pid, rustix::process::Signal::STOP);
        let result = run();
        process::signal(pid, rustix::process::Signal::CONT);
        result
    }

    fn end_servers(&self) {
        let sockets = self.sockets().clone();
        for socket in &sockets {
            let ask = ["display-message", "-p", "#{pid}"];
            let Ok(answer) = self.tmux_command(socket, &ask).output() else { continue };
            let Ok(pid) = String::from_utf8_lossy(&answer.stdout).trim().parse() else { continue };
            let exit = Exit::of(pid);
            let _ = self.tmux_command(socket, &["kill-server"]).output();
            // A server that does not end is reported as left over.
            exit.within(PATIENCE);
        }
    }

    /// Waits until all processes that were started here have ended; kills and returns those that stay.
    fn leftovers(&self) -> Vec<String> {
        let mark = self.root().display().to_string();
        // A supervisor stays some minutes if a notification is not due yet.
        let serves = |pid: &i32| process::command_line(*pid).ends_with(" supervisor serve");
        let mut asked = BTreeSet::new();
        let begun = Instant::now();
        loop {
            let left = process::carrying(&mark);
            // A dashboard that has not noticed yet that its terminal is gone may start another one.
            for pid in left.iter().filter(|pid| serves(pid) && asked.insert(**pid)) {
                process::try_signal(*pid, rustix::process::Signal::TERM);
            }
            if left.is_empty() || begun.elapsed() > Duration::from_secs(15) {
                let shown = |pid: &i32| format!("{pid}: {}", process::command_line(*pid));
                let described = left.iter().map(shown).collect();
                for pid in left {
                    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
                return described;
            }
            // sleep: poll interval: they are not our children.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.end_servers();
        let left = self.leftovers();
        if std::thread::panicking() {
            // The test has failed already: print only, so that its own message stays the last.
            eprintln!("left over in {}: {left:?}", self.root.path().display());
        } else {
            assert!(left.is_empty(), "processes were left over: {left:#?}");
        }
    }
}

/// The binary under test: where cargo built it, or beside the tests if both were copied (`scripts/tmux-matrix`).
pub fn dogwatch() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        std::env::var("DOGWATCH_TEST_BINARY").unwrap_or_else(|_| {
            // Tests are in `deps` beside it.
            let me = std::env::current_exe().expect("we run");
            let built = me.ancestors().nth(2).expect("deps is in a folder").join("dogwatch");
            assert!(built.exists(), "{} is not built", built.display());
            built.to_str().expect("cargo's folders are text").to_owned()
        })
    })
}

fn is_tmux_3_2() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| {
        let said = Command::new("tmux").arg("-V").output().expect("tmux can be started");
        said.stdout.starts_with(b"tmux 3.2")
    })
}

/// Whether the tests run as root, which bypasses file permissions.
pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}
