//! Where a monitor reports to.

use dogwatch_core::notice::Notice;
use dogwatch_store::Assignment;

use crate::notify::outbox;
use crate::{Context, Error};

/// Takes reports of drift and heartbeats, and may ask the monitor to stop.
pub trait ReportTarget {
    /// Identifies the target over restarts.
    fn key(&self) -> String;
    /// Takes the assignment: the stored one, or a new one. Returns how many comments were there before.
    fn open(&mut self, left: Option<&Assignment>) -> Result<u32, Error>;
    /// Reports one drift, unless it was reported already.
    fn report(&mut self, notice: &Notice) -> Result<(), Trouble>;
    fn beat(&mut self, note: &str) -> Result<(), Trouble>;
    /// Who asked the monitor to stop, by comments since the assignment was taken.
    fn stopped_by(&mut self, heard: u32) -> Result<Option<String>, Trouble>;
    /// Ends the assignment on request.
    fn close(&mut self, by: &str) -> Result<(), Trouble>;
}

/// Why reporting failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Temporary: it is tried again.
    Passing(String),
    /// The assignment is no longer ours.
    Lost(String),
}

/// People, through the channels that are configured for drift.
#[derive(Debug)]
pub struct People<'c> {
    pub context: &'c Context,
}

impl ReportTarget for People<'_> {
    fn key(&self) -> String {
        "notify".to_owned()
    }

    fn open(&mut self, _: Option<&Assignment>) -> Result<u32, Error> {
        // Report an unreadable file at the start.
        crate::config::read(self.context).map(|_| 0)
    }

    fn report(&mut self, notice: &Notice) -> Result<(), Trouble> {
        // A channel that failed is tried again.
        let session = notice.session.as_deref().unwrap_or_default();
        let key = format!("drift/{session}/{}/{}", notice.at.as_millisecond(), notice.title);
        outbox::tell(self.context, &key, notice.clone());
        Ok(())
    }

    fn beat(&mut self, _: &str) -> Result<(), Trouble> {
        Ok(())
    }

    fn stopped_by(&mut self, _: u32) -> Result<Option<String>, Trouble> {
        Ok(None)
    }

    fn close(&mut self, _: &str) -> Result<(), Trouble> {
        Ok(())
    }
}
