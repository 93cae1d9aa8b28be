//! Runs a program with a time limit and collects its output.

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::log::Logged as _;
use crate::private::is_private;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// What Linux appends to the path of a running program whose file was removed or replaced.
const DELETED: &str = " (deleted)";

/// Our own program, to start it again. An update replaces the file under a process that runs for days: the new one is as good then, and
/// without it the kernel still has the old one.
pub fn own() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let fallback = Path::new("/proc/self/exe");
    Ok(present(&path, Path::exists)
        .unwrap_or_else(|| if cfg!(target_os = "linux") { fallback.to_owned() } else { path }))
}

/// The path of our own program, for others to start it.
pub fn own_path() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(present(&path, Path::exists).unwrap_or(path))
}

fn present(path: &Path, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    if exists(path) {
        return Some(path.to_owned());
    }
    let bytes = path.as_os_str().as_bytes().strip_suffix(DELETED.as_bytes())?;
    Some(PathBuf::from(OsStr::from_bytes(bytes))).filter(|path| exists(path))
}

/// Limit on the output that is kept. The rest is read and dropped, so that the program never blocks on a full pipe.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How long to read on after the program's exit: a process it left behind may keep the pipes open.
const SILENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Ended {
    /// `None` after a timeout.
    pub status: Option<ExitStatus>,
    pub stdout: Output,
    pub stderr: Output,
}

/// What the program wrote to one pipe.
#[derive(Debug, Default)]
pub struct Output {
    pub bytes: Vec<u8>,
    /// Read up to the end of file, nothing dropped.
    pub is_whole: bool,
}

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Exit codes that shells use for a timeout and for a program that failed to start.
pub const TOO_LONG: i32 = 124;
pub const NOT_STARTED: i32 = 127;

impl Ended {
    /// The exit code as a shell reports it, [`TOO_LONG`] after a timeout.
    pub fn shell_code(&self) -> i32 {
        self.code().unwrap_or(TOO_LONG)
    }

    /// All output, stderr first.
    pub fn words(&self) -> String {
        let all = [self.stderr.bytes.as_slice(), self.stdout.bytes.as_slice()].concat();
        String::from_utf8_lossy(&all).trim().to_owned()
    }

    /// The exit code as a shell reports it: 128 plus the number of a signal. `None` after a timeout.
    pub fn code(&self) -> Option<i32> {
        let of = |status: ExitStatus| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
        };
        self.status.map(of)
    }

    pub fn is_fine(&self) -> bool {
        self.code() == Some(0)
    }

    /// The end of the output, as the explanation of a failure.
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

/// Runs a program in its own process group and kills the whole group when the limit is over. Fails if the program cannot be
/// started.
pub fn run(command: Command, input: &[u8], limit: Duration) -> io::Result<Ended> {
    start(command, input)?.wait_at_most(limit)
}

/// Starts a program in its own process group.
pub fn start(mut command: Command, input: &[u8]) -> io::Result<Running> {
    withhold_secrets(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // On a thread: a program that does not read its input leaves this write blocked.
        begin(group, move || drop(stdin.write_all(&input)))?;
    }
    let listen = |stream: Option<_>| stream.map(|stream| listen(group, stream)).transpose();
    let stdout = listen(child.stdout.take().map(Stream::Out))?;
    let stderr = listen(child.stderr.take().map(Stream::Err))?;
    let (done, ended) = mpsc::channel();
    let stop = Stop { group: Arc::new(Mutex::new(group)) };
    let reaped = stop.clone();
    // On a thread: `wait` has no time limit.
    begin(group, move || {
        if let Some(pid) = group {
            // Its number stays its own until the lock is held: a later signal must not reach another process.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        }
        *reaped.lock() = None;
        drop(done.send(child.wait()));
    })?;
    Ok(Running { stop, stdout, stderr, ended })
}

/// A program that was started.
#[derive(Debug)]
pub struct Running {
    stop: Stop,
    stdout: Option<Receiver<Part>>,
    stderr: Option<Receiver<Part>>,
    ended: Receiver<io::Result<ExitStatus>>,
}

impl Running {
    /// Ends it early, from another thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits for its end, however long that takes.
    pub fn wait(self) -> io::Result<Ended> {
        let status = self.ended.recv().ok().transpose()?;
        Ok(self.ended_with(status))
    }

    /// Waits for its end and kills it when the limit is over.
    pub fn wait_at_most(self, limit: Duration) -> io::Result<Ended> {
        let status = self.ended.recv_timeout(limit).ok().transpose()?;
        if status.is_none() {
            self.stop.signal(Signal::KILL);
            // After this the killed program cannot change anything any more.
            let _ = self.ended.recv_timeout(SILENCE);
        }
        Ok(self.ended_with(status))
    }

    fn ended_with(self, status: Option<ExitStatus>) -> Ended {
        Ended { status, stdout: heard(self.stdout), stderr: heard(self.stderr) }
    }
}

/// Signals a program and its children while it runs.
#[derive(Debug, Clone)]
pub struct Stop {
    /// `None` once it has ended.
    group: Arc<Mutex<Option<Pid>>>,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks it to end.
    pub fn term(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = *self.lock() {
            kill_process_group(group, signal).logged("signal a process group");
        }
    }
}

/// Removes dogwatch's own secrets, such as the broker's password, from the environment that a program inherits.
pub fn withhold_secrets(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_private(name)) {
        command.env_remove(name);
    }
}

/// Fails if the system cannot start another thread. For callers of libraries that start threads and panic when they cannot.
/// The limit may still be reached between this check and that start, so use `thread::Builder` where possible.
pub fn ensure_thread_available() -> io::Result<()> {
    let begun = thread::Builder::new().spawn(|| ())?;
    let _ = begun.join();
    Ok(())
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    /// More output than is kept.
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

/// Starts a thread; if that fails, kills the program.
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

fn heard(stream: Option<Receiver<Part>>) -> Output {
    let Some(stream) = stream else { return Output::default() };
    let (mut bytes, mut is_all) = (Vec::new(), true);
    loop {
        match stream.recv_timeout(SILENCE) {
            Ok(Part::Bytes(part)) => bytes.extend(part),
            Ok(Part::TooMuch) => is_all = false,
            Err(RecvTimeoutError::Disconnected) => return Output { bytes, is_whole: is_all },
            Err(RecvTimeoutError::Timeout) => return Output { bytes, is_whole: false },
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
    fn exit_codes_and_signals_are_reported() {
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
    fn our_own_program_after_an_update() {
        let table = [
            ("/bin/x", &["/bin/x"][..], Some("/bin/x")),
            ("/bin/x (deleted)", &["/bin/x"], Some("/bin/x")),
            ("/bin/x (deleted)", &["/bin/x", "/bin/x (deleted)"], Some("/bin/x (deleted)")),
            ("/bin/x (deleted)", &[], None),
            ("/bin/x", &[], None),
        ];
        for (path, there, want) in table {
            let exists = |path: &Path| there.iter().any(|one| Path::new(one) == path);
            assert_eq!(present(Path::new(path), exists).as_deref(), want.map(Path::new), "{path}");
        }
        assert!(own().unwrap().exists() && own_path().unwrap().exists());
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_children() {
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
            // sleep: poll interval: the process is not our child.
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_without_a_limit_is_stopped_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "trap 'echo stopped; exit 5' TERM; echo begun; sleep 60 & wait"]);
        let running = start(command, b"").unwrap();
        let stop = running.stop();
        let told = thread::spawn(move || running.wait().unwrap());
        let begun = Instant::now();
        while !told.is_finished() {
            assert!(begun.elapsed() < LONG, "it goes on");
            stop.term();
            // sleep: poll interval: a signal before the trap is set ends it as well, and one after it again.
            thread::sleep(Duration::from_millis(20));
        }
        let ended = told.join().unwrap();
        assert!(matches!(ended.code(), Some(5 | 143)), "{ended:?}");
        // It has ended: its number may be another's by now.
        assert_eq!(*stop.lock(), None);
        stop.term();
    }

    #[test]
    fn output_is_kept_and_marked_as_complete_or_not() {
        let begun = Instant::now();
        let ended = sh("echo why >&2; sleep 20 & exit 1", b"", LONG);
        assert_eq!((ended.code(), ended.complaint().as_str()), (Some(1), "why"));
        assert!(!ended.stderr.is_whole && begun.elapsed() < Duration::from_secs(15));
        let much = sh("head -c 17000000 /dev/zero", b"", LONG);
        assert!(much.is_fine() && !much.stdout.is_whole && much.stdout.bytes.len() <= MOST_BYTES);
    }
}
