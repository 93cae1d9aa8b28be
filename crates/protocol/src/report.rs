//! The report of what sessions did: `dogwatch report`.
//!
//! Every number comes with the records behind it: a [`Source`] is an entry of the journal, a line of a transcript, or a commit.

use jiff::Timestamp;
use serde::Serialize;

use crate::id::SessionId;
use crate::usage::Used;

/// What sessions did in a period.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Oldest first.
    pub sessions: Vec<SessionReport>,
}

/// Where something is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Source {
    /// An entry of the journal, by its number.
    Journal { number: i64 },
    /// A line of the agent's transcript, counted from 1.
    Transcript { file: String, line: u64 },
    /// A commit in the session's folder.
    Git { commit: String },
}

/// What one session did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionReport {
    /// A UUID for a managed session; else made of its pane and process.
    pub id: SessionId,
    pub name: String,
    pub agent: String,
    /// What a person calls it.
    pub title: Option<String>,
    /// Its folder; null for an agent that dogwatch did not start.
    pub folder: Option<String>,
    /// When it was created; null if that is not known.
    pub begun: Option<Timestamp>,
    /// When it ended; null while it runs.
    pub ended: Option<Timestamp>,
    /// Turns that began; null without a transcript.
    pub turns: Option<Vec<Happened>>,
    /// Commits in its folder while it ran.
    pub commits: Vec<Commit>,
    /// Files that the agent edited with its tools.
    pub files: Vec<EditedFile>,
    /// Runs of tests and builds.
    pub runs: Vec<ReportedRun>,
    /// What the agent said of tests and builds, where a run and its result are recorded before it.
    pub claims: Vec<ReportedClaim>,
    pub questions: Vec<Question>,
    /// Usage limits that it met.
    pub limits: Vec<Happened>,
    /// Loops that it was in.
    pub loops: Vec<Happened>,
    /// Files that another session edited at the same time.
    pub collisions: Vec<Happened>,
    /// What dogwatch did by itself: answers of rules, and those that were held; continuations after a limit; loops that it interrupted;
    /// budgets that were used up.
    pub actions: Vec<Happened>,
    /// Tokens and costs in the quarters of an hour of the period, as `usage --by session` counts them; null if none are known.
    pub usage: Option<Used>,
    /// The transcripts that its tokens are counted in, each with its last line of the period.
    pub usage_sources: Vec<Source>,
    /// Seconds, by what it was doing.
    pub time: Times,
    pub timeline: Vec<Span>,
    /// What is missing from this report, and why, for people.
    pub notes: Vec<String>,
}

/// Something that happened once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Happened {
    pub at: Timestamp,
    /// For people; empty for a turn.
    pub text: String,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Commit {
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    pub at: Timestamp,
    /// How many files it changes.
    pub files: usize,
    /// Whether the agent made it: a call of its own that commits is recorded at that time. Null without a transcript.
    pub by_agent: Option<bool>,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EditedFile {
    pub path: String,
    /// How often.
    pub edits: usize,
    /// The last edit.
    pub source: Source,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    Test,
    Build,
}

/// A run of tests, or a build.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReportedRun {
    pub kind: RunKind,
    /// The whole command.
    pub command: String,
    /// When it ended; if that is not recorded, when it was called.
    pub at: Option<Timestamp>,
    /// The exit code of the whole command, as the agent recorded it.
    pub exit: Option<i32>,
    pub result: RunResult,
    /// Why the exit code does not tell, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The result; if there is none, the call.
    pub source: Source,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunResult {
    Passed,
    Failed,
    /// The command's exit code does not tell: a pipe hides it, say.
    Hidden,
    /// No result is recorded.
    NotRecorded,
}

/// What the agent said of tests or a build, beside the run that decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReportedClaim {
    pub kind: RunKind,
    pub says: Says,
    /// The sentence.
    pub text: String,
    pub at: Option<Timestamp>,
    pub verdict: ClaimVerdict,
    /// The run that it is held against.
    pub run: ReportedRun,
    /// How many edits are recorded between that run and the claim.
    pub edits_since: usize,
    pub source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Says {
    Pass,
    Fail,
}

/// What the recorded runs say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The last run says the same.
    Holds,
    /// The last run says the opposite.
    Contradicted,
    /// The last run does not tell, or one that failed was not run again.
    Unproven,
}

/// Something that the session asked a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Question {
    pub at: Timestamp,
    /// `permission`, `question`, `plan`, `trust`, `login`, `other`; or the trigger of an escalation.
    pub about: String,
    pub text: String,
    /// When it no longer waited; null while it does, or if that was not observed.
    pub answered: Option<Timestamp>,
    /// Who answered, as recorded; null if nothing is: an answer that is typed into the pane leaves no record.
    pub by: Option<String>,
    pub source: Source,
    /// The record of the answer.
    pub answer_source: Option<Source>,
}

/// Seconds, by what a session was doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Times {
    pub working: i64,
    pub waiting: i64,
    pub limited: i64,
    pub idle: i64,
    /// Stuck, or its last turn failed.
    pub trouble: i64,
    pub not_observed: i64,
}

/// Part of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Span {
    pub state: SpanState,
    pub from: Timestamp,
    pub to: Timestamp,
    /// The record that begins it; null if it was not observed.
    pub source: Option<Source>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpanState {
    Working,
    Waiting,
    Limited,
    Idle,
    Trouble,
    /// There is no record of what it was doing.
    NotObserved,
}
