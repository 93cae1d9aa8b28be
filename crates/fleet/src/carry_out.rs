//! Executes the requests of other hosts with the same use cases as local commands, without a terminal.

use dogwatch_protocol::event_data::{KilledResult, SentResult, SpawnedResult};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::delivery::Outcome;
use dogwatch_core::exit_code;
use dogwatch_core::fleet::{Kill, Order, Send, Spawn, SpawnRefused};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::publisher::Host;
use dogwatch_engine::Error;
use dogwatch_engine::actions::spawn::{Place, Request, What};
use dogwatch_engine::actions::{kill, send, spawn};
use dogwatch_engine::error::{AgentError, FleetError};
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::observe::{agents, project};

/// Executes a request; returns the result and the exit code of the corresponding command.
pub(super) fn carry_out(host: &Host, order: &Order) -> Result<(Value, u8), Error> {
    match order {
        Order::Send(order) => deliver(host, order),
        Order::Spawn(order) => start(host, order),
        Order::Kill(order) => end(host, order),
    }
}

/// Serialises a result of texts, numbers and times, which cannot fail.
fn value(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

fn deliver(host: &Host, order: &Send) -> Result<(Value, u8), Error> {
    let receipt = send::send(
        &host.context,
        &send::Request {
            target: &order.session,
            text: &order.text,
            slash: order.slash,
            when: order.when,
            timeout: order.timeout.map(Duration::from_secs),
        },
    )?;
    let result = SentResult {
        session: receipt.name.clone(),
        message: receipt.message.id.clone(),
        outcome: receipt.outcome.clone(),
    };
    let exit = match receipt.outcome {
        Outcome::Delivered { .. } => exit_code::OK,
        Outcome::Queued { .. } => exit_code::TIMEOUT,
        Outcome::Refused { .. } => exit_code::CONFLICT,
        Outcome::TypedNotSubmitted { .. } | Outcome::Failed { .. } => exit_code::FAILED,
    };
    Ok((value(&result), exit))
}

fn start(host: &Host, order: &Spawn) -> Result<(Value, u8), Error> {
    let cwd = PathBuf::from(&order.cwd);
    if !cwd.is_absolute() {
        return Err(FleetError::NotAbsolute { path: order.cwd.clone() }.into());
    }
    let cwd = allowed(host, &cwd, order.unattended)?;
    if order.model.as_deref().is_some_and(|model| model.starts_with('-')) {
        return Err(FleetError::BadModel.into());
    }
    let known = agents::names(&host.context);
    if !known.contains(&order.agent) {
        let known = known.join(", ");
        return Err(AgentError::UnknownAgent { name: order.agent.clone(), known }.into());
    }
    let request = Request {
        what: What::Agent { name: order.agent.clone(), extra_args: Vec::new() },
        prompt: order.prompt.clone(),
        name: order.name.clone(),
        story: None,
        project: project::root(None, &cwd),
        cwd,
        model: order.model.clone(),
        unattended: order.unattended,
        env: Vec::new(),
        caller_env: host.env.clone(),
        place: Place::OwnSession,
        tags: Vec::new(),
        membership: None,
        when_limited: None,
        subscriber: None,
        resume: None,
    };
    let spawned = spawn::spawn(&host.context, &request, &(host.clock)())?;
    let result = SpawnedResult {
        session: spawned.name.to_string(),
        id: spawned.id,
        agent: spawned.agent,
        pane: spawned.pane.to_string(),
        cwd: spawned.cwd.to_string_lossy().into_owned(),
    };
    Ok((value(&result), exit_code::OK))
}

/// The directory with links resolved, if agents may be started there for other hosts. The error does not reveal whether the
/// directory exists.
fn allowed(host: &Host, cwd: &Path, unattended: bool) -> Result<PathBuf, Error> {
    let refused = |because| Error::Fleet(FleetError::OrderRefused { because });
    let resolved: Vec<PathBuf> = host
        .spawn
        .folders
        .iter()
        .filter_map(|folder| folder.canonicalize().logged_unless_missing("resolve a path"))
        .collect();
    let is_folder = |path: &PathBuf| path.is_dir();
    let folder = cwd.canonicalize().logged_unless_missing("resolve a path").filter(is_folder);
    let asked = folder.as_deref().unwrap_or(Path::new(""));
    match host.spawn.check(&resolved, asked, unattended) {
        Ok(()) => Ok(asked.to_owned()),
        Err(SpawnRefused::Outside(_)) => Err(refused(SpawnRefused::Outside(cwd.to_owned()))),
        Err(because) => Err(refused(because)),
    }
}

fn end(host: &Host, order: &Kill) -> Result<(Value, u8), Error> {
    let seen = snapshot::find(&host.context, &order.session)?;
    let killed = kill::kill(&host.context, &seen, order.now, Timestamp::now())?;
    let result = KilledResult {
        session: seen.session.name,
        id: seen.session.id,
        by: killed.by,
        exit: killed.ended.map(|ended| ended.exit),
    };
    Ok((value(&result), exit_code::OK))
}
