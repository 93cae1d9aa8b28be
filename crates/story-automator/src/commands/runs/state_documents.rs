//! State documents: create, find, read, check and change them.

use std::path::{Component, Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_bmad::Stories;
use dogwatch_bmad::format::fields::Fields;
use dogwatch_bmad::format::sprint::{Row, Sprint};
use dogwatch_bmad::format::state_document;
use dogwatch_bmad::policy::load::Need;
use dogwatch_bmad::project::state::{self, Listed, NotBuilt};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::answers::{
    BadOperand, LatestState, Nothing, Reason, SprintCompared, StateBuilt, StateFile, StateFiles,
    StateMetrics, StateSummary, StateUpdated, StateValidated, failure, success,
};

use super::{Call, Reply, no, project, trouble};

/// `build-state-doc --template FILE --output-folder DIR (--config-file FILE | --config-json JSON)`
pub(super) fn build(call: &Call) -> Reply {
    let (template, folder) = (call.option("--template"), call.option("--output-folder"));
    let (Some(template), Some(folder)) =
        (template.filter(|file| Path::new(file).is_file()), folder.filter(|dir| !dir.is_empty()))
    else {
        return no("missing_template_or_output");
    };
    let Some(config) = config(call) else { return no("missing_config") };
    let project = project::here();
    match state::build(&project, Path::new(template), &plain(folder), &config, Timestamp::now()) {
        Ok(built) => {
            let path = shown(&built.path);
            Reply::json(&success(StateBuilt { path, created_at: built.created_at }))
        }
        Err(error @ (NotBuilt::NoTemplate | NotBuilt::MaxParallel(_))) => no(&error.to_string()),
        Err(NotBuilt::Policy(fault)) => {
            let reason = fault.to_string();
            Reply::json(&failure("policy_snapshot_failed", Reason { reason })).failed()
        }
        Err(error) => trouble(call, error),
    }
}

/// An existing file takes precedence over the JSON argument.
fn config(call: &Call) -> Option<Map<String, Value>> {
    let file = call.option("--config-file").and_then(|file| project::text_of(Path::new(file)));
    let text = file.or_else(|| call.option("--config-json").map(ToOwned::to_owned))?;
    let value: Value = serde_json::from_str(&text).logged("read JSON")?;
    value.as_object().cloned()
}

/// The document that an option names, if it exists.
fn document(call: &Call, option: &str) -> Option<String> {
    call.option(option).and_then(|file| project::text_of(Path::new(file)))
}

/// `validate-state --state FILE`
pub(super) fn validate(call: &Call) -> Reply {
    if call.asks_for_help() {
        return Reply::line("Usage: validate-state --state PATH");
    }
    let Some(text) = document(call, "--state") else { return no("state_not_found") };
    let mut issues = state_document::issues(&text);
    let file = Path::new(call.option("--state").unwrap_or_default());
    let fault = state::policy_fault(&project::here(), file, Need::Skills);
    issues.extend(fault.map(|fault| fault.to_string()));
    let structure = if issues.is_empty() { "ok" } else { "issues" };
    Reply::json(&success(StateValidated { structure, issues }))
}

/// `state-metrics --state FILE`
pub(super) fn metrics(call: &Call) -> Reply {
    let Some(text) = document(call, "--state") else { return no("state_not_found") };
    let metrics = state_document::metrics(&text);
    Reply::json(&success(StateMetrics {
        stories_completed: metrics.completed,
        total: metrics.total,
        review_cycles: metrics.review_cycles,
        escalations: metrics.escalations,
    }))
}

/// `sprint-compare --state FILE --sprint FILE`
pub(super) fn compare(call: &Call) -> Reply {
    let Some(text) = document(call, "--state") else { return no("state_not_found") };
    let Some(sprint) = document(call, "--sprint") else { return no("sprint_not_found") };
    let sprint = Sprint::read(&sprint);
    // Named epics decide how a key is read; many projects have none.
    let known = Stories::new(call.project()).known_epics().logged("read epics").unwrap_or_default();
    let checked = state_document::stories_behind(&Fields::read(&text));
    let rows = sprint.finder(&known);
    let is_open = |story: &&String| !rows.find(story).is_some_and(Row::is_done);
    let incomplete: Vec<&String> = checked.iter().filter(is_open).collect();
    Reply::json(&success(SprintCompared { incomplete, checked: &checked }))
}

fn listed(call: &Call) -> Option<Vec<Listed>> {
    match state::list(&call.project(), &plain(call.word(0)?)) {
        Ok(listed) => listed,
        Err(error) => {
            crate::reply::warn(error);
            None
        }
    }
}

/// A directory in the helper's format: without `./` and trailing slash.
fn plain(folder: &str) -> PathBuf {
    let parts = Path::new(folder).components().filter(|part| *part != Component::CurDir);
    let folder: PathBuf = parts.collect();
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
}

/// A path in the helper's format: only the name for a file in the current directory.
fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// `state-list <folder>`
pub(super) fn list(call: &Call) -> Reply {
    let Some(listed) = listed(call) else {
        return Reply::json(&failure("folder_not_found", StateFiles { files: Vec::new() }))
            .failed();
    };
    let known = |text: String| if text.is_empty() { "unknown".to_owned() } else { text };
    let files = listed
        .into_iter()
        .map(|one| StateFile {
            path: shown(&one.path),
            status: known(one.status),
            last_updated: known(one.last_updated),
        })
        .collect();
    Reply::json(&success(StateFiles { files }))
}

/// `state-latest <folder> [status]`
pub(super) fn latest(call: &Call) -> Reply {
    let Some(listed) = listed(call) else { return no("folder_not_found") };
    let wanted = call.word(1).filter(|status| !status.is_empty());
    match state::latest(listed, |one| wanted.is_none_or(|status| one.status == status)) {
        Some(one) => {
            let path = shown(&one.path);
            Reply::json(&success(LatestState {
                path,
                last_updated: one.last_updated,
                status: None,
            }))
        }
        None => Reply::json(&failure("no_match", Nothing {})),
    }
}

/// `state-latest-incomplete <folder>`
pub(super) fn latest_incomplete(call: &Call) -> Reply {
    let Some(listed) = listed(call) else { return no("folder_not_found") };
    match state::latest_open(listed) {
        Some(one) => {
            let path = shown(&one.path);
            Reply::json(&success(LatestState {
                path,
                last_updated: one.last_updated,
                status: Some(one.status),
            }))
        }
        None => Reply::json(&failure("no_incomplete_state", Nothing {})),
    }
}

/// `state-summary <file>`
pub(super) fn summary(call: &Call) -> Reply {
    let file = Path::new(call.word(0).unwrap_or_default());
    let Some(text) = project::text_of(file) else { return no("file_not_found") };
    let fields = Fields::read(&text);
    let fault = state::policy_fault(&project::here(), file, Need::Words);
    let pinned = |key: &str| if fault.is_some() { "" } else { fields.text_or_nothing(key) };
    let snapshot = pinned("policySnapshotFile");
    let is_legacy = fault.is_none() && snapshot.is_empty();
    Reply::json(&success(StateSummary {
        epic: fields.text("epic"),
        epic_name: fields.text("epicName"),
        current_story: fields.text_or_nothing("currentStory"),
        current_step: fields.text_or_nothing("currentStep"),
        status: fields.text("status"),
        last_updated: fields.text("lastUpdated"),
        policy_version: fields.text_or_nothing("policyVersion"),
        policy_snapshot_file: snapshot,
        policy_snapshot_hash: pinned("policySnapshotHash"),
        legacy_policy: is_legacy.to_string(),
        last_action: state_document::last_action(&text),
        policy_error: fault.as_ref().map(ToString::to_string),
    }))
}

/// `state-update <file> --set key=value …`
pub(super) fn update(call: &Call) -> Reply {
    let file = Path::new(call.word(0).unwrap_or_default());
    if !file.is_file() {
        return no("file_not_found");
    }
    let mut values = Vec::new();
    let mut words = call.words.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        if word != "--set" {
            continue;
        }
        let Some(operand) = words.next() else { break };
        match pair(operand) {
            Some(pair) => values.push(pair),
            None => {
                return Reply::json(&failure("invalid_set_operand", BadOperand { operand }))
                    .failed();
            }
        }
    }
    match state::update(&call.project(), file, &values) {
        Ok(None) => no("file_not_found"),
        Ok(Some(updated)) if updated.is_empty() => {
            Reply::json(&failure("keys_not_found", StateUpdated { updated })).failed()
        }
        Ok(Some(updated)) => Reply::json(&success(StateUpdated { updated })),
        Err(error) => trouble(call, error),
    }
}

/// A value is one line: another line would be another field.
fn pair(operand: &str) -> Option<(&str, &str)> {
    let (key, value) = operand.split_once('=')?;
    let is_one_line = !operand.contains(|letter: char| letter.is_control() && letter != '\t');
    is_one_line.then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_line() {
        assert_eq!(pair("status=a=b"), Some(("status", "a=b")));
        assert_eq!(pair("status="), Some(("status", "")));
        for bad in ["status", "status=a\nstatus: b", "status=a\r"] {
            assert_eq!(pair(bad), None);
        }
    }
}
