//! Processes as the kernel shows them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::env::eventually;

/// Whether a process lives; a zombie does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    // Without `/proc` a zombie counts as alive; the tests only wait longer then.
    if !Path::new("/proc/self/stat").exists() {
        return Pid::from_raw(pid).is_some_and(|p| rustix::process::test_kill_process(p).is_ok());
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a pid");
    kill_process(pid, signal).expect("the process is there and ours");
}

pub(crate) fn wait_gone(pid: i32) {
    eventually(&format!("process {pid} is gone"), || !is_alive(pid));
}

/// Waits for a process to write its pid down.
pub(crate) fn pid_in(file: &Path) -> i32 {
    let read = || fs::read_to_string(file).ok()?.trim().parse().ok();
    eventually(&format!("a pid in {}", file.display()), || read().is_some());
    read().expect("it was there a moment ago")
}

/// Pids of all processes that have `text` in their environment, command line or working folder.
pub(crate) fn carrying(text: &str) -> Vec<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let has = |path: String| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    };
    let in_folder = |pid: i32| {
        fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|cwd| cwd.to_string_lossy().contains(text))
    };
    pids()
        .filter(|&pid| pid != me && is_alive(pid))
        .filter(|&pid| {
            has(format!("/proc/{pid}/environ"))
                || has(format!("/proc/{pid}/cmdline"))
                || in_folder(pid)
        })
        .collect()
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(crate) fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
