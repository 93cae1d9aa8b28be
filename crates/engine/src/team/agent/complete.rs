use std::time::Duration;

use dogwatch_core::delivery::{Outcome, Proof, When};
use dogwatch_core::session_file::{Claimed, Task, TaskId};
use dogwatch_core::{name, profile};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use super::{Caller, Member};
use crate::actions::send::{self, Request};
use crate::error::TeamError;
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

/// What an agent says of a task that it has done.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Which; else the one that it is at.
    pub task: Option<TaskId>,
    pub result: String,
    /// How long the spawner is waited for.
    pub timeout: Option<Duration>,
}

/// A task that is done, written down and reported.
#[derive(Debug, Clone)]
pub struct Completed {
    pub task: Task,
    pub result: String,
    pub conversation: Option<String>,
    pub told: Told,
    /// What comes next; nothing, and it is ready to be closed.
    pub next: Claimed,
}

/// Whether the spawner knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It got the message, with this proof.
    Message { pane: String, proof: Proof },
    /// No agent is in the spawner's pane, or there is no spawner: whoever it is reads the session file.
    InFile,
}

/// Marks the task done, saves the conversation's id, tells the spawner with proof, and goes on to the next task, or sets
/// ready-to-close. If it is cut short, it goes on from there when it is called again, and tells nobody twice.
pub fn complete(
    context: &Context,
    file: &TeamFile,
    caller: &Caller,
    completion: &Completion,
) -> Result<Completed, Error> {
    let mut member = Member::find(context, caller)?;
    let conversation = member.conversation(caller.conversation.as_deref());
    let result = one_line(&completion.result)?;
    let pane = member.pane();
    let id = conversation.clone().unwrap_or_default();
    let task = file.edit(|text| {
        let (mine, _) = member.claims(file)?;
        let task =
            text.task_to_complete(&pane, completion.task, mine).map_err(TeamError::NoTask)?;
        text.complete(&pane, task.id, &result, &id).map_err(|problem| file.problem(problem))?;
        Ok(task)
    })?;
    let since = member.store.claimed_at(file.path(), task.id.0)?.unwrap_or(Timestamp::UNIX_EPOCH);
    let text = format!("STEP COMPLETE: {} | result: {result} | session: {}", task.id, shown(&id));
    let told = tell(context, &member, caller, task.id, &text, since, completion.timeout)?;
    member.store.end_claim(file.path(), task.id.0, Timestamp::now())?;
    let next = member.claim(file, &mut |text| text.reported(&pane))?;
    if next == Claimed::Nothing {
        file.edit(|text| text.ready(&pane).map_err(|problem| file.problem(problem)))?;
    }
    Ok(Completed { task, result, conversation, told, next })
}

/// Tells the spawner, once.
fn tell(
    context: &Context,
    member: &Member,
    caller: &Caller,
    task: TaskId,
    text: &str,
    since: Timestamp,
    timeout: Option<Duration>,
) -> Result<Told, Error> {
    let seat = member.session.as_ref().and_then(|session| session.seat.as_ref());
    let spawner = seat.map(|seat| seat.spawner.clone()).or_else(|| caller.spawner.clone());
    let Some(spawner) = spawner.filter(|spawner| *spawner != member.pane()) else {
        return Ok(Told::InFile);
    };
    let not_told = |reason: String| {
        Error::Team(TeamError::NotReported { task, spawner: spawner.clone(), reason })
    };
    let pane: PaneId = spawner.parse().map_err(|_| not_told("not a pane".to_owned()))?;
    let row = member.panes.iter().find(|row| row.pane_id == pane && !row.dead);
    if row.is_none_or(|row| super::server_of(row) != member.server()) {
        return Err(not_told("the pane is gone".to_owned()));
    }
    // A shell would run the words as a command: a person who started the team from one reads the file.
    let agent = super::session_in(context, &member.store, pane)?.map(|session| session.agent);
    if agent.is_none_or(|agent| agent == profile::COMMAND) {
        return Ok(Told::InFile);
    }
    // Also while it works: agents queue such messages.
    let request = Request { target: &spawner, text, slash: false, when: When::Now, timeout };
    let receipt = send::send_once(context, &request, since)?;
    match receipt.outcome {
        Outcome::Delivered { proof, .. } => Ok(Told::Message { pane: spawner.clone(), proof }),
        other => {
            let because = other.because().unwrap_or_default();
            Err(not_told(format!("{}: {because}", other.as_str().replace('_', " "))))
        }
    }
}

fn shown(conversation: &str) -> &str {
    if conversation.is_empty() { "unknown" } else { conversation }
}

/// A result is part of one line, whose parts stand between bars.
fn one_line(result: &str) -> Result<String, Error> {
    let line = result.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    if line.is_empty() || line.len() > name::MAX_LEN {
        return Err(TeamError::BadResult { result: result.to_owned() }.into());
    }
    Ok(line)
}
