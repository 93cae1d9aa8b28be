//! `reconcile-story`: compares a story's file list with git.

use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_bmad::{NotReconciled, reconcile};

use crate::answers::{ExitCode, Prefix, StoryReconciled, failure, success};

use super::{Call, Reply, no, trouble};

pub(super) fn answer(call: &Call) -> Reply {
    let (repo, story) = match repo_and_story(call) {
        Ok(found) => found,
        Err(reply) => return reply,
    };
    match reconcile(&repo, story, call.flag("--write")) {
        Ok(found) => Reply::json(&success(StoryReconciled {
            in_sync: found.missing_from_story.is_empty() && found.stale_in_story.is_empty(),
            story_file: found.story_file,
            git_files: found.git_files,
            missing_from_story: found.missing_from_story,
            stale_in_story: found.stale_in_story,
            wrote: found.wrote,
        })),
        Err(error) => refused(call, &error),
    }
}

pub(super) fn repo_and_story<'a>(call: &Call<'a>) -> Result<(PathBuf, &'a str), Reply> {
    let given = |option: &str| call.option(option).filter(|value| !value.is_empty());
    let (Some(repo), Some(story)) = (given("--repo"), given("--story")) else {
        return Err(no("missing_args"));
    };
    let repo = Path::new(repo)
        .canonicalize()
        .logged_unless_missing("resolve a path")
        .filter(|repo| repo.is_dir());
    repo.map(|repo| (repo, story)).ok_or_else(|| no("repo_not_found"))
}

pub(super) fn refused(call: &Call, error: &NotReconciled) -> Reply {
    match error {
        NotReconciled::NoStory => no("story_key_invalid"),
        NotReconciled::NoFile { prefix } => {
            let prefix = Prefix { prefix: prefix.clone() };
            Reply::json(&failure("story_file_not_found", prefix)).failed()
        }
        NotReconciled::Git(failed) => {
            let reply = failure("git_status_failed", ExitCode { exit_code: failed.code });
            Reply { stderr: format!("{}\n", failed.words), ..Reply::json(&reply).failed() }
        }
        NotReconciled::Files(error) => trouble(call, error),
    }
}
