//! The stories of a BMAD project, as items of a run.

use super::git::Tree;
use super::planner::{Planned, Wanted};
use crate::{Context, Error};

pub(super) fn items(
    _context: &Context,
    _planned: &mut Planned,
    _wanted: &Wanted,
) -> Result<(), Error> {
    Err(Error::BadArgument { problem: "not yet".into() })
}

pub(super) fn can_be_side_by_side(_planned: &Planned, _tree: &Tree) -> Result<(), Error> {
    Ok(())
}
