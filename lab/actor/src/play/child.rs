//! Children that sleep in the background, to see whether a session's end ends them.
//!
//! A process can only change its own session and its own signals, and code between fork and exec
//! would be unsafe. So the child is this executable again, with arguments to set itself up and sleep.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::setsid;

use super::signals;
use crate::scenario::{IgnorableSignal, Session, Spawn};

/// The first argument of a sleeping child.
pub(crate) const SLEEPER: &str = "--sleeper";
const OWN_SESSION: &str = "own-session";
const IGNORE_HANGUP: &str = "ignore-hangup";

/// Starts a child and returns once it has settled.
pub(super) fn start(reentry: &[OsString], spawn: &Spawn) -> io::Result<Child> {
    let (program, arguments) = reentry
        .split_first()
        .ok_or_else(|| io::Error::other("this stage cannot start children"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(SLEEPER)
        .arg(spawn.lasting.0.as_millis().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if spawn.session == Session::Own {
        command.arg(OWN_SESSION).stderr(Stdio::null());
    }
    if spawn.ignore_hangup {
        command.arg(IGNORE_HANGUP);
    }
    let mut child = command.spawn()?;
    let mut settled = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut settled)?;
    }
    if settled.is_empty() {
        let status = child.wait()?;
        return Err(io::Error::other(format!("it ended early: {status}")));
    }
    Ok(child)
}

/// The child's side: settles, says so with one line, and sleeps.
pub(crate) fn sleeper(arguments: &[OsString]) -> io::Result<()> {
    let (millis, traits) = arguments.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let millis = millis.to_str().and_then(|text| text.parse().ok());
    let lasting = Duration::from_millis(millis.ok_or(io::ErrorKind::InvalidInput)?);
    if traits.iter().any(|word| word == OWN_SESSION) {
        setsid()?;
    }
    if traits.iter().any(|word| word == IGNORE_HANGUP) {
        signals::ignore(IgnorableSignal::Hup)?;
    }
    writeln!(io::stdout(), "settled")?;
    // sleep: its scenario says how long it lasts.
    thread::sleep(lasting);
    Ok(())
}
