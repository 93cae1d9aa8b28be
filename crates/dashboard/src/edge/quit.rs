//! Quitting and stopping: nothing that was begun is cut short without a word.

use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::process::{Signal, getpgrp, getpid, getsid, kill_process};

use super::Dashboard;
use super::terminal::Terminal;

/// How long quitting waits for what was begun.
const LONGEST: Duration = Duration::from_secs(30);
/// The same once the terminal is given back: for a look that is still being recorded.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// Whether the user wants to quit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Leaving {
    #[default]
    No,
    /// A command runs that would be stopped.
    Asked,
    /// As soon as what was begun has ended, and by then at the latest.
    Until(Instant),
}

impl Dashboard {
    /// Quits, or says what that would cut short; the second time it quits in any case.
    pub(super) fn quit(&mut self) {
        let commands = self.actions.commands.titles();
        if self.leaving != Leaving::No {
            self.is_over = true;
        } else if !commands.is_empty() {
            self.leaving = Leaving::Asked;
            let commands = commands.join(", ");
            self.state.say(format!("{commands} is running; q again stops it and quits"));
        } else if let Some(doing) = self.actions.busy.words() {
            self.leaving = Leaving::Until(Instant::now() + LONGEST);
            self.state.say(format!("quits after {doing}; q again quits at once"));
        } else {
            self.is_over = true;
        }
    }

    /// How long it may still wait to quit; it is over if there is nothing to wait for.
    pub(super) fn leave_if_done(&mut self) -> Option<Duration> {
        let Leaving::Until(until) = self.leaving else { return None };
        let left = until.saturating_duration_since(Instant::now());
        self.is_over |= left.is_zero() || self.actions.busy.words().is_none();
        Some(left)
    }

    /// The end: the terminal is free before the control connection is closed.
    pub(super) fn leave(&mut self) {
        Terminal::leave();
        self.actions.commands.cancel_all();
        drop(self.feed.take());
        if self.leaving == Leaving::No {
            self.actions.busy.wait(AFTERWARDS);
        }
    }

    /// Stops as a shell's job does; SIGCONT ends that, and is reported like any signal.
    pub(super) fn suspend(&mut self) {
        // In the process group of the session's leader no shell waits for us that could continue us.
        if getsid(None).is_ok_and(|session| session == getpgrp()) {
            self.state.complain("cannot suspend: no shell with job control started this dashboard");
            self.is_dirty = true;
            return;
        }
        Terminal::leave();
        kill_process(getpid(), Signal::STOP).logged("stop the dashboard");
    }
}
