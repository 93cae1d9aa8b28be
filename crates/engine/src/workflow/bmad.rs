//! The stories of a BMAD project, as items of a run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use dogwatch_bmad::format::agent_config::{self, TASKS};
use dogwatch_bmad::format::complexity::Rules;
use dogwatch_bmad::format::epic_file::{self, EpicFile};
use dogwatch_bmad::format::keys::{self, KnownEpics, StoryId};
use dogwatch_bmad::format::sprint::Sprint;
use dogwatch_core::workflow::{AgentChoice, Item};

use super::git::Tree;
use super::planner::{Complexity, Planned, Wanted};
use crate::error::WorkflowError;
use crate::observe::agents;
use crate::{Context, Error};
use dogwatch_bmad::policy::load::{self, Need};
use dogwatch_bmad::provider;
use dogwatch_bmad::{Project, Stories, read_text};

/// Files that may hold all epics, if there is no file per epic.
const EPICS: [&str; 6] = [
    "_bmad-output/planning-artifacts/epics.md",
    "_bmad-output/epics.md",
    "docs/epics/epics.md",
    "docs/epics.md",
    "docs/bmad/planning-artifacts/epics.md",
    "epics.md",
];

/// Limit for all epics together; a single file has a lower one.
const MOST_EPICS: usize = 64 * 1024 * 1024;

/// Finds the requested stories that are not done, and their agents.
pub(super) fn items(
    context: &Context,
    planned: &mut Planned,
    wanted: &Wanted,
    builds: bool,
) -> Result<(), Error> {
    let stories = Stories::new(&planned.project);
    planned.settings.artifacts = stories.artifacts_below_root()?;
    let file = stories.sprint_file()?;
    let sprint =
        stories.sprint()?.ok_or_else(|| WorkflowError::NoSprintStatus { file: file.clone() })?;
    let known = stories.known_epics()?;
    limits(planned, wanted, builds)?;
    let mut found = rows(&sprint, &known);
    if builds {
        for (id, _, status) in &mut found {
            let spec = super::builds::in_artifacts(&planned.project, &id.to_string())?.pop();
            if spec.is_some_and(|(_, spec)| spec.status == "done") {
                "done".clone_into(status);
            }
        }
    }
    if let Some(epic) = &wanted.epic {
        found.retain(|(id, ..)| id.epic == *epic);
        if found.is_empty() {
            return Err(WorkflowError::NoStoriesOfEpic { file, epic: epic.clone() }.into());
        }
    }
    if let Some(list) = &wanted.items {
        found = chosen(&found, list, &known)?;
    }
    let done: Vec<String> = found
        .iter()
        .filter(|(.., status)| status == "done")
        .map(|(id, ..)| id.to_string())
        .collect();
    if !done.is_empty() && (wanted.items.is_some() || done.len() == found.len()) {
        planned.notes.push(format!("already done: {}", done.join(", ")));
    }
    found.retain(|(.., status)| status != "done");
    if found.is_empty() {
        return Err(WorkflowError::AllDone.into());
    }
    let epics = epic_texts(&stories, &known, &found)?;
    let crews = Crews::find(context, wanted);
    let ids: Vec<&StoryId> = found.iter().map(|(id, ..)| id).collect();
    let names: HashSet<String> = ids.iter().map(ToString::to_string).collect();
    let in_epics = epic_file::by_id(&epics);
    let dependents_of = epic_file::all_dependents(&epics, &ids);
    for (id, key, _) in &found {
        let in_epic = in_epics.get(id);
        let parts = in_epic.map(|story| {
            (story.title.clone(), Rules::built_in().judge(&story.title, &story.parts()))
        });
        let (title, complexity) =
            parts.map_or_else(|| (title_of(key, id), None), |(t, c)| (t, Some(c)));
        let level = complexity.as_ref().map_or("Medium", |c| c.level);
        let agents = if builds {
            BTreeMap::new()
        } else {
            configured(planned, wanted, level).unwrap_or_else(|| crews.of(level))
        };
        if let Some(c) = complexity {
            let shown =
                Complexity { level: c.level.to_owned(), score: c.score, reasons: c.reasons };
            planned.complexity.insert(id.to_string(), shown);
        }
        let dependents = dependents_of.get(id).map(Vec::as_slice).unwrap_or_default();
        for other in dependents {
            if names.contains(other) {
                planned.after.entry(other.clone()).or_default().push(id.to_string());
            }
        }
        planned.plan.items.push(Item {
            id: id.to_string(),
            key: key.clone(),
            title,
            group: Some(id.epic.clone()),
            blocking: !dependents.is_empty(),
            agents,
            ..Item::default()
        });
    }
    for item in &mut planned.plan.items {
        item.after = planned.after.get(&item.id).cloned().unwrap_or_default();
    }
    let retro = configured_for(planned, wanted, "retro", "medium");
    planned.plan.group_agents.insert("retro".into(), retro.unwrap_or_else(|| crews.careful()));
    Ok(())
}

/// The agents of a story's steps, as configured for story-automator.
fn configured(
    planned: &Planned,
    wanted: &Wanted,
    level: &str,
) -> Option<BTreeMap<String, AgentChoice>> {
    let level = level.to_lowercase();
    let of = |step: &str| Some((step.to_owned(), configured_for(planned, wanted, step, &level)?));
    TASKS.iter().map(|step| of(step)).collect()
}

fn configured_for(
    planned: &Planned,
    wanted: &Wanted,
    step: &str,
    level: &str,
) -> Option<AgentChoice> {
    let home = Project { root: planned.project.clone(), ..wanted.home.clone() };
    let chosen = agent_config::choose(wanted.config.as_ref()?, step, level, provider(&home));
    Some(AgentChoice { primary: chosen.primary, fallback: chosen.fallback, model: chosen.model })
}

/// Cycles and retries from the project's policy; fails if the policy is not usable.
fn limits(planned: &mut Planned, wanted: &Wanted, builds: bool) -> Result<(), Error> {
    let home = Project { root: planned.project.clone(), ..wanted.home.clone() };
    let policy = match load::load(&home, None, Need::Skills) {
        Ok(policy) => policy,
        Err(_) if builds => return Ok(()),
        Err(fault) => {
            let policy = load::load(&home, None, Need::Texts).map_err(WorkflowError::BadPolicy)?;
            planned.notes.push(format!("{fault}; agents get only the names of workflows"));
            policy
        }
    };
    planned.plan.cycles = u32::try_from(policy.max_review_cycles()).ok().filter(|n| *n > 0);
    planned.plan.crash_retries = u32::try_from(policy.max_crash_retries()).ok();
    Ok(())
}

fn no_story(story: &str) -> Error {
    WorkflowError::NoSuchStory { story: story.to_owned(), place: "sprint status".to_owned() }.into()
}

type Found = (StoryId, String, String);

/// All stories of the sprint status, in its order, once each.
fn rows(sprint: &Sprint, known: &KnownEpics) -> Vec<Found> {
    let rows = sprint.stories(known).into_iter();
    // `epic-1` and its retrospective are not stories.
    rows.filter(|(_, row)| !row.key.starts_with("epic-"))
        .map(|(id, row)| (id, row.key.clone(), row.status.clone()))
        .collect()
}

/// The stories of a list like `1.2,1.4-1.6`.
fn chosen(found: &[Found], list: &str, known: &KnownEpics) -> Result<Vec<Found>, Error> {
    if list.trim().eq_ignore_ascii_case("all") {
        return Ok(found.to_vec());
    }
    let at: HashMap<&StoryId, usize> =
        found.iter().enumerate().map(|(at, (id, ..))| (id, at)).collect();
    let place = |text: &str| -> Result<usize, Error> {
        let meant = keys::read(text.trim(), known);
        let at = meant.and_then(|meant| at.get(&meant.id).copied());
        at.ok_or_else(|| no_story(text))
    };
    let mut places = std::collections::BTreeSet::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        // A dash may be part of a key, so try the whole text first.
        if let Ok(at) = place(part) {
            places.insert(at);
            continue;
        }
        let (from, to) = part.split_once('-').ok_or_else(|| no_story(part))?;
        let (from, to) = (place(from)?, place(to)?);
        places.extend(from.min(to)..=from.max(to));
    }
    Ok(places.into_iter().filter_map(|at| found.get(at).cloned()).collect())
}

/// Reads the epics that contain the stories.
fn epic_texts(
    stories: &Stories,
    known: &KnownEpics,
    found: &[Found],
) -> Result<Vec<EpicFile>, Error> {
    let files = stories.epic_files()?;
    let mut seen = HashSet::new();
    let epics = found.iter().map(|(id, ..)| id.epic.as_str()).filter(|epic| seen.insert(*epic));
    let mut paths: Vec<PathBuf> = epics.filter_map(|epic| files.of(epic)).collect();
    paths.extend(EPICS.iter().map(|place| stories.root().join(place)));
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    let (mut read, mut length) = (Vec::new(), 0);
    for path in paths {
        if let Some(text) = read_text(stories.root(), &path)? {
            length += text.len();
            if length > MOST_EPICS {
                return Err(WorkflowError::EpicsTooLarge { mebibytes: MOST_EPICS >> 20 }.into());
            }
            read.push(EpicFile::read(&text, known));
        }
    }
    Ok(read)
}

/// The title in a key: `1-2-password-reset` becomes `password reset`.
fn title_of(key: &str, id: &StoryId) -> String {
    let words = key
        .strip_prefix(&id.prefix())
        .unwrap_or_default()
        .trim_start_matches('-')
        .replace('-', " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().collect::<String>() + letters.as_str(),
        None => format!("Story {id}"),
    }
}

/// Which agents are installed.
struct Crews {
    claude: bool,
    codex: bool,
}

impl Crews {
    fn find(context: &Context, wanted: &Wanted) -> Self {
        let is_there = |name: &str| {
            let program = agents::profile(context, name).map(|profile| profile.program);
            program.is_ok_and(|p| {
                agents::find_program(&p, &context.path, std::path::Path::new("/")).is_some()
            })
        };
        // With an agent named by the user, no other has to be installed.
        let all_named = wanted.agent.is_some();
        Self { claude: all_named || is_there("claude"), codex: all_named || is_there("codex") }
    }

    fn careful(&self) -> AgentChoice {
        let primary = if self.claude || !self.codex { "claude" } else { "codex" };
        AgentChoice { primary: primary.into(), fallback: None, model: None }
    }

    /// claude does simple stories; codex does harder ones, with claude as fallback. claude reviews: codex tends to end a review
    /// without a result.
    fn of(&self, level: &str) -> BTreeMap<String, AgentChoice> {
        let both = self.claude && self.codex && level != "Low";
        let work = if both {
            AgentChoice { primary: "codex".into(), fallback: Some("claude".into()), model: None }
        } else {
            self.careful()
        };
        let mut crews: BTreeMap<String, AgentChoice> =
            ["create", "dev", "auto"].map(|step| (step.to_owned(), work.clone())).into();
        crews.insert("review".into(), self.careful());
        crews
    }
}

/// A worktree contains only files that git tracks.
pub(super) fn can_be_side_by_side(planned: &Planned, tree: &Tree) -> Result<(), Error> {
    let stories = Stories::new(&planned.project);
    let sprint = stories.sprint_file()?;
    let shown =
        sprint.strip_prefix(&planned.project).unwrap_or(&sprint).to_string_lossy().into_owned();
    if tree.has(&shown) {
        return Ok(());
    }
    Err(WorkflowError::NotCommitted { file: shown }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_stories_selects_ids_ranges_and_keys() {
        let text = "development_status:\n  epic-1: x\n  1-1-a: done\n  1-2-b: review\n  1-3-c: backlog\n  epic-1-retrospective: optional\n  2-1-d: backlog\n";
        let known = KnownEpics::default();
        let found = rows(&Sprint::read(text), &known);
        let ids = |found: &[Found]| found.iter().map(|(id, ..)| id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&found), ["1.1", "1.2", "1.3", "2.1"]);
        for (list, want) in [
            ("1.2", &["1.2"][..]),
            ("1.2-2.1", &["1.2", "1.3", "2.1"]),
            ("2.1, 1.1", &["1.1", "2.1"]),
            ("1-3-c", &["1.3"]),
            ("all", &["1.1", "1.2", "1.3", "2.1"]),
        ] {
            assert_eq!(ids(&chosen(&found, list, &known).unwrap()), want, "{list}");
        }
        assert!(chosen(&found, "9.9", &known).is_err());
        assert_eq!(title_of("1-2-password-reset", &found[1].0), "Password reset");
    }
}
