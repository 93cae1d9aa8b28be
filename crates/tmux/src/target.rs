use std::fmt;

use crate::{PaneId, SessionName, SessionNo, WindowId};

/// The target of a command; always exact.
///
/// `-t web` would be a prefix match, and `-t =web` is still one where tmux expects a window;
/// only the colon in `=web:` makes it a session everywhere (measured on 3.3a).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target(String);

impl Target {
    pub fn session(name: &SessionName) -> Self {
        Self(format!("={name}:"))
    }

    pub fn session_no(session: SessionNo) -> Self {
        Self(format!("{session}:"))
    }

    pub fn window(window: WindowId) -> Self {
        Self(window.to_string())
    }

    pub fn pane(pane: PaneId) -> Self {
        Self(pane.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<PaneId> for Target {
    fn from(pane: PaneId) -> Self {
        Self::pane(pane)
    }
}

impl From<WindowId> for Target {
    fn from(window: WindowId) -> Self {
        Self::window(window)
    }
}

impl From<SessionNo> for Target {
    fn from(session: SessionNo) -> Self {
        Self::session_no(session)
    }
}

impl From<&SessionName> for Target {
    fn from(name: &SessionName) -> Self {
        Self::session(name)
    }
}
