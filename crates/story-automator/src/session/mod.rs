//! Sessions of stories: started, read, awaited and ended with the same engine as all others.
//!
//! | module | does |
//! | --- | --- |
//! | [`agent`] | chooses the agent |
//! | [`spawn`](mod@spawn) | starts the session of a step |
//! | [`list`] | the sessions and their projects |
//! | [`look`](mod@look) | one session as six columns |
//! | [`output`] | saves its output |
//! | [`heartbeat`] | its process and processor use |
//! | [`monitor`] | waits until it is over |
//! | [`kill`](mod@kill) | ends it |
//! | [`remains`] | files that the original helper left behind |

pub mod agent;
pub mod heartbeat;
pub mod kill;
pub mod list;
pub mod look;
pub mod monitor;
pub mod output;
mod polls;
mod remains;
pub mod spawn;

use std::path::PathBuf;

use dogwatch_bmad::format::slug;

/// `SA_TMUX_RUNTIME`: how sessions are started, and by which rules they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runtime {
    /// As each session was started.
    #[default]
    Auto,
    Runner,
    /// Typed into a shell, and read from the screen.
    Legacy,
}

impl Runtime {
    pub fn of(word: Option<&str>) -> Self {
        match word.map(str::trim).map(str::to_lowercase).as_deref() {
            Some("runner") => Self::Runner,
            Some("legacy") => Self::Legacy,
            _ => Self::Auto,
        }
    }
}

/// The context of a call.
#[derive(Debug, Clone)]
pub struct Place {
    /// Absolute, with links resolved.
    pub project: PathBuf,
    pub runtime: Runtime,
    /// The directory of the original helper's files.
    pub temp: PathBuf,
}

impl Place {
    /// The hash of the project.
    pub fn hash(&self) -> String {
        slug::short_hash(self.project.to_string_lossy().as_bytes())
    }
}
