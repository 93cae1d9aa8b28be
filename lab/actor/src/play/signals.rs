//! Signals: ones the actor does not heed, and ones it sends to itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::scenario::{FatalSignal, IgnorableSignal, StopSignal};

/// Catches a signal and does nothing, for the rest of the process's life.
///
/// A handler rather than `SIG_IGN`, so programs that the actor starts do not inherit it.
pub(super) fn ignore(signal: IgnorableSignal) -> io::Result<()> {
    let number = match signal {
        IgnorableSignal::Hup => SIGHUP,
        IgnorableSignal::Int => SIGINT,
        IgnorableSignal::Term => SIGTERM,
    };
    flag::register(number, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// Stops this process; returns whether it was stopped and then continued.
pub(super) fn suspend(signal: StopSignal) -> io::Result<bool> {
    let continued = Arc::new(AtomicBool::new(false));
    let handler = flag::register(SIGCONT, Arc::clone(&continued))?;
    let sent = kill_process(
        getpid(),
        match signal {
            StopSignal::Tstp => Signal::TSTP,
            StopSignal::Stop => Signal::STOP,
        },
    );
    low_level::unregister(handler);
    sent?;
    Ok(continued.load(Ordering::Relaxed))
}

/// Ends this process by a signal. Returns only if the process ignores it.
pub(super) fn crash(signal: FatalSignal) -> io::Result<()> {
    let signal = match signal {
        FatalSignal::Kill => Signal::KILL,
        FatalSignal::Segv => Signal::SEGV,
        FatalSignal::Term => Signal::TERM,
        FatalSignal::Abrt => Signal::ABORT,
    };
    kill_process(getpid(), signal)?;
    // The standard library looks at the first SIGSEGV, finds no stack overflow, and restores the
    // default action, so only a second one is deadly.
    Ok(kill_process(getpid(), signal)?)
}
