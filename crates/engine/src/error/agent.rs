use std::path::PathBuf;

use dogwatch_core::mcp::Right;
use dogwatch_core::profile::ProfileError;

use super::kind::codes;

/// Why an agent cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("unknown agent {name:?}; known agents: {known}")]
    UnknownAgent { name: String, known: String },
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("{program} {}", if program.contains('/') { "does not exist" } else { "was not found in PATH" })]
    ProgramNotFound { program: String, install: String },
    #[error("{} cannot be executed", path.display())]
    NotExecutable { path: PathBuf },
    #[error("{agent} cannot resume a conversation by its id")]
    CannotResume { agent: String },
    #[error("{agent} does not trust {} yet and would ask first", folder.display())]
    NotTrusted { agent: String, folder: PathBuf, file: PathBuf },
    #[error("{agent} would first ask you to accept that it bypasses permissions")]
    BypassNotAccepted { agent: String },
    #[error("{agent} cannot be verified; these can: {known}")]
    NotVerifiable { agent: String, known: String },
    #[error("{} does not say its version in a private home", program.display())]
    DoesNotStart { program: PathBuf },
    #[error("the verification was stopped")]
    VerificationStopped,
    #[error("an agent may not do this; a person has to")]
    OnlyAPerson,
    #[error("not allowed: {what}")]
    NotAllowed { right: Right, what: String },
    #[error("{agent} does not support --permissions {level}")]
    NoSuchPermissions { agent: String, level: &'static str },
}

codes! { AgentError:
    Self::UnknownAgent { .. } => Agent "unknown_agent";
    Self::Profile(_) => Agent "bad_profile";
    Self::ProgramNotFound { .. } | Self::NotExecutable { .. } => Agent "program_not_found";
    Self::CannotResume { .. } => Agent "cannot_resume";
    Self::NotTrusted { .. } => Refused "not_trusted";
    Self::BypassNotAccepted { .. } => Refused "bypass_not_accepted";
    Self::NotVerifiable { .. } => Agent "not_verifiable";
    Self::DoesNotStart { .. } => Agent "does_not_start";
    Self::OnlyAPerson => Conflict "agent_may_not_trust";
    Self::NotAllowed { .. } => Conflict "not_allowed";
    Self::VerificationStopped => Agent "verification_stopped";
    Self::NoSuchPermissions { .. } => Usage "no_such_permissions";
}

impl AgentError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownAgent { .. } => {
                "`dogwatch agents` lists the agents; `dogwatch spawn -- PROGRAM` runs any program"
                    .into()
            }
            Self::ProgramNotFound { install, .. } if !install.is_empty() => {
                format!("install it: {install}")
            }
            Self::OnlyAPerson => "run this outside of an agent's session".into(),
            Self::NotAllowed { right, .. } => format!(
                "a person can do it, or add {:?} to `allow` below [mcp] in config.toml",
                right.as_str()
            ),
            Self::NotTrusted { agent, folder, .. } => format!(
                "start {agent} once in {} and confirm that you trust the folder",
                folder.display()
            ),
            Self::BypassNotAccepted { agent } => format!(
                "start `{agent} --dangerously-skip-permissions` once and accept it, or choose --permissions accept-edits or ask"
            ),
            Self::NoSuchPermissions { .. } => {
                "choose another level or another agent; `docs/stories.md` lists what each agent can do".into()
            }
            Self::DoesNotStart { .. } => {
                "a launcher that needs your home (asdf, mise, volta …) cannot be verified; name the program itself with --program".into()
            }
            _ => return None,
        })
    }
}
