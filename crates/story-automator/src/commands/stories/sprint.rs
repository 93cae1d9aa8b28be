//! `orchestrator-helper sprint-status`: the status of a story or an epic.

use crate::answers::{EpicCounted, EpicWithoutStories, SprintStatus, success};

use super::{Call, Reply, stories};

pub(super) fn answer(call: &Call) -> Reply {
    match call.split() {
        Some(("get", rest)) => get(&rest),
        Some(("exists", _)) => exists(call),
        Some(("check-epic", rest)) => check_epic(&rest),
        _ => usage("<get|exists|check-epic> [args]"),
    }
}

fn usage(words: &str) -> Reply {
    Reply::refused(format!("Usage: orchestrator-helper sprint-status {words}\n"))
}

fn get(call: &Call) -> Reply {
    let Some(story) = call.word(0) else { return usage("get <story>") };
    let stories = stories(call);
    let found = stories.sprint().and_then(|sprint| Ok((sprint, stories.known_epics()?)));
    match found {
        Err(error) => {
            let reason = error.to_string();
            Reply::json(&SprintStatus { reason: Some(&reason), ..not_found(Some(story), "error") })
                .failed()
        }
        Ok((None, _)) => Reply::json(&SprintStatus {
            reason: Some("sprint-status.yaml not found"),
            ..not_found(None, "unknown")
        }),
        Ok((Some(sprint), known)) => match sprint.find(story, &known) {
            None => Reply::json(&not_found(Some(story), "not_found")),
            Some(row) => Reply::json(&SprintStatus {
                found: true,
                story: Some(&row.key),
                status: &row.status,
                reason: None,
                done: Some(row.is_done()),
            }),
        },
    }
}

fn not_found<'a>(story: Option<&'a str>, status: &'a str) -> SprintStatus<'a> {
    SprintStatus { found: false, story, status, reason: None, done: None }
}

fn exists(call: &Call) -> Reply {
    match stories(call).sprint_file() {
        Ok(file) => Reply::line(file.is_file()),
        Err(error) => super::trouble(call, &error),
    }
}

fn check_epic(call: &Call) -> Reply {
    let Some(epic) = call.word(0) else { return usage("check-epic <epic>") };
    let stories = stories(call);
    let found = stories.sprint().and_then(|sprint| Ok((sprint, stories.known_epics()?)));
    let (sprint, known) = match found {
        Err(error) => return super::trouble(call, &error),
        Ok((sprint, known)) => (sprint.unwrap_or_default(), known),
    };
    let rows = sprint.stories_of(epic, &known);
    if rows.is_empty() {
        return Reply::json(&EpicWithoutStories {
            ok: false,
            epic,
            all_stories_done: false,
            reason: "no_stories_found",
            count: 0,
        });
    }
    let done = rows.iter().filter(|(_, row)| row.is_done()).count();
    let keys: Vec<&str> = rows.iter().map(|(_, row)| row.key.as_str()).collect();
    Reply::json(&success(EpicCounted {
        epic,
        all_stories_done: done == rows.len(),
        total: rows.len(),
        done,
        count: rows.len(),
        stories: keys,
    }))
}
