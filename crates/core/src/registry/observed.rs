use std::collections::BTreeMap;

use jiff::Timestamp;

use super::NamePattern;

/// One observation of tmux, processes and disk.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// When the observation began.
    pub at: Timestamp,
    pub host: String,
    /// Socket of the tmux server.
    pub socket: String,
    pub server: TmuxServer,
    /// When the host was booted.
    pub boot: Option<Timestamp>,
    /// Sessions by name: those of tmux, and managed ones whose pane is in a tmux session of another name.
    pub sessions: BTreeMap<String, SeenSession>,
    /// Conversations of managed sessions, by session name.
    pub remembered: BTreeMap<String, String>,
    /// Whether a conversation has its file, by its id. A missing id was not checked.
    pub artifacts: BTreeMap<String, Artifact>,
    /// Conversations in the directories of sessions that have none recorded.
    pub conversations: Vec<Conversation>,
    /// Directories named in the file, with links resolved; `None` for a missing one.
    pub folders: BTreeMap<String, Option<String>>,
    /// Known agents.
    pub agents: Vec<String>,
    pub pattern: NamePattern,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TmuxServer {
    /// No usable answer: nothing is known about any session.
    #[default]
    Unreachable,
    None,
    Running {
        since: Timestamp,
    },
}

/// A session with its panes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenSession {
    /// Managed: dogwatch started it.
    pub ours: bool,
    /// When it began, if known.
    pub since: Option<Timestamp>,
    pub panes: Vec<SeenPane>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenPane {
    pub id: String,
    /// The agent's process if it is managed, else the process that tmux started.
    pub pid: i64,
    pub cmd: String,
    pub cwd: String,
    pub dead: bool,
    pub agent: InPane,
    /// The conversation that the agent itself reports.
    pub conversation: Option<String>,
    /// Its status, if it was requested.
    pub status: Option<String>,
}

/// Whether an agent runs in a pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InPane {
    Runs(String),
    NoAgent,
    /// Not detectable on this system.
    #[default]
    Unknown,
}

/// The file of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifact {
    Found(String),
    /// With the expected path.
    Missing(String),
}

/// A conversation found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub agent: String,
    pub id: String,
    /// Its working directory, with links resolved.
    pub folder: String,
    pub modified: Timestamp,
}

impl SeenSession {
    /// The pane of an entry: the one with its agent, else the recorded one, else the first live one.
    pub(super) fn pane(&self, named: Option<&str>, agent: &str) -> Option<&SeenPane> {
        let is_named = |pane: &&SeenPane| Some(pane.id.as_str()) == named && !pane.dead;
        let is_its = |pane: &&SeenPane| matches!(&pane.agent, InPane::Runs(a) if a == agent);
        let mut panes = self.panes.iter();
        self.panes
            .iter()
            .find(is_its)
            .or_else(|| self.panes.iter().find(is_named))
            .or_else(|| panes.find(|pane| !pane.dead))
            .or_else(|| self.panes.first())
    }
}
