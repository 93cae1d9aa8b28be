//! State documents: found, made and changed.

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

/// Most documents of one epic that may be made within a second.
const MOST_IN_A_SECOND: usize = 100;

/// One document of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    /// Empty if the document does not say.
    pub status: String,
    pub last_updated: String,
}

/// The documents of a folder by name, `None` if there is no such folder. What cannot be read says nothing.
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

/// The one that was updated last; the later name if several were.
pub fn latest(listed: Vec<Listed>, wanted: impl Fn(&Listed) -> bool) -> Option<Listed> {
    let found = listed.into_iter().filter(wanted);
    found.max_by(|one, other| {
        (&one.last_updated, &one.path).cmp(&(&other.last_updated, &other.path))
    })
}

/// The one that was updated last of those that are not complete; the earlier name if several were.
pub fn latest_open(listed: Vec<Listed>) -> Option<Listed> {
    let open = listed.into_iter().filter(|one| one.status != "COMPLETE");
    open.rev().max_by(|one, other| one.last_updated.cmp(&other.last_updated))
}

/// The text of a document, `None` if there is none.
pub fn read(root: &Path, path: &Path) -> io::Result<Option<String>> {
    files::read(root, path)
}

/// What is wrong with the policy of a document, if anything: that it is pinned, and its files are there.
pub fn policy_fault(project: &Project, path: &Path, need: Need) -> Option<PolicyFault> {
    let told = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match need {
        Need::Skills | Need::Texts => {
            load::load(project, Some(&told.display().to_string()), need).err()
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

/// Sets fields of a document's front matter. Answers those that it has, in the order they were given; the file stays
/// as it is if it has none.
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

/// A document that was made.
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

/// Makes the document of a new run, with its policy pinned. Two of the same second get two names.
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
    // One that came from elsewhere: a document has one kind of line end.
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
    // What cannot be filled leaves no snapshot behind.
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
