//! What an agent may ask for that is not at the MCP server but at the command line or at the supervisor's socket: the same.

use dogwatch_core::mcp::{Right, Verb};
use dogwatch_core::status::Status;
use dogwatch_protocol::status::Need;

use crate::error::AgentError;
use crate::observe::status::SessionStatus;
use crate::{Context, Error, config};

/// Refuses what the user's `[mcp]` table does not allow agents to do to this session.
pub(crate) fn to(context: &Context, verb: Verb, judged: &SessionStatus) -> Result<(), Error> {
    let name = &judged.seen.session.name;
    must_allow(context, Right::Use(verb), || format!("an agent may not use `{}`", verb.as_str()))?;
    if judged.seen.is_ours() {
        return Ok(());
    }
    let what = || format!("{name} was not started by dogwatch, and an agent asks for it");
    must_allow(context, Right::Unmanaged, what)
}

/// The same for the dialog that is open now.
pub(crate) fn to_answer(context: &Context, judged: &SessionStatus) -> Result<(), Error> {
    to(context, Verb::Answer, judged)?;
    let need = match &judged.verdict.status {
        Status::Waiting { r#for, .. } => *r#for,
        _ => Need::Other,
    };
    let Some(right) = Right::to_answer(need) else { return Ok(()) };
    let name = &judged.seen.session.name;
    must_allow(context, right, || {
        format!("{name} asks for {}, which an agent may not answer", need.as_str())
    })
}

fn must_allow(context: &Context, right: Right, what: impl FnOnce() -> String) -> Result<(), Error> {
    if config::read(context)?.mcp.policy().allows(right) {
        return Ok(());
    }
    Err(AgentError::NotAllowed { right, what: what() }.into())
}
