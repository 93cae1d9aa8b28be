//! State documents: finds, creates and changes them.

use std::io;
use std::path::{Path, PathBuf};

use crate::format::fields::{self, Fields};
use crate::format::state_template::{self, Begun, InvalidMaxParallel};
use crate::policy::fault::PolicyFault;
use dogwatch_base::log::LoggedIo as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::policy::load::{self, Need};
use crate::project::files::{self, Readers};
use crate::{Project, StoryError, files};

/// Limit on documents of one epic that are created within a second.
const MOST_IN_A_SECOND: usize = 100;

/// One document of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    /// Empty if the document has none.
    pub status: String,
    pub last_updated: String,
}

/// The documents of a directory by name, `None` if it is missing. Unreadable ones have empty fields.
pub fn list(root: &Path, folder: &Path) -> Result<Option<Vec<Listed>>, StoryError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let listed = files(root, folder, "orchestration-")?.into_iter().map(|path| {
        let text = files::read(root, &path)
            .logged_unless_missing("read a file")
            .flatten()
            .unwrap_or_default();
        let fields = Fields::read(&text);
        Listed {
            status: fields.text("status").to_owned(),
            last_updated: fields.text("lastUpdated").to_owned(),
            path,
        }
    });
    Ok(Some(listed.collect()))
}

/// The last updated one; the last by name if several were.
pub fn latest(listed: Vec<Listed>, wanted: impl Fn(&Listed) -> bool) -> Option<Listed> {
    let found = listed.into_iter().filter(wanted);
    found.max_by(|one, other| {
        (&one.last_updated, &one.path).cmp(&(&other.last_updated, &other.path))
    })
}

/// The last updated one that is not complete; the first by name if several were.
pub fn latest_open(listed: Vec<Listed>) -> Option<Listed> {
    let open = listed.into_iter().filter(|one| one.status != "COMPLETE");
    open.rev().max_by(|one, other| one.last_updated.cmp(&other.last_updated))
}

/// The text of a document, `None` if it is missing.
pub fn read(root: &Path, path: &Path) -> io::Result<Option<String>> {
    files::read(root, path)
}

/// The problem of a document's policy, if there is one: checks that it is pinned, and that its files exist.
pub fn policy_fault(project: &Project, path: &Path, need: Need) -> Option<PolicyFault> {
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match need {
        Need::Skills | Need::Texts => {
            load::load(project, Some(&given.display().to_string()), need).err()
        }
        Need::Words => {
            let text = files::read(&project.root, path)
                .logged_unless_missing("read a file")
                .flatten()
                .unwrap_or_default();
            load::pinned_snapshot(project, &text).err()
        }
    }
}

/// Sets fields of a document's front matter. Returns those that it has, in the given order; the file is not changed if it
/// has none.
pub fn update(
    root: &Path,
    path: &Path,
    values: &[(&str, &str)],
) -> io::Result<Option<Vec<String>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let _one_at_a_time = files::lock(root, path)?;
    let Some(before) = files::read_to_change(root, path)? else { return Ok(None) };
    let mut text = before.clone();
    let mut updated = Vec::new();
    for (key, value) in values {
        if let Some(changed) = fields::set(&text, key, &fields::written(value)) {
            text = changed;
            updated.push((*key).to_owned());
        }
    }
    if text != before {
        files::replace(root, path, &text, Readers::Usual)?;
    }
    Ok(Some(updated))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub path: PathBuf,
    pub created_at: String,
}

#[derive(Debug, thiserror::Error)]
pub enum NotBuilt {
    #[error("missing_template_or_output")]
    NoTemplate,
    #[error(transparent)]
    MaxParallel(#[from] InvalidMaxParallel),
    #[error("{0}")]
    Policy(#[from] PolicyFault),
    #[error("cannot read {}: {source}", path.display())]
    Template { path: PathBuf, source: io::Error },
    #[error("cannot write a state document in {folder}: {source}")]
    Write { folder: PathBuf, source: io::Error },
}

/// Creates the document of a new run, with its policy pinned. Two within a second get different names.
pub fn build(
    project: &Project,
    template: &Path,
    folder: &Path,
    config: &Map<String, Value>,
    now: Timestamp,
) -> Result<Built, NotBuilt> {
    let template = files::read(&project.root, template)
        .map_err(|source| NotBuilt::Template { path: template.to_owned(), source })?
        .ok_or(NotBuilt::NoTemplate)?;
    // The template may be from another system: a document has one kind of line end.
    let template = template.replace("\r\n", "\n");
    let created_at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let stamp = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let begun = |snapshot: &load::Snapshot| {
        let begun = Begun {
            now: &created_at,
            policy_version: snapshot.version,
            snapshot_file: &snapshot.file,
            snapshot_hash: &snapshot.hash,
        };
        state_template::fill(&template, config, &begun)
    };
    // An invalid configuration must not leave a snapshot behind.
    begun(&load::Snapshot { version: 1, file: String::new(), hash: String::new() })?;
    let text = begun(&load::pin(project, &stamp)?)?;
    let name = format!("orchestration-{}-{stamp}", state_template::epic_slug(config.get("epic")));
    let failed = |source| NotBuilt::Write { folder: folder.to_owned(), source };
    for nth in 1..=MOST_IN_A_SECOND {
        let again = if nth == 1 { String::new() } else { format!("-{nth}") };
        let path = folder.join(format!("{name}{again}.md"));
        match files::create(&project.root, &path, &text, Readers::Usual) {
            Ok(()) => return Ok(Built { path, created_at }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}
