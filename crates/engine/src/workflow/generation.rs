//! Detects the generation of BMAD's skills in a project, which decides the built-in workflow.

use std::path::{Path, PathBuf};

use dogwatch_bmad::builds::{self, Generation, Installed};
use dogwatch_core::workflow::{BMAD, BMAD_BUILD};

use super::builds::spec_folders;
use super::planner::Wanted;
use crate::error::WorkflowError;
use crate::{Context, Error};
use dogwatch_bmad::policy::load::{self, Need};
use dogwatch_bmad::{Project, Stories, files, skill_roots};

/// The skill that does a whole story.
pub(super) const BUILD: &str = "bmad-build-auto";
/// Required for stories; a policy may name other skills for the other steps.
const STORIES: [&str; 2] = ["bmad-create-story", "bmad-dev-story"];
/// Where earlier BMAD versions kept these as workflows.
const OLDER: [&str; 2] =
    ["_bmad/bmm/workflows/4-implementation", "bmad/bmm/workflows/4-implementation"];

/// A built-in workflow, and why it was chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) text: &'static str,
    pub(super) why: String,
}

/// The built-in workflow of that name, given in place of a file.
pub(super) fn named(file: &Path) -> Option<Generation> {
    match file.to_str()? {
        "bmad" if !file.exists() => Some(Generation::Stories),
        "bmad-build" if !file.exists() => Some(Generation::Build),
        _ => None,
    }
}

/// Chooses by the installed skills and the state of the stories, unless the user named one in `wanted`.
pub(super) fn choose(
    context: &Context,
    home: &Project,
    wanted: Option<Generation>,
) -> Result<Chosen, Error> {
    let there = installed(context, home)?;
    let is_there = |generation| match generation {
        Generation::Stories => there.stories,
        Generation::Build => there.build,
    };
    let chosen = match wanted {
        Some(generation) => is_there(generation).then_some((generation, "requested by name")),
        None => builds::choose(there),
    };
    let (generation, why) = chosen
        .ok_or_else(|| Error::Workflow(WorkflowError::NoBmad { project: home.root.clone() }))?;
    let (text, name) = match generation {
        Generation::Stories => (BMAD, "bmad"),
        Generation::Build => (BMAD_BUILD, "bmad-build"),
    };
    Ok(Chosen { text, why: format!("workflow {name}: {why}") })
}

/// A skill's file, where an agent in the project would find it.
pub(super) fn skill(context: &Context, home: &Project, name: &str) -> Option<PathBuf> {
    let mut roots = skill_roots(home);
    roots.extend(home.home.as_ref().map(|home| home.join(".agents/skills")));
    roots.extend(context.agent_roots.iter().map(|(_, root)| root.join("skills")));
    roots.into_iter().map(|root| root.join(name).join("SKILL.md")).find(|file| file.is_file())
}

fn installed(context: &Context, home: &Project) -> Result<Installed, Error> {
    let stories = Stories::new(&home.root);
    let artifacts = stories.artifacts()?;
    let begins = |start: &str| -> Result<bool, Error> {
        Ok(!files(&home.root, &artifacts, start)?.is_empty())
    };
    let is_story = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut parts = name.split('-');
        let is_number = |part: Option<&str>| {
            part.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
        };
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some()
    };
    let all = files(&home.root, &artifacts, "")?;
    let by_skills = STORIES.iter().all(|name| skill(context, home, name).is_some());
    let by_workflows = OLDER.iter().any(|folder| {
        let folder = home.root.join(folder);
        ["create-story", "dev-story"].iter().all(|name| folder.join(name).is_dir())
    });
    // A policy may name other skills for these steps.
    let by_policy = || load::load(home, None, Need::Skills).is_ok();
    Ok(Installed {
        stories: by_skills || by_workflows || by_policy(),
        build: skill(context, home, BUILD).is_some(),
        has_sprint_status: stories.sprint_file()?.is_file(),
        has_story_files: all.iter().any(is_story),
        has_specs: begins("spec-")?,
        has_stories_yaml: !spec_folders(&home.root).is_empty(),
    })
}

/// The project as the environment describes it, with this root.
pub(super) fn home(project: &Path, wanted: &Wanted) -> Project {
    Project { root: project.to_owned(), ..wanted.home.clone() }
}
