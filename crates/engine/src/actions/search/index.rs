//! Adds what is new to the index: transcripts from where they were left, and sessions that changed.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::search::{self, Said, pieces};
use dogwatch_core::topic::Topic;
use dogwatch_core::transcript::Speaker;
use dogwatch_store::{Addition, Doc, SearchIndex, SearchSource, lock_file};
use jiff::Timestamp;

use super::sources::{Kind, Piece};
use crate::observe::files;
use crate::{Context, Error};

/// How much of a transcript is read and added at a time: what may be lost if the process is killed, and the most memory that is taken.
const CHUNK: u64 = 4 * 1024 * 1024;
/// How much before the place that was read to identifies a transcript.
const PRINTED: u64 = 64;

/// How far the index has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sources that were to be read, and how many of them were.
    pub sources: usize,
    pub done: usize,
    /// The same in bytes of transcripts.
    pub bytes: u64,
    pub bytes_done: u64,
    /// Another process is adding to the index.
    pub is_busy: bool,
    pub took: Duration,
}

impl Progress {
    pub fn left(&self) -> usize {
        self.sources.saturating_sub(self.done)
    }

    pub fn bytes_left(&self) -> u64 {
        self.bytes.saturating_sub(self.bytes_done)
    }
}

/// The right to add to the index; `None` while another process has it.
pub(super) fn lock(context: &Context) -> Result<Option<File>, Error> {
    let path = SearchIndex::lock_path(&context.state);
    match lock_file::try_lock(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(Error::io(format!("lock {}", path.display()))(error)),
    }
}

/// Adds to the index.
pub(super) struct Indexer<'a> {
    pub(super) index: &'a mut SearchIndex,
    pub(super) until: Option<Instant>,
    pub(super) mask: fn(&str) -> String,
}

impl Indexer<'_> {
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Adds these, as far as there is time.
    pub(super) fn run(
        &mut self,
        work: &[(Piece, Option<SearchSource>)],
        told: &mut dyn FnMut(&Progress),
    ) -> Result<Progress, Error> {
        let begun = Instant::now();
        let bytes = work.iter().map(|(piece, known)| piece.unread(known.as_ref())).sum();
        let mut progress = Progress { sources: work.len(), bytes, ..Progress::default() };
        for (piece, known) in work {
            if self.is_late() {
                break;
            }
            let is_whole = match &piece.kind {
                Kind::Transcript(_) => self.transcript(piece, known.as_ref(), &mut |read| {
                    progress.bytes_done += read;
                    progress.took = begun.elapsed();
                    told(&progress);
                })?,
                Kind::Whole(texts) => self.whole(piece, &texts())?,
            };
            progress.done += usize::from(is_whole);
        }
        progress.took = begun.elapsed();
        Ok(progress)
    }

    /// Reads a transcript on from where it was left; `false` if there was no time for all of it.
    fn transcript(
        &mut self,
        piece: &Piece,
        known: Option<&SearchSource>,
        read: &mut dyn FnMut(u64),
    ) -> Result<bool, Error> {
        let Kind::Transcript(dialect) = piece.kind else { return Ok(true) };
        let path = Path::new(&piece.path);
        let known = known.filter(|known| is_same(path, known));
        let mut from = known.map_or(0, |known| known.read_to);
        let mut is_first = known.is_none();
        loop {
            let mut bytes = files::read_range(path, from, CHUNK).unwrap_or_default();
            let is_full = u64::try_from(bytes.len()).is_ok_and(|length| length >= CHUNK);
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            // A line that is still being written is read when it is whole; one without end is passed over.
            let whole = end.unwrap_or(if is_full { bytes.len() } else { 0 });
            bytes.truncate(whole);
            let text = files::text(&bytes);
            let mut topic = Topic::default();
            let said = search::said(dialect, &text, &mut topic);
            let (cwd, id) = if from == 0 { search::head(&text) } else { (None, None) };
            let title = topic.title().map(|title| (self.mask)(title));
            let docs = self.docs(&said, title.as_deref(), from == 0);
            let read_to = from + u64::try_from(whole).unwrap_or(0);
            let added = self.index.add(&Addition {
                path: &piece.path,
                agent: &piece.agent,
                conversation: piece.conversation.as_deref().or(id.as_deref()),
                cwd: cwd.as_deref(),
                title: title.as_deref(),
                from: (!is_first).then_some(from),
                read_to,
                print: print_before(path, read_to),
                length: if is_full { read_to } else { piece.length },
                modified: if is_full { 0 } else { piece.modified },
                docs: &docs,
            })?;
            read(u64::try_from(whole).unwrap_or(0));
            if !added || !is_full || whole == 0 {
                return Ok(true);
            }
            (from, is_first) = (read_to, false);
            if self.is_late() {
                return Ok(false);
            }
        }
    }

    fn docs(&self, said: &[Said], title: Option<&str>, is_begin: bool) -> Vec<Doc> {
        let mut docs = Vec::new();
        let first_at = said.iter().find_map(|said| said.at).map(Timestamp::as_millisecond);
        docs.extend(title.map(|title| Doc { text: title.to_owned(), said: "title", at: first_at }));
        let mut is_prompt = is_begin;
        for one in said {
            let said = match one.speaker {
                Speaker::Person if std::mem::take(&mut is_prompt) => "prompt",
                Speaker::Person => "person",
                Speaker::Agent => "agent",
                Speaker::Tool => "tool",
            };
            let at = one.at.map(Timestamp::as_millisecond);
            for piece in pieces(&one.text) {
                docs.push(Doc { text: (self.mask)(piece), said, at });
            }
        }
        docs
    }

    /// Puts texts in the place of all that the index has of a source.
    fn whole(
        &mut self,
        piece: &Piece,
        texts: &[(&'static str, Option<i64>, String)],
    ) -> Result<bool, Error> {
        let mut docs = Vec::new();
        for (said, at, text) in texts {
            for part in pieces(text) {
                docs.push(Doc { text: (self.mask)(part), said, at: *at });
            }
        }
        let title = texts.iter().find(|(said, ..)| *said == "title");
        let title = title.map(|(.., text)| (self.mask)(text));
        Ok(self.index.add(&Addition {
            path: &piece.path,
            agent: &piece.agent,
            conversation: piece.conversation.as_deref(),
            cwd: piece.cwd.as_deref(),
            title: title.as_deref(),
            from: None,
            read_to: 0,
            print: piece.print,
            length: piece.length,
            modified: piece.modified,
            docs: &docs,
        })?)
    }
}

/// Whether what the index has of a transcript still stands in it.
fn is_same(path: &Path, known: &SearchSource) -> bool {
    let length = files::regular_length(path).unwrap_or(0);
    length >= known.read_to && print_before(path, known.read_to) == known.print
}

fn print_before(path: &Path, place: u64) -> u64 {
    let from = place.saturating_sub(PRINTED);
    let bytes = files::read_range(path, from, place - from).unwrap_or_default();
    search::print(&bytes)
}

/// When a file was last written to, in milliseconds since 1970.
pub(super) fn modified(metadata: &Metadata) -> i64 {
    let at = metadata.modified().logged("read when a file was changed");
    at.and_then(|at| Timestamp::try_from(at).ok()).map_or(0, Timestamp::as_millisecond)
}

/// Length and time of a regular file.
pub(super) fn look(path: &Path) -> Option<(u64, i64)> {
    let metadata = std::fs::metadata(path).logged_unless_missing("look at a file")?;
    metadata.is_file().then(|| (metadata.len(), modified(&metadata)))
}
