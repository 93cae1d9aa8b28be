//! Files that a caller names: read as text, and replaced as a whole.

use std::fs::File;
use std::io;
use std::path::Path;

use dogwatch_store::{MOST_TEXT, ProjectFile, StoreError};

use crate::StoryError;
use crate::project::files::{self, Readers};

/// `None` if it is missing. Invalid UTF-8 is replaced.
pub fn read_text(root: &Path, path: &Path) -> Result<Option<String>, StoryError> {
    files::read(root, path)
        .map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })
}

/// The same for a file that will be rewritten: fails on invalid UTF-8, which would be lost.
pub fn read_text_to_change(root: &Path, path: &Path) -> Result<Option<String>, StoryError> {
    files::read_to_change(root, path)
        .map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })
}

/// Creates the file and its parent directories, for the owner only, or replaces its text.
pub fn write_text(root: &Path, path: &Path, text: &str) -> Result<(), StoreError> {
    files::replace(root, path, text, Readers::Owner).map_err(|source| not_written(path, source))
}

/// Locks a file's directory until the result is dropped, for reading and rewriting a text.
pub fn one_at_a_time(root: &Path, path: &Path) -> Result<File, StoreError> {
    files::lock(root, path).map_err(|source| not_written(path, source))
}

fn not_written(path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull => StoreError::Full { path },
        _ => StoreError::NotWritable { path, source },
    }
}

/// Replaces `before` by `after` in a file that others write too, with its permissions. False, without a change, if
/// its text is not `before` any more.
pub fn rewrite_text(
    root: &Path,
    path: &Path,
    before: &str,
    after: &str,
) -> Result<bool, StoryError> {
    // Compare bytes: invalid UTF-8 was replaced when it was read, and would be lost.
    let there = ProjectFile::named(Some(root), path).and_then(|file| file.read(MOST_TEXT));
    let there = there.map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })?;
    if there.as_deref() != Some(before.as_bytes()) {
        return Ok(false);
    }
    files::replace(root, path, after, Readers::Usual)
        .map_err(|source| StoryError::NotWritten { path: path.to_owned(), source })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_invalid_utf_8_is_not_overwritten() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("1-1-a.md");
        std::fs::write(&path, b"# Caf\xe9\n").unwrap();
        let before = read_text(tmp.path(), &path).unwrap().unwrap();
        assert!(!rewrite_text(tmp.path(), &path, &before, "# other\n").unwrap());
        assert!(read_text_to_change(tmp.path(), &path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"# Caf\xe9\n");
        std::fs::write(&path, "one").unwrap();
        assert!(rewrite_text(tmp.path(), &path, "one", "two").unwrap());
        assert!(!rewrite_text(tmp.path(), &path, "one", "three").unwrap());
        assert_eq!(read_text_to_change(tmp.path(), &path).unwrap().as_deref(), Some("two"));
    }
}
