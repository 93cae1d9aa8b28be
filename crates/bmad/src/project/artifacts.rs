//! Finds a project's stories and their files.

use std::io;
use std::path::{Path, PathBuf};

use crate::format::bmm_config::{self, Outside};
use crate::format::keys::{self, KnownEpics, StoryId};
use crate::format::sprint::Sprint;
use crate::format::story_file::{self, StoryFile};

use super::texts::read_text;
use crate::project::files;

const USUAL: &str = "_bmad-output/implementation-artifacts";
const OLDER: &str = "_bmad-output";
const DOCS: &str = "docs/bmad/implementation-artifacts";
const SPRINT: &str = "sprint-status.yaml";

#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    #[error(transparent)]
    Outside(#[from] Outside),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    NotWritten { path: PathBuf, source: io::Error },
}

/// A story, by all its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    pub id: StoryId,
    pub key: String,
    /// Whether the caller gave the whole key.
    pub by_key: bool,
}

impl Story {
    pub fn prefix(&self) -> String {
        self.id.prefix()
    }
}

/// A project with stories. Everything is read again for each query: agents write these files.
#[derive(Debug, Clone)]
pub struct Stories {
    root: PathBuf,
}

impl Stories {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of story files, which may not exist yet.
    pub fn artifacts(&self) -> Result<PathBuf, StoryError> {
        Ok(self.root.join(self.artifacts_below_root()?))
    }

    /// The same, relative to the project's root.
    pub fn artifacts_below_root(&self) -> Result<String, StoryError> {
        let config = self.root.join("_bmad/bmm/config.yaml");
        let config = read_text(&self.root, &config)?.unwrap_or_default();
        if let Some(place) = bmm_config::artifacts(&config)? {
            self.stays_inside(&place)?;
            return Ok(place);
        }
        let usual_is_used = self.root.join(USUAL).join(SPRINT).is_file()
            || self.root.join(OLDER).join(SPRINT).is_file()
            || self.has_markdown(Path::new(USUAL));
        let place = if !usual_is_used && self.root.join(DOCS).is_dir() { DOCS } else { USUAL };
        Ok(place.to_owned())
    }

    /// Fails if a link leads out of the project.
    fn stays_inside(&self, place: &str) -> Result<(), Outside> {
        let (Ok(root), Ok(place)) =
            (self.root.canonicalize(), self.root.join(place).canonicalize())
        else {
            return Ok(());
        };
        if place.starts_with(root) { Ok(()) } else { Err(Outside) }
    }

    /// The existing sprint file, else the default one.
    pub fn sprint_file(&self) -> Result<PathBuf, StoryError> {
        let usual = self.artifacts()?.join(SPRINT);
        let older = self.root.join(OLDER).join(SPRINT);
        Ok(if !usual.is_file() && older.is_file() { older } else { usual })
    }

    /// `None` if the project has no sprint file.
    pub fn sprint(&self) -> Result<Option<Sprint>, StoryError> {
        let file = self.sprint_file()?;
        if file.is_dir() {
            return Ok(None);
        }
        Ok(read_text(&self.root, &file)?.map(|text| Sprint::read(&text)))
    }

    /// The named epics of this project.
    pub fn known_epics(&self) -> Result<KnownEpics, StoryError> {
        let mut epic_files = Vec::new();
        for folder in self.epic_folders()? {
            epic_files.extend(self.files(&folder, "epic-")?.iter().filter_map(|path| stem(path)));
        }
        Ok(KnownEpics::new(epic_files, self.sprint()?.unwrap_or_default().keys()))
    }

    /// Where `epic-<n>.md` files are searched.
    pub fn epic_folders(&self) -> Result<[PathBuf; 2], StoryError> {
        Ok([self.artifacts()?, self.root.join("docs/epics")])
    }

    /// `<prefix>-*.md`, sorted by name.
    pub fn story_files(&self, prefix: &str) -> Result<Vec<PathBuf>, StoryError> {
        self.files(&self.artifacts()?, &format!("{prefix}-"))
    }

    /// The story that a text names: id, prefix or key.
    pub fn story(&self, text: &str) -> Result<Option<Story>, StoryError> {
        let known = self.known_epics()?;
        let Some(meant) = keys::read(text, &known) else { return Ok(None) };
        let key = if meant.is_key {
            text.to_owned()
        } else {
            let files = self.story_files(&meant.id.prefix())?;
            let stems: Vec<String> = files.iter().filter_map(|path| stem(path)).collect();
            let sprint = self.sprint()?.unwrap_or_default();
            keys::key_of(&meant.id, stems.iter().map(String::as_str), sprint.keys(), &known)
        };
        Ok(Some(Story { id: meant.id, key, by_key: meant.is_key }))
    }

    /// The file of a story: with its exact key, else the first one with its prefix.
    pub fn file_of(&self, story: &Story) -> Result<Option<PathBuf>, StoryError> {
        let by_key = self.artifacts()?.join(format!("{}.md", story.key));
        if story.by_key && by_key.is_file() {
            return Ok(Some(by_key));
        }
        let known = self.known_epics()?;
        let is_its = |path: &PathBuf| {
            stem(path)
                .and_then(|stem| keys::read(&stem, &known))
                .is_some_and(|meant| meant.id == story.id)
        };
        Ok(self.story_files(&story.prefix())?.into_iter().find(is_its))
    }

    /// `epic-<name>.md` or `epic-<name>-….md` in the directories of epics.
    pub fn epic_file(&self, epic: &str) -> Result<Option<PathBuf>, StoryError> {
        Ok(self.epic_files()?.of(epic))
    }

    /// All epic files, for many lookups.
    pub fn epic_files(&self) -> Result<EpicFiles, StoryError> {
        let mut folders = Vec::new();
        for folder in self.epic_folders()? {
            let files = self.files(&folder, "epic-")?;
            let mut stems: Vec<String> = files.iter().filter_map(|path| stem(path)).collect();
            stems.sort_unstable();
            folders.push((stems, folder));
        }
        Ok(EpicFiles(folders))
    }

    /// Reads a story's file.
    pub fn story_file(&self, path: &Path) -> Result<StoryFile, StoryError> {
        let missing = || StoryError::Unreadable {
            path: path.to_owned(),
            source: io::ErrorKind::NotFound.into(),
        };
        Ok(story_file::read(&read_text(&self.root, path)?.ok_or_else(missing)?))
    }

    fn files(&self, folder: &Path, start: &str) -> Result<Vec<PathBuf>, StoryError> {
        files(&self.root, folder, start)
    }

    fn has_markdown(&self, folder: &Path) -> bool {
        self.files(&self.root.join(folder), "").is_ok_and(|files| !files.is_empty())
    }
}

/// Stems of `epic-….md` files, sorted, with their directory; the first directory counts.
#[derive(Debug, Clone)]
pub struct EpicFiles(Vec<(Vec<String>, PathBuf)>);

impl EpicFiles {
    /// The file of an epic: with its exact name, else the first one that begins with it.
    pub fn of(&self, epic: &str) -> Option<PathBuf> {
        let (exact, start) = (format!("epic-{epic}"), format!("epic-{epic}-"));
        self.0.iter().find_map(|(stems, folder)| {
            let has = stems.binary_search(&exact).is_ok();
            let next = || stems.get(stems.partition_point(|stem| *stem < start));
            let stem = if has { Some(&exact) } else { next().filter(|s| s.starts_with(&start)) };
            stem.map(|stem| folder.join(format!("{stem}.md")))
        })
    }
}

/// Files `<start>*.md` of a directory, sorted; empty if it is missing. Includes links, which fail when they are read.
pub fn files(root: &Path, folder: &Path, start: &str) -> Result<Vec<PathBuf>, StoryError> {
    let is_wanted = |name: &str| name.starts_with(start) && is_markdown(name);
    files::list(root, folder, true, is_wanted)
        .map_err(|source| StoryError::Unreadable { path: folder.to_owned(), source })
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "md")
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stories(files: &[(&str, &str)]) -> (tempfile::TempDir, Stories) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let stories = Stories::new(folder.path());
        (folder, stories)
    }

    #[test]
    fn the_directory_of_stories_is_found() {
        for (files, expected) in [
            (&[][..], USUAL),
            (&[("docs/bmad/implementation-artifacts/sprint-status.yaml", "")][..], DOCS),
            (
                &[
                    ("docs/bmad/implementation-artifacts/sprint-status.yaml", ""),
                    ("_bmad-output/sprint-status.yaml", ""),
                ][..],
                USUAL,
            ),
            (
                &[("_bmad/bmm/config.yaml", "output_folder: '{project-root}/o'\n")][..],
                "o/implementation-artifacts",
            ),
        ] {
            let (folder, stories) = stories(files);
            assert_eq!(stories.artifacts().unwrap(), folder.path().join(expected));
        }
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let (folder, stories) =
            stories(&[("_bmad/bmm/config.yaml", "implementation_artifacts: out\n")]);
        std::os::unix::fs::symlink("/", folder.path().join("out")).unwrap();
        assert!(matches!(stories.artifacts(), Err(StoryError::Outside(_))));
    }

    #[test]
    fn a_story_is_found_by_all_its_names() {
        let (_folder, stories) = stories(&[
            ("_bmad-output/implementation-artifacts/1-2-reset.md", "# T\n"),
            (
                "_bmad-output/implementation-artifacts/sprint-status.yaml",
                "1-2-row: done\n1-3-x: a\n",
            ),
        ]);
        let key = |text: &str| stories.story(text).unwrap().map(|story| story.key);
        assert_eq!(key("1.2").as_deref(), Some("1-2-reset"));
        assert_eq!(key("1-3").as_deref(), Some("1-3-x"));
        assert_eq!(key("1.4").as_deref(), Some("1-4"));
        assert_eq!(key("1-2-mine").as_deref(), Some("1-2-mine"));
        assert_eq!(key("zzz"), None);
    }
}
