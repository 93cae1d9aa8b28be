use std::io::{self, Read};

use dogwatch_core::status::payload::digest;
use dogwatch_store::{Signal, StateDir, Store, StoreError, read_up_to};
use jiff::Timestamp;

/// Longest payload read. A hook that sends more is cut off, not waited for.
const MAX_PAYLOAD: u64 = 4 * 1024 * 1024;

/// Reads a hook's payload.
pub fn read_payload(mut input: impl Read) -> String {
    let bytes = read_up_to(&mut input, MAX_PAYLOAD).unwrap_or_default();
    // To its end, so that the agent does not meet a closed pipe.
    let _ = io::copy(&mut input, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes down what an agent told through a hook.
pub fn keep_signal(
    state: &StateDir,
    session: &str,
    agent: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (event, payload) = digest(payload);
    let signal = Signal {
        session: session.to_owned(),
        at: now,
        agent: agent.to_owned(),
        event,
        payload,
        spooled: false,
    };
    signal.keep(state, &uuid::Uuid::now_v7().to_string())
}

/// Writes down that the agent refreshed its statusline: its event loop is alive.
pub fn keep_heartbeat(
    state: &StateDir,
    session: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    // A heartbeat that finds the store busy is dropped: the next comes within a second.
    let patience = std::time::Duration::from_millis(20);
    let (_, payload) = digest(payload);
    Store::open_with_patience(state, patience)?.heartbeat(session, now, &payload)
}
