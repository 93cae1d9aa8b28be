//! Stories that BMAD builds with one skill: what to build, the agent's prompt, and what the spec says afterwards.

use std::path::{Path, PathBuf};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_bmad::builds::{self, Entry, Spec};
use dogwatch_core::workflow::{Item, Job};
use jiff::Timestamp;

use super::planner::{Planned, Wanted};
use super::verify::Finding;
use crate::error::{AgentError, WorkflowError};
use crate::observe::agents;
use crate::workflow::run_context::RunContext;
use crate::{Context, Error};
use dogwatch_bmad::{Stories, files, read_text, read_text_to_change, remove_below, rewrite_text};

/// Where spec folders may be, from the project's root; BMAD's default comes first.
const PLACES: [&str; 5] = [
    "_bmad-output/specs",
    "_bmad-output",
    "_bmad-output/planning-artifacts",
    "specs",
    "docs/specs",
];
const LIST: &str = "stories.yaml";
/// File name prefix of the report of a build that halted before it had a spec.
const RESULT: &str = "bmad-build-auto-result-";

/// Spec folders with a `stories.yaml`, from the project's root.
pub(super) fn spec_folders(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for place in PLACES {
        let folder = root.join(place);
        let Some(entries) = std::fs::read_dir(&folder).logged_unless_missing("list a folder")
        else {
            continue;
        };
        let names = entries.flatten().take(1000).map(|entry| entry.path());
        for path in names.chain([folder.clone()]) {
            let is_one = path.join(LIST).is_file();
            if let Ok(below) = path.strip_prefix(root)
                && is_one
            {
                found.push(below.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The spec folder, if the stories come from a `stories.yaml`: one exists, and there is no sprint status or the folder was named.
pub(super) fn folder(planned: &Planned, wanted: &Wanted) -> Result<Option<String>, Error> {
    let folders = spec_folders(&planned.project);
    let named = wanted.epic.as_ref().and_then(|epic| {
        let is = |folder: &&String| {
            let name = folder.rsplit('/').next().unwrap_or_default();
            folder.as_str() == epic || name == epic || name.strip_prefix("spec-") == Some(epic)
        };
        folders.iter().find(is).cloned()
    });
    let sprint = Stories::new(&planned.project).sprint_file()?;
    match (named, folders.as_slice()) {
        (Some(folder), _) => Ok(Some(folder)),
        (None, _) if sprint.is_file() || wanted.epic.is_some() => Ok(None),
        (None, []) => Ok(None),
        (None, [one]) => Ok(Some(one.clone())),
        (None, several) => {
            Err(WorkflowError::SeveralSpecFolders { list: LIST, folders: several.join(", ") }
                .into())
        }
    }
}

/// The stories of a spec folder that are not done.
pub(super) fn items(planned: &mut Planned, wanted: &Wanted, folder: &str) -> Result<(), Error> {
    let root = planned.project.clone();
    let file = root.join(folder).join(LIST);
    let text = read_text(&root, &file)?.unwrap_or_default();
    let all = builds::entries(&text).map_err(|problem| WorkflowError::BadStoryList {
        file: format!("{folder}/{LIST}"),
        problem,
    })?;
    let chosen = chosen(&all, wanted.items.as_deref(), folder)?;
    planned.settings.artifacts = Stories::new(&root).artifacts_below_root()?;
    planned.settings.spec_folder = Some(folder.to_owned());
    let (mut done, mut before): (Vec<String>, Option<String>) = (Vec::new(), None);
    for entry in chosen {
        let spec = in_folder(&root, folder, &entry.id)?.pop().map(|(_, spec)| spec);
        let status = spec.map(|spec| spec.status).unwrap_or_default();
        if status == "done" {
            done.push(entry.id.clone());
            continue;
        }
        // The plan needs a person's approval first: there is no spec yet, or only a draft.
        if entry.spec_checkpoint && matches!(status.as_str(), "" | "draft") {
            planned.notes.push(format!(
                "stops before story {}: its spec_checkpoint asks you to review the plan; run bmad-build-auto for it with \"Halt after planning.\", then run this again",
                entry.id
            ));
            break;
        }
        planned.plan.items.push(Item {
            id: entry.id.clone(),
            title: entry.title.clone(),
            intent: entry.invoke_dev_with.clone(),
            after: before.replace(entry.id.clone()).into_iter().collect(),
            ..Item::default()
        });
        if entry.done_checkpoint {
            planned.notes.push(format!(
                "stops after story {}: its done_checkpoint asks you to review it; run this again for the rest",
                entry.id
            ));
            break;
        }
    }
    if !done.is_empty() {
        planned.notes.push(format!("already done: {}", done.join(", ")));
    }
    if planned.plan.items.is_empty() {
        let note = planned.notes.iter().find(|note| note.starts_with("stops before"));
        let why = note.cloned().map(|note| WorkflowError::StopsAtOnce { note });
        return Err(why.unwrap_or(WorkflowError::AllDone).into());
    }
    Ok(())
}

fn chosen<'e>(all: &'e [Entry], list: Option<&str>, folder: &str) -> Result<Vec<&'e Entry>, Error> {
    let Some(list) = list.filter(|list| !list.trim().eq_ignore_ascii_case("all")) else {
        return Ok(all.iter().collect());
    };
    let wanted: Vec<&str> = list.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
    for id in &wanted {
        if !all.iter().any(|entry| entry.id == **id) {
            let place = format!("{folder}/{LIST}");
            return Err(WorkflowError::NoSuchStory { story: (*id).to_owned(), place }.into());
        }
    }
    Ok(all.iter().filter(|entry| wanted.contains(&entry.id.as_str())).collect())
}

/// Reasons to refuse a run of builds, besides those of every run.
pub(super) fn refusals(context: &Context, planned: &Planned, is_dirty: bool) -> Vec<Error> {
    let mut found = Vec::new();
    if agents::find_program("uv", &context.path, &planned.project).is_none() {
        let install = "see https://docs.astral.sh/uv/; bmad-build-auto needs it";
        found.push(
            AgentError::ProgramNotFound { program: "uv".into(), install: install.into() }.into(),
        );
    }
    if !planned.project.join("_bmad/scripts/render_skill.py").is_file() {
        found.push(WorkflowError::NoRenderScript.into());
    }
    if is_dirty {
        found.push(WorkflowError::BuildNeedsCleanTree.into());
    }
    if planned.plan.has_worktrees() && planned.settings.spec_folder.is_some() {
        found.push(WorkflowError::NotParallel { list: LIST }.into());
    }
    found
}

/// The specs of a story in a spec folder.
fn in_folder(root: &Path, folder: &str, id: &str) -> Result<Vec<(PathBuf, Spec)>, Error> {
    let place = root.join(folder).join("stories");
    read_all(root, files(root, &place, &format!("{id}-"))?)
}

/// The specs of a story from the sprint status, oldest first.
pub(super) fn in_artifacts(root: &Path, item: &str) -> Result<Vec<(PathBuf, Spec)>, Error> {
    let place = Stories::new(root).artifacts()?;
    let prefix = item.replace('.', "-");
    let mut all = files(root, &place, &format!("spec-{prefix}-"))?;
    all.extend(Some(place.join(format!("spec-{prefix}.md"))).filter(|path| path.is_file()));
    all.sort_by_key(|path| {
        std::fs::metadata(path).and_then(|m| m.modified()).logged("look at a file")
    });
    read_all(root, all)
}

fn read_all(root: &Path, paths: Vec<PathBuf>) -> Result<Vec<(PathBuf, Spec)>, Error> {
    let mut read = Vec::new();
    for path in paths {
        if let Some(text) = read_text(root, &path)? {
            read.push((path, builds::spec(&text)));
        }
    }
    Ok(read)
}

fn specs(ctx: &RunContext<'_>, job: &Job) -> Result<Vec<(PathBuf, Spec)>, Error> {
    let (root, item) = (ctx.folder(job), job.subject.name());
    match &ctx.settings.spec_folder {
        Some(folder) => in_folder(&root, folder, item),
        None => in_artifacts(&root, item),
    }
}

/// The intent to give to the build skill.
pub(super) fn intent(ctx: &RunContext<'_>, job: &Job) -> String {
    let run = ctx.journal.run();
    let Some(item) = job.item().and_then(|item| run.plan.item(item)) else { return String::new() };
    if let Some(folder) = &ctx.settings.spec_folder {
        let more =
            if item.intent.is_empty() { String::new() } else { format!("\n\n{}", item.intent) };
        return format!("Spec folder: {folder}\nStory id: {}{more}", item.id);
    }
    // Continue a build that was started: with the intent alone it would write a second spec.
    let begun = specs(ctx, job).logged("read a file").and_then(|mut all| all.pop());
    if let Some((path, _)) = begun {
        let root = ctx.folder(job);
        return format!("Spec file: {}", path.strip_prefix(&root).unwrap_or(&path).display());
    }
    let (id, prefix, key) = (&item.id, item.id.replace('.', "-"), item.key());
    let epic = item.group.as_deref().unwrap_or_default();
    format!(
        "Intent: implement story {id} of epic {epic}, {:?} ({key} in sprint-status.yaml). Its tracking identifier is {prefix}: begin the slug of its spec with {prefix}-.",
        item.title
    )
}

/// Reads the result of the build from the story's spec.
pub(super) fn verify(ctx: &RunContext<'_>, job: &Job) -> Result<Finding, Error> {
    let root = ctx.folder(job);
    let all = specs(ctx, job)?;
    let shown = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    if ctx.settings.spec_folder.is_some() && all.len() > 1 {
        let names: Vec<String> = all.iter().map(|(path, _)| shown(path)).collect();
        return Ok(Finding::Refuted(format!("the story has several specs: {}", names.join(", "))));
    }
    let Some((path, spec)) = all.last() else {
        return Ok(match halted(ctx, job, &root)? {
            Some((path, spec)) => Finding::Refuted(blocked(&shown(&path), &spec)),
            None => Finding::Not("the story has no spec".into()),
        });
    };
    let name = shown(path);
    Ok(match spec.status.as_str() {
        "done" if spec.wants_review => {
            Finding::Holds(format!("{name} says done and recommends another review"))
        }
        "done" => Finding::Holds(format!("{name} says done")),
        "blocked" => Finding::Refuted(blocked(&name, spec)),
        "" => Finding::Not(format!("{name} has no status")),
        other => Finding::Not(format!("{name} says {other}, not done")),
    })
}

fn blocked(name: &str, spec: &Spec) -> String {
    let why = spec.blocking.as_deref().unwrap_or("no reason given");
    format!("blocked: {why} ({name})")
}

/// The report of a build that halted before it had a spec, if it was written since the attempt began.
fn halted(ctx: &RunContext<'_>, job: &Job, root: &Path) -> Result<Option<(PathBuf, Spec)>, Error> {
    let run = ctx.journal.run();
    let since =
        run.attempt_at(job).or_else(|| job.item().and_then(|item| run.items.get(item)?.begun));
    let mut all = results(root)?;
    all.retain(|path| since.is_none_or(|since| modified(path).is_none_or(|at| at >= since)));
    Ok(read_all(root, all)?.pop())
}

fn results(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let place = Stories::new(root).artifacts()?;
    Ok(files(root, &place, RESULT)?)
}

fn modified(path: &Path) -> Option<Timestamp> {
    // File times may be in whole seconds; do not let that make the report older than the attempt.
    let at = Timestamp::try_from(
        std::fs::metadata(path)
            .logged_unless_missing("look at a file")?
            .modified()
            .logged("read when a file was changed")?,
    )
    .ok()?;
    at.checked_add(jiff::SignedDuration::from_secs(1)).ok()
}

/// Prepares another try that a person asked for: a spec that is still marked blocked would halt the build again.
pub(super) fn again(ctx: &RunContext<'_>, job: &Job) -> Result<(), Error> {
    let root = ctx.folder(job);
    for (path, _) in specs(ctx, job)? {
        let Some(text) = read_text_to_change(&root, &path)? else {
            continue;
        };
        if let Some(draft) = builds::unblocked(&text) {
            rewrite_text(&root, &path, &text, &draft)?;
        }
    }
    // The tree must be clean, so the report of a build without a spec moves to the run's directory.
    let folder = ctx.context.state.run(&ctx.journal.id)?;
    for path in results(&root)? {
        let (Some(name), Some(text)) =
            (path.file_name(), read_text(&root, &path).logged("read a file").flatten())
        else {
            continue;
        };
        dogwatch_store::replace(&folder.join(name), text.as_bytes())?;
        remove_below(&root, &path).map_err(Error::io(format!("remove {}", path.display())))?;
    }
    Ok(())
}

/// Marks a finished story as done in the sprint status, which the build does not touch.
pub(super) fn finish(ctx: &RunContext<'_>, job: &Job, root: &Path) -> Result<(), Error> {
    if ctx.settings.spec_folder.is_some() || !matches!(verify(ctx, job)?, Finding::Holds(_)) {
        return Ok(());
    }
    let run = ctx.journal.run();
    let Some(item) = job.item().and_then(|item| run.plan.item(item)) else { return Ok(()) };
    let file = Stories::new(root).sprint_file()?;
    let Some(text) = read_text_to_change(root, &file)? else {
        return Ok(());
    };
    if let Some(changed) = builds::with_row(&text, item.key(), "done") {
        rewrite_text(root, &file, &text, &changed)?;
    }
    Ok(())
}
