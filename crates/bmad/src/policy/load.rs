//! Loads the effective policy: of the run's state document, else the built-in one with overrides of project and environment.

use std::io;
use std::path::{Path, PathBuf};

use crate::format::fields::Fields;
use crate::format::marker::Marker;
use crate::policy::fault::PolicyFault;
use crate::policy::pinned::{self, Pinned};
use crate::policy::{self, Policy};
use serde_json::Value;

use crate::Project;
use crate::policy::assets::{find_contract, resolve};
use crate::project::files::{self, is_below, tidy};
use crate::project::run_marker;

const OVERRIDE: &str = "_bmad/bmm/story-automator.policy.json";
const INSTALLED: &str = "data/orchestration-policy.json";

/// How much of a policy is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Its settings.
    Words,
    /// Also the prompts and schemas that it names.
    Texts,
    /// Also the skills of its steps. A missing one is an error.
    Skills,
}

/// `state_file` as the caller wrote it.
pub fn load(
    project: &Project,
    state_file: Option<&str>,
    need: Need,
) -> Result<Policy, PolicyFault> {
    let mut value = match state_document(project, state_file)? {
        Some(path) => of_state_document(project, &path)?,
        None => of_project(project)?,
    };
    // Check before files are searched: an invalid policy names none.
    Policy::new(value.clone())?;
    find_contract(project, &mut value)?;
    if need != Need::Words {
        resolve(project, &mut value, need)?;
    }
    Policy::new(value)
}

/// Without a run.
fn of_project(project: &Project) -> Result<Value, PolicyFault> {
    let mut value = bundled(project)?;
    let path = project.root.join(OVERRIDE);
    if let Some(given) = read_json(project, &path)? {
        policy::merge(&mut value, given);
    }
    let (cycles, retries) = (&project.max_review_cycles, &project.max_crash_retries);
    policy::apply_limits(&mut value, cycles.as_deref(), retries.as_deref())?;
    Ok(value)
}

/// The policy of the installed skill that the binary belongs to, else the built-in one.
fn bundled(project: &Project) -> Result<Value, PolicyFault> {
    let installed = project.own_skill.as_ref().map(|skill| skill.join(INSTALLED));
    let installed = installed.map(|path| read_json(project, &path)).transpose()?.flatten();
    Ok(installed.unwrap_or_else(policy::bundled))
}

/// The text of a file, `None` if it is missing or a directory. A refusal to read it is an error.
pub(crate) fn text_of(project: &Project, path: &Path) -> Result<Option<String>, PolicyFault> {
    match files::read(&project.root, path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(None),
        Err(error) => {
            let path = path.display().to_string();
            Err(PolicyFault::Read { path, why: error.to_string() })
        }
    }
}

fn read_json(project: &Project, path: &Path) -> Result<Option<Value>, PolicyFault> {
    let shown = || path.display().to_string();
    let Some(text) = text_of(project, path)? else { return Ok(None) };
    let value: Value = serde_json::from_str(&text).map_err(|_| PolicyFault::Json(shown()))?;
    if value.is_object() { Ok(Some(value)) } else { Err(PolicyFault::JsonNotAnObject(shown())) }
}

/// The policy of a run: its snapshot, or for a document without one, the bundled policy.
fn of_state_document(project: &Project, path: &Path) -> Result<Value, PolicyFault> {
    let text = text_of(project, path)?;
    let text = text.ok_or_else(|| PolicyFault::StateFile(path.display().to_string()))?;
    match pinned_snapshot(project, &text)? {
        Some(snapshot) => Ok(snapshot),
        None => bundled(project),
    }
}

/// The snapshot that a state document names, `None` for documents from before there were snapshots.
pub(crate) fn pinned_snapshot(
    project: &Project,
    document: &str,
) -> Result<Option<Value>, PolicyFault> {
    let Pinned::Snapshot { file, hash } = pinned::pinned(&Fields::read(document))? else {
        return Ok(None);
    };
    let path = project.root.join(file);
    let shown = path.display().to_string();
    if !is_below(&path, &project.root) {
        return Err(PolicyFault::Outside { what: "policy snapshot".to_owned(), path: shown });
    }
    let text = text_of(project, &path)?.ok_or_else(|| PolicyFault::SnapshotGone(shown.clone()))?;
    let got = crate::format::slug::short_hash(&text);
    if got != hash {
        return Err(PolicyFault::SnapshotChanged { expected: hash, got });
    }
    let value: Value = serde_json::from_str(&text).map_err(|_| PolicyFault::Json(shown.clone()))?;
    if !value.is_object() {
        return Err(PolicyFault::JsonNotAnObject(shown));
    }
    Policy::new(value.clone())?;
    Ok(Some(value))
}

/// The effective state document: the caller's, the environment's, the active run's.
fn state_document(project: &Project, given: Option<&str>) -> Result<Option<PathBuf>, PolicyFault> {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return Ok(Some(tidy(&project.root.join(given))));
    }
    if let Some(given) = &project.state_file {
        return named_by("env", project, given).map(Some);
    }
    if crate::marker_path(project).is_dir() {
        return Ok(None);
    }
    let Some(text) =
        run_marker::read(project).map_err(|why| PolicyFault::MarkerInvalid(why.to_string()))?
    else {
        return Ok(None);
    };
    let Some(marker) = Marker::read(&text) else {
        let path = crate::marker_path(project).display().to_string();
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        let why =
            if is_json { PolicyFault::JsonNotAnObject(path) } else { PolicyFault::Json(path) };
        return Err(PolicyFault::MarkerInvalid(why.to_string()));
    };
    let file = marker.state_file().trim();
    let found = if file.is_empty() {
        Err(PolicyFault::MarkerWithoutState)
    } else {
        named_by("marker", project, file)
    };
    let is_gone =
        matches!(found, Err(PolicyFault::StateFileGone { .. } | PolicyFault::MarkerWithoutState));
    // The marker of a run that is gone must not block others.
    if is_gone && run_marker::is_stale(&marker) { Ok(None) } else { found.map(Some) }
}

fn named_by(by: &'static str, project: &Project, file: &str) -> Result<PathBuf, PolicyFault> {
    let path = project.root.join(file);
    let shown = path.display().to_string();
    if !is_below(&path, &project.root) {
        return Err(PolicyFault::Outside { what: format!("{by} state file"), path: shown });
    }
    if !path.is_file() {
        return Err(PolicyFault::StateFileGone { by, path: shown });
    }
    Ok(tidy(&path))
}

/// The snapshot of a policy with all its files, written below the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub version: i64,
    /// Relative to the project.
    pub file: String,
    pub hash: String,
}

/// Pins the effective policy. `stamp` is the time in its name.
pub fn pin(project: &Project, stamp: &str) -> Result<Snapshot, PolicyFault> {
    let mut value = of_project(project)?;
    let policy = Policy::new(value.clone())?;
    find_contract(project, &mut value)?;
    resolve(project, &mut value, Need::Skills)?;
    let (text, hash) = pinned::render(&value);
    let file = format!("{}/{stamp}-{hash}.json", policy.snapshot_folder().trim_end_matches('/'));
    let path = project.root.join(&file);
    let shown = path.display().to_string();
    if !is_below(&path, &project.root) {
        return Err(PolicyFault::Outside { what: "policy snapshot".to_owned(), path: shown });
    }
    files::replace(&project.root, &path, &text, files::Readers::Owner)
        .map_err(|why| PolicyFault::Write { path: shown, why: why.to_string() })?;
    Ok(Snapshot { version: policy.version(), file, hash })
}
