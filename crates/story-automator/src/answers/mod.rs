//! The JSON answers of the commands. Names and order of the fields are the original's: scripts read them, and the tests compare
//! them byte by byte.

mod stories;

pub(crate) use stories::*;

use serde::Serialize;

/// `"ok": true`, and the rest.
#[derive(Debug, Serialize)]
pub(crate) struct Success<T> {
    ok: bool,
    #[serde(flatten)]
    rest: T,
}

pub(crate) fn success<T: Serialize>(rest: T) -> Success<T> {
    Success { ok: true, rest }
}

/// `"ok": false`, the error code, and the rest.
#[derive(Debug, Serialize)]
pub(crate) struct Failure<'a, T> {
    ok: bool,
    error: &'a str,
    #[serde(flatten)]
    rest: T,
}

pub(crate) fn failure<T: Serialize>(error: &str, rest: T) -> Failure<'_, T> {
    Failure { ok: false, error, rest }
}

#[derive(Debug, Serialize)]
pub(crate) struct Nothing {}

/// The version that the helper says it is.
#[derive(Debug, Serialize)]
pub(crate) struct Version<'a> {
    pub(crate) version: &'a str,
}

/// What went wrong, in words.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    pub(crate) detail: String,
}

/// An unexpected error, and its command.
#[derive(Debug, Serialize)]
pub(crate) struct Trouble<'a> {
    pub(crate) command: &'a str,
    pub(crate) detail: String,
}

/// An argument that could not be read.
#[derive(Debug, Serialize)]
pub(crate) struct Input<'a> {
    pub(crate) input: &'a str,
}

/// A story without a file.
#[derive(Debug, Serialize)]
pub(crate) struct Prefix {
    pub(crate) prefix: String,
}

/// How a program ended.
#[derive(Debug, Serialize)]
pub(crate) struct ExitCode {
    pub(crate) exit_code: i32,
}

/// The reason of a refusal.
#[derive(Debug, Serialize)]
pub(crate) struct Reason {
    pub(crate) reason: String,
}

/// `ceiling-check`.
#[derive(Debug, Serialize)]
pub(crate) struct Ceiling<'a> {
    pub(crate) verdict: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) bypass_allowed: bool,
    pub(crate) gate: &'a str,
    pub(crate) note: &'a str,
}

/// `verify-step` and `verify-code-review` without an argument.
#[derive(Debug, Serialize)]
pub(crate) struct NothingToVerify<'a> {
    pub(crate) verified: bool,
    pub(crate) reason: &'a str,
}

/// `verify-step` that failed.
#[derive(Debug, Serialize)]
pub(crate) struct StepNotVerified<'a> {
    pub(crate) verified: bool,
    pub(crate) step: &'a str,
    pub(crate) input: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) error: String,
}

/// `verify-code-review` that failed.
#[derive(Debug, Serialize)]
pub(crate) struct ReviewNotVerified<'a> {
    pub(crate) verified: bool,
    pub(crate) reason: &'a str,
    pub(crate) input: &'a str,
    pub(crate) error: String,
}

/// `parse-output` that failed.
#[derive(Debug, Serialize)]
pub(crate) struct NotParsed<'a> {
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
}

/// `stop-hook`, as an agent reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Decision<'a> {
    pub(crate) decision: &'a str,
    pub(crate) reason: String,
}

/// `ensure-stop-hook` for Claude Code.
#[derive(Debug, Serialize)]
pub(crate) struct ClaudeHook<'a> {
    pub(crate) changed: bool,
    pub(crate) reason: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) path: String,
    pub(crate) message: &'a str,
}

/// `ensure-stop-hook` for Codex.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodexHook<'a> {
    pub(crate) changed: bool,
    pub(crate) reason: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) path: String,
    pub(crate) hooks_path: String,
    pub(crate) config_path: String,
    pub(crate) hooks_changed: bool,
    pub(crate) config_changed: bool,
    pub(crate) hooks_reason: &'a str,
    pub(crate) config_reason: &'a str,
    pub(crate) trusted: bool,
    pub(crate) verification_state: &'a str,
    pub(crate) message: &'a str,
}

/// `ensure-stop-hook` that failed.
#[derive(Debug, Serialize)]
pub(crate) struct HookRefused<'a> {
    pub(crate) path: String,
    pub(crate) provider: &'a str,
    pub(crate) message: String,
}

/// `marker path`.
#[derive(Debug, Serialize)]
pub(crate) struct MarkerPath {
    pub(crate) file: String,
    pub(crate) entry: String,
}

/// `marker check`.
#[derive(Debug, Serialize)]
pub(crate) struct MarkerCheck<'a> {
    pub(crate) exists: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
}

/// An invalid line for a `.gitignore`.
#[derive(Debug, Serialize)]
pub(crate) struct BadEntry<'a> {
    pub(crate) entry: &'a str,
}

/// `ensure-marker-gitignore`.
#[derive(Debug, Serialize)]
pub(crate) struct Ignored<'a> {
    pub(crate) changed: bool,
    pub(crate) path: &'a str,
}

/// `build-state-doc`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateBuilt {
    pub(crate) path: String,
    pub(crate) created_at: String,
}

/// `validate-state`.
#[derive(Debug, Serialize)]
pub(crate) struct StateValidated<'a> {
    pub(crate) structure: &'a str,
    pub(crate) issues: Vec<String>,
}

/// `state-metrics`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateMetrics {
    pub(crate) stories_completed: usize,
    pub(crate) total: usize,
    pub(crate) review_cycles: usize,
    pub(crate) escalations: usize,
}

/// `sprint-compare`.
#[derive(Debug, Serialize)]
pub(crate) struct SprintCompared<'a> {
    pub(crate) incomplete: Vec<&'a String>,
    pub(crate) checked: &'a [String],
}

/// `state-list`.
#[derive(Debug, Serialize)]
pub(crate) struct StateFiles {
    pub(crate) files: Vec<StateFile>,
}

/// A state document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateFile {
    pub(crate) path: String,
    pub(crate) status: String,
    pub(crate) last_updated: String,
}

/// `state-latest` and `state-latest-incomplete`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LatestState {
    pub(crate) path: String,
    pub(crate) last_updated: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
}

/// `state-summary`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateSummary<'a> {
    pub(crate) epic: &'a str,
    pub(crate) epic_name: &'a str,
    pub(crate) current_story: &'a str,
    pub(crate) current_step: &'a str,
    pub(crate) status: &'a str,
    pub(crate) last_updated: &'a str,
    pub(crate) policy_version: &'a str,
    pub(crate) policy_snapshot_file: &'a str,
    pub(crate) policy_snapshot_hash: &'a str,
    pub(crate) legacy_policy: String,
    pub(crate) last_action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy_error: Option<String>,
}

/// An invalid assignment.
#[derive(Debug, Serialize)]
pub(crate) struct BadOperand<'a> {
    pub(crate) operand: &'a str,
}

/// `state-update`.
#[derive(Debug, Serialize)]
pub(crate) struct StateUpdated {
    pub(crate) updated: Vec<String>,
}

/// `list-sessions`.
#[derive(Debug, Serialize)]
pub(crate) struct SessionNames {
    pub(crate) sessions: Vec<String>,
    pub(crate) count: usize,
}
