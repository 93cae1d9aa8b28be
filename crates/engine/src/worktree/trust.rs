//! `.dogwatch.toml` of a project, which is read only if a person has trusted this very content at this very path.

use std::path::{Path, PathBuf};

use dogwatch_core::rules::{Answer, Rule};
use dogwatch_core::worktree::settings::{self, FILE, MOST_BYTES, Settings};
use dogwatch_store::ProjectFile;
use jiff::Timestamp;

use super::Repository;
use crate::error::WorktreeError;
use crate::observe::{asker, project};
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

    fn rules(&self) -> Result<Vec<Rule>, Error> {
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

/// The rules of the trusted files at the top of a project and above it. An agent may make a folder look like a project of its own
/// (`git init`), so what files further up deny or ask holds too.
///
/// The error is why no rule may answer: a file that was trusted is not as it was, and might have had a rule that denies.
pub fn rules(context: &Context, top: &Path) -> Result<Vec<(Rule, PathBuf)>, String> {
    let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let store = context.store().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for folder in top.ancestors() {
        let path = folder.join(FILE);
        if store.trusted(&path).map_err(|error| error.to_string())?.is_none() {
            continue;
        }
        let rules = as_trusted(context, folder).map_err(|how| {
            let hint = "run `dogwatch trust` or `dogwatch untrust` there";
            format!("{} {how}, so no rule answers; {hint}", path.display())
        })?;
        let holds = |rule: &Rule| folder == top || rule.answer != Answer::Allow;
        all.extend(rules.into_iter().filter(holds).map(|rule| (rule, path.clone())));
    }
    Ok(all)
}

/// The rules of a file that was trusted; or what is wrong with it now.
fn as_trusted(context: &Context, top: &Path) -> Result<Vec<Rule>, String> {
    match find(context, top) {
        Ok(Some(found)) if found.trust == Trust::Trusted => {
            found.rules().map_err(|error| format!("cannot be read ({error})"))
        }
        Ok(Some(_)) => Err("changed since you trusted it".to_owned()),
        Ok(None) => Err("was trusted and is gone".to_owned()),
        Err(error) => Err(format!("cannot be read ({error})")),
    }
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
    asker::only_a_person(context)?;
    let mut found = of(context, dir)?;
    // A file that cannot be used is not worth trusting.
    found.settings()?;
    context.store()?.trust(&found.path, &found.hash, Timestamp::now())?;
    found.trust = Trust::Trusted;
    Ok(found)
}

/// The path, and whether it was trusted before. The file need not exist any more. Only a person may: its rules end with it.
pub fn untrust(context: &Context, dir: &Path) -> Result<(PathBuf, bool), Error> {
    asker::only_a_person(context)?;
    let path = top_of(dir).join(FILE);
    let was = context.store()?.untrust(&path)?;
    Ok((path, was))
}
