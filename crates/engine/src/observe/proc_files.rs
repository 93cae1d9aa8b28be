//! What the kernel tells of a process in `/proc`. Elsewhere nothing is known, and nobody is found by it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::launch;
use dogwatch_core::record::ProcessIdent;
use jiff::{SignedDuration, Timestamp};

/// A command line has two megabytes at most, unless a user has raised that.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// One of the kernel's files on a process. Their length is not known before, and asking for it takes as long as reading.
pub fn read(pid: i32, name: &str) -> Option<Vec<u8>> {
    read_kernel(Path::new(&format!("/proc/{pid}/{name}")))
}

pub(super) fn read_kernel(path: &Path) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).logged_unless_missing("open a file")?;
    let mut bytes = vec![0; 8 * 1024];
    let mut read = 0;
    loop {
        match file.read(&mut bytes[read..]).ok()? {
            0 => break,
            count => read += count,
        }
        if read >= MOST_BYTES {
            break;
        }
        if read == bytes.len() {
            bytes.resize(2 * read, 0);
        }
    }
    bytes.truncate(read);
    Some(bytes)
}

/// The leader of the job in the foreground of a process's terminal.
pub fn foreground(pid: i32) -> Option<i32> {
    stat_number(pid, 5).filter(|group| *group > 0)
}

/// The job that a process belongs to, by its leader.
pub fn group(pid: i32) -> Option<i32> {
    stat_number(pid, 2)
}

/// A field of the kernel's line on a process, counted from its state.
fn stat_number(pid: i32, field: usize) -> Option<i32> {
    let stat = String::from_utf8(read(pid, "stat")?).ok()?;
    stat[stat.rfind(')')? + 2..].split(' ').nth(field)?.parse().ok()
}

/// The words of a process's command line, as far as they are text.
pub fn command_line(pid: i32) -> Vec<String> {
    let bytes = read(pid, "cmdline").unwrap_or_default();
    let words = launch::from_nul_separated(&bytes);
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Processes that a process has started and that still live.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| read_kernel(&task.path().join("children")));
    let numbers = |text: Vec<u8>| {
        String::from_utf8_lossy(&text)
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect::<Vec<_>>()
    };
    listed.flat_map(numbers).collect()
}

/// The folder that a process works in.
pub fn folder(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).logged_unless_missing("read a link")
}

/// The terminal that a process was started on.
pub fn terminal(pid: i32) -> Option<PathBuf> {
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).logged_unless_missing("read a link")?;
    input.starts_with("/dev/pts").then_some(input)
}

/// How long ago a process was started.
pub fn age(process: ProcessIdent) -> Option<Duration> {
    let uptime = String::from_utf8(read_kernel(Path::new("/proc/uptime"))?).ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    let started = Duration::from_millis(process.start * 1000 / u64::from(per_second));
    Duration::try_from_secs_f64(uptime).ok()?.checked_sub(started)
}

/// When a process was started.
pub fn began(process: ProcessIdent) -> Option<Timestamp> {
    let age = age(process).and_then(|age| SignedDuration::try_from(age).ok())?;
    Timestamp::now().checked_sub(age).ok()
}

/// All processes there are, by their pids.
pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A regular file that a process holds open, by what its path ends in.
pub fn open_file(pid: i32, ending: &str) -> Option<PathBuf> {
    let handles =
        fs::read_dir(format!("/proc/{pid}/fd")).logged_unless_missing("list a folder")?.flatten();
    let paths = handles
        .filter_map(|handle| fs::read_link(handle.path()).logged_unless_missing("read a link"));
    paths.filter(|path| is_named(path, ending)).max()
}

fn is_named(path: &Path, ending: &str) -> bool {
    path.is_absolute() && path.to_string_lossy().ends_with(ending)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::observe::processes;

    #[test]
    fn of_ourselves() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(!command_line(me).is_empty());
        assert_eq!(folder(me), std::env::current_dir().ok());
        assert!(age(processes::identify(me).unwrap()).unwrap() < Duration::from_hours(1));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(me).contains(&i32::try_from(child.id()).unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
        let tmp = tempfile::NamedTempFile::with_suffix(".held").unwrap();
        assert_eq!(open_file(me, ".held").as_deref(), Some(tmp.path()));
    }

    #[test]
    fn of_nobody() {
        assert_eq!((foreground(-7), terminal(-7), folder(-7)), (None, None, None));
        assert!(children(-7).is_empty() && command_line(-7).is_empty());
    }
}
