//! Another agent in place of a limited one: in the same directory, with the last prompt.

use std::ffi::OsString;

use dogwatch_base::log::Logged as _;
use dogwatch_protocol::event_data::LimitAction;
use dogwatch_store::{Limit, Session};
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use crate::actions::spawn::{self, Place, Request, What};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::{agents, processes, transcripts};
use crate::{Context, Error};

/// The name of the session that takes over; the limit's number makes it one of its kind.
pub(super) fn name(session: &Session, agent: &str, limit: i64) -> String {
    format!("{}-{agent}-{limit}", session.name)
}

/// What to start, or what is missing.
pub(super) fn plan(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    agent: &str,
) -> Result<Request, String> {
    let session = &judged.seen.session;
    if agent == session.agent {
        return Err(format!("{agent} cannot take over from itself"));
    }
    let profile = agents::profile(context, agent).map_err(|error| error.to_string())?;
    let prompt = last_prompt(context, reader, session)
        .ok_or_else(|| "the last prompt is not known".to_owned())?;
    let agent_pid = session.started().map(|started| started.agent.pid);
    let environment = agent_pid.map(processes::environment).unwrap_or_default();
    if environment.is_empty() {
        return Err("the environment of the limited agent cannot be read".to_owned());
    }
    let own = agents::profile(context, &session.agent).map_err(|error| error.to_string())?;
    let unattended = &own.launch.unattended;
    let is_unattended =
        !unattended.is_empty() && unattended.iter().all(|word| session.command.contains(word));
    let caller_env: Vec<(OsString, OsString)> =
        environment.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
    Ok(Request {
        what: What::Agent { name: profile.name, extra_args: Vec::new() },
        prompt: Some(handover(&session.agent, &prompt)),
        name: None,
        story: None,
        project: session.project.clone(),
        cwd: session.cwd.clone(),
        model: None,
        resume: None,
        unattended: is_unattended,
        env: Vec::new(),
        caller_env,
        place: Place::OwnSession,
        tags: session.tags.clone(),
        membership: None,
        when_limited: None,
        subscriber: None,
    })
}

fn handover(agent: &str, prompt: &str) -> String {
    format!(
        "Another agent ({agent}) was working in this directory and has met its usage limit. See what it has changed so far, \
         then finish its task. Its last prompt was:\n\n{prompt}"
    )
}

/// The last that a person asked of it.
fn last_prompt(
    context: &Context,
    reader: &mut StatusReader<'_>,
    session: &Session,
) -> Option<String> {
    let signals = reader.store.signals(&session.id).logged("read a session's signals")?;
    let told = signals.iter().rev().find_map(|signal| {
        if !matches!(signal.event.as_str(), "UserPromptSubmit" | "BeforeAgent") {
            return None;
        }
        let payload: Value = serde_json::from_str(&signal.payload).logged("read JSON")?;
        let prompt = payload["prompt"].as_str()?.to_owned();
        // Long ones are kept shortened.
        (!prompt.is_empty() && !prompt.ends_with(" bytes left out]")).then_some(prompt)
    });
    told.or_else(|| {
        let memory = reader.memory(&session.id)?;
        let dialect = memory.profile()?.transcript.as_ref()?.dialect;
        let path = memory.transcript(context, session)?;
        transcripts::said_since(&path, dialect, session.created).pop()
    })
}

/// Another agent that is to be started. That takes seconds.
#[derive(Debug)]
pub(crate) struct Start {
    pub(super) plan: Request,
    pub(super) limit: i64,
    pub(super) name: String,
}

impl Start {
    /// Starts it, under a name that is recorded already: one that is there is not started again.
    pub(crate) fn run(self, context: &Context) -> Result<(), Error> {
        let mut store = context.store()?;
        let Self { plan, limit, name } = self;
        let is_there = !store.named(&context.socket, &name)?.is_empty();
        let request = Request { name: Some(name.clone()), ..plan };
        // Programs are looked for where the limited agent would find them.
        let path = request.caller_env.iter().find(|(key, _)| key == "PATH");
        let path = path.map_or_else(|| context.path.clone(), |(_, path)| path.clone());
        let context = &Context { path, ..context.clone() };
        let result = if is_there {
            Ok(())
        } else {
            spawn::spawn(context, &request, &Zoned::now()).map(drop)
        };
        let (action, because) = match result {
            Ok(()) => (LimitAction::FellBack, format!("started {name}")),
            Err(error) => (LimitAction::Failed, error.to_string()),
        };
        store.finish_limit(limit, action, Some(&because), Timestamp::now())?;
        Ok(())
    }
}

/// Goes on where a killed process stopped.
pub(super) fn go_on(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    limit: &Limit,
    name: &str,
) -> Result<Option<Start>, Error> {
    // Nothing begins while automatic continuation is paused; what is recorded stays, and is done afterwards.
    if reader.store.limits_paused()?.is_some() {
        return Ok(None);
    }
    let agent = reader.store.limit_policy(&limit.session)?.map(|policy| policy.policy);
    let Some(dogwatch_core::limits::WhenLimited::Fallback(agent)) = agent else {
        let because = Some("the policy was changed");
        reader.store.finish_limit(limit.id, LimitAction::Failed, because, Timestamp::now())?;
        return Ok(None);
    };
    match plan(context, reader, judged, &agent) {
        Ok(plan) => Ok(Some(Start { plan, limit: limit.id, name: name.to_owned() })),
        Err(because) => {
            let now = Timestamp::now();
            reader.store.finish_limit(limit.id, LimitAction::Failed, Some(&because), now)?;
            Ok(None)
        }
    }
}
