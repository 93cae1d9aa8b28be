//! A private environment for the campaign: home, state, tmux server, work directory, temporary directory and broker port.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dogwatch_testkit::{isolate, process};
use rustix::process::Signal;

/// In the environment of every agent; must not remain on disk.
pub(crate) const SECRET: &str = "tk-torture-0f9d8c7b6a5e4d3c";

#[derive(Debug)]
pub(crate) struct World {
    root: PathBuf,
    pub(crate) dogwatch: PathBuf,
    pub(crate) actor: PathBuf,
}

impl World {
    /// The programs are those beside this one.
    pub(crate) fn new() -> io::Result<Self> {
        let me = std::env::current_exe()?;
        let beside = |name: &str| me.with_file_name(name);
        // Short, because the path of a unix socket is limited to about 100 bytes.
        let root = tempfile::Builder::new().prefix("dwt").tempdir()?.keep().canonicalize()?;
        let program = root.join("bin").join("dogwatch");
        let world = Self { root, dogwatch: program, actor: beside("actor") };
        for program in [&beside("dogwatch"), &world.actor] {
            if !program.exists() {
                let text = format!("{} is missing; build it first", program.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, text));
            }
        }
        for name in ["bin", "home", "work", "tmp", "witness", "scenes", "logs", "stories"] {
            fs::create_dir(world.path(name))?;
        }
        // Its own, so that it can be replaced.
        fs::copy(beside("dogwatch"), &world.dogwatch)?;
        fs::create_dir(world.path("work").join(".git"))?;
        fs::write(world.path("scenes").join("prompt.txt"), crate::cast::prompt_screen())?;
        world.add_profile()?;
        Ok(world)
    }

    /// The scripted actor imitates Codex: its screens and hooks are those of the built-in profile.
    fn add_profile(&self) -> io::Result<()> {
        let folder = self.path("home").join(".config/dogwatch/agents");
        fs::create_dir_all(&folder)?;
        let program = self.path("play");
        let actor = self.actor.display();
        fs::write(&program, format!("#!/bin/sh\nexec '{actor}' \"$TORTURE_SCENE\"\n"))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let program = program.display();
        let profile = format!(
            "name = 'codex'\ntitle = 'Actor'\nprogram = '{program}'\n[input]\ncommand_prefixes = ['!', '/']\n"
        );
        fs::write(folder.join("codex.toml"), &profile)?;
        // The same, without a broker.
        let quiet = self.path("quiet").join("dogwatch/agents");
        fs::create_dir_all(&quiet)?;
        fs::write(quiet.join("codex.toml"), profile)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub(crate) fn witness(&self, name: &str) -> PathBuf {
        self.path("witness").join(name)
    }

    /// Another program in the campaign's environment.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        isolate(&mut command, &self.path("home"), &self.state(), &self.path("tmux"))
            .env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"))
            .env("TMPDIR", self.path("tmp"))
            .env("RUST_BACKTRACE", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(self.path("work"));
        command
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.program(&self.dogwatch);
        command.args(args);
        command
    }

    /// The answer of a tmux command, with a time limit.
    pub(crate) fn tmux(&self, args: &[&str]) -> Option<String> {
        let mut command = self.program("timeout");
        command
            .args(["5", "tmux", "-u", "-f", "/dev/null", "-S"])
            .arg(self.path("tmux"))
            .args(args);
        let output = command.output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(crate) fn server_pid(&self) -> Option<i32> {
        self.tmux(&["display-message", "-p", "#{pid}"])?.parse().ok()
    }

    /// Ends everything that was started here, by pid, and waits until it is gone. Returns what had to be killed.
    pub(crate) fn end_all(&self) -> Vec<String> {
        let mark = self.root.display().to_string();
        let mut killed = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let left = process::carrying(&mark);
            if left.is_empty() {
                break;
            }
            for pid in left {
                killed.push(format!("{pid} {}", process::command_line(pid)));
                process::try_signal(pid, Signal::KILL);
            }
            // sleep: poll interval.
            std::thread::sleep(Duration::from_millis(50));
        }
        killed
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
