//! `since`: what happened after a cursor. A cursor is the number of an event in the journal.

use std::collections::BTreeSet;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::kind;
use dogwatch_core::job::JobState;
use dogwatch_core::mcp::is_news;
use dogwatch_core::status::Status;
use dogwatch_engine::observe::status::StatusReader;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::mcp::{Change, ChangeKind, Changes, StateDetail};
use dogwatch_store::{Entry, Range, Settlement, Store};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::act::{label, whose};
use crate::arguments::{MOST_WAIT, SinceArgs};
use crate::brief;
use crate::call::{Reply, Trouble, reply};
use crate::server::{Server, Shared};

/// Most changes that are returned at once.
const MOST: usize = 30;
/// Events that are read at once.
const AT_ONCE: u32 = 500;
/// What ends together is returned together: a job is recorded a moment after the turn of its agent.
const TOGETHER: Duration = Duration::from_millis(400);
/// How long the dialog of an agent that says that it waits is looked for on its screen, and how often.
const UNDRAWN: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(150);
/// Longest part of a job's result.
const MOST_RESULT: usize = 600;

pub(crate) async fn since(server: &Server, args: SinceArgs) -> Reply {
    if args.wait > MOST_WAIT {
        return Err(Trouble::BadArguments(format!("wait must be at most {MOST_WAIT} seconds")));
    }
    let deadline = Instant::now() + Duration::from_secs(args.wait.into());
    let Some(first) = args.cursor else {
        let cursor = server.block(|shared| Ok(shared.context.store()?.last_entry()?)).await?;
        return reply(&Changes { cursor, changes: Vec::new(), more: false, missed: false });
    };
    // Before the first look: what happens after it is not overlooked.
    let mut hold = (args.wait > 0).then(|| server.shared.news.hold());
    let names = args.sessions;
    let only = server.block(move |shared| prepare(shared, &names)).await?;
    let mut undrawn_until = None;
    let mut cursor = first;
    let mut is_second = false;
    loop {
        if let Some(hold) = &mut hold {
            hold.newest.mark_unchanged();
        }
        let meant = only.clone();
        // While nothing matters, what was read is not read again.
        let (found, is_undrawn) = server.block(move |shared| look(shared, cursor, &meant)).await?;
        if is_undrawn && hold.is_some() {
            let until =
                *undrawn_until.get_or_insert_with(|| deadline.min(Instant::now() + UNDRAWN));
            if Instant::now() < until {
                // sleep: an agent says that it asks some milliseconds before it draws the dialog, and nothing tells when it is drawn.
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        }
        let has_news = !found.changes.is_empty() || found.missed || found.more;
        let Some(hold) = hold.as_mut() else { return reply(&found) };
        if is_second || (has_news && (found.changes.len() > 1 || found.more || found.missed)) {
            return reply(&found);
        }
        let until = if has_news {
            is_second = true;
            deadline.min(Instant::now() + TOGETHER)
        } else {
            cursor = found.cursor;
            deadline
        };
        let woken = timeout_at(until, hold.newest.changed()).await;
        if woken.is_err() && !has_news {
            return reply(&found);
        }
    }
}

/// The ids of the sessions that are meant, all if none is named. States get into the journal when a process looks: if none watches, this
/// does.
fn prepare(shared: &Shared, names: &[String]) -> Result<Only, Trouble> {
    let mut reader = StatusReader::new(&shared.context)?;
    if !shared.news.is_watching() {
        reader.all(Timestamp::now()).logged("look at all sessions");
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = reader.many(&names, Timestamp::now())?;
    let ids = meant.into_iter().map(|one| one.seen.session.id).collect();
    Ok((!names.is_empty()).then_some(ids))
}

/// Only these sessions, if there are any.
type Only = Option<BTreeSet<SessionId>>;

/// What happened after the cursor. Whether a dialog among it is not drawn yet is returned too.
fn look(shared: &Shared, cursor: i64, only: &Only) -> Result<(Changes, bool), Trouble> {
    let store = shared.context.store()?;
    let (mut changes, mut waiting) = read(shared, &store, cursor, only)?;
    let is_marked = |at: &usize| changes.changes[*at].detail.mark.is_some();
    waiting.retain(|(_, at)| !is_marked(at));
    let ids: Vec<&str> = waiting.iter().map(|(id, _)| id.as_str()).collect();
    let judged = StatusReader::new(&shared.context)?.each(&ids, Timestamp::now())?;
    let mut is_undrawn = false;
    for ((_, at), judged) in waiting.iter().zip(judged) {
        let Ok(judged) = judged else { continue };
        let Status::Waiting { dialog, .. } = &judged.verdict.status else { continue };
        is_undrawn |= dialog.is_none();
        changes.changes[*at].detail = brief::detail(&judged.verdict.status);
    }
    Ok((changes, is_undrawn))
}

/// The last change of each session that waits, by its place.
type Waiting = Vec<(SessionId, usize)>;

fn read(
    shared: &Shared,
    store: &Store,
    cursor: i64,
    only: &Only,
) -> Result<(Changes, Waiting), Trouble> {
    let newest = store.last_entry()?;
    if cursor < 0 || cursor > newest {
        let problem = format!("cursor {cursor} is none of this journal; call since without one");
        return Err(Trouble::BadArguments(problem));
    }
    // The oldest events are removed from a long journal. Gaps within are of sessions that failed to start.
    let missed = store.first_entry()? > cursor + 1;
    let mut after = cursor;
    let mut changes = Vec::new();
    let mut waiting = Waiting::new();
    loop {
        let range = Range { after, most: Some(AT_ONCE), ..Range::default() };
        let entries = store.entries(&range)?;
        let is_all = entries.len() < usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        for entry in &entries {
            if changes.len() == MOST {
                return Ok((Changes { cursor: after, changes, more: true, missed }, waiting));
            }
            after = entry.number;
            let subject = entry.event.session.as_ref().map(|subject| subject.id.as_str());
            let is_meant = match (only, subject) {
                (Some(only), Some(id)) => only.contains(id),
                _ => true,
            };
            let Some(change) = is_meant.then(|| change(shared, store, entry)).flatten() else {
                continue;
            };
            if let Some(id) = subject.filter(|_| change.what == ChangeKind::Session) {
                waiting.retain(|(known, _)| known.as_str() != id);
                if change.detail.waits_for.is_some() {
                    waiting.push((id.into(), changes.len()));
                }
            }
            changes.push(change);
        }
        if is_all {
            return Ok((Changes { cursor: after, changes, more: false, missed }, waiting));
        }
    }
}

/// What an event means to whoever has given work to agents; `None` if nothing.
fn change(shared: &Shared, store: &Store, entry: &Entry) -> Option<Change> {
    let event = &entry.event;
    let subject = event.session.as_ref();
    let caller = shared.context.caller.session.as_deref();
    if subject.is_some_and(|subject| Some(subject.id.as_str()) == caller) {
        return None;
    }
    let of = |what, state: &str| Change {
        what,
        session: subject.map(|subject| subject.name.clone()),
        state: state.to_owned(),
        detail: StateDetail::default(),
        job: None,
        result: None,
        number: None,
    };
    let said =
        |text: &str| StateDetail { detail: Some(brief::cut(text, 300)), ..StateDetail::default() };
    match event.kind.as_str() {
        kind::STATE => {
            let status: Status = serde_json::from_value(event.data.clone()).logged("read JSON")?;
            let detail = brief::detail(&status);
            is_news(&status).then(|| Change { detail, ..of(ChangeKind::Session, status.as_str()) })
        }
        kind::JOB => {
            let state: JobState = serde_json::from_value(event.data.clone()).logged("read JSON")?;
            let id = event.data.get("id")?.as_str()?;
            if !state.is_over() {
                return None;
            }
            let job = store.job(id).logged("read a job").flatten();
            let result = job.as_ref().and_then(|job| job.state.result());
            let detail = match &state {
                JobState::Failed { because, .. } => said(because),
                _ => StateDetail::default(),
            };
            Some(Change {
                job: Some(id.into()),
                result: result.map(|text| brief::cut(text, MOST_RESULT)),
                detail,
                ..of(ChangeKind::Job, state.as_str())
            })
        }
        kind::MESSAGE_SETTLED => {
            let outcome = event.data.get("outcome")?;
            let word = outcome.get("outcome")?.as_str()?;
            let because = outcome.get("because").and_then(Value::as_str).unwrap_or_default();
            (word != "delivered")
                .then(|| Change { detail: said(because), ..of(ChangeKind::Message, word) })
        }
        kind::ESCALATION_RAISED => {
            let number = event.data.get("number")?.as_i64()?;
            let found =
                store.escalation(&number.to_string()).logged("read a question").flatten()?;
            if found.key.starts_with(&whose(shared)) {
                return None;
            }
            let detail = said(&found.situation.headline());
            Some(Change { number: Some(number), detail, ..of(ChangeKind::Question, "raised") })
        }
        kind::ESCALATION_ANSWERED => {
            let number = event.data.get("number")?.as_i64()?;
            let found =
                store.escalation(&number.to_string()).logged("read a question").flatten()?;
            let detail = match found.settled?.outcome {
                Settlement::Answered { option, note, by, .. } => {
                    let chosen = label(&found.options, option).unwrap_or_default();
                    let note = note.map(|note| format!(": {note}")).unwrap_or_default();
                    said(&format!("{chosen}{note} ({by})"))
                }
                Settlement::Withdrawn { because } => said(&because),
            };
            Some(Change { number: Some(number), detail, ..of(ChangeKind::Question, "answered") })
        }
        _ => None,
    }
}
