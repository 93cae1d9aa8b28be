//! Verifies from files whether a step is done.

use std::path::{Path, PathBuf};

use dogwatch_base::glob::Pattern;

use crate::format::artifact_glob::{self, Wanted};
use crate::format::review::{self, Contract, Outcome, Seen};
use crate::policy::fault::PolicyFault;
use crate::policy::{DataFile, Policy, Step};
use serde_json::Value;

use super::{Project, Stories, Story, StoryError};
use crate::policy::load::{self, Need};
use crate::project::files;

/// What to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// `create`, `dev`, `auto`, `review` or `retro`.
    pub step: &'a str,
    /// A story's id, prefix or key; for `retro` an epic too.
    pub story: Option<&'a str>,
    /// The state document with the policy, as the caller wrote it.
    pub state_file: Option<&'a str>,
    /// The file with the session's output.
    pub output_file: Option<&'a str>,
}

/// The result of a verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The verifier: `session_exit`, `create_story_artifact`, `review_completion`, `epic_complete`.
    pub verifier: String,
    pub finding: Finding,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The given text does not name a story.
    UnknownStory { input: String },
    /// Only the end of the session counts, and the caller has seen it.
    SessionExit { story: Option<String>, output_file: Option<String> },
    /// The expected file of a new story, and the existing ones.
    Created { story: String, pattern: String, expected: i64, matches: Vec<PathBuf> },
    /// The status in the sprint status and in the story's file, and whether the review contract is fulfilled.
    Reviewed { story: String, sprint: String, story_file: String, outcome: Outcome },
    /// The stories of an epic, and how many of them are done.
    Epic { epic: String, asked: String, total: usize, done: usize },
}

impl Verdict {
    pub fn is_verified(&self) -> bool {
        self.reason().is_none()
    }

    /// Why not, if not.
    pub fn reason(&self) -> Option<&'static str> {
        match &self.finding {
            Finding::UnknownStory { .. } => Some("could_not_normalize_key"),
            Finding::Created { expected, matches, .. } if count(matches) != *expected => {
                Some("unexpected_story_artifact_count")
            }
            Finding::Reviewed { outcome: Outcome::NotComplete, .. } => {
                Some("workflow_not_complete")
            }
            Finding::Epic { total: 0, .. } => Some("no_stories_found"),
            Finding::Epic { total, done, .. } if done < total => Some("epic_incomplete"),
            _ => None,
        }
    }
}

/// The number of files in the type of policies.
pub fn count(files: &[PathBuf]) -> i64 {
    i64::try_from(files.len()).unwrap_or(i64::MAX)
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    #[error("story_key_required")]
    StoryKeyRequired,
    /// The policy, or what it requires, is invalid. Not the agent's fault.
    #[error("{0}")]
    Contract(String),
}

impl From<PolicyFault> for NotVerified {
    fn from(fault: PolicyFault) -> Self {
        Self::Contract(fault.to_string())
    }
}

impl From<StoryError> for NotVerified {
    fn from(error: StoryError) -> Self {
        Self::Contract(error.to_string())
    }
}

/// Runs the policy's verifier for the step.
pub fn verify(project: &Project, asked: Asked<'_>) -> Result<Verdict, NotVerified> {
    let policy = load::load(project, asked.state_file, Need::Words)?;
    let verifier = policy.step(asked.step)?.verifier().to_owned();
    let finding = match verifier.as_str() {
        "session_exit" => {
            let said = |text: Option<&str>| text.filter(|t| !t.is_empty()).map(ToOwned::to_owned);
            Finding::SessionExit { story: said(asked.story), output_file: said(asked.output_file) }
        }
        known => {
            let story = asked.story.ok_or(NotVerified::StoryKeyRequired)?;
            let stories = Stories::new(&project.root);
            match known {
                "create_story_artifact" => created(&stories, &policy, asked.step, story)?,
                "review_completion" => reviewed(&stories, &policy, story)?,
                _ => epic_complete(&stories, story)?,
            }
        }
    };
    Ok(Verdict { verifier, finding })
}

/// Checks the review contract, whatever verifier the policy names.
pub fn verify_review(
    project: &Project,
    story: &str,
    state_file: Option<&str>,
) -> Result<Verdict, NotVerified> {
    let policy = load::load(project, state_file, Need::Words)?;
    let finding = reviewed(&Stories::new(&project.root), &policy, story)?;
    Ok(Verdict { verifier: "review_completion".to_owned(), finding })
}

fn unknown(story: &str) -> Finding {
    Finding::UnknownStory { input: story.to_owned() }
}

fn created(
    stories: &Stories,
    policy: &Policy,
    step: &str,
    text: &str,
) -> Result<Finding, NotVerified> {
    let Some(story) = stories.story(text)? else { return Ok(unknown(text)) };
    let step = policy.step(step)?;
    let (id, prefix) = (story.id.to_string(), story.prefix());
    let wanted = Wanted { id: &id, prefix: &prefix, key: &story.key };
    let artifacts = stories.artifacts_below_root()?;
    let expected = artifact_glob::expected(
        step.success("glob"),
        step.success("expectedMatches"),
        wanted,
        &artifacts,
    )?;
    let folder = stories.root().join(&expected.folder);
    let matches = matching(stories.root(), &folder, &expected.name)?;
    let (pattern, expected) = (expected.pattern, expected.matches);
    Ok(Finding::Created { story: story.key, pattern, expected, matches })
}

/// Files of a directory that match the pattern, sorted. Links do not count.
fn matching(root: &Path, folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, StoryError> {
    let pattern = Pattern::new(pattern);
    files::list(root, folder, false, |name| pattern.fits(name))
        .map_err(|source| StoryError::Unreadable { path: folder.to_owned(), source })
}

fn reviewed(stories: &Stories, policy: &Policy, text: &str) -> Result<Finding, NotVerified> {
    let contract = contract(policy.step("review")?)?;
    let Some(story) = stories.story(text)? else { return Ok(unknown(text)) };
    let seen =
        Seen { sprint: sprint_status(stories, &story)?, story_file: file_status(stories, &story)? };
    let outcome = contract.judge(&seen);
    let Seen { sprint, story_file } = seen;
    Ok(Finding::Reviewed { story: story.key, sprint, story_file, outcome })
}

/// The contract file, overridden by the policy.
fn contract(step: Step<'_>) -> Result<Contract, PolicyFault> {
    let path = step.contract_path().to_owned();
    let text = step.data_text(DataFile::Contract);
    let file = if text.is_empty() { "{}" } else { text };
    let file: Value =
        serde_json::from_str(file).map_err(|_| PolicyFault::ReviewJson(path.clone()))?;
    let file = file.as_object().ok_or(PolicyFault::ReviewNotAnObject(path))?;
    let given =
        review::KEYS.iter().filter_map(|key| Some(((*key).to_owned(), step.success(key)?.clone())));
    Contract::read(file.clone(), given.collect())
}

fn sprint_status(stories: &Stories, story: &Story) -> Result<String, StoryError> {
    let Some(sprint) = stories.sprint()? else { return Ok("unknown".to_owned()) };
    let known = stories.known_epics()?;
    let row =
        sprint.find(&story.key, &known).or_else(|| sprint.find(&story.id.to_string(), &known));
    Ok(row.map_or_else(|| "not_found".to_owned(), |row| row.status.clone()))
}

fn file_status(stories: &Stories, story: &Story) -> Result<String, StoryError> {
    let files = stories.story_files(&story.prefix())?;
    let named = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem == story.key.as_str());
    let file = files.iter().find(named).or_else(|| files.first());
    file.map_or_else(|| Ok("unknown".to_owned()), |file| Ok(stories.story_file(file)?.status))
}

fn epic_complete(stories: &Stories, text: &str) -> Result<Finding, NotVerified> {
    let known = stories.known_epics()?;
    let sprint = stories.sprint()?.unwrap_or_default();
    let is_number = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
    let epic = if is_number || !sprint.stories_of(text, &known).is_empty() {
        text.to_owned()
    } else {
        let Some(story) = stories.story(text)? else { return Ok(unknown(text)) };
        story.id.epic
    };
    let rows = sprint.stories_of(&epic, &known);
    let done = rows.iter().filter(|(_, row)| row.is_done()).count();
    Ok(Finding::Epic { epic, asked: text.to_owned(), total: rows.len(), done })
}
