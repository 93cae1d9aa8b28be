//! Reports of changes from outside.

use std::fmt;

/// A source of change reports besides tmux, hooks and the file itself: a broker. It wakes the monitor with the waker that it
/// was created with.
pub trait Push: fmt::Debug {
    /// What came since the last call. Never blocks, and reconnects by itself.
    fn heard(&mut self) -> Heard;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Connected, nothing new.
    Nothing,
    /// Something changed.
    News,
    /// Not reachable: the monitor polls until it is.
    Away(String),
}

/// No broker is configured.
#[derive(Debug, Default)]
pub struct NoBroker;

impl Push for NoBroker {
    fn heard(&mut self) -> Heard {
        Heard::Away("no broker is configured".to_owned())
    }
}
