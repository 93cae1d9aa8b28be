//! What a session is doing, and what says so.

use crate::id::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::job::JobBrief;
use crate::record::{Cause, Exit};

/// What a session is doing. Each state carries what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// The process runs, and is not ready for input yet.
    Starting,
    /// A turn is running: model, tool or subagent.
    Working {
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// It repeats itself: nothing new has come of its tool calls for a while.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        looping: Option<Looping>,
    },
    /// It needs a person.
    Waiting {
        r#for: Need,
        #[serde(skip_serializing_if = "Option::is_none")]
        question: Option<String>,
        /// What can be answered, as far as it is in sight.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The mark by which the dialog is known again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialog: Option<String>,
    },
    /// A usage or rate limit, or an overload that outlasted all retries.
    Limited {
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        text: String,
    },
    /// Alive at its prompt, nothing running.
    Idle {
        /// Whether it has finished a turn; a fresh one has not.
        after_turn: bool,
        /// Whether its last turn was interrupted.
        interrupted: bool,
        /// Shells and the like that it left running.
        background: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        draft: Option<String>,
    },
    /// Alive, but its last turn failed.
    Error { kind: String, text: String },
    /// Ended with status 0, by itself or because it was asked to.
    Exited,
    /// A person ended it: by `kill`, by closing its terminal, or by Ctrl-C.
    Stopped {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// Who asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Ended otherwise.
    Crashed {
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
    },
    /// Should be working; no sign of life from any source for the whole window.
    Stuck { silent_since: Timestamp },
    /// Taken away without an exit record.
    Lost {
        /// The last sign of life that was written down.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
    },
    /// The evidence does not suffice, or contradicts itself.
    Unknown { missing: String },
}

impl Status {
    /// The words of all states.
    pub const WORDS: [&str; 12] = [
        "starting", "working", "waiting", "limited", "idle", "error", "exited", "stopped",
        "crashed", "stuck", "lost", "unknown",
    ];

    /// A turn is running, with no sign of a loop.
    pub fn working(task: Option<String>) -> Self {
        Self::Working { task, looping: None }
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working { .. } => "working",
            Self::Waiting { .. } => "waiting",
            Self::Limited { .. } => "limited",
            Self::Idle { .. } => "idle",
            Self::Error { .. } => "error",
            Self::Exited => "exited",
            Self::Stopped { .. } => "stopped",
            Self::Crashed { .. } => "crashed",
            Self::Stuck { .. } => "stuck",
            Self::Lost { .. } => "lost",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// What makes two verdicts the same state: all that is news if it changes. What an agent is at, a draft or a
    /// moving clock in the text of a limit are not.
    pub fn key(&self) -> String {
        let word = self.as_str();
        match self {
            // That it loops is news; how often is not.
            Self::Working { looping: Some(_), .. } => format!("{word} looping"),
            Self::Waiting { r#for, question, .. } => {
                format!("{word} {} {}", r#for.as_str(), question.as_deref().unwrap_or_default())
            }
            Self::Error { kind, .. } => format!("{word} {kind}"),
            Self::Idle { after_turn, interrupted, .. } => {
                format!("{word} {after_turn} {interrupted}")
            }
            _ => word.to_owned(),
        }
    }

    /// Whether it is the last state of a session.
    pub fn is_over(&self) -> bool {
        matches!(
            self,
            Self::Exited | Self::Stopped { .. } | Self::Crashed { .. } | Self::Lost { .. }
        )
    }

    /// The same for those who know no `stopped`: the words of the drop-in are not ours to add to.
    #[must_use]
    pub fn without_stopped(&self) -> Self {
        match self {
            Self::Stopped { exit, .. } => Self::Crashed { exit: *exit },
            other => other.clone(),
        }
    }
}

/// Tool calls that an agent repeats, as its transcript has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Looping {
    pub kind: LoopKind,
    /// The calls that repeat: the tool, and what a person would ask for.
    pub what: String,
    /// How often, within the calls that were looked at.
    pub times: u32,
    /// When the first of these calls was made.
    pub since: Timestamp,
    /// The newest of them, oldest first.
    pub evidence: Vec<RepeatedCall>,
}

/// How calls repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The same call with the same result.
    Repeat,
    /// The same few calls in turn, with the same results.
    Cycle,
    /// Edits of a file that undo each other.
    Undo,
}

/// One of the calls that repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RepeatedCall {
    pub at: Timestamp,
    pub call: String,
    /// Fingerprint of the result, without times, durations, process ids and temporary paths.
    pub result: String,
    /// Whether the tool reported an error.
    pub failed: bool,
}

impl std::fmt::Display for Looping {
    /// `looping: Bash cargo test ×7, same result`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match self.kind {
            LoopKind::Repeat => "same result",
            LoopKind::Cycle => "same results",
            LoopKind::Undo => "undoing each other",
        };
        write!(f, "looping: {} ×{}, {how}", self.what, self.times)
    }
}

/// How good the verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The agent or the kernel said so.
    Asserted,
    /// We read it off.
    Inferred,
    /// It was true when last seen.
    Stale,
}

impl Basis {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asserted => "asserted",
            Self::Inferred => "inferred",
            Self::Stale => "stale",
        }
    }
}

/// Where evidence comes from, by falling authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Exit,
    OwnWord,
    Hook,
    Transcript,
    Clock,
    Screen,
    Process,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::OwnWord => "own_word",
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Clock => "clock",
            Self::Screen => "screen",
            Self::Process => "process",
        }
    }
}

/// What one source said, and its part in the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reason {
    pub source: Source,
    pub said: String,
    /// When that was true; none if the source has no time of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It made the verdict.
    Decided,
    /// It says something else.
    Disagrees,
    /// It was heard, and changes nothing.
    Heard,
}

/// The verdict with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Verdict {
    #[serde(flatten)]
    pub status: Status,
    pub basis: Basis,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The source that decided.
    pub fn decided_by(&self) -> Option<Source> {
        self.reasons.iter().find(|r| r.role == Role::Decided).map(|r| r.source)
    }
}

/// What a person is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Need {
    Permission,
    Question,
    Plan,
    Trust,
    Login,
    Other,
}

impl Need {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Trust => "trust",
            Self::Login => "login",
            Self::Other => "other",
        }
    }
}

/// What sessions are doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Statuses {
    pub sessions: Vec<StatusRow>,
    /// How many ended sessions are not listed; `--all` lists them.
    pub left_out: usize,
}

/// A session with its newest job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusRow {
    #[serde(flatten)]
    pub session: StatusReport,
    pub job: Option<JobBrief>,
}

/// What one session is doing, with the reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusReport {
    /// Of a session that dogwatch started, a UUID; of another, made of its pane and process.
    pub id: SessionId,
    /// Its name; of a session that dogwatch did not start, that of its tmux session.
    pub name: String,
    pub agent: String,
    /// Whether dogwatch started it.
    pub ours: bool,
    pub pane: Option<String>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What `wait` saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WaitResult {
    pub outcome: WaitOutcome,
    /// All that were named; with `impossible`, the one that ended.
    pub sessions: Vec<StatusReport>,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitOutcome {
    Happened,
    /// A session ended in a state that was not waited for.
    Impossible,
    Timeout,
}

/// One line of `watch --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchLine {
    pub event: WatchEvent,
    /// When that was noticed.
    pub at: Timestamp,
    /// The state before.
    pub from: Option<String>,
    #[serde(flatten)]
    pub session: StatusReport,
}

/// What a line of `watch` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WatchEvent {
    /// The first line on a session.
    Seen,
    /// It is in another state.
    Changed,
    /// It has left the lists; the rest is the last status.
    Gone,
}
