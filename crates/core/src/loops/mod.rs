//! Agents that go round in circles: the same call with the same result again and again, the same few calls in turn, edits
//! that undo each other. Found in the transcript alone, never on the screen.
//!
//! Theory of operation. The tool calls since the last message of a person are kept as hashes, the newest
//! [`WINDOW`](window::WINDOW) of them ([`window`]); [`calls`] reads them from the lines, [`fingerprint`] leaves out of a
//! result what changes by itself. [`find`] is a function of that window, so it makes no difference whether a transcript
//! was followed or read once. What waits for something else is no loop, nor is a check that is run again after each of
//! several changes and still succeeds.

mod calls;
mod class;
mod find;
mod fingerprint;
mod input;
#[cfg(test)]
mod tests;
mod window;

use dogwatch_protocol::status::Looping;

use crate::transcript::Dialect;
use calls::Heard;
use window::Window;

/// What a transcript told of tool calls so far.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    window: Window,
    /// A person's message was met: what is before it does not count.
    has_begun: bool,
}

impl Loops {
    /// Takes in what was written since.
    pub fn fold(&mut self, dialect: Dialect, text: &str) {
        for line in text.lines() {
            calls::heard(dialect, line, |heard| self.take_in(heard));
        }
    }

    fn take_in(&mut self, heard: Heard) {
        match heard {
            Heard::Message => {
                self.window.clear();
                self.has_begun = true;
            }
            Heard::Called { id, at, tool, input } => self.window.called(id, at, &tool, input),
            Heard::Answered { id, output } => self.window.answered(id, output),
        }
    }

    /// Nothing that was written before could make a difference to what is found.
    pub fn is_enough(&self) -> bool {
        self.has_begun || self.window.is_full()
    }

    /// The loop that the agent is in by now.
    pub fn found(&self) -> Option<Looping> {
        find::found(&self.window.done())
    }
}
