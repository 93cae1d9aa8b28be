//! What an agent says of itself, now: claude in its state file, opencode over HTTP.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::WaitFor;
use super::evidence::{OwnWord, Word};
use crate::record::ProcessIdent;
use crate::text::shortened;

/// Longest text of a question.
const MAX_TEXT: usize = 2_000;

/// When a process began is known to a tick, by a clock that may be set in between.
const ABOUT: SignedDuration = SignedDuration::from_secs(2);

/// A process that may have written a file, and when it began, as far as that is known.
#[derive(Debug, Clone, Copy)]
pub struct Writer {
    pub process: ProcessIdent,
    pub began: Option<Timestamp>,
}

/// Claude's `sessions/<pid>.json`. After a `kill -9` the file stays with its last word, and pids are
/// given out again: only a file that names this very process, by its start time, is believed. Up to 2.1.100 it has no
/// start time in it; then it must have been begun after the process was.
pub fn claude(file: &[u8], writer: Writer) -> OwnWord {
    let process = writer.process;
    let Ok(value) = serde_json::from_slice::<Value>(file) else {
        // It may be being written this moment.
        return OwnWord::Silent;
    };
    if !is_of(&value, writer) {
        let whose = match value["pid"].as_i64() {
            Some(pid) if pid == i64::from(process.pid) => {
                format!("an earlier process with the same pid ({pid})")
            }
            Some(pid) => format!("another process (pid {pid})"),
            None => "another process".to_owned(),
        };
        return OwnWord::Forged(format!("the state file belongs to {whose}"));
    }
    let word = match value["status"].as_str() {
        Some("busy") => Word::Busy,
        Some("idle") => Word::Idle,
        Some("shell") => Word::Shell,
        Some("waiting") => {
            let what = match value["waitingFor"].as_str() {
                Some(what) if what.contains("permission") => WaitFor::Permission,
                Some(what) if what.contains("input") => WaitFor::Question,
                Some(what) if what.contains("plan") => WaitFor::Plan,
                _ => WaitFor::Other,
            };
            Word::Waiting(what, None)
        }
        _ => return OwnWord::Silent,
    };
    let times = ["statusUpdatedAt", "updatedAt", "startedAt"];
    let at = times.iter().find_map(|key| Timestamp::from_millisecond(value[*key].as_i64()?).ok());
    at.map_or(OwnWord::Silent, |at| OwnWord::Says(word, Some(at)))
}

/// The conversation that the file names, if it is this process's.
pub fn claude_conversation(file: &[u8], writer: Writer) -> Option<String> {
    let value: Value = serde_json::from_slice(file).ok()?;
    let id =
        value["sessionId"].as_str().filter(|id| is_of(&value, writer) && crate::id::is_id(id))?;
    Some(id.to_owned())
}

fn is_of(file: &Value, writer: Writer) -> bool {
    let is_same_pid = file["pid"].as_i64() == Some(i64::from(writer.process.pid));
    let is_same_process = match &file["procStart"] {
        Value::Null => {
            let since =
                file["startedAt"].as_i64().and_then(|ms| Timestamp::from_millisecond(ms).ok());
            since
                .zip(writer.began)
                .is_some_and(|(since, began)| began.duration_since(since) <= ABOUT)
        }
        start => start.as_str().and_then(|text| text.parse().ok()) == Some(writer.process.start),
    };
    is_same_pid && is_same_process
}

/// Where a session's opencode can be asked, as its folder's `endpoint.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Endpoint {
    pub port: u16,
    pub user: String,
    pub password: String,
}

pub const OPENCODE_STATUS: &str = "/session/status";
pub const OPENCODE_PERMISSIONS: &str = "/permission";
pub const OPENCODE_QUESTIONS: &str = "/question";

/// opencode's answers: what its conversations are at, by their ids, and what is asked in any of them. A conversation
/// that is idle is mostly left out. Seen with 1.18.33.
pub fn opencode(status: &Value, permissions: &Value, questions: &Value) -> OwnWord {
    let Some(conversations) = status.as_object() else { return OwnWord::Silent };
    let words: Vec<&str> = conversations.values().filter_map(|one| one["type"].as_str()).collect();
    let text = |value: &Value| value.as_str().map(|text| shortened(text, MAX_TEXT));
    let word = if let Some(first) = permissions.get(0) {
        let command = text(&first["metadata"]["command"]).or_else(|| text(&first["patterns"][0]));
        Word::Waiting(WaitFor::Permission, command.or_else(|| text(&first["permission"])))
    } else if let Some(first) = questions.get(0) {
        Word::Waiting(WaitFor::Question, text(&first["questions"][0]["question"]))
    } else if words.iter().any(|word| matches!(*word, "busy" | "retry")) {
        Word::Busy
    } else if words.len() == conversations.len() && words.iter().all(|word| *word == "idle") {
        Word::Idle
    } else {
        // Words of a version that is not known.
        return OwnWord::Silent;
    };
    OwnWord::Says(word, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Writer = Writer { process: ProcessIdent { pid: 7, start: 99 }, began: None };

    fn says(status: &str) -> OwnWord {
        let file = format!(r#"{{"pid":7,"procStart":"99","statusUpdatedAt":1000,{status}}}"#);
        claude(file.as_bytes(), ME)
    }

    #[test]
    fn words() {
        let at = Timestamp::from_millisecond(1000).unwrap();
        let table = [
            (r#""status":"busy""#, Word::Busy),
            (r#""status":"idle""#, Word::Idle),
            (r#""status":"shell""#, Word::Shell),
            (
                r#""status":"waiting","waitingFor":"permission prompt""#,
                Word::Waiting(WaitFor::Permission, None),
            ),
            (
                r#""status":"waiting","waitingFor":"input needed""#,
                Word::Waiting(WaitFor::Question, None),
            ),
            (
                r#""status":"waiting","waitingFor":"dialog open""#,
                Word::Waiting(WaitFor::Other, None),
            ),
        ];
        for (text, word) in table {
            assert_eq!(says(text), OwnWord::Says(word, Some(at)), "{text}");
        }
        assert_eq!(says(r#""status":"something new""#), OwnWord::Silent);
    }

    #[test]
    fn a_file_of_another_process_is_not_believed() {
        let stale = br#"{"pid":7,"procStart":"98","status":"busy"}"#;
        assert!(matches!(claude(stale, ME), OwnWord::Forged(_)));
        let other = br#"{"pid":8,"procStart":"99","status":"busy"}"#;
        assert!(matches!(claude(other, ME), OwnWord::Forged(_)));
        for rubbish in [&b""[..], b"{", b"[]", b"\xff\xfe", b"null"] {
            assert!(!matches!(claude(rubbish, ME), OwnWord::Says(..)));
        }
        let long = format!(r#"{{"pid":"{}"}}"#, "7".repeat(1 << 20));
        let OwnWord::Forged(why) = claude(long.as_bytes(), ME) else { panic!("believed") };
        assert_eq!(why, "the state file belongs to another process");
    }

    /// As 2.1.80 and 2.1.100 write it, where they write one.
    #[test]
    fn a_file_without_the_start_of_its_process() {
        let id = "753cd291-9f54-431a-9572-880a6086acb7";
        let at = |second| Timestamp::from_second(second).unwrap();
        let file = format!(r#"{{"pid":7,"sessionId":"{id}","cwd":"/p","startedAt":1000500}}"#);
        for (pid, began, is_its_own) in [
            (7, Some(at(1000)), true),
            (7, Some(at(900)), true),
            (7, Some(at(1002)), true),
            (7, Some(at(1010)), false),
            (8, Some(at(1000)), false),
            (7, None, false),
        ] {
            let writer = Writer { process: ProcessIdent { pid, start: 99 }, began };
            let found = claude_conversation(file.as_bytes(), writer);
            assert_eq!(found.is_some(), is_its_own, "{pid} {began:?}");
            let word = claude(file.as_bytes(), writer);
            assert_eq!(word == OwnWord::Silent, is_its_own, "{word:?}");
        }
    }

    /// Answers as they were seen, shortened.
    #[test]
    fn opencodes_words() {
        let permission = r#"[{"id":"per_1","permission":"bash","patterns":["echo *"],"metadata":{"command":"echo hi"}}]"#;
        let edit =
            r#"[{"permission":"edit","patterns":["a.txt"],"metadata":{"filepath":"/p/a.txt"}}]"#;
        let question = r#"[{"id":"que_1","questions":[{"question":"Which one?","header":"Pick","options":[]}]}]"#;
        let busy = r#"{"ses_1":{"type":"busy"}}"#;
        let waiting = |what, text: &str| Some(Word::Waiting(what, Some(text.to_owned())));
        let table = [
            ("{}", "[]", "[]", Some(Word::Idle)),
            (r#"{"ses_1":{"type":"idle"}}"#, "[]", "[]", Some(Word::Idle)),
            (busy, "[]", "[]", Some(Word::Busy)),
            (r#"{"a":{"type":"idle"},"b":{"type":"busy"}}"#, "[]", "[]", Some(Word::Busy)),
            (
                r#"{"a":{"type":"retry","attempt":1,"message":"m","next":9}}"#,
                "[]",
                "[]",
                Some(Word::Busy),
            ),
            (busy, permission, "[]", waiting(WaitFor::Permission, "echo hi")),
            (busy, edit, "[]", waiting(WaitFor::Permission, "a.txt")),
            (busy, "[]", question, waiting(WaitFor::Question, "Which one?")),
            (busy, "[{}]", "[]", Some(Word::Waiting(WaitFor::Permission, None))),
            // What is not known, and what could not be asked.
            (r#"{"a":{"type":"dreaming"}}"#, "[]", "[]", None),
            (r#"{"a":7}"#, "[]", "[]", None),
            (busy, "null", "null", Some(Word::Busy)),
            ("[]", "[]", "[]", None),
            ("null", "[]", "[]", None),
        ];
        for (status, permissions, questions, word) in table {
            let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let said = opencode(&json(status), &json(permissions), &json(questions));
            let expected = word.map_or(OwnWord::Silent, |word| OwnWord::Says(word, None));
            assert_eq!(said, expected, "{status} {permissions} {questions}");
        }
    }
}
