//! Signals: the terminal is given back however the process is asked to end.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_engine::Error;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use super::inbox::Inbox;
use super::terminal;

/// How long the drawing thread may take to end; a terminal that takes no output blocks it.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn ends(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP)
}

/// Reports signals until what it returns is dropped.
pub(super) fn listen(inbox: &Inbox) -> Result<Sender<()>, Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT])
        .map_err(Error::io("listen for signals"))?;
    let (alive, ended) = channel::<()>();
    let inbox = inbox.clone();
    let run = move || {
        for signal in signals.forever() {
            inbox.post(|pending| pending.signals.push(signal));
            if ends(signal) && ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // On a thread: a terminal that takes nothing at all may hold it up, too.
                let (restored, is_restored) = channel();
                thread::spawn(move || {
                    terminal::restore_by_force();
                    restored.send(())
                });
                is_restored.recv_timeout(PATIENCE).logged("restore the terminal");
                std::process::exit(128 + signal);
            }
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(run);
    thread.map_err(Error::io("start a thread"))?;
    Ok(alive)
}
