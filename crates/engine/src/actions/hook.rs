use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use dogwatch_base::log::decided;
use dogwatch_core::status::hooks;
use dogwatch_core::status::payload::digest;
use dogwatch_store::{Signal, StateDir, Store, StoreError};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Longest payload kept. What comes after it is read and dropped, so that the agent does not meet a closed pipe.
const MAX_PAYLOAD: usize = 4 * 1024 * 1024;
/// How long a payload may take. An agent, or what it started, may keep its end of the pipe open for ever.
const PATIENCE: Duration = Duration::from_millis(900);
/// A payload that is whole, and followed by nothing for this long, is not waited for to end.
const QUIET: Duration = Duration::from_millis(30);

/// What an agent handed to a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payload {
    pub text: String,
    /// Its end was not seen: more might have come.
    pub is_cut: bool,
}

/// Reads a hook's payload: to its end, or as much of it as comes within a second.
pub fn read_payload(input: impl AsFd) -> Payload {
    let deadline = Instant::now() + PATIENCE;
    let mut kept = Vec::new();
    let mut part = vec![0; 64 * 1024];
    let is_cut = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break true;
        }
        let wait = if kept.is_empty() { left } else { left.min(QUIET) };
        let mut fds = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(wait).ok().as_ref()) {
            Ok(0) if is_whole(&kept) => break false,
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => break false,
        }
        match rustix::io::read(&input, &mut part) {
            Ok(length @ 1..) => {
                let room = MAX_PAYLOAD - kept.len();
                kept.extend_from_slice(&part[..length.min(room)]);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(_) | Err(_) => break false,
        }
    };
    Payload { text: String::from_utf8_lossy(&kept).into_owned(), is_cut }
}

fn is_whole(payload: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_ok()
}

/// What is known of an event when it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has arrived; what becomes of it is still to be decided.
    Arrived,
    /// It is what the agent said.
    Final,
    /// A request for permission that a rule has answered.
    Answered,
    /// A prompt that a budget has held.
    Held,
}

/// Writes down what an agent told through a hook.
pub fn keep_signal(
    state: &StateDir,
    session: &str,
    agent: &str,
    payload: &str,
    stage: Stage,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (event, payload) = digest(payload);
    let event = match stage {
        Stage::Arrived => hooks::arrived(&event),
        Stage::Final => event,
        Stage::Answered => hooks::PERMISSION_ANSWERED.to_owned(),
        Stage::Held => hooks::PROMPT_HELD.to_owned(),
    };
    decided(format_args!("hook of {session}: {event} is stored"));
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
    let patience = Duration::from_millis(20);
    let (_, payload) = digest(payload);
    Store::open_with_patience(state, patience)?.heartbeat(session, now, &payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is read of these writes, the pipe being closed after them or not, and how long that takes.
    fn read(writes: &[&[u8]], then_close: bool) -> (Payload, Duration) {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            let begun = Instant::now();
            let reading = scope.spawn(move || (read_payload(&reader), begun.elapsed()));
            for bytes in writes {
                // The reader may have had enough.
                let _ = writer.write_all(bytes);
            }
            let mut open = Some(writer);
            if then_close {
                open = None;
            }
            let read = reading.join().unwrap();
            drop(open);
            read
        })
    }

    #[test]
    fn to_its_end_or_as_much_as_comes_in_time() {
        let payload = |text: &str, is_cut| Payload { text: text.to_owned(), is_cut };
        assert_eq!(read(&[b"{\"a\":", b"1}"], true).0, payload(r#"{"a":1}"#, false));
        assert_eq!(read(&[], true).0, payload("", false));
        assert_eq!(read(&[b"half {"], false).0, payload("half {", true), "what came is kept");
        assert_eq!(read(&[b"{\"a\":1}\n"], false).0, payload("{\"a\":1}\n", false));
        assert_eq!(read(&[], false).0, payload("", true));
    }

    #[test]
    fn no_more_than_is_kept() {
        let long = vec![b'x'; MAX_PAYLOAD + 300_000];
        assert_eq!(read(&[&long], true).0.text.len(), MAX_PAYLOAD);
    }
}
