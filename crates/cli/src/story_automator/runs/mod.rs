//! Runs: policy, state document, marker, stop hook, verifiers, escalation.

use super::Verb;
use super::call::Call;
use super::reply::Reply;

pub(crate) const VERBS: &[Verb] = &[];

/// Subcommands of `orchestrator-helper`.
pub(crate) const HELPERS: &[Verb] = &[];

/// The command of a step's session; `call` has the words after `build-cmd`.
pub(crate) fn build_cmd(call: &Call) -> Reply {
    let _ = call;
    Reply::refused("unknown step\n")
}
