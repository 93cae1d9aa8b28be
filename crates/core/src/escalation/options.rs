//! What can be answered, in numbered order, for each trigger. The first is what most would choose.

use serde::{Deserialize, Serialize};

use super::{Kind, Situation, Trigger};

/// What whoever asked does with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The same again.
    Retry,
    /// The same again, with another agent.
    OtherAgent,
    /// As it is, it will do.
    Accept,
    /// A person puts it right, and then it is looked at again.
    FixByHand,
    /// On without a commit.
    GoOnUncommitted,
    /// Side by side, as planned.
    GoOn,
    /// One after the other.
    OneByOne,
    /// Without this step.
    SkipStep,
    /// Without this story.
    SkipStory,
    /// This story is given up; others go on.
    AbortStory,
    /// Everything is given up.
    AbortRun,
    /// As much again as there was.
    RaiseBudget,
    /// Nothing more until somebody resumes the run.
    Pause,
    /// Nothing is done about it.
    Leave,
}

impl Action {
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::OtherAgent => "other_agent",
            Self::Accept => "accept",
            Self::FixByHand => "fix_by_hand",
            Self::GoOnUncommitted => "go_on_uncommitted",
            Self::GoOn => "go_on",
            Self::OneByOne => "one_by_one",
            Self::SkipStep => "skip_step",
            Self::SkipStory => "skip_story",
            Self::AbortStory => "abort_story",
            Self::AbortRun => "abort_run",
            Self::RaiseBudget => "raise_budget",
            Self::Pause => "pause",
            Self::Leave => "leave",
        }
    }
}

/// One thing that can be answered. Its number is its place, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub action: Action,
    pub label: String,
}

/// What can be answered. Without a run there is nothing to pause, and no step or story to skip.
pub fn choices(situation: &Situation) -> Vec<Choice> {
    use Action as A;
    let table: &[(A, &str)] = match situation.trigger {
        Trigger::ReviewLoop => &[
            (A::Retry, "Let it be reviewed once more"),
            (A::OtherAgent, "Let another agent review it"),
            (A::Accept, "Take the story as it is"),
            (A::SkipStory, "Skip the story"),
            (A::Pause, "Pause the run"),
        ],
        Trigger::OutputUnclear => &[
            (A::Accept, "Take it for a success and go on"),
            (A::Retry, "Run the step again"),
            (A::Pause, "Pause the run"),
        ],
        Trigger::SpawnFailed if situation.run.is_none() => {
            &[(A::Retry, "Try again"), (A::Leave, "Do without it")]
        }
        Trigger::SpawnFailed => &[
            (A::Retry, "Try again"),
            (A::SkipStep, "Skip the step"),
            (A::AbortStory, "Give the story up"),
            (A::Pause, "Pause the run"),
        ],
        Trigger::CommitFailed => &[
            (A::Retry, "Commit again (put right what git complains of before)"),
            (A::GoOnUncommitted, "Go on without a commit"),
            (A::Pause, "Pause the run"),
            (A::AbortStory, "Give the story up"),
        ],
        Trigger::Unexpected => &[
            (A::Retry, "Run the step again"),
            (A::SkipStep, "Skip the step"),
            (A::SkipStory, "Go on with the next story"),
            (A::Pause, "Pause the run"),
        ],
        Trigger::DependencyConflict => &[
            (A::OneByOne, "Run them one after the other"),
            (A::GoOn, "Run them side by side all the same"),
            (A::Pause, "Pause the run"),
        ],
        // A story that others need cannot be skipped.
        Trigger::DevFailed if situation.kind() == Kind::Critical => &[
            (A::Retry, "Run the step again"),
            (A::FixByHand, "Put it right by hand, then go on"),
            (A::AbortRun, "Give the run up"),
        ],
        Trigger::DevFailed => &[
            (A::Retry, "Run the step again"),
            (A::FixByHand, "Put it right by hand, then go on"),
            (A::SkipStory, "Skip the story"),
            (A::AbortRun, "Give the run up"),
        ],
        Trigger::SessionIncomplete => &[
            (A::FixByHand, "Put the sprint status right by hand, then go on"),
            (A::OtherAgent, "Run it again with another agent"),
            (A::SkipStory, "Skip the story"),
            (A::Pause, "Pause the run"),
        ],
        Trigger::Budget => &[
            (A::RaiseBudget, "Allow as much again, and go on"),
            (A::Pause, "Pause the run"),
            (A::AbortRun, "Give the run up"),
        ],
    };
    table
        .iter()
        .map(|(action, label)| Choice { action: *action, label: (*label).to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_trigger_has_its_own() {
        let mut seen = BTreeSet::new();
        for trigger in Trigger::ALL {
            let situation = Situation { run: Some("r".into()), ..Situation::new(trigger, "p") };
            let all = choices(&situation);
            let labels: Vec<String> = all.iter().map(|choice| choice.label.clone()).collect();
            assert!((3..=5).contains(&all.len()), "{trigger:?}");
            assert!(seen.insert(labels), "{trigger:?} has the options of another one");
            let actions: BTreeSet<&str> = all.iter().map(|choice| choice.action.word()).collect();
            assert_eq!(actions.len(), all.len(), "{trigger:?} offers something twice");
            let stops = |choice: &Choice| matches!(choice.action, Action::Pause | Action::AbortRun);
            assert!(all.iter().any(stops), "{trigger:?} can be stopped at");
        }
    }

    #[test]
    fn a_story_that_blocks_others_is_not_skipped() {
        let skips = |blocking| {
            let situation = Situation { blocking, ..Situation::new(Trigger::DevFailed, "p") };
            choices(&situation).iter().any(|choice| choice.action == Action::SkipStory)
        };
        assert!(skips(false) && !skips(true));
    }

    #[test]
    fn without_a_run_nothing_of_it_is_offered() {
        let all = choices(&Situation::new(Trigger::SpawnFailed, "p"));
        let actions: Vec<Action> = all.iter().map(|choice| choice.action).collect();
        assert_eq!(actions, [Action::Retry, Action::Leave]);
    }

    #[test]
    fn words_are_those_that_are_written() {
        for choice in Trigger::ALL.iter().flat_map(|t| choices(&Situation::new(*t, ""))) {
            assert_eq!(serde_json::to_value(choice.action).unwrap(), choice.action.word());
        }
    }
}
