//! Finds the supervisor of a tmux server, or starts it.
//!
//! A supervisor holds a lock for its life. Whoever starts one takes the lock first and hands the locked file to the new process as its
//! standard input, so that there is never a moment in which two could serve. Runners wait for the lock: when a supervisor dies, the kernel
//! gives it to one of them, and that one starts the next.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::program;
use dogwatch_core::process_tree::TAG;
use dogwatch_protocol::supervisor::Serving;
use dogwatch_store::{StateDir, lock_file, read_limited};

use crate::{Context, Error};

/// One that ends within this time of its start would do so again.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// Pauses before the next try after one that ended so soon.
const LEAST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// More than the note of a supervisor has.
const MOST_BYTES: u64 = 64 * 1024;

/// The family that a supervisor belongs to: none of a session's, so that it is not ended with the session whose runner started it.
pub const FAMILY: &str = "supervisor";

/// Variables that make a process one of a session's own.
const OF_THE_AGENT: [&str; 2] = ["DOGWATCH_SESSION", "AI_AGENT"];

/// Makes sure that a supervisor serves this tmux server; it may still be starting.
pub fn ensure(context: &Context) -> Result<(), Error> {
    let path = context.state.supervisor_lock(&context.socket)?;
    let failed = || format!("start the supervisor ({})", path.display());
    if let Some(lock) = take(&path).map_err(Error::io(failed()))? {
        let started = start(lock, &context.state, &context.socket, None);
        started.map_err(Error::io(failed()))?;
    }
    Ok(())
}

/// Has the supervisor look at a session: something was asked of it, or was recorded for it.
pub fn poke(context: &Context, session: &str) {
    ensure(context).logged("start the supervisor");
    context.state.tell_news(session);
}

/// Waits for the lock and starts the next supervisor, again and again, in this environment: on a runner's thread of its own, which sleeps
/// in the kernel.
pub fn keep(state: &StateDir, socket: &Path, environment: &[(OsString, OsString)]) {
    let mut pause = LEAST_PAUSE;
    loop {
        let begun = Instant::now();
        let started = state
            .supervisor_lock(socket)
            .map_err(io::Error::other)
            .and_then(|path| lock_file::lock(&path))
            .and_then(|lock| start(lock, state, socket, Some(environment)));
        started.logged("start the supervisor");
        // Returns at once if there was no supervisor, and with the next one's death else.
        if begun.elapsed() > SHORT_LIFE {
            pause = LEAST_PAUSE;
            continue;
        }
        // sleep: one that dies at once, or cannot be started, is not tried as fast as the machine can
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Starts a supervisor if there is none, in this environment.
pub fn ensure_in(state: &StateDir, socket: &Path, environment: &[(OsString, OsString)]) {
    let start = || -> io::Result<()> {
        let path = state.supervisor_lock(socket).map_err(io::Error::other)?;
        take(&path)?.map_or(Ok(()), |lock| start(lock, state, socket, Some(environment)))
    };
    start().logged("start the supervisor");
}

/// The supervisor that has noted in its lock that it serves; it may have died since.
pub fn noted(context: &Context) -> Option<Serving> {
    let path = context.state.supervisor_lock(&context.socket).logged("find a lock")?;
    let file = File::open(&path).logged_unless_missing("open a file")?;
    let text = read_limited(file, MOST_BYTES).logged("read a file")?;
    if text.is_empty() {
        return None;
    }
    serde_json::from_slice(&text).logged("read JSON")
}

/// The lock, if nobody has it.
pub fn take(path: &Path) -> io::Result<Option<File>> {
    match lock_file::try_lock(path) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        taken => taken.map(Some),
    }
}

fn start(
    lock: File,
    state: &StateDir,
    socket: &Path,
    environment: Option<&[(OsString, OsString)]>,
) -> io::Result<()> {
    let mut command = Command::new(program::own()?);
    if let Some(environment) = environment {
        command.env_clear().envs(environment.iter().map(|(key, value)| (key, value)));
    }
    for name in OF_THE_AGENT {
        command.env_remove(name);
    }
    command.env(TAG, FAMILY);
    command.arg("--state-dir").arg(std::path::absolute(state.root())?);
    command.arg("--socket").arg(socket).args(["supervisor", "serve"]);
    command.stdin(Stdio::from(lock)).stdout(Stdio::null()).stderr(Stdio::null());
    // No folder is kept in use by it.
    command.current_dir("/");
    let mut child = command.spawn()?;
    // A runner collects all its children by another thread. Elsewhere somebody has to.
    if environment.is_none() {
        let collect = move || drop(child.wait());
        thread::Builder::new().name("supervisor".to_owned()).spawn(collect)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_lock_at_a_time() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("lock");
        let first = take(&path).unwrap().unwrap();
        assert!(take(&path).unwrap().is_none(), "it is taken");
        let waits = thread::spawn({
            let path = path.clone();
            move || lock_file::lock(&path).unwrap()
        });
        drop(first);
        let second = waits.join().unwrap();
        assert!(take(&path).unwrap().is_none(), "by who waited for it");
        drop(second);
        assert!(take(&path).unwrap().is_some());
    }
}
