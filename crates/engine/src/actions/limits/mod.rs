//! What is done about usage limits. The supervisor looks ([`step`]), `core` decides, and the database decides which process acts:
//! a limit is settled in one transaction with the message that continues it.

pub(crate) mod fallback;

use dogwatch_core::delivery::{Outcome, When, safe_text};
use dogwatch_core::limits::decide::{held_until, is_same, refusal as refuses};
use dogwatch_core::limits::{Decision, Facts, Seen, WhenLimited, decide};
use dogwatch_core::profile::Profile;
use dogwatch_core::status::{Basis, Status};
use dogwatch_protocol::event_data::LimitAction;
use dogwatch_protocol::keys::KeyRequest;
use dogwatch_store::{Limit, LimitPolicy, Message, NOBODY, NewLimit, NewMessage, Session};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::actions::send::{self, Request, Terms, queue};
use crate::observe::asker;
use crate::observe::limits::{self, account_until};
use crate::observe::snapshot;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::{Context, Error, summon};

/// When a message that continues a limited session may still be delivered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Guard {
    /// The session must have been limited since before then.
    pub limited_by: Timestamp,
    /// This message must have been delivered before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What is done about limits next.
#[derive(Debug, Default)]
pub(crate) struct Next {
    /// The session is to be watched for limits.
    pub(crate) watching: bool,
    pub(crate) look_at: Option<Timestamp>,
    /// Another agent is to be started in its place. The caller does not wait for it.
    pub(crate) start: Option<fallback::Start>,
}

/// Looks at a session's limit, and does what is to be done now.
pub(crate) fn step(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    now: Timestamp,
) -> Result<Next, Error> {
    let id = &judged.seen.session.id;
    let Some(policy) = reader.store.limit_policy(id)? else { return Ok(Next::default()) };
    let mut last = reader.store.last_limit(id)?;
    if let Some(limit) = last.as_ref().filter(|limit| limit.action == LimitAction::Acting) {
        if let Some(start) = finish(context, reader, judged, limit, now)? {
            return Ok(Next { watching: true, look_at: None, start: Some(start) });
        }
        last = reader.store.last_limit(id)?;
    }
    if policy.policy == WhenLimited::Notify || judged.verdict.status.is_over() {
        if let Some(open) = last.filter(|limit| limit.settled.is_none()) {
            let because = Some("the session has ended, or is not to be continued");
            reader.store.settle_limit(open.id, LimitAction::Left, because, None, &[], now)?;
        }
        return Ok(Next::default());
    }
    if matches!(judged.verdict.status, Status::Idle { after_turn: true, interrupted: false, .. })
        && judged.verdict.basis == Basis::Asserted
    {
        reader.store.limits_are_over(id, now)?;
    }
    let queued = reader.store.next_message(id)?.is_some();
    let began = last.as_ref().map(|limit| limit.began);
    let seen = limits::seen(reader, judged, queued, began, now);
    let facts = Facts {
        now,
        policy: &policy.policy,
        seen,
        known: last.as_ref().map(|limit| reader.store.known_limit(limit)).transpose()?,
        paused: reader.store.limits_paused()?.is_some(),
        account_until: account_until(&reader.store, &policy.account, now)?,
        retry_after: SignedDuration::from_secs(i64::from(policy.retry_after)),
        in_a_row: reader.store.continued_in_a_row(id)?,
    };
    let mut next = Next { watching: true, ..Next::default() };
    next.look_at =
        perform(context, reader, judged, &policy, &facts, last.as_ref(), &mut next.start)?;
    Ok(next)
}

/// Does what was decided; returns when to look again.
fn perform(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    policy: &LimitPolicy,
    facts: &Facts<'_>,
    known: Option<&Limit>,
    start: &mut Option<fallback::Start>,
) -> Result<Option<Timestamp>, Error> {
    let (session, now) = (&judged.seen.session, facts.now);
    let decision = decide(facts);
    if matches!(decision, Decision::Continue | Decision::Switch(_))
        && let Err(problem) = sendable(context, session, policy)
    {
        // A budget that is used up, say.
        return settle(reader, known, LimitAction::Asked, &problem.to_string(), now);
    }
    match (decision, known) {
        (Decision::Wait { until }, _) => Ok(Some(until)),
        (Decision::Arm { due, guessed }, _) => {
            arm(reader, judged, policy, facts, due, guessed)?;
            Ok(Some(due))
        }
        (Decision::Leave { because }, _) => settle(reader, known, LimitAction::Left, because, now),
        (Decision::Ask { because }, _) => {
            arm(reader, judged, policy, facts, now, false)?;
            if let Some(limit) = reader.store.last_limit(&session.id)? {
                let action = LimitAction::Asked;
                reader.store.settle_limit(limit.id, action, Some(&because), None, &[], now)?;
            }
            Ok(None)
        }
        (Decision::Continue, Some(limit)) => {
            let id = uuid::Uuid::now_v7().to_string();
            let terms = terms(now, None);
            let message = message(&id, session, &policy.message, false, &terms, now);
            reader.store.settle_limit(
                limit.id,
                LimitAction::Acting,
                None,
                Some(&id),
                &[message],
                now,
            )?;
            Ok(Some(now))
        }
        (Decision::Switch(model), Some(limit)) => {
            let profile = reader.memory(&session.id).and_then(|memory| memory.profile());
            let Some(command) = profile.and_then(|profile| switch_command(profile, &model)) else {
                let because = format!("{} has no command that switches to a model", session.agent);
                return settle(reader, known, LimitAction::Asked, &because, now);
            };
            let ids = [(); 2].map(|()| uuid::Uuid::now_v7().to_string());
            let [first, second] = [terms(now, None), terms(now, Some(&ids[0]))];
            let messages = [
                message(&ids[0], session, &command, true, &first, now),
                message(&ids[1], session, &policy.message, false, &second, now),
            ];
            let (action, result) = (LimitAction::Acting, Some(ids[1].as_str()));
            reader.store.settle_limit(limit.id, action, None, result, &messages, now)?;
            Ok(Some(now))
        }
        (Decision::Fallback(agent), Some(limit)) => {
            match fallback::plan(context, reader, judged, &agent) {
                Ok(plan) => {
                    let name = fallback::name(session, &agent, limit.id);
                    let (action, result) = (LimitAction::Acting, Some(name.as_str()));
                    if reader.store.settle_limit(limit.id, action, None, result, &[], now)? {
                        *start = Some(fallback::Start { plan, limit: limit.id, name });
                    }
                    Ok(Some(now))
                }
                Err(because) => settle(reader, known, LimitAction::Asked, &because, now),
            }
        }
        // Only a known limit is acted on.
        (Decision::Nothing, _)
        | (Decision::Continue | Decision::Switch(_) | Decision::Fallback(_), None) => Ok(None),
    }
}

/// Whether the message that continues the session may be sent to it.
fn sendable(context: &Context, session: &Session, policy: &LimitPolicy) -> Result<(), Error> {
    let (target, text) = (session.id.as_str(), policy.message.as_str());
    let request = Request { target, text, slash: false, when: When::Idle, timeout: None };
    send::checked(context, session, &request).map(drop)
}

fn settle(
    reader: &mut StatusReader<'_>,
    known: Option<&Limit>,
    action: LimitAction,
    because: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    if let Some(limit) = known.filter(|limit| limit.settled.is_none()) {
        reader.store.settle_limit(limit.id, action, Some(because), None, &[], now)?;
    }
    Ok(Some(now))
}

fn arm(
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    policy: &LimitPolicy,
    facts: &Facts<'_>,
    due: Timestamp,
    guessed: bool,
) -> Result<(), Error> {
    let Seen::Limited { since, until, told, .. } = facts.seen else { return Ok(()) };
    let Status::Limited { text, .. } = &judged.verdict.status else { return Ok(()) };
    let new = NewLimit {
        session: &judged.seen.session.id,
        account: &policy.account,
        began: since,
        until,
        due,
        told,
        guessed,
        text,
    };
    reader.store.arm_limit(&new, facts.now)?;
    Ok(())
}

/// `/model small`
fn switch_command(profile: &Profile, model: &str) -> Option<String> {
    let command = profile.slash.model.as_ref()?.replace("@model@", model);
    safe_text::slash(&command).ok().map(|safe| safe.text)
}

fn terms(now: Timestamp, after: Option<&str>) -> serde_json::Value {
    let guard = Some(Guard { limited_by: now, after: after.map(ToOwned::to_owned) });
    Terms { when: When::Idle, until: None, changes: Vec::new(), guard }.to_json()
}

fn message<'a>(
    id: &'a str,
    session: &'a Session,
    text: &'a str,
    slash: bool,
    terms: &'a serde_json::Value,
    posted: Timestamp,
) -> NewMessage<'a> {
    NewMessage { id, session: &session.id, text, slash, terms, sender: NOBODY, posted }
}

/// Records the outcome of a limit that was acted on.
fn finish(
    context: &Context,
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    limit: &Limit,
    now: Timestamp,
) -> Result<Option<fallback::Start>, Error> {
    let Some(result) = limit.message.as_deref() else { return Ok(None) };
    let Some(message) = reader.store.message(result)? else {
        // No message: another agent was to be started, under this name.
        return fallback::go_on(context, reader, judged, limit, result);
    };
    let has_switched = queue::terms(&message).guard.is_some_and(|guard| guard.after.is_some());
    let done = if has_switched { LimitAction::Switched } else { LimitAction::Continued };
    let (action, because) = match &message.outcome {
        None => return Ok(None),
        Some(Outcome::Delivered { proof, .. }) => {
            (done, format!("delivered, proof: {}", proof.as_str()))
        }
        Some(
            Outcome::Refused { because }
            | Outcome::Failed { because }
            | Outcome::Queued { because }
            | Outcome::TypedNotSubmitted { because },
        ) => (LimitAction::Failed, because.clone()),
    };
    reader.store.finish_limit(limit.id, action, Some(&because), now)?;
    Ok(None)
}

/// Why a message that continues a session must not be delivered any more.
pub(crate) fn refusal(
    reader: &StatusReader<'_>,
    guard: &Guard,
    judged: &SessionStatus,
) -> Result<Option<Outcome>, Error> {
    let has_switched = match &guard.after {
        Some(first) => {
            let outcome = reader.store.message(first)?.and_then(|message| message.outcome);
            Some(matches!(outcome, Some(Outcome::Delivered { .. })))
        }
        None => None,
    };
    let verdict = &judged.verdict;
    let unknown = Status::Unknown { missing: String::new() };
    let status = if verdict.basis == Basis::Stale { &unknown } else { &verdict.status };
    let paused = reader.store.limits_paused()?.is_some();
    let because = refuses(status, verdict.since, guard.limited_by, has_switched, paused);
    Ok(because.map(|because| Outcome::Refused { because: because.to_owned() }))
}

/// Asks for the keys that confirm the dialog which came up after the model was switched: the very one that was seen, and only if the
/// profile knows it. Once for each message; returns whether they are still to be pressed.
pub(crate) fn confirm(
    context: &Context,
    reader: &mut StatusReader<'_>,
    guard: &Guard,
    message: &str,
    judged: &SessionStatus,
) -> Result<bool, Error> {
    let Status::Waiting { question: Some(question), dialog: Some(dialog), .. } =
        &judged.verdict.status
    else {
        return Ok(false);
    };
    let session = &judged.seen.session.id;
    let profile = reader.memory(session).and_then(|memory| memory.profile());
    let known = profile.and_then(|profile| profile.slash.model_dialog.as_ref());
    let Some(known) = known.filter(|known| guard.after.is_some() && *question == known.question)
    else {
        return Ok(false);
    };
    let (choice, dialog) = (known.choose.clone(), Some(dialog.clone()));
    let request = KeyRequest::Answer { choice, dialog, by_agent: false };
    let id = format!("switch/{message}");
    if let Some(posted) = reader.store.posted_keys(&id)? {
        return Ok(posted.outcome.is_none());
    }
    reader.store.post_keys(&id, session, &request, Timestamp::now())?;
    context.state.tell_news(session);
    Ok(true)
}

/// Whether a message without a waiting sender is held back, because the session or its account is limited.
pub(crate) fn is_held(
    reader: &mut StatusReader<'_>,
    judged: &SessionStatus,
    now: Timestamp,
) -> Result<bool, Error> {
    let id = &judged.seen.session.id;
    let Some(policy) = reader.store.limit_policy(id)? else { return Ok(false) };
    let known = reader.store.last_limit(id)?;
    // It works with another model, which the account's limit is not about.
    if known.as_ref().is_some_and(|limit| limit.action == LimitAction::Switched) {
        return Ok(false);
    }
    let account_until = account_until(&reader.store, &policy.account, now)?;
    if held_until(&policy.policy, account_until, now).is_some() {
        return Ok(true);
    }
    if policy.policy != WhenLimited::Wait {
        return Ok(false);
    }
    let Status::Limited { .. } = judged.verdict.status else { return Ok(false) };
    let Seen::Limited { since, until, told, .. } = limits::seen(reader, judged, true, None, now)
    else {
        return Ok(false);
    };
    let known = known.map(|limit| reader.store.known_limit(&limit)).transpose()?;
    let settled = known.filter(|known| known.settled.is_some());
    let is_settled = settled.is_some_and(|known| is_same(&known, since, until, told));
    Ok(!is_settled)
}

/// Whether a message is one that continues a session.
pub(crate) fn guard(message: &Message) -> Option<Guard> {
    queue::terms(message).guard
}

/// Pauses or resumes automatic continuation; false if it was so already.
pub fn pause(context: &Context, paused: bool, now: Timestamp) -> Result<bool, Error> {
    if !paused {
        asker::only_a_person(context)?;
    }
    let mut store = context.store()?;
    let by = context.caller.words(&store);
    let changed = store.pause_limits(paused, &by, now)?;
    for limit in store.open_limits()? {
        summon::poke(context, &limit.session);
    }
    Ok(changed)
}

/// Changes what a session does about limits.
pub fn set(context: &Context, target: &str, policy: WhenLimited) -> Result<Session, Error> {
    let seen = snapshot::find(context, target)?;
    let mut store = context.store()?;
    let config = crate::config::read(context)?.limits;
    let known = store.limit_policy(&seen.session.id)?;
    let account =
        known.map_or_else(|| format!("{} unknown", seen.session.agent), |old| old.account);
    let policy = LimitPolicy {
        session: seen.session.id.clone(),
        account,
        policy,
        message: config.message.get_ref().clone(),
        retry_after: *config.retry_after.get_ref(),
    };
    store.set_limit_policy(&policy, Timestamp::now())?;
    summon::poke(context, &seen.session.id);
    Ok(seen.session)
}
