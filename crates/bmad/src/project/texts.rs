//! Files that a caller names: read as text, and replaced as a whole.

use std::fs::File;
use std::io;
use std::path::Path;

use dogwatch_store::{MOST_TEXT, ProjectFile, StoreError};

use crate::StoryError;
use crate::project::files::{self, Readers};

/// `None` if there is no such file. What is not UTF-8 in it is shown as such, not refused.
pub fn read_text(root: &Path, path: &Path) -> Result<Option<String>, StoryError> {
    files::read(root, path)
        .map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })
}

/// The same for a file that is to be written anew: what is not UTF-8 would be lost, and is refused.
pub fn read_text_to_change(root: &Path, path: &Path) -> Result<Option<String>, StoryError> {
    files::read_to_change(root, path)
        .map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })
}

/// Makes the file and the folders above it, for the owner only, or puts a new text in its place.
pub fn write_text(root: &Path, path: &Path, text: &str) -> Result<(), StoreError> {
    files::replace(root, path, text, Readers::Owner).map_err(|source| not_written(path, source))
}

/// One at a time in a file's folder, until the answer is dropped: for who reads a text and writes it anew.
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

/// Puts `after` in the place of `before` in a file that others write too, with its permissions. False, and nothing is
/// changed, if it does not say `before` any more.
pub fn rewrite_text(
    root: &Path,
    path: &Path,
    before: &str,
    after: &str,
) -> Result<bool, StoryError> {
    // To the byte: what is not UTF-8 was read as something else, and would be lost.
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
    fn what_is_not_utf_8_is_not_written_over() {
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
