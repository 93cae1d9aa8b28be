//! What a screen shows, and which rules of its agent matched.

use serde::{Deserialize, Serialize};

use crate::status::{Basis, Need};

/// What the agent is doing, according to its screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nothing of the agent is visible yet, or it is not ready for input.
    Starting,
    Working,
    Waiting {
        #[serde(rename = "for")]
        need: Need,
    },
    Limited {
        /// When it ends, as the screen says it.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    Idle {
        /// Whether a finished turn is visible.
        done: bool,
    },
    Error {
        kind: String,
        text: String,
    },
    /// Exited in an orderly way; [`Details::exit`] has what the screen says about it.
    Exited,
    /// Ended from outside: a dead pane by signal, or a shell prompt over its screen.
    Crashed,
    /// No rule matched, or something hides what the agent is doing.
    Unknown,
}

impl State {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Waiting { .. } => "waiting",
            Self::Limited { .. } => "limited",
            Self::Idle { .. } => "idle",
            Self::Error { .. } => "error",
            Self::Exited => "exited",
            Self::Crashed => "crashed",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Todos {
    pub done: u32,
    pub doing: u32,
    pub open: u32,
}

/// What tmux prints into a dead pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Status(i32),
    Signal(i32),
}

/// One rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reason {
    pub rule: String,
    pub region: Region,
    /// The matched line, shortened.
    pub text: String,
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// The pane title.
    Title,
    /// The pane title, if it names the same directory as the footer: then the agent has set it.
    OwnTitle,
    /// The input box, without frame and prompt sign.
    Box,
    /// The last block of lines above the box.
    Activity,
    /// Hints between the activity and the box.
    Notices,
    /// The last visible message of the person.
    Asked,
    /// From that message to the box.
    Turn,
    /// All visible text above the box.
    Transcript,
    /// Below the box.
    Footer,
    /// A dialog in the place of the box.
    Dialog,
    /// The last lines, when there is neither box nor dialog.
    Tail,
    /// The very last line.
    LastLine,
    /// A shell prompt on the last line.
    Shell,
    /// The text right above the shell prompt.
    AboveShell,
}

impl Region {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::OwnTitle => "own-title",
            Self::Box => "box",
            Self::Activity => "activity",
            Self::Notices => "notices",
            Self::Asked => "asked",
            Self::Turn => "turn",
            Self::Transcript => "transcript",
            Self::Footer => "footer",
            Self::Dialog => "dialog",
            Self::Tail => "tail",
            Self::LastLine => "last-line",
            Self::Shell => "shell",
            Self::AboveShell => "above-shell",
        }
    }
}

/// What one screen shows, without any other source.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reading {
    #[serde(flatten)]
    pub state: State,
    pub details: Details,
    /// Every rule that matched, the deciding one first.
    pub reasons: Vec<Reason>,
    /// Always `inferred`.
    pub basis: Basis,
}

/// Further details; each is absent if it was not found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Details {
    /// Text that a person typed and did not send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The agent's own description of its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_secs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Todos>,
    /// Shells, terminals or helpers that run beside the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}
