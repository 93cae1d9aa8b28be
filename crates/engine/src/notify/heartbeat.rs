//! Calls an address at intervals while a watcher runs, so that an external monitor notices when it does not.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::config::Heartbeat;
use dogwatch_core::web_address;

use super::{http, secret};
use crate::{Context, Error, config};

const LIMIT: Duration = Duration::from_secs(10);

/// Calls until it is dropped.
#[derive(Debug)]
pub struct Beating {
    /// The thread ends when this is gone.
    _stop: Sender<()>,
}

/// Starts to call the address that is configured, if any. `trouble` is called when calls begin to fail and, with `None`, when they
/// work again.
pub fn start(
    context: &Context,
    trouble: impl Fn(Option<&str>) + Send + 'static,
) -> Result<Option<Beating>, Error> {
    let Some(beat) = config::read(context)?.heartbeat() else { return Ok(None) };
    let folder = context.config.as_deref().and_then(|file| Some(file.parent()?.to_owned()));
    let (stop, stopped) = mpsc::channel::<()>();
    let call = move || {
        let mut failing = false;
        loop {
            let result = call(&beat, folder.as_ref());
            if result.is_err() != failing {
                failing = result.is_err();
                trouble(result.as_ref().err().map(String::as_str));
            }
            result.logged("call the heartbeat address");
            if stopped.recv_timeout(beat.every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("heartbeat".to_owned()).spawn(call);
    thread.map_err(Error::io("start a thread"))?;
    Ok(Some(Beating { _stop: stop }))
}

/// One call, for `doctor` too.
pub fn call(beat: &Heartbeat, folder: Option<&PathBuf>) -> Result<(), String> {
    let url = secret::read(&beat.url, folder.map(PathBuf::as_path))?;
    let address = web_address::parse(&url)?;
    let status = http::get(&address, LIMIT.min(beat.every.max(Duration::from_secs(2))))?;
    if (200..300).contains(&status) { Ok(()) } else { Err(format!("the server answered {status}")) }
}
