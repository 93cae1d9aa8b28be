//! Reads what transcripts have more than the cache.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::usage::{Batch, OpencodeMessage, State, add_opencode, read};
use dogwatch_store::{KnownFile, OpencodeDatabase, ReadFile, UsageCache, open_regular};

use super::sources::{self, Source};
use crate::observe::files;
use crate::{Context, Error};

/// How much is read at once.
const CHUNK: usize = 4 * 1024 * 1024;
/// A longer line is no answer, and is skipped.
const LONGEST_LINE: usize = 256 * 1024 * 1024;
const LONGEST_DOCUMENT: u64 = 256 * 1024 * 1024;
/// How many bytes before the place up to which a file was read tell whether it was rewritten.
const TAIL: usize = 64;

/// What is to be read of a transcript.
#[derive(Debug)]
pub(super) struct Unread {
    source: Source,
    /// From here, with what was known.
    known: Option<KnownFile>,
}

impl Unread {
    /// What a transcript has more than was read; nothing if it has not changed.
    fn of(source: Source, known: Option<KnownFile>) -> Option<Self> {
        let is_same = |known: &KnownFile| {
            known.size == source.size
                && known.modified == source.modified
                && known.inode == source.inode
        };
        if known.as_ref().is_some_and(is_same) {
            return None;
        }
        let goes_on = |known: &KnownFile| {
            known.inode == source.inode
                && !source.format.is_document()
                // Written to, and no longer than before: not only added to.
                && known.size != source.size
                && known.offset <= source.size
                && tail_before(&source.path, known.offset) == Some(known.tail)
        };
        let known = known.filter(goes_on);
        Some(Self { source, known })
    }

    /// How many bytes that are.
    pub(super) fn length(&self) -> u64 {
        self.source.size - self.known.as_ref().map_or(0, |known| known.offset.min(self.source.size))
    }

    fn read(&self, buffer: &mut Vec<u8>) -> Option<ReadFile> {
        let source = &self.source;
        let mut batch = Batch::default();
        let mut state: State = match &self.known {
            Some(known) => {
                serde_json::from_str(&known.state).logged("read JSON").unwrap_or_default()
            }
            None => State::default(),
        };
        if let Some(cwd) = source.cwd.as_ref().filter(|_| state.cwd.is_empty()) {
            state.cwd.clone_from(cwd);
        }
        let from = self.known.as_ref().map_or(0, |known| known.offset);
        let (offset, tail) = if source.format.is_document() {
            let text = files::read_regular(&source.path, LONGEST_DOCUMENT)?;
            read(source.format, &text, &mut state, &mut batch);
            (source.size, 0)
        } else {
            let mut file = open_regular(&source.path).logged_unless_missing("open a transcript")?;
            file.seek(SeekFrom::Start(from)).logged("read a transcript")?;
            let took = |lines: &[u8]| read(source.format, lines, &mut state, &mut batch);
            let read = lines(&mut file, buffer, took).logged("read a transcript")?;
            let offset = from + read;
            (offset, tail_before(&source.path, offset)?)
        };
        let file = KnownFile {
            size: source.size,
            modified: source.modified,
            inode: source.inode,
            offset,
            tail,
            state: serde_json::to_string(&state).logged("write JSON").unwrap_or_default(),
        };
        let path = source.path.to_string_lossy().into_owned();
        Some(ReadFile { path, agent: source.agent, file, batch })
    }
}

/// Hands on all whole lines, several at once; says how long they are together. A line that is being written is left for the next
/// time.
fn lines(file: &mut File, buffer: &mut Vec<u8>, mut took: impl FnMut(&[u8])) -> io::Result<u64> {
    if buffer.len() < CHUNK {
        buffer.resize(CHUNK, 0);
    }
    let (mut kept, mut whole, mut skipped) = (0, 0_u64, 0_u64);
    loop {
        if kept == buffer.len() {
            if buffer.len() >= LONGEST_LINE {
                skipped += kept as u64;
                kept = 0;
            } else {
                buffer.resize(buffer.len() * 2, 0);
            }
        }
        let count = file.read(&mut buffer[kept..])?;
        if count == 0 {
            return Ok(whole);
        }
        let end = kept + count;
        let Some(last) = memchr::memrchr(b'\n', &buffer[kept..end]) else {
            kept = end;
            continue;
        };
        let last = kept + last + 1;
        if skipped == 0 {
            took(&buffer[..last]);
        } else {
            // The rest of a line that is too long, then lines as usual.
            let first = memchr::memchr(b'\n', &buffer[..last]).map_or(last, |at| at + 1);
            took(&buffer[first..last]);
        }
        whole += skipped + last as u64;
        skipped = 0;
        buffer.copy_within(last..end, 0);
        kept = end - last;
    }
}

/// A hash of the bytes before a place in a file.
fn tail_before(path: &Path, place: u64) -> Option<i64> {
    let from = place.saturating_sub(TAIL as u64);
    let bytes = if place == 0 { Vec::new() } else { files::read_range(path, from, place - from)? };
    (bytes.len() as u64 == place - from).then(|| dogwatch_core::usage::hash(&bytes))
}

/// Reads what all transcripts have more than the cache, and adds it.
pub fn read_all(context: &Context, cache: &mut UsageCache) -> Result<(), Error> {
    let mut known = cache.files()?;
    let unread = sources::all(context).into_iter().filter_map(|source| {
        let before = source.path.to_str().and_then(|path| known.remove(path));
        Unread::of(source, before)
    });
    let unread: Vec<Unread> = unread.collect();
    let mut read = read_files(&unread);
    for path in sources::opencode_databases(context) {
        let before = path.to_str().and_then(|path| known.remove(path));
        read.extend(read_opencode(&path, before));
    }
    cache.add(&read)?;
    Ok(())
}

/// Reads files on all cores, and returns them in their order.
pub(super) fn read_files(unread: &[Unread]) -> Vec<ReadFile> {
    let bytes: u64 = unread.iter().map(Unread::length).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(unread.len());
    if cores < 2 || bytes < CHUNK as u64 {
        let mut buffer = Vec::new();
        return unread.iter().filter_map(|one| one.read(&mut buffer)).collect();
    }
    let next = AtomicUsize::new(0);
    let all: Mutex<Vec<(usize, ReadFile)>> = Mutex::new(Vec::with_capacity(unread.len()));
    let work = || {
        let mut buffer = Vec::new();
        let mut read = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = unread.get(at) else { break };
            read.extend(one.read(&mut buffer).map(|file| (at, file)));
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
    };
    std::thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(work);
        }
        work();
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, file)| file).collect()
}

/// Of opencode's database the answers that were changed since the last time. Its own files tell whether there are any.
fn read_opencode(path: &Path, before: Option<KnownFile>) -> Option<ReadFile> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let stamp = |path: &Path| {
        let meta = std::fs::metadata(path).logged_unless_missing("look at a file")?;
        Some(Source::new(path.to_owned(), "opencode", dogwatch_core::usage::Format::Claude, &meta))
    };
    let (database, log) = (stamp(path)?, stamp(Path::new(&log)));
    let modified =
        log.as_ref().map_or(database.modified, |log| log.modified.max(database.modified));
    let size = database.size + log.map_or(0, |log| log.size);
    let is_same = |known: &KnownFile| known.modified == modified && known.size == size;
    if before.as_ref().is_some_and(is_same) {
        return None;
    }
    // The last change that was seen is seen again, in case that another came in the same millisecond.
    let since = before.filter(|known| known.inode == database.inode).map_or(0, |known| known.tail);
    let opened = OpencodeDatabase::open(path).logged("open opencode's database")?;
    let (last, rows) = opened.answers_since(since).logged("read opencode's database")?;
    let mut batch = Batch::default();
    for row in &rows {
        let message = OpencodeMessage {
            id: &row.id,
            conversation: &row.conversation,
            is_subagent: row.is_subagent,
            cwd: &row.cwd,
            data: &row.data,
        };
        add_opencode(&message, &mut batch);
    }
    let (inode, offset) = (database.inode, 0);
    let file = KnownFile { size, modified, inode, offset, tail: last, state: String::new() };
    Some(ReadFile { path: path.to_string_lossy().into_owned(), agent: "opencode", file, batch })
}

/// What of these files was not read yet.
pub(super) fn unread(cache: &UsageCache, sources: Vec<Source>) -> Result<Vec<Unread>, Error> {
    let mut unread = Vec::new();
    for source in sources {
        let Some(path) = source.path.to_str() else { continue };
        let before = cache.file(path)?;
        unread.extend(Unread::of(source, before));
    }
    Ok(unread)
}
