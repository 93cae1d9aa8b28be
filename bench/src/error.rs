use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot {action}: {source}")]
    Io { action: String, source: io::Error },
    #[error("there is no dogwatch at {}; build it: cargo build --release -p dogwatch", path.display())]
    NoDogwatch { path: PathBuf },
    #[error("`{command}` failed ({status}): {said}")]
    Failed { command: String, status: String, said: String },
    #[error("`{command}` was not done after {} s", after.as_secs())]
    TooLong { command: String, after: Duration },
    /// The figures of a command that does not work correctly are worthless.
    #[error("{what}: {found}")]
    Wrong { what: &'static str, found: String },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Tmux(#[from] dogwatch_tmux::Error),
    #[error(transparent)]
    Store(#[from] dogwatch_store::StoreError),
}

impl Error {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { action: action.into(), source }
    }
}
