use std::collections::BTreeMap;

use jiff::Timestamp;

use super::NamePattern;

/// What was seen in one look at tmux, the processes and the disk.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// When the look began.
    pub at: Timestamp,
    pub host: String,
    /// Socket of the tmux server.
    pub socket: String,
    pub server: TmuxServer,
    /// When the host was booted.
    pub boot: Option<Timestamp>,
    /// Sessions by name: those of tmux, and those of ours whose pane is in a session of another name.
    pub sessions: BTreeMap<String, SeenSession>,
    /// Conversations that we know of because we started the session, by its name.
    pub remembered: BTreeMap<String, String>,
    /// Whether a conversation that was asked about has its file, by its id. One that is not in here was not looked for.
    pub artifacts: BTreeMap<String, Artifact>,
    /// Conversations in the folders of sessions that have none yet.
    pub conversations: Vec<Conversation>,
    /// Folders that the file names, with links resolved; `None` for one that is not there.
    pub folders: BTreeMap<String, Option<String>>,
    /// Agents that there are.
    pub agents: Vec<String>,
    pub pattern: NamePattern,
}

/// What tmux answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TmuxServer {
    /// Nothing that could be understood: then nothing is known of any session.
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
    /// We started it.
    pub ours: bool,
    /// When it began, if that is known.
    pub since: Option<Timestamp>,
    pub panes: Vec<SeenPane>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenPane {
    pub id: String,
    /// Its agent's process if we started it, else the one that tmux started.
    pub pid: i64,
    pub cmd: String,
    pub cwd: String,
    pub dead: bool,
    pub agent: InPane,
    /// The conversation that the agent itself says it is in.
    pub conversation: Option<String>,
    /// What it is doing, if that was asked for.
    pub status: Option<String>,
}

/// Whether an agent runs in a pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InPane {
    Runs(String),
    Nobody,
    /// This system does not tell.
    #[default]
    Unknown,
}

/// The file of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifact {
    Found(String),
    /// With the path that was looked for.
    Missing(String),
}

/// A conversation that was found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub agent: String,
    pub id: String,
    /// The folder that it is about, with links resolved.
    pub folder: String,
    pub modified: Timestamp,
}

impl SeenSession {
    /// The pane that an entry means: the one with its agent, else the one that it names, else the first that lives.
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
