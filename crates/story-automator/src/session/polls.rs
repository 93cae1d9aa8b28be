//! What earlier looks at a session found, for those of which nothing else is known.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::decide::session::legacy::Polls;
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_bmad::format::slug;
use serde::{Deserialize, Serialize};

use dogwatch_engine::Context;

/// More than any such file has.
const MAX_FILE: u64 = 64 * 1024;

/// How the names of these files begin.
const FILE: &str = "looks-";

const OLD: Duration = Duration::from_hours(24);

/// Kept below our own folder, where nobody else can put one.
#[derive(Debug)]
pub(super) struct Remembered {
    path: Option<PathBuf>,
    /// Whose they are: another session of the same name begins anew.
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

    /// Without it the next look knows less, and that is all.
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

/// Removes what belongs to sessions that nobody has looked at for long.
pub(super) fn forget_old(context: &Context) {
    context.state.remove_old_stories(OLD, |file| file.starts_with(FILE));
}

fn path(context: &Context, name: &str) -> Option<PathBuf> {
    let socket = slug::short_hash(context.socket.to_string_lossy().as_bytes());
    Some(
        context.state.stories().logged("read stories")?.join(format!("{FILE}{socket}-{name}.json")),
    )
}
