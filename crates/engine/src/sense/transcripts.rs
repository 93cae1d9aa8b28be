use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use dogwatch_core::transcript::{self, Dialect, Entry};
use dogwatch_store::Signal;
use serde_json::Value;

/// How much of a transcript's end is read; they grow to many megabytes.
const TAIL: u64 = 1024 * 1024;

/// Where the agent itself said that it writes its transcript: the last hook that named one.
pub fn path_told(signals: &[Signal]) -> Option<PathBuf> {
    signals.iter().rev().find_map(|signal| {
        let payload: Value = serde_json::from_str(&signal.payload).ok()?;
        Some(PathBuf::from(payload["transcript_path"].as_str()?))
    })
}

/// The readable end of a transcript; empty if it cannot be read.
pub fn tail(path: &Path, dialect: Dialect) -> Vec<Entry> {
    let read = || {
        // Asked before it is opened: opening a pipe would wait for its other end.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Ok(Vec::new());
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(metadata.len().saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    // A first line that is cut is no JSON, and is passed over as such.
    let bytes = read().unwrap_or_default();
    transcript::entries(dialect, &String::from_utf8_lossy(&bytes))
}
