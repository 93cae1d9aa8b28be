use dogwatch_core::exit_code;
use dogwatch_core::session_file::{Claimed, TaskId};
use dogwatch_engine::team::agent::{
    self, Caller, Completed, Completion, Registered, SpawnerNotice,
};
use dogwatch_engine::team::session_file::TeamFile;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::team::{self as printed, ClaimOutcome};

use crate::args::{Agent, AgentCommand, AgentComplete, Who};
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn agent(context: &Context, args: &Agent) -> Result<u8, Error> {
    match &args.command {
        AgentCommand::Register(args) => register(context, &args.who),
        AgentCommand::Claim(args) => claim(context, &args.who),
        AgentCommand::Complete(args) => complete(context, args),
    }
}

fn register(context: &Context, who: &Who) -> Result<u8, Error> {
    let project = environment::project()?;
    let about = environment::whereabouts(who.file.session_file.as_deref(), project.clone())?;
    let file = TeamFile::find_or_name(&about, &environment::local_time())?.made()?;
    let registered = agent::register(context, &file, &caller(context, who)?, &project)?;
    if ui::prints_json() {
        ui::json(&registered_shape(&registered));
    } else {
        let Registered { agent, file, claimed } = &registered;
        ui::line(format_args!("registered: {} {} in {}", agent.pane, agent.role, file.display()));
        tell_task(claimed, &agent.role);
    }
    Ok(exit_code::OK)
}

fn claim(context: &Context, who: &Who) -> Result<u8, Error> {
    let claimed = agent::claim(context, &file(who)?, &caller(context, who)?)?;
    if ui::prints_json() {
        ui::json(&claim_shape(&claimed));
    } else {
        tell_task(&claimed, "its role");
    }
    Ok(if claimed == Claimed::Nothing { exit_code::FAILED } else { exit_code::OK })
}

fn complete(context: &Context, args: &AgentComplete) -> Result<u8, Error> {
    let who = &args.who;
    let completion = Completion {
        task: args.task.as_deref().map(task_id).transpose()?,
        result: args.result.clone(),
        timeout: Some(args.timeout),
    };
    let done = agent::complete(context, &file(who)?, &caller(context, who)?, &completion)?;
    if ui::prints_json() {
        ui::json(&completed_shape(&done));
        return Ok(exit_code::OK);
    }
    let notice = match &done.notice {
        SpawnerNotice::Message { pane, proof } => {
            format!("reported to {pane}, confirmed by its {}", proof.as_str())
        }
        SpawnerNotice::InFile => {
            "the spawner is not an agent; the result is in the session file".to_owned()
        }
    };
    ui::line(format_args!("{}: done, result: {}; {notice}", done.task.id, done.result));
    if done.next == Claimed::Nothing {
        ui::line("no more tasks; this pane is ready to close, do nothing further");
    } else {
        tell_task(&done.next, "its role");
    }
    Ok(exit_code::OK)
}

fn file(who: &Who) -> Result<TeamFile, Error> {
    let project = environment::project()?;
    TeamFile::find(&environment::whereabouts(who.file.session_file.as_deref(), project)?)
}

fn caller(context: &Context, who: &Who) -> Result<Caller, Error> {
    let pane = match &who.pane {
        Some(pane) => pane.parse().ok(),
        None => environment::own_pane(context),
    };
    let pane = pane.ok_or(UsageError::NoPane)?;
    Ok(Caller {
        pane,
        role: who.role.clone().or_else(environment::own_role),
        spawner: environment::own_spawner(),
        conversation: who.conversation.clone(),
    })
}

pub(super) fn task_id(text: &str) -> Result<TaskId, Error> {
    text.parse().map_err(|()| UsageError::NotATaskId { given: text.to_owned() }.into())
}

fn tell_task(claimed: &Claimed, role: &str) {
    match claimed {
        Claimed::Nothing => ui::line(format_args!("no pending task for {role}")),
        Claimed::Got(task) | Claimed::Has(task) => {
            let text = ui::harmless(task.text.clone());
            ui::line(format_args!("{} · in-progress · {}\n\n{text}", task.id, task.role));
        }
    }
}

fn claim_shape(claimed: &Claimed) -> printed::Claim {
    let (outcome, task) = match claimed {
        Claimed::Got(task) => (ClaimOutcome::Claimed, Some(task)),
        Claimed::Has(task) => (ClaimOutcome::Had, Some(task)),
        Claimed::Nothing => (ClaimOutcome::None, None),
    };
    printed::Claim { outcome, task: task.map(super::task::shape) }
}

fn registered_shape(registered: &Registered) -> printed::Registered {
    let agent = &registered.agent;
    let conversation = Some(&agent.conversation).filter(|conversation| !conversation.is_empty());
    printed::Registered {
        pane: agent.pane.clone(),
        session: agent.session.clone(),
        window: agent.window.clone(),
        role: agent.role.clone(),
        name: agent.name.clone(),
        conversation: conversation.cloned(),
        session_file: ui::path(&registered.file),
        claim: claim_shape(&registered.claimed),
    }
}

fn completed_shape(done: &Completed) -> printed::CompletedTask {
    let notice = match &done.notice {
        SpawnerNotice::Message { pane, proof } => {
            printed::Told::Message { pane: pane.clone(), proof: *proof }
        }
        SpawnerNotice::InFile => printed::Told::SessionFile,
    };
    printed::CompletedTask {
        task: done.task.id.to_string(),
        result: done.result.clone(),
        conversation: done.conversation.clone(),
        told: notice,
        next: claim_shape(&done.next),
        ready_to_close: done.next == Claimed::Nothing,
    }
}
