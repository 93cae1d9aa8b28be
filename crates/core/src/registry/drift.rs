use serde_json::Value;

/// A way in which the file and reality differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Dead,
    Unknown,
    IdAppeared,
    IdStale,
    AgentGone,
    AllGone,
    IdShared,
    FolderMoved,
    Alive,
    Renamed,
    IdChanged,
}

impl Kind {
    /// The letter of its class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Dead => "A",
            Self::Unknown => "B",
            Self::IdAppeared => "C",
            Self::IdStale => "D",
            Self::AgentGone => "E",
            Self::AllGone => "F",
            Self::IdShared => "G",
            Self::FolderMoved => "H",
            Self::Alive => "I",
            Self::Renamed => "J",
            Self::IdChanged => "K",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::IdAppeared => "id_appeared",
            Self::IdStale => "id_stale",
            Self::AgentGone => "agent_gone",
            Self::AllGone => "all_gone",
            Self::IdShared => "id_shared",
            Self::FolderMoved => "folder_moved",
            Self::Alive => "alive",
            Self::Renamed => "renamed",
            Self::IdChanged => "id_changed",
        }
    }
}

/// A difference to report once.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    pub kind: Kind,
    /// All sessions that it is about; it is reported under the first one.
    pub sessions: Vec<String>,
    pub message: String,
    pub hint: Option<String>,
    /// The fields that it is about, in the file before and after.
    pub before: Value,
    pub after: Value,
    /// Identifies the drift, to recognise one that was reported before.
    pub key: String,
}

impl Drift {
    pub(super) fn new(kind: Kind, session: &str, mark: &str, message: String) -> Self {
        Self {
            kind,
            sessions: vec![session.to_owned()],
            message,
            hint: None,
            before: Value::Null,
            after: Value::Null,
            key: key(kind, session, mark),
        }
    }

    pub(super) fn changing(mut self, before: Value, after: Value) -> Self {
        (self.before, self.after) = (before, after);
        self
    }

    /// With fields that stay as they are.
    pub(super) fn about(self, fields: Value) -> Self {
        self.changing(fields.clone(), fields)
    }

    pub(super) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The session that it is about, if it is a single one.
    pub fn session(&self) -> Option<&str> {
        self.sessions.first().filter(|_| self.kind != Kind::AllGone).map(String::as_str)
    }

    pub fn shape(&self) -> dogwatch_protocol::registry::Drift {
        dogwatch_protocol::registry::Drift {
            class: self.kind.class().to_owned(),
            kind: self.kind.as_str().to_owned(),
            session: self.session().map(ToOwned::to_owned),
            sessions: self.sessions.clone(),
            message: self.message.clone(),
            hint: self.hint.clone(),
            before: self.before.clone(),
            after: self.after.clone(),
        }
    }
}

/// The fields of an entry that a drift is about.
pub(super) fn fields<const N: usize>(all: [(&str, Value); N]) -> Value {
    Value::Object(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// tmux allows no newline in names, and marks have none.
fn key(kind: Kind, session: &str, mark: &str) -> String {
    format!("{}\n{session}\n{mark}", kind.class())
}

/// The session that a key is about.
pub(super) fn session_of(key: &str) -> &str {
    key.split('\n').nth(1).unwrap_or_default()
}
