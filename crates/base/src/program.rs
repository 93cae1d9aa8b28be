//! A program that is run to its end, or to ours, and what it said.

use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::log::Logged as _;
use crate::private::is_private;
use rustix::process::{Pid, Signal, kill_process_group};

/// How much of what a program says is kept; the rest is heard and forgotten, so that nobody is held up by a full pipe.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How long a program that has ended may be silent: what it left running may hold its pipes open for ever.
const SILENCE: Duration = Duration::from_millis(500);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it took too long and was ended.
    pub status: Option<ExitStatus>,
    pub stdout: Said,
    pub stderr: Said,
}

/// What came through one pipe.
#[derive(Debug, Default)]
pub struct Said {
    pub bytes: Vec<u8>,
    /// It was heard to its end.
    pub is_whole: bool,
}

impl Said {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Exit codes that shells use for a program that took too long, and for one that failed to start.
pub const TOO_LONG: i32 = 124;
pub const NOT_STARTED: i32 = 127;

impl Ended {
    /// The exit code that a shell would give.
    pub fn shell_code(&self) -> i32 {
        self.code().unwrap_or(TOO_LONG)
    }

    /// Everything it said, its errors first.
    pub fn words(&self) -> String {
        let all = [self.stderr.bytes.as_slice(), self.stdout.bytes.as_slice()].concat();
        String::from_utf8_lossy(&all).trim().to_owned()
    }

    /// As shells say it: a signal is 128 and its number. `None` if it took too long.
    pub fn code(&self) -> Option<i32> {
        let of = |status: ExitStatus| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
        };
        self.status.map(of)
    }

    pub fn is_fine(&self) -> bool {
        self.code() == Some(0)
    }

    /// The last that it said, for whoever asks why.
    pub fn complaint(&self) -> String {
        let (out, err) = (self.stdout.text(), self.stderr.text());
        let text = if err.trim().is_empty() { out } else { err };
        let lines: Vec<&str> = text.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n");
        match self.code() {
            None => format!("timeout; the process was killed\n{last}").trim_end().to_owned(),
            Some(code) if last.is_empty() => format!("exit code {code}"),
            Some(_) => last,
        }
    }
}

/// Runs a program in a process group of its own; one that takes longer is ended with all of it. An error if it cannot be
/// started.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Ended> {
    withhold_secrets(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program need not read its input, and then the pipe would be full for ever.
        begin(group, move || drop(stdin.write_all(&input)))?;
    }
    let listen = |stream: Option<_>| stream.map(|stream| listen(group, stream)).transpose();
    let stdout = listen(child.stdout.take().map(Stream::Out))?;
    let stderr = listen(child.stderr.take().map(Stream::Err))?;
    let (done, ended) = mpsc::channel();
    // The kernel tells of a child's end only to who waits for it.
    begin(group, move || drop(done.send(child.wait())))?;
    let status = ended.recv_timeout(limit).ok().transpose()?;
    if status.is_none() {
        if let Some(group) = group {
            kill_process_group(group, Signal::KILL).logged("signal a process group");
        }
        // Its end is waited for, so that nothing of it is at work afterwards.
        let _ = ended.recv_timeout(SILENCE);
    }
    Ok(Ended { status, stdout: heard(stdout), stderr: heard(stderr) })
}

/// Takes our own secrets out of what a program inherits: the broker's password is nobody else's.
pub fn withhold_secrets(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_private(name)) {
        command.env_remove(name);
    }
}

/// An error if the system has no thread for us. For what others start, and take for granted; between this and that the last
/// one may go, so whoever can asks for the thread itself.
pub fn thread_to_be_had() -> io::Result<()> {
    let begun = thread::Builder::new().spawn(|| ())?;
    let _ = begun.join();
    Ok(())
}

enum Part {
    Bytes(Vec<u8>),
    /// More came than is kept.
    TooMuch,
}

enum Stream {
    Out(ChildStdout),
    Err(ChildStderr),
}

impl Read for Stream {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Out(stream) => stream.read(part),
            Self::Err(stream) => stream.read(part),
        }
    }
}

/// Starts a thread for a program; where none is to be had, the program is ended.
fn begin(group: Option<Pid>, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let begun = thread::Builder::new().name("program".to_owned()).spawn(work);
    if begun.is_err()
        && let Some(group) = group
    {
        kill_process_group(group, Signal::KILL).logged("signal a process group");
        rustix::process::waitpid(Some(group), rustix::process::WaitOptions::empty())
            .logged("wait for a process");
    }
    begun.map(drop)
}

fn listen(group: Option<Pid>, mut stream: Stream) -> io::Result<Receiver<Part>> {
    let (sender, receiver) = mpsc::channel();
    begin(group, move || {
        let mut part = [0; 16 * 1024];
        let mut kept = 0;
        while let Ok(length @ 1..) = stream.read(&mut part) {
            let told = if kept + length > MOST_BYTES {
                Part::TooMuch
            } else {
                kept += length;
                Part::Bytes(part[..length].to_vec())
            };
            if sender.send(told).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

fn heard(stream: Option<Receiver<Part>>) -> Said {
    let Some(stream) = stream else { return Said::default() };
    let (mut bytes, mut is_all) = (Vec::new(), true);
    loop {
        match stream.recv_timeout(SILENCE) {
            Ok(Part::Bytes(part)) => bytes.extend(part),
            Ok(Part::TooMuch) => is_all = false,
            Err(RecvTimeoutError::Disconnected) => return Said { bytes, is_whole: is_all },
            Err(RecvTimeoutError::Timeout) => return Said { bytes, is_whole: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(30);

    fn sh(script: &str, input: &[u8], limit: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, input, limit).unwrap()
    }

    #[test]
    fn how_it_ends() {
        let ended = sh("cat; echo no >&2; exit 3", b"yes", LONG);
        assert_eq!((ended.code(), ended.stdout.text().as_str()), (Some(3), "yes"));
        assert!(ended.stdout.is_whole && !ended.is_fine());
        assert_eq!(ended.complaint(), "no");
        assert_eq!(sh("kill -9 $$", b"", LONG).code(), Some(137));
        let large = vec![b'x'; 1 << 20];
        assert!(sh("exit 0", &large, LONG).is_fine(), "it need not read");
        assert_eq!(sh("cat", &large, LONG).stdout.bytes.len(), large.len());
        assert!(run(Command::new("/no/such"), b"", LONG).is_err());
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_its_children() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("pid");
        let script = format!("echo a; sleep 60 & echo $! > {}; wait", file.display());
        let ended = sh(&script, b"", Duration::from_secs(1));
        assert_eq!((ended.code(), ended.stdout.text().as_str()), (None, "a\n"));
        assert!(ended.complaint().starts_with("timeout"));
        let pid = std::fs::read_to_string(file).unwrap();
        let state = || Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output().unwrap();
        let lives = || !matches!(state().stdout.first(), None | Some(b'Z'));
        let begun = Instant::now();
        while lives() {
            assert!(begun.elapsed() < LONG, "its child lives on");
            // sleep: the interval of a poll: the process is not our child.
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_was_said_is_kept_and_whether_that_is_all() {
        let begun = Instant::now();
        let ended = sh("echo why >&2; sleep 20 & exit 1", b"", LONG);
        assert_eq!((ended.code(), ended.complaint().as_str()), (Some(1), "why"));
        assert!(!ended.stderr.is_whole && begun.elapsed() < Duration::from_secs(15));
        let much = sh("head -c 17000000 /dev/zero", b"", LONG);
        assert!(much.is_fine() && !much.stdout.is_whole && much.stdout.bytes.len() <= MOST_BYTES);
    }
}
