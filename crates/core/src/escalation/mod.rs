//! Questions to a person: when one is asked, how grave it is, what is said, and what can be answered.
//!
//! | # | trigger | kind |
//! | --- | --- | --- |
//! | 1 | the review loop has used up its cycles | critical |
//! | 2 | the output fits neither success nor failure | preference |
//! | 3 | a session could not be started, in all its tries | critical |
//! | 4 | git did not take the commit | critical |
//! | 5 | something unexpected | critical |
//! | 6 | stories that run side by side may collide | preference |
//! | 7 | the dev step failed | critical if it blocks and no retry is left, else preference |
//! | 8 | a session is over and its work could not be verified, in every attempt | critical |
//! | 9 | the budget is used up | critical |
//! | 10 | an agent asks for permission | preference |
//!
//! A critical one stops the run until it is answered; with a preference other stories go on meanwhile.

mod offer;
mod options;
mod situation;

pub use offer::{Dialog, Doer, Offer};
pub use options::{Action, Choice, choices};
pub use situation::{Fact, Situation};

use serde::{Deserialize, Serialize};

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    ReviewLoop,
    OutputUnclear,
    SpawnFailed,
    CommitFailed,
    Unexpected,
    DependencyConflict,
    DevFailed,
    SessionIncomplete,
    Budget,
    Permission,
}

/// Whether anything can go on without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The run is paused until it is answered.
    Critical,
    /// It could go on either way, and other stories do.
    Preference,
}

/// What decides the gravity of trigger 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gravity {
    /// Other work cannot be done before this is.
    pub blocking: bool,
    pub retries_left: u32,
}

impl Trigger {
    pub const ALL: [Self; 10] = [
        Self::ReviewLoop,
        Self::OutputUnclear,
        Self::SpawnFailed,
        Self::CommitFailed,
        Self::Unexpected,
        Self::DependencyConflict,
        Self::DevFailed,
        Self::SessionIncomplete,
        Self::Budget,
        Self::Permission,
    ];

    pub fn number(self) -> u32 {
        match self {
            Self::ReviewLoop => 1,
            Self::OutputUnclear => 2,
            Self::SpawnFailed => 3,
            Self::CommitFailed => 4,
            Self::Unexpected => 5,
            Self::DependencyConflict => 6,
            Self::DevFailed => 7,
            Self::SessionIncomplete => 8,
            Self::Budget => 9,
            Self::Permission => 10,
        }
    }

    /// Its word for machines, which never changes.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReviewLoop => "review_loop",
            Self::OutputUnclear => "output_unclear",
            Self::SpawnFailed => "spawn_failed",
            Self::CommitFailed => "commit_failed",
            Self::Unexpected => "unexpected",
            Self::DependencyConflict => "dependency_conflict",
            Self::DevFailed => "dev_failed",
            Self::SessionIncomplete => "session_incomplete",
            Self::Budget => "budget",
            Self::Permission => "permission",
        }
    }

    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.word() == word)
    }

    /// What has happened, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ReviewLoop => "the review found problems in every cycle",
            Self::OutputUnclear => "it is unclear whether the step succeeded",
            Self::SpawnFailed => "the session could not be started",
            Self::CommitFailed => "git refused the commit",
            Self::Unexpected => "something unexpected happened",
            Self::DependencyConflict => "changes made in parallel conflict",
            Self::DevFailed => "the step failed",
            Self::SessionIncomplete => "the session ended, but its work could not be verified",
            Self::Budget => "the budget is used up",
            Self::Permission => "an agent asks for permission",
        }
    }

    pub fn kind(self, gravity: Gravity) -> Kind {
        match self {
            Self::OutputUnclear | Self::DependencyConflict | Self::Permission => Kind::Preference,
            Self::DevFailed if !gravity.blocking || gravity.retries_left > 0 => Kind::Preference,
            Self::ReviewLoop
            | Self::SpawnFailed
            | Self::CommitFailed
            | Self::Unexpected
            | Self::DevFailed
            | Self::SessionIncomplete
            | Self::Budget => Kind::Critical,
        }
    }
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Preference => "preference",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let grave = Gravity { blocking: true, retries_left: 0 };
        let table = [
            (Trigger::ReviewLoop, Kind::Critical),
            (Trigger::OutputUnclear, Kind::Preference),
            (Trigger::SpawnFailed, Kind::Critical),
            (Trigger::CommitFailed, Kind::Critical),
            (Trigger::Unexpected, Kind::Critical),
            (Trigger::DependencyConflict, Kind::Preference),
            (Trigger::DevFailed, Kind::Critical),
            (Trigger::SessionIncomplete, Kind::Critical),
            (Trigger::Budget, Kind::Critical),
            (Trigger::Permission, Kind::Preference),
        ];
        assert_eq!(table.map(|(trigger, _)| trigger), Trigger::ALL);
        for (trigger, kind) in table {
            assert_eq!(trigger.kind(grave), kind, "{trigger:?}");
        }
    }

    #[test]
    fn the_dev_step_is_critical_only_if_it_blocks_and_no_retry_is_left() {
        let kind =
            |blocking, retries_left| Trigger::DevFailed.kind(Gravity { blocking, retries_left });
        assert_eq!(kind(true, 0), Kind::Critical);
        assert_eq!(kind(true, 1), Kind::Preference);
        assert_eq!(kind(false, 0), Kind::Preference);
        assert_eq!(kind(false, 1), Kind::Preference);
    }

    #[test]
    fn numbers_and_words_are_told_apart() {
        for (place, trigger) in (1_u32..).zip(Trigger::ALL) {
            assert_eq!(trigger.number(), place);
            assert_eq!(Trigger::by_word(trigger.word()), Some(trigger));
            let written = serde_json::to_value(trigger).unwrap();
            assert_eq!(written, trigger.word(), "the word is the one that is written");
        }
        assert_eq!(Trigger::by_word("other"), None);
    }
}
