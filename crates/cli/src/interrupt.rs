//! Ending on purpose: Ctrl-C, TERM and a closed terminal, for commands that run until then and have something to clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dogwatch_engine::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A flag that is set when the user wants to end; then `wake` is called, for who waits.
pub(crate) fn flag(wake: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>, Error> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::io("listen for Ctrl-C"))?;
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let listen = move || {
        for _ in signals.forever() {
            set.store(true, Ordering::Relaxed);
            wake();
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen);
    thread.map_err(Error::io("start a thread"))?;
    Ok(flag)
}
