//! Finds the run to resume, and validates runs.

use std::path::Path;

use dogwatch_bmad::format::fields::Fields;
use dogwatch_bmad::format::front_matter;
use dogwatch_bmad::format::state_document;
use dogwatch_core::workflow::Phase;
use dogwatch_store::KeptRun;
use serde_json::Value;

use super::journal::replay;
use super::planner::{self, Wanted};
use crate::error::{SessionError, WorkflowError};
use crate::observe::snapshot;
use crate::workflow::state_document::FOLDER;
use crate::{Context, Error};
use dogwatch_bmad::project::state;
use dogwatch_bmad::{Project, read_text};

/// Steps in the order of story-automator.
const ORDER: [&str; 5] = ["create", "dev", "auto", "review", "commit"];

/// The run to resume: by id, the project's newest unfinished one, or one that story-automator left unfinished.
pub fn to_resume(
    context: &Context,
    project: &Path,
    id: Option<&str>,
    home: &Project,
) -> Result<KeptRun, Error> {
    let kept = match planner::find(context, project, id) {
        Ok(kept) if kept.over.is_none() => return Ok(kept),
        Ok(kept) => Ok(kept),
        Err(error) => Err(error),
    };
    if id.is_none()
        && let Some(taken_over) = take_over(context, project, home)?
    {
        return Ok(taken_over);
    }
    let kept = kept?;
    let at = kept.over.unwrap_or_default();
    Err(WorkflowError::NothingToResume { id: kept.id.to_string(), at }.into())
}

/// Creates a run from the newest unfinished state document that dogwatch did not write.
fn take_over(context: &Context, project: &Path, home: &Project) -> Result<Option<KeptRun>, Error> {
    let ours = context.store()?.runs(Some(project))?;
    let name = |path: &Path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{FOLDER}/{file}")
    };
    let is_ours = |file: &str| ours.iter().any(|run| run.settings["state_file"] == file);
    let listed = state::list(project, &project.join(FOLDER))?.unwrap_or_default();
    let open = |one: &state::Listed| {
        !matches!(one.status.as_str(), "COMPLETE" | "ABORTED" | "") && !is_ours(&name(&one.path))
    };
    let Some(found) = state::latest(listed, open) else { return Ok(None) };
    let Some(text) = read_text(project, &found.path)? else { return Ok(None) };
    let document = Fields::read(&text);
    let wanted = Wanted {
        // The only way in which story-automator does stories.
        workflow: Some("bmad".into()),
        items: Some(document.list("storyRange").join(",")).filter(|list| !list.is_empty()),
        skip: if nested(&text, "skipAutomate") == Some("true") {
            vec!["auto".into()]
        } else {
            vec![]
        },
        side_by_side: nested(&text, "maxParallel").and_then(|n| n.parse().ok()).unwrap_or(1),
        allow_dirty: true,
        home: home.clone(),
        config: agents_of(&text),
        ..Wanted::default()
    };
    let mut planned = planner::plan(context, project, &wanted)?;
    // The uncommitted changes are the work of that run, and they are in this tree, not in a worktree.
    if !planned.settings.dirty.is_empty() {
        planned.plan.side_by_side = 1;
    }
    planned.settings.dirty.clear();
    planned.settings.state_file = Some(name(&found.path));
    let (story, step) =
        (document.text_or_nothing("currentStory"), document.text_or_nothing("currentStep"));
    let at = ORDER.iter().position(|one| *one == step).unwrap_or(0);
    for item in planned.plan.items.iter_mut().filter(|item| item.id == story) {
        item.done = ORDER[..at].iter().map(|step| (*step).to_owned()).collect();
    }
    planner::begin(context, &planned).map(Some)
}

/// The value of a key below another, such as `overrides`.
fn nested<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (front, _) = front_matter::split(text);
    let line = front?
        .lines()
        .find_map(|line| line.strip_prefix("  ")?.strip_prefix(key)?.strip_prefix(':'));
    line.map(|value| front_matter::unquoted(front_matter::without_comment(value).trim()))
}

fn agents_of(text: &str) -> Option<Value> {
    front_matter::tree(front_matter::split(text).0?, "agentConfig")?.ok()
}

/// Problems of a run.
pub fn validate(context: &Context, kept: &KeptRun) -> Result<Vec<String>, Error> {
    let facts = context.store()?.facts(&kept.id, 0)?;
    let run = replay(kept, &facts)?;
    let mut issues = Vec::new();
    if let Some(file) = kept.settings["state_file"].as_str() {
        let text = read_text(&kept.project, &kept.project.join(file))?;
        match text {
            Some(text) => issues.extend(
                state_document::issues(&text).iter().map(|issue| format!("{file}: {issue}")),
            ),
            None if facts.is_empty() => {}
            None => {
                issues.push(format!("{file} is missing; resuming the run writes it again"));
            }
        }
    }
    let mut ours: Vec<&str> = Vec::new();
    for (job, state) in &run.jobs {
        if let Phase::Trying(attempt) = &state.phase
            && let (Some(session), None) = (&attempt.session, &attempt.ended)
        {
            ours.push(session);
            match snapshot::find(context, session) {
                Ok(seen) if seen.life.state.is_over() => {
                    issues.push(format!(
                        "{job}: its session has ended ({}); resume the run",
                        seen.life.reason
                    ));
                }
                Ok(_) => {}
                Err(Error::Session(SessionError::NoSuchSession { .. })) => {
                    issues.push(format!("{job}: its session {session} was removed"));
                }
                Err(error) => return Err(error),
            }
        }
        ours.extend(state.to_close.iter().map(|(_, session)| session.as_str()));
    }
    for seen in snapshot::look_at_current(context)? {
        let session = &seen.session;
        let of_a_story = session.story.is_some() && session.project == kept.project;
        if of_a_story && !seen.life.state.is_over() && !ours.contains(&session.id.as_str()) {
            issues.push(format!("session {} does not belong to a running step", session.name));
        }
    }
    Ok(issues)
}
