//! The things a model reply can be made of.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::failure::{Cut, Failure};
use super::forms;

/// One action. In the file it is a table with exactly one key, the name of the action.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[serde(deserialize_with = "forms::brief_or_full")]
    Text(Speech),
    #[serde(deserialize_with = "forms::brief_or_full")]
    Thinking(Speech),
    #[serde(deserialize_with = "forms::brief_or_full")]
    Shell(Shell),
    Write(Write),
    Edit(Edit),
    #[serde(deserialize_with = "forms::list_or_full")]
    Todos(TodoList),
    Ask(Ask),
    #[serde(deserialize_with = "forms::brief_or_full")]
    Subagent(Subagent),
    /// The plan a person is asked to approve.
    ExitPlan(String),
    /// A call of a tool by its own name, offered or not.
    Tool(RawCall),
    /// Silence, in seconds.
    #[serde(rename = "stall_s", deserialize_with = "forms::seconds")]
    Stall(Duration),
    #[serde(deserialize_with = "forms::brief_or_full")]
    Gate(Gate),
    Usage(Usage),
    /// An HTTP error in place of a reply.
    #[serde(deserialize_with = "forms::brief_or_full")]
    Error(Failure),
    /// An error event inside a stream that began well.
    #[serde(deserialize_with = "forms::brief_or_full")]
    StreamError(Failure),
    /// The connection breaks off, the reply unfinished.
    Cut(Cut),
}

/// Text that arrives in pieces.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    pub text: String,
    /// Characters per piece.
    #[serde(default = "Speech::default_chunk")]
    pub chunk: usize,
    /// Pause after each piece.
    #[serde(default)]
    pub delay_ms: u64,
}

impl Speech {
    fn default_chunk() -> usize {
        24
    }

    /// The pieces, in order; no piece is empty.
    pub fn pieces(&self) -> Vec<String> {
        let chars: Vec<char> = self.text.chars().collect();
        chars.chunks(self.chunk.max(1)).map(String::from_iter).collect()
    }
}

impl From<String> for Speech {
    fn from(text: String) -> Self {
        Self { text, chunk: Self::default_chunk(), delay_ms: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    pub command: String,
    /// What the agent shows beside the command.
    #[serde(default = "Shell::default_why")]
    pub why: String,
    /// Asks to leave the sandbox with this question, where the agent has such a thing (Codex).
    pub escalate: Option<String>,
    /// How long the tool itself waits for the command.
    pub timeout_ms: Option<u64>,
    /// Lets the command go on in the background, where the agent has such a thing (Claude).
    #[serde(default)]
    pub background: bool,
}

impl Shell {
    fn default_why() -> String {
        "Run a command".to_owned()
    }
}

impl From<String> for Shell {
    fn from(command: String) -> Self {
        Self {
            command,
            why: Self::default_why(),
            escalate: None,
            timeout_ms: None,
            background: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub path: String,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub path: String,
    /// Whole lines that are in the file now.
    pub old: String,
    /// The lines that take their place.
    pub new: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoList {
    pub items: Vec<Todo>,
    /// The list exists from an earlier step: only states change. Some agents have one tool to
    /// create an item and another to change it.
    #[serde(default)]
    pub update: bool,
}

impl From<Vec<Todo>> for TodoList {
    fn from(items: Vec<Todo>) -> Self {
        Self { items, update: false }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    pub text: String,
    #[serde(default)]
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

impl TodoStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub question: String,
    #[serde(default = "Ask::default_header")]
    pub header: String,
    pub options: Vec<String>,
    /// Several options may be chosen.
    #[serde(default)]
    pub multi: bool,
    /// Questions that are asked with this one, in one dialog.
    #[serde(default)]
    pub also: Vec<Self>,
}

impl Ask {
    fn default_header() -> String {
        "Choice".to_owned()
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subagent {
    /// The subagent's own human message: rules match it like any other.
    pub prompt: String,
    #[serde(default = "Subagent::default_description")]
    pub description: String,
    #[serde(default = "Subagent::default_kind")]
    pub kind: String,
}

impl Subagent {
    fn default_description() -> String {
        "Delegate a task".to_owned()
    }

    fn default_kind() -> String {
        "general-purpose".to_owned()
    }
}

impl From<String> for Subagent {
    fn from(prompt: String) -> Self {
        Self { prompt, description: Self::default_description(), kind: Self::default_kind() }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCall {
    pub name: String,
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// Silence until the gate is released.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub name: String,
    /// The reply goes on after this long in any case.
    #[serde(rename = "max_s", default = "Gate::default_max", deserialize_with = "forms::seconds")]
    pub max: Duration,
}

impl Gate {
    fn default_max() -> Duration {
        Duration::from_mins(10)
    }
}

impl From<String> for Gate {
    fn from(name: String) -> Self {
        Self { name, max: Self::default_max() }
    }
}

/// Token numbers to report; those not given are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cached: Option<u64>,
    pub written: Option<u64>,
}
