//! Files that a caller names: read as text, and replaced as a whole.

use std::io;
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
