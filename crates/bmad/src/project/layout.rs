//! Paths of skills and marker, for each agent.

use std::path::{Path, PathBuf};

use crate::Project;
use crate::project::files::{is_below, tidy};
use crate::provider;

const SKILL: &str = "bmad-story-automator";
const MARKER: &str = ".story-automator-active";

/// Parent directories of the agents' skills, in search order.
const FOLDERS: [&str; 3] = [".agents", ".claude", ".codex"];

/// If our own skill's directory is configured, its parent is used.
fn configured_root(project: &Project) -> Option<PathBuf> {
    let given = tidy(&project.root.join(project.skills_root.as_ref()?));
    let is_own = given.file_name().is_some_and(|name| name == SKILL);
    Some(if is_own { given.parent()?.to_owned() } else { given })
}

fn own_root(project: &Project) -> Option<PathBuf> {
    project.own_skill.as_ref()?.parent().map(Path::to_owned)
}

/// Directories of skills, in search order.
pub fn skill_roots(project: &Project) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = configured_root(project).into_iter().collect();
    roots.extend(own_root(project));
    for folder in FOLDERS {
        roots.push(project.root.join(folder).join("skills"));
    }
    for folder in [".codex", ".claude"] {
        roots.extend(project.home.as_ref().map(|home| home.join(folder).join("skills")));
    }
    roots
}

/// The default directory for a missing skill.
pub(crate) fn usual_skill_root(project: &Project) -> PathBuf {
    project.root.join(".claude/skills")
}

/// The marker of the project's active run: as configured, else beside the installed skills.
pub fn marker_path(project: &Project) -> PathBuf {
    if let Some(given) = &project.marker {
        return tidy(&project.root.join(given));
    }
    let is_kept_by_agent = |root: &PathBuf| {
        let folder = root.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        folder.is_some_and(|folder| FOLDERS.contains(&folder))
    };
    let root = configured_root(project).or_else(|| own_root(project).filter(is_kept_by_agent));
    let installed = || {
        let folders = FOLDERS.iter().map(|folder| project.root.join(folder).join("skills"));
        folders.into_iter().find(|root| root.join(SKILL).join("SKILL.md").is_file())
    };
    let root = root.or_else(installed).filter(|root| is_below(root, &project.root));
    let usual =
        || project.root.join(if provider(project) == "codex" { ".agents" } else { ".claude" });
    root.and_then(|root| root.parent().map(Path::to_owned)).unwrap_or_else(usual).join(MARKER)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn marker(change: impl FnOnce(&mut Project)) -> String {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        let mut project = Project { root: root.clone(), ..Project::default() };
        change(&mut project);
        let path = marker_path(&project);
        path.strip_prefix(&root).map_or(path.clone(), Path::to_owned).display().to_string()
    }

    fn install(project: &Project, folder: &str) {
        let skill = project.root.join(folder).join("skills").join(SKILL);
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), "x").unwrap();
    }

    #[test]
    fn the_marker_is_found() {
        assert_eq!(marker(|_| {}), ".claude/.story-automator-active");
        let codex = |project: &mut Project| project.provider = Some("CODEX".to_owned());
        assert_eq!(marker(codex), ".agents/.story-automator-active");
        assert_eq!(marker(|project| install(project, ".codex")), ".codex/.story-automator-active");
        assert_eq!(marker(|project| project.marker = Some("run/m.json".into())), "run/m.json");
        assert_eq!(marker(|project| project.marker = Some("/x/m.json".into())), "/x/m.json");
        let root = |root: &'static str| {
            move |project: &mut Project| project.skills_root = Some(root.into())
        };
        assert_eq!(marker(root(".codex/skills")), ".codex/.story-automator-active");
        assert_eq!(
            marker(root(".agents/skills/bmad-story-automator")),
            ".agents/.story-automator-active"
        );
        assert_eq!(marker(root("/x/.codex/skills")), ".agents/.story-automator-active");
        let both = |project: &mut Project| {
            install(project, ".claude");
            install(project, ".codex");
            project.provider = Some("claude".to_owned());
        };
        assert_eq!(marker(both), ".claude/.story-automator-active");
    }
}
