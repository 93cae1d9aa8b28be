//! `orchestrator-helper normalize-key` and `story-file-status`: resolves a story's name, and reads its file.

use crate::answers::{Input, Prefix, StoryFileStatus, StoryNormalized, failure, success};

use super::{Call, Reply, no, stories, trouble};

pub(super) fn normalize(call: &Call) -> Reply {
    let Some(input) = call.word(0) else { return no("input required") };
    let story = match stories(call).story(input) {
        Err(error) => return trouble(call, &error),
        Ok(None) => {
            return Reply::json(&failure("unrecognized format", Input { input })).failed();
        }
        Ok(Some(story)) => story,
    };
    let form = if call.word(1) == Some("--to") { call.word(2) } else { None };
    match form {
        Some("id") => Reply::line(story.id),
        Some("key") => Reply::line(story.key),
        Some("prefix") => Reply::line(story.prefix()),
        _ => Reply::json(&success(StoryNormalized {
            id: story.id.to_string(),
            prefix: story.prefix(),
            key: &story.key,
        })),
    }
}

pub(super) fn file_status(call: &Call) -> Reply {
    let Some(input) = call.word(0) else { return no("story input required") };
    let stories = stories(call);
    let story = match stories.story(input) {
        Err(error) => return trouble(call, &error),
        Ok(None) => {
            let input = Input { input };
            return Reply::json(&failure("could not normalize story key", input)).failed();
        }
        Ok(Some(story)) => story,
    };
    let read = stories.file_of(&story).and_then(|path| match path {
        Some(path) => stories.story_file(&path).map(|file| Some((path, file))),
        None => Ok(None),
    });
    match read {
        Err(error) => trouble(call, &error),
        Ok(None) => {
            let prefix = Prefix { prefix: story.prefix() };
            Reply::json(&failure("story file not found", prefix)).failed()
        }
        Ok(Some((path, file))) => Reply::json(&success(StoryFileStatus {
            story_key: &story.key,
            file: path.to_string_lossy().into_owned(),
            status: &file.status,
            title: &file.title,
        })),
    }
}
