//! Hook events of claude, codex and gemini, folded into the edges of turns.
//!
//! A hook opens or closes a turn; its silence proves nothing: Esc fires none in claude, an API error none
//! in codex.

use jiff::Timestamp;
use serde_json::Value;

use super::WaitFor;
use super::evidence::{Asked, Edge, EdgeKind, Failure, Turn};

/// A request for permission that a rule of the user has answered: no dialog. Stored by our own hook.
pub const PERMISSION_ANSWERED: &str = "PermissionAnswered";

/// Takes in one event that was held up on its way: one that a later edge or question has overtaken must not undo it.
pub fn fold_late(turn: &mut Turn, event: &str, payload: &Value, at: Timestamp) {
    let edge = turn.edge.as_ref().map(|edge| edge.at);
    let asked = turn.waiting.as_ref().map(|asked| asked.at);
    if edge.max(asked).is_none_or(|newest| newest <= at) {
        let last = turn.last;
        fold(turn, event, payload, at);
        turn.last = turn.last.max(last);
    }
}

/// Takes one event in. Events come in the order in which they happened, whatever the clock says.
pub fn fold(turn: &mut Turn, event: &str, payload: &Value, at: Timestamp) {
    turn.last = Some(at);
    let edge = |what| Some(Edge { at, what, told: true });
    match event {
        "SessionStart" if turn.edge.is_none() => turn.edge = edge(EdgeKind::Ready),
        "UserPromptSubmit" | "BeforeAgent" => {
            turn.waiting = None;
            turn.task = None;
            turn.turns_begun += 1;
            turn.began = Some(at);
            turn.edge = edge(EdgeKind::Began);
        }
        "PreToolUse" | "BeforeTool" | "PreCompact" | "PreCompress" => {
            turn.waiting = None;
            turn.task = Some(task(event, payload));
            // A tool runs within a turn, whether or not a hook reported its beginning.
            if !is_open(turn) {
                turn.edge = edge(EdgeKind::Began);
            }
        }
        "PostToolUse" | "PostToolUseFailure" | "AfterTool" | PERMISSION_ANSWERED => {
            turn.waiting = None;
        }
        "PermissionRequest" => turn.waiting = Some(asked(payload, at)),
        "Stop" | "AfterAgent" | "agent-turn-complete" => {
            turn.waiting = None;
            turn.task = None;
            turn.turns_done += 1;
            turn.ended = Some(at);
            let tasks = payload["background_tasks"].as_array().map_or(0, Vec::len);
            turn.background = u32::try_from(tasks).unwrap_or(u32::MAX);
            turn.edge = edge(EdgeKind::Done);
        }
        "StopFailure" => {
            turn.waiting = None;
            turn.edge = edge(EdgeKind::Failed(failure(payload)));
        }
        "Interrupt" => {
            turn.waiting = None;
            turn.edge = edge(EdgeKind::Interrupted);
        }
        "PostCompact" if turn.task.as_deref() == Some("PreCompact") => {
            turn.task = None;
            turn.edge = edge(EdgeKind::Done);
        }
        // It says after a minute of waiting that it is idle: whatever was open is over.
        "Notification" if payload["notification_type"] == "idle_prompt" && is_open(turn) => {
            turn.edge = edge(EdgeKind::Interrupted);
        }
        "Notification" if payload["notification_type"] == "ToolPermission" => {
            turn.waiting = Some(Asked { at, r#for: WaitFor::Permission, question: None });
        }
        _ => {}
    }
}

fn is_open(turn: &Turn) -> bool {
    turn.edge.as_ref().is_some_and(|edge| edge.what == EdgeKind::Began)
}

/// What the dialog asks, as far as its hook tells.
fn asked(payload: &Value, at: Timestamp) -> Asked {
    let input = &payload["tool_input"];
    let (r#for, question) = match payload["tool_name"].as_str() {
        Some("AskUserQuestion" | "request_user_input") => {
            (WaitFor::Question, text(&input["questions"][0]["question"]))
        }
        Some("ExitPlanMode") => (WaitFor::Plan, text(&input["plan"])),
        Some(tool) => {
            let what = ["command", "file_path", "path"].iter().find_map(|key| text(&input[*key]));
            let what = what.map_or_else(|| tool.to_owned(), |what| format!("{tool} {what}"));
            (WaitFor::Permission, Some(what))
        }
        None => (WaitFor::Permission, None),
    };
    Asked { at, r#for, question }
}

/// The word is broad: an overload is a `server_error` too, and only the text has its status (`API Error: 529 …`). The
/// transcript has it in full, but some milliseconds later.
fn failure(payload: &Value) -> Failure {
    let said = text(&payload["last_assistant_message"]).unwrap_or_default();
    let status = || said.strip_prefix("API Error: ")?.get(..3)?.parse().ok();
    let kind = status().and_then(Failure::kind_of_status).map(ToOwned::to_owned);
    let word = text(&payload["error"]).filter(|word| word != "unknown");
    let by_text = || Failure::kind_of_text(&said).map(ToOwned::to_owned);
    let kind = kind.or(word).or_else(by_text).unwrap_or_else(|| "unknown".into());
    Failure { kind, text: said, until: None }
}

fn task(event: &str, payload: &Value) -> String {
    let input = &payload["tool_input"];
    match payload["tool_name"].as_str() {
        Some(tool) => ["description", "command", "file_path"]
            .iter()
            .find_map(|key| text(&input[*key]))
            .map_or_else(|| tool.to_owned(), |what| format!("{tool}: {what}")),
        None => event.to_owned(),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    #[test]
    fn what_was_overtaken_undoes_nothing() {
        let mut turn = after(&[("UserPromptSubmit", json!({})), ("Stop", json!({}))]);
        fold_late(&mut turn, "PreToolUse", &json!({"tool_name": "Bash"}), at(0));
        assert_eq!(turn.edge, Some(Edge { at: at(1), what: EdgeKind::Done, told: true }));
        let mut turn = after(&[("UserPromptSubmit", json!({})), ("SubagentStop", json!({}))]);
        fold_late(&mut turn, "Stop", &json!({}), at(1));
        assert_eq!(turn.edge.map(|edge| edge.what), Some(EdgeKind::Done));
    }

    fn after(events: &[(&str, Value)]) -> Turn {
        let mut turn = Turn::default();
        for (second, (event, payload)) in (0..).zip(events) {
            fold(&mut turn, event, payload, at(second));
        }
        turn
    }

    fn edge(turn: &Turn) -> Option<EdgeKind> {
        turn.edge.as_ref().map(|e| e.what.clone())
    }

    #[test]
    fn a_turn_from_prompt_to_stop() {
        let turn = after(&[
            ("SessionStart", json!({})),
            ("UserPromptSubmit", json!({})),
            ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "make"}})),
        ]);
        assert_eq!(edge(&turn), Some(EdgeKind::Began));
        assert_eq!(turn.edge.unwrap().at, at(1), "a tool does not begin the turn again");
        assert_eq!(turn.task.as_deref(), Some("Bash: make"));
        let turn =
            after(&[("UserPromptSubmit", json!({})), ("Stop", json!({"background_tasks": [{}]}))]);
        assert_eq!((edge(&turn), turn.turns_done, turn.background), (Some(EdgeKind::Done), 1, 1));
    }

    #[test]
    fn questions_open_and_close() {
        let ask = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?"}]}});
        let turn = after(&[("UserPromptSubmit", json!({})), ("PermissionRequest", ask)]);
        let asked = turn.waiting.unwrap();
        assert_eq!((asked.r#for, asked.question.as_deref()), (WaitFor::Question, Some("Which?")));
        let bash = json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}});
        let turn = after(&[("PermissionRequest", bash.clone()), ("PostToolUse", json!({}))]);
        assert_eq!(turn.waiting, None);
        let turn = after(&[("PermissionRequest", bash)]);
        assert_eq!(turn.waiting.unwrap().question.as_deref(), Some("Bash rm x"));
    }

    #[test]
    fn failures_and_interrupts() {
        let turn = after(&[
            ("UserPromptSubmit", json!({})),
            ("StopFailure", json!({"error": "rate_limit"})),
        ]);
        assert!(matches!(edge(&turn), Some(EdgeKind::Failed(f)) if f.is_limit()));
        let overload = json!({"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded."});
        let turn = after(&[("UserPromptSubmit", json!({})), ("StopFailure", overload)]);
        assert!(matches!(edge(&turn), Some(EdgeKind::Failed(f)) if f.is_limit()));
        let turn = after(&[("UserPromptSubmit", json!({})), ("Interrupt", json!({}))]);
        assert_eq!(edge(&turn), Some(EdgeKind::Interrupted));
        let idle = json!({"notification_type": "idle_prompt"});
        let turn = after(&[("UserPromptSubmit", json!({})), ("Notification", idle)]);
        assert_eq!(edge(&turn), Some(EdgeKind::Interrupted));
    }

    #[test]
    fn rubbish_changes_nothing() {
        let turn =
            after(&[("", json!(null)), ("Stop", json!([1])), ("PermissionRequest", json!("x"))]);
        assert_eq!(turn.turns_done, 1);
        assert_eq!(turn.waiting.unwrap().question, None);
    }
}
