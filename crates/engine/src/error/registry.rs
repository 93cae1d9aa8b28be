use super::Error;
use super::kind::{BAD_ARGUMENT, codes};

/// Why a session of the registry cannot be added, resumed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry has no session {name:?}")]
    NotRegistered { name: String },
    #[error("the registry already has a session {name:?}")]
    Registered { name: String },
    #[error("session {name} is already running")]
    StillRuns { name: String },
    #[error("{name} has no conversation to resume")]
    NoConversation { name: String },
    #[error("the conversation {id} of {name} is not on disk: {path}")]
    ConversationGone { name: String, id: String, path: String },
    #[error("the conversation {id} of {name} also belongs to {other}")]
    ConversationShared { name: String, id: String, other: String },
    #[error("session {name} {did}, but the registry could not be updated: {source}")]
    NotUpdated { name: String, did: &'static str, source: Box<Error> },
    #[error("session {name} is on {place}")]
    Elsewhere { name: String, place: String },
    #[error("no agent is running in {target:?}")]
    NoAgentThere { target: String },
    #[error("only agents can be added to the registry")]
    OnlyAgents,
    #[error("the registry has no directory (cwd) for {name}")]
    NoFolder { name: String },
}

codes! { RegistryError:
    Self::NotRegistered { .. } => NotFound "not_registered";
    Self::Registered { .. } => Conflict "registered";
    Self::StillRuns { .. } => Conflict "still_runs";
    Self::NoConversation { .. } => NotFound "no_conversation";
    Self::ConversationGone { .. } => NotFound "conversation_gone";
    Self::ConversationShared { .. } => Conflict "conversation_shared";
    Self::NotUpdated { .. } => Store "registry_not_updated";
    Self::Elsewhere { .. } => Conflict "elsewhere";
    Self::NoAgentThere { .. } => NotFound "no_agent_there";
    Self::OnlyAgents | Self::NoFolder { .. } => Usage BAD_ARGUMENT;
}

impl RegistryError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotRegistered { .. } => {
                "`dogwatch registry` lists its sessions; `dogwatch adopt NAME` adds a running one"
                    .into()
            }
            Self::Registered { name } => {
                format!(
                    "to resume its conversation: dogwatch resume {name}; or choose another name"
                )
            }
            Self::StillRuns { name } => {
                format!("to see it: dogwatch attach {name}; to end it: dogwatch delete {name}")
            }
            Self::NoConversation { .. } | Self::ConversationGone { .. } => {
                "start a new session: dogwatch create AGENT --name OTHER".into()
            }
            Self::NotUpdated { source, .. } => {
                let hint = source.hint().map(|hint| format!("{hint}; then ")).unwrap_or_default();
                format!("{hint}`dogwatch reconcile --once` updates the registry")
            }
            Self::Elsewhere { .. } => {
                "run the command there; if the registry is wrong, correct `host` and `socket` in it"
                    .into()
            }
            Self::NoAgentThere { .. } => "name the agent: --agent NAME".into(),
            Self::ConversationShared { .. } | Self::OnlyAgents | Self::NoFolder { .. } => {
                return None;
            }
        })
    }
}
