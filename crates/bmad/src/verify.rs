//! Has a step done what it is for? Its files say.

use std::path::{Path, PathBuf};

use dogwatch_base::glob::Pattern;

use crate::format::artifact_glob::{self, Wanted};
use crate::format::review::{self, Contract, Outcome, Seen};
use crate::policy::fault::PolicyFault;
use crate::policy::{DataFile, Policy, Step};
use serde_json::{Map, Value, json};

use super::{Project, Stories, Story, StoryError};
use crate::policy::load::{self, Need};
use crate::project::files;

/// What is to be verified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// `create`, `dev`, `auto`, `review` or `retro`.
    pub step: &'a str,
    /// A story's id, prefix or key; for `retro` an epic too.
    pub story: Option<&'a str>,
    /// The state document whose policy counts, as the caller wrote it.
    pub state_file: Option<&'a str>,
    /// Where the session's output was kept.
    pub output_file: Option<&'a str>,
}

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub verified: bool,
    /// The verifier that was asked: `session_exit`, `create_story_artifact`, `review_completion`, `epic_complete`.
    pub verifier: String,
    /// Why not, if not.
    pub reason: Option<String>,
    /// All of it, as it is printed.
    pub report: Map<String, Value>,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    #[error("story_key_required")]
    StoryKeyRequired,
    /// The policy, or what it asks for, is not as it should be. Not the agent's fault.
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

/// Asks the verifier that the policy names for the step.
pub fn verify(project: &Project, asked: Asked<'_>) -> Result<Verdict, NotVerified> {
    let policy = load::load(project, asked.state_file, Need::Words)?;
    let verifier = policy.step(asked.step)?.verifier().to_owned();
    let report = match verifier.as_str() {
        "session_exit" => session_exit(asked),
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
    Ok(verdict(&verifier, report))
}

/// Asks the review contract, whatever verifier the policy names.
pub fn verify_review(
    project: &Project,
    story: &str,
    state_file: Option<&str>,
) -> Result<Verdict, NotVerified> {
    let policy = load::load(project, state_file, Need::Words)?;
    let report = reviewed(&Stories::new(&project.root), &policy, story)?;
    Ok(verdict("review_completion", report))
}

fn verdict(verifier: &str, report: Value) -> Verdict {
    let report = report.as_object().cloned().unwrap_or_default();
    Verdict {
        verified: report.get("verified").and_then(Value::as_bool).unwrap_or(false),
        verifier: verifier.to_owned(),
        reason: report.get("reason").and_then(Value::as_str).map(ToOwned::to_owned),
        report,
    }
}

fn unknown_key(story: &str) -> Value {
    json!({"verified": false, "reason": "could_not_normalize_key", "input": story})
}

/// That the session has ended is all there is to see; the caller has seen it.
fn session_exit(asked: Asked<'_>) -> Value {
    let mut report = json!({"verified": true, "source": "session_exit"});
    for (key, value) in [("story", asked.story), ("outputFile", asked.output_file)] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            report[key] = Value::from(value);
        }
    }
    report
}

fn created(
    stories: &Stories,
    policy: &Policy,
    step: &str,
    text: &str,
) -> Result<Value, NotVerified> {
    let Some(story) = stories.story(text)? else { return Ok(unknown_key(text)) };
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
    let count = i64::try_from(matches.len()).unwrap_or(i64::MAX);
    let verified = count == expected.matches;
    let mut report = json!({
        "verified": verified,
        "story": story.key,
        "source": "artifact_glob",
        "pattern": expected.pattern,
        "expectedMatches": expected.matches,
        "actualMatches": count,
        "matches": matches.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    });
    if !verified {
        report["reason"] = Value::from("unexpected_story_artifact_count");
    }
    Ok(report)
}

/// Files of a folder whose names are as the pattern says, sorted. A link is none.
fn matching(root: &Path, folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, StoryError> {
    let pattern = Pattern::new(pattern);
    files::list(root, folder, false, |name| pattern.fits(name))
        .map_err(|source| StoryError::Unreadable { path: folder.to_owned(), source })
}

fn reviewed(stories: &Stories, policy: &Policy, text: &str) -> Result<Value, NotVerified> {
    let contract = contract(policy.step("review")?)?;
    let Some(story) = stories.story(text)? else { return Ok(unknown_key(text)) };
    let seen =
        Seen { sprint: sprint_status(stories, &story)?, story_file: file_status(stories, &story)? };
    let outcome = contract.judge(&seen);
    let mut report = json!({
        "verified": outcome != Outcome::NotComplete,
        "story": story.key,
        "sprint_status": seen.sprint,
        "story_file_status": seen.story_file,
    });
    match outcome {
        Outcome::NotComplete => report["reason"] = Value::from("workflow_not_complete"),
        Outcome::Complete { source, sprint_lags } => {
            report["source"] = Value::from(source);
            if sprint_lags {
                report["note"] = Value::from("sprint_status_not_updated");
            }
        }
    }
    Ok(report)
}

/// The contract file, with what the policy says beside it.
fn contract(step: Step<'_>) -> Result<Contract, PolicyFault> {
    let path = step.contract_path().to_owned();
    let text = step.data_text(DataFile::Contract);
    let file = if text.is_empty() { "{}" } else { text };
    let file: Value =
        serde_json::from_str(file).map_err(|_| PolicyFault::ReviewJson(path.clone()))?;
    let file = file.as_object().ok_or(PolicyFault::ReviewNotAnObject(path))?;
    let told =
        review::KEYS.iter().filter_map(|key| Some(((*key).to_owned(), step.success(key)?.clone())));
    Contract::read(file.clone(), told.collect())
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

fn epic_complete(stories: &Stories, text: &str) -> Result<Value, NotVerified> {
    let known = stories.known_epics()?;
    let sprint = stories.sprint()?.unwrap_or_default();
    let is_number = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
    let epic = if is_number || !sprint.stories_of(text, &known).is_empty() {
        text.to_owned()
    } else {
        let Some(story) = stories.story(text)? else { return Ok(unknown_key(text)) };
        story.id.epic
    };
    let rows = sprint.stories_of(&epic, &known);
    if rows.is_empty() {
        return Ok(json!({
            "verified": false, "epic": epic, "reason": "no_stories_found", "source": "sprint-status.yaml",
        }));
    }
    let done = rows.iter().filter(|(_, row)| row.is_done()).count();
    let mut report = json!({
        "verified": done == rows.len(),
        "epic": epic,
        "story": text,
        "totalStories": rows.len(),
        "doneStories": done,
        "source": "sprint-status.yaml",
    });
    if done < rows.len() {
        report["reason"] = Value::from("epic_incomplete");
    }
    Ok(report)
}
