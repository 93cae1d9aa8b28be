//! What the runner does next in the pane.
//!
//! The runner is a shell with a single job: it gives the terminal to the agent, takes it back while
//! the agent is stopped, passes an order to end on, writes down how the agent ended, and does not
//! leave before everything the agent started is gone too. This module is that behaviour without
//! a terminal: events in, effects out. The driver in the engine performs them.

use std::time::Duration;

use crate::record::{Cause, Exit};

/// How long a hung-up agent gets before it is asked with TERM. gemini ignores HUP altogether.
const HANGUP_GRACE: Duration = Duration::from_millis(800);
/// How long an agent gets to end after TERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long it gets after HUP, when TERM did nothing: interactive shells ignore TERM and honour HUP.
const LAST_CALL_GRACE: Duration = Duration::from_secs(1);
/// How long what the agent left behind gets after TERM, and then after KILL.
const SWEEP_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The agent was stopped, by Ctrl-Z or from outside.
    Stopped,
    /// The agent goes on, whoever continued it.
    Continued,
    Ended(Exit),
    Told(Order),
    /// A line typed while the runner had the terminal.
    Typed(String),
    /// The time asked for with [`Effect::WakeAfter`] has passed.
    Woken,
    /// After the end: so many processes of the session are still there.
    Left(usize),
}

/// Orders from outside, by signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The terminal went away.
    HangUp,
    /// End the agent, politely first.
    End,
    /// End it at once.
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    HangUp,
    Terminate,
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    Stopped,
    UnknownWord,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an effect that is not performed did not happen"]
pub enum Effect {
    TakeTerminal,
    /// Makes the agent the foreground job again, and continues it.
    GiveTerminal,
    Say(Notice),
    SignalAgent(Signal),
    /// Everything the session started, wherever it went.
    SignalFamily(Signal),
    WakeAfter(Duration),
    Record {
        exit: Exit,
        cause: Cause,
    },
    /// Count what is left of the family and report it as [`Event::Left`].
    CountFamily,
    Leave(Exit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Foreground,
    Suspended,
    Ending {
        cause: Cause,
        stage: Stage,
    },
    /// The agent has ended; `sent` is what its leftovers were told so far.
    Sweeping {
        exit: Exit,
        sent: Option<Signal>,
    },
}

/// How firmly the agent has been told to end so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    HungUp,
    Termed,
    LastCall,
    Killed,
}

/// The runner's memory between events.
#[derive(Debug, Clone, Copy)]
pub struct Runner {
    state: State,
}

impl Default for Runner {
    fn default() -> Self {
        Self { state: State::Foreground }
    }
}

impl Runner {
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        match (self.state, event) {
            (State::Sweeping { exit, sent }, event) => self.sweep(exit, sent, &event),
            (state, Event::Ended(exit)) => {
                let cause = match state {
                    State::Ending { cause, .. } => cause,
                    _ => Cause::Itself,
                };
                self.state = State::Sweeping { exit, sent: None };
                vec![Effect::Record { exit, cause }, Effect::CountFamily]
            }
            (state, Event::Told(order)) => self.obey(state, order),
            (State::Foreground, Event::Stopped) => {
                self.state = State::Suspended;
                vec![Effect::TakeTerminal, Effect::Say(Notice::Stopped)]
            }
            (State::Suspended, Event::Continued) => self.resume(),
            (State::Suspended, Event::Typed(line)) => match line.trim() {
                "" | "fg" => self.resume(),
                "kill" | "exit" | "quit" => self.end(Cause::Request, Stage::Termed),
                _ => vec![Effect::Say(Notice::UnknownWord)],
            },
            (State::Ending { cause, stage }, Event::Woken) => match stage {
                Stage::HungUp => self.end(cause, Stage::Termed),
                Stage::Termed => self.end(cause, Stage::LastCall),
                // Again after KILL only for a process stuck in the kernel: ask on, never give up.
                Stage::LastCall | Stage::Killed => self.end(cause, Stage::Killed),
            },
            _ => Vec::new(),
        }
    }

    fn resume(&mut self) -> Vec<Effect> {
        self.state = State::Foreground;
        vec![Effect::GiveTerminal]
    }

    fn obey(&mut self, state: State, order: Order) -> Vec<Effect> {
        // The first order names the cause; a later one may only hurry it.
        let (first_cause, wanted) = match order {
            Order::HangUp => (Cause::Hangup, Stage::HungUp),
            Order::End => (Cause::Request, Stage::Termed),
            Order::Kill => (Cause::Request, Stage::Killed),
        };
        match state {
            State::Ending { stage, .. } if stage >= wanted => Vec::new(),
            State::Ending { cause, .. } => self.end(cause, wanted),
            _ => self.end(first_cause, wanted),
        }
    }

    fn end(&mut self, cause: Cause, stage: Stage) -> Vec<Effect> {
        self.state = State::Ending { cause, stage };
        let (effect, grace) = match stage {
            Stage::HungUp => (Effect::SignalAgent(Signal::HangUp), HANGUP_GRACE),
            Stage::Termed => (Effect::SignalAgent(Signal::Terminate), TERM_GRACE),
            Stage::LastCall => (Effect::SignalAgent(Signal::HangUp), LAST_CALL_GRACE),
            Stage::Killed => (Effect::SignalFamily(Signal::Kill), SWEEP_GRACE),
        };
        vec![effect, Effect::WakeAfter(grace)]
    }

    fn sweep(&mut self, exit: Exit, sent: Option<Signal>, event: &Event) -> Vec<Effect> {
        match (event, sent) {
            (Event::Left(0), _) => vec![Effect::Leave(exit)],
            (Event::Left(_), None) => {
                self.state = State::Sweeping { exit, sent: Some(Signal::Terminate) };
                vec![Effect::SignalFamily(Signal::Terminate), Effect::WakeAfter(SWEEP_GRACE)]
            }
            (Event::Woken, Some(Signal::Terminate)) | (Event::Told(Order::Kill), _) => {
                self.state = State::Sweeping { exit, sent: Some(Signal::Kill) };
                vec![Effect::SignalFamily(Signal::Kill), Effect::WakeAfter(SWEEP_GRACE)]
            }
            // Killed and still there: nothing more can be done from here.
            (Event::Woken, _) => vec![Effect::Leave(exit)],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Effect::{
        CountFamily, GiveTerminal, Leave, Record, Say, SignalAgent, SignalFamily, TakeTerminal,
        WakeAfter,
    };
    use super::Event::{Continued, Ended, Left, Stopped, Told, Typed, Woken};
    use super::*;

    /// Plays events; each must give exactly the effects beside it.
    fn play(script: Vec<(Event, Vec<Effect>)>) {
        let mut runner = Runner::default();
        for (n, (event, want)) in script.into_iter().enumerate() {
            assert_eq!(runner.step(event.clone()), want, "step {n}: {event:?}");
        }
    }

    fn record(exit: Exit, cause: Cause) -> Vec<Effect> {
        vec![Record { exit, cause }, CountFamily]
    }

    #[test]
    fn an_agent_that_ends_by_itself() {
        let exit = Exit::Code(3);
        play(vec![(Ended(exit), record(exit, Cause::Itself)), (Left(0), vec![Leave(exit)])]);
    }

    #[test]
    fn ctrl_z_and_fg() {
        let stopped = vec![TakeTerminal, Say(Notice::Stopped)];
        play(vec![
            (Stopped, stopped.clone()),
            (Typed("help\n".into()), vec![Say(Notice::UnknownWord)]),
            (Typed("fg\n".into()), vec![GiveTerminal]),
            (Continued, vec![]),
            (Stopped, stopped.clone()),
            (Continued, vec![GiveTerminal]),
            (Stopped, stopped),
            (Typed("kill\n".into()), vec![SignalAgent(Signal::Terminate), WakeAfter(TERM_GRACE)]),
        ]);
    }

    #[test]
    fn politely_then_firmly() {
        let exit = Exit::Signal(9);
        play(vec![
            (Told(Order::End), vec![SignalAgent(Signal::Terminate), WakeAfter(TERM_GRACE)]),
            (Told(Order::HangUp), vec![]),
            (Woken, vec![SignalAgent(Signal::HangUp), WakeAfter(LAST_CALL_GRACE)]),
            (Woken, vec![SignalFamily(Signal::Kill), WakeAfter(SWEEP_GRACE)]),
            (Ended(exit), record(exit, Cause::Request)),
            (Left(0), vec![Leave(exit)]),
        ]);
    }

    #[test]
    fn a_terminal_that_goes_away() {
        let exit = Exit::Signal(15);
        play(vec![
            (Told(Order::HangUp), vec![SignalAgent(Signal::HangUp), WakeAfter(HANGUP_GRACE)]),
            (Woken, vec![SignalAgent(Signal::Terminate), WakeAfter(TERM_GRACE)]),
            (Ended(exit), record(exit, Cause::Hangup)),
            (Left(0), vec![Leave(exit)]),
        ]);
    }

    #[test]
    fn leftovers_are_swept() {
        let exit = Exit::Code(0);
        play(vec![
            (Ended(exit), record(exit, Cause::Itself)),
            (Left(2), vec![SignalFamily(Signal::Terminate), WakeAfter(SWEEP_GRACE)]),
            (Left(1), vec![]),
            (Woken, vec![SignalFamily(Signal::Kill), WakeAfter(SWEEP_GRACE)]),
            (Left(1), vec![]),
            (Left(0), vec![Leave(exit)]),
        ]);
    }

    #[test]
    fn a_second_order_hurries_but_does_not_rename_the_cause() {
        let exit = Exit::Signal(9);
        play(vec![
            (Told(Order::HangUp), vec![SignalAgent(Signal::HangUp), WakeAfter(HANGUP_GRACE)]),
            (Told(Order::Kill), vec![SignalFamily(Signal::Kill), WakeAfter(SWEEP_GRACE)]),
            (Ended(exit), record(exit, Cause::Hangup)),
        ]);
    }
}
