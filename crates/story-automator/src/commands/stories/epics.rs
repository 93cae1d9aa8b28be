//! `parse-epic`, `parse-story`, `parse-story-range`, `epic-complete`: a Markdown file of epics, and a selection of its
//! stories.

use std::path::Path;

use crate::decide::selection;
use dogwatch_bmad::format::complexity::Rules;
use dogwatch_bmad::format::epic_file::{self, EpicFile};
use dogwatch_bmad::format::keys::{self, KnownEpics};
use serde_json::Value;

use super::{Call, Reply, no};
use crate::answers::{
    EpicParsed, EpicReached, EpicStory, Input, RangeParsed, StoryParsed, failure, success,
};
use crate::project;

/// The file that an option names, if it exists.
fn text(call: &Call, option: &str) -> Option<String> {
    let path = call.first_option(option).filter(|path| !path.is_empty())?;
    project::text_of(Path::new(path))
}

/// Known epics matter only for names with several numbers; a file lists its own.
fn read(text: &str) -> (EpicFile, KnownEpics) {
    let known = KnownEpics::default();
    (EpicFile::read(text, &known), known)
}

pub(super) fn parse_epic(call: &Call) -> Reply {
    let Some(text) = text(call, "--file") else { return no("epic_file_not_found") };
    let (file, _) = read(&text);
    let stories: Vec<EpicStory<'_>> = file
        .stories
        .iter()
        .map(|story| EpicStory {
            epic_num: &story.id.epic,
            epic_title: &story.epic_title,
            story_num: &story.id.number,
            story_id: story.id.to_string(),
            title: &story.title,
        })
        .collect();
    Reply::raw_json(&success(EpicParsed {
        epic_title: &file.title,
        count: stories.len(),
        stories,
        file: call.first_option("--file"),
    }))
}

pub(super) fn parse_story(call: &Call) -> Reply {
    let asked = call.first_option("--story").filter(|story| !story.is_empty());
    let (Some(text_of_epic), Some(asked)) = (text(call, "--epic"), asked) else {
        return no("missing_epic_or_story");
    };
    if call.first_option("--rules").is_none_or(str::is_empty) {
        return no("rules_file_not_found");
    }
    let (file, known) = read(&text_of_epic);
    let Some(story) = file.story(asked, &known) else { return no("story_not_found") };
    let Some(rules) = text(call, "--rules") else { return no("missing_epic_or_story") };
    let rules = serde_json::from_str(&rules)
        .map_err(|error| error.to_string())
        .and_then(|rules: Value| Rules::new(&rules).map_err(|error| error.to_string()));
    let rules = match rules {
        Ok(rules) => rules,
        Err(fault) => {
            // The text for a person goes to stderr, apart from the JSON.
            let reply = no("invalid_rules_file");
            return Reply { stderr: format!("{fault}\n"), ..reply };
        }
    };
    let parts = story.parts();
    let complexity = rules.judge(&story.title, &parts);
    Reply::raw_json(&success(StoryParsed {
        story_id: story.id.to_string(),
        title: &story.title,
        description: &parts.description,
        acceptance_criteria: &parts.criteria,
        dependencies: &parts.dependencies,
        complexity,
    }))
}

pub(super) fn parse_range(call: &Call) -> Reply {
    let input = call.first_option("--input").filter(|input| !input.is_empty());
    let total: Option<usize> =
        call.first_option("--total").and_then(|total| total.trim().parse().ok());
    let (Some(input), Some(total)) = (input, total.filter(|total| *total > 0)) else {
        return no("missing_input_or_total");
    };
    let places = selection::places(input, total);
    let ids: Vec<&str> = match call.first_option("--ids") {
        None | Some("") => Vec::new(),
        Some(ids) => ids.split(',').map(str::trim).collect(),
    };
    let chosen: Vec<&str> = places.iter().filter_map(|place| ids.get(place - 1).copied()).collect();
    Reply::raw_json(&success(RangeParsed {
        indices: &places,
        story_ids: chosen,
        count: places.len(),
    }))
}

pub(super) fn epic_complete(call: &Call) -> Reply {
    let Some(text) = text(call, "--epic") else { return no("epic_file_not_found") };
    let (file, known) = read(&text);
    if file.stories.is_empty() {
        return no("no_stories_found");
    }
    let range = call.first_option("--range").unwrap_or_default();
    let mut chosen = Vec::new();
    for entry in range.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let id = keys::read(entry, &known).map(|meant| meant.id);
        let Some(id) = id else {
            let input = Input { input: entry };
            return Reply::raw_json(&failure("unrecognized_story", input)).failed();
        };
        chosen.push(id);
    }
    match epic_file::reach(&file, &chosen) {
        None => no("no_stories_found"),
        Some((reached, last)) => Reply::raw_json(&success(EpicReached {
            epic_complete: reached,
            max_epic_story: last.to_string(),
        })),
    }
}
