//! Many hook events at once, as they are found by one who comes late: a session that has run for days has thousands, with
//! payloads of kilobytes, and little of it still shows.

use jiff::Timestamp;
use serde_json::Value;

use super::evidence::Turn;
use super::hooks;

/// One event, without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub at: Timestamp,
    /// It was held up on its way, and may have been overtaken by others.
    pub late: bool,
}

/// Takes in events, oldest first. A payload is asked for, by the event's place, only if it may still show in the end.
pub fn fold(turn: &mut Turn, events: &[Event], mut payload: impl FnMut(usize) -> Value) {
    let worth = worth_reading(events);
    for (place, event) in events.iter().enumerate() {
        let payload = if worth[place] { payload(place) } else { Value::Null };
        let fold = if event.late { hooks::fold_late } else { hooks::fold };
        fold(turn, &event.name, &payload, event.at);
    }
}

/// Goes back through events, newest first, and says when those before cannot show any more.
#[derive(Debug, Default)]
pub struct GoingBack {
    has_begun: bool,
}

impl GoingBack {
    /// True if this event ended a turn, and another one has begun since.
    pub fn is_enough(&mut self, event: &Event) -> bool {
        self.has_begun |= !event.late && is_beginning(&event.name);
        self.has_begun && !event.late && payload_kind(&event.name) == Some(PayloadKind::Background)
    }
}

fn is_beginning(event: &str) -> bool {
    matches!(event, "UserPromptSubmit" | "BeforeAgent")
}

/// Events of which the next one leaves nothing to be seen: an agent has them by the thousand in one turn.
pub const PASSING: [&str; 4] = ["PreToolUse", "PostToolUse", "BeforeTool", "AfterTool"];

/// What a payload tells. The next of the same kind takes its place, but for those of which each counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PayloadKind {
    Task,
    Question,
    /// At the end of a turn, what goes on in the background.
    Background,
    Failure,
    Each,
}

fn payload_kind(event: &str) -> Option<PayloadKind> {
    match event {
        "PreToolUse" | "BeforeTool" | "PreCompress" => Some(PayloadKind::Task),
        "PermissionRequest" => Some(PayloadKind::Question),
        "Stop" | "AfterAgent" | "agent-turn-complete" => Some(PayloadKind::Background),
        "StopFailure" => Some(PayloadKind::Failure),
        "Notification" | "PreCompact" => Some(PayloadKind::Each),
        event => hooks::arrived_event(event).map(|_| PayloadKind::Each),
    }
}

fn worth_reading(events: &[Event]) -> Vec<bool> {
    let mut worth = vec![false; events.len()];
    let mut known = Vec::new();
    for (place, event) in events.iter().enumerate().rev() {
        let Some(kind) = payload_kind(&event.name) else { continue };
        worth[place] = !known.contains(&kind);
        // One that is late may count for nothing, and then the one before it does.
        if kind != PayloadKind::Each && !event.late {
            known.push(kind);
        }
    }
    worth
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NAMES: [&str; 20] = [
        "Arrived:UserPromptSubmit",
        "Arrived:PermissionRequest",
        "Arrived:Stop",
        hooks::PERMISSION_ANSWERED,
        "SessionStart",
        "UserPromptSubmit",
        "BeforeAgent",
        "PreToolUse",
        "PreToolUse",
        "PostToolUse",
        "PermissionRequest",
        "Notification",
        "Stop",
        "agent-turn-complete",
        "StopFailure",
        "Interrupt",
        "PreCompact",
        "PostCompact",
        "SubagentStop",
        "",
    ];

    fn payload(number: u8) -> Value {
        let notification = ["idle_prompt", "ToolPermission", "other"][usize::from(number % 3)];
        let tool = ["Bash", "AskUserQuestion", "ExitPlanMode"][usize::from(number % 3)];
        let mut payload = json!({
            "notification_type": notification,
            "error": format!("e{number}"),
            "background_tasks": vec![0; usize::from(number % 4)],
        });
        if !number.is_multiple_of(5) {
            payload["tool_name"] = json!(tool);
            payload["tool_input"] = json!({ "command": format!("c{number}") });
        }
        payload
    }

    fn events() -> impl Strategy<Value = Vec<(Event, Value)>> {
        let event = (0..NAMES.len(), any::<u8>(), 0_u8..8, -3_i64..3).prop_map(
            |(name, number, late, shift)| (NAMES[name].to_owned(), payload(number), late, shift),
        );
        prop::collection::vec(event, 0..30).prop_map(|events| {
            let event =
                |(second, (name, payload, late, shift)): (i64, (String, Value, u8, i64))| {
                    let late = late == 0;
                    let second = if late { second + shift } else { second };
                    let at = Timestamp::from_second(1_794_700_000 + second).unwrap();
                    (Event { name, at, late }, payload)
                };
            (0..).zip(events).map(event).collect()
        })
    }

    /// Numbers of turns are not kept by one who comes late; that there were any is.
    fn shown(mut turn: Turn) -> Turn {
        (turn.turns_begun, turn.turns_done) = (0, 0);
        turn
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn what_is_left_out_does_not_show(all in events()) {
            let mut whole = Turn::default();
            for (event, payload) in &all {
                let fold = if event.late { hooks::fold_late } else { hooks::fold };
                fold(&mut whole, &event.name, payload, event.at);
            }
            let mut going_back = GoingBack::default();
            let old = all.iter().rposition(|(event, _)| going_back.is_enough(event)).unwrap_or(0);
            let (events, payloads): (Vec<_>, Vec<_>) = all[old..].iter().cloned().unzip();
            let mut turn = Turn::default();
            fold(&mut turn, &events, |place| payloads[place].clone());
            prop_assert_eq!(shown(turn), shown(whole));
        }
    }

    #[test]
    fn few_are_read() {
        let names = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "Stop"];
        let at = Timestamp::UNIX_EPOCH;
        let events = names.map(|name| Event { name: name.to_owned(), at, late: false });
        assert_eq!(worth_reading(&events), [false, false, false, true, true]);
    }
}
