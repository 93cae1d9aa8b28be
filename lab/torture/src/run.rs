//! A command with a deadline, perhaps killed halfway.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dogwatch_testkit::process;
use rustix::process::Signal;
use serde_json::Value;

/// Far beyond what a command takes on a busy machine: after it the command hangs.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// We killed it.
    pub(crate) cut: bool,
    pub(crate) hung: Option<String>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    pub(crate) fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Its error message: with `--json` it is on standard output.
    pub(crate) fn words(&self) -> String {
        let error = &self.json()["error"];
        let error_text = if error.is_object() { error.to_string() } else { String::new() };
        format!("{error_text} {}", self.stderr.trim()).trim().to_owned()
    }

    /// What no fault excuses: a hang, a panic, an abort, or an undocumented exit code.
    pub(crate) fn misbehaved(&self) -> Option<String> {
        if let Some(place) = &self.hung {
            return Some(format!("hung for {} s: {place}", DEADLINE.as_secs()));
        }
        if self.stderr.contains("panicked at") {
            return Some(format!("panicked: {}", self.stderr));
        }
        match self.code {
            None if !self.cut => Some(format!("was ended by a signal: {}", self.stderr)),
            Some(code) if !matches!(code, 0..=7 | 124) => {
                Some(format!("exit code {code} is not documented: {}", self.stderr))
            }
            _ => None,
        }
    }
}

/// Our own short commands in progress, as targets of faults.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    pids: Mutex<Vec<i32>>,
    count: AtomicU64,
}

impl UnderWay {
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.pids.lock().map(|pids| pids.clone()).unwrap_or_default()
    }

    pub(crate) fn run(&self, mut command: Command, logs: &Path, cut: Option<Duration>) -> Ended {
        // Files, not pipes: processes that outlive the command must not keep us waiting.
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (logs.join(format!("{number}.out")), logs.join(format!("{number}.err")));
        let begun = Instant::now();
        let started = File::create(&out).and_then(|stdout| {
            let stderr = File::create(&err)?;
            command.stdout(stdout).stderr(stderr).spawn()
        });
        let mut ended = match started {
            Ok(child) => self.follow(child, begun, cut),
            Err(error) => failed(format!("failed to start: {error}")),
        };
        ended.stdout = String::from_utf8_lossy(&fs::read(&out).unwrap_or_default()).into_owned();
        ended.stderr += &String::from_utf8_lossy(&fs::read(&err).unwrap_or_default());
        let _ = (fs::remove_file(out), fs::remove_file(err));
        ended
    }

    fn follow(&self, mut child: Child, begun: Instant, cut: Option<Duration>) -> Ended {
        let pid = i32::try_from(child.id()).unwrap_or(0);
        if let Ok(mut pids) = self.pids.lock() {
            pids.push(pid);
        }
        let mut ended = failed(String::new());
        if let Some(cut) = cut {
            // sleep: the time of the kill, by the plan.
            std::thread::sleep(cut.saturating_sub(begun.elapsed()));
            ended.cut =
                matches!(child.try_wait(), Ok(None)) && process::try_signal(pid, Signal::KILL);
        }
        loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    ended.code = status.code();
                    // It may have ended at the same moment.
                    ended.cut &= status.signal() == Some(9);
                    break;
                }
                Ok(None) if begun.elapsed() > DEADLINE => {
                    ended.hung = Some(process::where_it_is(pid));
                    process::try_signal(pid, Signal::KILL);
                    let _ = child.wait();
                    break;
                }
                // sleep: poll interval.
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => {
                    ended.stderr = format!("could not be waited for: {error}");
                    break;
                }
            }
        }
        ended.took = begun.elapsed();
        if let Ok(mut pids) = self.pids.lock() {
            pids.retain(|one| *one != pid);
        }
        ended
    }
}

fn failed(stderr: String) -> Ended {
    Ended {
        code: None,
        cut: false,
        hung: None,
        stdout: String::new(),
        stderr,
        took: Duration::ZERO,
    }
}

/// For long-running processes: output to files.
pub(crate) fn start(mut command: Command, out: &Path, err: &Path) -> std::io::Result<Child> {
    let open = |path: &Path| File::options().create(true).append(true).open(path);
    command.stdin(Stdio::null()).stdout(open(out)?).stderr(open(err)?).spawn()
}
