//! Stories: their keys, files and states; epics, complexity, agents, commits.

mod agents;
mod commit;
mod creation;
mod epic_state;
mod epics;
mod helper;
mod presets;
mod reconcile;
mod slug;
mod sprint;
mod story_names;
mod test_counts;

use dogwatch_bmad::Stories;

use crate::Verb;
use crate::answers::{Nothing, Trouble, failure};
use crate::call::Call;
use crate::reply::Reply;

pub(crate) const VERBS: &[Verb] = &[
    Verb { name: "orchestrator-helper", answer: helper::answer },
    Verb { name: "derive-project-slug", answer: slug::derive },
    Verb { name: "parse-epic", answer: epics::parse_epic },
    Verb { name: "parse-story", answer: epics::parse_story },
    Verb { name: "parse-story-range", answer: epics::parse_range },
    Verb { name: "epic-complete", answer: epics::epic_complete },
    Verb { name: "validate-story-creation", answer: creation::validate },
    Verb { name: "agent-config", answer: presets::answer },
    Verb { name: "commit-story", answer: commit::commit_story },
    Verb { name: "reconcile-story", answer: reconcile::answer },
    Verb { name: "test-counts", answer: test_counts::answer },
];

/// Subcommands of `orchestrator-helper`.
pub(crate) const HELPERS: &[Verb] = &[
    Verb { name: "sprint-status", answer: sprint::answer },
    Verb { name: "normalize-key", answer: story_names::normalize },
    Verb { name: "story-file-status", answer: story_names::file_status },
    Verb { name: "check-epic-complete", answer: epic_state::check_complete },
    Verb { name: "get-epic-stories", answer: epic_state::get_stories },
    Verb { name: "check-blocking", answer: epic_state::check_blocking },
    Verb { name: "commit-ready", answer: commit::commit_ready },
    Verb { name: "agents-build", answer: agents::build },
    Verb { name: "agents-resolve", answer: agents::resolve },
    Verb { name: "retro-agent", answer: agents::retro },
];

/// The stories of the call's project.
fn stories(call: &Call) -> Stories {
    Stories::new(call.project())
}

/// `{"ok":false,"error":…}`.
fn no(error: &str) -> Reply {
    Reply::json(&failure(error, Nothing {})).failed()
}

/// An unexpected error: a file that cannot be read or written.
fn trouble(call: &Call, error: &dyn std::fmt::Display) -> Reply {
    let trouble = Trouble { command: call.command, detail: error.to_string() };
    Reply::json(&failure("internal_error", trouble)).failed()
}

/// Now, in the helper's format.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
