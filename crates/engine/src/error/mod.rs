//! Errors of all use cases: an enum for each domain, and [`Error`] around them.
//!
//! Each error has a kind, which decides the exit code, a code that scripts branch on, a message, and where possible a hint.

mod agent;
mod configuration;
mod fleet;
mod job;
mod kind;
mod message;
mod project;
mod question;
mod registry;
mod report;
mod session;
mod system;
mod team;
#[cfg(test)]
mod tests;
mod told;
mod workflow;
mod worktree;

use std::io;

use dogwatch_bmad::StoryError;
use dogwatch_core::label::LabelError;
use dogwatch_core::name::NameError;
use dogwatch_core::profile::ProfileError;
use dogwatch_core::workflow::BadWorkflow;
use dogwatch_store::{LocalBrokerError, MqttError, StoreError};

pub use agent::AgentError;
pub use configuration::ConfigurationError;
pub use fleet::FleetError;
pub use job::JobError;
pub use kind::{BAD_ARGUMENT, Coded, ErrorKind, INTERNAL};
pub use message::MessageError;
pub use project::ProjectError;
pub use question::QuestionError;
pub use registry::RegistryError;
pub use report::ReportError;
pub use session::SessionError;
pub use system::SystemError;
pub use team::TeamError;
pub use told::Told;
pub use workflow::WorkflowError;
pub use worktree::WorktreeError;

use kind::codes;

/// An error of any domain: the one type that front ends see.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Error {
    Store(#[from] StoreError),
    Tmux(#[from] dogwatch_tmux::Error),
    Session(#[from] SessionError),
    Agent(#[from] AgentError),
    Message(#[from] MessageError),
    Job(#[from] JobError),
    Question(#[from] QuestionError),
    Registry(#[from] RegistryError),
    Report(#[from] ReportError),
    Team(#[from] TeamError),
    Workflow(#[from] WorkflowError),
    Project(#[from] ProjectError),
    Worktree(#[from] WorktreeError),
    Fleet(#[from] FleetError),
    Configuration(#[from] ConfigurationError),
    System(#[from] SystemError),
    /// Of another process that was asked to do it.
    Told(Told),
    /// Wrong usage of a front end, with its own message.
    Usage(Box<dyn std::error::Error + Send + Sync>),
}

codes! { StoreError:
    Self::Corrupt { .. } => Store "store_corrupt";
    Self::Newer { .. } => Store "store_newer";
    Self::Replaced { .. } => Store "store_replaced";
    Self::Full { .. } => Store "disk_full";
    Self::BadRegistry { .. } => Store "bad_registry";
    Self::NotEditable { .. } => Store "registry_not_editable";
    Self::NotShared { .. } => Store "not_writable";
    _ => Store "store";
}

codes! { dogwatch_tmux::Error:
    Self::NotInstalled { .. } => Tmux "tmux_missing";
    Self::TooOld { .. } => Tmux "tmux_too_old";
    Self::Denied { .. } => Tmux "tmux_denied";
    Self::BadName(_) => Usage "bad_name";
    Self::PaneEnded { .. } => Conflict "pane_ended";
    _ => Tmux "tmux";
}

impl Error {
    /// All kinds and codes of all domains.
    pub const CODES: [&'static [(ErrorKind, &'static str)]; 17] = [
        &[(ErrorKind::Usage, BAD_ARGUMENT)],
        StoreError::CODES,
        dogwatch_tmux::Error::CODES,
        SessionError::CODES,
        AgentError::CODES,
        MessageError::CODES,
        JobError::CODES,
        QuestionError::CODES,
        RegistryError::CODES,
        ReportError::CODES,
        TeamError::CODES,
        WorkflowError::CODES,
        ProjectError::CODES,
        WorktreeError::CODES,
        FleetError::CODES,
        ConfigurationError::CODES,
        SystemError::CODES,
    ];

    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| SystemError::Io { action, source }.into()
    }

    /// Files of the store were removed or replaced while a long-running command used them.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::Store(StoreError::Replaced { .. }))
    }

    fn kind_and_code(&self) -> (ErrorKind, &'static str) {
        match self {
            Self::Store(error) => error.kind_and_code(),
            Self::Tmux(error) => error.kind_and_code(),
            Self::Session(error) => error.kind_and_code(),
            Self::Agent(error) => error.kind_and_code(),
            Self::Message(error) => error.kind_and_code(),
            Self::Job(error) => error.kind_and_code(),
            Self::Question(error) => error.kind_and_code(),
            Self::Registry(error) => error.kind_and_code(),
            Self::Report(error) => error.kind_and_code(),
            Self::Team(error) => error.kind_and_code(),
            Self::Workflow(error) => error.kind_and_code(),
            Self::Project(error) => error.kind_and_code(),
            Self::Worktree(error) => error.kind_and_code(),
            Self::Fleet(error) => error.kind_and_code(),
            Self::Configuration(error) => error.kind_and_code(),
            Self::System(error) => error.kind_and_code(),
            Self::Told(error) => error.kind_and_code(),
            Self::Usage(_) => (ErrorKind::Usage, BAD_ARGUMENT),
        }
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind_and_code().0
    }

    /// A stable code for machines.
    pub fn code(&self) -> &'static str {
        self.kind_and_code().1
    }

    pub fn exit_code(&self) -> u8 {
        self.kind().exit_code()
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Tmux(error) => system::tmux_hint(error),
            Self::Session(error) => error.hint(),
            Self::Agent(error) => error.hint(),
            Self::Job(error) => error.hint(),
            Self::Question(error) => error.hint(),
            Self::Registry(error) => error.hint(),
            Self::Team(error) => error.hint(),
            Self::Workflow(error) => error.hint(),
            Self::Project(error) => error.hint(),
            Self::Worktree(error) => error.hint(),
            Self::Fleet(error) => error.hint(),
            Self::Configuration(error) => error.hint(),
            Self::System(error) => error.hint(),
            Self::Told(error) => error.hint(),
            Self::Message(_) | Self::Report(_) | Self::Usage(_) => None,
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        SessionError::from(error).into()
    }
}

impl From<LabelError> for Error {
    fn from(error: LabelError) -> Self {
        SessionError::from(error).into()
    }
}

impl From<ProfileError> for Error {
    fn from(error: ProfileError) -> Self {
        AgentError::from(error).into()
    }
}

impl From<MqttError> for Error {
    fn from(error: MqttError) -> Self {
        ConfigurationError::from(error).into()
    }
}

impl From<BadWorkflow> for Error {
    fn from(error: BadWorkflow) -> Self {
        WorkflowError::from(error).into()
    }
}

impl From<StoryError> for Error {
    fn from(error: StoryError) -> Self {
        match error {
            StoryError::Outside(outside) => WorkflowError::Outside(outside).into(),
            StoryError::Unreadable { path, source } => SystemError::NotRead { path, source }.into(),
            StoryError::NotWritten { path, source } => {
                SystemError::NotWritten { path, source }.into()
            }
        }
    }
}

impl From<LocalBrokerError> for Error {
    fn from(error: LocalBrokerError) -> Self {
        match error {
            LocalBrokerError::Store(error) => error.into(),
            LocalBrokerError::Password(error) => error.into(),
            error => FleetError::LocalBroker(error).into(),
        }
    }
}
