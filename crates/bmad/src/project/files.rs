//! Files of a project: reads them, replaces them atomically under a lock, and never follows the project's links.
//!
//! `root` is the project. A path outside of it is the caller's own file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_store::{MOST_TEXT, ProjectFile};
pub use dogwatch_store::{Readers, tidy};

/// The text of a regular file, `None` if it is missing; invalid UTF-8 is replaced.
pub fn read(root: &Path, path: &Path) -> io::Result<Option<String>> {
    let bytes = file(root, path)?.read(MOST_TEXT)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The same for a file that will be changed: fails on invalid UTF-8, which would be lost.
pub fn read_to_change(root: &Path, path: &Path) -> io::Result<Option<String>> {
    let text = file(root, path)?.read(MOST_TEXT)?.map(String::from_utf8).transpose();
    text.map_err(|_| io::Error::other("it is not UTF-8; it was left as it is"))
}

/// Replaces a file atomically and flushes it. An existing file keeps its mode.
pub fn replace(root: &Path, path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    file(root, path)?.replace(text.as_bytes(), readers)
}

/// Creates a file that must not exist.
pub fn create(root: &Path, path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    file(root, path)?.create(text.as_bytes(), readers)
}

/// Locks the directory of this file until the result is dropped.
pub fn lock(root: &Path, path: &Path) -> io::Result<File> {
    file(root, path)?.lock_folder()
}

/// False if it was missing.
pub fn remove(root: &Path, path: &Path) -> io::Result<bool> {
    file(root, path)?.remove()
}

pub fn exists(root: &Path, path: &Path) -> io::Result<bool> {
    file(root, path)?.exists()
}

/// Regular files of a directory, sorted; empty if it is missing. With `links` also links, which fail when they are read.
pub fn list(
    root: &Path,
    folder: &Path,
    links: bool,
    is_wanted: impl Fn(&str) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let names = file(root, &folder.join("x"))?.siblings(links, is_wanted)?;
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn file(root: &Path, path: &Path) -> io::Result<ProjectFile> {
    ProjectFile::named(Some(root), path)
}

/// Whether a path is below a directory, both as text and with links resolved.
pub fn is_below(path: &Path, folder: &Path) -> bool {
    let resolved = |path: &Path| {
        path.ancestors().find_map(|known| {
            let rest = path.strip_prefix(known).ok()?;
            Some(known.canonicalize().logged_unless_missing("resolve a path")?.join(rest))
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
    use std::fs;

    #[test]
    fn texts_are_read_and_replaced() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        let path = root.join("a/f");
        assert_eq!(read(&root, &path).unwrap(), None);
        create(&root, &path, "one", Readers::Owner).unwrap();
        replace(&root, &path, "two", Readers::Owner).unwrap();
        assert_eq!(read(&root, &path).unwrap().as_deref(), Some("two"));
        assert!(read(&root, &root.join("a")).is_err(), "a folder");
        fs::write(root.join("latin"), b"caf\xe9").unwrap();
        assert!(read_to_change(&root, &root.join("latin")).is_err());
        assert_eq!(
            list(&root, &root.join("a"), false, |_| true).unwrap(),
            std::slice::from_ref(&path)
        );
        assert!(exists(&root, &path).unwrap() && remove(&root, &path).unwrap());
    }

    #[test]
    fn below_as_text_and_with_links_resolved() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        fs::create_dir(root.join("p")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("p/out")).unwrap();
        assert!(is_below(&root.join("p/x/../y"), &root.join("p")));
        assert!(!is_below(&root.join("p/../y"), &root.join("p")));
        assert!(!is_below(&root.join("p/out/y"), &root.join("p")));
    }
}
