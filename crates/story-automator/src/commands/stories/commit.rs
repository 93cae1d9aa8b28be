//! `commit-story` and `orchestrator-helper commit-ready`: commit the work on a story.

use std::path::Path;

use dogwatch_base::git::{GitFailed, WorkTree};
use dogwatch_bmad::{LeftOut, NotCommitted, commit};

use crate::answers::{LeftOutFile, NotReady, ReadyToCommit, StoryCommitted, Unmerged, failure};

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
            let ok = committed.commit.is_some();
            Reply::json(&StoryCommitted {
                ok,
                commit: committed.commit,
                error: (!ok).then_some("no_changes"),
                left_out: committed.left_out.into_iter().map(left_out).collect(),
            })
        }
        Err(NotCommitted::Status(failed)) => git_failed("git_status_failed", &failed),
        Err(NotCommitted::Add(failed)) => git_failed("git_add_failed", &failed),
        Err(NotCommitted::Commit(failed)) => git_failed("commit_failed", &failed),
        Err(NotCommitted::Unmerged(paths)) => {
            Reply::json(&failure("unmerged_paths", Unmerged { paths })).failed()
        }
    }
}

fn left_out(file: LeftOut) -> LeftOutFile {
    LeftOutFile { path: file.path, reason: file.reason }
}

/// git's own message goes to stderr.
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
        return Reply::json(&not_ready("story_id required", None)).failed();
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
            return Reply::json(&NotReady {
                current_status: Some(status),
                ..not_ready("Story not done yet", Some(story))
            });
        }
    }
    match WorkTree::of(stories.root()).and_then(|tree| tree.changes()) {
        Err(failed) => Reply::json(&NotReady {
            exit_code: Some(failed.code),
            ..not_ready("git_status_failed", Some(story))
        }),
        Ok(changes) if changes.is_empty() => {
            Reply::json(&not_ready("No uncommitted changes", Some(story)))
        }
        Ok(_) => Reply::json(&ReadyToCommit {
            ready: true,
            story,
            status: "done",
            uncommitted_changes: true,
        }),
    }
}

fn not_ready<'a>(reason: &'a str, story: Option<&'a str>) -> NotReady<'a> {
    NotReady { ready: false, reason, exit_code: None, story, current_status: None }
}
