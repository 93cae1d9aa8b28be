//! The documents that `status`, `why`, `ls` and `tmux-status` print, whoever has looked: the command itself or the supervisor.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use dogwatch_base::log::Logged as _;
use dogwatch_core::attention::{Place, badge, is_seen};
use dogwatch_core::status::Status;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::job::JobBrief;
use dogwatch_protocol::session::{self, Sessions};
use dogwatch_protocol::status::{Explained, StatusReport, StatusRow, Statuses};
use dogwatch_store::{Job, Store};
use jiff::Timestamp;

use crate::observe::collisions::{self, Collisions};
use crate::observe::details::Details;
use crate::observe::jobs;
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error};

/// What `status` prints of sessions that were judged at that time.
pub fn statuses(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &[SessionStatus],
    left_out: usize,
    as_of: Timestamp,
) -> Result<Statuses, Error> {
    let details = reader.details(judged, as_of);
    statuses_with(context, reader, judged, details, left_out, as_of)
}

/// The same with what is known beside the verdicts.
pub(crate) fn statuses_with(
    context: &Context,
    reader: &StatusReader<'_>,
    judged: &[SessionStatus],
    details: Details,
    left_out: usize,
    as_of: Timestamp,
) -> Result<Statuses, Error> {
    let jobs = jobs::beside(context, reader, judged)?;
    let collisions = collisions::of_living(reader, judged)?;
    Ok(Statuses { as_of, sessions: rows(judged, &jobs, details, &collisions), left_out })
}

/// One row for each session.
pub fn rows<S: BuildHasher>(
    judged: &[SessionStatus],
    jobs: &HashMap<SessionId, Job, S>,
    details: Details,
    collisions: &Collisions,
) -> Vec<StatusRow> {
    let Details { mut abouts, mut usages } = details;
    let row = |one: &SessionStatus| {
        let id = &one.seen.session.id;
        StatusRow {
            session: report(one),
            job: jobs.get(id).map(brief),
            about: abouts.remove(id).unwrap_or_default(),
            usage: usages.remove(id),
            collisions: collisions.of(id),
        }
    };
    judged.iter().map(row).collect()
}

/// A job beside its session.
pub fn brief(job: &Job) -> JobBrief {
    JobBrief {
        id: job.id.clone(),
        state: job.state.as_str().to_owned(),
        waiting: job.waiting.clone(),
    }
}

/// What one session is doing, with the evidence.
pub fn report(one: &SessionStatus) -> StatusReport {
    let session = &one.seen.session;
    StatusReport {
        id: session.id.clone(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        ours: one.seen.is_ours(),
        pane: session.pane.clone(),
        verdict: one.verdict.clone(),
        notes: one.notes.clone(),
    }
}

/// What `why` prints.
pub fn explained(one: &SessionStatus, as_of: Timestamp) -> Explained {
    Explained { as_of, session: report(one) }
}

/// What `ls` prints.
pub fn sessions(seen: &[SessionSnapshot], left_out: usize, as_of: Timestamp) -> Sessions {
    Sessions { as_of, sessions: seen.iter().map(session).collect(), left_out }
}

fn session(seen: &SessionSnapshot) -> session::Session {
    let session = &seen.session;
    let ended = session.ended();
    session::Session {
        id: session.id.clone(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        state: seen.life.state,
        since: seen.life.since,
        reason: seen.life.reason.clone(),
        exit: ended.map(|ended| ended.exit),
        cause: ended.map(|ended| ended.cause),
        by: ended.and_then(|ended| ended.by.clone()),
        project: session.project.to_string_lossy().into_owned(),
        cwd: session.cwd.to_string_lossy().into_owned(),
        story: session.story.clone(),
        model: session.model.clone(),
        conversation: session.conversation.clone(),
        command: session.command.clone(),
        pane: session.pane.clone(),
        pid: session.started().map(|started| started.agent.pid),
        attached: seen.pane.map(|pane| pane.attached > 0),
        created: session.created,
        put_away: session.archived,
        title: session.title.clone(),
        tags: session.tags.clone(),
    }
}

/// What `tmux-status` prints: `!2 *5 x1`, of the sessions that the dashboard lists.
pub fn in_short(
    store: Option<&Store>,
    mut all: Vec<&SessionStatus>,
    is_shown: impl Fn(&SessionStatus) -> bool,
) -> String {
    snapshot::hide_superseded(&mut all, |one| &one.seen);
    let is_idle = |one: &&SessionStatus| matches!(one.verdict.status, Status::Idle { .. });
    let looked_at = if all.iter().any(is_idle) {
        store.and_then(|store| store.looked_at().logged("read looks")).unwrap_or_default()
    } else {
        BTreeMap::new()
    };
    badge(all.iter().map(|one| {
        let looked = looked_at.get(&one.seen.session.id).copied();
        Place::of(&one.verdict.status, is_seen(is_shown(one), looked, one.verdict.since))
    }))
}
