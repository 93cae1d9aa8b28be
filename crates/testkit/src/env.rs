//! A world of the test's own: home, state, tmux server and work folder in one temporary folder.
//!
//! Dropping it ends everything that was started in it, and fails the test if a process was left over
//! that a session should have taken with it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::{CommandOutput, Exit, PATIENCE, isolate, process, wait_within};

#[derive(Debug)]
pub struct TestEnv {
    root: TempDir,
    home: PathBuf,
    state: PathBuf,
    work: PathBuf,
    /// All tmux servers of the test, dogwatch's own first.
    sockets: Mutex<Vec<PathBuf>>,
}

/// What `spawn --json` said.
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
        // Short, because a unix socket's path may have about 100 bytes.
        let root = tempfile::Builder::new().prefix("dw").tempdir().expect("a temporary folder");
        let path = root.path().canonicalize().expect("it was just made");
        let (home, work) = (path.join("home"), path.join("work"));
        fs::create_dir(&home).expect("a home");
        // A project of its own, whatever lies around the temporary folder.
        fs::create_dir_all(work.join(".git")).expect("a work folder");
        let sockets = Mutex::new(vec![path.join("tmux")]);
        Self { root, home, state: path.join("state"), work, sockets }
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

    /// The folder that commands run in.
    pub fn work(&self) -> &Path {
        &self.work
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.sockets.lock().expect("nobody panics while holding it")
    }

    pub fn socket(&self) -> PathBuf {
        self.sockets()[0].clone()
    }

    pub fn session_dir(&self, session: &Spawned) -> PathBuf {
        self.state.join("sessions").join(&session.id)
    }

    /// A dogwatch command, not started yet.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.foreign(dogwatch());
        command.args(args);
        command
    }

    /// Any program in the environment of the test.
    pub fn foreign(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        isolate(&mut command, &self.home, &self.state, &self.socket()).current_dir(&self.work);
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
            // A program need not read its input to the end.
            scope.spawn(move || drop(stdin.write_all(input)));
            let output = child.wait_with_output().expect("its output can be read");
            CommandOutput::new(output, self.known())
        })
    }

    /// What a program said that was started before and ends now.
    pub fn ended(&self, child: Child) -> CommandOutput {
        let output = child.wait_with_output().expect("its output can be read");
        CommandOutput::new(output, self.known())
    }

    /// The longest first: paths lie within paths.
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

    /// Spawns the scripted agent under a name.
    #[track_caller]
    pub fn spawn_actor(&self, name: &str, scenario: &str) -> Spawned {
        let file = self.write(&format!("{name}.toml"), scenario);
        let file = file.to_string_lossy();
        self.spawn(&["--name", name, "--", dogwatch(), "lab", "actor", &file])
    }

    /// An agent profile of the user's own, for a script that plays the agent.
    pub fn add_profile(&self, name: &str, more: &str, script: &str) {
        let folder = self.home.join(".config/dogwatch/agents");
        fs::create_dir_all(&folder).expect("a folder for profiles");
        let program = self.write_program(name, script);
        let program = program.display();
        let profile =
            format!("name = '{name}'\ntitle = 'Test agent'\nprogram = '{program}'\n{more}");
        fs::write(folder.join(format!("{name}.toml")), profile).expect("a profile");
    }

    /// A file in the work folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work.join(name);
        fs::write(&path, content).expect("a file in the work folder");
        path
    }

    /// An executable script in a folder of programs.
    pub fn write_program(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.root().join("bin");
        fs::create_dir_all(&folder).expect("a folder for programs");
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path
    }

    /// The session of that name as `ls --all --json` tells of it; the newest if there are several.
    pub fn seen(&self, name: &str) -> Value {
        let listed = self.dogwatch(&["ls", "--all", "--json"]).success().json();
        let all = listed["sessions"].as_array().cloned().unwrap_or_default();
        all.into_iter().rfind(|s| s["name"] == name).unwrap_or(Value::Null)
    }

    /// Waits until the session of that name is in a state, and returns what is then said of it.
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

    /// Asks the tmux server of dogwatch directly.
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
            // It takes no size for a new session, unless sizes are by hand.
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

    /// The socket of another tmux server; it ends with the test too.
    pub fn another_socket(&self, name: &str) -> PathBuf {
        let socket = self.root().join(name);
        self.sockets().push(socket.clone());
        socket
    }

    pub fn server_pid(&self) -> i32 {
        self.tmux(&["display-message", "-p", "#{pid}"]).parse().expect("a pid")
    }

    fn end_servers(&self) {
        let sockets = self.sockets().clone();
        for socket in &sockets {
            let ask = ["display-message", "-p", "#{pid}"];
            let Ok(answer) = self.tmux_command(socket, &ask).output() else { continue };
            let Ok(pid) = String::from_utf8_lossy(&answer.stdout).trim().parse() else { continue };
            let exit = Exit::of(pid);
            let _ = self.tmux_command(socket, &["kill-server"]).output();
            // A server that does not end is among the leftovers.
            exit.within(PATIENCE);
        }
    }

    /// Waits until nothing that was started here is left; what stays is killed and returned.
    fn leftovers(&self) -> Vec<String> {
        let mark = self.root().display().to_string();
        let begun = Instant::now();
        loop {
            let left = process::carrying(&mark);
            if left.is_empty() || begun.elapsed() > Duration::from_secs(15) {
                let shown = |pid: &i32| format!("{pid}: {}", process::command_line(*pid));
                let described = left.iter().map(shown).collect();
                for pid in left {
                    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
                return described;
            }
            // sleep: the interval of a poll: they are not our children.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.end_servers();
        let left = self.leftovers();
        if std::thread::panicking() {
            // What the test was about matters more; keep it readable.
            eprintln!("left over in {}: {left:?}", self.root.path().display());
        } else {
            assert!(left.is_empty(), "processes were left over: {left:#?}");
        }
    }
}

/// The binary under test: where cargo has built it, unless the tests were copied elsewhere with it (`scripts/tmux-matrix`).
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

/// Whether the tests run as root, who may do things that others may not.
pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}
