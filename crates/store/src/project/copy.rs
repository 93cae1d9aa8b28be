//! Copies and links from one work tree of a project to another. Neither side is left, whatever links it has.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode};

use super::folder::mode_of;
use super::{Folder, ProjectFile, is_missing};

/// How much may still be copied.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    pub bytes: u64,
    pub entries: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provided {
    Done,
    /// The source does not exist.
    Missing,
    /// Something has that name already; it was left alone.
    Exists,
}

/// Copies a file or folder of one root to the same path below another one. Links in it stay links if they lead to somewhere in the
/// project, and are left out otherwise; so are pipes and devices.
pub fn copy_beneath(
    from: &Path,
    to: &Path,
    path: &Path,
    allowance: &mut Allowance,
) -> io::Result<Provided> {
    let (source, target) = (ProjectFile::below(from, path)?, ProjectFile::below(to, path)?);
    let folder = match source.folder() {
        Ok(folder) => folder,
        Err(error) if is_missing(&error) => return Ok(Provided::Missing),
        Err(error) => return Err(error),
    };
    match folder.stat(source.name()) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            return Err(io::Error::other("it is a link"));
        }
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(Provided::Missing),
        Err(error) => return Err(error),
    }
    if target.exists()? {
        return Ok(Provided::Exists);
    }
    let into = target.made_folder()?;
    copy(&folder, &into, source.name(), source.parent(), allowance)?;
    Ok(Provided::Done)
}

/// Makes a link below a root that leads to the same path below another one.
pub fn link_beneath(from: &Path, to: &Path, path: &Path) -> io::Result<Provided> {
    let (source, target) = (ProjectFile::below(from, path)?, ProjectFile::below(to, path)?);
    match source.folder().and_then(|folder| folder.stat(source.name())) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            return Err(io::Error::other("it is a link"));
        }
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(Provided::Missing),
        Err(error) => return Err(error),
    }
    if target.exists()? {
        return Ok(Provided::Exists);
    }
    target.made_folder()?.symlink(source.path().as_os_str(), target.name())?;
    Ok(Provided::Done)
}

/// `at` is the path of both folders below their roots.
fn copy(
    from: &Folder,
    to: &Folder,
    name: &OsStr,
    at: &Path,
    allowance: &mut Allowance,
) -> io::Result<()> {
    allowance.entries = allowance
        .entries
        .checked_sub(1)
        .ok_or_else(|| io::Error::other("it has too many files"))?;
    let stat = from.stat(name)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let source = from.open_regular(name)?;
            let mut target = to.create_new(name, mode_of(&stat))?;
            let copied = io::copy(&mut source.take(allowance.bytes + 1), &mut target)?;
            allowance.bytes = allowance
                .bytes
                .checked_sub(copied)
                .ok_or_else(|| io::Error::other("it is too large to be copied"))?;
        }
        FileType::Directory => {
            let source = from.child(name)?;
            let target = to.make_child(name, mode_of(&stat) | Mode::RWXU)?;
            for entry in source.names()? {
                copy(&source, &target, &entry, &at.join(name), allowance)?;
            }
        }
        FileType::Symlink => {
            let leads_to = from.read_link(name)?;
            if stays_inside(at, Path::new(&leads_to)) {
                to.symlink(&leads_to, name)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a link in a folder of the project leads to somewhere in it, by its text.
fn stays_inside(folder: &Path, leads_to: &Path) -> bool {
    let mut depth = folder.components().count();
    for part in leads_to.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const MUCH: Allowance = Allowance { bytes: 1000, entries: 100 };

    #[test]
    fn files_and_folders_are_copied_and_nothing_else() {
        let tmp = tempfile::tempdir().unwrap();
        let (from, to) = (tmp.path().join("from"), tmp.path().join("to"));
        fs::create_dir_all(from.join("d/e")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(tmp.path().join("secret"), "secret").unwrap();
        fs::write(from.join(".env"), "KEY=1").unwrap();
        fs::set_permissions(from.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(from.join("d/e/run"), "x").unwrap();
        fs::set_permissions(from.join("d/e/run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("e/run", from.join("d/inside")).unwrap();
        symlink("../../secret", from.join("d/outside")).unwrap();
        symlink("/etc/passwd", from.join("d/absolute")).unwrap();
        symlink("../secret", from.join("link")).unwrap();
        let copy = |path: &str| copy_beneath(&from, &to, Path::new(path), &mut MUCH.clone());
        assert_eq!(copy(".env").unwrap(), Provided::Done);
        assert_eq!(fs::metadata(to.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(copy(".env").unwrap(), Provided::Exists);
        assert_eq!(copy("none").unwrap(), Provided::Missing);
        assert_eq!(copy("none/x").unwrap(), Provided::Missing);
        assert_eq!(copy("d").unwrap(), Provided::Done);
        assert_eq!(fs::metadata(to.join("d/e/run")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("d/inside")).unwrap(), Path::new("e/run"));
        for left_out in ["d/outside", "d/absolute"] {
            assert!(to.join(left_out).symlink_metadata().is_err(), "{left_out}");
        }
        assert!(copy("link").is_err() && copy("../secret").is_err());
        symlink("..", from.join("up")).unwrap();
        assert!(copy("up/secret").is_err(), "through a link");
    }

    #[test]
    fn a_copy_has_limits() {
        let tmp = tempfile::tempdir().unwrap();
        let (from, to) = (tmp.path().join("from"), tmp.path().join("to"));
        fs::create_dir_all(from.join("d")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("large"), vec![b'x'; 1001]).unwrap();
        for n in 0..100 {
            fs::write(from.join("d").join(n.to_string()), "").unwrap();
        }
        let copy = |path: &str| copy_beneath(&from, &to, Path::new(path), &mut MUCH.clone());
        assert!(copy("large").unwrap_err().to_string().contains("too large"));
        assert!(copy("d").unwrap_err().to_string().contains("too many"));
    }

    #[test]
    fn a_link_leads_to_the_same_path() {
        let tmp = tempfile::tempdir().unwrap();
        let (from, to) = (tmp.path().join("from"), tmp.path().join("to"));
        fs::create_dir_all(from.join("node_modules")).unwrap();
        fs::create_dir_all(&to).unwrap();
        let link = |path: &str| link_beneath(&from, &to, Path::new(path));
        assert_eq!(link("node_modules").unwrap(), Provided::Done);
        assert_eq!(fs::read_link(to.join("node_modules")).unwrap(), from.join("node_modules"));
        assert_eq!(link("node_modules").unwrap(), Provided::Exists);
        assert_eq!(link("none").unwrap(), Provided::Missing);
        symlink("/", from.join("root")).unwrap();
        assert!(link("root").is_err() && link("root/etc").is_err() && link("../x").is_err());
        symlink("/tmp", to.join("away")).unwrap();
        fs::create_dir(from.join("away")).unwrap();
        fs::write(from.join("away/x"), "").unwrap();
        assert!(link("away/x").is_err(), "the target's links are not followed either");
    }
}
