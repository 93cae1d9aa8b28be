//! From an event to the people: writes it down once, and sends what is due.
//!
//! The database decides which process sends: an event is written once, and a delivery is taken by one process. Everybody who has
//! something to tell also sends what others left behind: a channel that failed, a process that was killed.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::config::Config;
use dogwatch_core::event::kind;
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_core::notify::session::{is_passing, still_holds};
use dogwatch_core::notify::{
    About, Facts, Planned, UnlessAttached, batch, due_regardless, next_try, retry,
};
use dogwatch_protocol::event_data::NotTold;
use dogwatch_protocol::notice::TestedChannel;
use dogwatch_store::{DeliveryOutcome, NotifyEvent, NotifyWhat, Session, Store, TakenDelivery};
use dogwatch_tmux::{Command, PaneId, Server, Socket};
use jiff::{SignedDuration, Timestamp};

use super::channels::{self, NO_CLIENT, Timed, clients};
use super::outward;
pub use super::rules::Rules;
use crate::{Context, Error};

/// Beyond its limit, how long a process may take to record what it sent before another one sends it again.
const LEASE: Duration = Duration::from_secs(30);
/// The longest wait for notifications that can be sent together.
const LONGEST_BATCH: Duration = Duration::from_secs(5);

/// Something that people may want to know.
#[derive(Debug)]
pub struct News<'a> {
    pub notice: Notice,
    pub facts: Facts,
    pub what: NotifyWhat<'a>,
}

/// Facts about a session, for the filters.
pub fn about(session: &Session) -> About {
    About {
        id: session.id.to_string(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        project: session.project.display().to_string(),
        tags: session.tags.clone(),
    }
}

/// What is to be written down of something, by whoever writes down that it happened.
#[derive(Debug)]
pub struct Prepared {
    key: String,
    session: String,
    notice: Notice,
    pub planned: Vec<Planned>,
    at: Timestamp,
}

impl Prepared {
    pub fn event(&self) -> NotifyEvent<'_> {
        let Self { key, session, notice, at, .. } = self;
        NotifyEvent { at: *at, session, what: NotifyWhat::Key(key), notice }
    }
}

/// Prepares one notification about several sessions: for whoever wants to know of one of them.
pub fn prepare_for_all(
    context: &Context,
    key: String,
    notice: &Notice,
    sessions: &[Session],
) -> Option<Prepared> {
    // The configured channels may be unknown, and a person must be notified nevertheless.
    let rules = Rules::read(context).logged("read the configuration");
    let rules = rules.unwrap_or_else(|| Rules::of(&Config::default()));
    let at = Timestamp::now();
    let mut planned: Vec<Planned> = Vec::new();
    for session in sessions {
        let (occasion, about) = (notice.occasion, Some(about(session)));
        let facts = Facts { occasion, about, dialog: None, hold: Duration::ZERO };
        for one in rules.plan(&facts, at) {
            if planned.iter().all(|other| other.channel != one.channel) {
                planned.push(one);
            }
        }
    }
    let notice = outward::notice(notice);
    let session = String::new();
    (!planned.is_empty()).then_some(Prepared { key, session, notice, planned, at })
}

/// Prepares what [`tell`] would write down. `None` if no rule wants it.
pub fn prepare(context: &Context, store: &Store, key: String, notice: &Notice) -> Option<Prepared> {
    let rules = Rules::read(context).logged("read the configuration")?;
    let (at, facts) = (Timestamp::now(), facts(context, Some(store), notice));
    let planned = rules.plan(&facts, at);
    let session = facts.about.map(|about| about.id).unwrap_or_default();
    let notice = outward::notice(notice);
    (!planned.is_empty()).then_some(Prepared { key, session, notice, planned, at })
}

fn facts(context: &Context, store: Option<&Store>, notice: &Notice) -> Facts {
    let session = notice.session.as_deref().zip(store);
    let session = session.and_then(|(name, store)| find(context, store, name));
    let about = session.as_ref().map(about);
    Facts { occasion: notice.occasion, about, dialog: None, hold: Duration::ZERO }
}

/// Tells people of something now, as far as it is due now, and waits for it. Returns what failed; that is tried again later, and in the
/// journal too.
pub fn tell(context: &Context, key: &str, notice: Notice) -> Vec<String> {
    let notice = outward::notice(&notice);
    let (rules, mut problems) = match Rules::read(context) {
        Ok(rules) => (rules, Vec::new()),
        // The configured channels are unknown, and a person must be notified nevertheless.
        Err(error) => (Rules::of(&Config::default()), vec![error.to_string()]),
    };
    let store = context.store().logged("open the database");
    let facts = facts(context, store.as_ref(), &notice);
    let news = News { notice, facts, what: NotifyWhat::Key(key) };
    // What is due later is for the supervisor.
    context.state.tell_outbox();
    problems.extend(match store {
        Some(mut store) => tell_now(context, &mut store, &rules, &news),
        None => send_untracked(context, &rules, &news).unwrap_or_default(),
    });
    if !problems.is_empty()
        && let Some(mut store) = context.store().logged("open the database")
    {
        let data = NotTold {
            occasion: news.notice.occasion,
            title: news.notice.title.clone(),
            problems: problems.clone(),
        };
        let session = news.notice.session.as_deref();
        store
            .record_event(Timestamp::now(), session, kind::NOT_TOLD, &data)
            .logged("write an event");
    }
    problems
}

fn find(context: &Context, store: &Store, name: &str) -> Option<Session> {
    if let Some(session) = store.by_id(name).logged("read a session")? {
        return Some(session);
    }
    store.named(&context.socket, name).logged("read a session")?.pop()
}

fn tell_now(context: &Context, store: &mut Store, rules: &Rules, news: &News<'_>) -> Vec<String> {
    let now = Timestamp::now();
    let planned = rules.plan(&news.facts, now);
    if planned.is_empty() {
        return Vec::new();
    }
    match post(store, news, &planned, now) {
        // Also what was written down before: whoever did so may have been killed.
        Ok(_) => {
            let now = Timestamp::now();
            let due = planned.into_iter().filter(|one| one.due <= now).map(|one| one.channel);
            send(context, store, rules, due.collect()).problems
        }
        Err(error) => {
            Err::<(), _>(error).logged("write down a notification");
            send_untracked(context, rules, news).unwrap_or_default()
        }
    }
}

/// Writes news down, for whoever sends it. If that fails, it is sent at once, since twice is better than never, unless it was sent so
/// before: then its number is in `told`.
pub fn add(
    context: &Context,
    store: &mut Store,
    rules: &Rules,
    news: &News<'_>,
    told: &mut BTreeSet<u64>,
) {
    let now = Timestamp::now();
    let planned = rules.plan(&news.facts, now);
    if planned.is_empty() {
        return;
    }
    let Err(error) = post(store, news, &planned, now) else { return };
    Err::<(), _>(error).logged("write down a notification");
    send_once(context, rules, news, told);
}

/// Sends what cannot be written down, unless it was sent so before.
pub fn send_once(context: &Context, rules: &Rules, news: &News<'_>, told: &mut BTreeSet<u64>) {
    let number = number_of(news);
    if !told.contains(&number) && send_untracked(context, rules, news).is_some() {
        told.insert(number);
    }
}

/// Writes news down for whoever sends it next, and sends nothing: an agent waits for whoever calls this.
pub fn leave(context: &Context, store: &mut Store, rules: &Rules, news: &News<'_>) {
    let now = Timestamp::now();
    let planned = rules.plan(&news.facts, now);
    if !planned.is_empty() {
        post(store, news, &planned, now).logged("write down a notification");
        context.state.tell_outbox();
    }
}

/// Writes something down for the supervisor, if an agent calls. `false` if that cannot be.
pub fn leave_to_supervisor(
    context: &Context,
    store: &mut Store,
    key: &str,
    notice: &Notice,
) -> bool {
    context.caller.session.is_some() && write_down(context, store, key, notice)
}

/// Writes something down for the thread of the supervisor that sends. `false` if that cannot be.
pub fn write_down(context: &Context, store: &mut Store, key: &str, notice: &Notice) -> bool {
    let Some(prepared) = prepare(context, store, key.to_owned(), notice) else { return true };
    let added = store.add_notification(&prepared.event(), &prepared.planned);
    if added.logged("write down a notification").is_none() {
        return false;
    }
    context.state.tell_outbox();
    true
}

/// The same for the same event of a session.
fn number_of(news: &News<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    news.facts.about.as_ref().map(|about| &about.id).hash(&mut hasher);
    match news.what {
        NotifyWhat::Key(key) => key.hash(&mut hasher),
        NotifyWhat::Status { detail, .. } => detail.hash(&mut hasher),
    }
    hasher.finish()
}

fn post(
    store: &mut Store,
    news: &News<'_>,
    planned: &[Planned],
    at: Timestamp,
) -> Result<bool, dogwatch_store::StoreError> {
    let session = news.facts.about.as_ref().map_or("", |about| about.id.as_str());
    let notice = &outward::notice(&news.notice);
    store.add_notification(&NotifyEvent { at, session, what: news.what, notice }, planned)
}

/// Channels on which something is due, or soon will be.
pub fn due(store: &Store) -> Vec<String> {
    let now = Timestamp::now();
    let ready = store.ready_channels(now).logged("read notifications").unwrap_or_default();
    let soon = later(now, LONGEST_BATCH);
    ready.into_iter().filter(|(_, at)| *at <= soon).map(|(channel, _)| channel).collect()
}

/// Sends what is due on a channel, and waits for what is to be sent together with it. What failed is tried again later.
pub fn flush(context: &Context, store: &mut Store, rules: &Rules, channel: &str) {
    loop {
        let now = Timestamp::now();
        let Some(channels) = store.ready_channels(now).logged("read notifications") else {
            return;
        };
        let ready = channels.into_iter().find(|(ready, _)| ready == channel);
        let Some((_, at)) = ready else { return };
        if at <= now {
            // It was ready, and gave nothing: another process was first, or the database cannot be written.
            if !send(context, store, rules, vec![channel.to_owned()]).barren.is_empty() {
                return;
            }
            continue;
        }
        let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        if wait > LONGEST_BATCH {
            return;
        }
        // sleep: what else comes in this time is sent together
        std::thread::sleep(wait);
    }
}

/// The result of a call of [`send`].
#[derive(Debug, Default)]
struct Pass {
    /// What failed.
    problems: Vec<String>,
    /// Channels on which there was nothing to send.
    barren: Vec<String>,
}

/// Sends everything that is due on these channels, in parallel.
fn send(context: &Context, store: &mut Store, rules: &Rules, channels: Vec<String>) -> Pass {
    let mut pass = Pass::default();
    let mut batches = Vec::new();
    let mut sinks = Vec::new();
    for channel in channels {
        let rule = rules.rules.iter().find(|rule| rule.channel_id() == channel);
        let now = Timestamp::now();
        let limit = rule.map_or(Duration::ZERO, |rule| rule.limit) + LEASE;
        let until = later(now, limit);
        let taken = store.take_deliveries(&channel, now, until).logged("take notifications");
        let Some(taken) = taken.filter(|taken| !taken.is_empty()) else {
            pass.barren.push(channel);
            continue;
        };
        let Some(rule) = rule else {
            let because = "the channel is no longer configured";
            settle(store, &ids(&taken), DeliveryOutcome::Skipped { because });
            continue;
        };
        let wanted = wanted(context, store, rules, &channel, taken);
        let notices = wanted.iter().map(|one| one.notice.clone()).collect();
        let Some(notice) = batch::combine(notices) else { continue };
        sinks.push((Timed::new(context, rule), outward::notice(&notice)));
        batches.push((rule, wanted));
    }
    for ((rule, taken), tried) in batches.into_iter().zip(channels::send_all(sinks)) {
        if let Err(problem) = &tried.result {
            pass.problems.push(format!("{}: {problem}", tried.label));
        }
        record(store, rules, &rule.channel_id(), &taken, tried.result);
    }
    pass.problems.retain(|problem| !problem.ends_with(NO_CLIENT));
    pass
}

fn ids(taken: &[TakenDelivery]) -> Vec<i64> {
    taken.iter().map(|one| one.id).collect()
}

/// Those that are still worth telling. The others are recorded as skipped.
fn wanted(
    context: &Context,
    store: &mut Store,
    rules: &Rules,
    channel: &str,
    taken: Vec<TakenDelivery>,
) -> Vec<TakenDelivery> {
    let mut wanted = Vec::new();
    for one in taken {
        if one.is_deferred && is_over(store, &one) {
            let because = "over before it was due";
            settle(store, &[one.id], DeliveryOutcome::Skipped { because });
            continue;
        }
        let because = "a client is attached";
        let session = store.by_id(&one.session).logged("read a session").flatten();
        let which = one.unless_attached;
        if !which.is_some_and(|which| is_attached(context, session.as_ref(), which)) {
            wanted.push(one);
            continue;
        }
        let about = session.as_ref().map(about);
        let occasion = one.notice.occasion;
        let facts = Facts { occasion, about, dialog: None, hold: Duration::ZERO };
        match due_regardless(&rules.rules, channel, &facts, one.at, &rules.zone) {
            None => settle(store, &[one.id], DeliveryOutcome::Skipped { because }),
            Some(at) if at > Timestamp::now() => {
                settle(store, &[one.id], DeliveryOutcome::Later { at, because });
            }
            Some(_) => wanted.push(one),
        }
    }
    wanted
}

/// Whether the session's status is another one by now.
fn is_over(store: &Store, one: &TakenDelivery) -> bool {
    if one.detail.is_empty() || !is_passing(one.notice.occasion) {
        return false;
    }
    let later = store.has_later_event(&one.session, one.event).logged("read notifications");
    let state = store.state(&one.session).logged("read a state").flatten();
    later == Some(true) || state.is_some_and(|state| !still_holds(&one.detail, &state.key))
}

fn is_attached(context: &Context, session: Option<&Session>, which: UnlessAttached) -> bool {
    let server = match session {
        Some(session) if session.socket != context.socket => {
            Server::new(Socket::Path(session.socket.clone()))
        }
        _ => context.tmux.running_only(),
    };
    let clients = clients::attached(&server).logged("ask tmux").unwrap_or_default();
    if which == UnlessAttached::Server || clients.is_empty() {
        return !clients.is_empty();
    }
    let pane: Option<PaneId> = session.and_then(|session| session.pane.as_ref()?.parse().ok());
    let Some(pane) = pane else { return false };
    let shown_in = Command::about_pane(pane, "#{session_id}");
    let Some(reply) = server.run_one(shown_in).logged("ask tmux") else { return false };
    let id = String::from_utf8_lossy(reply.bytes()).trim().to_owned();
    clients.iter().any(|client| client.session == id)
}

/// Records the result of one try.
fn record(
    store: &mut Store,
    rules: &Rules,
    channel: &str,
    taken: &[TakenDelivery],
    result: Result<(), String>,
) {
    let because = match result {
        Ok(()) => return settle(store, &ids(taken), DeliveryOutcome::Sent),
        Err(problem) if problem == NO_CLIENT => {
            let because = NO_CLIENT;
            return settle(store, &ids(taken), DeliveryOutcome::Skipped { because });
        }
        Err(problem) => outward::text(&problem),
    };
    let now = Timestamp::now();
    for one in taken {
        let outcome = match retry::pause(one.attempts + 1) {
            Some(pause) => {
                let (occasion, at) = (one.notice.occasion, later(now, pause));
                let at = next_try(&rules.rules, channel, occasion, at, &rules.zone);
                DeliveryOutcome::Again { at, because: &because }
            }
            None => DeliveryOutcome::Failed { because: &because },
        };
        settle(store, &[one.id], outcome);
    }
}

/// If it cannot be written down, the lease runs out and it is sent again: twice is better than never.
fn settle(store: &mut Store, ids: &[i64], outcome: DeliveryOutcome<'_>) {
    store.settle_deliveries(ids, outcome, Timestamp::now()).logged("record a notification");
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(SignedDuration::try_from(by).unwrap_or_default()).unwrap_or(now)
}

/// Sends what is due now without the database, if that cannot be used. What is due later is left to later looks. Returns what failed;
/// `None` if nothing was due.
pub fn send_untracked(context: &Context, rules: &Rules, news: &News<'_>) -> Option<Vec<String>> {
    let now = Timestamp::now();
    let since = match news.what {
        NotifyWhat::Status { since, .. } => since.unwrap_or(now),
        NotifyWhat::Key(_) => now,
    };
    // What may be gone in a moment is sent all the same: it cannot be written down that it stays.
    let facts = Facts { hold: Duration::ZERO, ..news.facts.clone() };
    let mut planned = rules.plan(&facts, since.min(now));
    // Of a session that cannot be read, it is not known who is attached to it: rather once too often.
    planned.retain(|one| {
        let is_attached = || is_attached(context, None, UnlessAttached::Server);
        one.due <= now && (one.unless_attached != Some(UnlessAttached::Server) || !is_attached())
    });
    let channels: Vec<&str> = planned.iter().map(|one| one.channel.as_str()).collect();
    let mut seen = Vec::new();
    let mut sinks = Vec::new();
    for rule in &rules.rules {
        let id = rule.channel_id();
        if channels.contains(&id.as_str()) && !seen.contains(&id) {
            seen.push(id);
            sinks.push((Timed::new(context, rule), outward::notice(&news.notice)));
        }
    }
    if sinks.is_empty() {
        return None;
    }
    let failed = |tried: channels::Tried| Some(format!("{}: {}", tried.label, tried.result.err()?));
    Some(channels::send_all(sinks).into_iter().filter_map(failed).collect())
}

/// Sends a test notification on the channels with this name, id or kind, or on all. `None` if there is none.
pub fn test(context: &Context, which: Option<&str>) -> Result<Option<Vec<TestedChannel>>, Error> {
    let rules = Rules::read(context)?;
    let title = "dogwatch: test".to_owned();
    let text = "This channel works.".to_owned();
    let notice = channels::notice(Occasion::Test, title, text, &serde_json::Value::Null);
    let mut seen = Vec::new();
    let mut sinks = Vec::new();
    for rule in &rules.rules {
        let id = rule.channel_id();
        let is_meant = which
            .is_none_or(|word| word == id || word == rule.label() || word == rule.channel.kind());
        if is_meant && !seen.contains(&id) {
            seen.push(id);
            sinks.push((Timed::new(context, rule), outward::notice(&notice)));
        }
    }
    if sinks.is_empty() {
        return Ok(None);
    }
    let tested = |tried: channels::Tried| TestedChannel {
        channel: tried.label,
        ok: tried.result.is_ok(),
        milliseconds: u64::try_from(tried.took.as_millis()).unwrap_or(u64::MAX),
        because: tried.result.err(),
    };
    Ok(Some(channels::send_all(sinks).into_iter().map(tested).collect()))
}
