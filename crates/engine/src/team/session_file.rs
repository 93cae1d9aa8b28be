//! A team's session file: finding it, and changing it while people edit it too.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::id::is_id;
use dogwatch_core::session_file::{FileProblem, SessionFile};
use dogwatch_store::{ProjectFile, StoreError, edit_shared, read_shared};
use jiff::Zoned;

use crate::Error;
use crate::error::TeamError;

/// Default directory, below the project's root.
const FOLDER: &str = ".agents/orchestration";
const BMAD_FOLDER: &str = "_bmad-output/sessions";
const BMAD_NAME: &str = "agent-sessions.md";
/// How long to wait for another process that creates the file.
const MAKING: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(2);

/// Hints to the file's location; the first one that is set counts.
#[derive(Debug, Clone, Default)]
pub struct Whereabouts {
    pub file: Option<PathBuf>,
    /// `BMAD_SESSION_ID`.
    pub bmad_session: Option<String>,
    pub project: PathBuf,
}

/// A session file that exists or may be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamFile {
    path: PathBuf,
    project: PathBuf,
    /// No file exists and none was named: another process may be creating one under another name now.
    is_new: bool,
}

impl TeamFile {
    /// A file of a project, or one that a person named.
    pub fn at(project: &Path, path: PathBuf) -> Self {
        // One path for one file, however it was reached.
        let file = ProjectFile::named(Some(project), &path);
        let path = file.map(|file| file.path()).unwrap_or(path);
        Self { path, project: project.to_owned(), is_new: false }
    }

    /// Fails if a link of the project leads to it.
    fn file(&self) -> Result<ProjectFile, Error> {
        ProjectFile::named(Some(&self.project), &self.path)
            .map_err(Error::io(format!("find {}", self.path.display())))
    }

    /// The existing file; fails if there is none.
    pub fn find(about: &Whereabouts) -> Result<Self, Error> {
        let path = from_hints(about)?.or_else(|| newest(&about.project));
        let path = path.filter(|path| path.exists());
        path.map(|path| Self::at(&about.project, path))
            .ok_or_else(|| Error::Team(TeamError::NoSessionFile { project: about.project.clone() }))
    }

    /// The existing file, or the one that an edit will create.
    pub fn find_or_name(about: &Whereabouts, now: &Zoned) -> Result<Self, Error> {
        let stamp = now.strftime("%y%m%d-%H%M%S");
        let new = || about.project.join(FOLDER).join(format!("session-{stamp}.md"));
        let found = from_hints(about)?.or_else(|| newest(&about.project));
        let is_new = found.is_none();
        Ok(Self { is_new, ..Self::at(&about.project, found.unwrap_or_else(new)) })
    }

    /// Creates the file if there is none. Agents that start together get the same file, although the default name contains the second
    /// in which it was chosen.
    pub fn made(&self) -> Result<Self, Error> {
        if !self.is_new {
            return Ok(self.clone());
        }
        let _one_at_a_time = self.lock_project()?;
        if let Some(path) = newest(&self.project) {
            return Ok(Self::at(&self.project, path));
        }
        self.edit(|_| Ok(()))?;
        Ok(Self { is_new: false, ..self.clone() })
    }

    /// Locks the project's directory: it exists before any file of ours, and the lock leaves nothing behind.
    fn lock_project(&self) -> Result<File, Error> {
        let failed = |source| Error::io(format!("lock {}", self.project.display()))(source);
        let folder = File::open(&self.project).map_err(failed)?;
        let begun = Instant::now();
        loop {
            match folder.try_lock() {
                Ok(()) => return Ok(folder),
                // sleep: the kernel has no wait for a lock with a time limit.
                Err(TryLockError::WouldBlock) if begun.elapsed() < MAKING => thread::sleep(AGAIN),
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy { path: self.project.clone() }.into());
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn read(&self) -> Result<SessionFile, Error> {
        let text = read_shared(&self.file()?)?.ok_or_else(|| {
            Error::Team(TeamError::NoSessionFile {
                project: self.path.parent().unwrap_or(Path::new(".")).to_owned(),
            })
        })?;
        let file = SessionFile::parse(&text);
        file.check().map_err(|problem| self.problem(problem))?;
        Ok(file)
    }

    /// Changes the file under a lock and without losing what others saved; creates it if it is missing. `change` may
    /// be called more than once.
    pub fn edit<T>(
        &self,
        mut change: impl FnMut(&mut SessionFile) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let shared = self.file()?;
        let folder = self.path.parent().unwrap_or(Path::new(".")).display();
        shared.make_parent().map_err(Error::io(format!("make {folder}")))?;
        edit_shared(&shared, |text| {
            let mut file = text.map_or_else(SessionFile::new, SessionFile::parse);
            file.check().map_err(|problem| self.problem(problem))?;
            let value = change(&mut file)?;
            Ok((file.render(), value))
        })
    }

    pub fn problem(&self, problem: FileProblem) -> Error {
        Error::Team(TeamError::BadSessionFile { path: self.path.clone(), problem })
    }
}

fn from_hints(about: &Whereabouts) -> Result<Option<PathBuf>, Error> {
    if let Some(file) = &about.file {
        return Ok(Some(file.clone()));
    }
    let Some(id) = &about.bmad_session else { return Ok(None) };
    // It becomes part of a path.
    if !is_id(id) {
        return Err(TeamError::BadBmadSession { id: id.clone() }.into());
    }
    Ok(Some(about.project.join(BMAD_FOLDER).join(id).join(BMAD_NAME)))
}

/// The file that was changed last; of several with the same time, the last by name.
fn newest(project: &Path) -> Option<PathBuf> {
    let entries =
        fs::read_dir(project.join(FOLDER)).logged_unless_missing("list a folder")?.flatten();
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        let begins = entry.file_name().to_string_lossy().starts_with("session-");
        let is_one = begins && path.extension().is_some_and(|end| end == "md");
        let changed = fs::metadata(&path)
            .logged_unless_missing("look at a file")
            .filter(|meta| is_one && meta.is_file())?;
        Some((changed.modified().logged("read when a file was changed")?, path))
    });
    found.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    fn name(about: &Whereabouts) -> PathBuf {
        let now: Zoned = "2026-11-15T08:13:18[UTC]".parse().unwrap();
        let file = TeamFile::find_or_name(about, &now).unwrap();
        file.path().strip_prefix(&about.project).unwrap().to_owned()
    }

    #[test]
    fn the_first_hint_decides() {
        let tmp = tempfile::tempdir().unwrap();
        let project = tmp.path().canonicalize().unwrap();
        let mut about = Whereabouts { project: project.clone(), ..Whereabouts::default() };
        assert_eq!(name(&about), Path::new(".agents/orchestration/session-261115-081318.md"));
        assert!(matches!(
            TeamFile::find(&about),
            Err(Error::Team(TeamError::NoSessionFile { .. }))
        ));
        let folder = project.join(FOLDER);
        fs::create_dir_all(folder.join("session-0.md")).unwrap();
        for (name, age) in
            [("session-a.md", 10), ("session-b.md", 5), ("session-c.txt", 0), ("x.md", 0)]
        {
            fs::write(folder.join(name), "").unwrap();
            let at = SystemTime::now() - Duration::from_secs(age);
            File::options().append(true).open(folder.join(name)).unwrap().set_modified(at).unwrap();
        }
        assert_eq!(name(&about), Path::new(".agents/orchestration/session-b.md"), "the newest");
        about.bmad_session = Some("s7".into());
        assert_eq!(name(&about), Path::new("_bmad-output/sessions/s7/agent-sessions.md"));
        about.file = Some(project.join("mine.md"));
        assert_eq!(name(&about), Path::new("mine.md"));
        about =
            Whereabouts { bmad_session: Some("../x".into()), project, ..Whereabouts::default() };
        assert!(TeamFile::find(&about).is_err());
    }

    #[test]
    fn a_half_saved_file_is_not_edited() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("s.md");
        fs::write(&path, "# x\n```\n").unwrap();
        let file = TeamFile::at(tmp.path(), path.clone());
        let error = file.edit(|file| Ok(file.add_task("dev", "x", 0))).unwrap_err();
        assert_eq!(error.code(), "bad_session_file");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# x\n```\n");
    }

    /// Started together, but in different seconds: one team has one file.
    #[test]
    fn agents_that_start_together_get_one_file() {
        let tmp = tempfile::tempdir().unwrap();
        let project = tmp.path().canonicalize().unwrap();
        let about = Whereabouts { project: project.clone(), ..Whereabouts::default() };
        let named: Vec<TeamFile> = (10..18)
            .map(|second| format!("2026-11-15T08:13:{second}[UTC]").parse::<Zoned>().unwrap())
            .map(|now| TeamFile::find_or_name(&about, &now).unwrap())
            .collect();
        let mut made: Vec<PathBuf> = thread::scope(|scope| {
            let hands: Vec<_> = named
                .iter()
                .map(|file| scope.spawn(|| file.made().unwrap().path().to_owned()))
                .collect();
            hands.into_iter().map(|hand| hand.join().unwrap()).collect()
        });
        made.dedup();
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!(newest(&project).as_ref(), made.first());
        let files = fs::read_dir(project.join(FOLDER)).unwrap().flatten();
        let is_one = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|e| e == "md");
        assert_eq!(files.filter(is_one).count(), 1);
        // A named file is used as it is.
        let mine = Whereabouts { file: Some(project.join("mine.md")), ..about };
        let now: Zoned = "2026-11-15T08:13:18[UTC]".parse().unwrap();
        let mine = TeamFile::find_or_name(&mine, &now).unwrap();
        assert_eq!(mine.made().unwrap().path(), project.join("mine.md"));
    }
}
