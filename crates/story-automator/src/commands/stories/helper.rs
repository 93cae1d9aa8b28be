//! `orchestrator-helper <action>`: the table of its actions.

use super::super::runs;
use super::{Call, HELPERS, Reply, Verb};

/// The arguments of each action.
const WORDS: &[(&str, &[&str])] = &[
    ("sprint-status", &["get <story>", "exists", "check-epic <epic>"]),
    ("normalize-key", &["<story> [--to id|key|prefix|json]"]),
    ("story-file-status", &["<story>"]),
    ("check-epic-complete", &["<epic> <story> [--state-file FILE]"]),
    ("get-epic-stories", &["<epic> [--state-file FILE]"]),
    ("check-blocking", &["<story>"]),
    ("commit-ready", &["<story>"]),
    (
        "agents-build",
        &["--state-file FILE --complexity-file FILE --output FILE --config-json JSON"],
    ),
    (
        "agents-resolve",
        &["(--agents-file FILE | --state-file FILE) --story ID --task create|dev|auto|review"],
    ),
    ("retro-agent", &["--state-file FILE"]),
    (
        "marker",
        &[
            "path",
            "create --epic E --story S --remaining N --state-file FILE",
            "remove",
            "check",
            "heartbeat",
        ],
    ),
    ("state-list", &["<folder>"]),
    ("state-latest", &["<folder> [status]"]),
    ("state-latest-incomplete", &["<folder>"]),
    ("state-summary", &["<file>"]),
    ("state-update", &["<file> --set key=value [--set …]"]),
    ("escalate", &["<trigger> [context] [--state-file FILE]"]),
    ("parse-output", &["<file> <step> [--state-file FILE]"]),
    ("verify-step", &["<step> <story|epic> [--state-file FILE] [--output-file FILE]"]),
    ("verify-code-review", &["<story> [--state-file FILE]"]),
];

pub(super) fn answer(call: &Call) -> Reply {
    if call.asks_for_help() {
        return Reply::text(usage());
    }
    let Some((action, rest)) = call.split() else { return Reply::refused(usage()) };
    match actions().find(|verb| verb.name == action) {
        Some(verb) => (verb.answer)(&rest),
        None => Reply::refused(usage()),
    }
}

fn actions() -> impl Iterator<Item = &'static Verb> {
    HELPERS.iter().chain(runs::HELPERS)
}

fn usage() -> String {
    let mut text = "Usage: orchestrator-helper <action> [args]\n\nActions:\n".to_owned();
    for verb in actions() {
        let words =
            WORDS.iter().find(|(name, _)| *name == verb.name).map_or(&[""][..], |(_, words)| words);
        for words in words {
            text.push_str(format!("  {} {words}", verb.name).trim_end());
            text.push('\n');
        }
    }
    text
}
