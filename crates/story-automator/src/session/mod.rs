//! Sessions of stories, as edges: started, looked at, waited for and ended by the same means as all others.
//!
//! | module | does |
//! | --- | --- |
//! | [`agent`] | finds out which agent is meant |
//! | [`spawn`](mod@spawn) | starts the session of a step |
//! | [`list`] | which sessions there are, and whose |
//! | [`look`](mod@look) | tells one in six columns |
//! | [`output`] | keeps what it showed |
//! | [`heartbeat`] | its process, and what that uses |
//! | [`monitor`] | waits until it is over |
//! | [`kill`](mod@kill) | ends it |
//! | [`remains`] | what the original helper has left behind |

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

/// `SA_TMUX_RUNTIME`: how sessions are started, and by which rules they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runtime {
    /// As each session was started.
    #[default]
    Auto,
    Runner,
    /// Typed into a shell, and judged by the screen.
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

/// Where calls come from.
#[derive(Debug, Clone)]
pub struct Place {
    /// Absolute, with links resolved.
    pub project: PathBuf,
    pub runtime: Runtime,
    /// Where the original helper has its files.
    pub temp: PathBuf,
}

impl Place {
    /// The number that stands for the project.
    pub fn hash(&self) -> String {
        slug::short_hash(self.project.to_string_lossy().as_bytes())
    }
}
