//! Rules that answer requests for permission.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Allow,
    Deny,
    /// A person is asked.
    Ask,
}

impl Answer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

/// `dogwatch rules --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Since when rules answer nothing; null if they do.
    pub paused_since: Option<Timestamp>,
    /// Why no rule answers in this project: a file that was trusted is not as it was. Null if they do.
    pub off: Option<String>,
    pub rules: Vec<ListedRule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ListedRule {
    pub name: String,
    pub answer: Answer,
    /// What it is about, for people.
    pub about: String,
    /// The file that it is written in.
    pub file: String,
}

/// `dogwatch rules rehearse --json`: what the rules say to requests of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Rehearsal {
    pub requests: Vec<RehearsedRequest>,
    /// How many of them would be allowed, denied, left to a person.
    pub allow: usize,
    pub deny: usize,
    pub ask: usize,
}

/// A request for permission, and what the rules of today say to it; `dogwatch rules explain --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RehearsedRequest {
    /// Its number, for `rules explain`.
    pub number: i64,
    pub at: Timestamp,
    /// The session's name and id.
    pub session: String,
    pub id: String,
    pub agent: String,
    pub tool: String,
    /// The command or the file.
    pub asks: String,
    pub answer: Answer,
    /// The rules that decide.
    pub rules: Vec<String>,
    /// For people.
    pub because: String,
    /// Whether a rule answered it when it came.
    pub was_answered: bool,
}

/// `rules_answered`, an event: a rule answered a request for permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RulesAnswered {
    pub tool: String,
    /// The command or the file.
    pub asks: String,
    pub answer: Answer,
    /// The rules that decided.
    pub rules: Vec<String>,
    /// The same for the same request.
    pub request: String,
}

/// `rules_held`, an event: a rule would have answered, but had answered too often. A person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RulesHeld {
    pub tool: String,
    pub asks: String,
    /// For people.
    pub because: String,
}

/// What Claude Code and Codex read from a hook that decides about a request for permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookOutput {
    pub hook_specific_output: HookDecision,
}

/// What they read from a hook that holds a tool call before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolHeld {
    hook_specific_output: ToolDecision,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolDecision {
    hook_event_name: &'static str,
    permission_decision: Answer,
    permission_decision_reason: String,
}

impl ToolHeld {
    /// Refuses the call, and says why to the agent.
    pub fn because(reason: String) -> Self {
        Self {
            hook_specific_output: ToolDecision {
                hook_event_name: "PreToolUse",
                permission_decision: Answer::Deny,
                permission_decision_reason: reason,
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookDecision {
    pub hook_event_name: &'static str,
    pub decision: HookBehavior,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookBehavior {
    pub behavior: Answer,
    /// The message to the agent about a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl HookOutput {
    pub fn permission(behavior: Answer, message: Option<String>) -> Self {
        let decision = HookBehavior { behavior, message };
        Self {
            hook_specific_output: HookDecision { hook_event_name: "PermissionRequest", decision },
        }
    }
}
