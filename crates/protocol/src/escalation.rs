//! Questions to a person: their reasons, their subject, and the possible answers.

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
    Asked,
}

impl Trigger {
    pub const ALL: [Self; 11] = [
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
        Self::Asked,
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
            Self::Asked => 11,
        }
    }

    /// Its stable name for scripts.
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
            Self::Asked => "asked",
        }
    }

    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == word)
    }

    /// What happened, for people.
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
            Self::Asked => "an agent asks you",
        }
    }
}

/// Whether the run can continue without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The run is paused until it is answered.
    Critical,
    /// Other stories continue meanwhile.
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

/// The effect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Try again.
    Retry,
    /// Try again with another agent.
    OtherAgent,
    /// Accept it as it is.
    Accept,
    /// A person fixes the problem, then dogwatch checks again.
    FixByHand,
    /// Continue without a commit.
    GoOnUncommitted,
    /// Continue in parallel, as planned.
    GoOn,
    /// Continue with one story after the other.
    OneByOne,
    /// Skip this step.
    SkipStep,
    /// Skip this story.
    SkipStory,
    /// Give this story up; others continue.
    AbortStory,
    /// Abort the run.
    AbortRun,
    /// Allow the same budget again.
    RaiseBudget,
    /// Pause the run until it is resumed.
    Pause,
    /// Do nothing.
    Leave,
    /// Choose this option of an agent's dialog.
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

/// One possible answer. Its number is its position, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Choice {
    pub action: Action,
    pub label: String,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Situation {
    pub trigger: Trigger,
    /// What went wrong, in a sentence or in the output of the program that failed.
    pub problem: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name or id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Other work depends on this.
    #[serde(default)]
    pub blocking: bool,
    #[serde(default)]
    pub retries_left: u32,
    /// Further facts that help to decide, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Describes the step, so that only possible answers are offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// The dialog that the answer is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
    /// The answers that the agent that asks can use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
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
            answers: Vec::new(),
        }
    }

    /// Its subject: the item and the step, or the session.
    pub fn about(&self) -> String {
        let item = self.offer.as_ref().map(|offer| offer.item.clone()).filter(|i| !i.is_empty());
        let item = item.or_else(|| self.story.as_ref().map(|story| format!("story {story}")));
        let of: Vec<String> = item.into_iter().chain(self.step.clone()).collect();
        if of.is_empty() { self.session.clone().unwrap_or_default() } else { of.join(", ") }
    }

    /// One line: the subject and the problem; the trigger's title if there is no problem text.
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

/// What does the step.
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

/// Describes a step; limits the answers to those that are possible. Without it, the trigger's usual answers are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Offer {
    pub doer: Doer,
    /// The item's name for people: `story 1.2`, `item intro`, `epic 1`.
    pub item: String,
    /// Whether it is about a group of items: then there is no item to skip, only the step.
    pub is_group: bool,
    /// The agent of another try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Another agent that is available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_agent: Option<String>,
    /// What a person could do by hand: `Set the status in sprint-status.yaml`. Null if files cannot prove the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A dialog of an agent that waits for an answer. The options of the question are those of the dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Dialog {
    /// Id of the session.
    pub session: String,
    /// Identifies the dialog on the screen.
    pub mark: String,
    /// Identifies the agent's request, where its hooks report it: two dialogs may look the same.
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
    /// The number that people use.
    pub number: i64,
    pub id: String,
    /// Identifies the question for the process that raised it.
    pub key: String,
    /// 1 to 11, see `docs/escalations.md`.
    pub trigger: u32,
    pub kind: Kind,
    /// One line for people: the subject and the problem.
    pub headline: String,
    pub situation: Situation,
    pub options: Vec<NumberedChoice>,
    pub raised: Timestamp,
    pub deadline: Option<Timestamp>,
    /// The option that applies at the deadline.
    pub default: Option<u32>,
    /// Null while it is open.
    pub settled: Option<Settled>,
}

/// One possible answer.
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
        /// For an agent's dialog: the process that recorded this presses the keys, once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        carried_out: bool,
    },
    /// An answer is no longer needed.
    Withdrawn { because: String },
}
