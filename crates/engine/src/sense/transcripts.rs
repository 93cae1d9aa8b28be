use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_core::profile::TranscriptRules;
use dogwatch_core::status::evidence::Turn;
use dogwatch_core::status::rollout;
use dogwatch_core::transcript::{self, Dialect, Entry};
use dogwatch_store::Signal;
use serde_json::Value;

use crate::Context;
use crate::sense::files;
use crate::snapshot::Seen;

/// How much of a transcript's end is read; they grow to many megabytes.
const TAIL: u64 = 1024 * 1024;

/// The session's transcript: where its hooks said, else where its agent's profile says to look.
pub fn locate(
    context: &Context,
    seen: &Seen,
    rules: &TranscriptRules,
    signals: &[Signal],
) -> Option<PathBuf> {
    path_told(signals).or_else(|| {
        find(context.home.as_deref()?, &rules.find, seen.session.conversation.as_deref()?)
    })
}

/// Where the agent itself said that it writes its transcript: the last hook that named one.
fn path_told(signals: &[Signal]) -> Option<PathBuf> {
    signals.iter().rev().find_map(|signal| {
        let payload: Value = serde_json::from_str(&signal.payload).ok()?;
        Some(PathBuf::from(payload["transcript_path"].as_str()?))
    })
}

/// The transcript of a conversation below the home folder, by the patterns of its agent's profile.
fn find(home: &Path, patterns: &[String], conversation: &str) -> Option<PathBuf> {
    let short = conversation.get(..8)?;
    patterns.iter().find_map(|pattern| {
        let pattern =
            pattern.replace("@conversation@", conversation).replace("@conversation8@", short);
        pattern
            .split('/')
            .fold(vec![home.to_owned()], |found, part| {
                found.iter().flat_map(|dir| entries(dir, part)).collect()
            })
            .pop()
    })
}

/// What in a folder fits one part of a pattern.
fn entries(dir: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        let path = dir.join(part);
        return path.exists().then_some(path).into_iter().collect();
    }
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| fits(&entry.file_name().to_string_lossy(), part))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            left.char_indices()
                .map(|(at, _)| at)
                .chain([left.len()])
                .any(|at| fits(&left[at..], rest))
        }),
    }
}

/// The readable end of a transcript; empty if it cannot be read.
pub fn tail(path: &Path, dialect: Dialect) -> Vec<Entry> {
    transcript::entries(dialect, &text(path))
}

/// The turns that the end of a transcript tells of.
pub fn turns(path: &Path, dialect: Dialect) -> Turn {
    rollout::fold(dialect, &text(path))
}

/// A first line that is cut is no JSON, and is passed over as such.
fn text(path: &Path) -> String {
    let bytes = files::read_tail(path, TAIL).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_by_pattern() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/proj/chats");
        fs::create_dir_all(&chats).unwrap();
        let file = chats.join("session-2026-01aaf3bb.jsonl");
        fs::write(&file, "").unwrap();
        let patterns = [".gemini/tmp/*/chats/session-*-@conversation8@.jsonl".to_owned()];
        assert_eq!(find(home.path(), &patterns, "01aaf3bb-1111"), Some(file));
        assert_eq!(find(home.path(), &patterns, "99aaf3bb-1111"), None);
        assert_eq!(find(home.path(), &patterns, "x"), None);
    }

    #[test]
    fn what_is_no_file_says_nothing() {
        assert_eq!(tail(Path::new("/dev/zero"), Dialect::Claude), []);
        assert_eq!(tail(Path::new("/"), Dialect::Claude), []);
        assert_eq!(tail(Path::new("/no/such"), Dialect::Claude), []);
    }
}
