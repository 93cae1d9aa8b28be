//! Reads the state of a story from a BMAD project.

use std::path::Path;

use dogwatch_base::log::Logged as _;
use dogwatch_bmad::format::prompt::{self, Filling};
use dogwatch_bmad::policy::DataFile;
use dogwatch_core::workflow::{Job, Step, Subject, rows};

use super::verify::{Asked, Finding};
use crate::Error;
use crate::error::WorkflowError;
use crate::workflow::run_context::RunContext;
use dogwatch_bmad::format::review::Outcome;
use dogwatch_bmad::policy::load::{self, Need};
use dogwatch_bmad::{self, Finding as Seen, Project, Stories, StoryError, read_text};

/// The state of a story according to the project's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) sprint_status: Option<String>,
    pub(super) file_status: Option<String>,
    /// Number of tasks that are ticked off.
    pub(super) tasks_done: Option<u32>,
    pub(super) is_in_progress: bool,
}

impl Look {
    pub(super) fn in_words(&self) -> String {
        let word = |said: &Option<String>| said.clone().unwrap_or_else(|| "nothing".into());
        let (sprint, file) = (word(&self.sprint_status), word(&self.file_status));
        format!("sprint status says {sprint}, the story's file {file}")
    }
}

pub(super) fn look(ctx: &RunContext<'_>, job: &Job) -> Result<Look, Error> {
    let (Subject::Item(item), true) = (&job.subject, ctx.settings.is_bmad) else {
        return Ok(Look::default());
    };
    Ok(read(&Stories::new(ctx.folder(job)), item)?)
}

/// A missing file leaves its values empty; an unreadable one is an error.
fn read(stories: &Stories, item: &str) -> Result<Look, StoryError> {
    let known = stories.known_epics()?;
    let sprint = stories.sprint()?.unwrap_or_default();
    let sprint_status = sprint.find(item, &known).map(|row| row.status.clone());
    let file = match stories.story(item)? {
        Some(story) => stories.file_of(&story)?,
        None => None,
    };
    let text = file.map(|path| read_text(stories.root(), &path)).transpose()?.flatten();
    let file_status = text
        .as_deref()
        .map(|text| dogwatch_bmad::format::story_file::read(text).status)
        .filter(|status| status != "unknown");
    let ticked = |text: &str| {
        let done = text.lines().filter(|line| {
            let line = line.trim_start();
            line.starts_with("- [x]") || line.starts_with("- [X]")
        });
        u32::try_from(done.count()).unwrap_or(u32::MAX)
    };
    let is = |said: &Option<String>| {
        said.as_deref().is_some_and(|s| s.eq_ignore_ascii_case("in-progress"))
    };
    let is_in_progress = is(&sprint_status) || is(&file_status);
    Ok(Look { tasks_done: text.as_deref().map(ticked), is_in_progress, sprint_status, file_status })
}

/// The project as a job sees it. A worktree has neither marker nor state document.
fn home(ctx: &RunContext<'_>, job: &Job) -> (Project, Option<String>) {
    let root = ctx.folder(job);
    let state = ctx.settings.state_file.clone().filter(|_| root == ctx.project);
    let state = state.filter(|state| ctx.project.join(state).is_file());
    let home = Project { root, state_file: None, ..ctx.home.clone() };
    (home, state)
}

/// Checks the step as the project's policy demands.
pub(super) fn by_policy(
    ctx: &RunContext<'_>,
    step: &Step,
    asked: &Asked<'_>,
) -> Result<Finding, Error> {
    let (home, state) = home(ctx, asked.job);
    let question = dogwatch_bmad::Asked {
        step: &step.id,
        story: Some(asked.job.subject.name()),
        state_file: state.as_deref(),
        output_file: asked.output,
    };
    let verdict = dogwatch_bmad::verify(&home, question).map_err(WorkflowError::from)?;
    if let Some(reason) = verdict.reason() {
        let more = match &verdict.finding {
            Seen::Created { matches, pattern, .. } => {
                format!(": {} files match {pattern}", matches.len())
            }
            Seen::Reviewed { sprint, story_file, .. } => {
                format!(": sprint status says {sprint}, the story's file {story_file}")
            }
            _ => String::new(),
        };
        return Ok(Finding::Not(format!("{reason}{more}")));
    }
    Ok(Finding::Holds(match &verdict.finding {
        Seen::Created { matches, .. } => {
            let name = matches.first().and_then(|path| path.file_name());
            name.map_or_else(|| "done".to_owned(), |name| name.to_string_lossy().into_owned())
        }
        Seen::Reviewed { outcome: Outcome::Complete { source, .. }, .. } => {
            format!("done by {source}")
        }
        Seen::Epic { .. } => "done by sprint-status.yaml".to_owned(),
        _ => format!("done by {}", verdict.verifier),
    }))
}

/// The prompt for a step from the project's policy.
pub(super) fn prompt(
    ctx: &RunContext<'_>,
    job: &Job,
    step: &str,
    extra: &str,
) -> Result<String, Error> {
    let (home, state) = home(ctx, job);
    let policy = load::load(&home, state.as_deref(), Need::Skills)
        .or_else(|_| load::load(&home, None, Need::Texts))
        .map_err(WorkflowError::from)?;
    let found = policy.step(step).map_err(WorkflowError::from)?;
    let template = found.data_text(DataFile::Template);
    let extra = if extra.is_empty() || found.default_extra().is_empty() {
        extra.to_owned()
    } else {
        format!("{}\n{extra}", found.default_extra())
    };
    let story_id = job.subject.name();
    let filling = Filling { story_id, artifacts: &ctx.settings.artifacts, extra: &extra };
    Ok(prompt::render(template, found, filling))
}

/// Whether all stories of an epic are done, and why not.
pub(super) fn epic_is_complete(ctx: &RunContext<'_>, epic: &str) -> Result<(bool, String), Error> {
    let run = ctx.journal.run();
    let of_epic = run.plan.items.iter().filter(|item| item.group.as_deref() == Some(epic));
    let dropped: Vec<&str> = of_epic
        .filter(|item| run.items.get(&item.id).is_some_and(|state| state.dropped.is_some()))
        .map(|item| item.id.as_str())
        .collect();
    if !ctx.settings.is_bmad {
        let why = dropped.join(", ");
        return Ok((
            dropped.is_empty(),
            if why.is_empty() { why } else { format!("without {why}") },
        ));
    }
    let stories = Stories::new(&ctx.project);
    let known = stories.known_epics()?;
    let sprint = stories.sprint()?.unwrap_or_default();
    let rows = sprint.stories_of(epic, &known);
    let open: Vec<String> = rows
        .iter()
        .filter(|(_, row)| !row.is_done())
        .map(|(id, row)| format!("{id} is {}", row.status))
        .collect();
    Ok((open.is_empty() && !rows.is_empty(), open.join(", ")))
}

/// Writes the list of files and the test counts into the story, as far as they are known.
pub(super) fn finish(ctx: &RunContext<'_>, folder: &Path, item: &str) {
    dogwatch_bmad::reconcile(folder, item, true).logged("update a story");
    let begun = ctx.journal.run().items.get(item).and_then(|state| state.begun);
    dogwatch_bmad::test_counts(folder, item, begun.map(Into::into), true).logged("count tests");
}

/// Merges a file that two stories changed: each story owns its row of the sprint status.
pub(super) fn merge_rows(path: &str, [base, ours, theirs]: [&str; 3]) -> Option<String> {
    (Path::new(path).file_name()? == "sprint-status.yaml")
        .then(|| rows::merged(base, ours, theirs))?
}
