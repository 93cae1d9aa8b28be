//! An open directory: files in it are opened by name relative to it, whatever happens to the path meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use dogwatch_base::log::Logged as _;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, linkat, mkdirat, openat, readlinkat,
    renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::beneath::LinkInProject;
use crate::regular::{UNHELD, not_regular, read_opened};

#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    /// Where it was opened; only for messages.
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd, path }
    }

    /// Metadata of that name; does not follow links.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The error says whether it is a link or what else.
    pub(crate) fn must_be_regular(&self, name: &OsStr, stat: &Stat) -> io::Result<()> {
        Err(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(()),
            FileType::Symlink => LinkInProject::error(self.path.join(name)),
            FileType::Directory => not_regular("a folder"),
            FileType::Fifo => not_regular("a named pipe"),
            FileType::Socket => not_regular("a socket"),
            _ => not_regular("a device"),
        })
    }

    fn open(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<File> {
        match openat(&self.fd, name, flags | UNHELD | OFlags::NOFOLLOW, mode) {
            Ok(fd) => Ok(File::from(fd)),
            Err(Errno::LOOP | Errno::MLINK) => Err(LinkInProject::error(self.path.join(name))),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_regular(&self, name: &OsStr) -> io::Result<File> {
        self.must_be_regular(name, &self.stat(name)?)?;
        let file = self.open(name, OFlags::RDONLY, Mode::empty())?;
        // Check the opened file: it may have been replaced in between.
        self.must_be_regular(name, &rustix::fs::fstat(&file)?)?;
        Ok(file)
    }

    pub(crate) fn read(&self, name: &OsStr, max: u64) -> io::Result<Vec<u8>> {
        read_opened(self.open_regular(name)?, max)
    }

    /// Opens a regular file for reading and writing; creates it if missing. Refuses a file with a second hard link: a write
    /// would change that too.
    pub(crate) fn open_own(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        if let Ok(stat) = self.stat(name) {
            self.must_be_regular(name, &stat)?;
        }
        let file = self.open(name, flags | OFlags::CREATE, Mode::from(0o666))?;
        self.must_be_regular(name, &rustix::fs::fstat(&file)?)?;
        if file.metadata()?.nlink() > 1 {
            return Err(io::Error::other("it has another hard link"));
        }
        Ok(file)
    }

    pub(crate) fn append(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        self.open_own(name, OFlags::WRONLY | OFlags::APPEND)?.write_all(content)
    }

    /// A new file under a temporary name, written and flushed; removed again unless it is put in place.
    pub(crate) fn new_file(&self, name: &OsStr, content: &[u8], mode: Mode) -> io::Result<New<'_>> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        let mut temporary = OsString::from(".");
        temporary.push(shortened(name));
        temporary.push(format!(".new-{}", &random[..12]));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = self.open(&temporary, flags, mode)?;
        let mut new = New { folder: self, name: Some(temporary), file };
        new.file.write_all(content)?;
        new.file.sync_all()?;
        Ok(new)
    }

    /// A new file in place; it must not exist.
    pub(super) fn create_new(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        self.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)
    }

    /// A folder in it, which is not a link.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// The same, but also not what is mounted there: on Linux also of the same file system.
    pub(super) fn inner(&self, name: &OsStr) -> Result<Self, Errno> {
        let fd = super::beneath::open_inner(self.fd.as_fd(), name)?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn problem(&self, name: &OsStr, what: &str) -> io::Error {
        io::Error::other(format!("{}: {what}", self.path.join(name).display()))
    }

    pub(super) fn make_child(&self, name: &OsStr, mode: Mode) -> io::Result<Self> {
        mkdirat(&self.fd, name, mode)?;
        self.child(name)
    }

    pub(super) fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        let leads_to = readlinkat(&self.fd, name, Vec::new())?;
        Ok(OsStr::from_bytes(leads_to.as_bytes()).to_owned())
    }

    pub(super) fn symlink(&self, leads_to: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(symlinkat(leads_to, &self.fd, name)?)
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.fd, from, &self.fd, to)?)
    }

    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> Result<(), Errno> {
        renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)
    }

    pub(crate) fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Fails unless the file is writable or missing.
    pub(crate) fn must_be_writable(&self, name: &OsStr) -> io::Result<()> {
        let Ok(stat) = self.stat(name) else { return Ok(()) };
        self.must_be_regular(name, &stat)?;
        // Respect a read-only mode, although the file could be replaced, and although root could write.
        if !mode_of(&stat).intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH) {
            return Err(Errno::ACCESS.into());
        }
        let write = rustix::fs::Access::WRITE_OK;
        Ok(rustix::fs::accessat(&self.fd, name, write, AtFlags::empty())?)
    }

    pub(crate) fn lock(&self) -> io::Result<File> {
        let file = File::from(self.fd.as_fd().try_clone_to_owned()?);
        file.lock()?;
        Ok(file)
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        self.entries(|_, _| true)
    }

    /// Names of the regular files, and of links if wanted, sorted.
    pub(super) fn files(
        &self,
        links: bool,
        is_wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<String>> {
        let names = self.entries(|name, kind| {
            let wanted = name.to_str().is_some_and(&is_wanted);
            wanted
                && match kind {
                    FileType::RegularFile => true,
                    FileType::Symlink => links,
                    // Some file systems do not report the type.
                    FileType::Unknown => self.stat(name).is_ok_and(|stat| is_regular(&stat)),
                    _ => false,
                }
        })?;
        let mut names: Vec<String> =
            names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn entries(&self, is_wanted: impl Fn(&OsStr, FileType) -> bool) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && is_wanted(name, entry.file_type()) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

/// A file that is not in place yet.
pub(crate) struct New<'f> {
    folder: &'f Folder,
    /// `None` once it was moved.
    name: Option<OsString>,
    pub(crate) file: File,
}

impl New<'_> {
    pub(crate) fn name(&self) -> &OsStr {
        self.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn set_mode(&self, mode: Mode) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.file, mode)?)
    }

    /// Moves it over whatever is there.
    pub(crate) fn persist(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(self.name(), name)?;
        self.name = None;
        Ok(())
    }

    /// Moves it to a name that must not exist.
    pub(crate) fn persist_new(mut self, name: &OsStr) -> io::Result<()> {
        let fd = &self.folder.fd;
        match renameat_with(fd, self.name(), fd, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.name = None,
            // This file system cannot; a hard link does the same, and the first name is removed on drop.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(fd, self.name(), fd, name, AtFlags::empty())?;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Keeps it under its temporary name, and returns that.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.folder.path.join(self.name.take().unwrap_or_default())
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.folder.unlink(name).logged("remove a file");
        }
    }
}

pub(super) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(super) fn mode_of(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode)
}

/// A name cut so that a suffix fits.
fn shortened(name: &OsStr) -> &OsStr {
    OsStr::from_bytes(&name.as_bytes()[..name.len().min(200)])
}
