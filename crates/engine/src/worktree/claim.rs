//! Whether a folder is the very one that dogwatch made. Its path does not say it: agents can put a link or another folder in its
//! place. What says it is the folder itself, by its inode, and git: its `.git` file names a note below git's directory, and that
//! note names the folder, and the session that it was made for.

use std::fs;
use std::io;
use std::path::Path;

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_store::{Identity, LinkInProject, OwnFolder, Worktree, tidy};

use super::owner;
use super::repository::path_of;
use crate::Error;

/// More than any path, id or reason.
const LONGEST: u64 = 16 * 1024;

/// The folder that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// git's directory that all worktrees share.
    pub common: &'a Path,
    /// Where it was made, without links.
    pub folder: &'a Path,
    /// The session that it was made for, if it was made for one.
    pub session: Option<&'a str>,
    /// Which one git made, if that was recorded.
    pub identity: Option<Identity>,
}

impl<'a> Wanted<'a> {
    pub fn of(worktree: &'a Worktree) -> Self {
        let Worktree { repository: common, folder, session, identity, .. } = worktree;
        Self { common, folder, session: Some(session.as_str()), identity: *identity }
    }

    fn is_of_another(self, found: Option<&str>) -> bool {
        self.session.is_some_and(|session| owner::is_another(found, session))
    }
}

/// What is at a path.
#[derive(Debug)]
pub enum Found {
    Missing,
    /// Something else, or nobody can tell. It is left alone.
    Other(String),
    /// Open, so that it stays this one whatever is done to its path.
    Ours(OwnFolder),
}

/// Looks at the place where it was made.
pub fn find(wanted: Wanted<'_>) -> Result<Found, Error> {
    let folder = match opened(wanted, wanted.folder)? {
        Ok(folder) => folder,
        Err(found) => return Ok(found),
    };
    Ok(match of_git(wanted, &folder)? {
        Named::Ours => Found::Ours(folder),
        Named::Other(why) => Found::Other(why.into()),
        Named::Nothing => Found::Other(NOT_OURS.into()),
    })
}

/// The same where it was put to be deleted. Its `.git` is the last that goes.
pub fn find_parked(wanted: Wanted<'_>, parked: &Path) -> Result<Found, Error> {
    let folder = match opened(wanted, parked)? {
        Ok(folder) => folder,
        Err(found) => return Ok(found),
    };
    let looking = || Error::io(format!("look at {}", parked.display()));
    Ok(match of_git(wanted, &folder)? {
        Named::Ours => Found::Ours(folder),
        Named::Other(why) => Found::Other(why.into()),
        Named::Nothing if wanted.identity.is_some() || folder.is_empty().map_err(looking())? => {
            Found::Ours(folder)
        }
        Named::Nothing => Found::Other(format!(
            "{} may not be what is left of it; if it is, delete it",
            parked.display()
        )),
    })
}

/// Which folder was just made.
pub fn identity(folder: &Path) -> Result<Identity, Error> {
    let looked = || OwnFolder::at(folder)?.ok_or(io::ErrorKind::NotFound)?.identity();
    looked().map_err(Error::io(format!("look at {}", folder.display())))
}

/// Whether the folder of this record is the one that it is about. What cannot be read is not.
pub fn is_there(worktree: &Worktree) -> bool {
    let found = find(Wanted::of(worktree)).logged("look at a worktree");
    matches!(found, Some(Found::Ours(_)))
}

/// Why the folder of this record is not touched, if something else is there.
pub fn other(worktree: &Worktree) -> Result<Option<String>, Error> {
    Ok(match find(Wanted::of(worktree))? {
        Found::Other(why) => Some(why),
        Found::Missing | Found::Ours(_) => None,
    })
}

fn opened(wanted: Wanted<'_>, at: &Path) -> Result<Result<OwnFolder, Found>, Error> {
    let looking = || Error::io(format!("look at {}", at.display()));
    let folder = match OwnFolder::at(at) {
        Ok(Some(folder)) => folder,
        Ok(None) => return Ok(Err(Found::Missing)),
        Err(error) => return Ok(Err(Found::Other(not_a_folder(error).map_err(looking())?))),
    };
    if let Some(made) = wanted.identity {
        let now = folder.identity().map_err(looking())?;
        // Only the inode: the number of a device may be another one after a reboot. On the other hand a folder of another file
        // system that has the same inode is not named by git's note.
        if now.inode != made.inode {
            let why = "it is not the folder that dogwatch made, which was replaced";
            return Ok(Err(Found::Other(why.into())));
        }
    }
    Ok(Ok(folder))
}

/// In words, if that is what is wrong.
fn not_a_folder(error: io::Error) -> Result<String, io::Error> {
    let link = error.get_ref().and_then(|inner| inner.downcast_ref::<LinkInProject>());
    if let Some(link) = link {
        let path = link.path.display();
        return Ok(format!("{path} is a symbolic link by now, which dogwatch does not follow"));
    }
    if error.kind() == io::ErrorKind::NotADirectory {
        return Ok("it is not a folder any more".into());
    }
    Err(error)
}

const NOT_OURS: &str = "it is not a worktree of this repository any more";

/// What a folder's `.git` file names.
enum Named {
    Ours,
    Other(&'static str),
    /// It has none.
    Nothing,
}

fn of_git(wanted: Wanted<'_>, folder: &OwnFolder) -> Result<Named, Error> {
    let Some(text) = folder.read(".git", LONGEST).logged("read a worktree's git file").flatten()
    else {
        return Ok(Named::Nothing);
    };
    let no = |why| Ok(Named::Other(why));
    let Some(path) = text.trim_ascii_end().strip_prefix(b"gitdir: ") else { return no(NOT_OURS) };
    let dir = tidy(&wanted.folder.join(path_of(path)));
    let Some(name) = dir.file_name() else { return no(NOT_OURS) };
    let notes = wanted.common.join("worktrees");
    if dir.parent().is_none_or(|parent| owner::real(parent) != owner::real(&notes)) {
        return no(NOT_OURS);
    }
    let Some(note) = Note::open(&notes.join(name))? else { return no(NOT_OURS) };
    if !note.names(wanted.folder) {
        return no("git expects that worktree elsewhere");
    }
    if wanted.is_of_another(note.session().as_deref()) {
        return no("it is the worktree of another session by now");
    }
    Ok(Named::Ours)
}

/// What git keeps of a worktree below the directory that all of them share.
#[derive(Debug)]
struct Note {
    folder: OwnFolder,
}

impl Note {
    /// `None` if there is none, or a link to one.
    fn open(path: &Path) -> Result<Option<Self>, Error> {
        match OwnFolder::at(path) {
            Ok(folder) => Ok(folder.map(|folder| Self { folder })),
            Err(error) => {
                not_a_folder(error).map_err(Error::io(format!("look at {}", path.display())))?;
                Ok(None)
            }
        }
    }

    /// All that are about this folder.
    fn about(common: &Path, folder: &Path) -> Result<Vec<Self>, Error> {
        let notes = common.join("worktrees");
        let Some(entries) = fs::read_dir(&notes).logged_unless_missing("read a folder") else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            found.extend(Self::open(&entry.path())?.filter(|note| note.names(folder)));
        }
        Ok(found)
    }

    fn text(&self, name: &str) -> Option<Vec<u8>> {
        let text = self.folder.read(name, LONGEST).logged("read what git keeps of a worktree");
        Some(text??.trim_ascii_end().to_owned())
    }

    fn session(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.text(owner::FILE)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Whether it is about the worktree in that folder. The folder itself may be a link by now, and is not followed.
    fn names(&self, folder: &Path) -> bool {
        let Some(text) = self.text("gitdir") else { return false };
        // Relative if `worktree.useRelativePaths` is set.
        let path = tidy(&self.folder.path().join(path_of(&text)));
        let is_git = path.file_name().is_some_and(|name| name == ".git");
        is_git && path.parent().is_some_and(|path| owner::place(path) == owner::place(folder))
    }

    /// Why it is locked; may be empty.
    fn locked(&self) -> Option<String> {
        self.text("locked").map(|why| String::from_utf8_lossy(&why).trim().to_owned())
    }
}

/// Whether git has locked the worktree in that folder, and why.
pub fn locked(wanted: Wanted<'_>) -> Result<Option<String>, Error> {
    Ok(Note::about(wanted.common, wanted.folder)?.iter().find_map(Note::locked))
}

/// Removes what git keeps of a worktree whose folder is gone, as `git worktree remove` does, which would follow a link that takes
/// the folder's place meanwhile. Notes of other worktrees stay, also of those whose disk is not mounted now. Returns why one of this
/// worktree stays.
pub fn forget(wanted: Wanted<'_>, locked_too: bool) -> Result<Option<String>, Error> {
    if wanted.folder.symlink_metadata().is_ok() {
        return Ok(Some("something else is at its place by now".into()));
    }
    for note in Note::about(wanted.common, wanted.folder)? {
        if wanted.is_of_another(note.session().as_deref()) {
            continue;
        }
        if let Some(why) = note.locked().filter(|_| !locked_too) {
            return Ok(Some(super::remove::is_locked(&why)));
        }
        let path = note.folder.path().to_owned();
        let removing = || Error::io(format!("remove {}", path.display()));
        // By this file the rest is found again if we are killed.
        note.folder.empty_but("gitdir").map_err(removing())?;
        note.folder.remove().map_err(removing())?;
    }
    // As git does with the last one.
    match fs::remove_dir(wanted.common.join("worktrees")) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
        removed => {
            removed.logged_unless_missing("remove a folder");
        }
    }
    Ok(None)
}
