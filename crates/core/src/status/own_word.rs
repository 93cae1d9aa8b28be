//! What an agent says of itself, now: claude's state file.

use jiff::Timestamp;
use serde_json::Value;

use super::WaitFor;
use super::evidence::{OwnWord, Word};
use crate::record::ProcessIdent;

/// Claude's `sessions/<pid>.json`. After a `kill -9` the file stays with its last word, and pids are
/// given out again: only a file that names this very process, by its start time, is believed.
pub fn claude(file: &[u8], process: ProcessIdent) -> OwnWord {
    let Ok(value) = serde_json::from_slice::<Value>(file) else {
        // It may be being written this moment.
        return OwnWord::Silent;
    };
    if !is_of(&value, process) {
        let whose = match value["pid"].as_i64() {
            Some(pid) if pid == i64::from(process.pid) => {
                format!("another process that had this pid ({pid})")
            }
            Some(pid) => format!("another process (pid {pid})"),
            None => "another process".to_owned(),
        };
        return OwnWord::Forged(format!("a state file of {whose}"));
    }
    let word = match value["status"].as_str() {
        Some("busy") => Word::Busy,
        Some("idle") => Word::Idle,
        Some("shell") => Word::Shell,
        Some("waiting") => Word::Waiting(match value["waitingFor"].as_str() {
            Some(what) if what.contains("permission") => WaitFor::Permission,
            Some(what) if what.contains("input") => WaitFor::Question,
            Some(what) if what.contains("plan") => WaitFor::Plan,
            _ => WaitFor::Other,
        }),
        _ => return OwnWord::Silent,
    };
    let times = ["statusUpdatedAt", "updatedAt", "startedAt"];
    let at = times.iter().find_map(|key| Timestamp::from_millisecond(value[*key].as_i64()?).ok());
    at.map_or(OwnWord::Silent, |at| OwnWord::Says(word, at))
}

/// The conversation that the file names, if it is this process's.
pub fn claude_conversation(file: &[u8], process: ProcessIdent) -> Option<String> {
    let value: Value = serde_json::from_slice(file).ok()?;
    is_of(&value, process).then(|| Some(value["sessionId"].as_str()?.to_owned())).flatten()
}

fn is_of(file: &Value, process: ProcessIdent) -> bool {
    let start = file["procStart"].as_str().and_then(|text| text.parse::<u64>().ok());
    file["pid"].as_i64() == Some(i64::from(process.pid)) && start == Some(process.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ProcessIdent = ProcessIdent { pid: 7, start: 99 };

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
                Word::Waiting(WaitFor::Permission),
            ),
            (r#""status":"waiting","waitingFor":"input needed""#, Word::Waiting(WaitFor::Question)),
            (r#""status":"waiting","waitingFor":"dialog open""#, Word::Waiting(WaitFor::Other)),
        ];
        for (text, word) in table {
            assert_eq!(says(text), OwnWord::Says(word, at), "{text}");
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
        assert_eq!(why, "a state file of another process");
    }
}
