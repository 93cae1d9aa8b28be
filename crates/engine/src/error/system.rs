use std::io;
use std::path::PathBuf;

use super::kind::{INTERNAL, codes};

/// Failures of the system, and bugs in dogwatch. Never reported as wrong usage.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    #[error("failed to {action}: {source}")]
    Io { action: String, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    NotRead { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    NotWritten { path: PathBuf, source: io::Error },
    #[error("{} was not written by dogwatch; it was not changed", path.display())]
    NotOurFile { path: PathBuf },
    #[error("{} was changed since dogwatch wrote it; it was not changed", path.display())]
    SkillChanged { path: PathBuf },
    #[error("cannot write {what} as JSON: {source}")]
    NotSerialized { what: &'static str, source: serde_json::Error },
    #[error("the supervisor (pid {pid}) did not end within {patience} s")]
    SupervisorHangs { pid: i32, patience: u64 },
    #[error("the supervisor did not start")]
    NoSupervisor,
}

codes! { SystemError:
    Self::Io { .. } | Self::NotRead { .. } | Self::NotWritten { .. } => Failed "io";
    Self::NotOurFile { .. } => Conflict "not_our_file";
    Self::SkillChanged { .. } => Conflict "skill_changed";
    Self::NotSerialized { .. } => Internal INTERNAL;
    Self::SupervisorHangs { .. } => Timeout "supervisor_hangs";
    Self::NoSupervisor => Failed "no_supervisor";
}

impl SystemError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } if is_at_limit(source) => Some(LIMIT.to_owned()),
            Self::NotOurFile { .. } => Some("move it away first".to_owned()),
            Self::SkillChanged { .. } => {
                Some("move it away, or remove it by hand; then run this again".to_owned())
            }
            Self::SupervisorHangs { pid, .. } => {
                Some(format!("end it with `kill -9 {pid}`; the next one goes on where it was"))
            }
            Self::NoSupervisor => Some("`dogwatch doctor` checks the installation".to_owned()),
            _ => None,
        }
    }
}

const LIMIT: &str = "the process limit is reached, so no process or thread can start; end some processes or raise the limit (`ulimit -u` shows it)";

/// No processes or threads are left; the kernel says "Resource temporarily unavailable".
fn is_at_limit(source: &io::Error) -> bool {
    source.kind() == io::ErrorKind::WouldBlock
}

/// The hint for tmux errors; a tmux process that could not be started may also mean that no processes are left.
pub(super) fn tmux_hint(error: &dogwatch_tmux::Error) -> Option<String> {
    match error {
        dogwatch_tmux::Error::Io { source, .. } if is_at_limit(source) => Some(LIMIT.to_owned()),
        error => error.hint().map(ToOwned::to_owned),
    }
}
