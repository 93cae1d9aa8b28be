use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::StoreError;
use crate::state_dir::private_file;

/// Replaces the content of `path` atomically: a reader sees the old or the new one, never a part, even if we are killed;
/// flushed to disk.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    put(path, content, true)
}

/// The same, not flushed: for what a power failure may lose.
pub fn replace_in_passing(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    put(path, content, false)
}

fn put(path: &Path, content: &[u8], flushed: bool) -> Result<(), StoreError> {
    let write = || {
        // Of a bare name it is empty.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(parent)?;
        file.write_all(content)?;
        file.as_file().set_permissions(private_file())?;
        if flushed {
            file.as_file().sync_all()?;
        }
        file.persist(path).map_err(|e| e.error)?;
        if flushed { File::open(parent)?.sync_all() } else { Ok(()) }
    };
    write().map_err(|source| StoreError::writing(path, source))
}
