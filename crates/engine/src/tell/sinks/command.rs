use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_core::notice::Notice;
use rustix::process::{Pid, Signal, kill_process_group};

use super::Sink;

/// How much of what a command complains of is passed on.
const COMPLAINT: u64 = 2_000;

/// A program of the user's, with the notice as JSON on its standard input.
pub(super) struct Command {
    pub(super) words: Vec<String>,
}

impl Sink for Command {
    fn name(&self) -> String {
        format!("command {}", self.words.first().map_or("", String::as_str))
    }

    fn tell(&self, notice: &Notice, limit: Duration) -> Result<(), String> {
        let json = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
        let occasion = [("DOGWATCH_OCCASION", notice.occasion.word())];
        run(&self.words, &occasion, &json, limit)
    }
}

/// Runs a program without a shell, and ends it with all that it started if it takes too long.
pub(super) fn run(
    words: &[String],
    env: &[(&str, &str)],
    input: &[u8],
    limit: Duration,
) -> Result<(), String> {
    let until = Instant::now() + limit;
    let (program, args) = words.split_first().ok_or("no program is named")?;
    let mut child = process::Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let complaint = listen(&mut child);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program need not read its input, and then the pipe would be full for ever.
        thread::spawn(move || stdin.write_all(&input));
    }
    let status = wait(&mut child, until).ok_or_else(|| {
        end(&mut child);
        format!("it took longer than {} s and was ended", limit.as_secs())
    })?;
    if status.success() {
        return Ok(());
    }
    // What it left running may hold the pipe open.
    let said = complaint.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
    let last = said.trim().lines().next_back().unwrap_or_default();
    let gap = if last.is_empty() { "" } else { ": " };
    Err(format!("{status}{gap}{last}"))
}

fn listen(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.take(COMPLAINT).read_to_end(&mut said);
            sender.send(String::from_utf8_lossy(&said).into_owned())
        });
    }
    receiver
}

/// The program's end, which the kernel tells only to who waits for it, so it is looked for.
fn wait(child: &mut Child, until: Instant) -> Option<process::ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], seconds: u64) -> Result<(), String> {
        let words = ["sh", "-c", script].map(ToOwned::to_owned);
        run(&words, &[("X", "1")], input, Duration::from_secs(seconds))
    }

    #[test]
    fn what_becomes_of_a_program() {
        let large = vec![b'x'; 1 << 20];
        assert_eq!(sh("test \"$(wc -c)\" -eq 1048576 && test $X = 1", &large, 20), Ok(()));
        assert_eq!(sh("exit 0", &large, 20), Ok(()), "it need not read");
        let failed = sh("echo first >&2; echo why >&2; exit 3", b"", 20).unwrap_err();
        assert!(failed.contains('3') && failed.ends_with(": why"), "{failed}");
        let missing = run(&["/no/such".into()], &[], b"", Duration::from_secs(1)).unwrap_err();
        assert!(missing.starts_with("/no/such cannot be started"), "{missing}");
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_its_children() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("pid");
        let begun = Instant::now();
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        let failed = sh(&script, b"", 1).unwrap_err();
        assert!(failed.contains("longer than 1 s"), "{failed}");
        assert!(begun.elapsed() < Duration::from_secs(30));
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let is_there = || crate::sense::processes::pulse(pid).is_some();
        while is_there() {
            assert!(begun.elapsed() < Duration::from_secs(30), "its child lives on");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
