//! Usage limits as they are seen: of a session, and of the account that it works with.

use std::collections::BTreeMap;

use dogwatch_base::log::Logged as _;
use dogwatch_core::limits::decide::{is_news, makes_sense};
use dogwatch_core::limits::until::moment;
use dogwatch_core::limits::windows::{self, LimitWindow};
use dogwatch_core::limits::{self, Seen};
use dogwatch_core::status::{Basis, Status};
use dogwatch_core::transcript::Dialect;
use dogwatch_protocol::limits::{AccountLimits, LastLimit, LimitedSession, Limits};
use dogwatch_store::{KeptState, LimitPolicy, Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::transcripts;
use crate::{Context, Error};

/// What the name of an account ends in that is not known.
const UNKNOWN: &str = " unknown";

/// What a session shows, for the decision about its limit. `began` is when the known limit began.
pub(crate) fn seen(
    reader: &StatusReader<'_>,
    judged: &SessionStatus,
    queued: bool,
    began: Option<Timestamp>,
    now: Timestamp,
) -> Seen {
    let verdict = &judged.verdict;
    if verdict.basis == Basis::Stale {
        return Seen::Unclear;
    }
    match (&verdict.status, verdict.since) {
        (Status::Limited { until, .. }, Some(since)) => {
            let memory = reader.memory(&judged.seen.session.id);
            let screen = memory.and_then(|memory| memory.screen());
            Seen::Limited {
                since,
                until: until.as_deref().and_then(|until| end(until, since)),
                told: verdict.basis == Basis::Asserted,
                draft: screen.is_some_and(|screen| screen.draft.is_some()),
                queued,
            }
        }
        (status, _) if status.is_over() => Seen::Over,
        (Status::Working { .. } | Status::Idle { .. } | Status::Error { .. }, Some(since))
            if began.is_none_or(|began| is_news(began, since, now)) =>
        {
            Seen::Other
        }
        _ => Seen::Unclear,
    }
}

/// The time that an agent gave, as it was meant when it said so.
pub(crate) fn end(until: &str, since: Timestamp) -> Option<Timestamp> {
    moment(until, &since.to_zoned(TimeZone::system()))
}

/// The latest end of a limit of an account that lies ahead. Nothing is known of an account that is not.
pub(crate) fn account_until(
    store: &Store,
    account: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    if account.ends_with(UNKNOWN) {
        return Ok(None);
    }
    let mut ends: Vec<Timestamp> = Vec::new();
    for limit in store.account_limits(account, now)? {
        let is_general = !limits::is_of_a_model(&limit.text);
        ends.extend(limit.until.filter(|end| is_general && makes_sense(*end, limit.began)));
    }
    for policy in store.limit_policies()?.iter().filter(|policy| policy.account == account) {
        ends.extend(store.state(&policy.session)?.and_then(|state| limited_until(&state)));
    }
    Ok(ends.into_iter().filter(|end| *end > now).max())
}

/// When the limit ends that a recorded status tells of.
fn limited_until(state: &KeptState) -> Option<Timestamp> {
    if state.key != "limited" {
        return None;
    }
    let text = state.status["text"].as_str().unwrap_or_default();
    let end = end(state.status["until"].as_str()?, state.since)?;
    (!limits::is_of_a_model(text) && makes_sense(end, state.since)).then_some(end)
}

/// What a limited session is going to do, for people: `continues 02:10`.
pub(crate) fn note(store: &Store, session: &str) -> Option<String> {
    let limit = store.last_limit(session).logged("read a limit")??;
    if limit.settled.is_some() {
        let because = limit.because.map(|because| format!(": {because}")).unwrap_or_default();
        return Some(format!("not continued automatically{because}"))
            .filter(|_| limit.message.is_none());
    }
    if store.limits_paused().logged("read a pause")?.is_some() {
        return Some("automatic continuation is paused".to_owned());
    }
    Some(format!("continues {}", clock(limit.due, Timestamp::now())))
}

/// A time as a person reads it: the day only if it is another one.
pub fn clock(at: Timestamp, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone));
    let format = if at.date() == now.date() { "%H:%M" } else { "%b %-d %H:%M" };
    at.strftime(format).to_string()
}

/// Policies by account, in the order of their names.
fn by_account(store: &Store) -> Result<BTreeMap<String, Vec<LimitPolicy>>, StoreError> {
    let mut accounts: BTreeMap<String, Vec<LimitPolicy>> = BTreeMap::new();
    for policy in store.limit_policies()? {
        accounts.entry(policy.account.clone()).or_default().push(policy);
    }
    Ok(accounts)
}

/// All accounts with sessions that run, their windows and limits.
pub fn accounts(context: &Context, now: Timestamp) -> Result<Limits, Error> {
    let mut reader = StatusReader::new(context)?;
    let judged = reader.all(now)?;
    let mut accounts = Vec::new();
    for (account, policies) in by_account(&reader.store)? {
        let mut found = AccountLimits {
            agent: account.split(' ').next().unwrap_or_default().to_owned(),
            known: !account.ends_with(UNKNOWN),
            until: account_until(&reader.store, &account, now)?,
            account,
            windows: Vec::new(),
            sessions: Vec::new(),
        };
        for policy in policies {
            let Some(one) = judged.iter().find(|one| one.seen.session.id == policy.session) else {
                continue;
            };
            if one.verdict.status.is_over() {
                continue;
            }
            for window in windows_of(context, &reader, one) {
                newest(&mut found.windows, window);
            }
            let last = reader.store.last_limit(&policy.session)?;
            found.sessions.push(LimitedSession {
                id: policy.session,
                name: one.seen.session.name.clone(),
                state: one.verdict.status.as_str().to_owned(),
                when_limited: policy.policy.to_string(),
                last: last.map(|limit| LastLimit {
                    began: limit.began,
                    until: limit.until,
                    text: limit.text,
                    action: limit.action,
                    continues: limit.settled.is_none().then_some(limit.due),
                    because: limit.because,
                }),
            });
        }
        if !found.sessions.is_empty() {
            accounts.push(found);
        }
    }
    Ok(Limits { paused: reader.store.limits_paused()?, accounts })
}

/// All sessions of an account report the same windows: the newest report counts.
fn newest(windows: &mut Vec<LimitWindow>, new: LimitWindow) {
    match windows.iter_mut().find(|known| known.window == new.window) {
        Some(known) if known.seen < new.seen => *known = new,
        Some(_) => {}
        None => windows.push(new),
    }
}

/// What a session's agent reports of its account.
fn windows_of(
    context: &Context,
    reader: &StatusReader<'_>,
    one: &SessionStatus,
) -> Vec<LimitWindow> {
    let session = &one.seen.session;
    let read = || {
        let memory = reader.memory(&session.id)?;
        if memory.profile()?.transcript.as_ref()?.dialect == Dialect::Codex {
            let path = memory.transcript(context, session)?;
            return Some(windows::of_codex(&transcripts::last_lines(&path, windows::TAIL)?));
        }
        let (seen, payload) = reader.store.statusline(&session.id).logged("read a heartbeat")??;
        let payload = serde_json::from_str(&payload).logged("read JSON")?;
        Some(windows::of_statusline(&payload, seen))
    };
    read().unwrap_or_default()
}
