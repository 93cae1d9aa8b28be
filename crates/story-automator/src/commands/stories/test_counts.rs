//! `test-counts`: how a story's tests went.

use std::time::{Duration, SystemTime};

use dogwatch_bmad::{NotCounted, Ran, TestCounts, test_counts};
use serde_json::json;

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
        Ok(TestCounts::Skipped(reason)) => Reply::json(&json!({
            "ok": true, "skipped": true, "reason": reason, "test_counts": null, "wrote": false,
        })),
        Ok(TestCounts::Counted { story_file, junit_path, counts, ran, wrote }) => {
            let source = if ran == Ran::Before { "capture" } else { "rerun" };
            let mut reply = json!({
                "ok": true, "skipped": false, "story_file": story_file, "source": source,
                "junit_path": junit_path, "test_counts": counts, "wrote": wrote,
            });
            if let Ran::Now(code) = ran {
                reply["command_exit"] = json!(code);
            }
            Reply::json(&reply)
        }
        Err(NotCounted::Story(error)) => refused(call, &error),
        Err(NotCounted::Policy(detail)) => {
            let reply = json!({"ok": false, "error": "policy_invalid", "detail": detail});
            Reply::json(&reply).failed()
        }
        Err(NotCounted::Junit { path }) => {
            let reply = json!({"ok": false, "error": "junit_parse_failed", "junit_path": path});
            Reply::json(&reply).failed()
        }
    }
}

/// Seconds since 1970, with or without a fraction.
fn moment(text: &str) -> Option<SystemTime> {
    let seconds: f64 = text.trim().parse().ok()?;
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}
