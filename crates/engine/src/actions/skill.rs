//! Putting a skill where an agent finds it, and taking it away again. A file that dogwatch did not write, or that was changed since, is
//! never touched.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::skill::{self, Ownership};
use dogwatch_store::{MOST_TEXT, ProjectFile, Readers};

use crate::Error;
use crate::error::SystemError;

/// What was done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Written,
    Unchanged,
    Removed,
    Missing,
}

/// The same place with the person's own links resolved as far as directories exist: dotfiles are often links. Only for directories of the
/// user; those of a project may be anyone's.
pub fn with_own_links(root: &Path, file: &Path) -> (PathBuf, PathBuf) {
    let path = root.join(file);
    let real = path.ancestors().skip(1).find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        Some((folder.canonicalize().ok()?, rest.to_owned()))
    });
    real.unwrap_or_else(|| (root.to_owned(), file.to_owned()))
}

/// Writes the skill below a directory: the project, or the agent's own.
pub fn install(root: &Path, file: &Path, text: &str) -> Result<(PathBuf, Done), Error> {
    fs::create_dir_all(root).map_err(Error::io(format!("create {}", root.display())))?;
    let place = place(root, file)?;
    let path = place.path();
    let wanted = skill::marked(text);
    match content(&place)? {
        Some(there) if there == wanted => return Ok((path, Done::Unchanged)),
        Some(there) => must_be_ours(&path, &there)?,
        None => {}
    }
    let failed = |source| Error::from(SystemError::NotWritten { path: path.clone(), source });
    place.make_parent().map_err(failed)?;
    place.replace(wanted.as_bytes(), Readers::Usual).map_err(failed)?;
    Ok((path, Done::Written))
}

/// Removes the skill, and its directory if nothing else is in it.
pub fn remove(root: &Path, file: &Path) -> Result<(PathBuf, Done), Error> {
    let place = place(root, file)?;
    let path = place.path();
    let Some(there) = content(&place)? else { return Ok((path, Done::Missing)) };
    must_be_ours(&path, &there)?;
    place.remove().map_err(|source| SystemError::NotWritten { path: path.clone(), source })?;
    if let Some(folder) = path.parent() {
        // Not empty: there are files of others in it.
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
            fs::remove_dir(folder).logged_unless_missing("remove an empty directory");
        }
    }
    Ok((path, Done::Removed))
}

fn place(root: &Path, file: &Path) -> Result<ProjectFile, Error> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let path = root.join(file);
    ProjectFile::below(&root, &path)
        .map_err(|source| SystemError::NotWritten { path, source }.into())
}

fn content(place: &ProjectFile) -> Result<Option<String>, Error> {
    let read = place.read(MOST_TEXT);
    let bytes = read.map_err(|source| SystemError::NotRead { path: place.path(), source })?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn must_be_ours(path: &Path, content: &str) -> Result<(), Error> {
    let path = path.to_owned();
    match skill::ownership(content) {
        Ownership::Ours => Ok(()),
        Ownership::Changed => Err(SystemError::SkillChanged { path }.into()),
        Ownership::Foreign => Err(SystemError::NotOurFile { path }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_left_alone() {
        let tmp = tempfile::tempdir().unwrap();
        let (root, file) = (tmp.path().join("agent"), Path::new("skills/dogwatch/SKILL.md"));
        assert_eq!(install(&root, file, "one\n").unwrap().1, Done::Written);
        assert_eq!(install(&root, file, "one\n").unwrap().1, Done::Unchanged);
        assert_eq!(install(&root, file, "two\n").unwrap().1, Done::Written, "an older one of ours");
        fs::write(root.join("skills/dogwatch/notes.md"), "mine").unwrap();
        assert_eq!(remove(&root, file).unwrap().1, Done::Removed);
        assert!(root.join("skills/dogwatch/notes.md").exists());
        assert_eq!(remove(&root, file).unwrap().1, Done::Missing);
        fs::write(root.join(file), "mine").unwrap();
        assert_eq!(install(&root, file, "one\n").unwrap_err().code(), "not_our_file");
        assert_eq!(remove(&root, file).unwrap_err().code(), "not_our_file");
        assert_eq!(fs::read_to_string(root.join(file)).unwrap(), "mine");
        fs::write(root.join(file), format!("{}and mine\n", skill::marked("one\n"))).unwrap();
        assert_eq!(install(&root, file, "two\n").unwrap_err().code(), "skill_changed");
        fs::remove_dir_all(root.join("skills")).unwrap();
        std::os::unix::fs::symlink(tmp.path(), root.join("skills")).unwrap();
        assert!(install(&root, file, "one\n").is_err(), "a link of the project is not followed");
    }

    #[test]
    fn links_of_the_user_are_followed() {
        let tmp = tempfile::tempdir().unwrap();
        let (home, dotfiles) = (tmp.path().join("home"), tmp.path().join("dotfiles"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(dotfiles.join("skills")).unwrap();
        let (root, file) = (home.join(".claude"), Path::new("skills/dogwatch/SKILL.md"));
        let (above, below) = with_own_links(&root, file);
        assert_eq!(install(&above, &below, "one\n").unwrap().1, Done::Written, "a new directory");
        assert!(root.join(file).is_file());
        fs::remove_dir_all(&root).unwrap();
        std::os::unix::fs::symlink(&dotfiles, &root).unwrap();
        let (above, below) = with_own_links(&root, file);
        assert_eq!(install(&above, &below, "one\n").unwrap().1, Done::Written);
        assert!(dotfiles.join(file).is_file());
        let (above, below) = with_own_links(&root, file);
        assert_eq!(remove(&above, &below).unwrap().1, Done::Removed);
        assert!(!dotfiles.join("skills/dogwatch").exists());
        fs::remove_dir(dotfiles.join("skills")).unwrap();
        std::os::unix::fs::symlink(tmp.path().join("nowhere"), dotfiles.join("skills")).unwrap();
        let (above, below) = with_own_links(&root, file);
        assert!(install(&above, &below, "one\n").is_err(), "a link to nowhere");
    }
}
