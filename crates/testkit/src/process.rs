//! Processes as the kernel reports them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually;

/// Whether a process is alive; a zombie is not.
pub fn is_alive(pid: i32) -> bool {
    // Without `/proc` a zombie counts as alive; tests then only wait longer.
    if !Path::new("/proc/self/stat").exists() {
        return Pid::from_raw(pid).is_some_and(|p| rustix::process::test_kill_process(p).is_ok());
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Sends a signal to a process that must exist.
#[track_caller]
pub fn signal(pid: i32, signal: Signal) {
    assert!(try_signal(pid, signal), "process {pid} is not there, or not ours");
}

/// Whether the signal was sent; the process may have ended by now.
pub fn try_signal(pid: i32, signal: Signal) -> bool {
    pid > 1 && Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

#[track_caller]
pub fn wait_gone(pid: i32) {
    eventually(&format!("process {pid} is gone"), || !is_alive(pid));
}

/// Waits for a process to write its pid to a file.
#[track_caller]
pub fn pid_in(file: &Path) -> i32 {
    let read = || fs::read_to_string(file).ok()?.trim().parse().ok();
    crate::wait_until(&format!("a pid in {}", file.display()), read)
}

pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub fn environment(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

pub fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

pub fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

pub fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Live processes, except this one, with `text` in their environment, command line or working directory.
pub fn carrying(text: &str) -> Vec<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let in_folder = |pid: i32| {
        fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|cwd| cwd.to_string_lossy().contains(text))
    };
    let mut found = pids();
    found.retain(|&pid| {
        pid != me
            && is_alive(pid)
            && (contains(&environment(pid), text)
                || command_line(pid).contains(text)
                || in_folder(pid))
    });
    found
}

/// Resident memory in KiB, and the number of open files.
pub fn weight(pid: i32) -> Option<(u64, usize)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let memory = line.split_whitespace().next()?.parse().ok()?;
    Some((memory, fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count()))
}

pub fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The child processes of a process.
pub fn children(of: i32) -> Vec<i32> {
    pids().into_iter().filter(|&pid| parent(pid) == Some(of)).collect()
}

/// What a process is blocked on, to report one that hangs.
pub fn where_it_is(pid: i32) -> String {
    let read = |file: &str| {
        fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default().trim().to_owned()
    };
    let below: Vec<String> = children(pid).iter().map(|&child| command_line(child)).collect();
    format!("wchan {}, syscall {}, children {below:?}", read("wchan"), read("syscall"))
}
