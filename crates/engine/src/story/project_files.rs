//! Files of a project: read as they are, written whole, and by one at a time.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

/// Longest file that is taken for a text of a project.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a regular file, `None` if there is none; what is not UTF-8 is replaced.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    Ok(bytes(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The same for a file that is to be changed: what is not UTF-8 would be lost.
pub(super) fn read_to_change(path: &Path) -> io::Result<Option<String>> {
    let text = bytes(path)?.map(String::from_utf8).transpose();
    text.map_err(|_| io::Error::other("it is not UTF-8; it was left as it is"))
}

fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !meta.is_file() || meta.len() > MOST_BYTES {
        let problem = if meta.is_file() { "it is too long" } else { "it is no file" };
        return Err(io::Error::other(problem));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Who may read a file that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    Owner,
    /// Whom the umask lets.
    Usual,
}

/// Puts a text in a file's place, whole and flushed. A file that is there keeps its mode, and a link stays a link.
pub(super) fn replace(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = beside(&path, text, readers)?;
    if let Ok(old) = fs::metadata(&path) {
        file.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    }
    file.persist(&path).map_err(|error| error.error)?;
    sync_folder(&path)
}

/// Makes a file that must not be there yet.
pub(super) fn create(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let file = beside(path, text, readers)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(path)
}

fn beside(path: &Path, text: &str, readers: Readers) -> io::Result<tempfile::NamedTempFile> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
    let mut file = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// One at a time in the folder of this file, until the answer is dropped. The folder itself is the lock: nothing
/// is left lying about in the project.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(&path);
    fs::create_dir_all(folder)?;
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path without `.` and `..`, by its words alone.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidied.pop();
            }
            part => tidied.push(part),
        }
    }
    tidied
}

/// Whether a path is below a folder, by its words and by what its links lead to.
pub(super) fn is_below(path: &Path, folder: &Path) -> bool {
    let resolved = |path: &Path| {
        path.ancestors().find_map(|known| {
            let rest = path.strip_prefix(known).ok()?;
            Some(known.canonicalize().ok()?.join(rest))
        })
    };
    let (path, folder) = (tidy(path), tidy(folder));
    path.starts_with(&folder)
        && match (resolved(&path), resolved(&folder)) {
            (Some(path), Some(folder)) => path.starts_with(folder),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_with_its_mode_and_through_links() {
        let tmp = tempfile::tempdir().unwrap();
        let (file, link) = (tmp.path().join("a/f"), tmp.path().join("l"));
        assert_eq!(read(&file).unwrap(), None);
        create(&file, "one", Readers::Owner).unwrap();
        assert_eq!(
            create(&file, "x", Readers::Owner).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "two", Readers::Owner).unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(read(tmp.path()).is_err());
        fs::write(tmp.path().join("latin"), b"caf\xe9").unwrap();
        assert!(read_to_change(&tmp.path().join("latin")).is_err());
        assert_eq!(fs::read_dir(tmp.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn below_by_words_and_by_links() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        fs::create_dir(root.join("p")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("p/out")).unwrap();
        assert!(is_below(&root.join("p/x/../y"), &root.join("p")));
        assert!(!is_below(&root.join("p/../y"), &root.join("p")));
        assert!(!is_below(&root.join("p/out/y"), &root.join("p")));
    }
}
