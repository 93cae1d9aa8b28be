use std::path::PathBuf;

use dogwatch_core::label::LabelError;
use dogwatch_core::name::NameError;

use super::kind::{BAD_ARGUMENT, codes};

/// Why a session cannot be started, found, read or ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("a session named {name} already exists")]
    NameInUse { name: String, is_ours: bool },
    #[error("no session {target:?}")]
    NoSuchSession {
        target: String,
        /// The closest existing name.
        near: Option<String>,
    },
    #[error("tmux has a session {target:?}, but dogwatch did not start it")]
    NotOurs { target: String },
    #[error("no session needs you")]
    NoneNeedsYou,
    #[error("session {name} has ended: {reason}")]
    IsOver { name: String, reason: String },
    #[error("session {name} is running")]
    IsRunning { name: String },
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error("cannot read session {name}: {reason}")]
    NotReachable { name: String, reason: String },
    #[error("the directory {} does not exist", path.display())]
    NoSuchFolder { path: PathBuf },
    #[error("{} is not a directory", path.display())]
    NotAFolder { path: PathBuf },
    #[error("the prompt {problem}")]
    BadPrompt { problem: String },
    #[error("{name:?} is not a valid name of an environment variable")]
    BadVariable { name: String },
    #[error("cannot start session {name}: {reason}")]
    LaunchFailed { name: String, reason: String },
    #[error("session {name} was created, but its program did not start within {seconds} s")]
    StartNotConfirmed { name: String, seconds: u64 },
    /// What tmux may still do of it starts nothing.
    #[error("session {name} was not started: tmux did not start it within {seconds} s")]
    NotStarted { name: String, seconds: u64 },
    #[error("cannot end session {name}: {reason}")]
    NotEnded { name: String, reason: String },
    #[error("no screen of session {name} was saved: {reason}")]
    NothingKept { name: String, reason: String },
}

codes! { SessionError:
    Self::Name(_) => Usage "bad_name";
    Self::NameInUse { .. } => Conflict "name_in_use";
    Self::NoSuchSession { .. } => NotFound "no_such_session";
    Self::NotOurs { .. } => NotFound "not_ours";
    Self::NoneNeedsYou => NotFound "none_needs_you";
    Self::IsOver { .. } => Conflict "is_over";
    Self::IsRunning { .. } => Conflict "is_running";
    Self::Label(_) => Usage "bad_label";
    Self::NotReachable { .. } => Tmux "not_reachable";
    Self::NoSuchFolder { .. } | Self::NotAFolder { .. } => Usage "bad_cwd";
    Self::BadPrompt { .. } => Usage "bad_prompt";
    Self::BadVariable { .. } => Usage BAD_ARGUMENT;
    Self::LaunchFailed { .. } => Agent "launch_failed";
    Self::StartNotConfirmed { .. } => Timeout "start_not_confirmed";
    Self::NotStarted { .. } => Timeout "not_started";
    Self::NotEnded { .. } => Failed "not_ended";
    Self::NothingKept { .. } => NotFound "nothing_kept";
}

impl SessionError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NameInUse { name, is_ours: true } => {
                format!("choose another name, or end that session first: dogwatch kill {name}")
            }
            Self::NameInUse { .. } => {
                "choose another name; a tmux session that dogwatch did not start has that one"
                    .into()
            }
            Self::NoSuchSession { near: Some(name), .. } => {
                format!("did you mean {name}? `dogwatch ls --all` lists all sessions")
            }
            Self::NoSuchSession { .. } => "`dogwatch ls --all` lists all sessions".into(),
            Self::NotOurs { .. } => {
                "dogwatch changes only sessions that it started; use tmux for this one".into()
            }
            Self::NoneNeedsYou => "`dogwatch status` lists all sessions".into(),
            Self::IsOver { name, .. } => format!("to see its last screen: dogwatch capture {name}"),
            Self::IsRunning { name } => {
                format!(
                    "only ended sessions can be archived; to end and archive it: dogwatch kill {name}"
                )
            }
            Self::NotStarted { .. } => {
                "nothing of it is left; check whether `tmux ls` answers, and try again".to_owned()
            }
            Self::StartNotConfirmed { name, .. } => {
                format!(
                    "to see its screen: dogwatch capture {name}; to end it: dogwatch kill {name}"
                )
            }
            _ => return None,
        })
    }
}
