use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use dogwatch_store::Session;
use serde_json::Value;

use crate::child;
use crate::error::Error;
use crate::world::World;

/// Where the supervisor is.
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) pid: u32,
}

impl Place {
    pub(super) fn of(world: &World) -> Result<Self, Error> {
        let shown = child::run(&mut world.dogwatch(["supervisor", "--json"]))?.success()?.text();
        let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
        let pid = shown["serving"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        match (shown["listens"].as_str(), pid) {
            (Some(path), Some(pid)) => Ok(Self { path: path.into(), pid }),
            _ => Err(Error::Wrong { what: "the supervisor", found: shown.to_string() }),
        }
    }
}

/// A program that listens to all changes.
pub(super) struct Program(BufReader<UnixStream>);

impl Program {
    /// One that follows, as `watch` does, or with all that a dashboard shows.
    pub(super) fn follow(place: &Place, rows: bool) -> Result<Self, Error> {
        Self::ask(place, &format!(r#"{{"id":1,"ask":"follow","rows":{rows}}}"#)).map(|(one, _)| one)
    }

    /// Asks something; the program and the first reply.
    pub(super) fn ask(place: &Place, request: &str) -> Result<(Self, Value), Error> {
        let connect = || {
            let mut stream = UnixStream::connect(&place.path)?;
            stream.set_read_timeout(Some(child::PATIENCE))?;
            stream
                .write_all(format!("{{\"hello\":{{\"protocol\":1}}}}\n{request}\n").as_bytes())?;
            let mut reader = BufReader::new(stream);
            // The greeting.
            reader.read_line(&mut String::new())?;
            let mut reply = String::new();
            reader.read_line(&mut reply)?;
            Ok((Self(reader), serde_json::from_str(&reply)?))
        };
        connect().map_err(Error::io("connect to the supervisor"))
    }

    /// Writes as much as is taken within a moment.
    pub(super) fn write_until_full(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.0.get_mut();
        stream.set_write_timeout(Some(Duration::from_millis(200)))?;
        match stream.write_all(bytes) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn hears(&mut self, session: &Session, state: &str) -> Result<(), Error> {
        loop {
            let mut line = String::new();
            let length = self.0.read_line(&mut line).map_err(Error::io("listen"))?;
            if length == 0 {
                return Err(Error::Wrong { what: "the supervisor", found: "it left".to_owned() });
            }
            let told: Value = serde_json::from_str(&line).unwrap_or_default();
            let change = &told["change"];
            if change["id"] == session.id.as_str() && change["state"] == state {
                return Ok(());
            }
        }
    }
}
