//! What a screen says, and why we think so.

use serde::Serialize;

pub use dogwatch_protocol::screen::{Exit, Reason, Region, State, Todos};
pub use dogwatch_protocol::status::Need;

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
    /// The parts that a process that types into the pane needs.
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
    /// The numbers that the options are shown with.
    pub numbers: Vec<usize>,
    /// All that the dialog shows above its options, without blanks and frames: of two dialogs that ask the same, it has what each is about.
    pub about: String,
    /// The options stand beside each other.
    pub sideways: bool,
    /// The pane is so low that there may be more options than it shows.
    pub is_low: bool,
    /// The last message of the person in sight.
    pub asked: Option<String>,
    /// Something is below that message that is not its own text, which is indented.
    pub answered: bool,
    /// What stands below the box.
    pub footer: Option<String>,
}
