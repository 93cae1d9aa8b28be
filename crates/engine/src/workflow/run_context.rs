//! What whoever carries a run out has at hand.

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
use crate::{Context, Error};

/// What was settled when the run began, besides its plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Where stories are, from the project's root.
    pub artifacts: String,
    /// Files that were changed before the run began, with a mark of what was in them: they are in no commit of ours.
    pub dirty: BTreeMap<String, String>,
    pub prices: Prices,
    /// How long a person has to answer, and the option that counts then.
    pub answer_within: Option<(SignedDuration, u32)>,
    /// The state document, from the project's root.
    pub state_file: Option<String>,
    /// Whether this is a BMAD project, with state document and marker.
    pub is_bmad: bool,
    /// What agents may do without asking; a run of an older version bypassed all questions.
    pub permissions: Permissions,
    /// The folder with the `stories.yaml` that its stories are from, if they are from one.
    pub spec_folder: Option<String>,
    /// The file of the skill that builds a story, as an agent is told it.
    pub skill: String,
    /// Passed on to the agents.
    pub agent_args: Vec<String>,
}

impl Settings {
    /// Those of a run. What cannot be read is no reason to go on with others: files of a person's would be committed.
    pub fn of(kept: &KeptRun) -> Result<Self, Error> {
        serde_json::from_value(kept.settings.clone())
            .map_err(|source| WorkflowError::BadSettings { id: kept.id.to_string(), source }.into())
    }
}

pub(super) struct RunContext<'a> {
    pub(super) context: &'a Context,
    pub(super) project: PathBuf,
    pub(super) settings: Settings,
    /// What the environment says of the project.
    pub(super) home: dogwatch_bmad::Project,
    pub(super) caller_env: Vec<(OsString, OsString)>,
    pub(super) journal: &'a Journal,
    /// Sessions that wait for the answer to a dialog, by the key of the decision that waits for them.
    pub(super) asking: Mutex<BTreeSet<String>>,
    /// Set when nothing is waited for any more.
    pub(super) stop: &'a AtomicBool,
}

impl RunContext<'_> {
    /// The folder in which a job is done.
    pub(super) fn folder(&self, job: &Job) -> PathBuf {
        let run = self.journal.run();
        let worktree = job.item().and_then(|item| run.items.get(item)?.worktree.clone());
        worktree.map_or_else(|| self.project.clone(), PathBuf::from)
    }

    /// Where an item's worktree is, and the name of its branch.
    pub(super) fn worktree(&self, item: &str) -> (PathBuf, String) {
        let run = &self.journal.id;
        let dir = self.context.state.root().join("worktrees").join(run).join(item);
        (dir, format!("dogwatch/{run}/{item}"))
    }

    /// Where the words of a job's attempt are kept.
    pub(super) fn output(&self, job: &Job, n: u32) -> PathBuf {
        let name = format!("{}-{}-{n}.txt", job.subject.name(), job.step);
        self.context.state.root().join("runs").join(&self.journal.id).join(name)
    }

    /// A text with the job's own words in it.
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

    /// Notes whether an attempt waits for a person's answer to a dialog.
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

/// Whether a path leads out of its folder.
pub(super) fn stays_inside(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_read_or_refused() {
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
