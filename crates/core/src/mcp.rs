//! What an agent that uses dogwatch by MCP may do. A person decides that, in the configuration file.

use std::collections::BTreeSet;

use dogwatch_protocol::status::Need;

/// Something that can be allowed: a tool, or a way to use one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    Sessions,
    Why,
    Capture,
    Since,
    JobResult,
    Spawn,
    Send,
    JobSubmit,
    Answer,
    AskPerson,
    /// `answer` dialogs that ask for permission, for trust, for a login, or to approve a plan.
    Approve,
    /// `spawn` agents that act without asking.
    Unattended,
    /// `send`, `job_submit` and `answer` to sessions that dogwatch did not start.
    Unmanaged,
}

impl Right {
    pub const ALL: [Self; 13] = [
        Self::Sessions,
        Self::Why,
        Self::Capture,
        Self::Since,
        Self::JobResult,
        Self::Spawn,
        Self::Send,
        Self::JobSubmit,
        Self::Answer,
        Self::AskPerson,
        Self::Approve,
        Self::Unattended,
        Self::Unmanaged,
    ];

    /// Those that a person has to allow explicitly.
    const WITHHELD: [Self; 3] = [Self::Approve, Self::Unattended, Self::Unmanaged];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Why => "why",
            Self::Capture => "capture",
            Self::Since => "since",
            Self::JobResult => "job_result",
            Self::Spawn => "spawn",
            Self::Send => "send",
            Self::JobSubmit => "job_submit",
            Self::Answer => "answer",
            Self::AskPerson => "ask_person",
            Self::Approve => "approve",
            Self::Unattended => "unattended",
            Self::Unmanaged => "unmanaged",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == word)
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
        Self::new(Right::ALL.into_iter().filter(|right| !Right::WITHHELD.contains(right)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(policy.allows(Right::Answer) && !policy.allows(Right::Unattended));
        assert!(!Policy::new([]).allows(Right::Sessions));
        for right in Right::ALL {
            assert_eq!(Right::from_word(right.as_str()), Some(right));
        }
    }
}
