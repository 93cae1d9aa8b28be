//! The results of a story's tests, from their JUnit file.

use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::format::junit::{self, Counts};
use crate::format::prompt::quoted;
use crate::format::sections;
use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_store::make_project_folder;
use serde_json::Value;

use super::reconcile::{NotReconciled, below, story_file};
use super::{Stories, StoryError, read_text, rewrite_text};
use dogwatch_base::program;

const HEADING: &str = "Test Counts";
const POLICY: &str = "_bmad/bmm/story-automator.policy.json";
/// Time for a project's tests.
const AT_MOST: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestCounts {
    /// Why nothing could be counted.
    Skipped(&'static str),
    Counted {
        story_file: String,
        junit_path: String,
        counts: Counts,
        ran: Ran,
        wrote: bool,
    },
}

/// The source of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    Before,
    /// Run now, with this exit code.
    Now(i32),
}

#[derive(Debug, thiserror::Error)]
pub enum NotCounted {
    #[error("{0}")]
    Story(NotReconciled),
    #[error("{0}")]
    Policy(String),
    #[error("no test report can be read from {path}")]
    Junit { path: String },
}

impl From<StoryError> for NotCounted {
    fn from(error: StoryError) -> Self {
        Self::Story(NotReconciled::Files(error))
    }
}

/// The project's test configuration.
#[derive(Debug, Default)]
struct Tests {
    junit: String,
    command: String,
}

/// Uses a file that is younger than `since`; else runs the project's tests, if they are configured.
pub fn test_counts(
    repo: &Path,
    story: &str,
    since: Option<SystemTime>,
    write: bool,
) -> Result<TestCounts, NotCounted> {
    let (key, file) = story_file(&Stories::new(repo), story).map_err(NotCounted::Story)?;
    let tests = configured(repo)?;
    if tests.junit.is_empty() {
        return Ok(TestCounts::Skipped("test_not_configured"));
    }
    let junit_path = tests.junit.replace("{story}", &key);
    let junit = inside(repo, &junit_path).ok_or_else(|| {
        NotCounted::Policy(format!("test.junitPath leaves the project: {junit_path}"))
    })?;
    let written = || {
        std::fs::metadata(&junit)
            .and_then(|facts| facts.modified())
            .logged_unless_missing("look at a file")
    };
    let is_fresh = |at: SystemTime| since.is_none_or(|since| at >= since);
    let ran = match written() {
        Some(at) if is_fresh(at) => Ran::Before,
        before if !tests.command.is_empty() => {
            let code = run(repo, &tests.command, &junit, &junit_path, &key);
            if written().is_none() || written() == before {
                return Ok(TestCounts::Skipped("test_artifact_not_emitted"));
            }
            Ran::Now(code)
        }
        Some(_) => return Ok(TestCounts::Skipped("test_artifact_stale")),
        None => return Ok(TestCounts::Skipped("test_artifact_missing")),
    };
    let counts = read_text(repo, &junit)?.as_deref().and_then(junit::read);
    let counts = counts.ok_or_else(|| NotCounted::Junit { path: junit_path.clone() })?;
    let mut wrote = false;
    if write {
        let text = read_text(repo, &file)?.unwrap_or_default();
        wrote = rewrite_text(
            repo,
            &file,
            &text,
            &sections::with_section(&text, HEADING, &items(counts)),
        )?;
    }
    Ok(TestCounts::Counted { story_file: below(repo, &file), junit_path, counts, ran, wrote })
}

fn configured(repo: &Path) -> Result<Tests, NotCounted> {
    let Some(text) = read_text(repo, &repo.join(POLICY))? else { return Ok(Tests::default()) };
    let policy: Value = serde_json::from_str(&text)
        .map_err(|error| NotCounted::Policy(format!("policy json invalid: {POLICY}: {error}")))?;
    let word = |name: &str| match policy.get("test").and_then(|test| test.get(name)) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(NotCounted::Policy(format!("test.{name} must be a string"))),
    };
    Ok(Tests { junit: word("junitPath")?, command: word("command")? })
}

/// `None` if it leads out of the project.
fn inside(repo: &Path, path: &str) -> Option<PathBuf> {
    let parts = Path::new(path).components();
    let stays = parts.clone().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    stays.then(|| repo.join(path))
}

fn run(repo: &Path, command: &str, junit: &Path, junit_path: &str, key: &str) -> i32 {
    if let Some(folder) = junit.parent() {
        // On failure the tests report a better error.
        make_project_folder(repo, folder).logged("make a folder");
    }
    let script = command.replace("{junit}", &quoted(junit_path)).replace("{story}", &quoted(key));
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script).current_dir(repo);
    program::run(bash, b"", AT_MOST).map_or(program::NOT_STARTED, |ended| ended.shell_code())
}

fn items(counts: Counts) -> Vec<String> {
    let mut items = vec![
        format!("Tests: {}", counts.tests),
        format!("Failures: {}", counts.failures),
        format!("Errors: {}", counts.errors),
        format!("Skipped: {}", counts.skipped),
    ];
    items.extend(counts.assertions.map(|number| format!("Assertions: {number}")));
    items
}
