//! Hook events of claude, codex and gemini, folded into the edges of turns.
//!
//! A hook opens or closes a turn; its silence proves nothing: Esc fires none in claude, an API error none
//! in codex.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::WaitFor;
use super::evidence::{Asked, Edge, EdgeKind, Failure, Turn};

/// A request for permission that a rule of the user has answered: no dialog. Stored by our own hook.
pub const PERMISSION_ANSWERED: &str = "PermissionAnswered";

/// A prompt that a budget has held: it began no turn. Stored by our own hook.
pub const PROMPT_HELD: &str = "PromptHeld";
/// What a signal begins with that is stored as soon as its hook is called, before rules and budgets are asked. The event itself
/// follows, or one of the two above.
const ARRIVED: &str = "Arrived:";
/// How long our hook may take to say what became of an event: it ends itself after two seconds.
const OVERDUE: SignedDuration = SignedDuration::from_secs(3);

/// The name of a signal for an event that has arrived, and may have no effect.
pub fn arrived(event: &str) -> String {
    format!("{ARRIVED}{event}")
}

/// The event of such a signal.
pub(super) fn arrived_event(name: &str) -> Option<&str> {
    name.strip_prefix(ARRIVED)
}

/// An event of which nothing is known yet but that it has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    event: String,
    payload: Value,
    at: Timestamp,
}

impl Arrived {
    fn is_answered_by(&self, event: &str) -> bool {
        match event {
            PERMISSION_ANSWERED => self.event == "PermissionRequest",
            PROMPT_HELD => is_prompt(&self.event),
            event => event == self.event || is_prompt(event) || ends_a_turn(event),
        }
    }
}

fn is_prompt(event: &str) -> bool {
    matches!(event, "UserPromptSubmit" | "BeforeAgent")
}

fn ends_a_turn(event: &str) -> bool {
    matches!(event, "Stop" | "AfterAgent" | "agent-turn-complete" | "StopFailure" | "Interrupt")
}

/// The turns as they are now: the hook of an event that arrived a while ago was killed, and the event counts.
#[must_use]
pub fn as_of(turn: &Turn, now: Timestamp) -> Turn {
    let mut turn = turn.clone();
    let is_overdue = |arrived: &Arrived| now.duration_since(arrived.at).abs() > OVERDUE;
    if let Some(Arrived { event, payload, at }) = turn.arrived.take_if(|one| is_overdue(one)) {
        fold_late(&mut turn, &event, &payload, at);
    }
    turn
}

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
    if let Some(event) = arrived_event(event) {
        let (event, payload) = (event.to_owned(), payload.clone());
        turn.arrived = Some(Arrived { event, payload, at });
        return;
    }
    turn.arrived.take_if(|arrived| arrived.is_answered_by(event));
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

    /// Our hook stores each event first, and may be killed before it can say what became of it.
    #[test]
    fn an_event_that_arrived_counts_when_its_hook_is_overdue() {
        let bash = || json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}});
        let asked = arrived("PermissionRequest");
        let prompt = arrived("UserPromptSubmit");
        let stop = arrived("Stop");
        let what = |events: &[(&str, Value)], later: i64| {
            let now = at(i64::try_from(events.len()).unwrap() - 1 + later);
            let turn = as_of(&after(events), now);
            (turn.waiting.clone().and_then(|asked| asked.question), edge(&turn))
        };
        let rm = || Some("Bash rm x".to_owned());
        let began = ("UserPromptSubmit", json!({}));
        let open = || [began.clone(), (asked.as_str(), bash())];
        assert_eq!(what(&open(), 2), (None, Some(EdgeKind::Began)), "rules may answer");
        assert_eq!(what(&open(), 4), (rm(), Some(EdgeKind::Began)), "none did");
        let then = |event: &'static str, payload: Value| {
            let [one, two] = open();
            [one, two, (event, payload)]
        };
        let is_left = what(&then("PermissionRequest", bash()), 0);
        assert_eq!(is_left, (rm(), Some(EdgeKind::Began)), "left to a person");
        assert_eq!(what(&then(PERMISSION_ANSWERED, bash()), 9), (None, Some(EdgeKind::Began)));
        let beside = what(&then("PostToolUse", json!({})), 9);
        assert_eq!(beside, (rm(), Some(EdgeKind::Began)), "that was another tool");
        let done = [began.clone(), ("Stop", json!({})), (prompt.as_str(), json!({}))];
        assert_eq!(what(&done, 2).1, Some(EdgeKind::Done), "a budget may hold it");
        assert_eq!(what(&done, 4).1, Some(EdgeKind::Began));
        let held = [done[0].clone(), done[1].clone(), done[2].clone(), (PROMPT_HELD, json!({}))];
        assert_eq!(what(&held, 9).1, Some(EdgeKind::Done), "it is as if it had not come");
        let ends = [began, (stop.as_str(), json!({}))];
        assert_eq!(what(&ends, 2).1, Some(EdgeKind::Began));
        assert_eq!(what(&ends, 4).1, Some(EdgeKind::Done));
    }

    #[test]
    fn rubbish_changes_nothing() {
        let turn =
            after(&[("", json!(null)), ("Stop", json!([1])), ("PermissionRequest", json!("x"))]);
        assert_eq!(turn.turns_done, 1);
        assert_eq!(turn.waiting.unwrap().question, None);
    }
}
