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

use crate::{Context, Error};

/// More than a hundred requests of each sort have.
const MOST_BYTES: u64 = 256 * 1024;

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
    length: usize,
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
        let crashed = crash.exists();
        let mut work = read(&path).logged("read what was in hand").unwrap_or_default();
        let new = work.after_death(crashed, now);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).logged("open a file");
        let about = file.as_ref().and_then(|file| file.metadata().logged("look at a file"));
        let length = about.and_then(|about| usize::try_from(about.len()).ok()).unwrap_or(0);
        let mut held = Held { file, length, work };
        held.write();
        if crashed {
            std::fs::remove_file(&crash).logged_unless_missing("remove a file");
        }
        note_crashes(crash);
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
        // A step that panics is not survived.
        if thread::panicking() {
            return;
        }
        let mut held = self.hands.lock();
        held.work.end(&self.request);
        held.write();
    }
}

impl Held {
    fn write(&mut self) {
        let Some(file) = &self.file else { return };
        let Some(mut text) = serde_json::to_vec(&self.work).logged("write JSON") else { return };
        let length = text.len();
        // Blanks over the rest of what was there: to shorten the file would be a second call.
        if length < self.length {
            text.resize(self.length, b' ');
        }
        self.length = text.len();
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

/// Is there if the last supervisor crashed by its own fault.
fn crash_note(work: &Path) -> PathBuf {
    work.with_extension("crashed")
}

fn note_crashes(path: PathBuf) {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        File::create(&path).logged("note a crash");
        before(info);
    }));
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
        let mut held = Held { file: Some(file), length: 0, work: Work::default() };
        let one = Request::new(Kind::Message, &"long".repeat(100));
        held.work.begin(one.clone());
        held.write();
        assert_eq!(read(&path).unwrap(), held.work);
        held.work.end(&one);
        held.write();
        assert_eq!(read(&path).unwrap(), Work::default());
        assert_eq!(read(&tmp.path().join("none")).unwrap(), Work::default());
    }
}
