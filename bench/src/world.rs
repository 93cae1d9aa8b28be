use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dogwatch_testkit::isolate;
use dogwatch_tmux::{Server, Socket};
use signal_hook::consts::{SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::child;
use crate::error::Error;

/// What a measured session runs: it fills its screen, so that there is something to read, and then
/// sleeps.
const IDLER: &str = "seq -f 'line %g of this screen, with some text in it' 1 60; exec sleep 100000";
/// The last line an idler prints.
pub(crate) const IDLER_IS_READY: &str = "line 60 of this screen";
/// Parallel spawns while sessions are created outside the measurement.
const HANDS: usize = 4;

/// A private home, state directory and tmux server; all removed on drop.
#[derive(Debug)]
pub(crate) struct World {
    dir: TempDir,
    dogwatch: PathBuf,
    /// Set by a signal: what was started has to be ended first.
    interrupted: Arc<AtomicBool>,
    ended: bool,
}

impl World {
    pub(crate) fn make(dogwatch: Option<&Path>) -> Result<Self, Error> {
        let beside = || std::env::current_exe().map(|me| me.with_file_name("dogwatch"));
        let dogwatch = dogwatch.map_or_else(beside, std::path::absolute);
        let dogwatch = dogwatch.map_err(Error::io("find dogwatch"))?;
        if !dogwatch.is_file() {
            return Err(Error::NoDogwatch { path: dogwatch });
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(Error::io("catch a signal"))?;
        }
        let dir = tempfile::Builder::new().prefix("dogwatch-bench-").tempdir();
        let dir = dir.map_err(Error::io("make a folder"))?;
        let world = Self { dir, dogwatch, interrupted, ended: false };
        std::fs::create_dir(world.home()).map_err(Error::io("make a home"))?;
        // Not by dogwatch, which would make it read the machine's configuration.
        let words =
            ["-f", "/dev/null", "start-server", ";", "set-option", "-s", "exit-empty", "off"];
        child::run(&mut world.tmux(words))?.success()?;
        Ok(world)
    }

    /// Fails after an interrupt.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("tmux.sock")
    }

    /// The dogwatch that is measured.
    pub(crate) fn program(&self) -> &Path {
        &self.dogwatch
    }

    /// Replacement programs, found before those of the machine.
    pub(crate) fn programs(&self) -> PathBuf {
        self.path().join("bin")
    }

    /// The server, for the crate that is measured in the sweep.
    pub(crate) fn server(&self) -> Server {
        Server::new(Socket::Path(self.socket()))
    }

    /// Another program, in this environment only.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        isolate(&mut command, &self.home(), &self.state(), &self.socket())
            .env("PATH", self.search_path())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .current_dir(self.home());
        command
    }

    fn search_path(&self) -> OsString {
        let mut path = self.programs().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// A bare tmux command on this world's server.
    pub(crate) fn tmux<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = self.command("tmux");
        command.arg("-S").arg(self.socket()).args(words);
        command
    }

    pub(crate) fn dogwatch<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = self.command(&self.dogwatch);
        command.args(words);
        command
    }

    /// Names of all sessions on the server.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        let listed = child::run(&mut self.tmux(["list-sessions", "-F", "#{session_name}"]))?;
        Ok(listed.text().lines().map(ToOwned::to_owned).collect())
    }

    /// Creates sessions with dogwatch until there are `count`.
    pub(crate) fn fill_up_to(&self, count: usize) -> Result<(), Error> {
        self.side_by_side(self.names()?.len()..count, |_| self.spawn_idler())?;
        let found = self.names()?.len();
        if found == count {
            return Ok(());
        }
        Err(Error::Wrong { what: "sessions on the server", found: format!("{found}, not {count}") })
    }

    /// Does something for each number, a few in parallel.
    pub(crate) fn side_by_side(
        &self,
        numbers: Range<usize>,
        work: impl Fn(usize) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let work = &work;
        thread::scope(|scope| {
            let hands: Vec<_> = (0..HANDS)
                .map(|hand| {
                    let mut share = numbers.clone().skip(hand).step_by(HANDS);
                    scope.spawn(move || share.try_for_each(|n| self.go_on().and_then(|()| work(n))))
                })
                .collect();
            hands.into_iter().try_for_each(|hand| hand.join().unwrap_or(Ok(())))
        })
    }

    fn spawn_idler(&self) -> Result<(), Error> {
        child::run(&mut self.dogwatch(["spawn", "--", "sh", "-c", IDLER]))?.success().map(drop)
    }

    /// Ends all that was started here.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        self.close()
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        // First the sessions, while their records can be written; then the server.
        let sessions = child::run(&mut self.dogwatch(["kill-all", "--now", "--yes"]));
        let server = child::run(&mut self.tmux(["kill-server"]));
        sessions?.success()?;
        server?.success().map(drop)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
