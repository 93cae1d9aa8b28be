//! Questions to a person: why one is asked, about what, and what can be answered.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest first line of a problem in a headline.
const HEADLINE: usize = 200;

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    pub fn as_str(self) -> &'static str {
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
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == word)
    }

    /// What has happened, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ReviewLoop => "the review found problems in every cycle",
            Self::OutputUnclear => "cannot tell whether the step succeeded",
            Self::SpawnFailed => "the session failed to start",
            Self::CommitFailed => "the commit failed",
            Self::Unexpected => "something unexpected happened",
            Self::DependencyConflict => "changes made in parallel conflict",
            Self::DevFailed => "the step failed",
            Self::SessionIncomplete => "the session ended, but its work could not be verified",
            Self::Budget => "the budget is used up",
            Self::Permission => "an agent asks for permission",
        }
    }
}

/// Whether anything can go on without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The run is paused until it is answered.
    Critical,
    /// It could go on either way, and other stories do.
    Preference,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Preference => "preference",
        }
    }
}

/// What the asking process does with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The same again.
    Retry,
    /// The same again, with another agent.
    OtherAgent,
    /// As it is, it will do.
    Accept,
    /// A person fixes the problem, then dogwatch checks again.
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
    /// Nothing more until the run is resumed.
    Pause,
    /// Nothing is done about it.
    Leave,
    /// This option of an agent's dialog.
    Choose,
}

impl Action {
    pub fn as_str(self) -> &'static str {
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
            Self::Choose => "choose",
        }
    }
}

/// One thing that can be answered. Its number is its place, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Choice {
    pub action: Action,
    pub label: String,
}

/// What has come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Situation {
    pub trigger: Trigger,
    /// What went wrong, in a sentence or in the words of the program that failed.
    pub problem: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name or id of the session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Other work cannot be done before this is.
    #[serde(default)]
    pub blocking: bool,
    #[serde(default)]
    pub retries_left: u32,
    /// What else helps to decide, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// What the step is, so that only what can be done about it is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// The dialog that an answer is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
}

/// A name and a value: `cycle 3`, `found 2, fixed 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Fact {
    pub name: String,
    pub value: String,
}

impl Situation {
    pub fn new(trigger: Trigger, problem: impl Into<String>) -> Self {
        Self {
            trigger,
            problem: problem.into(),
            run: None,
            story: None,
            step: None,
            session: None,
            blocking: false,
            retries_left: 0,
            facts: Vec::new(),
            offer: None,
            dialog: None,
        }
    }

    /// What it is about: the item and the step, or the session.
    pub fn about(&self) -> String {
        let item = self.offer.as_ref().map(|offer| offer.item.clone()).filter(|i| !i.is_empty());
        let item = item.or_else(|| self.story.as_ref().map(|story| format!("story {story}")));
        let of: Vec<String> = item.into_iter().chain(self.step.clone()).collect();
        if of.is_empty() { self.session.clone().unwrap_or_default() } else { of.join(", ") }
    }

    /// One line: of what, and the problem itself; its class only where no more is known.
    pub fn headline(&self) -> String {
        let first = self.problem.lines().map(str::trim).find(|line| !line.is_empty());
        let problem = match first {
            Some(line) if line.chars().count() > HEADLINE => {
                let cut: String = line.chars().take(HEADLINE).collect();
                format!("{cut}…")
            }
            Some(line) => line.to_owned(),
            None => self.trigger.title().to_owned(),
        };
        let about = self.about();
        if about.is_empty() { problem } else { format!("{about}: {problem}") }
    }
}

/// Who or what does the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doer {
    #[default]
    Agent,
    Command,
    Commit,
    Merge,
}

/// Only what this says is offered. Without it, what is usual for the trigger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Offer {
    pub doer: Doer,
    /// What a person calls the item: `story 1.2`, `item intro`, `epic 1`.
    pub item: String,
    /// Whether it is about a group of items: there is no item to skip then, only the step.
    pub is_group: bool,
    /// Who does it when it is run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Who else is there to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_agent: Option<String>,
    /// What a person would do by hand: `Set the status in sprint-status.yaml`. Nothing if files cannot prove the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A dialog of an agent that is waiting for an answer. The options of the question are those of the dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Dialog {
    /// Id of the session.
    pub session: String,
    /// By which the dialog on the screen is known again.
    pub mark: String,
    /// Which request of the agent it is, where its hooks say so: two dialogs may look the same.
    #[serde(default)]
    pub request: String,
    pub options: Vec<String>,
}

/// Questions, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Escalations {
    pub escalations: Vec<Escalation>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Escalation {
    /// What people call it.
    pub number: i64,
    pub id: String,
    /// The name under which the process that raised it knows it.
    pub key: String,
    /// 1 to 10, see `docs/escalations.md`.
    pub trigger: u32,
    pub kind: Kind,
    /// One line for people: what it is about, and the problem.
    pub headline: String,
    pub situation: Situation,
    pub options: Vec<NumberedChoice>,
    pub raised: Timestamp,
    pub deadline: Option<Timestamp>,
    /// The option that counts at the deadline.
    pub default: Option<u32>,
    /// Null while it is open.
    pub settled: Option<Settled>,
}

/// One thing that can be answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NumberedChoice {
    pub number: usize,
    pub action: Action,
    /// For people.
    pub label: String,
}

/// When and how a question was settled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Settled {
    pub at: Timestamp,
    #[serde(flatten)]
    pub outcome: Settlement,
}

/// How a question was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Settlement {
    Answered {
        option: u32,
        action: Action,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Who chose: a person, an agent, or the deadline.
        by: String,
        /// Of an agent's dialog: the process that recorded this presses the keys, once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        carried_out: bool,
    },
    /// It need no longer be answered.
    Withdrawn { because: String },
}
