//! JSON as it is printed, with what differs from run to run or is written for people replaced by a word.
//!
//! The order of keys stays as it was printed, and numbers, texts and null stay apart.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use dogwatch_testkit::CommandOutput;
use regex_lite::Regex;
use serde_json::Value;

/// Sentences for people, which may change: `docs/protocol.md` promises that they are texts, and no more.
const SENTENCES: [&str; 17] = [
    "value",
    "by_hand",
    "reason",
    "said",
    "missing",
    "message",
    "hint",
    "found",
    "remedy",
    "headline",
    "label",
    "because",
    "why",
    "evidence",
    "warnings",
    "notes",
    "not_shrunk",
];
/// Figures and names of the machine.
const OF_THE_MACHINE: [&str; 15] = [
    "start",
    "pid",
    "server_pid",
    "pane",
    "master",
    "spawner",
    "version",
    "host",
    "tmux",
    "os",
    "seconds",
    "dogwatch",
    "processes",
    "dialog",
    "mark",
];

/// All lines of a command, one after the other, and how it ended.
#[track_caller]
pub(crate) fn of(output: &CommandOutput) -> String {
    let text = output.text();
    let lines: Vec<&str> = text.lines().collect();
    let shapes: Vec<String> = lines.iter().map(|line| of_line(line, output)).collect();
    let code = output.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    format!("{}\n[exit code: {code}]", shapes.join("\n"))
}

/// One line; it must be compact, as it always was.
#[track_caller]
fn of_line(line: &str, output: &CommandOutput) -> String {
    let value: Value =
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{output}"));
    assert_eq!(value.to_string(), line, "not the usual way to write JSON");
    of_value(value, &output.known)
}

/// Whether an earlier look saw the process, by the supervisor perhaps, differs from run to run.
fn without_earlier_looks(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(without_earlier_looks),
        Value::Object(fields) => {
            if fields.get("source").is_some_and(|source| source == "process") {
                fields.shift_remove("at");
            }
            fields.values_mut().for_each(without_earlier_looks);
        }
        _ => {}
    }
}

pub(crate) fn of_value(mut value: Value, known: &[(String, &'static str)]) -> String {
    without_earlier_looks(&mut value);
    replace(None, &mut value, known);
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

fn replace(key: Option<&str>, value: &mut Value, known: &[(String, &'static str)]) {
    let is = |list: &[&str]| key.is_some_and(|key| list.contains(&key));
    match value {
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, value)| replace(Some(key), value, known));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(key, item, known)),
        Value::String(_) if is(&SENTENCES) => *value = "<text>".into(),
        Value::String(_) if is(&OF_THE_MACHINE) => *value = "<name>".into(),
        Value::Number(_) if is(&OF_THE_MACHINE) => *value = "<number>".into(),
        Value::String(text) => *text = plain(text, known),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn plain(text: &str, known: &[(String, &'static str)]) -> String {
    static PATTERNS: OnceLock<Vec<(Regex, &'static str)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        [
            ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
            (r"\d{6,8}-\d{6}-[0-9a-f]{4}\b", "<run>"),
            (r"\d{6,8}-\d{6}", "<stamp>"),
            ("[0-9a-f]{40,64}", "<hash>"),
            (r"%\d+-\d+-\d+", "<unmanaged id>"),
            (r"%\d+", "<pane>"),
            (r"user \d+( on [a-z/0-9]+)?", "<user>"),
            ("^/usr/bin/", "/bin/"),
        ]
        .into_iter()
        .map(|(pattern, word)| (Regex::new(pattern).expect("it is written here"), word))
        .collect()
    });
    let mut text = text.to_owned();
    for (found, word) in known {
        text = text.replace(found, word);
        // As agents write a path in the name of a folder.
        text = text.replace(&found.replace('/', "-"), &word.replace('$', "-"));
    }
    for (pattern, word) in patterns {
        text = pattern.replace_all(&text, *word).into_owned();
    }
    text
}

/// The first line of each kind, where the order is that of threads.
pub(crate) fn first_of_each(output: &CommandOutput, kind: impl Fn(&Value) -> String) -> String {
    let mut found = BTreeMap::new();
    for line in output.text().lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        found.entry(kind(&value)).or_insert_with(|| of_line(line, output));
    }
    found.into_values().collect::<Vec<_>>().join("\n")
}
