use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::launch;
use dogwatch_core::record::ProcessIdent;
use rustix::process::{Pid, Signal, kill_process};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

use crate::observe::process_table::Census;

/// More than anybody reads of what a small program prints.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;

/// The process that has this pid now, with its start time; `None` if there is none.
pub fn identify(pid: i32) -> Option<ProcessIdent> {
    start_time(pid).map(|start| ProcessIdent { pid, start })
}

/// Ourselves.
pub fn myself() -> Result<ProcessIdent, crate::Error> {
    let pid = i32::try_from(std::process::id()).unwrap_or(0);
    let gone = || std::io::Error::other("the kernel does not list our own process");
    identify(pid).ok_or_else(|| crate::Error::io("read our own process id")(gone()))
}

/// Whether this very process still lives. A zombie does not.
pub fn is_alive(ident: ProcessIdent) -> bool {
    start_time(ident.pid) == Some(ident.start)
}

/// Whether this very process is ending, or has ended. Of a process that is killed, the kernel says so before it closes the first file.
#[cfg(target_os = "linux")]
pub fn is_leaving(ident: ProcessIdent) -> bool {
    /// `PF_EXITING`, in the ninth field.
    const EXITING: u64 = 4;
    let flags = || {
        let stat = crate::observe::proc_files::read(ident.pid, "stat")?;
        let after_name = stat.iter().rposition(|b| *b == b')')? + 2;
        let mut fields = std::str::from_utf8(stat.get(after_name..)?).ok()?.split(' ');
        fields.nth(6)?.parse::<u64>().ok()
    };
    !is_alive(ident) || flags().is_none_or(|flags| flags & EXITING != 0)
}

#[cfg(not(target_os = "linux"))]
pub fn is_leaving(ident: ProcessIdent) -> bool {
    !is_alive(ident)
}

/// When the process with this pid started, in seconds, as far as clocks that are set and machines that sleep allow; `None` if there is
/// none.
pub fn started_at(pid: i32) -> Option<i64> {
    let wanted = sysinfo::Pid::from_u32(u32::try_from(pid).ok()?);
    start_time(pid)?;
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[wanted]),
        true,
        ProcessRefreshKind::nothing().without_tasks(),
    );
    i64::try_from(system.process(wanted)?.start_time()).ok()
}

/// Field 22 of `/proc/PID/stat`, the same that claude writes into its state file as `procStart`.
#[cfg(target_os = "linux")]
fn start_time(pid: i32) -> Option<u64> {
    let stat = crate::observe::proc_files::read(pid, "stat")?;
    // The second field is the program's name in parentheses, and may itself contain anything.
    let after_name = stat.iter().rposition(|b| *b == b')')? + 2;
    let fields: Vec<&[u8]> = stat.get(after_name..)?.split(|b| *b == b' ').collect();
    if fields.first() == Some(&&b"Z"[..]) {
        return None;
    }
    std::str::from_utf8(fields.get(19)?).ok()?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: i32) -> Option<u64> {
    let pid = sysinfo::Pid::from_u32(u32::try_from(pid).ok()?);
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing().without_tasks(),
    );
    let process = system.process(pid)?;
    (process.status() != sysinfo::ProcessStatus::Zombie).then(|| process.start_time())
}

/// Values of environment variables of a process, as it was started with them.
#[cfg(target_os = "linux")]
pub fn variables<const N: usize>(pid: i32, names: [&str; N]) -> [Option<PathBuf>; N] {
    let environ = crate::observe::proc_files::read(pid, "environ").unwrap_or_default();
    names.map(|name| {
        let value = |pair: &[u8]| {
            let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            (!value.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(value)))
        };
        environ.split(|byte| *byte == 0).find_map(value)
    })
}

#[cfg(not(target_os = "linux"))]
pub fn variables<const N: usize>(_: i32, names: [&str; N]) -> [Option<PathBuf>; N] {
    names.map(|_| None)
}

/// The process that started this one, or adopted it: 0 or 1 at the end of a line, `None` of a process that is gone.
#[cfg(target_os = "linux")]
pub fn parent(pid: i32) -> Option<i32> {
    let stat = crate::observe::proc_files::read(pid, "stat")?;
    let after_name = stat.iter().rposition(|b| *b == b')')? + 2;
    std::str::from_utf8(stat.get(after_name..)?).ok()?.split(' ').nth(1)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub fn parent(pid: i32) -> Option<i32> {
    let pid = sysinfo::Pid::from_u32(u32::try_from(pid).ok()?);
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing().without_tasks(),
    );
    let parent = system.process(pid)?.parent();
    parent.map_or(Some(0), |parent| i32::try_from(parent.as_u32()).ok())
}

/// The words that a process was started with.
#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: i32) -> Vec<String> {
    let Some(pid) = u32::try_from(pid).ok().map(sysinfo::Pid::from_u32) else { return Vec::new() };
    let Ok(mut system) = System::new() else { return Vec::new() };
    let words = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always).without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, words);
    let words = system.process(pid).map(sysinfo::Process::cmd).unwrap_or_default();
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Whether both processes run as the same user. Where that is not known (without `/proc`), they do not.
pub fn have_same_user(one: i32, other: i32) -> bool {
    let user = |pid: i32| {
        let found = fs::metadata(format!("/proc/{pid}")).logged_unless_missing("find a process")?;
        Some(found.uid())
    };
    user(one).is_some_and(|uid| user(other) == Some(uid))
}

/// The environment of a process, as it was started with it; empty if it cannot be read.
pub fn environment(pid: i32) -> Vec<(String, String)> {
    let Some(pid) = u32::try_from(pid).ok().map(sysinfo::Pid::from_u32) else { return Vec::new() };
    let Ok(mut system) = System::new() else { return Vec::new() };
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing().with_environ(UpdateKind::Always).without_tasks(),
    );
    let pairs = system.process(pid).map(sysinfo::Process::environ).unwrap_or_default();
    let pair = |pair: &std::ffi::OsString| {
        let (key, value) = launch::split_pair(pair)?;
        Some((key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
    };
    pairs.iter().filter_map(pair).collect()
}

/// What the kernel says of a living process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulse {
    /// By Ctrl-Z or SIGSTOP.
    pub stopped: bool,
    /// Processor time used so far, in the kernel's own unit; only for comparing.
    pub used: u64,
}

#[cfg(target_os = "linux")]
pub fn pulse(pid: i32) -> Option<Pulse> {
    let stat = crate::observe::proc_files::read(pid, "stat")?;
    let after_name = stat.iter().rposition(|b| *b == b')')? + 2;
    let mut fields = std::str::from_utf8(stat.get(after_name..)?).ok()?.split(' ');
    let stopped = fields.next() == Some("T");
    let ticks = fields.skip(10).take(4).map(|ticks| ticks.parse::<u64>().unwrap_or(0));
    Some(Pulse { stopped, used: ticks.sum() })
}

#[cfg(not(target_os = "linux"))]
pub fn pulse(_: i32) -> Option<Pulse> {
    None
}

/// Pids of everything a session started and that still lives; never the runner, never ourselves.
pub fn family_of(session: &str, runner: Option<i32>) -> Vec<i32> {
    Census::take().family_of(session, runner)
}

/// What a program prints within a time; `None` if it cannot be run. One that takes longer is killed, with what it
/// started in its process group, and what it printed so far counts.
pub fn output_within(mut command: Command, input: &[u8], at_most: Duration) -> Option<Vec<u8>> {
    dogwatch_base::program::withhold_secrets(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().logged("start a thread or a program")?;
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let input = input.to_vec();
    // Both ends in threads of their own: neither a program that does not read nor one whose children keep its
    // output open may hold us up.
    let feed = Builder::new().spawn(move || drop(stdin.write_all(&input)));
    let (sender, printed) = mpsc::channel();
    let read = Builder::new().spawn(move || {
        let mut part = [0; 4096];
        while let Ok(length @ 1..) = stdout.read(&mut part) {
            if sender.send(part[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    if feed.is_err() || read.is_err() {
        end(&mut child, group);
        return None;
    }
    let deadline = Instant::now() + at_most;
    let mut output = Vec::new();
    while let Ok(part) = printed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        output.extend(part);
        if output.len() > MOST_OUTPUT {
            break;
        }
    }
    end(&mut child, group);
    Some(output)
}

/// Kills a child with its process group, and collects it.
fn end(child: &mut Child, group: Option<Pid>) {
    if let Some(group) = group {
        rustix::process::kill_process_group(group, Signal::KILL).logged("signal a process group");
    }
    child.wait().logged("wait for a process");
}

/// Sends a signal; a process that is gone already is no error.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        kill_process(pid, signal).logged("signal a process");
    }
}

pub fn signal_all(pids: &[i32], with: Signal) {
    for pid in pids {
        signal(*pid, with);
    }
}

/// What can be waited for: the end of this very process.
#[cfg(target_os = "linux")]
pub fn handle(ident: ProcessIdent) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    let handle = Pid::from_raw(ident.pid)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).logged("watch a process"));
    // Asked after the handle is held, so that a reused pid cannot be waited for by mistake.
    handle.filter(|_| is_alive(ident))
}

#[cfg(not(target_os = "linux"))]
pub fn handle(_: ProcessIdent) -> Option<OwnedFd> {
    None
}

/// Waits until one of these has ended, at most so long.
pub fn wait_any<'f>(handles: impl Iterator<Item = &'f OwnedFd>, at_most: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds: Vec<PollFd<'_>> =
        handles.map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
    poll(&mut fds, Timespec::try_from(at_most).ok().as_ref()).logged("wait for news");
}

/// Waits until a process is gone, at most so long; true if it is.
#[cfg(target_os = "linux")]
pub fn wait_gone(ident: ProcessIdent, at_most: Duration) -> bool {
    let Some(handle) = handle(ident) else { return !is_alive(ident) };
    wait_any(std::iter::once(&handle), at_most);
    !is_alive(ident)
}

/// Waits until a process is gone, at most so long; true if it is.
#[cfg(not(target_os = "linux"))]
pub fn wait_gone(ident: ProcessIdent, at_most: Duration) -> bool {
    let deadline = std::time::Instant::now() + at_most;
    while is_alive(ident) && std::time::Instant::now() < deadline {
        // sleep: there is no pidfd here, and a kqueue needs `unsafe`: a look every 10 ms costs nothing.
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_alive(ident)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::process_tree;

    #[test]
    fn identity_and_end_of_a_process() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let ident = identify(pid).unwrap();
        assert!(is_alive(ident));
        assert!(!is_alive(ProcessIdent { start: ident.start + 1, ..ident }), "a reused pid");
        assert!(!wait_gone(ident, Duration::from_millis(20)));
        signal(pid, Signal::KILL);
        assert!(wait_gone(ident, Duration::from_secs(5)));
        child.wait().unwrap();
        assert_eq!(identify(pid), None);
    }

    #[test]
    fn output_of_programs_that_take_their_time() {
        let run = |script: &str, ms| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            output_within(command, b"in", Duration::from_millis(ms)).map(String::from_utf8)
        };
        assert_eq!(run("cat; echo out", 5000), Some(Ok("inout\n".into())));
        let begun = Instant::now();
        assert_eq!(run("echo early; sleep 60 & sleep 60", 200), Some(Ok("early\n".into())));
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(output_within(Command::new("/no/such"), b"", Duration::from_secs(1)), None);
    }

    #[test]
    fn a_family_is_found_by_its_tag() {
        let tag = format!("test-{}", std::process::id());
        let mut child =
            Command::new("sleep").arg("60").env(process_tree::TAG, &tag).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Its environment is that of before until it has executed its program.
        dogwatch_testkit::eventually("it is found", || family_of(&tag, None) == [pid]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family_of(&tag, None).is_empty());
    }
}
