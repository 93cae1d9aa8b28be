//! The report: what sessions did in a period, from the journal, hooks' signals, transcripts and git. Reads only, and every text is
//! masked before it leaves here.

mod assemble;
mod commits;
mod history;
mod questions;
#[cfg(test)]
mod tests;
mod times;
mod transcript;

use std::collections::BTreeMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::mask::Masks;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::report::{Report, SessionReport};
use dogwatch_protocol::usage::{By, Used};
use dogwatch_store::{Session, Stage, Which};
use jiff::Timestamp;

use crate::observe::{snapshot, usage};
use crate::{Context, Error};
use assemble::Material;
use history::History;

/// The period of a report.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    pub since: Timestamp,
    pub until: Timestamp,
}

/// What all sessions that ran in the period did, or those that are named.
pub fn report(
    context: &Context,
    period: Period,
    targets: &[String],
    masks: &Masks,
) -> Result<Report, Error> {
    let mut wanted = Vec::new();
    for target in targets {
        wanted.push(snapshot::find(context, target)?.session.id);
    }
    let is_wanted = |id: &SessionId| wanted.is_empty() || wanted.contains(id);
    let mut store = context.store()?;
    let sessions = store.sessions(&context.socket, Which::All)?;
    let mut histories = history::read(&store, period)?;
    let (mut used, no_usage) = match used(context, period) {
        Ok(used) => (used, None),
        // A price table or a cache that cannot be read must not keep a report from its reader.
        Err(error) => (BTreeMap::new(), Some(format!("costs are not known: {error}"))),
    };
    let mut reports = Vec::new();
    for session in sessions.iter().filter(|session| is_wanted(&session.id)) {
        let history = histories.remove(&session.id).unwrap_or_default();
        let ended = ended(session);
        let is_inside =
            ended.is_none_or(|at| at >= period.since) && session.created <= period.until;
        if !is_inside && wanted.is_empty() {
            continue;
        }
        let signals =
            store.signals(&session.id).logged("read a session's signals").unwrap_or_default();
        let read = transcript::read(context, session, &signals);
        let commits = commits::made(session, period, ended);
        let usage = used.remove(&session.id);
        let material = Material {
            session: Some(session),
            history,
            signals,
            read,
            commits,
            ended,
            usage,
            no_usage: no_usage.clone(),
        };
        reports.push(assemble::assemble(session.id.clone(), material, period));
    }
    reports.extend(unmanaged(histories, period, is_wanted));
    for report in &mut reports {
        mask(report, masks);
    }
    Ok(Report { since: period.since, until: period.until, sessions: reports })
}

/// What sessions used.
fn used(context: &Context, period: Period) -> Result<BTreeMap<SessionId, Used>, Error> {
    let query = usage::Query { by: By::Session, since: Some(period.since) };
    let (report, _) = usage::report(context, query)?;
    let rows = report.rows.into_iter();
    Ok(rows.filter_map(|row| Some((row.session?, row.used))).collect())
}

/// When a session ended, or was found gone.
fn ended(session: &Session) -> Option<Timestamp> {
    match &session.stage {
        Stage::Ended { ended, .. } => Some(ended.at),
        Stage::Lost { found, .. } => Some(*found),
        Stage::Made | Stage::Running(_) => None,
    }
}

/// Agents that dogwatch did not start: the journal has what was seen of them.
fn unmanaged(
    histories: BTreeMap<SessionId, History>,
    period: Period,
    is_wanted: impl Fn(&SessionId) -> bool,
) -> Vec<SessionReport> {
    let is_seen = |(id, history): &(SessionId, History)| {
        id.starts_with('%') && is_wanted(id) && history.is_within()
    };
    histories
        .into_iter()
        .filter(is_seen)
        .map(|(id, history)| {
            assemble::assemble(id, Material { history, ..Material::default() }, period)
        })
        .collect()
}

/// Masks every text that an agent, a project or a person wrote.
fn mask(report: &mut SessionReport, masks: &Masks) {
    let texts = report
        .commits
        .iter_mut()
        .map(|commit| &mut commit.subject)
        .chain(report.files.iter_mut().map(|file| &mut file.path))
        .chain(report.runs.iter_mut().map(|run| &mut run.command))
        .chain(report.claims.iter_mut().flat_map(|claim| [&mut claim.text, &mut claim.run.command]))
        .chain(report.questions.iter_mut().map(|question| &mut question.text))
        .chain(report.limits.iter_mut().map(|one| &mut one.text))
        .chain(report.loops.iter_mut().map(|one| &mut one.text))
        .chain(report.collisions.iter_mut().map(|one| &mut one.text))
        .chain(report.actions.iter_mut().map(|one| &mut one.text))
        .chain(report.title.iter_mut());
    for text in texts {
        *text = masks.text(text);
    }
}
