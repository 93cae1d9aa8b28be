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

pub use dogwatch_protocol::session::State;
pub use dogwatch_protocol::status::ServerDied;

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
    /// Its server died, and it was one of those that went with it: see [`crate::server_death`].
    pub server_died: Option<ServerDied>,
}

/// The verdict, and the sentence that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    pub state: State,
    pub since: Option<Timestamp>,
    pub reason: String,
    /// It is lost because its server died.
    pub server_died: Option<ServerDied>,
}

impl Life {
    fn new(state: State, since: Option<Timestamp>, reason: impl Into<String>) -> Self {
        Self { state, since, reason: reason.into(), server_died: None }
    }
}

/// Judges one session. The first rule that fits decides.
pub fn judge(facts: &Facts<'_>) -> Life {
    if let Some(died) = facts.server_died
        && let Some(life) = with_its_server(facts, died)
    {
        return life;
    }
    if let Some(ended) = facts.ended {
        return Life::new(state_after(ended), Some(ended.at), how_it_ended(ended));
    }
    let life = Life::new;
    let started = facts.started.map(|s| s.at);
    match (&facts.pane, facts.runner, facts.agent) {
        (Pane::Unreachable(error), _, _) => Life {
            reason: format!("tmux did not answer: {error}"),
            ..life(State::Unknown, None, "")
        },
        (Pane::Alive, _, _) if started.is_some() => life(State::Running, started, "running"),
        (Pane::Alive, _, _) => life(
            State::Starting,
            Some(facts.created),
            "the pane exists; the agent has not started yet",
        ),
        (Pane::Gone | Pane::NoServer, _, _) if is_being_made(facts) => {
            life(State::Starting, Some(facts.created), "being created")
        }
        (_, Process::Alive, _) => {
            life(State::Running, started, "the pane is gone; the runner is still ending the agent")
        }
        (_, _, Process::Alive) => life(
            State::Lost,
            None,
            "the runner was killed; the agent process is still running without it",
        ),
        (Pane::Dead, _, _) => {
            life(State::Lost, None, "the runner was killed before it recorded how the agent ended")
        }
        (Pane::NoServer, _, _) => {
            life(State::Lost, None, "the tmux server is gone and there is no exit record")
        }
        (Pane::Gone, _, _) => {
            life(State::Lost, None, "the pane is gone and there is no exit record")
        }
    }
}

/// How it went with its server. An end of its own stays its end, and one that is still being ended has none yet.
fn with_its_server(facts: &Facts<'_>, died: ServerDied) -> Option<Life> {
    let is_own_end = facts.ended.is_some_and(|ended| ended.cause != Cause::Hangup);
    if is_own_end || (facts.ended.is_none() && facts.runner == Process::Alive) {
        return None;
    }
    let reason = match facts.agent {
        Process::Alive => format!("{died}; the agent process is still running without it"),
        Process::Gone | Process::Unasked => died.to_string(),
    };
    let since = died.exact.then_some(died.at);
    Some(Life { server_died: Some(died), ..Life::new(State::Lost, since, reason) })
}

/// Judges an agent that others started where no pane is: in the background.
pub fn without_pane(is_alive: bool, since: Timestamp) -> Life {
    if is_alive {
        let reason = "running in the background, without a pane";
        return Life::new(State::Running, Some(since), reason);
    }
    Life::new(State::Lost, None, "its process is gone and there is no exit record")
}

/// A session is remembered before it is made, and may be made after tmux was asked: for that moment no witness knows
/// of it.
fn is_being_made(facts: &Facts<'_>) -> bool {
    let age = facts.now.duration_since(facts.created);
    !facts.placed && facts.started.is_none() && !age.is_negative() && age < MAKING
}

fn state_after(ended: &Ended) -> State {
    match (ended.cause, ended.exit) {
        (Cause::Itself | Cause::Request, exit) if exit.is_success() => State::Exited,
        // A hangup also with code 0: claude leaves so when its terminal vanishes, and that is no end of its own.
        (Cause::Hangup | Cause::Request, _) => State::Stopped,
        (Cause::Itself, exit) if from_keyboard(exit).is_some() => State::Stopped,
        (Cause::Itself | Cause::Launch, _) => State::Crashed,
    }
}

/// The key that usually has this effect.
fn from_keyboard(exit: Exit) -> Option<&'static str> {
    match exit {
        Exit::Signal(2) => Some("Ctrl-C"),
        Exit::Signal(3) => Some("Ctrl-\\"),
        _ => None,
    }
}

/// Who stopped a session, and how: `by root on pts/3 (signal 15 (TERM))`.
pub fn how_stopped(exit: Exit, cause: Cause, by: Option<&str>) -> String {
    let how = exit_words(exit);
    match (cause, by) {
        (Cause::Hangup, _) => format!("terminal closed ({how})"),
        (Cause::Request, Some(by)) => format!("by {by} ({how})"),
        (Cause::Request, None) => format!("on request ({how})"),
        (Cause::Itself | Cause::Launch, _) => match from_keyboard(exit) {
            Some(key) => format!("{how}, probably {key}"),
            None => how,
        },
    }
}

/// `exit code 3`, `signal 9 (KILL)`.
pub fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {}", signal_name(signal)),
    }
}

/// The sentence that explains how a session ended.
pub fn how_it_ended(ended: &Ended) -> String {
    let how = exit_words(ended.exit);
    if state_after(ended) == State::Stopped {
        return how_stopped(ended.exit, ended.cause, ended.by.as_deref());
    }
    match (ended.cause, &ended.error) {
        (Cause::Itself | Cause::Hangup, _) => format!("{how}, recorded by the runner"),
        (Cause::Request, _) => match &ended.by {
            Some(by) => format!("{how}, ended by {by}"),
            None => format!("{how}, ended on request"),
        },
        (Cause::Launch, Some(error)) => format!("failed to start: {error}"),
        (Cause::Launch, None) => "failed to start".to_owned(),
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
        Ended { at: at(9), exit, cause, error: None, by: None, hangup: None }
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
        let by_ann =
            Ended { by: Some("ann on pts/3".into()), ..ended(Exit::Signal(15), Cause::Request) };
        let ctrl_c = ended(Exit::Signal(2), Cause::Itself);
        let never_ran = ended(Exit::Code(130), Cause::Launch);
        #[rustfmt::skip]
        let table = [
            (Some(&ok), true, Pane::Alive, Alive, Alive, State::Exited, "exit code 0, recorded"),
            (Some(&bad), true, Pane::Dead, Gone, Gone, State::Crashed, "exit code 3"),
            (Some(&killed), true, Pane::Gone, Gone, Gone, State::Crashed, "signal 9 (KILL)"),
            (Some(&hung_up), true, Pane::NoServer, Gone, Gone, State::Stopped, "terminal closed (signal 1 (HUP))"),
            (Some(&left), true, Pane::NoServer, Gone, Gone, State::Stopped, "terminal closed (exit code 0)"),
            (Some(&asked), true, Pane::Gone, Gone, Gone, State::Exited, "ended on request"),
            (Some(&by_ann), true, Pane::Gone, Gone, Gone, State::Stopped, "by ann on pts/3 (signal 15 (TERM))"),
            (Some(&ctrl_c), true, Pane::Gone, Gone, Gone, State::Stopped, "signal 2 (INT), probably Ctrl-C"),
            (Some(&never_ran), true, Pane::Gone, Gone, Gone, State::Crashed, "failed to start"),
            (Some(&ok), true, Pane::Unreachable("x".into()), Unasked, Unasked, State::Exited, "exit code 0"),
            (None, true, Pane::Alive, Unasked, Unasked, State::Running, "running"),
            (None, false, Pane::Alive, Unasked, Unasked, State::Starting, "not started yet"),
            (None, true, Pane::Dead, Gone, Gone, State::Lost, "runner was killed before"),
            (None, true, Pane::Dead, Gone, Alive, State::Lost, "agent process is still running"),
            (None, true, Pane::Gone, Alive, Alive, State::Running, "runner is still ending"),
            (None, true, Pane::NoServer, Gone, Gone, State::Lost, "tmux server is gone"),
            (None, true, Pane::Gone, Gone, Gone, State::Lost, "pane is gone"),
            (None, true, Pane::Unreachable("no".into()), Gone, Gone, State::Unknown, "answer: no"),
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
                server_died: None,
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
            let (now, server_died) = (at(now), None);
            #[rustfmt::skip]
            let facts = Facts { now, created, placed, started, ended, pane, runner, agent, server_died };
            judge(&facts).state
        };
        assert_eq!(state(1, false, Pane::Gone), State::Starting);
        assert_eq!(state(1, false, Pane::NoServer), State::Starting);
        assert_eq!(state(30, false, Pane::Gone), State::Lost, "it never was");
        assert_eq!(state(-30, false, Pane::Gone), State::Lost, "the clock was set back");
        assert_eq!(state(1, true, Pane::Gone), State::Lost, "it was there");
        assert_eq!(state(1, false, Pane::Dead), State::Lost);
    }

    #[test]
    fn a_session_whose_server_died() {
        use Process::{Alive, Gone, Unasked};
        let exact = ServerDied { at: at(7), exact: true };
        let found = ServerDied { exact: false, ..exact };
        let hung_up = ended(Exit::Signal(1), Cause::Hangup);
        let left = ended(Exit::Code(0), Cause::Hangup);
        let own = ended(Exit::Code(0), Cause::Itself);
        let asked = ended(Exit::Signal(15), Cause::Request);
        #[rustfmt::skip]
        let table = [
            (Some(&hung_up), Gone, Unasked, exact, State::Lost, "the tmux server died at "),
            (Some(&left), Gone, Unasked, exact, State::Lost, "the tmux server died at "),
            (Some(&own), Gone, Unasked, exact, State::Exited, "exit code 0"),
            (Some(&asked), Gone, Unasked, exact, State::Stopped, "on request"),
            (None, Gone, Gone, exact, State::Lost, "the tmux server died at "),
            (None, Gone, Gone, found, State::Lost, "the tmux server died before "),
            (None, Gone, Alive, exact, State::Lost, "still running without it"),
            (None, Alive, Alive, exact, State::Running, "still ending the agent"),
        ];
        for (ended, runner, agent, died, state, words) in table {
            let (pane, created, started) = (Pane::NoServer, at(0), None);
            let (now, placed, server_died) = (at(99), true, Some(died));
            #[rustfmt::skip]
            let facts = Facts { now, created, placed, started, ended, pane, runner, agent, server_died };
            let life = judge(&facts);
            assert_eq!(life.state, state, "{facts:?}");
            assert!(life.reason.contains(words), "{:?} lacks {words:?}", life.reason);
            assert_eq!(life.server_died, (state == State::Lost).then_some(died));
        }
    }
}
