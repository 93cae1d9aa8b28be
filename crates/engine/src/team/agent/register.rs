use std::path::{Path, PathBuf};

use dogwatch_core::session_file::{AgentRow, Claimed};

use super::{Caller, Member};
use crate::team::session_file::TeamFile;
use crate::{Context, Error};

#[derive(Debug, Clone)]
pub struct Registered {
    pub agent: AgentRow,
    pub file: PathBuf,
    pub claimed: Claimed,
}

/// Adds an agent to the session file and gives it the first pending task of its role. Calling it again returns the same.
pub fn register(
    context: &Context,
    file: &TeamFile,
    caller: &Caller,
    project: &Path,
) -> Result<Registered, Error> {
    let mut member = Member::find(context, caller)?;
    let conversation = member.conversation(caller.conversation.as_deref());
    let (name, name_source) = name(&member);
    let agent = AgentRow {
        pane: member.pane(),
        session: member.row.session_name.clone(),
        window: member.row.window_id.to_string(),
        role: member.role.clone(),
        status: "active".to_owned(),
        cwd: project.display().to_string(),
        name,
        name_source: name_source.to_owned(),
        conversation: conversation.unwrap_or_default(),
    };
    let claimed = member.claim(file, &mut |text| text.register(&agent))?;
    Ok(Registered { agent, file: file.path().to_owned(), claimed })
}

/// Claims the first pending task of the agent's role, or returns the task it has.
pub fn claim(context: &Context, file: &TeamFile, caller: &Caller) -> Result<Claimed, Error> {
    Member::find(context, caller)?.claim(file, &mut |_| Ok(()))
}

/// The agent's name, and what it comes from.
fn name(member: &Member) -> (String, &'static str) {
    match &member.session {
        Some(session) if session.membership.is_some() => {
            (format!("{}-agent", member.role), "spawner")
        }
        Some(session) if session.origin.is_managed() => (session.name.clone(), "dogwatch"),
        _ => (member.row.session_name.clone(), "tmux"),
    }
}
