//! Opens directories below a root without following links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::folder::Folder;

/// A link where the project must not have one.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is a symbolic link, and dogwatch follows no links below a project; replace it with the file or directory itself",
    path.display()
)]
pub struct LinkInProject {
    pub path: PathBuf,
}

impl LinkInProject {
    pub(super) fn error(path: PathBuf) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, Self { path })
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a directory below the root; `names` must not contain `.` or `..`.
pub(super) fn open_folder(root: &Path, names: &Path) -> io::Result<Folder> {
    let top = open_root(root)?;
    let opened = match at_once(top.as_fd(), names) {
        None => by_walk(top.as_fd(), names, false),
        Some(opened) => opened,
    };
    let opened = opened.map_err(|errno| explained(root, names, errno))?;
    Ok(Folder::new(opened, root.join(names)))
}

/// The same, and creates what is missing.
pub(super) fn make_folder(root: &Path, names: &Path) -> io::Result<Folder> {
    let top = open_root(root)?;
    let opened = by_walk(top.as_fd(), names, true);
    let opened = opened.map_err(|errno| explained(root, names, errno))?;
    Ok(Folder::new(opened, root.join(names)))
}

fn open_root(root: &Path) -> io::Result<File> {
    Ok(File::from(openat(rustix::fs::CWD, root, FOLDER, Mode::empty())?))
}

/// With one system call; `None` where the kernel lacks it or a sandbox forbids it.
#[cfg(target_os = "linux")]
fn at_once(top: BorrowedFd<'_>, names: &Path) -> Option<Result<OwnedFd, Errno>> {
    use rustix::fs::ResolveFlags;
    let names = if names.as_os_str().is_empty() { Path::new(".") } else { names };
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(top, names, FOLDER, Mode::empty(), how) {
        // AGAIN means that a directory was renamed meanwhile: walk.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => None,
        opened => Some(opened),
    }
}

#[cfg(not(target_os = "linux"))]
fn at_once(_: BorrowedFd<'_>, _: &Path) -> Option<Result<OwnedFd, Errno>> {
    None
}

/// A folder in another one, on the same mount.
pub(super) fn open_inner(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        match rustix::fs::openat2(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty(), how) {
            // As above.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    let opened = openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    if rustix::fs::fstat(&opened)?.st_dev != rustix::fs::fstat(folder)?.st_dev {
        return Err(Errno::XDEV);
    }
    Ok(opened)
}

/// Opens name by name: each in the directory before it, and only if it is a directory and not a link. Changes in between
/// cannot lead elsewhere.
pub(super) fn by_walk(top: BorrowedFd<'_>, names: &Path, make: bool) -> Result<OwnedFd, Errno> {
    let mut here = openat(top, ".", FOLDER, Mode::empty())?;
    for name in names {
        let open = || openat(&here, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let next = match open() {
            Err(Errno::NOENT) if make => {
                match mkdirat(&here, name, Mode::from(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                open()?
            }
            opened => opened?,
        };
        here = next;
    }
    Ok(here)
}

/// The kernel's error for a link is "not a directory" or "too many links"; name the link instead.
fn explained(root: &Path, names: &Path, errno: Errno) -> io::Error {
    if !matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::MLINK | Errno::XDEV) {
        return errno.into();
    }
    let mut path = root.to_owned();
    for name in names {
        path.push(name);
        if path.is_symlink() {
            return LinkInProject::error(path);
        }
    }
    errno.into()
}
