//! Running a program to its end, with a limit, and keeping what it says.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How much of what a program says is kept.
const MOST: u64 = 4 * 1024 * 1024;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// `None` if it took too long and was ended.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    pub(super) fn is_fine(&self) -> bool {
        self.code == Some(0)
    }

    /// The last that it said, for whoever asks why.
    pub(super) fn complaint(&self) -> String {
        let text = if self.err.trim().is_empty() { &self.out } else { &self.err };
        let lines: Vec<&str> = text.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n");
        match self.code {
            None => format!("it took too long and was ended\n{last}"),
            Some(code) if last.is_empty() => format!("exit code {code}"),
            Some(_) => last,
        }
    }
}

/// Runs a program in a folder. It gets no input, and is ended with all that it started when its time is over.
pub(super) fn run(
    words: &[impl AsRef<OsStr>],
    dir: &Path,
    env: &[(&str, &str)],
    limit: Duration,
) -> std::io::Result<Said> {
    let until = Instant::now() + limit;
    let (program, args) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let out = child.stdout.take().map(listen);
    let err = child.stderr.take().map(listen);
    let (done, ended) = mpsc::channel();
    let pid = child.id();
    // The kernel tells of a child's end only to who waits for it.
    let waiter = thread::spawn(move || {
        let status = child.wait();
        let _ = done.send(status.ok().map(code));
    });
    let left = until.saturating_duration_since(Instant::now());
    let code = ended.recv_timeout(left).ok().flatten();
    if code.is_none() {
        end(pid);
    }
    let _ = waiter.join();
    // What it left running may hold the pipes open for ever.
    let patience = Duration::from_millis(500);
    let hear = |said: Option<mpsc::Receiver<Vec<u8>>>| {
        let bytes = said.and_then(|said| said.recv_timeout(patience).ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Said { code, out: hear(out), err: hear(err) })
}

fn code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn listen(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let _ = pipe.by_ref().take(MOST).read_to_end(&mut said);
        let _ = sender.send(said);
        // The rest is heard and forgotten, so that nobody is held up by a full pipe.
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
    receiver
}

fn end(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, millis: u64) -> Said {
        run(&["sh", "-c", script], Path::new("/"), &[("X", "1")], Duration::from_millis(millis))
            .unwrap()
    }

    #[test]
    fn what_becomes_of_a_program() {
        let said = sh("echo $X; echo no >&2; exit 3", 20_000);
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(3), "1\n", "no\n"));
        assert_eq!(said.complaint(), "no");
        assert!(sh("sleep 100", 50).complaint().starts_with("it took too long"));
        assert!(sh("sleep 3 & true", 20_000).is_fine(), "what it leaves behind is not waited for");
        assert_eq!(sh("kill -9 $$", 20_000).code, Some(137));
    }
}
