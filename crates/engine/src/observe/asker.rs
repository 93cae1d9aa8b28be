//! Who asks for something: an agent of ours, or a person.
//!
//! Descent decides it and no variable: a process below a session's runner is that agent's, whatever it has in its environment, and a window
//! that a person opened beside an agent is a person's. On Linux a runner adopts what its agent leaves behind. What an agent has another
//! program do for it (a tmux server, cron) is not seen: this guards against mistakes and against text that an agent obeys, not against a
//! program of the same user that wants to deceive.

use dogwatch_core::process_tree;
use dogwatch_core::record::ProcessIdent;

use crate::error::AgentError;
use crate::observe::processes;
use crate::{Context, Error, summon};

/// No line of descent is longer, unless it is a circle of pids that were used again while it was read.
const LONGEST_LINE: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    Person,
    /// The agent of this session.
    Agent(String),
    /// It was gone before it could be seen whose it is.
    Unknown,
}

/// Who a process asks for.
pub fn of(context: &Context, process: i32) -> Asker {
    let mut pid = process;
    for _ in 0..LONGEST_LINE {
        if let Some(session) = process_tree::runs_session(&command_line(pid)) {
            return Asker::Agent(session.to_owned());
        }
        if is_supervisor(context, pid) {
            // A runner may have started it; what it starts itself, a person has configured.
            return Asker::Person;
        }
        match processes::parent(pid) {
            None => return Asker::Unknown,
            Some(0 | 1) => return Asker::Person,
            Some(parent) => pid = parent,
        }
    }
    Asker::Unknown
}

/// Whether an agent of ours runs this very process.
pub fn is_own_agent(context: &Context) -> bool {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    matches!(of(context, me), Asker::Agent(_))
}

/// Refuses what would undo a stop of the user's, or widen what agents may do, if an agent of ours asks for it.
pub fn only_a_person(context: &Context) -> Result<(), Error> {
    if is_own_agent(context) { Err(AgentError::OnlyAPerson.into()) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
fn command_line(pid: i32) -> Vec<String> {
    crate::observe::proc_files::command_line(pid)
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: i32) -> Vec<String> {
    processes::command_line(pid)
}

fn is_supervisor(context: &Context, pid: i32) -> bool {
    summon::noted(context).is_some_and(|serving| {
        serving.pid == pid
            && processes::is_alive(ProcessIdent { pid: serving.pid, start: serving.start })
    })
}
