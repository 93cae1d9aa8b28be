//! Plans a run: the workflow, the items, the agents. Nothing is changed before the whole plan is known to be possible.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use dogwatch_core::permissions::Permissions;
use dogwatch_core::workflow::{
    self, AgentChoice, Budget, Item, Per, Plan, Prices, Step, Verifier, Work, Workflow,
};
use dogwatch_store::{KeptRun, NewRun, ProjectFile};
use jiff::{SignedDuration, Timestamp};

use super::{Settings, bmad, builds, checks, generation};
use crate::error::{SystemError, WorkflowError};
use crate::workflow::state_document;
use crate::{Context, Error};

const LONGEST_WORKFLOW: u64 = 1024 * 1024;

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A workflow file or a built-in name; the built-in default otherwise.
    pub workflow: Option<PathBuf>,
    pub epic: Option<String>,
    /// Stories or items: ids, ranges, or `all`.
    pub items: Option<String>,
    pub skip: Vec<String>,
    pub side_by_side: u32,
    /// The agent of all steps; then agents of single steps.
    pub agent: Option<String>,
    pub agent_for: BTreeMap<String, String>,
    pub fallback: Option<String>,
    pub model: Option<String>,
    pub budget: Budget,
    pub prices: Prices,
    pub answer_within: Option<(SignedDuration, u32)>,
    pub agent_args: Vec<String>,
    /// What agents may do without asking.
    pub permissions: Permissions,
    /// Begin although the tree has uncommitted changes.
    pub allow_dirty: bool,
    /// Only plan: an unclean tree does not matter.
    pub only_plans: bool,
    /// Agent assignments in story-automator's format.
    pub config: Option<serde_json::Value>,
    /// The project's settings from the environment.
    pub home: dogwatch_bmad::Project,
}

#[derive(Debug, Clone)]
pub struct Planned {
    pub project: PathBuf,
    pub definition: String,
    pub workflow: Workflow,
    pub plan: Plan,
    pub settings: Settings,
    /// What the user should know before the run begins.
    pub notes: Vec<String>,
    /// Dependencies: the items that must be done before each item.
    pub(super) after: BTreeMap<String, Vec<String>>,
    /// Estimated complexity of each item, and why.
    pub complexity: BTreeMap<String, Complexity>,
}

pub use dogwatch_protocol::run::Complexity;

/// Plans a run without changing anything.
pub fn plan(context: &Context, project: &Path, wanted: &Wanted) -> Result<Planned, Error> {
    let mut planned = outline(context, project, wanted)?;
    let refusal = checks::of_plan(context, &mut planned, wanted).into_iter().next();
    refusal.map_or(Ok(planned), Err)
}

/// Plans a run that is about to begin.
pub fn prepare(context: &Context, project: &Path, wanted: &Wanted) -> Result<Planned, Error> {
    if let Some(refusal) = checks::of_beginning(context, project)?.into_iter().next() {
        return Err(refusal);
    }
    plan(context, project, wanted)
}

/// All reasons for which [`prepare`] would refuse, not only the first.
pub fn refusals(context: &Context, project: &Path, wanted: &Wanted) -> Result<Vec<Error>, Error> {
    let mut found = checks::of_beginning(context, project)?;
    match outline(context, project, wanted) {
        Ok(mut planned) => found.extend(checks::of_plan(context, &mut planned, wanted)),
        Err(error) => found.push(error),
    }
    Ok(found)
}

/// The items and agents, whether or not the run is possible now.
fn outline(context: &Context, project: &Path, wanted: &Wanted) -> Result<Planned, Error> {
    // The path is stored as text; a lossy one would name another directory on resume.
    if project.to_str().is_none() {
        return Err(WorkflowError::PathNotUtf8 { project: project.to_owned() }.into());
    }
    let named = wanted.workflow.as_deref().and_then(generation::named);
    let own = wanted.workflow.as_ref().filter(|_| named.is_none());
    let home = generation::home(project, wanted);
    let (definition, chosen) = if let Some(file) = own {
        (definition(project, file)?, None)
    } else {
        let chosen = generation::choose(context, &home, named)?;
        (chosen.text.to_owned(), Some(chosen.why))
    };
    let name =
        wanted.workflow.as_ref().map_or("bmad.toml".into(), |file| file.display().to_string());
    let workflow = workflow::read(&name, &definition)?;
    for step in &wanted.skip {
        known_step(&workflow, step)?;
    }
    for step in wanted.agent_for.keys() {
        known_step(&workflow, step)?;
    }
    let is_bmad = own.is_none() || uses_stories(&workflow);
    let mut planned = Planned {
        project: project.to_owned(),
        definition,
        workflow,
        plan: Plan {
            skip: wanted.skip.clone(),
            side_by_side: wanted.side_by_side.max(1),
            budget: wanted.budget,
            ..Plan::default()
        },
        settings: Settings {
            prices: wanted.prices,
            answer_within: wanted.answer_within,
            agent_args: wanted.agent_args.clone(),
            permissions: wanted.permissions,
            is_bmad,
            ..Settings::default()
        },
        notes: vec![],
        after: BTreeMap::new(),
        complexity: BTreeMap::new(),
    };
    if is_bmad {
        state_document::must_be_reached(&home)?;
        if let Some(other) = state_document::other_active_run(&home)
            && context
                .store()?
                .runs(Some(project))?
                .iter()
                .all(|run| run.settings["state_file"] != *other)
        {
            planned.notes.push(format!("a run of story-automator is active here: {other}"));
        }
        planned.notes.extend(chosen);
        let builds = planned.workflow.builds_itself();
        let folder = if builds { builds::folder(&planned, wanted)? } else { None };
        if builds {
            let skill = generation::skill(context, &home, generation::BUILD);
            let skill = skill.unwrap_or_else(|| PathBuf::from(generation::BUILD));
            planned.settings.skill =
                skill.strip_prefix(project).unwrap_or(&skill).to_string_lossy().into_owned();
        }
        match folder {
            Some(folder) => builds::items(&mut planned, wanted, &folder)?,
            None => bmad::items(context, &mut planned, wanted, builds)?,
        }
    } else {
        planned.plan.items = plain_items(&planned.workflow, wanted)?;
    }
    assign(&mut planned, wanted);
    Ok(planned)
}

/// Reads a workflow file. Below the project, links are not followed.
fn definition(project: &Path, file: &Path) -> Result<String, Error> {
    let read = || {
        let bytes = ProjectFile::named(Some(project), file)?.read(LONGEST_WORKFLOW)?;
        bytes.ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    let bytes = read().map_err(Error::io(format!("read {}", file.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the workflow uses BMAD: story states, or the project's policy.
fn uses_stories(workflow: &Workflow) -> bool {
    let of_stories = |verifier: &Verifier| {
        matches!(
            verifier,
            Verifier::Policy
                | Verifier::Build
                | Verifier::Status { .. }
                | Verifier::SprintStatus { .. }
                | Verifier::StoryFile { .. }
        )
    };
    workflow.steps.iter().any(|step| step.verify.iter().any(of_stories))
}

fn known_step(workflow: &Workflow, id: &str) -> Result<(), Error> {
    if workflow.step(id).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
    Err(WorkflowError::NoSuchStep { id: id.to_owned(), known: known.join(", ") }.into())
}

/// Items of a workflow that does not use stories.
fn plain_items(workflow: &Workflow, wanted: &Wanted) -> Result<Vec<Item>, Error> {
    let ids: Vec<String> = match &wanted.items {
        Some(list) => {
            list.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
        }
        None if workflow.items.is_empty() => vec![workflow.name.clone()],
        None => workflow.items.clone(),
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    for (at, id) in ids.iter().enumerate() {
        if !id.chars().all(fine) || id.starts_with(['-', '.']) || id.len() > 60 {
            return Err(WorkflowError::BadItem { id: id.clone() }.into());
        }
        if ids[..at].contains(id) {
            return Err(WorkflowError::DuplicateItem { id: id.clone() }.into());
        }
    }
    if ids.is_empty() {
        return Err(WorkflowError::NoItems.into());
    }
    let group = workflow.steps_per(Per::Group).next().map(|_| workflow.name.clone());
    Ok(ids
        .into_iter()
        .map(|id| Item { title: id.clone(), id, group: group.clone(), ..Item::default() })
        .collect())
}

/// Replaces agents by those that the user named.
fn assign(planned: &mut Planned, wanted: &Wanted) {
    let default = wanted.agent.clone().unwrap_or_else(|| "claude".into());
    let choose = |step: &Step, crews: &mut BTreeMap<String, AgentChoice>| {
        if !matches!(step.work, Work::Agent { .. }) {
            return;
        }
        let crew = crews.entry(step.id.clone()).or_insert_with(|| AgentChoice {
            primary: step.agent.clone().unwrap_or_else(|| default.clone()),
            fallback: step.fallback.clone(),
            model: step.model.clone(),
        });
        let named = wanted.agent_for.get(&step.id).or(wanted.agent.as_ref());
        if let Some(agent) = named {
            *crew = AgentChoice { primary: agent.clone(), fallback: None, model: None };
        }
        if let Some(fallback) = &wanted.fallback {
            crew.fallback = Some(fallback.clone()).filter(|f| *f != crew.primary && f != "none");
        }
        if let Some(model) = &wanted.model {
            crew.model = Some(model.clone());
        }
    };
    let steps = planned.workflow.steps.clone();
    for item in &mut planned.plan.items {
        steps.iter().filter(|s| s.per == Per::Item).for_each(|step| choose(step, &mut item.agents));
    }
    steps
        .iter()
        .filter(|s| s.per == Per::Group)
        .for_each(|step| choose(step, &mut planned.plan.group_agents));
}

/// Stores the plan as a run.
pub fn begin(context: &Context, planned: &Planned) -> Result<KeptRun, Error> {
    let now = Timestamp::now();
    let id = new_id(now);
    let mut settings = planned.settings.clone();
    if settings.is_bmad && settings.state_file.is_none() {
        settings.state_file = Some(state_document::new_document(&planned.plan, now));
    }
    let settings = serde_json::to_value(&settings)
        .map_err(|source| SystemError::NotSerialized { what: "the settings of the run", source })?;
    let open = context.store()?.begin_run(&NewRun {
        id: &id,
        project: &planned.project,
        workflow: &planned.workflow.name,
        definition: &planned.definition,
        plan: &planned.plan,
        settings: &settings,
        begun: now,
    })?;
    // Another process began a run since the check.
    if let Some(id) = open {
        return Err(WorkflowError::RunIsOpen { id }.into());
    }
    find(context, &planned.project, Some(&id))
}

/// Short enough to type, sorted by time, unique.
fn new_id(now: Timestamp) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", now.strftime("%y%m%d-%H%M%S"), &random[..4])
}

/// A run by its id, or the project's newest.
pub fn find(context: &Context, project: &Path, id: Option<&str>) -> Result<KeptRun, Error> {
    let store = context.store()?;
    let found = match id {
        Some(id) => store.run(id)?,
        None => store.runs(Some(project))?.into_iter().next(),
    };
    found.ok_or_else(|| match id {
        Some(id) => Error::Workflow(WorkflowError::NoSuchRun { target: id.to_owned() }),
        None => Error::Workflow(WorkflowError::NoRun { project: project.to_owned() }),
    })
}
