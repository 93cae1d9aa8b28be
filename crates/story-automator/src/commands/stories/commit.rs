//! `commit-story` and `orchestrator-helper commit-ready`: a story's work, as one commit.

use std::path::Path;

use dogwatch_base::git::{GitFailed, WorkTree};
use dogwatch_bmad::{LeftOut, NotCommitted, commit};
use serde_json::{Map, Value, json};

use super::{Call, Reply, no, stories, trouble};

pub(super) fn commit_story(call: &Call) -> Reply {
    let given = |option: &str| call.option(option).filter(|value| !value.is_empty());
    let [Some(repo), Some(story), Some(title)] = ["--repo", "--story", "--title"].map(given) else {
        return no("missing_args");
    };
    if !Path::new(repo).is_dir() {
        return no("repo_not_found");
    }
    match commit(Path::new(repo), &format!("feat(story-{story}): {title}")) {
        Ok(committed) => {
            let mut reply = Map::new();
            reply.insert("ok".into(), json!(committed.commit.is_some()));
            match committed.commit {
                Some(commit) => reply.insert("commit".into(), json!(commit)),
                None => reply.insert("error".into(), json!("no_changes")),
            };
            if !committed.left_out.is_empty() {
                reply.insert("leftOut".into(), list(&committed.left_out));
            }
            Reply::json(&reply)
        }
        Err(NotCommitted::Status(failed)) => git_failed("git_status_failed", &failed),
        Err(NotCommitted::Add(failed)) => git_failed("git_add_failed", &failed),
        Err(NotCommitted::Commit(failed)) => git_failed("commit_failed", &failed),
        Err(NotCommitted::Unmerged(paths)) => {
            Reply::json(&json!({"ok": false, "error": "unmerged_paths", "paths": paths})).failed()
        }
    }
}

fn list(left_out: &[LeftOut]) -> Value {
    left_out.iter().map(|file| json!({"path": file.path, "reason": file.reason})).collect()
}

/// git's own words go to the person.
fn git_failed(error: &str, failed: &GitFailed) -> Reply {
    let reply = no(error);
    if failed.words.is_empty() {
        reply
    } else {
        Reply { stderr: format!("{}\n", failed.words), ..reply }
    }
}

pub(super) fn commit_ready(call: &Call) -> Reply {
    let Some(story) = call.word(0) else {
        return Reply::json(&json!({"ready": false, "reason": "story_id required"})).failed();
    };
    let stories = stories(call);
    let status = stories.sprint().and_then(|sprint| {
        let Some(sprint) = sprint else { return Ok("unknown".to_owned()) };
        let row = sprint.find(story, &stories.known_epics()?);
        Ok(row.map_or_else(|| "not_found".to_owned(), |row| row.status.clone()))
    });
    match status.as_deref() {
        Err(error) => return trouble(call, error),
        Ok("done") => {}
        Ok(status) => {
            return Reply::json(&json!({
                "ready": false, "reason": "Story not done yet", "story": story, "current_status": status,
            }));
        }
    }
    let reply = match WorkTree::of(stories.root()).and_then(|tree| tree.changes()) {
        Err(failed) => json!({
            "ready": false, "reason": "git_status_failed", "exit_code": failed.code, "story": story,
        }),
        Ok(changes) if changes.is_empty() => {
            json!({"ready": false, "reason": "No uncommitted changes", "story": story})
        }
        Ok(_) => {
            json!({"ready": true, "story": story, "status": "done", "uncommitted_changes": true})
        }
    };
    Reply::json(&reply)
}
