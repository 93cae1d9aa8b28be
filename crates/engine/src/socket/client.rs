//! A program's end of the supervisor's socket: one question and its answer. Nothing is started for it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use dogwatch_base::log::decided;
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::stream::{Ask, Greeting, Guest, Introduction, Request, VERSIONS};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::guest::line;
use super::{Place, new_socket, view};
use crate::Context;

/// A supervisor that does not answer within this time is left aside.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the supervisor answers; nothing if there is none, or it does not answer soon, or refuses: then the caller looks by itself.
pub fn ask<T: DeserializeOwned>(context: &Context, ask: Ask) -> Option<T> {
    ask_within(context, ask, PATIENCE)
}

/// The same with other patience.
pub fn ask_within<T: DeserializeOwned>(
    context: &Context,
    ask: Ask,
    patience: Duration,
) -> Option<T> {
    let reason = match exchange(context, ask, Instant::now() + patience) {
        Ok(Answered { answer: Some(answer), .. }) => return Some(answer),
        Ok(Answered { error, .. }) => {
            error.map_or_else(|| "it said something else".to_owned(), |error| error.message)
        }
        // There is none.
        Err(error) if is_absent(&error) => return None,
        Err(error) => error.to_string(),
    };
    decided(format_args!("the supervisor is not asked: {reason}"));
    None
}

/// A reply to a question. [`dogwatch_protocol::stream::Reply`] is the same; this one is read in one go, which matters for long ones.
#[derive(Debug, Deserialize)]
struct Answered<T> {
    answer: Option<T>,
    error: Option<ErrorDetail>,
}

/// Whether it only means that no supervisor is there.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn exchange<T: DeserializeOwned>(
    context: &Context,
    ask: Ask,
    deadline: Instant,
) -> io::Result<Answered<T>> {
    let mut stream = connect(context)?;
    stream.set_write_timeout(Some(left(deadline)?))?;
    let hello = Guest { protocol: VERSIONS.to, view: Some(view(context)) };
    let mut lines = line(&Introduction { hello });
    lines.extend(line(&Request { id: 1, ask }));
    stream.write_all(&lines)?;
    let mut reader = BufReader::with_capacity(256 * 1024, stream);
    let greeting: Greeting = serde_json::from_slice(&read_line(&mut reader, deadline)?)?;
    if greeting.hello.server != context.socket {
        return Err(io::Error::other("it serves another tmux server"));
    }
    Ok(serde_json::from_slice(&read_line(&mut reader, deadline)?)?)
}

/// Connects, says who asks and asks; what is answered is read by the caller, who waits for nothing.
pub(crate) fn introduce(
    context: &Context,
    hello: &Introduction,
    request: &Request,
) -> io::Result<UnixStream> {
    let mut stream = connect(context)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = line(hello);
    lines.extend(line(request));
    stream.write_all(&lines)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Connects, without waiting for anybody.
fn connect(context: &Context) -> io::Result<UnixStream> {
    let socket = new_socket()?;
    let (address, _folder) = Place::of(context).address()?;
    rustix::net::connect(&socket, &address)?;
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(UnixStream::from(socket))
}

fn read_line(reader: &mut BufReader<UnixStream>, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        reader.get_ref().set_read_timeout(Some(left(deadline)?))?;
        let piece = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = memchr::memchr(b'\n', piece) {
            line.extend_from_slice(&piece[..end]);
            reader.consume(end + 1);
            return Ok(line);
        }
        let count = piece.len();
        line.extend_from_slice(piece);
        reader.consume(count);
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
