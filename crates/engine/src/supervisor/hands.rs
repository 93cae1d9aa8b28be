//! What the supervisor has in hand, on disk at every moment, so that the next one knows what this one died of.
//!
//! One small file that only the supervisor writes, in one call each time: a process that is killed leaves it whole.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{panic, thread};

use dogwatch_base::log::{Logged as _, LoggedIo as _, decided};
use dogwatch_core::set_aside::{Request, Work};
use dogwatch_store::read_limited;
use jiff::Timestamp;
use signal_hook::consts::SIGABRT;
use signal_hook::low_level::pipe;

use crate::{Context, Error};

/// More than a hundred requests of each sort have.
const MOST_BYTES: u64 = 256 * 1024;

/// Enough for all but the worst days.
const ROOM: usize = 16 * 1024;

/// A write takes microseconds.
const TRIES: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct Hands {
    held: Arc<Mutex<Held>>,
}

#[derive(Debug)]
struct Held {
    /// `None` if there is no room for one: what supervisors die of is not known then.
    file: Option<File>,
    /// How much of the file is text; blanks follow.
    length: usize,
    /// How much room it has: nothing is written beyond that on a full disk.
    room: usize,
    work: Work,
}

/// Something is in hand for as long as this lives.
#[derive(Debug)]
pub(super) struct OnIt {
    hands: Hands,
    request: Request,
}

impl Hands {
    /// Takes over from whoever served before; what that one died of may be set aside now.
    pub(super) fn take_over(context: &Context) -> Result<Self, Error> {
        let path = context.state.supervisor_work(&context.socket)?;
        let (crash, now) = (crash_note(&path), Timestamp::now());
        let crashed = has_crashed(&crash);
        let mut work = read(&path).logged("read what was in hand").unwrap_or_default();
        let new = work.after_death(crashed, now);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).logged("open a file");
        let mut held = Held::new(file, &path, work);
        held.write();
        note_crashes(&crash).logged("prepare to note a crash");
        for request in &new {
            decided(format_args!("set aside: {request}"));
        }
        Ok(Self { held: Arc::new(Mutex::new(held)) })
    }

    /// This is in hand until what is returned is dropped; `None` if it is set aside.
    pub(super) fn on(&self, request: Request) -> Option<OnIt> {
        let mut held = self.lock();
        if held.work.is_aside(&request) {
            return None;
        }
        held.work.begin(request.clone());
        held.write();
        drop(held);
        Some(OnIt { hands: self.clone(), request })
    }

    /// The supervisor ends in good order, whatever its threads still do.
    pub(super) fn put_down(&self) {
        let mut held = self.lock();
        held.work.put_down();
        held.write();
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OnIt {
    fn drop(&mut self) {
        // A step that panics is not survived, on whatever thread: in a release, the panic itself is the end of the process.
        if thread::panicking() {
            std::process::abort();
        }
        let mut held = self.hands.lock();
        held.work.end(&self.request);
        held.write();
    }
}

impl Held {
    fn new(file: Option<File>, path: &Path, work: Work) -> Self {
        let bytes = File::open(path).and_then(|file| read_limited(file, MOST_BYTES));
        let bytes = bytes.logged("read what was in hand").unwrap_or_default();
        let length =
            bytes.iter().rposition(|one| !one.is_ascii_whitespace()).map_or(0, |at| at + 1);
        let mut held = Self { file, length, room: bytes.len(), work };
        held.make_room(ROOM).logged("make room for what is in hand");
        held
    }

    fn make_room(&mut self, wanted: usize) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| self.room < wanted) else { return Ok(()) };
        let at = u64::try_from(self.room).unwrap_or(0);
        file.write_all_at(&vec![b' '; wanted - self.room], at)?;
        self.room = wanted;
        Ok(())
    }

    fn write(&mut self) {
        let Some(mut text) = serde_json::to_vec(&self.work).logged("write JSON") else { return };
        // A text that is cut off would lose what is set aside, so it is written only where there is room for all of it.
        if self.make_room(text.len()).logged("make room for what is in hand").is_none() {
            let short = serde_json::to_vec(&self.work.only_aside()).logged("write JSON");
            let Some(short) = short.filter(|short| short.len() <= self.room) else { return };
            text = short;
        }
        let length = text.len();
        // Blanks over the rest of what was there: to shorten the file would be a second call.
        if length < self.length {
            text.resize(self.length, b' ');
        }
        self.length = length;
        let Some(file) = &self.file else { return };
        file.write_all_at(&text, 0).logged("write what is in hand");
    }
}

/// What is set aside on this server.
pub(super) fn read_work(context: &Context) -> Result<Work, Error> {
    let path = context.state.supervisor_work(&context.socket)?;
    let mut tries = 1..TRIES;
    loop {
        match read(&path) {
            // The supervisor was writing just then.
            Err(error) if error.kind() == io::ErrorKind::InvalidData && tries.next().is_some() => {
                thread::yield_now();
            }
            read => return read.map_err(Error::io(format!("read {}", path.display()))),
        }
    }
}

fn read(path: &Path) -> io::Result<Work> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Work::default()),
        file => file?,
    };
    let text = read_limited(file, MOST_BYTES)?;
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Work::default());
    }
    serde_json::from_slice(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Begins with something else than a blank if the last supervisor crashed by its own fault.
fn crash_note(work: &Path) -> PathBuf {
    work.with_extension("crashed")
}

fn has_crashed(note: &Path) -> bool {
    let text = File::open(note).and_then(|file| read_limited(file, MOST_BYTES));
    let text = text.logged_unless_missing("read whether a supervisor crashed");
    text.is_some_and(|text| text.first().is_some_and(|one| *one != b' '))
}

/// The room for the note is taken now: there may be none when it is needed.
fn note_crashes(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let note = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
    note.write_all_at(b" ", 0)?;
    // A stack that overflows and memory that runs out end in it too. The handler writes one byte, at the file's beginning.
    pipe::register(SIGABRT, note.try_clone()?)?;
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        note.write_all_at(b"X", 0).logged("note a crash");
        before(info);
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use dogwatch_core::set_aside::Kind;

    use super::*;

    #[test]
    fn what_is_on_disk_is_whole_and_short_again() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("work");
        let file = File::create(&path).unwrap();
        let mut held = Held::new(Some(file), &path, Work::default());
        let one = Request::new(Kind::Message, &"long".repeat(100));
        held.work.begin(one.clone());
        held.write();
        assert_eq!(read(&path).unwrap(), held.work);
        held.work.end(&one);
        held.write();
        assert_eq!(read(&path).unwrap(), Work::default());
        assert_eq!(read(&tmp.path().join("none")).unwrap(), Work::default());
    }

    #[test]
    fn a_text_without_room_leaves_what_is_set_aside() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("work");
        let mut work = Work::default();
        let bad = Request::new(Kind::Message, "bad");
        for _ in 0..2 {
            work.begin(bad.clone());
            work.after_death(true, Timestamp::UNIX_EPOCH);
        }
        let file = File::create(&path).unwrap();
        let mut held = Held::new(Some(file), &path, work);
        held.write();
        // A disk that has no more: the file cannot grow.
        held.file = Some(File::open(&path).unwrap());
        held.work.begin(Request::new(Kind::Message, &"x".repeat(2 * ROOM)));
        held.write();
        assert!(read(&path).unwrap().is_aside(&bad));
        let next = Held::new(None, &path, Work::default());
        assert!(next.length < ROOM && next.room >= ROOM, "{next:?}");
    }

    #[test]
    fn a_note_is_read_once() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("work.crashed");
        assert!(!has_crashed(&path));
        for (text, crashed) in [("", false), (" ", false), ("X", true)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(has_crashed(&path), crashed, "{text:?}");
        }
    }
}
