//! What others see of a run: the state document and the marker, as the original keeps them.

use dogwatch_core::workflow::Run;

use super::site::Site;
use crate::Error;

pub(super) fn keep(_site: &Site<'_>, _run: &Run) -> Result<(), Error> {
    Ok(())
}
