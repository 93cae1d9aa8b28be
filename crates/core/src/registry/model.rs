use std::collections::BTreeMap;

use dogwatch_protocol::registry as written;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::NamePattern;

/// The supported version of the file; also assumed for a file without one.
pub const VERSION: u64 = 1;

/// The typed part of the file. All other content is preserved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Registry {
    pub sessions: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// Empty if the file does not name it.
    pub agent: String,
    pub workspace: Option<String>,
    pub cwd: Option<String>,
    pub role: Option<String>,
    pub status: Status,
    pub created_at: Option<Timestamp>,
    pub resumed_at: Option<Timestamp>,
    pub terminated_at: Option<Timestamp>,
    pub terminated_by: Option<TerminatedBy>,
    pub pane: PaneRecord,
    pub last_visible_status: Option<String>,
    /// `claude_session_id_own`.
    pub own_id: Option<String>,
    /// `agent_identities.<agent>.session_id`.
    pub identities: BTreeMap<String, String>,
    pub job: Option<String>,
    /// The host it runs on; this one if the file does not name it.
    pub host: Option<String>,
    pub socket: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    Running,
    Terminated,
    /// A person's own value, or none: such an entry is left alone.
    #[default]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminatedBy {
    User,
    /// dogwatch found it gone.
    Detected,
}

impl TerminatedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Detected => "auto-detected",
        }
    }
}

/// The pane in which a session was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaneRecord {
    pub id: Option<String>,
    pub pid: Option<i64>,
    pub cmd: Option<String>,
}

/// Why a file is not a registry although it is YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("the top level is not a map with `sessions:`")]
    NoMap,
    #[error("`sessions:` is not a map of names to sessions")]
    NoSessions,
    #[error("session {name:?} is not a map of fields")]
    NoEntry { name: String },
    #[error("the file has version {found}; this dogwatch supports {VERSION}")]
    Version { found: String },
}

impl Registry {
    /// Reads a parsed file; `null` is an empty registry.
    pub fn from_value(value: &Value) -> Result<Self, Problem> {
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            _ => return Err(Problem::NoMap),
        };
        match map.get("version") {
            None | Some(Value::Null) => {}
            Some(version) if version.as_u64() == Some(VERSION) => {}
            Some(version) if text(Some(version)).as_deref() == Some("1") => {}
            Some(version) => return Err(Problem::Version { found: version.to_string() }),
        }
        let sessions = match map.get("sessions") {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(sessions)) => sessions,
            Some(_) => return Err(Problem::NoSessions),
        };
        let read = |(name, entry): (&String, &Value)| match entry {
            Value::Object(fields) => Ok((name.clone(), Entry::from_fields(fields))),
            Value::Null => Ok((name.clone(), Entry::default())),
            _ => Err(Problem::NoEntry { name: name.clone() }),
        };
        Ok(Self { sessions: sessions.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Derives the agents of entries that name none from the session names.
    #[must_use]
    pub fn with_agents_by_name(mut self, pattern: &NamePattern, agents: &[String]) -> Self {
        for (name, entry) in &mut self.sessions {
            if let (true, Some((_, agent))) = (entry.agent.is_empty(), pattern.read(name, agents)) {
                agent.clone_into(&mut entry.agent);
            }
        }
        self
    }
}

impl Entry {
    fn from_fields(fields: &Map<String, Value>) -> Self {
        let word = |key: &str| text(fields.get(key));
        let time = |key: &str| word(key)?.parse().ok();
        let pane = fields.get("pane").and_then(Value::as_object);
        let of_pane = |key: &str| text(pane?.get(key));
        let identities = fields.get("agent_identities").and_then(Value::as_object);
        let identity = |(agent, known): (&String, &Value)| {
            Some((agent.clone(), text(known.as_object()?.get("session_id"))?))
        };
        Self {
            agent: word("agent").unwrap_or_default(),
            workspace: word("workspace"),
            cwd: word("cwd"),
            role: word("role"),
            status: match word("status").as_deref() {
                Some("running") => Status::Running,
                Some("terminated") => Status::Terminated,
                _ => Status::Other,
            },
            created_at: time("created_at"),
            resumed_at: time("resumed_at"),
            terminated_at: time("terminated_at"),
            terminated_by: match word("termination_mode").as_deref() {
                Some("user") => Some(TerminatedBy::User),
                Some("auto-detected") => Some(TerminatedBy::Detected),
                _ => None,
            },
            pane: PaneRecord {
                id: of_pane("id"),
                pid: of_pane("pid").and_then(|pid| pid.parse().ok()),
                cmd: of_pane("cmd"),
            },
            last_visible_status: word("last_visible_status"),
            own_id: word("claude_session_id_own"),
            identities: identities.into_iter().flatten().filter_map(identity).collect(),
            job: word("delegate_job_id"),
            host: word("host"),
            socket: word("socket"),
        }
    }

    /// A new entry as it is written.
    pub fn shape(&self) -> written::Entry {
        let time = |at: Option<Timestamp>| at.map(stamp);
        let status = match self.status {
            Status::Running => "running",
            Status::Terminated | Status::Other => "terminated",
        };
        let session_id = self.conversation().map(ToOwned::to_owned);
        let identity = (self.agent.clone(), written::Identity { session_id });
        written::Entry {
            agent: self.agent.clone(),
            workspace: self.workspace.clone(),
            cwd: self.cwd.clone(),
            role: self.role.clone(),
            status: status.to_owned(),
            created_at: time(self.created_at),
            terminated_at: time(self.terminated_at),
            termination_mode: self.terminated_by.map(|by| by.as_str().to_owned()),
            pane: self.pane.shape(),
            last_visible_status: self.last_visible_status.clone(),
            claude_session_id_own: (self.agent == CLAUDE).then(|| self.own_id.clone()),
            agent_identities: BTreeMap::from([identity]),
            delegate_job_id: self.job.clone(),
            host: self.host.clone(),
            socket: self.socket.clone(),
        }
    }

    /// The same as a value of the file.
    pub fn to_value(&self) -> Value {
        // Texts, numbers and maps of them: cannot fail.
        serde_json::to_value(self.shape()).unwrap_or_default()
    }

    /// Its current or last conversation.
    pub fn conversation(&self) -> Option<&str> {
        let own = self.own_id.as_deref().filter(|_| self.agent == CLAUDE || self.agent.is_empty());
        own.or_else(|| self.identities.get(&self.agent).map(String::as_str))
    }

    /// Its last start.
    pub fn begun(&self) -> Option<Timestamp> {
        self.created_at.max(self.resumed_at)
    }

    /// The latest time in the entry.
    pub(super) fn last_change(&self) -> Option<Timestamp> {
        self.begun().max(self.terminated_at)
    }
}

/// The agent whose conversation has its own field.
pub(super) const CLAUDE: &str = "claude";

impl PaneRecord {
    pub(super) fn to_value(&self) -> Value {
        // Texts and a number: cannot fail.
        serde_json::to_value(self.shape()).unwrap_or_default()
    }

    fn shape(&self) -> written::Pane {
        written::Pane { id: self.id.clone(), pid: self.pid, cmd: self.cmd.clone() }
    }
}

/// A time in the file's format.
pub(super) fn stamp(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// An unquoted text may be parsed as a number.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(word) => Some(word.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
