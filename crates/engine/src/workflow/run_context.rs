//! What the actions of a run share.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use dogwatch_core::permissions::Permissions;
use dogwatch_core::workflow::{Job, Prices, Subject, fill};
use dogwatch_store::KeptRun;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::error::WorkflowError;
use crate::worktree::owner;
use crate::{Context, Error};

/// Settings that were fixed when the run began, besides its plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Directory of the stories, from the project's root.
    pub artifacts: String,
    /// Files that were changed before the run, with a hash of their content: they are not committed.
    pub dirty: BTreeMap<String, String>,
    pub prices: Prices,
    /// Time limit for an answer, and the option that applies then.
    pub answer_within: Option<(SignedDuration, u32)>,
    /// The state document, from the project's root.
    pub state_file: Option<String>,
    /// A BMAD project, with state document and marker.
    pub is_bmad: bool,
    /// What agents may do without asking. Runs of older versions have no value and bypass all prompts.
    pub permissions: Permissions,
    /// The folder of the `stories.yaml` with the run's stories, if they come from one.
    pub spec_folder: Option<String>,
    /// Path of the skill that builds a story, as it is given to the agent.
    pub skill: String,
    /// Extra arguments for the agents.
    pub agent_args: Vec<String>,
}

impl Settings {
    /// Reads a run's settings. Fails rather than use defaults: with an empty `dirty` a person's files would be committed.
    pub fn of(kept: &KeptRun) -> Result<Self, Error> {
        serde_json::from_value(kept.settings.clone())
            .map_err(|source| WorkflowError::BadSettings { id: kept.id.to_string(), source }.into())
    }
}

pub(super) struct RunContext<'a> {
    pub(super) context: &'a Context,
    pub(super) project: PathBuf,
    pub(super) settings: Settings,
    /// The project's settings from the environment.
    pub(super) home: dogwatch_bmad::Project,
    pub(super) caller_env: Vec<(OsString, OsString)>,
    pub(super) journal: &'a Journal,
    /// Sessions that wait for the answer to a dialog, by the key of the decision that waits for them.
    pub(super) asking: Mutex<BTreeSet<String>>,
    /// Set when all waits must end.
    pub(super) stop: &'a AtomicBool,
}

impl RunContext<'_> {
    /// The directory in which a job is done.
    pub(super) fn folder(&self, job: &Job) -> PathBuf {
        let run = self.journal.run();
        let worktree = job.item().and_then(|item| run.items.get(item)?.worktree.clone());
        worktree.map_or_else(|| self.project.clone(), PathBuf::from)
    }

    /// The directory of an item's worktree, and its branch.
    pub(super) fn worktree(&self, item: &str) -> (PathBuf, String) {
        let run = &self.journal.id;
        let dir = owner::real(self.context.state.root()).join("worktrees").join(run).join(item);
        (dir, format!("dogwatch/{run}/{item}"))
    }

    /// The file for the output of a job's attempt.
    pub(super) fn output(&self, job: &Job, n: u32) -> PathBuf {
        let name = format!("{}-{}-{n}.txt", job.subject.name(), job.step);
        self.context.state.root().join("runs").join(&self.journal.id).join(name)
    }

    /// Fills in the job's placeholders.
    pub(super) fn fill(&self, text: &str, job: &Job, n: u32) -> String {
        let run = self.journal.run();
        let item = job.item().and_then(|item| run.plan.item(item));
        let name = job.subject.name().to_owned();
        let group = match &job.subject {
            Subject::Group(group) => group.clone(),
            Subject::Item(_) => item.and_then(|item| item.group.clone()).unwrap_or_default(),
        };
        let label = run.step(job).map(|step| step.label.clone()).unwrap_or_default();
        fill(text, |word| {
            Some(match word {
                "item" | "story" => name.clone(),
                "prefix" => name.replace('.', "-"),
                "key" => item.map_or_else(|| name.clone(), |item| item.key().to_owned()),
                "group" | "epic" => group.clone(),
                "title" => item.map(|item| item.title.clone()).unwrap_or_default(),
                "step" => job.step.clone(),
                "label" => label.clone(),
                "attempt" => n.to_string(),
                "artifacts" => self.settings.artifacts.clone(),
                "skill" => self.settings.skill.clone(),
                "intent" => super::builds::intent(self, job),
                _ => return None,
            })
        })
    }

    /// Records whether an attempt waits for a person's answer to a dialog.
    pub(super) fn note_asking(&self, job: &Job, n: u32, is_asking: bool) {
        let key = format!("await {job}#{n}");
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if is_asking {
            asking.insert(key)
        } else {
            asking.remove(&key)
        };
    }

    pub(super) fn asking(&self) -> BTreeSet<String> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn stop_is_wanted(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Whether a relative path stays inside its directory.
pub(super) fn stays_inside(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn invalid_settings_are_refused() {
        let of = |settings: serde_json::Value| {
            Settings::of(&KeptRun {
                id: "r".into(),
                project: "/p".into(),
                workflow: "w".into(),
                definition: String::new(),
                plan: dogwatch_core::workflow::Plan::default(),
                settings,
                begun: jiff::Timestamp::UNIX_EPOCH,
                over: None,
            })
        };
        let whole = Settings {
            dirty: BTreeMap::from([("mine".to_owned(), "abc".to_owned())]),
            answer_within: Some((SignedDuration::from_mins(2), 1)),
            ..Settings::default()
        };
        assert_eq!(of(serde_json::to_value(&whole).unwrap()).unwrap(), whole);
        assert_eq!(of(json!({})).unwrap(), Settings::default(), "of an older one");
        for bad in [json!(null), json!({ "dirty": ["mine"] })] {
            assert!(of(bad).is_err());
        }
    }
}
