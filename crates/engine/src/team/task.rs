//! The tasks of a team.

use dogwatch_core::roles;
use dogwatch_core::session_file::{Task, TaskId};

use crate::error::TeamError;
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// Longest text of a task. Longer texts belong into a file that the task names.
pub const MOST_BYTES: usize = 1024 * 1024;

/// Adds a task for a role; creates the session file if there is none.
pub fn add(
    context: &Context,
    file: &TeamFile,
    role: &str,
    text: &str,
) -> Result<(TaskId, TeamFile), Error> {
    let role = roles::role(role).map_err(TeamError::from)?;
    check(text)?;
    let file = file.made()?;
    // A number that was claimed once is not used again, even if a person deleted the task from the file.
    let known = context.store()?.highest_claim(file.path())?;
    let id = file.edit(|edited| Ok(edited.add_task(&role, text, known)))?;
    Ok((id, file))
}

pub fn list(file: &TeamFile) -> Result<Vec<Task>, Error> {
    Ok(file.read()?.tasks())
}

pub(crate) fn check(text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(TeamError::EmptyTask.into());
    }
    if text.len() > MOST_BYTES {
        return Err(TeamError::TaskTooLong { most: MOST_BYTES }.into());
    }
    if text.contains('\0') {
        return Err(TeamError::TaskHasNul.into());
    }
    Ok(())
}
