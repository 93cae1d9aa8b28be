//! Sessions: how they are listed, started, captured and ended.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    Starting,
    Running,
    /// Ended with status 0, by itself or because it was asked to.
    Exited,
    /// A person ended it: by `kill`, by closing its terminal, or by Ctrl-C.
    Stopped,
    /// Ended otherwise.
    Crashed,
    /// Taken away without an exit record.
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
