//! Files below a project. The author of the repository also chose its links, so nothing below the root is read or
//! written through a link.
//!
//! The root itself is the user's choice, and links that lead to it are followed.

mod beneath;
mod copy;
mod folder;
mod own_folder;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::Mode;

pub use beneath::LinkInProject;
pub use copy::{Allowance, Provided, copy_beneath, link_beneath};
pub(crate) use folder::{Folder, New};
pub use own_folder::{Identity, OwnFolder, remove_beneath};

/// Longest text file of a project.
pub const MOST_TEXT: u64 = 16 * 1024 * 1024;

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Owner,
    /// As the umask allows.
    Usual,
}

impl Readers {
    fn mode(self) -> Mode {
        match self {
            Self::Owner => Mode::from(0o600),
            Self::Usual => Mode::from(0o666),
        }
    }
}

/// A file, as the root that it must be below and the names from there. Every access starts at the root and follows no link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    root: PathBuf,
    /// No `..`, no `.`, at least one name.
    names: PathBuf,
}

impl ProjectFile {
    /// A file that the project names, by its configuration, state or convention: below the root, else an error.
    pub fn below(root: &Path, path: &Path) -> io::Result<Self> {
        let (root, path) = (tidy(root), tidy(&root.join(path)));
        let names = path.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
        if names.as_os_str().is_empty() {
            let problem = format!("{} is not below {}", path.display(), root.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { root, names })
    }

    /// A file that a person or a program names: below the project if it is in it, else below the nearest repository. Outside
    /// of repositories, the person's own links are followed.
    pub fn named(project: Option<&Path>, path: &Path) -> io::Result<Self> {
        let path = tidy(&std::path::absolute(path)?);
        let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
        let is_project =
            |folder: &&&Path| project.is_some_and(|project| is_same_folder(project, folder));
        // The outermost: within the project, a link to the project is a link.
        let root = ancestors.iter().rev().find(is_project);
        let root = root.or_else(|| ancestors.iter().find(|folder| is_repository(folder)));
        if let Some(root) = root {
            let names = path.strip_prefix(root).unwrap_or(&path);
            // One path for one project, however it was reached.
            return Self::below(&root.canonicalize().unwrap_or_else(|_| tidy(root)), names);
        }
        let real = path.canonicalize().or_else(|_| {
            let (folder, name) = (path.parent(), path.file_name());
            let folder = folder.map_or_else(PathBuf::new, Path::to_owned);
            let folder = folder.canonicalize().unwrap_or(folder);
            name.map(|name| folder.join(name)).ok_or(io::ErrorKind::InvalidInput)
        })?;
        let folder = real.parent().ok_or(io::ErrorKind::InvalidInput)?;
        Self::below(&outermost(folder), &real)
    }

    pub fn path(&self) -> PathBuf {
        self.root.join(&self.names)
    }

    fn name(&self) -> &std::ffi::OsStr {
        self.names.file_name().unwrap_or_default()
    }

    fn parent(&self) -> &Path {
        self.names.parent().unwrap_or(Path::new(""))
    }

    /// Its directory, which must exist.
    pub(crate) fn folder(&self) -> io::Result<Folder> {
        beneath::open_folder(&self.root, self.parent())
    }

    /// The same, created if missing.
    pub(crate) fn made_folder(&self) -> io::Result<Folder> {
        beneath::make_folder(&self.root, self.parent())
    }

    /// Creates its parent directories.
    pub fn make_parent(&self) -> io::Result<()> {
        self.made_folder().map(drop)
    }

    /// Its content, `None` if it is missing. Fails if it is not a regular file, or longer than `max`.
    pub fn read(&self, max: u64) -> io::Result<Option<Vec<u8>>> {
        let read = self.folder().and_then(|folder| folder.read(self.name(), max));
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens it for reading, if it is a regular file.
    pub fn open(&self) -> io::Result<File> {
        self.folder()?.open_regular(self.name())
    }

    /// Fails if a link leads to its directory.
    pub fn must_be_reached(&self) -> io::Result<()> {
        match self.folder() {
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether it exists as a regular file.
    pub fn is_file(&self) -> bool {
        let stat = self.folder().and_then(|folder| folder.stat(self.name()));
        stat.is_ok_and(|stat| folder::is_regular(&stat))
    }

    /// Whether anything has its name, even a link.
    pub fn exists(&self) -> io::Result<bool> {
        match self.folder().and_then(|folder| folder.stat(self.name())) {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Replaces its content atomically and flushes it. An existing file keeps its mode.
    pub fn replace(&self, content: &[u8], readers: Readers) -> io::Result<()> {
        let folder = self.made_folder()?;
        let old = folder.stat(self.name()).ok();
        if let Some(old) = &old {
            folder.must_be_regular(self.name(), old)?;
        }
        let new = folder.new_file(self.name(), content, readers.mode())?;
        if let Some(old) = old {
            new.set_mode(folder::mode_of(&old))?;
        }
        new.persist(self.name())?;
        folder.sync()
    }

    /// Creates a file that must not exist.
    pub fn create(&self, content: &[u8], readers: Readers) -> io::Result<()> {
        let folder = self.made_folder()?;
        let new = folder.new_file(self.name(), content, readers.mode())?;
        new.persist_new(self.name())?;
        folder.sync()
    }

    /// Appends to it; creates it if missing.
    pub fn append(&self, content: &[u8]) -> io::Result<()> {
        self.made_folder()?.append(self.name(), content)
    }

    /// Removes whatever has its name; of a link only the link. False if it is missing.
    pub fn unlink(&self) -> io::Result<bool> {
        match self.folder().and_then(|folder| folder.unlink(self.name())) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes it, unless it is a link. False if it is missing.
    pub fn remove(&self) -> io::Result<bool> {
        let removed = self.folder().and_then(|folder| {
            folder.must_be_regular(self.name(), &folder.stat(self.name())?)?;
            folder.unlink(self.name())
        });
        match removed {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Names of the regular files in its directory, sorted; empty if the directory is missing. With `links` also links, which
    /// fail when they are read.
    pub fn siblings(
        &self,
        links: bool,
        is_wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<String>> {
        match self.folder().and_then(|folder| folder.files(links, is_wanted)) {
            Ok(names) => Ok(names),
            Err(error) if is_missing(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Locks the directory of this file until the result is dropped. The directory itself is the lock, so that no lock file
    /// is left in the project.
    pub fn lock_folder(&self) -> io::Result<File> {
        self.made_folder()?.lock()
    }
}

/// Creates a directory below a project's root, and its parents.
pub fn make_project_folder(root: &Path, folder: &Path) -> io::Result<()> {
    ProjectFile::below(root, &folder.join("x"))?.make_parent()
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A path without `.` and `..`, computed from the text alone.
pub fn tidy(path: &Path) -> PathBuf {
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

/// The existing directory in which missing ones would be created.
fn outermost(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn is_repository(folder: &Path) -> bool {
    [".git", "_bmad"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    if one == other {
        return true;
    }
    let id = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}
