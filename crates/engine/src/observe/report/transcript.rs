//! A session's transcripts, read as a stream: they may be of any size.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::report::account::Account;
use dogwatch_core::transcript::Dialect;
use dogwatch_store::{Session, Signal, open_regular};

use crate::Context;
use crate::observe::{agents, files, transcripts};

/// How much of a transcript's end is read for its meaning. Of what is before it, only lines are counted.
const MOST_READ: u64 = 96 * 1024 * 1024;
/// A longer line is passed over.
const LONGEST_LINE: usize = 8 * 1024 * 1024;
/// A session that is cleared often has many.
const MOST_FILES: usize = 20;

/// What one transcript told.
#[derive(Debug)]
pub(super) struct Read1 {
    pub(super) path: PathBuf,
    pub(super) account: Account,
    /// Not all of it was read.
    pub(super) is_cut: bool,
}

/// What a session's transcripts told, in the order in which they were begun.
#[derive(Debug, Default)]
pub(super) struct Transcripts {
    /// Whether dogwatch can read transcripts of this agent.
    pub(super) has_dialect: bool,
    pub(super) all: Vec<Read1>,
}

pub(super) fn read(context: &Context, session: &Session, signals: &[Signal]) -> Transcripts {
    let profile = agents::profile(context, &session.agent).logged("read an agent's profile");
    let Some(rules) = profile.and_then(|profile| profile.transcript) else {
        return Transcripts::default();
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in signals.iter().filter_map(|signal| transcripts::path_in(&signal.payload)) {
        if !paths.contains(&path) && paths.len() < MOST_FILES {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        paths.extend(transcripts::locate(context, session, &rules, None));
    }
    let read = |path: PathBuf| {
        let (account, is_cut) = read_file(&path, rules.dialect)?;
        Some(Read1 { path, account, is_cut })
    };
    Transcripts { has_dialect: true, all: paths.into_iter().filter_map(read).collect() }
}

fn read_file(path: &Path, dialect: Dialect) -> Option<(Account, bool)> {
    let length = files::regular_length(path)?;
    let mut file = open_regular(path).logged_unless_missing("open a transcript")?;
    let skipped = length.saturating_sub(MOST_READ);
    let mut number = count_lines(&mut file, skipped).logged("read a transcript")?;
    file.seek(SeekFrom::Start(skipped)).logged("read a transcript")?;
    let mut account = Account::default();
    // It may grow while it is read.
    let mut reader = BufReader::with_capacity(256 * 1024, file.take(length - skipped));
    let mut line = Vec::new();
    let mut is_first_cut = skipped > 0;
    while next_line(&mut reader, &mut line).logged("read a transcript")? {
        number += 1;
        if !is_first_cut && !line.is_empty() {
            account.take_in(dialect, number, &files::text(&line));
        }
        is_first_cut = false;
    }
    let is_cut = skipped > 0 || account.is_cut;
    Some((account, is_cut))
}

/// How many lines end within the first bytes.
fn count_lines(file: &mut impl Read, bytes: u64) -> std::io::Result<u64> {
    let mut reader = BufReader::with_capacity(1024 * 1024, file.take(bytes));
    let mut count = 0;
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok(count);
        }
        count += u64::try_from(memchr::memchr_iter(b'\n', read).count()).unwrap_or(0);
        let length = read.len();
        reader.consume(length);
    }
}

/// Reads a line without its end; one that is too long is left empty. `false` at the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut is_any = false;
    let mut is_too_long = false;
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok(is_any);
        }
        is_any = true;
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        is_too_long |= line.len() + part.len() > LONGEST_LINE;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = end.map_or(read.len(), |at| at + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length() {
        let text = [b"a\n\n".to_vec(), vec![b'x'; LONGEST_LINE + 5], b"\nlast".to_vec()].concat();
        let mut reader = BufReader::with_capacity(64, &text[..]);
        let mut line = Vec::new();
        let mut lengths = Vec::new();
        while next_line(&mut reader, &mut line).unwrap() {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [1, 0, 0, 4]);
        assert_eq!(count_lines(&mut &text[..], 3).unwrap(), 2);
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        for path in ["/dev/zero", "/", "/no/such"] {
            assert!(read_file(Path::new(path), Dialect::Claude).is_none(), "{path}");
        }
    }
}
