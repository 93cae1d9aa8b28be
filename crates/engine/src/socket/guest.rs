//! One program at the socket: what it wrote and was not read yet, and what it is to read.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::stream::{Introduction, Outcome, Reply, Request, VERSIONS};
use rustix::event::PollFlags;

use super::lines::{LONGEST, Lines};

/// How long a program may take to introduce itself.
const SILENT: Duration = Duration::from_secs(10);
/// How much a program may leave unread.
pub(super) const MOST_UNREAD: usize = 16 * 1024 * 1024;
/// How many requests of one program are worked on at a time; further ones wait unread.
const MOST_OPEN: usize = 16;
/// How much is read at once, so that who writes without end does not keep the others waiting.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Guest {
    stream: UnixStream,
    process: Option<i32>,
    came: Instant,
    is_introduced: bool,
    lines: Lines,
    out: Vec<u8>,
    written: usize,
    open: usize,
    /// It writes nothing more.
    is_done: bool,
    /// It is to go once it has read what it was sent.
    is_leaving: bool,
}

/// The program is to be forgotten.
#[derive(Debug)]
pub(super) struct Gone;

impl Guest {
    pub(super) fn new(stream: UnixStream, process: Option<i32>, greeting: &[u8]) -> Self {
        Self {
            stream,
            process,
            came: Instant::now(),
            is_introduced: false,
            lines: Lines::default(),
            out: greeting.to_vec(),
            written: 0,
            open: 0,
            is_done: false,
            is_leaving: false,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The process that connected.
    pub(super) fn process(&self) -> Option<i32> {
        self.process
    }

    pub(super) fn is_introduced(&self) -> bool {
        self.is_introduced
    }

    /// Whether it writes nothing more.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) fn wants(&self) -> PollFlags {
        let mut wanted = PollFlags::empty();
        if !self.is_done && self.takes_requests() {
            wanted |= PollFlags::IN;
        }
        if self.written < self.out.len() {
            wanted |= PollFlags::OUT;
        }
        wanted
    }

    /// When it will have been silent for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.is_introduced).then(|| self.came + SILENT)
    }

    /// Reads what it wrote, and returns its requests.
    pub(super) fn read(&mut self, view: &str) -> Result<Vec<Request>, Gone> {
        let mut piece = vec![0; PIECE];
        match self.stream.read(&mut piece) {
            Ok(0) => self.is_done = true,
            Ok(count) => self.lines.push(&piece[..count]),
            Err(error) if is_passing(&error) => {}
            Err(_) => return Err(Gone),
        }
        let found = self.requests(view);
        self.leaves_now()?;
        Ok(found)
    }

    /// The requests in what was read, as many as may be worked on.
    pub(super) fn requests(&mut self, view: &str) -> Vec<Request> {
        let mut found = Vec::new();
        while self.takes_requests() {
            match self.lines.next() {
                Ok(None) => break,
                Err(_) => {
                    let message = format!("a line has more than {LONGEST} bytes");
                    self.refuse(None, "line_too_long", message);
                }
                Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Some(line)) if self.is_introduced => match serde_json::from_slice(&line) {
                    Ok(request) => {
                        self.open += 1;
                        found.push(request);
                    }
                    Err(error) => {
                        let message = format!("this line is no request: {error}");
                        self.refuse(id_in(&line), "bad_request", message);
                    }
                },
                Ok(Some(line)) => self.introduce(&line, view),
            }
        }
        found
    }

    /// Who does not read its answers gets no more of them: to make them takes time that others wait for.
    fn takes_requests(&self) -> bool {
        self.open < MOST_OPEN && !self.is_leaving && self.has_read()
    }

    fn has_read(&self) -> bool {
        self.written == self.out.len()
    }

    fn introduce(&mut self, line: &[u8], view: &str) {
        let Ok(Introduction { hello }) = serde_json::from_slice(line) else {
            let message = r#"the first line must be {"hello":{"protocol":1}}"#;
            return self.refuse(None, "bad_request", message.to_owned());
        };
        if !VERSIONS.has(hello.protocol) {
            let (from, to) = (VERSIONS.from, VERSIONS.to);
            let given = hello.protocol;
            let message =
                format!("version {given} of the protocol is not spoken; from {from} to {to} are");
            return self.refuse(None, "unknown_version", message);
        }
        if hello.view.is_some_and(|other| other != view) {
            let message =
                "this supervisor was started with other folders, or is of another version";
            return self.refuse(None, "other_view", message.to_owned());
        }
        self.is_introduced = true;
    }

    fn refuse(&mut self, id: Option<u64>, code: &str, message: String) {
        let error = ErrorDetail { code: code.to_owned(), message, hint: None };
        self.out.extend(line(&Reply::<()> { id, is: Outcome::Error(error) }));
        self.is_leaving = true;
    }

    /// Adds what it is to read.
    pub(super) fn push(&mut self, bytes: &[u8], is_last: bool) -> Result<(), Gone> {
        if is_last {
            self.open = self.open.saturating_sub(1);
        }
        if self.out.len() - self.written + bytes.len() > MOST_UNREAD {
            return Err(Gone);
        }
        self.out.extend_from_slice(bytes);
        self.write()
    }

    /// Writes as much as it takes.
    pub(super) fn write(&mut self) -> Result<(), Gone> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(Gone),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => {
                    Err::<(), _>(error).logged_unless_missing("write to a program");
                    return Err(Gone);
                }
            }
        }
        self.out.clear();
        self.written = 0;
        self.leaves_now()
    }

    fn leaves_now(&self) -> Result<(), Gone> {
        let leaves = self.is_leaving || (self.is_done && self.open == 0 && !self.lines.has_next());
        if leaves && self.has_read() { Err(Gone) } else { Ok(()) }
    }
}

/// A line of what is printed as JSON.
pub(crate) fn line(value: &impl serde::Serialize) -> Vec<u8> {
    // Types of the protocol have no keys but texts.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The number of a request that is not understood.
fn id_in(line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        id: u64,
    }
    serde_json::from_slice(line).ok().map(|Numbered { id }| id)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_read_is_not_answered_on_and_on() {
        let (mut program, stream) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut guest = Guest::new(stream, None, b"");
        let hello = "{\"hello\":{\"protocol\":1}}\n";
        let ask = "{\"id\":1,\"ask\":\"ls\"}\n".repeat(100);
        program.write_all(format!("{hello}{ask}").as_bytes()).unwrap();
        let first = guest.read("").unwrap().len();
        assert_eq!(first, MOST_OPEN);
        // More than the kernel takes.
        let answer = vec![b'x'; 2 * 1024 * 1024];
        for _ in 0..first {
            guest.push(&answer[..answer.len() / first], true).unwrap();
        }
        assert_eq!(guest.requests("").len(), 0, "its answers are unread");
        assert_eq!(guest.wants(), PollFlags::OUT);
        let mut unread = answer.len();
        let mut piece = vec![0; 64 * 1024];
        while unread > 0 {
            unread -= program.read(&mut piece).unwrap();
            guest.write().unwrap();
        }
        assert_eq!(guest.requests("").len(), MOST_OPEN, "it has read them");
    }
}
