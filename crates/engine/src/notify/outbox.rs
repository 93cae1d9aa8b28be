//! From an event to the people: writes it down once, and sends what is due.
//!
//! The database decides which process sends: an event is written once, and a delivery is taken by one process. Everybody who has
//! something to tell also sends what others left behind: a channel that failed, a process that was killed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::config::Config;
use dogwatch_core::event::kind;
use dogwatch_core::notice::{Notice, Occasion};
use dogwatch_core::notify::session::{is_passing, still_holds};
use dogwatch_core::notify::{
    About, Channel, Facts, Filter, On, Planned, Quiet, Rule, UnlessAttached, batch, plan, retry,
};
use dogwatch_protocol::event_data::NotTold;
use dogwatch_protocol::notice::TestedChannel;
use dogwatch_store::{DeliveryOutcome, NotifyEvent, NotifyWhat, Session, Store, TakenDelivery};
use dogwatch_tmux::{Command, PaneId, Server, Socket};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::channels::{self, NOBODY, Timed, clients};
use super::outward;
use crate::{Context, Error, config, environment};

/// Limit for the bell, which needs no network.
const BELL: Duration = Duration::from_secs(2);
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

/// What the configuration says of notifications. Without any, a question rings the bell.
#[derive(Debug)]
pub struct Rules {
    pub rules: Vec<Rule>,
    zone: TimeZone,
}

impl Rules {
    pub fn read(context: &Context) -> Result<Self, Error> {
        config::read(context).map(|config| Self::of(&config))
    }

    fn of(config: &Config) -> Self {
        let rules = if config.notify.is_empty() { vec![bell()] } else { config.notify_rules() };
        Self { rules, zone: environment::local_time().time_zone().clone() }
    }

    /// Whether somebody has to look at sessions for their sake.
    pub fn are_about_sessions(&self) -> bool {
        self.rules.iter().any(Rule::is_about_sessions)
    }

    fn plan(&self, facts: &Facts, at: Timestamp) -> Vec<Planned> {
        plan(&self.rules, facts, at, &self.zone)
    }
}

fn bell() -> Rule {
    Rule {
        name: None,
        channel: Channel::Bell,
        on: vec![On::EscalationRaised],
        filter: Filter::default(),
        after: Duration::ZERO,
        quiet: Quiet::default(),
        unless_attached: None,
        batch: Duration::ZERO,
        limit: BELL,
    }
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
    let session = notice.session.as_deref().zip(store.as_ref());
    let session = session.and_then(|(name, store)| find(context, store, name));
    let about = session.as_ref().map(about);
    let facts = Facts { occasion: notice.occasion, about, dialog: None, hold: Duration::ZERO };
    let news = News { notice, facts, what: NotifyWhat::Key(key) };
    problems.extend(match store {
        Some(mut store) => tell_now(context, &mut store, &rules, &news),
        None => send_untracked(context, &rules, &news),
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
        Ok(true) => {
            let now = Timestamp::now();
            let due = planned.into_iter().filter(|one| one.due <= now).map(|one| one.channel);
            send(context, store, rules, due.collect())
        }
        Ok(false) => Vec::new(),
        Err(error) => {
            Err::<(), _>(error).logged("write down a notification");
            send_untracked(context, rules, news)
        }
    }
}

/// Writes news down, for whoever sends it. If that fails, it is sent at once, since twice is better than never, unless `told` says that it
/// was sent so before. Returns its number then.
pub fn add(
    context: &Context,
    store: &mut Store,
    rules: &Rules,
    news: &News<'_>,
    told: Option<u64>,
) -> Option<u64> {
    let now = Timestamp::now();
    let planned = rules.plan(&news.facts, now);
    if planned.is_empty() {
        return None;
    }
    let error = post(store, news, &planned, now).err()?;
    Err::<(), _>(error).logged("write down a notification");
    let number = number_of(news);
    if told != Some(number) {
        send_untracked(context, rules, news);
    }
    Some(number)
}

/// Writes news down for whoever sends it next, and sends nothing: an agent waits for whoever calls this.
pub fn leave(store: &mut Store, rules: &Rules, news: &News<'_>) {
    let now = Timestamp::now();
    let planned = rules.plan(&news.facts, now);
    if !planned.is_empty() {
        post(store, news, &planned, now).logged("write down a notification");
    }
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

/// Sends what is due on all channels, and waits for what is to be sent together with it. What failed is tried again later.
pub fn flush(context: &Context, store: &mut Store, rules: &Rules) {
    loop {
        let now = Timestamp::now();
        let Some(channels) = store.ready_channels(now).logged("read notifications") else { return };
        let (ready, later): (Vec<_>, Vec<_>) = channels.into_iter().partition(|(_, at)| *at <= now);
        if !ready.is_empty() {
            send(context, store, rules, ready.into_iter().map(|(channel, _)| channel).collect());
            continue;
        }
        let Some(next) = later.into_iter().map(|(_, at)| at).min() else { return };
        let wait = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        if wait > LONGEST_BATCH {
            return;
        }
        // sleep: what else comes in this time is sent together
        std::thread::sleep(wait);
    }
}

/// Sends everything that is due on these channels, in parallel. Returns what failed.
fn send(context: &Context, store: &mut Store, rules: &Rules, channels: Vec<String>) -> Vec<String> {
    let mut batches = Vec::new();
    let mut sinks = Vec::new();
    for channel in channels {
        let rule = rules.rules.iter().find(|rule| rule.channel_id() == channel);
        let now = Timestamp::now();
        let limit = rule.map_or(Duration::ZERO, |rule| rule.limit) + LEASE;
        let until = later(now, limit);
        let taken = store.take_deliveries(&channel, now, until).logged("take notifications");
        let Some(taken) = taken.filter(|taken| !taken.is_empty()) else { continue };
        let Some(rule) = rule else {
            let because = "the channel is no longer configured";
            settle(store, &ids(&taken), DeliveryOutcome::Skipped { because });
            continue;
        };
        let wanted = wanted(context, store, taken);
        let notices = wanted.iter().map(|one| one.notice.clone()).collect();
        let Some(notice) = batch::combine(notices) else { continue };
        sinks.push((Timed::new(context, rule), outward::notice(&notice)));
        batches.push((rule, wanted));
    }
    let mut problems = Vec::new();
    for ((rule, taken), tried) in batches.into_iter().zip(channels::send_all(sinks)) {
        if let Err(problem) = &tried.result {
            problems.push(format!("{}: {problem}", tried.label));
        }
        record(store, rules, rule, &taken, tried.result);
    }
    problems.retain(|problem| !problem.ends_with(NOBODY));
    problems
}

fn ids(taken: &[TakenDelivery]) -> Vec<i64> {
    taken.iter().map(|one| one.id).collect()
}

/// Those that are still worth telling. The others are recorded as skipped.
fn wanted(context: &Context, store: &mut Store, taken: Vec<TakenDelivery>) -> Vec<TakenDelivery> {
    let mut wanted = Vec::new();
    for one in taken {
        let because = if one.is_deferred && is_over(store, &one) {
            "over before it was due"
        } else if one.unless_attached.is_some_and(|which| is_attached(context, store, &one, which))
        {
            "somebody is attached"
        } else {
            wanted.push(one);
            continue;
        };
        settle(store, &[one.id], DeliveryOutcome::Skipped { because });
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

fn is_attached(
    context: &Context,
    store: &Store,
    one: &TakenDelivery,
    which: UnlessAttached,
) -> bool {
    let session = store.by_id(&one.session).logged("read a session").flatten();
    let server = match &session {
        Some(session) if session.socket != context.socket => {
            Server::new(Socket::Path(session.socket.clone()))
        }
        _ => context.tmux.running_only(),
    };
    let clients = clients::attached(&server).logged("ask tmux").unwrap_or_default();
    if which == UnlessAttached::Server || clients.is_empty() {
        return !clients.is_empty();
    }
    let pane: Option<PaneId> = session.and_then(|session| session.pane?.parse().ok());
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
    rule: &Rule,
    taken: &[TakenDelivery],
    result: Result<(), String>,
) {
    let because = match result {
        Ok(()) => return settle(store, &ids(taken), DeliveryOutcome::Sent),
        Err(problem) if problem == NOBODY => {
            let because = NOBODY;
            return settle(store, &ids(taken), DeliveryOutcome::Skipped { because });
        }
        Err(problem) => outward::text(&problem),
    };
    let now = Timestamp::now();
    for one in taken {
        let outcome = match retry::pause(one.attempts + 1) {
            Some(pause) => {
                let at = rule.not_quiet(later(now, pause), &rules.zone);
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

/// Sends without the database, if that cannot be used. Returns what failed.
pub fn send_untracked(context: &Context, rules: &Rules, news: &News<'_>) -> Vec<String> {
    let planned = rules.plan(&news.facts, Timestamp::now());
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
    let failed = |tried: channels::Tried| Some(format!("{}: {}", tried.label, tried.result.err()?));
    channels::send_all(sinks).into_iter().filter_map(failed).collect()
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
