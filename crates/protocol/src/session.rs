//! Sessions: how they are listed, started, captured and ended.

use std::collections::BTreeMap;

use crate::id::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::ErrorDetail;
use crate::record::{Cause, Exit};
use crate::worktree::Worktree;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    Starting,
    Running,
    /// Ended with status 0, by itself or on request.
    Exited,
    /// A person ended it: by `kill`, by closing its terminal, or by Ctrl-C.
    Stopped,
    /// Ended otherwise.
    Crashed,
    /// Gone without an exit record.
    Lost,
    Unknown,
}

impl State {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Exited | Self::Stopped | Self::Crashed | Self::Lost)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Stopped => "stopped",
            Self::Crashed => "crashed",
            Self::Lost => "lost",
            Self::Unknown => "unknown",
        }
    }
}

/// The place of a session in a story run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StoryStep {
    pub step: String,
    /// Empty for a retrospective, which belongs to no story.
    pub epic: String,
    pub story: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
}

/// A session that was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spawned {
    /// The session's id, a UUID that sorts by time.
    pub id: SessionId,
    /// Its name, which may have been numbered.
    pub name: String,
    /// Name of the profile; `command` for a plain command.
    pub agent: String,
    /// Pane id on its tmux server.
    pub pane: String,
    /// Process of the agent.
    pub pid: i32,
    /// When the program was executed.
    pub started: Timestamp,
    /// Directory, links resolved.
    pub cwd: String,
    /// The agent's own id of the conversation; null if it is not known beforehand.
    pub conversation: Option<String>,
    /// The prompt was too long for a command line; the agent was asked to read it from a file.
    pub prompt_in_file: bool,
    /// The agent's version; null if nothing depends on it, or it could not be found out.
    pub version: Option<String>,
    /// What to know of this version, for people: it is outside of what dogwatch was verified with, or could not take what
    /// dogwatch gives to agents. Null if there is nothing.
    pub caution: Option<String>,
    /// The worktree that was made for it; absent without `--worktree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Box<Worktree>>,
    /// Variables that have a number of their own in this session, such as a port; absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// Sessions, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// When this was seen.
    pub as_of: Timestamp,
    pub sessions: Vec<Session>,
    /// How many ended sessions are not listed; `--all` lists them.
    pub left_out: usize,
}

/// A session and its liveness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Session {
    pub id: SessionId,
    pub name: String,
    pub agent: String,
    pub state: State,
    /// When it started, for a live one; when it ended, for one that is over. Null for `lost` and `unknown`.
    pub since: Option<Timestamp>,
    /// The sentence that explains the state.
    pub reason: String,
    /// Null while it is alive, and if its end was not recorded.
    pub exit: Option<Exit>,
    /// Null with `exit`.
    pub cause: Option<Cause>,
    /// Who requested the end; null if it ended without a request, or if that is unknown.
    pub by: Option<String>,
    /// Root of the project.
    pub project: String,
    pub cwd: String,
    /// Its place in a story, as given to `spawn`.
    pub story: Option<StoryStep>,
    pub model: Option<String>,
    pub conversation: Option<String>,
    /// The command line, without the prompt.
    pub command: Vec<String>,
    /// Pane id, also after the pane is gone; null if it was never created.
    pub pane: Option<String>,
    /// Process of the agent, also after its end; null if its start was not recorded.
    pub pid: Option<i32>,
    /// Whether a client is attached; null if tmux has no such pane any more.
    pub attached: Option<bool>,
    /// When `spawn` was called.
    pub created: Timestamp,
    /// Archived, or ended by `kill` or `kill-all`; listed only with `--all` or `--archived`.
    pub put_away: bool,
    /// The title that a person gave it (`dogwatch rename`).
    pub title: Option<String>,
    pub tags: Vec<String>,
}

/// The text that a session shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Capture {
    pub name: String,
    pub id: SessionId,
    pub state: State,
    pub from: CaptureFrom,
    /// The visible screen, or the last `--lines`. Invalid UTF-8 is replaced.
    pub text: String,
}

/// Where a captured text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CaptureFrom {
    /// Its current screen.
    Pane,
    /// Its last screen, saved by the runner.
    Kept,
    /// The end of the agent's own transcript, because it used the alternate screen.
    Transcript,
}

impl CaptureFrom {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pane => "pane",
            Self::Kept => "kept",
            Self::Transcript => "transcript",
        }
    }
}

/// Sessions that were ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KilledSessions {
    pub killed: Vec<KilledSession>,
}

/// One session, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KilledSession {
    pub name: String,
    pub id: SessionId,
    #[serde(flatten)]
    pub result: KillResult,
}

/// How a session was ended, or why it could not be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum KillResult {
    Ended {
        by: KilledBy,
        /// Null if its end was not recorded.
        exit: Option<Exit>,
        /// Why the end could not be recorded; absent if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_recorded: Option<String>,
    },
    Failed {
        error: ErrorDetail,
    },
}

/// What ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KilledBy {
    AlreadyEnded,
    /// The agent's own exit keys.
    OwnExit,
    Term,
    Kill,
}

impl KilledBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyEnded => "already_ended",
            Self::OwnExit => "own_exit",
            Self::Term => "term",
            Self::Kill => "kill",
        }
    }
}

/// Whether tmux has a session of exactly this name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Exists {
    pub name: String,
    pub exists: bool,
}

/// A worktree that `gc` did not remove.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LeftWorktree {
    /// The name of its session.
    pub session: String,
    pub folder: String,
    pub why: String,
}

/// What `gc` removed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Collected {
    /// Nothing was removed; this lists what would be.
    pub dry_run: bool,
    /// Names of sessions.
    pub sessions: Vec<String>,
    /// Session directories without a session.
    pub folders: Vec<String>,
    /// Processes that outlived their session and were killed.
    pub processes: Vec<i32>,
    /// Worktrees whose work is merged or was discarded.
    pub worktrees: Vec<String>,
    /// Worktrees whose work is merged or was discarded, and that stay.
    pub left: Vec<LeftWorktree>,
    /// Incomplete files, locks without a session, sockets of tmux servers that are gone.
    pub files: Vec<String>,
    /// Why the database file could not be shrunk.
    pub not_shrunk: Option<String>,
}
