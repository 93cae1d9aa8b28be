//! Lists runs.

use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_core::workflow::Run;
use dogwatch_store::KeptRun;

use super::journal::replay;
use super::{Settings, driver};
use crate::{Context, Error};

/// A run and its progress.
#[derive(Debug)]
pub struct Listed {
    pub kept: KeptRun,
    /// `None` if this version cannot read the journal.
    pub run: Option<Run>,
    pub settings: Settings,
    /// A driver is executing it now.
    pub attended: bool,
    /// Number of open questions.
    pub questions: usize,
}

/// The runs of a project, or of all, newest first.
pub fn list(context: &Context, project: Option<&Path>) -> Result<Vec<Listed>, Error> {
    let store = context.store()?;
    let open = crate::actions::escalation::list(context, false)?;
    let mut listed = Vec::new();
    for kept in store.runs(project)? {
        let facts = store.facts(&kept.id, 0).logged("read a run");
        let run = facts.and_then(|facts| replay(&kept, &facts).logged("read a run"));
        let of_run = |one: &&dogwatch_store::Escalation| {
            one.situation.run.as_deref() == Some(kept.id.as_str())
        };
        listed.push(Listed {
            run,
            settings: Settings::of(&kept).logged("read the settings of a run").unwrap_or_default(),
            attended: kept.over.is_none() && driver::is_attended(context, &kept.project),
            questions: open.iter().filter(of_run).count(),
            kept,
        });
    }
    Ok(listed)
}
