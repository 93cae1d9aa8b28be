use dogwatch_tmux::{PaneId, RowQuery};

use super::pane_of;
use crate::error::SessionError;
use crate::{Context, Error};

/// What to expect of a pane besides its existence.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    pub session: Option<String>,
    /// Its id, such as `@3`.
    pub window: Option<String>,
}

/// An existing pane as tmux describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Valid {
    pub pane: PaneId,
    pub session: String,
    pub window: String,
    pub title: String,
}

/// Whether a pane exists, is alive and is where it is expected; else the reason.
pub fn verify(
    context: &Context,
    target: &str,
    expected: &Expected,
) -> Result<Result<Valid, String>, Error> {
    let pane = match pane_of(context, target) {
        Ok(pane) => pane,
        Err(
            error @ Error::Session(
                SessionError::NoSuchSession { .. }
                | SessionError::NotOurs { .. }
                | SessionError::IsOver { .. },
            ),
        ) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let query = RowQuery::new();
    let reply = match context.tmux.run_one(query.faces_command()) {
        Ok(reply) => reply,
        Err(error) if error.is_no_server() => {
            return Ok(Err("no tmux server is running".to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let faces = query.parse_faces(&reply).map_err(dogwatch_tmux::Error::from)?;
    let mut here = faces.into_iter().filter(|face| face.row.pane_id == pane).peekable();
    let Some(first) = here.peek() else { return Ok(Err(format!("no pane {pane}"))) };
    if first.row.dead {
        return Ok(Err(format!("the program in {pane} has ended")));
    }
    // A window may be linked to several sessions.
    let fits = |name: &str| expected.session.as_deref().is_none_or(|wanted| wanted == name);
    let is_in = first.row.session_name.clone();
    let Some(face) = here.find(|face| fits(&face.row.session_name)) else {
        return Ok(Err(format!("{pane} is in session {is_in}")));
    };
    let window = face.row.window_id.to_string();
    if expected.window.as_ref().is_some_and(|wanted| *wanted != window) {
        return Ok(Err(format!("{pane} is in window {window}")));
    }
    Ok(Ok(Valid { pane, session: face.row.session_name, window, title: face.title }))
}
