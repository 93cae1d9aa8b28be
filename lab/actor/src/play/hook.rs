//! Hooks: commands that an agent runs to report what it is doing.

use std::io::{self, Write};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::{Map, Value};

/// Runs a hook with its payload on standard input, as long as it takes.
pub(super) fn run(command: &[String], payload: &Map<String, Value>) -> io::Result<ExitStatus> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("the hook command is empty"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let payload = Value::Object(payload.clone()).to_string();
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| {
        stdin.write_all(payload.as_bytes()).and_then(|()| stdin.write_all(b"\n"))
    });
    let status = child.wait()?;
    match written {
        // A hook may well end without reading its payload.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(status),
    }
}

/// The payload of one event: what all events share, then the event's own fields.
pub(super) fn payload(
    event: &str,
    shared: &Map<String, Value>,
    own: &Map<String, Value>,
) -> Map<String, Value> {
    let mut payload = shared.clone();
    payload.insert("hook_event_name".to_owned(), event.into());
    payload.extend(own.clone());
    payload
}
