//! What earlier polls of a session found, for those that only have a screen.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::decide::session::legacy::Polls;
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_bmad::format::slug;
use serde::{Deserialize, Serialize};

use dogwatch_engine::Context;

/// Larger than any such file.
const MAX_FILE: u64 = 64 * 1024;

/// File name prefix.
const FILE: &str = "looks-";

const OLD: Duration = Duration::from_hours(24);

/// Kept in the state directory, where no other user can write.
#[derive(Debug)]
pub(super) struct Remembered {
    path: Option<PathBuf>,
    /// Identifies the session: another one of the same name starts anew.
    of: String,
    pub(super) polls: Polls,
}

#[derive(Serialize, Deserialize)]
struct File {
    of: String,
    polls: Polls,
}

impl Remembered {
    pub(super) fn of(context: &Context, name: &str, of: String) -> Self {
        let path = path(context, name);
        let read = || {
            let bytes = dogwatch_store::read_regular(path.as_ref()?, MAX_FILE)
                .logged_unless_missing("read a file")?;
            serde_json::from_slice::<File>(&bytes).logged("read JSON")
        };
        let polls = read().filter(|file| file.of == of).map(|file| file.polls);
        Self { polls: polls.unwrap_or_default(), path, of }
    }

    /// If this fails, the next poll only knows less.
    pub(super) fn keep(self, polls: Polls) {
        let Some(path) = self.path else { return };
        if let Ok(bytes) = serde_json::to_vec(&File { of: self.of, polls }) {
            dogwatch_store::replace_in_passing(&path, &bytes).logged("write a file");
        }
    }
}

pub(super) fn forget(context: &Context, name: &str) {
    if let Some(path) = path(context, name) {
        fs::remove_file(path).logged_unless_missing("remove a file");
    }
}

/// Removes files of sessions that were not polled for a long time.
pub(super) fn forget_old(context: &Context) {
    context.state.remove_old_stories(OLD, |file| file.starts_with(FILE));
}

fn path(context: &Context, name: &str) -> Option<PathBuf> {
    let socket = slug::short_hash(context.socket.to_string_lossy().as_bytes());
    Some(
        context.state.stories().logged("read stories")?.join(format!("{FILE}{socket}-{name}.json")),
    )
}
