//! A log for whoever looks for a fault. Off unless `DOGWATCH_LOG` names a level: then nothing but that variable is looked at.

mod file;
mod ignored;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use file::LogFile;
pub use ignored::{Logged, LoggedIo};

/// Names what is logged: `debug`, or `warn,dogwatch_engine=trace`.
pub const VARIABLE: &str = "DOGWATCH_LOG";

/// Where the log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// For commands that people call and that end soon.
    Stderr,
    /// A folder, for those that go on, and for those whose output belongs to others.
    Folder(PathBuf),
}

/// What is to be logged, if anything.
pub fn wanted() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|level| !level.is_empty())
}

/// Begins to log, once for a process.
pub fn start(wanted: &OsStr, place: Place) {
    let wanted = wanted.to_string_lossy();
    let (filter, problem) = match wanted.parse::<Targets>() {
        Ok(filter) => (filter, None),
        Err(error) => (Targets::new().with_default(tracing::Level::DEBUG), Some(error)),
    };
    // Neither colours nor spans: a line an event, as it happened.
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
