//! A program of somebody else's, run without a shell and for a limited time.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How much of what a program says is listened to; the rest is passed over.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How long is listened to a program that has ended: what it left running may hold the pipe open.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// How a program ended, and what it said.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a program, and ends it with all that it started if it takes too long.
pub(super) fn run(
    words: &[String],
    env: &[(&str, &str)],
    input: &[u8],
    limit: Duration,
) -> Result<Ran, String> {
    let until = Instant::now() + limit;
    let (program, args) = words.split_first().ok_or("no program is named")?;
    let mut child = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let (stdout, stderr) = (listen(child.stdout.take()), listen(child.stderr.take()));
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program need not read its input, and then the pipe would be full for ever.
        thread::spawn(move || stdin.write_all(&input));
    }
    let Some(status) = wait(&mut child, until) else {
        end(&mut child);
        return Err(format!("it took longer than {} s and was ended", limit.as_secs()));
    };
    let said = |heard: Receiver<String>| heard.recv_timeout(AFTERWARDS).unwrap_or_default();
    Ok(Ran { status, stdout: said(stdout), stderr: said(stderr) })
}

fn listen(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stream.by_ref().take(MOST_BYTES).read_to_end(&mut said);
            let _ = sender.send(String::from_utf8_lossy(&said).into_owned());
            // So that it can go on talking.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
    }
    receiver
}

/// The program's end, which the kernel tells only to who waits for it, so it is looked for.
fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
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

    fn sh(script: &str, input: &[u8], seconds: u64) -> Result<Ran, String> {
        let words = ["sh", "-c", script].map(ToOwned::to_owned);
        run(&words, &[("X", "1")], input, Duration::from_secs(seconds))
    }

    #[test]
    fn what_becomes_of_a_program() {
        let large = vec![b'x'; 1 << 20];
        let read =
            sh("test \"$(wc -c)\" -eq 1048576 && test $X = 1 && echo yes", &large, 20).unwrap();
        assert!(read.status.success() && read.stdout == "yes\n", "{read:?}");
        assert!(sh("exit 0", &large, 20).unwrap().status.success(), "it need not read");
        let failed = sh("echo out; echo why >&2; exit 3", b"", 20).unwrap();
        assert_eq!((failed.status.code(), failed.stderr.as_str()), (Some(3), "why\n"));
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
