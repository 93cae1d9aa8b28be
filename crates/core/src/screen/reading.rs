//! What a screen says, and why we think so.

use serde::{Deserialize, Serialize};

/// A screen read on its own. The judge weighs it against other witnesses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    #[serde(flatten)]
    pub state: State,
    pub details: Details,
    /// Everything that matched, the deciding rule first.
    pub reasons: Vec<Reason>,
}

impl Reading {
    /// Whether both say the same of the agent, whatever the words are that they read: a masked screen has others.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let rule = |reading: &Self| reading.reasons.first().map(|reason| reason.rule.clone());
        let same = match (&self.state, &other.state) {
            (State::Error { kind, .. }, State::Error { kind: other, .. }) => kind == other,
            (State::Limited { .. }, State::Limited { .. }) => true,
            (state, other) => state == other,
        };
        same && rule(self) == rule(other)
    }
}

/// What the agent is doing, as far as its screen tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nothing of the agent is there yet, or it is not ready for input.
    Starting,
    Working,
    Waiting {
        #[serde(rename = "for")]
        need: Need,
    },
    Limited {
        /// When it ends, in the words of the screen.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    Idle {
        /// Whether a finished turn is in sight.
        done: bool,
    },
    Error {
        kind: String,
        text: String,
    },
    /// Left in an orderly way; [`Details::exit`] has what the screen says about it.
    Exited,
    /// Its end was none of its own: a dead pane by signal, a shell prompt over its picture.
    Crashed,
    /// No rule matched, or something hides what the agent is doing.
    Unknown,
}

impl State {
    pub fn word(&self) -> &'static str {
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

/// What a person is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    Permission,
    Question,
    Plan,
    Trust,
    Login,
    Other,
}

impl Need {
    pub fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Trust => "trust",
            Self::Login => "login",
            Self::Other => "other",
        }
    }
}

/// What else could be read off. Everything is optional: a screen shows what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Details {
    /// Text a person typed and did not send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What the agent says it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_secs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Todos>,
    /// Shells, terminals or helpers that run on beside the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The parts that one who types into the pane must know.
    #[serde(skip)]
    pub hands: Hands,
}

/// What can be done with the hands on this screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hands {
    /// There is an input box.
    pub has_box: bool,
    /// The draft is nothing but the agent's mark for a long paste.
    pub is_paste_mark: bool,
    /// Which of the options is marked.
    pub marked: Option<usize>,
    /// The last message of the person in sight.
    pub asked: Option<String>,
    /// What stands below the box.
    pub footer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Todos {
    pub done: u32,
    pub doing: u32,
    pub open: u32,
}

/// What tmux writes into a dead pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Status(i32),
    Signal(i32),
}

/// One rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub rule: String,
    pub region: Region,
    /// The line it matched, shortened.
    pub text: String,
}

/// A part of the screen with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// The pane title.
    Title,
    /// The pane title, if it names the folder that the footer names: it is the agent's own then.
    OwnTitle,
    /// The input box, without frame and prompt sign.
    Box,
    /// The last block of lines above the box.
    Activity,
    /// Hints between the activity and the box.
    Notices,
    /// The last message of the person in sight.
    Asked,
    /// From that message to the box.
    Turn,
    /// All that is in sight above the box.
    Transcript,
    /// Below the box.
    Footer,
    /// A dialog that took the place of the box.
    Dialog,
    /// The last lines, when there is neither box nor dialog.
    Tail,
    /// The very last line.
    LastLine,
    /// A shell prompt on the last line.
    Shell,
    /// What stands right above the shell prompt.
    AboveShell,
}
