//! The tasks of a team.

use dogwatch_core::roles;
use dogwatch_core::session_file::{Task, TaskId};

use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// Longest text of a task. What is longer belongs into a file that the task names.
pub const MOST_BYTES: usize = 1024 * 1024;

/// Adds a task for a role; makes the session file if there is none.
pub fn add(
    context: &Context,
    file: &TeamFile,
    role: &str,
    text: &str,
) -> Result<(TaskId, TeamFile), Error> {
    let role =
        roles::role(role).map_err(|problem| Error::BadArgument { problem: problem.to_string() })?;
    check(text)?;
    let file = file.made()?;
    // A number that was claimed once is not given out again, even if somebody took the task out of the file.
    let known = context.store()?.highest_claim(file.path())?;
    let id = file.edit(|edited| Ok(edited.add_task(&role, text, known)))?;
    Ok((id, file))
}

pub fn list(file: &TeamFile) -> Result<Vec<Task>, Error> {
    Ok(file.read()?.tasks())
}

pub(crate) fn check(text: &str) -> Result<(), Error> {
    let problem = if text.trim().is_empty() {
        "the task is empty".to_owned()
    } else if text.len() > MOST_BYTES {
        format!(
            "the task is longer than {MOST_BYTES} bytes; write it to a file and refer to the file"
        )
    } else if text.contains('\0') {
        "the task contains a NUL byte".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::BadArgument { problem })
}
