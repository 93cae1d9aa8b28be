//! Verifies from files whether a step is done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::workflow::definition::{Count, Tree as Wanted};
use dogwatch_core::workflow::{Fact, Failure, How, Job, Step, Verifier};
use jiff::SignedDuration;
use regex_lite::Regex;

use super::git::Tree;
use super::stories;
use crate::Error;
use crate::observe::files;
use crate::workflow::run_context::{RunContext, stays_inside};
use dogwatch_base::program;

/// Limit on the output that is read.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// What one verifier found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    Holds(String),
    Not(String),
    /// It shows that the step failed.
    Refuted(String),
    /// It shows nothing either way.
    Silent(String),
}

/// What is to be verified.
pub(super) struct Asked<'a> {
    pub(super) job: &'a Job,
    pub(super) n: u32,
    /// How the session ended; `None` for a check without a session.
    pub(super) how: Option<&'a How>,
    pub(super) output: Option<&'a str>,
    /// The check already held before the attempt.
    pub(super) held: bool,
}

/// The verdict on an attempt, as a fact.
pub(super) fn verify(ctx: &RunContext<'_>, step: &Step, asked: &Asked<'_>) -> Result<Fact, Error> {
    let (job, n) = (asked.job.clone(), asked.n);
    let found = findings(ctx, step, asked)?;
    let failed = |failure, why: String, until| {
        // A failure needs only its reason; add the story's progress if it is readable.
        let story = stories::look(ctx, asked.job).logged("read a story").unwrap_or_default();
        let (progress, not_clean) = (story.tasks_done, step.is_loop && story.is_in_progress);
        Fact::Failed { job: asked.job.clone(), n, failure, why, until, progress, not_clean }
    };
    if let Some(How::Failed { failure, why, until }) = asked.how {
        // The session may have died after its work was done: files that were not there before prove it.
        let proofs: Vec<&Finding> =
            found.iter().filter(|(proves, _)| *proves).map(|(_, f)| f).collect();
        let all = !proofs.is_empty() && proofs.iter().all(|f| matches!(f, Finding::Holds(_)));
        if all && !asked.held {
            let evidence = format!("{}, although {why}", in_words(&found));
            return Ok(Fact::Verified { job, n, evidence });
        }
        return Ok(failed(*failure, why.clone(), *until));
    }
    let refuted = found.iter().find_map(|(_, f)| match f {
        Finding::Refuted(why) => Some(why.clone()),
        _ => None,
    });
    if let Some(why) = refuted {
        return Ok(failed(Failure::Failed, why, None));
    }
    let missing = found.iter().find_map(|(_, f)| match f {
        Finding::Not(why) => Some(why.clone()),
        _ => None,
    });
    let silent = found.iter().find_map(|(_, f)| match f {
        Finding::Silent(why) => Some(why.clone()),
        _ => None,
    });
    let nothing_proves = !found.iter().any(|(proves, _)| *proves);
    match (missing, silent) {
        // Neither files nor output show anything.
        (Some(why), Some(silent)) => Ok(failed(Failure::Unclear, format!("{why}; {silent}"), None)),
        (None, Some(silent)) if nothing_proves => Ok(failed(Failure::Unclear, silent, None)),
        (Some(why), None) => Ok(failed(Failure::Unverified, why, None)),
        (None, _) => Ok(Fact::Verified { job, n, evidence: in_words(&found) }),
    }
}

/// Whether the step is done already, before any attempt.
pub(super) fn holds(ctx: &RunContext<'_>, step: &Step, job: &Job) -> Result<Option<String>, Error> {
    let asked = Asked { job, n: 1, how: None, output: None, held: false };
    let found = findings(ctx, step, &asked)?;
    let all = !found.is_empty() && found.iter().all(|(_, f)| matches!(f, Finding::Holds(_)));
    Ok(all.then(|| in_words(&found)))
}

/// The finding of each verifier, and whether it proves anything without a session.
fn findings(
    ctx: &RunContext<'_>,
    step: &Step,
    asked: &Asked<'_>,
) -> Result<Vec<(bool, Finding)>, Error> {
    let mut found = Vec::new();
    for verifier in &step.verify {
        let proves = verifier.proves();
        // Without a session there is no end and no output to check.
        if proves || asked.how.is_some() {
            found.push((proves, one(ctx, step, verifier, asked)?));
        }
    }
    Ok(found)
}

fn in_words(found: &[(bool, Finding)]) -> String {
    let words: Vec<&str> = found
        .iter()
        .filter_map(|(_, f)| if let Finding::Holds(text) = f { Some(text.as_str()) } else { None })
        .collect();
    if words.is_empty() { "exited cleanly".into() } else { words.join("; ") }
}

fn one(
    ctx: &RunContext<'_>,
    step: &Step,
    verifier: &Verifier,
    asked: &Asked<'_>,
) -> Result<Finding, Error> {
    let folder = ctx.folder(asked.job);
    let text = |text: &str| ctx.fill(text, asked.job, asked.n);
    Ok(match verifier {
        Verifier::SessionExit => match asked.how {
            Some(How::Failed { why, .. }) => Finding::Not(why.clone()),
            Some(How::Finished) | None => Finding::Holds("its session exited cleanly".into()),
        },
        Verifier::Files { glob, count } => matching_files(&folder, &text(glob), *count),
        Verifier::Status { is } => {
            let story = stories::look(ctx, asked.job)?;
            let fits = |said: &Option<String>| said.as_ref().is_some_and(|said| one_of(is, said));
            if fits(&story.sprint_status) {
                Finding::Holds(format!(
                    "sprint status says {}",
                    story.sprint_status.unwrap_or_default()
                ))
            } else if fits(&story.file_status) {
                Finding::Holds(format!(
                    "the story's file says {}",
                    story.file_status.unwrap_or_default()
                ))
            } else {
                Finding::Not(story.in_words())
            }
        }
        Verifier::SprintStatus { is } => {
            let story = stories::look(ctx, asked.job)?;
            said("sprint status", story.sprint_status.as_deref(), is)
        }
        Verifier::StoryFile { is } => {
            let story = stories::look(ctx, asked.job)?;
            said("the story's file", story.file_status.as_deref(), is)
        }
        Verifier::Policy => stories::by_policy(ctx, step, asked)?,
        Verifier::Build => super::builds::verify(ctx, asked.job)?,
        Verifier::Git { tree } => work_tree(ctx, &folder, *tree)?,
        Verifier::Command { run, timeout } => command(&folder, &text(run), *timeout)?,
        Verifier::Output { success, failure } => {
            words(asked.output, success.as_deref(), failure.as_deref())
        }
    })
}

fn work_tree(ctx: &RunContext<'_>, folder: &Path, wanted: Wanted) -> Result<Finding, Error> {
    let Some(git) = Tree::of(folder) else {
        return Ok(Finding::Not(format!("{} is not in a git repository", folder.display())));
    };
    // Changes from before the run do not count.
    let mut changed = git.changes()?;
    changed.retain(|path, mark| ctx.settings.dirty.get(path) != Some(mark));
    Ok(match (wanted, changed.len()) {
        (Wanted::Dirty, 0) => Finding::Not("no file was changed".into()),
        (Wanted::Clean, 0) => Finding::Holds("no uncommitted changes".into()),
        (Wanted::Dirty, n) => Finding::Holds(format!("{n} files changed")),
        (Wanted::Clean, n) => Finding::Not(format!("{n} files are uncommitted")),
    })
}

fn command(folder: &Path, run: &str, timeout: SignedDuration) -> Result<Finding, Error> {
    let limit = Duration::try_from(timeout).unwrap_or(Duration::from_mins(10));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", run]).current_dir(folder);
    let ended = program::run(shell, b"", limit).map_err(Error::io(format!("run {run}")))?;
    Ok(if ended.is_fine() {
        Finding::Holds(format!("`{run}` succeeded"))
    } else {
        Finding::Not(format!("`{run}`: {}", ended.complaint()))
    })
}

/// Searches the output for the success and failure texts.
fn words(output: Option<&str>, success: Option<&str>, failure: Option<&str>) -> Finding {
    let said =
        output.and_then(|path| files::read_tail(Path::new(path), MOST_OUTPUT)).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let finds = |pattern: Option<&str>| {
        let regex = pattern.and_then(|pattern| Regex::new(pattern).ok())?;
        let found = regex.find_iter(&said).last()?;
        let line = said[found.start()..].trim_start().lines().next().unwrap_or_default();
        Some((found.start(), line.to_owned()))
    };
    match (finds(success), finds(failure)) {
        (Some((good, line)), bad) if bad.as_ref().is_none_or(|(bad, _)| good > *bad) => {
            Finding::Holds(format!("it says {line:?}"))
        }
        (_, Some((_, line))) => Finding::Refuted(format!("it says {line:?}")),
        (_, None) => Finding::Silent("its last message states neither success nor failure".into()),
    }
}

fn said(who: &str, what: Option<&str>, wanted: &[String]) -> Finding {
    match what {
        Some(word) if one_of(wanted, word) => Finding::Holds(format!("{who} says {word}")),
        Some(word) => Finding::Not(format!("{who} says {word}, not {}", wanted.join(" or "))),
        None => Finding::Not(format!("{who} has no entry for it")),
    }
}

fn one_of(words: &[String], word: &str) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn matching_files(folder: &Path, pattern: &str, count: Count) -> Finding {
    if !stays_inside(Path::new(pattern)) {
        return Finding::Not(format!("{pattern} is outside the project"));
    }
    let found = matching(folder, pattern);
    let names: Vec<String> =
        found.iter().map(|p| p.strip_prefix(folder).unwrap_or(p).display().to_string()).collect();
    let fits = match count {
        Count::Exactly(n) => found.len() == n as usize,
        Count::AtLeast(n) => found.len() >= n as usize,
    };
    let list = names.join(", ");
    if fits {
        Finding::Holds(if list.is_empty() { format!("no {pattern}") } else { list })
    } else if names.is_empty() {
        Finding::Not(format!("no file matches {pattern}"))
    } else {
        Finding::Not(format!("{} files match {pattern}: {list}", names.len()))
    }
}

/// Files below a directory whose paths match, with `*` for a part of one name. Links are not followed.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        found =
            found.iter().flat_map(|dir| crate::observe::transcripts::entries(dir, part)).collect();
        found.retain(|path| !path.is_symlink());
    }
    found.retain(|path| path.is_file());
    found
}
