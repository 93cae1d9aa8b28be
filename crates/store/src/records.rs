//! Directories of bug reports: written completely or not at all, and never over an existing one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::StoreError;

/// Limit on directories with the same name.
const MAX_NUMBER: u32 = 10_000;

/// Writes a directory of files that only the owner can read. Adds a number to a name that exists; returns the path.
pub fn keep_record(
    parent: &Path,
    name: &str,
    files: &[(&str, Vec<u8>)],
) -> Result<PathBuf, StoreError> {
    let write = || {
        let private = fs::Permissions::from_mode(0o700);
        let new =
            tempfile::Builder::new().prefix(".new-").permissions(private).tempdir_in(parent)?;
        for (name, content) in files {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(new.path().join(name))?;
            file.write_all(content)?;
            file.sync_all()?;
        }
        let place = put(new.path(), parent, name)?;
        // The temporary name no longer exists.
        let _ = new.keep();
        File::open(parent)?.sync_all()?;
        Ok(place)
    };
    write().map_err(|source| StoreError::writing(&parent.join(name), source))
}

/// Renames a directory to the first free name.
fn put(new: &Path, parent: &Path, name: &str) -> io::Result<PathBuf> {
    for number in 1..MAX_NUMBER {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let place = parent.join(format!("{name}{suffix}"));
        match renameat_with(CWD, new, CWD, &place, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(place),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            // This file system cannot rename without replacing. Only an empty directory of our own can be replaced then.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match DirBuilder::new().mode(0o700).create(&place) {
                    Ok(()) => return fs::rename(new, &place).map(|()| place),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_record_is_private_and_never_replaces_another() {
        let tmp = tempfile::tempdir().unwrap();
        let keep = |text: &str| {
            keep_record(tmp.path(), "x", &[("a.json", text.as_bytes().to_vec())]).unwrap()
        };
        let (first, second) = (keep("1"), keep("2"));
        assert_eq!(
            (first.as_path(), second.as_path()),
            (&*tmp.path().join("x"), &*tmp.path().join("x-2"))
        );
        fs::create_dir(tmp.path().join("x-3")).unwrap();
        fs::write(tmp.path().join("x-4"), "a file").unwrap();
        assert_eq!(keep("3"), tmp.path().join("x-5"), "an empty directory is not replaced");
        assert_eq!(fs::read_to_string(first.join("a.json")).unwrap(), "1");
        assert_eq!((mode(&first), mode(&first.join("a.json"))), (0o700, 0o600));
    }

    #[test]
    fn a_record_that_cannot_be_written_leaves_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        assert!(keep_record(tmp.path(), "x", &[("no/such", vec![])]).is_err());
        assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
    }
}
