//! `test-counts`: the results of a story's tests.

use std::time::{Duration, SystemTime};

use dogwatch_bmad::{NotCounted, Ran, TestCounts, test_counts};

use crate::answers::{BadReport, Detail, TestsCounted, TestsSkipped, failure, success};

use super::reconcile::{refused, repo_and_story};
use super::{Call, Reply, no};

const USAGE: &str = "Usage: test-counts --repo DIR --story STORY [--since EPOCH] [--write]";

pub(super) fn answer(call: &Call) -> Reply {
    if call.asks_for_help() {
        return Reply::line(USAGE);
    }
    let (repo, story) = match repo_and_story(call) {
        Ok(found) => found,
        Err(reply) => return reply,
    };
    let since = match call.option("--since").filter(|since| !since.is_empty()).map(moment) {
        None => None,
        Some(Some(since)) => Some(since),
        Some(None) => return no("since_invalid"),
    };
    match test_counts(&repo, story, since, call.flag("--write")) {
        Ok(TestCounts::Skipped(reason)) => Reply::json(&success(TestsSkipped {
            skipped: true,
            reason,
            test_counts: None,
            wrote: false,
        })),
        Ok(TestCounts::Counted { story_file, junit_path, counts, ran, wrote }) => {
            let source = if ran == Ran::Before { "capture" } else { "rerun" };
            let command_exit = if let Ran::Now(code) = ran { Some(code) } else { None };
            Reply::json(&success(TestsCounted {
                skipped: false,
                story_file,
                source,
                junit_path,
                test_counts: counts,
                wrote,
                command_exit,
            }))
        }
        Err(NotCounted::Story(error)) => refused(call, &error),
        Err(NotCounted::Policy(detail)) => {
            Reply::json(&failure("policy_invalid", Detail { detail })).failed()
        }
        Err(NotCounted::Junit { path }) => {
            Reply::json(&failure("junit_parse_failed", BadReport { junit_path: path })).failed()
        }
    }
}

/// Seconds since 1970, with or without a fraction.
fn moment(text: &str) -> Option<SystemTime> {
    let seconds: f64 = text.trim().parse().ok()?;
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}
