//! Files that a caller names: read as text, and replaced as a whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use dogwatch_store::StoreError;

use super::StoryError;
use super::project_files::{self, Readers};

/// `None` if there is no such file. What is not UTF-8 in it is shown as such, not refused.
pub fn read_text(path: &Path) -> Result<Option<String>, StoryError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(source) => Err(StoryError::Unreadable { path: path.to_owned(), source }),
    }
}

/// The same for a file that is to be written anew: what is not UTF-8 would be lost, and is refused.
pub fn read_text_to_change(path: &Path) -> Result<Option<String>, StoryError> {
    project_files::read_to_change(path)
        .map_err(|source| StoryError::Unreadable { path: path.to_owned(), source })
}

/// Makes the file and the folders above it, for the owner only, or puts a new text in its place.
pub fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    project_files::replace(path, text, Readers::Owner).map_err(|source| not_written(path, source))
}

/// One at a time in a file's folder, until the answer is dropped: for who reads a text and writes it anew.
pub fn one_at_a_time(path: &Path) -> Result<File, StoreError> {
    project_files::lock(path).map_err(|source| not_written(path, source))
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
pub fn rewrite_text(path: &Path, before: &str, after: &str) -> Result<bool, StoryError> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let failed = |source| StoryError::NotWritten { path: path.clone(), source };
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(parent).map_err(failed)?;
    new.write_all(after.as_bytes()).map_err(failed)?;
    let facts = std::fs::metadata(&path).map_err(failed)?;
    new.as_file().set_permissions(facts.permissions()).map_err(failed)?;
    new.as_file().sync_all().map_err(failed)?;
    // To the byte: what is not UTF-8 was read as something else, and would be lost.
    let there = std::fs::read(&path)
        .map_err(|source| StoryError::Unreadable { path: path.clone(), source })?;
    if there != before.as_bytes() {
        return Ok(false);
    }
    new.persist(&path).map_err(|error| failed(error.error))?;
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
        let before = read_text(&path).unwrap().unwrap();
        assert!(!rewrite_text(&path, &before, "# other\n").unwrap());
        assert!(read_text_to_change(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"# Caf\xe9\n");
        std::fs::write(&path, "one").unwrap();
        assert!(rewrite_text(&path, "one", "two").unwrap());
        assert!(!rewrite_text(&path, "one", "three").unwrap());
        assert_eq!(read_text_to_change(&path).unwrap().as_deref(), Some("two"));
    }
}
