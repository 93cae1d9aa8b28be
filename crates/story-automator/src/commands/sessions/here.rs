//! The context of a call, and errors in its arguments.

use std::io::Write as _;
use std::path::Path;

use crate::decide::session::name;
use crate::session::agent::Wishes;
use crate::session::look::Described;
use crate::session::{Place, Runtime, output};
use dogwatch_base::log::Logged as _;
use dogwatch_bmad::Project;
use dogwatch_engine::{Context, Error};

use crate::answers::{Trouble, failure};
use crate::call::Call;
use crate::project;
use crate::reply::Reply;
use dogwatch_engine::environment;

/// The state directory and the tmux server in use.
pub(super) fn context() -> Result<Context, Error> {
    environment::context(None, None)
}

pub(super) fn place(call: &Call<'_>) -> Place {
    let given = call.option("--project-root").filter(|path| !path.is_empty()).map(Path::new);
    let resolve = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let project = given
        .and_then(|path| resolve(path).logged("find a session"))
        .unwrap_or_else(|| call.project());
    let runtime = Runtime::of(std::env::var("SA_TMUX_RUNTIME").ok().as_deref());
    Place { project, runtime, temp: std::env::temp_dir() }
}

pub(super) fn project() -> Project {
    project::here()
}

/// The agent settings of the environment.
pub(super) fn wishes() -> Wishes {
    project::wishes()
}

/// The path of a session's saved output. A failure to write it says nothing about how the session ended: then the path is
/// empty, and stderr has the reason.
pub(super) fn kept_output(
    context: &Context,
    place: &Place,
    name: &str,
    described: &Described,
) -> String {
    match output::keep(context, place, name, described) {
        Ok(path) => path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        Err(error) => {
            let _ = write!(std::io::stderr(), "{name}: output not kept: {}", in_words(&error));
            String::new()
        }
    }
}

/// Refuses an invalid session name.
pub(super) fn refuse_bad_name(call: &Call<'_>, session: &str) -> Option<Reply> {
    if name::is_valid(session) {
        return None;
    }
    let detail = format!("invalid session name: '{session}'");
    let trouble = Trouble { command: call.command, detail };
    Some(Reply::json(&failure("internal_error", trouble)).failed())
}

/// An error as text, with its hint.
pub(super) fn in_words(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\n{hint}\n"),
        None => format!("{error}\n"),
    }
}
