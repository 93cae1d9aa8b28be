//! Runs: policy, state document, marker, stop hook, verifiers, escalation.

mod build_cmd;
mod ceiling;
mod checks;
mod hooks;
mod marker;
mod state_documents;
mod transcripts;

pub(crate) use build_cmd::build_cmd;

use crate::Verb;
use crate::answers::{Nothing, Trouble, failure};
use crate::call::Call;
use crate::project;
use crate::reply::Reply;

pub(crate) const VERBS: &[Verb] = &[
    Verb { name: "build-state-doc", answer: state_documents::build },
    Verb { name: "validate-state", answer: state_documents::validate },
    Verb { name: "state-metrics", answer: state_documents::metrics },
    Verb { name: "sprint-compare", answer: state_documents::compare },
    Verb { name: "ensure-marker-gitignore", answer: marker::ignore },
    Verb { name: "ensure-stop-hook", answer: hooks::ensure },
    Verb { name: "stop-hook", answer: hooks::stop },
    Verb { name: "ceiling-check", answer: ceiling::answer },
];

/// Subcommands of `orchestrator-helper`.
pub(crate) const HELPERS: &[Verb] = &[
    Verb { name: "marker", answer: marker::answer },
    Verb { name: "state-list", answer: state_documents::list },
    Verb { name: "state-latest", answer: state_documents::latest },
    Verb { name: "state-latest-incomplete", answer: state_documents::latest_incomplete },
    Verb { name: "state-summary", answer: state_documents::summary },
    Verb { name: "state-update", answer: state_documents::update },
    Verb { name: "escalate", answer: checks::escalate },
    Verb { name: "verify-step", answer: checks::verify_step },
    Verb { name: "verify-code-review", answer: checks::verify_code_review },
    Verb { name: "parse-output", answer: transcripts::parse_output },
];

/// A refusal with its error code.
fn no(error: &str) -> Reply {
    Reply::json(&failure(error, Nothing {})).failed()
}

/// An unexpected error, usually of the file system.
fn trouble(call: &Call, why: impl std::fmt::Display) -> Reply {
    let detail = why.to_string();
    let command = call.command;
    Reply::json(&failure("internal_error", Trouble { command, detail })).failed()
}
