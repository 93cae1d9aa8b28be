//! Reasons to refuse a run before it begins; the same list for `story run` and `story validate`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dogwatch_base::log::Logged as _;
use dogwatch_core::permissions::{self, Permissions, TrustWay};
use dogwatch_core::profile::Profile;
use dogwatch_core::workflow::{Plan, Work};
use dogwatch_store::read_regular;

use super::git::Tree;
use super::planner::{Planned, Wanted};
use super::{bmad, builds, driver, planner};
use crate::error::{AgentError, ProjectError, WorkflowError};
use crate::observe::agents;
use crate::worktree::trust;
use crate::{Context, Error};

/// Limit for the agents' own settings files.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Where an administrator's settings for claude are.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// Another run of the project that is not finished.
pub(super) fn of_beginning(context: &Context, project: &Path) -> Result<Vec<Error>, Error> {
    let mut found = Vec::new();
    if driver::is_attended(context, project) {
        found.push(WorkflowError::RunIsAttended { project: project.to_owned() }.into());
    }
    match planner::find(context, project, None) {
        Ok(run) if run.over.is_none() => {
            found.push(WorkflowError::RunIsOpen { id: run.id.into() }.into());
        }
        Ok(_) | Err(Error::Workflow(WorkflowError::NoRun { .. })) => {}
        Err(error) => return Err(error),
    }
    Ok(found)
}

/// Obstacles that are known before anything begins.
pub(super) fn of_plan(context: &Context, planned: &mut Planned, wanted: &Wanted) -> Vec<Error> {
    let mut found = of_agents(context, &planned.project, &planned.plan, wanted.permissions);
    if let Err(error) = of_tree(context, planned, wanted, &mut found) {
        found.push(error);
    }
    found
}

/// Every agent that a run may start.
fn crew(plan: &Plan) -> BTreeSet<&String> {
    plan.items
        .iter()
        .flat_map(|item| item.agents.iter())
        .chain(&plan.group_agents)
        .filter(|(step, _)| !plan.skip.contains(step))
        .flat_map(|(_, crew)| [Some(&crew.primary), crew.fallback.as_ref()])
        .flatten()
        .collect()
}

/// Obstacles to starting the run's agents here with these permissions.
pub(super) fn of_agents(
    context: &Context,
    project: &Path,
    plan: &Plan,
    level: Permissions,
) -> Vec<Error> {
    let mut found = Vec::new();
    for name in crew(plan) {
        let profile = match agents::profile(context, name) {
            Ok(profile) => profile,
            Err(error) => {
                found.push(error);
                continue;
            }
        };
        if agents::find_program(&profile.program, &context.path, project).is_none() {
            let Profile { program, install, .. } = profile;
            found.push(AgentError::ProgramNotFound { program, install }.into());
            continue;
        }
        if permissions::args(level, &profile.launch).is_none() {
            let agent = name.clone();
            found.push(AgentError::NoSuchPermissions { agent, level: level.as_str() }.into());
        }
        found.extend(untrusted(context, &profile, project, level));
    }
    found
}

/// Whether the agent would open its trust dialog, which would block the run.
fn untrusted(
    context: &Context,
    profile: &Profile,
    project: &Path,
    level: Permissions,
) -> Option<Error> {
    let way = profile.trust?;
    let home = context.home.as_ref()?;
    let root = profile.conversations.as_ref().and_then(|rules| {
        let variable = rules.root_variable.as_deref()?;
        context.agent_roots.iter().find(|(name, _)| name == variable).map(|(_, path)| path.clone())
    });
    let (file, settings) = match way {
        TrustWay::Claude => {
            let settings = root.clone().unwrap_or_else(|| home.join(".claude"));
            (root.unwrap_or_else(|| home.clone()).join(".claude.json"), Some(settings))
        }
        TrustWay::Codex => (root.unwrap_or_else(|| home.join(".codex")).join("config.toml"), None),
    };
    let state = match read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        // An unreadable file proves nothing.
        Err(_) => return None,
    };
    let agent = profile.name.clone();
    let is_trusted =
        if state.is_empty() { Some(false) } else { permissions::is_trusted(way, &state, project) };
    if is_trusted == Some(false) {
        return Some(Error::Agent(AgentError::NotTrusted {
            agent,
            folder: project.to_owned(),
            file,
        }));
    }
    if level != Permissions::Bypass {
        return None;
    }
    let places = [settings?.join("settings.json")].into_iter().chain(MANAGED.map(PathBuf::from));
    let settings: Vec<String> =
        places.filter_map(|place| read(&place).logged("read settings")).collect();
    let is_accepted = permissions::bypass_is_accepted(&state, &settings);
    (!is_accepted).then_some(Error::Agent(AgentError::BypassNotAccepted { agent }))
}

fn read(path: &Path) -> std::io::Result<String> {
    read_regular(path, LONGEST).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Obstacles in the work tree; adds notes that a person should read.
fn of_tree(
    context: &Context,
    planned: &mut Planned,
    wanted: &Wanted,
    found: &mut Vec<Error>,
) -> Result<(), Error> {
    let commits =
        planned.workflow.steps.iter().any(|step| matches!(step.work, Work::Commit { .. }));
    let tree = Tree::of(&planned.project);
    if tree.is_none() && (commits || planned.plan.has_worktrees()) {
        found.push(ProjectError::NotARepository { path: planned.project.clone() }.into());
    }
    let Some(tree) = tree else { return Ok(()) };
    if planned.plan.has_worktrees() {
        found.extend(trust::settings(context, tree.top()).err());
    }
    let dirty = tree.changes()?;
    if !dirty.is_empty() && commits {
        let list: Vec<&str> = dirty.keys().take(5).map(String::as_str).collect();
        let more =
            if dirty.len() > 5 { format!(" and {} more", dirty.len() - 5) } else { String::new() };
        let text = format!("uncommitted changes ({}): {}{more}", dirty.len(), list.join(", "));
        if wanted.allow_dirty {
            planned
                .notes
                .push(format!("{text}; commits leave them out unless the work changes them"));
        } else {
            found.push(ProjectError::DirtyTree { files: text }.into());
        }
    }
    if planned.workflow.builds_itself() {
        let is_dirty = wanted.allow_dirty && !wanted.only_plans && !dirty.is_empty();
        found.extend(builds::refusals(context, planned, is_dirty));
    }
    if planned.plan.has_worktrees() {
        if tree.head().is_none() {
            found.push(WorkflowError::NoFirstCommit.into());
        }
        if !dirty.is_empty() {
            planned
                .notes
                .push("parallel work starts from the last commit, without these changes".into());
        }
        if planned.settings.is_bmad && planned.settings.spec_folder.is_none() {
            found.extend(bmad::can_be_side_by_side(planned, &tree).err());
        }
    }
    planned.settings.dirty = dirty;
    Ok(())
}
