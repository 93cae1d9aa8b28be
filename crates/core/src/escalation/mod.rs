//! Questions to a person: when to ask, how urgent they are, their text, and the possible answers.
//!
//! | # | trigger | kind |
//! | --- | --- | --- |
//! | 1 | the review loop has used up its cycles | critical |
//! | 2 | the output matches neither success nor failure | preference |
//! | 3 | a session failed to start in every attempt | critical |
//! | 4 | git refused the commit | critical |
//! | 5 | something unexpected | critical |
//! | 6 | parallel stories may conflict | preference |
//! | 7 | the dev step failed | critical if it blocks and no retry is left, else preference |
//! | 8 | a session ended and its work could not be verified, in every attempt | critical |
//! | 9 | the budget is used up | critical |
//! | 10 | an agent asks for permission | preference |
//! | 11 | an agent asks something of its own | preference |
//!
//! A critical question stops the run until it is answered; with a preference other stories continue.

mod options;
mod situation;

pub use dogwatch_protocol::escalation::{
    Action, Choice, Dialog, Doer, Fact, Kind, Offer, Situation, Trigger,
};
pub use options::choices;
pub use situation::text;

/// What decides whether trigger 7 is critical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gravity {
    /// Other work depends on this.
    pub blocking: bool,
    pub retries_left: u32,
}

/// Whether a question of this trigger is critical.
pub fn kind(trigger: Trigger, gravity: Gravity) -> Kind {
    match trigger {
        Trigger::OutputUnclear
        | Trigger::DependencyConflict
        | Trigger::Permission
        | Trigger::Asked => Kind::Preference,
        Trigger::DevFailed if !gravity.blocking || gravity.retries_left > 0 => Kind::Preference,
        Trigger::ReviewLoop
        | Trigger::SpawnFailed
        | Trigger::CommitFailed
        | Trigger::Unexpected
        | Trigger::DevFailed
        | Trigger::SessionIncomplete
        | Trigger::Budget => Kind::Critical,
    }
}

/// The same for a situation.
pub fn kind_of(situation: &Situation) -> Kind {
    let Situation { blocking, retries_left, .. } = *situation;
    kind(situation.trigger, Gravity { blocking, retries_left })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trigger_has_a_kind() {
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
            (Trigger::Asked, Kind::Preference),
        ];
        assert_eq!(table.map(|(trigger, _)| trigger), Trigger::ALL);
        for (trigger, kind) in table {
            assert_eq!(super::kind(trigger, grave), kind, "{trigger:?}");
        }
    }

    #[test]
    fn the_dev_step_is_critical_only_if_it_blocks_and_no_retry_is_left() {
        let of =
            |blocking, retries_left| kind(Trigger::DevFailed, Gravity { blocking, retries_left });
        assert_eq!(of(true, 0), Kind::Critical);
        assert_eq!(of(true, 1), Kind::Preference);
        assert_eq!(of(false, 0), Kind::Preference);
        assert_eq!(of(false, 1), Kind::Preference);
    }

    #[test]
    fn names_and_numbers_of_triggers_are_read() {
        for (place, trigger) in (1_u32..).zip(Trigger::ALL) {
            assert_eq!(trigger.number(), place);
            assert_eq!(Trigger::by_word(trigger.as_str()), Some(trigger));
            let written = serde_json::to_value(trigger).unwrap();
            assert_eq!(written, trigger.as_str(), "the word is the one that is written");
        }
        assert_eq!(Trigger::by_word("other"), None);
    }
}
