//! Where a monitor reports to.

use dogwatch_core::notice::Notice;
use dogwatch_store::Assignment;

use crate::notify::channels;
use crate::{Context, Error};

/// Somebody who is told of differences, hears that the monitor is well, and may want it to stop.
pub trait ReportTarget {
    /// What it is known by, over restarts.
    fn key(&self) -> String;
    /// Takes the post up: as it was left, or anew. Returns how much had been said there before.
    fn open(&mut self, left: Option<&Assignment>) -> Result<u32, Error>;
    /// Tells of one difference; one that was told already is not told again.
    fn tell(&mut self, notice: &Notice) -> Result<(), Trouble>;
    fn beat(&mut self, note: &str) -> Result<(), Trouble>;
    /// Who wants it to stop, if anybody does, by what was said since the post was taken up.
    fn stopped_by(&mut self, heard: u32) -> Result<Option<String>, Trouble>;
    /// Gives the post up because somebody wanted that.
    fn close(&mut self, by: &str) -> Result<(), Trouble>;
}

/// Why somebody could not be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It may pass: it is tried again.
    Passing(String),
    /// The post is no longer ours.
    Lost(String),
}

/// People, by the ways that they have set up for differences.
#[derive(Debug)]
pub struct People<'c> {
    pub context: &'c Context,
}

impl ReportTarget for People<'_> {
    fn key(&self) -> String {
        "notify".to_owned()
    }

    fn open(&mut self, _: Option<&Assignment>) -> Result<u32, Error> {
        // A file that cannot be read is said at the start.
        crate::config::read(self.context).map(|_| 0)
    }

    fn tell(&mut self, notice: &Notice) -> Result<(), Trouble> {
        // Of who could not be told the journal knows; telling the others again would be worse.
        channels::tell(self.context, notice);
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
