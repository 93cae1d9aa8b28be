use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::StoreError;
use crate::state_dir::private_file;

/// Puts `content` in the place of `path` so that a reader sees the old or the new, never a part,
/// whenever we are killed; flushed to disk.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let parent = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(parent)?;
        file.write_all(content)?;
        file.as_file().set_permissions(private_file())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        File::open(parent)?.sync_all()
    };
    write().map_err(|source| StoreError::writing(path, source))
}
