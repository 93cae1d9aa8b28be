//! A program that is run to its end, or to ours.

use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// How a program ended that took too long, and one that could not be started: what shells say.
const TOO_LONG: i32 = 124;
const NOT_STARTED: i32 = 127;

/// What it left open behind itself is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

impl Ended {
    /// What it said of its trouble.
    pub(crate) fn words(&self) -> String {
        let all = [self.errors.as_slice(), self.output.as_slice()].concat();
        String::from_utf8_lossy(&all).trim().to_owned()
    }
}

/// Runs a program in a process group of its own; one that takes longer is killed with all of it.
pub(crate) fn run(mut command: Command, input: &[u8], at_most: Duration) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let errors = error.to_string().into_bytes();
            return Ended { code: NOT_STARTED, output: Vec::new(), errors };
        }
    };
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let output = child.stdout.take().map(read_all);
    let errors = child.stderr.take().map(read_all);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    let code = if let Ok(status) = ended.recv_timeout(at_most) {
        status.map_or(NOT_STARTED, |status| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
        })
    } else {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        TOO_LONG
    };
    let last = |stream: Option<Receiver<Vec<u8>>>| {
        let mut all = Vec::new();
        while let Some(Ok(part)) = stream.as_ref().map(|stream| stream.recv_timeout(LAST_WORDS)) {
            all.extend(part);
        }
        all
    };
    Ended { code, output: last(output), errors: last(errors) }
}

fn read_all(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut part = [0; 8192];
        while let Ok(length @ 1..) = stream.read(&mut part) {
            if sender.send(part[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: &str, at_most: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, input.as_bytes(), at_most)
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn how_it_ends() {
        let ended = shell("cat; echo no >&2; exit 3", "yes", LONG);
        assert_eq!(
            (ended.code, &ended.output[..], &ended.errors[..]),
            (3, &b"yes"[..], &b"no\n"[..])
        );
        assert_eq!(shell("kill -9 $$", "", LONG).code, 137);
        assert_eq!(run(Command::new("/nonexistent/program"), b"", LONG).code, NOT_STARTED);
    }

    #[test]
    fn one_that_takes_too_long_is_ended_and_one_that_leaves_others_behind_is_not_waited_for() {
        assert_eq!(shell("echo a; exec sleep 60", "", Duration::from_millis(100)).code, TOO_LONG);
        let begun = std::time::Instant::now();
        let ended = shell("sleep 20 & echo a", "", LONG);
        assert_eq!((ended.code, &ended.output[..]), (0, &b"a\n"[..]));
        assert!(begun.elapsed() < Duration::from_secs(15));
    }
}
