//! What a session is doing, and the evidence for it.

use crate::id::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::job::JobBrief;
use crate::record::{Cause, Exit};
use crate::usage::Used;

/// What a session is doing. Each state has its own details.
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
        /// The visible answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// Identifies the dialog.
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
        /// Shells and the like that are still running.
        background: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        draft: Option<String>,
    },
    /// Alive, but its last turn failed.
    Error { kind: String, text: String },
    /// Ended with status 0, by itself or on request.
    Exited,
    /// A person ended it: by `kill`, by closing its terminal, or by Ctrl-C.
    Stopped {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// Who requested it.
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
    /// Gone without an exit record.
    Lost {
        /// The last recorded sign of life.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
        /// Its tmux server died, and it went with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_died: Option<ServerDied>,
    },
    /// The evidence is not sufficient, or contradictory.
    Unknown { missing: String },
}

impl Status {
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

    /// Two verdicts with the same key are the same state: it has everything whose change is worth reporting. The agent's current
    /// activity, a draft, or a moving clock in the text of a limit are not in it.
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

    /// Whether the session has ended.
    pub fn is_over(&self) -> bool {
        matches!(
            self,
            Self::Exited | Self::Stopped { .. } | Self::Crashed { .. } | Self::Lost { .. }
        )
    }

    /// The same without `stopped`: the drop-in has a fixed set of words.
    #[must_use]
    pub fn without_stopped(&self) -> Self {
        match self {
            Self::Stopped { exit, .. } => Self::Crashed { exit: *exit },
            other => other.clone(),
        }
    }
}

/// The death of a tmux server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServerDied {
    pub at: Timestamp,
    /// Whether it was seen at that moment; else it was found dead then.
    pub exact: bool,
}

impl std::fmt::Display for ServerDied {
    /// `the tmux server died at 14:02:11`, in the time of this host.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.exact { "at" } else { "before" };
        let at = self.at.to_zoned(jiff::tz::TimeZone::system());
        write!(f, "the tmux server died {word} {}", at.strftime("%H:%M:%S"))
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

/// How sure the verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The agent or the kernel reported it.
    Asserted,
    /// Derived from the screen, the transcript or processes.
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

/// Sources of evidence, by falling authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    pub const ALL: [Self; 7] = [
        Self::Exit,
        Self::OwnWord,
        Self::Hook,
        Self::Transcript,
        Self::Clock,
        Self::Screen,
        Self::Process,
    ];

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

/// What one source reported, and its part in the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Reason {
    pub source: Source,
    pub said: String,
    /// When that was true; null if the source has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It decided the verdict.
    Decided,
    /// It reports something else.
    Disagrees,
    /// It was considered, and changes nothing.
    Heard,
}

/// The verdict with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What needs a person.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Statuses {
    /// When this was seen.
    pub as_of: Timestamp,
    pub sessions: Vec<StatusRow>,
    /// How many ended sessions are not listed; `--all` lists them.
    pub left_out: usize,
}

/// A session with its newest job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusRow {
    #[serde(flatten)]
    pub session: StatusReport,
    pub job: Option<JobBrief>,
    #[serde(flatten)]
    pub about: About,
    /// Tokens and cost of its conversation. Missing if its transcript is not known, or not read to its end yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Used>,
    /// Files that it and another living session have edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collisions: Vec<SharedFile>,
}

/// A file that another session edits too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SharedFile {
    /// Below the work tree; outside of git absolute.
    pub path: String,
    /// Name of the other session.
    pub with: String,
    /// When the second of them edited it.
    pub at: Timestamp,
    /// Whether this session is the second of them.
    pub second: bool,
}

/// What a session is about, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct About {
    /// What it is about; null if nothing says.
    pub title: Option<String>,
    /// Where the title comes from; null with it.
    pub title_from: Option<TitleFrom>,
    /// In alphabetical order.
    pub tags: Vec<String>,
    /// Root of the project.
    pub project: String,
    /// Name of the project: of the repository's folder, also in a worktree of it, else of the root's.
    pub project_name: String,
    /// The branch that is checked out in its folder, or the beginning of the commit if there is none. Null outside of git.
    pub branch: Option<String>,
    pub cwd: String,
    /// How full the model's context is; null if nothing is known.
    pub context: Option<ContextUse>,
}

/// Where a title comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TitleFrom {
    /// A person gave it: `dogwatch rename`.
    Rename,
    /// The agent's own title of the conversation.
    Agent,
    /// The first line of the first prompt.
    Prompt,
}

/// How full a model's context is, as the agent last said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ContextUse {
    /// Tokens in it after the last reply.
    pub used: Option<u64>,
    /// Tokens that the model can take; null if the agent does not say.
    pub window: Option<u64>,
    /// Percent that are left; null without a window.
    pub left: Option<u8>,
}

/// What one session is doing, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatusReport {
    /// A UUID for a managed session; else made of its pane and process.
    pub id: SessionId,
    /// Its name; for an unmanaged session that of its tmux session.
    pub name: String,
    pub agent: String,
    /// Whether dogwatch started it.
    pub ours: bool,
    pub pane: Option<String>,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What else to know of it, for people: that it runs without hooks, say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What `why` prints: a verdict, and when it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Explained {
    pub as_of: Timestamp,
    #[serde(flatten)]
    pub session: StatusReport,
}

/// The result of `wait`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WaitResult {
    pub outcome: WaitOutcome,
    /// Ids of the sessions that have reached one of the states.
    pub reached: Vec<SessionId>,
    /// All sessions of the wait; with `impossible`, the one that ended.
    pub sessions: Vec<StatusReport>,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitOutcome {
    Happened,
    /// A session ended in a state that was not requested.
    Impossible,
    Timeout,
}

/// One line of `watch --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchLine {
    pub event: WatchEvent,
    /// When it was noticed.
    pub at: Timestamp,
    /// The state before.
    pub from: Option<String>,
    #[serde(flatten)]
    pub session: StatusReport,
}

/// What a line of `watch` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WatchEvent {
    /// The first line about a session.
    Seen,
    /// Its state changed.
    Changed,
    /// It is no longer listed; the rest is its last status.
    Gone,
}
