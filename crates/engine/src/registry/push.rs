//! Word from elsewhere that something changed.

use std::fmt;

/// Where word of changes may come from besides tmux, hooks and the file itself: a broker. Whoever brings it wakes the
/// monitor by the waker that it was given when it was made.
pub trait Push: fmt::Debug {
    /// What came since the last time. Never waits, and tries by itself to reach what cannot be reached.
    fn heard(&mut self) -> Heard;
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It is there, and silent.
    Nothing,
    /// Something changed.
    News,
    /// It cannot be reached: we look by ourselves until it can.
    Away(String),
}

/// Nobody to listen to.
#[derive(Debug, Default)]
pub struct NoBroker;

impl Push for NoBroker {
    fn heard(&mut self) -> Heard {
        Heard::Away("no broker is configured".to_owned())
    }
}
