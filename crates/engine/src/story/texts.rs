//! Files that a caller names: read as text, and replaced as a whole.

use std::io::{self, Write as _};
use std::path::Path;

use dogwatch_store::{StoreError, replace};

use super::StoryError;

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

/// Makes the file and the folders above it, or puts a new one in its place. For the owner only.
pub fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    // What a link leads to is replaced, not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)
        .map_err(|source| StoreError::NotWritable { path: parent.to_owned(), source })?;
    replace(&parent.join(path.file_name().unwrap_or_default()), text.as_bytes())
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
    if read_text(&path)?.as_deref() != Some(before) {
        return Ok(false);
    }
    new.persist(&path).map_err(|error| failed(error.error))?;
    Ok(true)
}
