//! Whether a session lives and, if not, how it ended: one verdict from all witnesses.
//!
//! The order of authority is the order of the rules in [`judge`]:
//!
//! 1. the runner's exit record: final, whatever tmux says;
//! 2. tmux's pane, found by its id on the very server it was made on;
//! 3. the processes themselves.
//!
//! `pane_dead_status` is never the only witness: tmux 3.3a with utempter loses it in about half of
//! all deaths. Where nothing suffices, the verdict is [`State::Unknown`].

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::record::{Cause, Ended, Exit, Started};

/// How long the making of a session may take, at the very most.
const MAKING: SignedDuration = SignedDuration::from_secs(20);

/// What tmux says of the session's pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pane {
    Alive,
    /// The process in it is gone; tmux kept the pane (`remain-on-exit`).
    Dead,
    /// The server that made it still runs, and has no such pane.
    Gone,
    /// That server no longer runs.
    NoServer,
    /// tmux could not be asked.
    Unreachable(String),
}

/// What the kernel says of a process that was recorded with its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Alive,
    Gone,
    /// Nobody looked, or its identity was never recorded.
    Unasked,
}

/// Everything that was found out about one session.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub now: Timestamp,
    pub created: Timestamp,
    /// Whether tmux was ever seen to have made its pane.
    pub placed: bool,
    pub started: Option<&'a Started>,
    pub ended: Option<&'a Ended>,
    pub pane: Pane,
    pub runner: Process,
    pub agent: Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Starting,
    Running,
    /// Ended by itself with status 0.
    Exited,
    /// Ended otherwise.
    Crashed,
    /// Taken away without an exit record.
    Lost,
    Unknown,
}

impl State {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Exited | Self::Crashed | Self::Lost)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Crashed => "crashed",
            Self::Lost => "lost",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict, and the sentence that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    pub state: State,
    pub since: Option<Timestamp>,
    pub reason: String,
}

/// Judges one session. The first rule that fits decides.
pub fn judge(facts: &Facts<'_>) -> Life {
    if let Some(ended) = facts.ended {
        // claude leaves with code 0 when its terminal vanishes; that is still no end of its own.
        let own_end = ended.exit.is_success() && ended.cause != Cause::Hangup;
        let state = if own_end { State::Exited } else { State::Crashed };
        return Life { state, since: Some(ended.at), reason: how_it_ended(ended) };
    }
    let life = |state, since, reason: &str| Life { state, since, reason: reason.to_owned() };
    let started = facts.started.map(|s| s.at);
    match (&facts.pane, facts.runner, facts.agent) {
        (Pane::Unreachable(error), _, _) => Life {
            state: State::Unknown,
            since: None,
            reason: format!("tmux could not be asked: {error}"),
        },
        (Pane::Alive, _, _) if started.is_some() => {
            life(State::Running, started, "its pane is alive and no end was recorded")
        }
        (Pane::Alive, _, _) => life(
            State::Starting,
            Some(facts.created),
            "its pane is alive; the agent's start is not recorded yet",
        ),
        (Pane::Gone | Pane::NoServer, _, _) if is_being_made(facts) => {
            life(State::Starting, Some(facts.created), "it is being made")
        }
        (_, Process::Alive, _) => life(
            State::Running,
            started,
            "its pane is gone, but its runner still lives and is ending it",
        ),
        (_, _, Process::Alive) => life(
            State::Lost,
            None,
            "its runner was killed; the agent process still lives without it",
        ),
        (Pane::Dead, _, _) => life(
            State::Lost,
            None,
            "its runner was killed before it could record how the agent ended",
        ),
        (Pane::NoServer, _, _) => {
            life(State::Lost, None, "its tmux server is gone and left no exit record")
        }
        (Pane::Gone, _, _) => life(State::Lost, None, "its pane is gone and left no exit record"),
    }
}

/// A session is remembered before it is made, and may be made after tmux was asked: for that moment no witness knows
/// of it.
fn is_being_made(facts: &Facts<'_>) -> bool {
    let age = facts.now.duration_since(facts.created);
    !facts.placed && facts.started.is_none() && !age.is_negative() && age < MAKING
}

fn how_it_ended(ended: &Ended) -> String {
    let how = match ended.exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {}", signal_name(signal)),
    };
    match (ended.cause, &ended.error) {
        (Cause::Itself, _) => format!("{how}, recorded by the runner"),
        (Cause::Request, _) => format!("{how}, ended on request"),
        (Cause::Hangup, _) => format!("{how}, after its terminal went away"),
        (Cause::Launch, Some(error)) => format!("could not be started: {error}"),
        (Cause::Launch, None) => "could not be started".to_owned(),
    }
}

/// `9 (KILL)`; the numbers of these signals are the same on Linux and macOS.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        _ => return signal.to_string(),
    };
    format!("{signal} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ProcessIdent;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn ended(exit: Exit, cause: Cause) -> Ended {
        Ended { at: at(9), exit, cause, error: None }
    }

    #[test]
    fn table() {
        use Process::{Alive, Gone, Unasked};
        let started = Started {
            at: at(1),
            runner: ProcessIdent { pid: 10, start: 1 },
            agent: ProcessIdent { pid: 11, start: 1 },
            pane: Some("%1".into()),
        };
        let ok = ended(Exit::Code(0), Cause::Itself);
        let bad = ended(Exit::Code(3), Cause::Itself);
        let killed = ended(Exit::Signal(9), Cause::Itself);
        let hung_up = ended(Exit::Signal(1), Cause::Hangup);
        let left = ended(Exit::Code(0), Cause::Hangup);
        let asked = ended(Exit::Code(0), Cause::Request);
        #[rustfmt::skip]
        let table = [
            (Some(&ok), true, Pane::Alive, Alive, Alive, State::Exited, "exit code 0, recorded"),
            (Some(&bad), true, Pane::Dead, Gone, Gone, State::Crashed, "exit code 3"),
            (Some(&killed), true, Pane::Gone, Gone, Gone, State::Crashed, "signal 9 (KILL)"),
            (Some(&hung_up), true, Pane::NoServer, Gone, Gone, State::Crashed, "terminal went away"),
            (Some(&left), true, Pane::NoServer, Gone, Gone, State::Crashed, "terminal went away"),
            (Some(&asked), true, Pane::Gone, Gone, Gone, State::Exited, "on request"),
            (Some(&ok), true, Pane::Unreachable("x".into()), Unasked, Unasked, State::Exited, "exit code 0"),
            (None, true, Pane::Alive, Unasked, Unasked, State::Running, "alive"),
            (None, false, Pane::Alive, Unasked, Unasked, State::Starting, "not recorded yet"),
            (None, true, Pane::Dead, Gone, Gone, State::Lost, "runner was killed before"),
            (None, true, Pane::Dead, Gone, Alive, State::Lost, "agent process still lives"),
            (None, true, Pane::Gone, Alive, Alive, State::Running, "runner still lives"),
            (None, true, Pane::NoServer, Gone, Gone, State::Lost, "tmux server is gone"),
            (None, true, Pane::Gone, Gone, Gone, State::Lost, "pane is gone"),
            (None, true, Pane::Unreachable("no".into()), Gone, Gone, State::Unknown, "asked: no"),
        ];
        for (ended, has_started, pane, runner, agent, state, words) in table {
            let facts = Facts {
                now: at(1000),
                created: at(0),
                placed: true,
                started: has_started.then_some(&started),
                ended,
                pane: pane.clone(),
                runner,
                agent,
            };
            let life = judge(&facts);
            assert_eq!(life.state, state, "{facts:?}");
            assert!(life.reason.contains(words), "{:?} lacks {words:?}", life.reason);
        }
    }

    #[test]
    fn a_session_that_is_being_made() {
        let state = |now: i64, placed: bool, pane: Pane| {
            let (runner, agent) = (Process::Unasked, Process::Unasked);
            let (created, started, ended) = (at(0), None, None);
            judge(&Facts { now: at(now), created, placed, started, ended, pane, runner, agent })
                .state
        };
        assert_eq!(state(1, false, Pane::Gone), State::Starting);
        assert_eq!(state(1, false, Pane::NoServer), State::Starting);
        assert_eq!(state(30, false, Pane::Gone), State::Lost, "it never was");
        assert_eq!(state(-30, false, Pane::Gone), State::Lost, "the clock was set back");
        assert_eq!(state(1, true, Pane::Gone), State::Lost, "it was there");
        assert_eq!(state(1, false, Pane::Dead), State::Lost);
    }
}
