//! The numbered options of each trigger. The first is the most common choice.

use super::{Action, Choice, Doer, Kind, Offer, Situation, Trigger, kind_of};

/// The possible answers. Without a run there is nothing to pause, and no step or story to skip; for a known step, only
/// what can be done about it.
pub fn choices(situation: &Situation) -> Vec<Choice> {
    if let Some(dialog) = &situation.dialog {
        let choose = |label: &String| Choice { action: Action::Choose, label: label.clone() };
        return dialog.options.iter().map(choose).collect();
    }
    if !situation.answers.is_empty() {
        let choose = |label: &String| Choice { action: Action::Choose, label: label.clone() };
        return situation.answers.iter().map(choose).collect();
    }
    let words = Words::of(situation);
    let mut offered: Vec<Action> = usual(situation).to_vec();
    // For a question raised by a script, only the trigger is known.
    let speaks_of_agents =
        matches!(situation.trigger, Trigger::ReviewLoop | Trigger::SessionIncomplete);
    offered.retain(|action| match &situation.offer {
        Some(offer) => can(*action, offer),
        None => *action != Action::OtherAgent || speaks_of_agents,
    });
    offered
        .into_iter()
        .map(|action| Choice { action, label: words.label(situation.trigger, action) })
        .collect()
}

fn usual(situation: &Situation) -> &'static [Action] {
    use Action as A;
    match situation.trigger {
        Trigger::ReviewLoop => &[A::Retry, A::OtherAgent, A::Accept, A::SkipStory, A::Pause],
        Trigger::OutputUnclear => &[A::Accept, A::Retry, A::OtherAgent, A::Pause],
        Trigger::SpawnFailed if situation.run.is_none() => &[A::Retry, A::Leave],
        Trigger::SpawnFailed => &[A::Retry, A::OtherAgent, A::SkipStep, A::AbortStory, A::Pause],
        Trigger::CommitFailed => &[A::Retry, A::GoOnUncommitted, A::Pause, A::AbortStory],
        Trigger::Unexpected => &[A::Retry, A::OtherAgent, A::SkipStep, A::SkipStory, A::Pause],
        Trigger::DependencyConflict => &[A::OneByOne, A::GoOn, A::Pause],
        // A story that others depend on cannot be skipped.
        Trigger::DevFailed if kind_of(situation) == Kind::Critical => {
            &[A::Retry, A::OtherAgent, A::FixByHand, A::AbortRun]
        }
        Trigger::DevFailed => &[A::Retry, A::OtherAgent, A::FixByHand, A::SkipStory, A::AbortRun],
        Trigger::SessionIncomplete => {
            &[A::FixByHand, A::Retry, A::OtherAgent, A::SkipStory, A::Pause]
        }
        Trigger::Budget => &[A::RaiseBudget, A::Pause, A::AbortRun],
        Trigger::Permission | Trigger::Asked => &[A::Accept, A::Leave, A::Pause],
    }
}

/// Whether the answer is possible for this step.
fn can(action: Action, offer: &Offer) -> bool {
    match action {
        Action::OtherAgent => offer.doer == Doer::Agent && offer.other_agent.is_some(),
        // A group has no item to skip: the step is skipped.
        Action::SkipStory | Action::AbortStory => !offer.is_group,
        Action::OneByOne => offer.doer == Doer::Merge,
        _ => true,
    }
}

/// The variable parts of labels.
struct Words {
    /// ` with claude`, if the agent is known.
    with_agent: String,
    with_other: String,
    item: String,
    by_hand: String,
    is_merge: bool,
}

impl Words {
    fn of(situation: &Situation) -> Self {
        let offer = situation.offer.as_ref();
        let is_agent = offer.is_some_and(|offer| offer.doer == Doer::Agent);
        let agent = offer.and_then(|offer| offer.agent.as_ref()).filter(|_| is_agent);
        let other = offer.and_then(|offer| offer.other_agent.clone());
        let item = offer.map(|offer| offer.item.clone()).filter(|item| !item.is_empty());
        Self {
            with_agent: agent.map(|agent| format!(" with {agent}")).unwrap_or_default(),
            with_other: other.unwrap_or_else(|| "another agent".into()),
            item: item.unwrap_or_else(|| "the story".into()),
            by_hand: offer
                .and_then(|offer| offer.by_hand.clone())
                .unwrap_or_else(|| "Fix it by hand".into()),
            is_merge: offer.is_some_and(|offer| offer.doer == Doer::Merge),
        }
    }

    fn label(&self, trigger: Trigger, action: Action) -> String {
        let Self { with_agent, with_other, item, by_hand, is_merge } = self;
        match (trigger, action) {
            (Trigger::CommitFailed, Action::Retry) => {
                "Commit again (fix what git reports first)".into()
            }
            (Trigger::SpawnFailed, Action::Retry) => format!("Try again{with_agent}"),
            (_, Action::Retry) => format!("Run the step again{with_agent}"),
            (_, Action::OtherAgent) => format!("Run the step again with {with_other}"),
            (Trigger::Permission, Action::Accept) => "Allow it".into(),
            (Trigger::Asked, Action::Accept) => "Yes".into(),
            (Trigger::Asked, Action::Leave) => "No".into(),
            (Trigger::Asked, Action::Pause) => "Stop, and wait for me".into(),
            (_, Action::Choose) => String::new(),
            (Trigger::OutputUnclear, Action::Accept) => "Accept it as done and continue".into(),
            (_, Action::Accept) => format!("Accept {item} as is and continue"),
            (_, Action::FixByHand) => format!("{by_hand}, then continue"),
            (_, Action::GoOnUncommitted) => "Continue without a commit".into(),
            (_, Action::GoOn) if *is_merge => "Merge again (resolve the conflict first)".into(),
            (_, Action::GoOn) => "Run them in parallel anyway".into(),
            (_, Action::OneByOne) if *is_merge => {
                format!("Run {item} again, starting from the others' work")
            }
            (_, Action::OneByOne) => "Run them one after the other".into(),
            (_, Action::SkipStep) => "Skip the step".into(),
            (_, Action::SkipStory) => format!("Skip {item}"),
            (_, Action::AbortStory) => format!("Give up {item}"),
            (_, Action::AbortRun) => "Abort the run".into(),
            (_, Action::RaiseBudget) => "Grant the same budget again and continue".into(),
            (_, Action::Pause) => "Pause the run".into(),
            (_, Action::Leave) => "Continue without it".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_trigger_has_its_own_options() {
        let mut seen = BTreeSet::new();
        for trigger in Trigger::ALL {
            let situation = Situation { run: Some("r".into()), ..Situation::new(trigger, "p") };
            let all = choices(&situation);
            let labels: Vec<String> = all.iter().map(|choice| choice.label.clone()).collect();
            assert!((3..=5).contains(&all.len()), "{trigger:?}");
            seen.insert(labels);
            let actions: BTreeSet<&str> = all.iter().map(|choice| choice.action.as_str()).collect();
            assert_eq!(actions.len(), all.len(), "{trigger:?} offers something twice");
            let stops = |choice: &Choice| matches!(choice.action, Action::Pause | Action::AbortRun);
            assert!(all.iter().any(stops), "{trigger:?} can be stopped at");
        }
        assert_eq!(seen.len(), Trigger::ALL.len(), "each has options of its own");
    }

    /// Actions and labels of a step of a run.
    fn offered(trigger: Trigger, offer: Offer) -> Vec<(Action, String)> {
        let run = Some("r".to_owned());
        let situation = Situation { run, offer: Some(offer), ..Situation::new(trigger, "p") };
        choices(&situation).into_iter().map(|choice| (choice.action, choice.label)).collect()
    }

    #[test]
    fn only_what_fits_the_step_is_offered() {
        let story = Offer {
            item: "story 1.2".into(),
            agent: Some("claude".into()),
            other_agent: Some("codex".into()),
            by_hand: Some("Set the status in sprint-status.yaml".into()),
            ..Offer::default()
        };
        let labels = |trigger, offer: &Offer| -> Vec<String> {
            offered(trigger, offer.clone()).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(
            labels(Trigger::SessionIncomplete, &story),
            [
                "Set the status in sprint-status.yaml, then continue",
                "Run the step again with claude",
                "Run the step again with codex",
                "Skip story 1.2",
                "Pause the run",
            ]
        );
        let command = Offer { doer: Doer::Command, item: "item a".into(), ..Offer::default() };
        assert_eq!(
            labels(Trigger::SessionIncomplete, &command),
            ["Fix it by hand, then continue", "Run the step again", "Skip item a", "Pause the run"]
        );
        let group = Offer { is_group: true, other_agent: None, ..story.clone() };
        assert_eq!(
            labels(Trigger::Unexpected, &group),
            ["Run the step again with claude", "Skip the step", "Pause the run"]
        );
        let merge = Offer { doer: Doer::Merge, ..story };
        assert_eq!(
            labels(Trigger::DependencyConflict, &merge)[..2],
            [
                "Run story 1.2 again, starting from the others' work",
                "Merge again (resolve the conflict first)"
            ]
        );
    }

    #[test]
    fn the_options_of_a_dialog_are_those_of_the_question() {
        let options = vec!["Yes".to_owned(), "No, and tell it why".to_owned()];
        let dialog = super::super::Dialog {
            session: "id".into(),
            mark: "m".into(),
            request: "1".into(),
            options: options.clone(),
        };
        let situation =
            Situation { dialog: Some(dialog), ..Situation::new(Trigger::Permission, "p") };
        let offered = choices(&situation);
        assert!(offered.iter().all(|choice| choice.action == Action::Choose));
        assert_eq!(offered.into_iter().map(|choice| choice.label).collect::<Vec<_>>(), options);
    }

    #[test]
    fn an_agent_that_asks_offers_its_own_answers() {
        let answers = vec!["PostgreSQL".to_owned(), "SQLite".to_owned()];
        let asked = Situation { answers: answers.clone(), ..Situation::new(Trigger::Asked, "p") };
        let labels: Vec<String> = choices(&asked).into_iter().map(|choice| choice.label).collect();
        assert_eq!(labels, answers);
        let bare = choices(&Situation::new(Trigger::Asked, "p"));
        assert_eq!(bare[0].label, "Yes");
    }

    #[test]
    fn sprint_status_is_offered_only_where_there_is_one() {
        for trigger in Trigger::ALL {
            let bare = Situation { run: Some("r".into()), ..Situation::new(trigger, "p") };
            let none = Offer { item: "item a".into(), ..Offer::default() };
            let custom = Situation { offer: Some(none), ..bare.clone() };
            for choice in [choices(&bare), choices(&custom)].concat() {
                assert!(!choice.label.to_lowercase().contains("sprint"), "{trigger:?}: {choice:?}");
            }
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
    fn without_a_run_no_option_of_a_run_is_offered() {
        let all = choices(&Situation::new(Trigger::SpawnFailed, "p"));
        let actions: Vec<Action> = all.iter().map(|choice| choice.action).collect();
        assert_eq!(actions, [Action::Retry, Action::Leave]);
    }

    #[test]
    fn names_of_actions_are_those_in_json() {
        for choice in Trigger::ALL.iter().flat_map(|t| choices(&Situation::new(*t, ""))) {
            assert_eq!(serde_json::to_value(choice.action).unwrap(), choice.action.as_str());
        }
    }
}
