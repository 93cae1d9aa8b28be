//! What an agent last said of itself through its hooks.
//!
//! A hook opens or closes a turn; its silence proves nothing (Esc fires none). So this is a witness
//! for the judge of states, not a verdict.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Ready,
    Working,
    Waiting,
    TurnDone,
    TurnFailed,
    Left,
}

impl Told {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::TurnDone => "done",
            Self::TurnFailed => "failed",
            Self::Left => "left",
        }
    }
}

/// Meaning of one hook event, in the words of claude, codex and gemini; `None` if it says nothing
/// about the turn.
pub fn meaning(event: &str) -> Option<Told> {
    Some(match event {
        "SessionStart" => Told::Ready,
        "UserPromptSubmit" | "PreToolUse" | "PostToolUse" | "PostToolUseFailure"
        | "SubagentStart" | "PreCompact" | "BeforeAgent" | "BeforeTool" | "AfterTool" => {
            Told::Working
        }
        "PermissionRequest" => Told::Waiting,
        "Stop" | "AfterAgent" | "Interrupt" | "agent-turn-complete" => Told::TurnDone,
        "StopFailure" => Told::TurnFailed,
        "SessionEnd" => Told::Left,
        _ => return None,
    })
}

/// The last meaningful word, given the events oldest first.
pub fn last_word<'a>(events: impl IntoIterator<Item = &'a str>) -> Option<Told> {
    events.into_iter().filter_map(meaning).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_meaningful_event_counts() {
        assert_eq!(last_word([]), None);
        assert_eq!(last_word(["SessionStart"]), Some(Told::Ready));
        assert_eq!(
            last_word(["UserPromptSubmit", "PreToolUse", "PermissionRequest", "Notification"]),
            Some(Told::Waiting)
        );
        assert_eq!(last_word(["PermissionRequest", "PostToolUse"]), Some(Told::Working));
        assert_eq!(last_word(["UserPromptSubmit", "StopFailure"]), Some(Told::TurnFailed));
    }
}
