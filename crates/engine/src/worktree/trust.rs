//! `.dogwatch.toml` of a project, which is read only if a person has trusted this very content at this very path.

use std::path::{Path, PathBuf};

use dogwatch_core::rules::Rule;
use dogwatch_core::worktree::settings::{self, FILE, MOST_BYTES, Settings};
use dogwatch_store::ProjectFile;
use jiff::Timestamp;

use super::Repository;
use crate::error::WorktreeError;
use crate::observe::project;
use crate::{Context, Error};

/// A project's file as it is now.
#[derive(Debug, Clone)]
pub struct Found {
    pub path: PathBuf,
    pub content: Vec<u8>,
    pub hash: String,
    pub trust: Trust,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// Another content was trusted.
    Changed,
    Never,
}

impl Found {
    pub fn settings(&self) -> Result<Settings, Error> {
        let text = String::from_utf8_lossy(&self.content);
        settings::parse(&text).map_err(|problem| {
            WorktreeError::BadSettings { path: self.path.clone(), problem }.into()
        })
    }

    /// Its rules, if it is trusted.
    pub fn trusted_rules(&self) -> Result<Vec<Rule>, Error> {
        if self.trust != Trust::Trusted {
            return Ok(vec![]);
        }
        let text = String::from_utf8_lossy(&self.content);
        settings::rules(&text).map_err(|problem| {
            WorktreeError::BadSettings { path: self.path.clone(), problem }.into()
        })
    }
}

/// The file at the top of a project; `None` if there is none.
pub fn find(context: &Context, top: &Path) -> Result<Option<Found>, Error> {
    // One path for one project, however it was reached.
    let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let path = top.join(FILE);
    let reading = || Error::io(format!("read {}", path.display()));
    let file = ProjectFile::below(&top, Path::new(FILE)).map_err(reading())?;
    let Some(content) = file.read(MOST_BYTES).map_err(reading())? else { return Ok(None) };
    let hash = settings::hash(&content);
    let trust = match context.store()?.trusted(&path)? {
        Some(trusted) if trusted == hash => Trust::Trusted,
        Some(_) => Trust::Changed,
        None => Trust::Never,
    };
    Ok(Some(Found { path, content, hash, trust }))
}

/// The settings of a project. What is parsed is exactly what was compared with what is trusted.
pub fn settings(context: &Context, top: &Path) -> Result<Settings, Error> {
    let Some(found) = find(context, top)? else {
        return settings::parse("").map_err(|problem| {
            WorktreeError::BadSettings { path: top.join(FILE), problem }.into()
        });
    };
    match found.trust {
        Trust::Trusted => found.settings(),
        trust => {
            let changed = trust == Trust::Changed;
            Err(WorktreeError::NotTrusted { path: found.path, changed }.into())
        }
    }
}

/// The work tree that a directory is in, where `spawn --worktree` reads the file; outside of git, the project.
fn top_of(dir: &Path) -> PathBuf {
    let top = Repository::of(dir).map(|found| found.top);
    let top = top.unwrap_or_else(|_| project::root(None, dir));
    top.canonicalize().unwrap_or(top)
}

/// The file of the project that a directory is in; it must exist.
pub fn of(context: &Context, dir: &Path) -> Result<Found, Error> {
    let top = top_of(dir);
    let none = || WorktreeError::NoSettings { path: top.join(FILE) };
    Ok(find(context, &top)?.ok_or_else(none)?)
}

/// Trusts the file as it is now. Only a person may: an agent could have written it.
pub fn trust(context: &Context, dir: &Path) -> Result<Found, Error> {
    if context.caller.session.is_some() {
        return Err(WorktreeError::AgentMayNotTrust.into());
    }
    let mut found = of(context, dir)?;
    // A file that cannot be used is not worth trusting.
    found.settings()?;
    context.store()?.trust(&found.path, &found.hash, Timestamp::now())?;
    found.trust = Trust::Trusted;
    Ok(found)
}

/// The path, and whether it was trusted before. The file need not exist any more.
pub fn untrust(context: &Context, dir: &Path) -> Result<(PathBuf, bool), Error> {
    let path = top_of(dir).join(FILE);
    let was = context.store()?.untrust(&path)?;
    Ok((path, was))
}
