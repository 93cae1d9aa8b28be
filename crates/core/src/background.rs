//! Sessions of Claude Code in its background service: no pane, but a state file each, as every other session has.

use serde::Deserialize;

use crate::record::ProcessIdent;

/// What the state file of a background session says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    pub process: ProcessIdent,
    /// What `claude attach`, `logs` and `stop` take.
    pub job: String,
    pub conversation: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateFile {
    pid: i32,
    proc_start: String,
    kind: String,
    job_id: String,
    #[serde(default)]
    session_id: Option<String>,
}

/// Reads `sessions/<pid>.json`; `None` if it is of a session in a terminal, or names no process beyond doubt. Seen with
/// 2.1.325.
pub fn claude(file: &[u8]) -> Option<Background> {
    let StateFile { pid, proc_start, kind, job_id, session_id } =
        serde_json::from_slice(file).ok()?;
    let start = proc_start.parse().ok()?;
    let is_word = |text: &String| crate::id::is_id(text) && !text.starts_with('%');
    (kind == "bg" && pid > 1 && is_word(&job_id)).then(|| Background {
        process: ProcessIdent { pid, start },
        job: job_id,
        conversation: session_id.filter(is_word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_background_sessions_that_name_their_process() {
        let good = r#"{"pid":41,"sessionId":"68653537-de0a","procStart":"99","kind":"bg","jobId":"68653537","status":"busy"}"#;
        let process = ProcessIdent { pid: 41, start: 99 };
        let expected = Background {
            process,
            job: "68653537".to_owned(),
            conversation: Some("68653537-de0a".to_owned()),
        };
        assert_eq!(claude(good.as_bytes()), Some(expected));
        let altered = [
            (r#""kind":"bg""#, r#""kind":"interactive""#),
            (r#""procStart":"99","#, ""),
            (r#""procStart":"99""#, r#""procStart":"soon""#),
            (r#""jobId":"68653537""#, r#""jobId":"../x y""#),
            (r#""jobId":"68653537","#, ""),
            (r#""pid":41"#, r#""pid":1"#),
            (r#""pid":41"#, r#""pid":"41""#),
        ];
        for (from, to) in altered {
            assert_eq!(claude(good.replace(from, to).as_bytes()), None, "{to}");
        }
        assert_eq!(claude(b"{"), None);
    }
}
