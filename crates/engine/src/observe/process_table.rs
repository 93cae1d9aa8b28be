//! All processes at one moment, and whose they are. A look at them costs milliseconds, so one serves many sessions.

use std::collections::HashSet;

use dogwatch_core::process_tree::{self, Process};

/// All processes, as they were when it was taken.
#[derive(Debug)]
pub struct Census {
    all: Vec<Process>,
    /// Sessions that have processes among them.
    tags: HashSet<String>,
}

impl Census {
    pub fn take() -> Self {
        let all = system::all();
        let tags = all.iter().filter_map(|process| process.tag.clone()).collect();
        Self { all, tags }
    }

    /// Pids of everything a session started and that lived then; never the runner, never ourselves.
    pub fn family_of(&self, session: &str, runner: Option<i32>) -> Vec<i32> {
        if runner.is_none() && !self.tags.contains(session) {
            return Vec::new();
        }
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        process_tree::members(&self.all, session, runner, &[me])
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use dogwatch_core::process_tree::{self, Process};

    use crate::observe::proc_files;

    /// Two files of each process, and no more: a quarter of the time that reading all that is known of them takes.
    pub(super) fn all() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(process).collect()
    }

    /// `None` for a zombie, or one that is gone by now.
    fn process(pid: i32) -> Option<Process> {
        let stat = proc_files::read(pid, "stat")?;
        // The program's name is in parentheses, and may itself contain anything.
        let (open, close) = (position(&stat, b'(')?, stat.iter().rposition(|b| *b == b')')?);
        let mut fields = std::str::from_utf8(stat.get(close + 2..)?).ok()?.split(' ');
        if fields.next()? == "Z" {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let is_tmux = stat.get(open + 1..close)?.starts_with(b"tmux");
        // Of processes of other users it cannot be read; none of those is of a session of ours.
        let environ = proc_files::read(pid, "environ").unwrap_or_default();
        Some(Process { pid, parent, tag: tag(&environ), is_tmux })
    }

    fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
        bytes.iter().position(|byte| *byte == wanted)
    }

    fn tag(environ: &[u8]) -> Option<String> {
        let value = |pair: &[u8]| {
            let value = pair.strip_prefix(process_tree::TAG.as_bytes())?.strip_prefix(b"=")?;
            (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned())
        };
        environ.split(|byte| *byte == 0).find_map(value)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use dogwatch_core::process_tree::{self, Process};
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

    pub(super) fn all() -> Vec<Process> {
        let Ok(mut system) = System::new() else { return Vec::new() };
        system.refresh_processes_specifics(
            ProcessesToUpdate::All,
            true,
            ProcessRefreshKind::nothing().with_environ(UpdateKind::Always).without_tasks(),
        );
        let number = |pid: sysinfo::Pid| i32::try_from(pid.as_u32()).unwrap_or(0);
        system
            .processes()
            .values()
            .filter(|p| p.status() != sysinfo::ProcessStatus::Zombie)
            .map(|p| Process {
                pid: number(p.pid()),
                parent: p.parent().map_or(0, number),
                tag: p.environ().iter().find_map(|pair| {
                    let pair = pair.to_string_lossy();
                    let value = pair.strip_prefix(process_tree::TAG)?.strip_prefix('=')?;
                    (!value.is_empty()).then(|| value.to_owned())
                }),
                is_tmux: p.name().to_string_lossy().starts_with("tmux"),
            })
            .collect()
    }
}
