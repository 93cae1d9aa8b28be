//! `orchestrator-helper get-epic-stories`, `check-epic-complete`, `check-blocking`: the stories of one epic, from any
//! source that has them.

use std::path::Path;

use dogwatch_bmad::format::epic_file::EpicFile;
use dogwatch_bmad::format::front_matter;
use dogwatch_bmad::format::keys::{self, KnownEpics, StoryId};
use dogwatch_bmad::{StoryError, read_text};

use crate::answers::{
    BlockingChecked, EpicChecked, EpicNumber, EpicStories, Input, NoEpicStories, failure, success,
};

use super::{Call, Reply, no, stories, trouble};

/// A story as its source names it.
type Named = (StoryId, String);

pub(super) fn get_stories(call: &Call) -> Reply {
    let Some(epic) = call.word(0) else { return no("epic_number_required") };
    match all_sources(call, epic) {
        Err(error) => trouble(call, &error),
        Ok(None) => {
            Reply::json(&NoEpicStories { ok: false, epic, error: "no_stories_found", count: 0 })
        }
        Ok(Some((named, source))) => {
            let names: Vec<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
            let count = names.len();
            Reply::json(&success(EpicStories { epic, stories: names, count, source }))
        }
    }
}

type Found = Result<Option<(Vec<Named>, &'static str)>, StoryError>;

fn all_sources(call: &Call, epic: &str) -> Found {
    let known = stories(call).known_epics()?;
    if let Some(named) = from_state(call, epic, &known)?.filter(|named| !named.is_empty()) {
        return Ok(Some((named, "state_file")));
    }
    let named = from_sprint(call, epic, &known)?;
    if !named.is_empty() {
        return Ok(Some((named, "sprint_status")));
    }
    let Some(file) = epic_file(call, epic, &known)? else { return Ok(None) };
    let of_epic = file.stories.into_iter().filter(|story| story.id.epic == epic);
    let mut named: Vec<Named> =
        of_epic.map(|story| (story.id.clone(), story.id.to_string())).collect();
    named.sort_by_key(|(id, _)| id.place());
    Ok((!named.is_empty()).then_some((named, "epic_file")))
}

/// `None` without a state document.
fn from_state(
    call: &Call,
    epic: &str,
    known: &KnownEpics,
) -> Result<Option<Vec<Named>>, StoryError> {
    let path = call.option("--state-file").map(Path::new).filter(|path| path.is_file());
    let Some(path) = path else { return Ok(None) };
    let Some(text) = read_text(&call.project(), path)? else { return Ok(None) };
    let range = front_matter::split(&text)
        .0
        .and_then(|front| front_matter::list(front, "storyRange"))
        .unwrap_or_default();
    let of_epic = |name: String| {
        let id = keys::read(&name, known)?.id;
        (id.epic == epic).then_some((id, name))
    };
    Ok(Some(range.into_iter().filter_map(of_epic).collect()))
}

fn from_sprint(call: &Call, epic: &str, known: &KnownEpics) -> Result<Vec<Named>, StoryError> {
    let sprint = stories(call).sprint()?.unwrap_or_default();
    let rows = sprint.stories_of(epic, known);
    Ok(rows.into_iter().map(|(id, row)| (id, row.key.clone())).collect())
}

fn epic_file(call: &Call, epic: &str, known: &KnownEpics) -> Result<Option<EpicFile>, StoryError> {
    let Some(path) = stories(call).epic_file(epic)? else { return Ok(None) };
    Ok(read_text(&call.project(), &path)?.map(|text| EpicFile::read(&text, known)))
}

pub(super) fn check_complete(call: &Call) -> Reply {
    let epic = call.word(0).filter(|word| !word.is_empty());
    let (Some(epic), Some(story)) = (epic, call.word(1)) else {
        return no("epic_number and story_id required");
    };
    let known = match stories(call).known_epics() {
        Ok(known) => known,
        Err(error) => return trouble(call, &error),
    };
    let number = epic.trim().parse().map_or(EpicNumber::Text(epic), EpicNumber::Number);
    let checked = EpicChecked {
        is_last_story: false,
        epic: number,
        story_id: story,
        reason: None,
        last_in_epic: None,
        epic_story_count: None,
        source: None,
    };
    let id = keys::read(story, &known).map(|meant| meant.id).filter(|id| id.epic == epic);
    let Some(id) = id else {
        let reason = Some("story_not_in_epic");
        return Reply::json(&success(EpicChecked { reason, ..checked }));
    };
    let found = from_state(call, epic, &known).and_then(|named| match named {
        Some(named) => Ok((named, "state_file")),
        None => Ok((from_sprint(call, epic, &known)?, "sprint_status")),
    });
    let (named, source) = match found {
        Ok(found) => found,
        Err(error) => return trouble(call, &error),
    };
    match named.iter().max_by_key(|(id, _)| id.place()) {
        None => Reply::json(&success(EpicChecked {
            reason: Some("could_not_determine"),
            source: Some("fallback"),
            ..checked
        })),
        Some((last, name)) => Reply::json(&success(EpicChecked {
            is_last_story: *last == id,
            last_in_epic: Some(name),
            epic_story_count: Some(named.len()),
            source: Some(source),
            ..checked
        })),
    }
}

pub(super) fn check_blocking(call: &Call) -> Reply {
    let Some(story) = call.word(0) else { return no("story_id_required") };
    let known = match stories(call).known_epics() {
        Ok(known) => known,
        Err(error) => return trouble(call, &error),
    };
    let Some(id) = keys::read(story, &known).map(|meant| meant.id) else {
        let input = Input { input: story };
        return Reply::json(&failure("could_not_normalize_key", input)).failed();
    };
    let reply =
        |blocking: bool, dependents: Vec<String>, reason: &'static str, source: &'static str| {
            success(BlockingChecked {
                blocking,
                story: id.to_string(),
                epic: &id.epic,
                dependents,
                reason,
                source,
            })
        };
    let reply = match epic_file(call, &id.epic, &known) {
        Err(error) => return trouble(call, &error),
        // Unknown: rather wait for one story too many.
        Ok(None) => reply(true, Vec::new(), "epic_file_not_found", "unknown"),
        Ok(Some(file)) => match file.dependents(&id) {
            none if none.is_empty() => reply(false, none, "no_dependents_found", "epic_file"),
            some => reply(true, some, "dependent_stories", "epic_file"),
        },
    };
    Reply::json(&reply)
}
