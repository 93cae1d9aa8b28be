//! Where a call comes from, and what is wrong with what it asks for.

use std::io::Write as _;
use std::path::Path;

use crate::decide::session::name;
use crate::session::agent::Wishes;
use crate::session::look::Told;
use crate::session::{Place, Runtime, output};
use dogwatch_base::log::Logged as _;
use dogwatch_bmad::Project;
use dogwatch_engine::{Context, Error};

use crate::answers::{Trouble, failure};
use crate::call::Call;
use crate::project;
use crate::reply::Reply;
use dogwatch_engine::environment;

/// The state directory and the tmux server that are used here.
pub(super) fn context() -> Result<Context, Error> {
    environment::context(None, None)
}

pub(super) fn place(call: &Call<'_>) -> Place {
    let told = call.option("--project-root").filter(|path| !path.is_empty()).map(Path::new);
    let resolve = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let project = told
        .and_then(|path| resolve(path).logged("find a session"))
        .unwrap_or_else(|| call.project());
    let runtime = Runtime::of(std::env::var("SA_TMUX_RUNTIME").ok().as_deref());
    Place { project, runtime, temp: std::env::temp_dir() }
}

pub(super) fn project() -> Project {
    project::here()
}

/// What the environment wishes of agents.
pub(super) fn wishes() -> Wishes {
    project::wishes()
}

/// The path of what a session showed. That it could not be written says nothing of how the session ended: the path is
/// empty then, and stderr has the reason.
pub(super) fn kept_output(context: &Context, place: &Place, name: &str, told: &Told) -> String {
    match output::keep(context, place, name, told) {
        Ok(path) => path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        Err(error) => {
            let _ = write!(std::io::stderr(), "{name}: output not kept: {}", in_words(&error));
            String::new()
        }
    }
}

/// Refuses a name that no session can have.
pub(super) fn refuse_bad_name(call: &Call<'_>, session: &str) -> Option<Reply> {
    if name::is_valid(session) {
        return None;
    }
    let detail = format!("invalid session name: '{session}'");
    let trouble = Trouble { command: call.command, detail };
    Some(Reply::json(&failure("internal_error", trouble)).failed())
}

/// An error in words, with its remedy.
pub(super) fn in_words(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\n{hint}\n"),
        None => format!("{error}\n"),
    }
}
