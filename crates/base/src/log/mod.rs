//! The diagnostic log. Off unless `DOGWATCH_LOG` is set; while it is off, reading that variable is its only cost.

mod decision;
mod file;
mod ignored;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

pub use decision::decided;
use file::LogFile;
pub use ignored::{Logged, LoggedIo};

/// The log filter: `debug`, or `warn,dogwatch_engine=trace`.
pub const VARIABLE: &str = "DOGWATCH_LOG";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// For short commands that a person calls.
    Stderr,
    /// A directory, for long-running commands and those whose output another program reads.
    Folder(PathBuf),
}

/// The log filter, if logging is on.
pub fn wanted() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|level| !level.is_empty())
}

/// Starts logging; call it once in a process.
pub fn start(wanted: &OsStr, place: Place) {
    let wanted = wanted.to_string_lossy();
    let (filter, problem) = match wanted.parse::<Targets>() {
        Ok(filter) => (filter, None),
        Err(error) => (Targets::new().with_default(tracing::Level::DEBUG), Some(error)),
    };
    // No colours and no spans: one plain line per event.
    let lines = fmt::layer().with_ansi(false);
    let begun = match place {
        Place::Stderr => {
            let lines = lines.with_writer(std::io::stderr).with_filter(filter);
            registry().with(lines).try_init()
        }
        Place::Folder(folder) => {
            let lines = lines.with_writer(LogFile::new(&folder)).with_filter(filter);
            registry().with(lines).try_init()
        }
    };
    if let (Ok(()), Some(error)) = (begun, problem) {
        tracing::warn!("{VARIABLE}={wanted} is not a filter ({error}); logging at debug level");
    }
}
