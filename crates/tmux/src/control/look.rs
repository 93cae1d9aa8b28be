//! The queries of [`crate::Server`] over the control connection.

use super::Control;
use crate::{CaptureOptions, Error, PaneDetail, PaneId, PaneRow, Reply, RowQuery};

impl Control {
    /// See [`crate::Server::panes`].
    pub fn panes(&self) -> Result<Vec<PaneRow>, Error> {
        let query = RowQuery::new();
        Ok(query.parse(&self.request_one(query.command())?)?)
    }

    /// See [`crate::Server::panes_detailed`].
    pub fn panes_detailed(&self) -> Result<Vec<PaneDetail>, Error> {
        let query = RowQuery::new();
        Ok(query.parse_detailed(&self.request_one(query.detailed_command())?)?)
    }

    /// See [`crate::Server::capture_many`].
    pub fn capture_many(
        &self,
        panes: &[PaneId],
        options: CaptureOptions,
    ) -> Result<Vec<Result<Reply, Error>>, Error> {
        let commands: Vec<_> = panes.iter().map(|&pane| options.command(pane)).collect();
        self.request(&commands)
    }
}
