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

/// An agent's report about a finished task.
#[derive(Debug, Clone)]
pub struct Completion {
    /// `None` is the current task.
    pub task: Option<TaskId>,
    pub result: String,
    /// How long to wait for the spawner.
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone)]
pub struct Completed {
    pub task: Task,
    pub result: String,
    pub conversation: Option<String>,
    pub notice: SpawnerNotice,
    /// The next task; none means ready to close.
    pub next: Claimed,
}

/// How the spawner was notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnerNotice {
    /// The spawner took the message, with this proof.
    Message { pane: String, proof: Proof },
    /// There is no agent in the spawner's pane, or no spawner: the result is only in the session file.
    InFile,
}

/// Marks the task as done, saves the conversation's id, notifies the spawner with proof, and takes the next task or marks the member
/// as ready to close. Interrupted and called again, it continues where it stopped and does not notify twice.
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
    let notice =
        notify_spawner(context, &member, caller, task.id, &text, since, completion.timeout)?;
    member.store.end_claim(file.path(), task.id.0, Timestamp::now())?;
    let next = member.claim(file, &mut |text| text.reported(&pane))?;
    if next == Claimed::Nothing {
        file.edit(|text| text.ready(&pane).map_err(|problem| file.problem(problem)))?;
    }
    Ok(Completed { task, result, conversation, notice, next })
}

/// Notifies the spawner, once.
fn notify_spawner(
    context: &Context,
    member: &Member,
    caller: &Caller,
    task: TaskId,
    text: &str,
    since: Timestamp,
    timeout: Option<Duration>,
) -> Result<SpawnerNotice, Error> {
    let membership = member.session.as_ref().and_then(|session| session.membership.as_ref());
    let spawner =
        membership.map(|membership| membership.spawner.clone()).or_else(|| caller.spawner.clone());
    let Some(spawner) = spawner.filter(|spawner| *spawner != member.pane()) else {
        return Ok(SpawnerNotice::InFile);
    };
    let not_told = |reason: String| {
        Error::Team(TeamError::NotReported { task, spawner: spawner.clone(), reason })
    };
    let pane: PaneId = spawner.parse().map_err(|_| not_told("not a pane".to_owned()))?;
    let row = member.panes.iter().find(|row| row.pane_id == pane && !row.dead);
    if row.is_none_or(|row| super::server_of(row) != member.server()) {
        return Err(not_told("the pane is gone".to_owned()));
    }
    // A shell would execute the message as a command. A person who started the team from a shell reads the file.
    let agent = super::session_in(context, &member.store, pane)?.map(|session| session.agent);
    if agent.is_none_or(|agent| agent == profile::COMMAND) {
        return Ok(SpawnerNotice::InFile);
    }
    // Even while the spawner works: agents queue such messages.
    let request = Request { target: &spawner, text, slash: false, when: When::Now, timeout };
    let receipt = send::send_once(context, &request, since)?;
    match receipt.outcome {
        Outcome::Delivered { proof, .. } => {
            Ok(SpawnerNotice::Message { pane: spawner.clone(), proof })
        }
        other => {
            let because = other.because().unwrap_or_default();
            Err(not_told(format!("{}: {because}", other.as_str().replace('_', " "))))
        }
    }
}

fn shown(conversation: &str) -> &str {
    if conversation.is_empty() { "unknown" } else { conversation }
}

/// A result is one cell of a table row, separated by bars.
fn one_line(result: &str) -> Result<String, Error> {
    let line = result.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    if line.is_empty() || line.len() > name::MAX_LEN {
        return Err(TeamError::BadResult { result: result.to_owned() }.into());
    }
    Ok(line)
}
