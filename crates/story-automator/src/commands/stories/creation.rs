//! `validate-story-creation`: checks that a session created exactly one story file.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use dogwatch_bmad::format::review::Outcome;
use dogwatch_bmad::{Asked, Finding, NotVerified, count, files, verify};
use serde::Serialize;

use super::{Call, Reply, stories, trouble};
use crate::call::is_option;
use crate::project;

const USAGE: &str = "Usage: validate-story-creation <action> [args]\n\nActions:\n  \
    count <story> [--artifacts-dir DIR]                     how many files there are\n  \
    check <story> [--before N --after N] [--state-file FILE]  whether it is the one expected\n  \
    list <story> [--artifacts-dir DIR]                      which files there are\n  \
    prefix <story>                                          how their names begin\n";

const USUAL_FOLDER: &str = "_bmad-output/implementation-artifacts";
const NO_OTHER_FOLDER: &str = "validate-story-creation check no longer supports --artifacts-dir overrides; use count/list for custom folders";

pub(super) fn validate(call: &Call) -> Reply {
    let Some((action, rest)) = call.split() else { return Reply::refused(USAGE) };
    match action {
        "" => Reply::refused(USAGE),
        "--help" | "-h" => Reply::text(USAGE),
        "count" => match found(&rest, "count") {
            Ok((_, files)) => Reply::line(files.len()),
            Err(reply) => reply,
        },
        "list" => match found(&rest, "list") {
            Ok((prefix, files)) => list(&prefix, &files),
            Err(reply) => reply,
        },
        "prefix" => match rest.word(0) {
            Some(story) => Reply::line(prefix_of(story)),
            None => usage("prefix"),
        },
        "check" => check(&rest),
        // The older form: <story> <before> <after>.
        _ => check_by_position(call),
    }
}

fn usage(action: &str) -> Reply {
    Reply::refused(format!("Usage: validate-story-creation {action} <story>\n"))
}

fn prefix_of(story: &str) -> String {
    story.replace('.', "-")
}

/// The prefix and the files of a story, in the project's directory or in another.
fn found(call: &Call, action: &str) -> Result<(String, Vec<PathBuf>), Reply> {
    let Some((story, rest)) = call.split() else { return Err(usage(action)) };
    let mut folder = None;
    let mut words = rest.words.iter();
    while let Some(word) = words.next() {
        if word != "--artifacts-dir" {
            return Err(Reply::refused(format!("unsupported {action} argument: {word}\n")));
        }
        let Some(value) = words.next().filter(|value| !is_option(value)) else {
            return Err(Reply::refused("--artifacts-dir requires a value\n"));
        };
        folder = Some(PathBuf::from(value));
    }
    let prefix = prefix_of(story);
    let folder = match folder {
        Some(folder) => folder,
        None => stories(call).artifacts().map_err(|error| trouble(call, &error))?,
    };
    let files = files(&call.project(), &folder, &format!("{prefix}-"))
        .map_err(|error| trouble(call, &error))?;
    Ok((prefix, files))
}

fn list(prefix: &str, files: &[PathBuf]) -> Reply {
    let mut text = format!("Story files matching {prefix}-*.md:\n");
    for file in files {
        text.push_str(&line(file));
        text.push('\n');
    }
    if files.is_empty() {
        text.push_str("  (none found)\n");
    }
    Reply::text(text)
}

/// Permissions, links, mode and size before the path.
fn line(file: &Path) -> String {
    let path = file.display();
    match file.metadata() {
        Ok(facts) => {
            format!(
                "{} {} {} {} {path}",
                permissions(&facts),
                facts.nlink(),
                facts.mode(),
                facts.size()
            )
        }
        Err(_) => path.to_string(),
    }
}

fn permissions(facts: &Metadata) -> String {
    let mode = facts.permissions().mode();
    let bit = |at: u32, letter: char| if mode & (1 << at) == 0 { '-' } else { letter };
    let rights = (0..9).rev().map(|at| bit(at, ['x', 'w', 'r'][at as usize % 3]));
    std::iter::once('-').chain(rights).collect()
}

/// The arguments of `check`.
#[derive(Default)]
struct Check<'a> {
    story: &'a str,
    before: Option<i64>,
    after: Option<i64>,
    state_file: Option<&'a str>,
}

/// Options of `check` as written.
#[derive(Default)]
struct Given<'a> {
    before: Option<&'a str>,
    after: Option<&'a str>,
    folder: Option<&'a str>,
}

fn check_by_position(call: &Call) -> Reply {
    let mut check = Check { story: call.word(0).unwrap_or_default(), ..Check::default() };
    let (Some(before), Some(after)) = (call.word(1), call.word(2)) else {
        return check.refused("both --before and --after are required together");
    };
    let counted = check.set_counts(Some(before), Some(after)).map_err(str::to_owned);
    match check.read(&call.words[3..]).and(counted) {
        Ok(()) => check.answer(),
        Err(reason) => check.refused(&reason),
    }
}

fn check(call: &Call) -> Reply {
    let Some((story, rest)) = call.split() else {
        return Check::default().refused("story_id required");
    };
    let mut check = Check { story, ..Check::default() };
    match check.read(rest.words) {
        Ok(()) => check.answer(),
        Err(reason) => check.refused(&reason),
    }
}

impl<'a> Check<'a> {
    /// On an error, the counts that were read before are reported too.
    fn read(&mut self, words: &'a [String]) -> Result<(), String> {
        let mut given = Given::default();
        let read = self.read_options(words, &mut given);
        if given.before.is_some() && given.after.is_some() {
            let counted = self.set_counts(given.before, given.after);
            read.and(counted.map_err(str::to_owned))?;
        } else {
            read?;
            if given.before.is_some() || given.after.is_some() {
                return Err("both --before and --after are required together".to_owned());
            }
        }
        let usual = |folder: &str| Path::new(folder) == project::root().join(USUAL_FOLDER);
        if given.folder.is_some_and(|folder| !usual(folder)) {
            return Err(NO_OTHER_FOLDER.to_owned());
        }
        Ok(())
    }

    fn read_options(&mut self, words: &'a [String], given: &mut Given<'a>) -> Result<(), String> {
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let value = match word {
                "--before" => &mut given.before,
                "--after" => &mut given.after,
                "--state-file" => &mut self.state_file,
                "--artifacts-dir" => &mut given.folder,
                other => return Err(format!("unsupported check argument: {other}")),
            };
            let word_after = words.next().filter(|after| !is_option(after));
            *value = Some(word_after.ok_or_else(|| format!("{word} requires a value"))?);
        }
        Ok(())
    }

    fn set_counts(
        &mut self,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<(), &'static str> {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
        let (Some(before), Some(after)) = (number(before), number(after)) else {
            return Err("before/after must be integers");
        };
        (self.before, self.after) = (Some(before), Some(after));
        Ok(())
    }

    fn difference(&self) -> Option<i64> {
        Some(self.after? - self.before?)
    }

    fn refused(&self, reason: &str) -> Reply {
        self.reply(self.difference().unwrap_or(0), 1, false, reason, None).failed()
    }

    fn answer(&self) -> Reply {
        let asked = Asked {
            step: "create",
            story: Some(self.story),
            state_file: self.state_file,
            ..Asked::default()
        };
        let verdict = match verify(&project::here(), asked) {
            Ok(verdict) => verdict,
            Err(NotVerified::StoryKeyRequired) => return self.refused("story_id required"),
            Err(error) => return self.refused(&error.to_string()),
        };
        let (expected, actual) = match &verdict.finding {
            Finding::Created { expected, matches, .. } => (*expected, Some(count(matches))),
            _ => (1, None),
        };
        let created = self.difference().or(actual).unwrap_or(0);
        let valid = created == expected;
        let reason = match created {
            _ if valid && expected == 1 => "Exactly 1 story file created as expected".to_owned(),
            _ if valid => format!("Exactly {expected} story files created as expected"),
            0 => "No story file created - session may have failed".to_owned(),
            less if less < 0 => format!("Story files decreased ({less}) - unexpected deletion"),
            more if more > expected => {
                format!("RUNAWAY CREATION: {more} files created instead of {expected}")
            }
            other => {
                format!("Unexpected story artifact count: {other} files instead of {expected}")
            }
        };
        self.reply(created, expected, valid, &reason, Some(&verdict.finding))
    }

    fn reply(
        &self,
        created: i64,
        expected: i64,
        valid: bool,
        reason: &str,
        finding: Option<&Finding>,
    ) -> Reply {
        let (mut pattern, mut matches) = ("", Vec::new());
        let (source, story) = match finding {
            Some(Finding::Created { story, pattern: wanted, matches: found, .. }) => {
                pattern = wanted;
                matches = found.iter().map(|path| path.display().to_string()).collect();
                ("artifact_glob", Some(story.as_str()))
            }
            Some(Finding::SessionExit { story, .. }) => ("session_exit", story.as_deref()),
            Some(Finding::Reviewed { story, outcome, .. }) => match outcome {
                Outcome::Complete { source, .. } => (source.as_str(), Some(story.as_str())),
                Outcome::NotComplete => ("", Some(story.as_str())),
            },
            Some(Finding::Epic { total: 0, .. }) => ("sprint-status.yaml", None),
            Some(Finding::Epic { asked, .. }) => ("sprint-status.yaml", Some(asked.as_str())),
            Some(Finding::UnknownStory { .. }) | None => ("", None),
        };
        let both = self.before.zip(self.after);
        Reply::json(&Creation {
            valid,
            verified: valid,
            created_count: created,
            expected,
            prefix: prefix_of(self.story),
            action: if valid { "proceed" } else { "escalate" },
            reason,
            source,
            pattern,
            matches,
            before: both.map(|(before, _)| before),
            after: both.map(|(_, after)| after),
            story,
        })
    }
}

/// The answer about the files of a new story.
#[derive(Debug, Serialize)]
struct Creation<'a> {
    valid: bool,
    verified: bool,
    created_count: i64,
    expected: i64,
    prefix: String,
    action: &'a str,
    reason: &'a str,
    source: &'a str,
    pattern: &'a str,
    matches: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a str>,
}
