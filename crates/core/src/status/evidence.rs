//! What was found out about one session, source by source. No judgement yet.

use std::time::Duration;

use dogwatch_protocol::status::Looping;
use jiff::Timestamp;

use super::hooks::Arrived;
use super::{Status, WaitFor};
use crate::liveness::Life;
use crate::record::{Cause, Exit};
use crate::screen::{Hands, Todos};

/// All there is to go by. `None` means that the source was not asked or has nothing.
#[derive(Debug, Clone)]
pub struct Evidence {
    pub now: Timestamp,
    /// Life and death, judged from records, panes and processes.
    pub life: Life,
    pub exit: Option<Exit>,
    /// What ended it, and who.
    pub cause: Option<Cause>,
    pub by: Option<String>,
    /// A plain command has no turns: it works until it ends.
    pub is_plain: bool,
    /// It was started with a prompt: a turn is to come.
    pub prompted: bool,
    /// The kernel has stopped it: Ctrl-Z, or a signal.
    pub stopped: bool,
    pub own_word: OwnWord,
    pub hooks: Turn,
    pub transcript: Turn,
    /// Which conversation it is in is known: what its transcript does not tell of has not been.
    pub knows_conversation: bool,
    /// The last refresh of the statusline.
    pub clock: Option<Timestamp>,
    pub screen: Option<Screen>,
    /// The last moment at which the screen or the agent's processor time was seen to move.
    pub movement: Option<Timestamp>,
    /// How long everything must be silent before a working agent counts as stuck.
    pub window: Duration,
    /// The state that it was last seen in.
    pub before: Option<Before>,
}

/// A state that was seen earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    pub status: Status,
    /// The first moment at which it is known to have been in it.
    pub since: Timestamp,
}

/// What the agent says of itself, now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OwnWord {
    /// This agent has no such voice.
    #[default]
    Mute,
    /// It has one, and is silent: for claude, a dialog before the session may be open.
    Silent,
    /// There is a word, but of another process: it must not be believed.
    Forged(String),
    /// Its word, and since when it stands; one without a time is of this moment.
    Says(Word, Option<Timestamp>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    Busy,
    Idle,
    /// The turn is over, a background shell runs.
    Shell,
    /// It waits, and perhaps says what it asks.
    Waiting(WaitFor, Option<String>),
}

/// The turns of a conversation as hooks or a transcript tell them: edges, with their times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    pub edge: Option<Edge>,
    pub waiting: Option<Asked>,
    /// The last thing that came in at all.
    pub last: Option<Timestamp>,
    pub turns_begun: u32,
    pub turns_done: u32,
    /// When the last turn began, as a transcript tells it, or the hook for a prompt.
    pub began: Option<Timestamp>,
    /// This transcript writes down each beginning and each end of a turn: one that began in it is not over before it says so.
    pub tells_ends: bool,
    /// When the last turn ended, as hooks tell it.
    pub ended: Option<Timestamp>,
    pub background: u32,
    /// Messages that wait for their turn.
    pub queued: u32,
    /// What it is at: the last tool.
    pub task: Option<String>,
    pub course: Course,
    /// An event whose hook has not said yet what became of it.
    pub arrived: Option<Arrived>,
    /// It goes round in circles, as its transcript shows.
    pub looping: Option<Looping>,
}

/// How far a turn has come, as a transcript tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Course {
    /// A person asked for it.
    pub asked: bool,
    /// The last that was written is what the agent said: no tool that it called is under way.
    pub spoke_last: bool,
}

impl Turn {
    /// What a transcript tells of the process that was started then. Turns before that are of another one: in a
    /// conversation that was resumed nothing has begun yet. A clock that was set back makes no difference.
    #[must_use]
    pub fn of_one_started(self, started: Timestamp, now: Timestamp) -> Self {
        let is_before = self.edge.as_ref().is_some_and(|edge| edge.at < started && started <= now);
        if is_before { Self { last: self.last, ..Self::default() } } else { self }
    }
}

/// The last beginning or end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub at: Timestamp,
    pub what: EdgeKind,
    /// In so many words. Else it follows from who spoke last, and is no more than likely.
    pub told: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeKind {
    Ready,
    Began,
    Done,
    Interrupted,
    Failed(Failure),
    /// It has ended, and nothing was answered. Versions that do not write down failures end a failed turn like this.
    Unanswered,
}

impl EdgeKind {
    /// Whether a turn is over with it.
    pub fn is_end(&self) -> bool {
        !matches!(self, Self::Ready | Self::Began)
    }
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `rate_limit`, `overloaded`, `authentication_failed`, `invalid_request` …
    pub kind: String,
    pub text: String,
    pub until: Option<String>,
}

impl Failure {
    /// What a status of HTTP says for certain, whatever words go with it.
    pub fn kind_of_status(status: i64) -> Option<&'static str> {
        match status {
            429 => Some("rate_limit"),
            529 | 503 => Some("overloaded"),
            401 | 403 => Some("authentication_failed"),
            _ => None,
        }
    }

    /// What a text for people says: a status in it, or words that the screen reader knows.
    pub fn kind_of_text(text: &str) -> Option<&'static str> {
        let after = text.split_once("API Error: ").map(|(_, after)| after);
        let status = after.and_then(|after| after.get(..3)?.parse().ok());
        status.and_then(Self::kind_of_status).or_else(|| crate::screen::kind_of_failure(text))
    }

    /// Limits pass by themselves; errors do not, and credit that is used up does not come back.
    pub fn is_limit(&self) -> bool {
        let kind = self.kind.as_str();
        let words = ["limit", "overload", "quota", "429", "529", "too_many"];
        !kind.contains("insufficient") && words.iter().any(|word| kind.contains(word))
    }
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub at: Timestamp,
    pub r#for: WaitFor,
    pub question: Option<String>,
}

/// What the screen reader made of the pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// What it shows without its title.
    pub shows: Shows,
    /// It shows a line that only an agent at work has. Else that it works follows from what is missing.
    pub is_live: bool,
    /// What the title claims. Whatever runs in the pane may set that, and so may what an agent prints.
    pub title: Option<Shows>,
    /// The line or title that made it say so.
    pub because: String,
    pub draft: Option<String>,
    pub background: u32,
    /// What can be chosen in a dialog.
    pub options: Vec<String>,
    /// The agent's own list, where it shows one.
    pub todos: Option<Todos>,
    pub hands: Hands,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shows {
    Starting,
    Working(Option<String>),
    Dialog(WaitFor, Option<String>),
    Limit(String, Option<String>),
    Failure(String, String),
    Prompt {
        after_turn: bool,
    },
    /// A shell's prompt, or what an ended agent leaves.
    Shell,
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_before_the_start_are_of_another_process() {
        let at = |second: i64| Timestamp::from_second(1_000_000 + second).unwrap();
        let turn = |second| Turn {
            edge: Some(Edge { at: at(second), what: EdgeKind::Done, told: true }),
            turns_done: 1,
            ..Turn::default()
        };
        assert_eq!(turn(5).of_one_started(at(10), at(20)).edge, None);
        assert_eq!(turn(5).of_one_started(at(10), at(20)).turns_done, 0);
        assert_eq!(turn(10).of_one_started(at(10), at(20)), turn(10));
        assert_eq!(turn(5).of_one_started(at(10), at(6)), turn(5), "the clock was set back");
    }
}
