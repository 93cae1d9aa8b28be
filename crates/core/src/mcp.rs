//! What an agent that uses dogwatch by MCP may do. A person decides that, in the configuration file.

use std::collections::BTreeSet;

use dogwatch_protocol::status::{Need, Status};

/// A tool, as it is called by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Sessions,
    Why,
    Spawn,
    Send,
    JobSubmit,
    JobResult,
    Since,
    Answer,
    AskPerson,
    Capture,
}

impl Verb {
    /// In the order of their listing.
    pub const ALL: [Self; 10] = [
        Self::Sessions,
        Self::Why,
        Self::Spawn,
        Self::Send,
        Self::JobSubmit,
        Self::JobResult,
        Self::Since,
        Self::Answer,
        Self::AskPerson,
        Self::Capture,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Why => "why",
            Self::Spawn => "spawn",
            Self::Send => "send",
            Self::JobSubmit => "job_submit",
            Self::JobResult => "job_result",
            Self::Since => "since",
            Self::Answer => "answer",
            Self::AskPerson => "ask_person",
            Self::Capture => "capture",
        }
    }

    /// Whether it changes something.
    pub fn acts(self) -> bool {
        match self {
            Self::Spawn | Self::Send | Self::JobSubmit | Self::Answer | Self::AskPerson => true,
            Self::Sessions | Self::Why | Self::JobResult | Self::Since | Self::Capture => false,
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }
}

/// Something that can be allowed: a tool, or a way to use some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    Use(Verb),
    /// `answer` dialogs that ask for permission, for trust, for a login, or to approve a plan.
    Approve,
    /// `spawn` agents that act without asking.
    Unattended,
    /// `send`, `job_submit` and `answer` to sessions that dogwatch did not start.
    Unmanaged,
}

impl Right {
    /// Those that a person has to allow explicitly.
    const WITHHELD: [Self; 3] = [Self::Approve, Self::Unattended, Self::Unmanaged];

    pub fn all() -> impl Iterator<Item = Self> {
        Verb::ALL.into_iter().map(Self::Use).chain(Self::WITHHELD)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Use(verb) => verb.as_str(),
            Self::Approve => "approve",
            Self::Unattended => "unattended",
            Self::Unmanaged => "unmanaged",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().find(|right| right.as_str() == word)
    }

    /// The right that answering such a dialog needs besides `answer`. A dialog of an unknown kind may be any of them.
    pub fn to_answer(need: Need) -> Option<Self> {
        match need {
            Need::Question => None,
            Need::Permission | Need::Plan | Need::Trust | Need::Login | Need::Other => {
                Some(Self::Approve)
            }
        }
    }
}

/// All that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    allowed: BTreeSet<Right>,
}

impl Policy {
    pub fn new(allowed: impl IntoIterator<Item = Right>) -> Self {
        Self { allowed: allowed.into_iter().collect() }
    }

    pub fn allows(&self, right: Right) -> bool {
        self.allowed.contains(&right)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Verb::ALL.map(Right::Use))
    }
}

/// Whether an agent that has given work to another one has to know of this state: it asks for a reaction.
pub fn is_news(status: &Status) -> bool {
    match status {
        Status::Starting | Status::Unknown { .. } | Status::Working { looping: None, .. } => false,
        Status::Idle { after_turn, interrupted, .. } => *after_turn || *interrupted,
        Status::Working { looping: Some(_), .. }
        | Status::Waiting { .. }
        | Status::Limited { .. }
        | Status::Error { .. }
        | Status::Exited
        | Status::Stopped { .. }
        | Status::Crashed { .. }
        | Status::Stuck { .. }
        | Status::Lost { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_for_a_reaction_is_news() {
        let idle = |after_turn| Status::Idle {
            after_turn,
            interrupted: false,
            background: 0,
            draft: None,
        };
        let table = [
            (Status::Starting, false),
            (Status::working(None), false),
            (idle(false), false),
            (idle(true), true),
            (Status::Limited { until: None, text: String::new() }, true),
            (Status::Crashed { exit: None }, true),
            (Status::Unknown { missing: String::new() }, false),
        ];
        for (status, expected) in table {
            assert_eq!(is_news(&status), expected, "{status:?}");
        }
    }

    #[test]
    fn an_agent_approves_nothing_unless_a_person_allows_it() {
        let policy = Policy::default();
        let needs =
            [Need::Permission, Need::Plan, Need::Trust, Need::Login, Need::Other, Need::Question];
        let may: Vec<bool> = needs
            .into_iter()
            .map(|need| Right::to_answer(need).is_none_or(|right| policy.allows(right)))
            .collect();
        assert_eq!(may, [false, false, false, false, false, true]);
        assert!(policy.allows(Right::Use(Verb::Answer)) && !policy.allows(Right::Unattended));
        assert!(!Policy::new([]).allows(Right::Use(Verb::Sessions)));
        for right in Right::all() {
            assert_eq!(Right::from_word(right.as_str()), Some(right));
        }
    }
}
