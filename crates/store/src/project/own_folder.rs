//! Removes folders that dogwatch made. Agents can write near them, so a path may lead elsewhere by now, and change at any moment:
//! everything is done on open directories, which stay what they are, and no link is followed at any level.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, fstat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::folder::Folder;
use super::{beneath, is_missing, tidy};

/// No folder that a person or a tool makes is as deep; each level costs an open file while it is removed.
const DEEPEST: usize = 400;

/// What a folder is, by whatever path: no other folder of its file system has it while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// A folder that is open, with the one that it is in.
#[derive(Debug)]
pub struct OwnFolder {
    parent: Folder,
    name: OsString,
    folder: Folder,
    stat: Box<Stat>,
    path: PathBuf,
}

impl OwnFolder {
    /// Opens a folder below a root; `None` if it is missing. A link is an error, in place of the folder or on the way to it.
    pub fn open(root: &Path, names: &Path) -> io::Result<Option<Self>> {
        let opened = || -> io::Result<Self> {
            let path = root.join(names);
            let name = names.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
            let parent = beneath::open_folder(root, names.parent().unwrap_or(Path::new("")))?;
            let folder = match parent.child(&name) {
                Ok(folder) => folder,
                // A link is reported as such.
                Err(error) => match parent.stat(&name) {
                    Ok(stat) if is(&stat, FileType::Symlink) => {
                        return Err(beneath::LinkInProject::error(path));
                    }
                    _ => return Err(error),
                },
            };
            let stat = Box::new(fstat(&folder)?);
            Ok(Self { parent, name, folder, stat, path })
        };
        match opened() {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same for a whole path, none of which may be a link.
    pub fn at(path: &Path) -> io::Result<Option<Self>> {
        let path = tidy(path);
        let names = path.strip_prefix("/").map_err(|_| io::ErrorKind::InvalidInput)?;
        Self::open(Path::new("/"), names)
    }

    pub fn identity(&self) -> io::Result<Identity> {
        // The types of the numbers differ between systems, but not here.
        let about = File::from(self.folder.as_fd().try_clone_to_owned()?).metadata()?;
        Ok(Identity { device: about.dev(), inode: about.ino() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it; `None` if there is none. Fails if it is anything but a regular file.
    pub fn read(&self, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
        match self.folder.read(OsStr::new(name), max) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.folder.names()?.is_empty())
    }

    /// Gives it another name beside the old one. If something else has its name by now, nothing changes, and it fails.
    pub fn rename(&mut self, to: &OsStr) -> io::Result<()> {
        self.move_entry(&self.name, to)?;
        if !self.parent.stat(to).is_ok_and(|stat| is_same(&stat, &self.stat)) {
            self.move_entry(to, &self.name)?;
            return Err(self.replaced());
        }
        to.clone_into(&mut self.name);
        self.path.set_file_name(to);
        Ok(())
    }

    fn move_entry(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let parent = &self.parent;
        match renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
            // This file system, or this system, cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match parent.stat(to) {
                Ok(_) => Err(Errno::EXIST.into()),
                Err(error) if is_missing(&error) => parent.rename(from, to),
                Err(error) => Err(error),
            },
            done => Ok(done?),
        }
    }

    /// Removes everything in it but the entry of that name.
    pub fn empty_but(&self, last: &str) -> io::Result<()> {
        empty(&self.folder, Some(OsStr::new(last)), 0)
    }

    /// Removes it with everything in it. If something else has its name by now, that stays.
    pub fn remove(self) -> io::Result<()> {
        empty(&self.folder, None, 0)?;
        match self.parent.stat(&self.name) {
            Ok(stat) if !is_same(&stat, &self.stat) => return Err(self.replaced()),
            Ok(_) => {}
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        // If it is replaced at this moment, this fails, or removes an empty folder.
        Ok(unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?)
    }

    fn replaced(&self) -> io::Error {
        io::Error::other(format!("{} was replaced meanwhile", self.path.display()))
    }
}

/// Removes whatever is there below a root: a folder with all that is in it; of a link, only the link. False if nothing is.
pub fn remove_beneath(root: &Path, names: &Path) -> io::Result<bool> {
    let parent = match beneath::open_folder(root, names.parent().unwrap_or(Path::new(""))) {
        Ok(parent) => parent,
        Err(error) if is_missing(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    let name = names.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    match parent.stat(name) {
        Ok(stat) if is(&stat, FileType::Directory) => {}
        Ok(_) => return parent.unlink(name).map(|()| true),
        Err(error) if is_missing(&error) => return Ok(false),
        Err(error) => return Err(error),
    }
    let Some(folder) = OwnFolder::open(root, names)? else { return Ok(false) };
    folder.remove().map(|()| true)
}

fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

fn empty(folder: &Folder, but: Option<&OsStr>, depth: usize) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(folder.problem(OsStr::new(""), "its folders are too deep"));
    }
    for name in folder.names()? {
        if but == Some(name.as_os_str()) {
            continue;
        }
        match folder.inner(&name) {
            Ok(inner) => {
                empty(&inner, None, depth + 1)?;
                // Fails if it is not the folder that was emptied, or another process has written to it.
                gone(unlinkat(folder, &name, AtFlags::REMOVEDIR))?;
            }
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                gone(unlinkat(folder, &name, AtFlags::empty()))?;
            }
            Err(Errno::XDEV) => {
                return Err(folder.problem(&name, "another file system is mounted there"));
            }
            Err(errno) => return Err(folder.problem(&name, &io::Error::from(errno).to_string())),
        }
    }
    Ok(())
}

fn gone(removed: Result<(), Errno>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with another one and links in it, and one beside it that must stay.
    fn made() -> (tempfile::TempDir, PathBuf) {
        let tmp = tempfile::tempdir().unwrap();
        let top = tmp.path().canonicalize().unwrap();
        for folder in ["mine/deep/er", "theirs/deep"] {
            fs::create_dir_all(top.join(folder)).unwrap();
            fs::write(top.join(folder).join("file"), "x").unwrap();
        }
        symlink("../theirs", top.join("mine/link")).unwrap();
        symlink("../../theirs/deep/file", top.join("mine/deep/link")).unwrap();
        symlink("nowhere", top.join("mine/dangling")).unwrap();
        (tmp, top)
    }

    fn is_whole(top: &Path) -> bool {
        fs::read(top.join("theirs/deep/file")).is_ok_and(|text| text == b"x")
    }

    #[test]
    fn a_folder_is_removed_and_no_link_is_followed() {
        let (_tmp, top) = made();
        let folder = OwnFolder::at(&top.join("mine")).unwrap().unwrap();
        folder.empty_but("deep").unwrap();
        assert!(top.join("mine/deep/er/file").exists());
        assert!(top.join("mine/link").symlink_metadata().is_err());
        folder.remove().unwrap();
        assert!(!top.join("mine").exists() && is_whole(&top));
        assert!(OwnFolder::at(&top.join("mine")).unwrap().is_none());
    }

    #[test]
    fn a_link_is_an_error_at_every_level() {
        let (_tmp, top) = made();
        fs::rename(top.join("mine"), top.join("away")).unwrap();
        symlink(top.join("theirs"), top.join("mine")).unwrap();
        for path in ["mine", "mine/deep"] {
            let error = OwnFolder::at(&top.join(path)).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{path}: {error}");
        }
        assert!(remove_beneath(&top, Path::new("mine/deep")).is_err() && is_whole(&top));
        assert!(remove_beneath(&top, Path::new("mine")).unwrap(), "only the link");
        assert!(is_whole(&top) && top.join("mine").symlink_metadata().is_err());
        assert!(!remove_beneath(&top, Path::new("mine")).unwrap());
        assert!(remove_beneath(&top, Path::new("away")).unwrap() && !top.join("away").exists());
    }

    /// The folder is replaced between the check and its removal, at each moment.
    #[test]
    fn what_replaces_it_stays() {
        let (_tmp, top) = made();
        let mut folder = OwnFolder::at(&top.join("mine")).unwrap().unwrap();
        let replace = |with_link: bool| {
            fs::rename(top.join("mine"), top.join("away")).unwrap();
            if with_link {
                symlink(top.join("theirs"), top.join("mine")).unwrap();
            } else {
                fs::rename(top.join("theirs"), top.join("mine")).unwrap();
            }
        };
        let put_back = |with_link: bool| {
            if with_link {
                fs::remove_file(top.join("mine")).unwrap();
            } else {
                fs::rename(top.join("mine"), top.join("theirs")).unwrap();
            }
            fs::rename(top.join("away"), top.join("mine")).unwrap();
        };
        for with_link in [true, false] {
            replace(with_link);
            let error = folder.rename(OsStr::new("parked")).unwrap_err();
            assert!(error.to_string().contains("replaced"), "{error}");
            assert!(top.join("parked").symlink_metadata().is_err());
            put_back(with_link);
            assert!(is_whole(&top));
        }
        folder.rename(OsStr::new("parked")).unwrap();
        fs::rename(top.join("parked"), top.join("mine")).unwrap();
        fs::rename(top.join("theirs"), top.join("parked")).unwrap();
        assert!(folder.remove().is_err());
        assert!(top.join("parked/deep/file").exists(), "what has the name now");
        assert_eq!(fs::read_dir(top.join("mine")).unwrap().count(), 0, "what was opened");
    }

    #[test]
    fn a_name_that_is_taken_is_not_overwritten() {
        let (_tmp, top) = made();
        let mut folder = OwnFolder::at(&top.join("mine")).unwrap().unwrap();
        fs::create_dir(top.join("parked")).unwrap();
        assert!(folder.rename(OsStr::new("parked")).is_err());
        assert!(top.join("mine/deep/er/file").exists() && top.join("parked").is_dir());
    }

    #[test]
    fn what_is_too_deep_is_left() {
        let tmp = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", DEEPEST + 2).collect();
        fs::create_dir_all(tmp.path().join("mine").join(&deep)).unwrap();
        let error = remove_beneath(tmp.path(), Path::new("mine")).unwrap_err();
        assert!(error.to_string().contains("too deep"), "{error}");
    }
}
