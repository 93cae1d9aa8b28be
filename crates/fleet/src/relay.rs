//! Sends the outbox and the state cache to the broker, over one connection after another.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{VERSION, kind};
use dogwatch_core::fleet::{HostStatus, Pace, Place, Presence};
use dogwatch_store::{Store, Waiting};
use jiff::Timestamp;
use rumqttc::{LastWill, Publish, PublishNoticeError, PublishOptions, QoS};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::link::{self, Heard, Kind, Link, Trouble};
use super::orders::{Answer, Orders};
use super::probe::{Trust, trust};
use super::publisher::{Host, Notice, Stop};
use crate::state_cache::StateCache;
use dogwatch_engine::notify::outward;

/// Events sent and not yet confirmed.
const WINDOW: usize = 64;
const HEARTBEAT: Duration = Duration::from_mins(1);
/// Time limit for disconnecting.
const GOODBYE: Duration = Duration::from_secs(2);
/// How often old requests are removed, and their age then.
const TIDY: Duration = Duration::from_hours(1);
const OLD: Duration = Duration::from_hours(7 * 24);

struct Relay {
    host: Host,
    store: Store,
    cache: Arc<StateCache>,
    stop: Arc<Stop>,
    orders: Orders,
    tell: Box<dyn Fn(Notice) + Send>,
    /// Whether requests over this broker are executed.
    trust: Trust,
    said_trust: Option<Trust>,
    /// The last notice about the broker, so that it is not repeated.
    said: Option<Notice>,
    since: Timestamp,
    heartbeat: Interval,
    tidied: Instant,
}

/// An event that the broker has not confirmed yet.
struct UnderWay {
    number: i64,
    topic: String,
    confirmed: Pin<Box<dyn Future<Output = Result<(), PublishNoticeError>> + Send>>,
}

impl Relay {
    async fn work(mut self) {
        let mut pace = Pace::default();
        while !self.stop.is_set() {
            let Some(trouble) = self.one_connection(&mut pace).await else { return };
            let wait = pace.after_failure(trouble.kind.is_lasting(), chance());
            let broker = self.host.mqtt.address.to_string();
            self.say(Notice::Trouble { broker, problem: trouble.problem });
            let until = Instant::now() + wait;
            loop {
                tokio::select! {
                    () = tokio::time::sleep_until(until) => break,
                    () = self.stop.notify.notified() => return,
                    // While disconnected, heartbeats still go to the journal, and replies are kept.
                    _ = self.heartbeat.tick() => self.beat(),
                    answer = self.orders.next() => self.orders.keep(&mut self.store, answer),
                }
            }
        }
    }

    /// One connection, from opening to loss; `None` on stop.
    async fn one_connection(&mut self, pace: &mut Pace) -> Option<Trouble> {
        let mqtt = self.host.mqtt.clone();
        let id = format!("dogwatch-{}", mqtt.host);
        let mut link = match Link::open(&mqtt, &id, Some(self.will())) {
            Ok(link) => link,
            Err(trouble) => return Some(trouble),
        };
        let mut under_way: VecDeque<UnderWay> = VecDeque::new();
        let mut sent = 0;
        let mut is_connected = false;
        let (cache, stop) = (Arc::clone(&self.cache), Arc::clone(&self.stop));
        loop {
            tokio::select! {
                heard = link.next() => match heard {
                    Heard::Connected => {
                        pace.after_success();
                        self.trust = trust(&mqtt).await;
                        self.subscribe(&link);
                    }
                    // Announce the host only now: requests that follow the announcement must reach it.
                    Heard::Subscribed => {
                        is_connected = true;
                        self.say(Notice::Connected { broker: mqtt.address.to_string() });
                        self.say_trust();
                        self.greet(&link);
                    }
                    Heard::Message(message) => self.handle(&link, &message),
                    Heard::Lost(trouble) => return Some(trouble),
                },
                confirmed = first(&mut under_way), if !under_way.is_empty() => {
                    if let Err(trouble) = self.confirmed(&mut under_way, confirmed) {
                        return Some(trouble);
                    }
                }
                () = cache.news.notified() => {}
                _ = self.heartbeat.tick() => self.beat(),
                answer = self.orders.next() => self.orders.keep(&mut self.store, answer),
                () = stop.notify.notified() => {
                    if is_connected {
                        let status = self.status(Presence::Gone, Some("it was killed"));
                        link.publish(mqtt.topics.status(&mqtt.host), status, retained());
                        link.close(GOODBYE).await;
                    }
                    return None;
                }
            }
            if is_connected && let Err(trouble) = self.send(&link, &mut under_way, &mut sent) {
                return Some(trouble);
            }
        }
    }

    fn subscribe(&self, link: &Link) {
        let mqtt = &self.host.mqtt;
        link.subscribe([
            (mqtt.topics.request(&mqtt.host, "+"), QoS::AtLeastOnce),
            // Our own retained states from before the interruption, perhaps of sessions that are gone.
            (mqtt.topics.state(&mqtt.host, "+"), QoS::AtMostOnce),
        ]);
    }

    /// Publishes the complete current state on a new connection.
    fn greet(&self, link: &Link) {
        let mqtt = &self.host.mqtt;
        let status = self.status(Presence::Online, None);
        link.publish(mqtt.topics.status(&mqtt.host), status, retained());
        self.cache.mark_all();
    }

    /// Sends what is pending: states, replies, events.
    fn send(
        &mut self,
        link: &Link,
        under_way: &mut VecDeque<UnderWay>,
        sent: &mut i64,
    ) -> Result<(), Trouble> {
        let mqtt = &self.host.mqtt;
        for (level, state) in self.cache.take_news() {
            let payload = state.map(|state| link::json(&state)).unwrap_or_default();
            link.publish(mqtt.topics.state(&mqtt.host, &level), payload, retained());
        }
        for Answer { reply, to } in self.orders.take_answers() {
            let mut properties = link::as_json();
            properties.correlation_data = to.correlation.map(Into::into);
            let options = PublishOptions::at_least_once().properties(properties);
            link.publish(to.topic, link::json(&outward::reply(reply)), options);
        }
        let room = WINDOW.saturating_sub(under_way.len());
        if room == 0 {
            return Ok(());
        }
        // A database error is no reason to disconnect; the next event tries again.
        for Waiting { number, mut event } in
            self.store.waiting_after(*sent, room).logged("read the outbox").unwrap_or_default()
        {
            event.host.clone_from(&mqtt.host);
            event.data = outward::json(event.data);
            let topic = mqtt.topics.event(&mqtt.host, event.session.as_ref());
            let notice =
                link.publish_tracked(topic.clone(), link::json(&event), link::confirmed())?;
            let confirmed = Box::pin(notice.wait_completion_async());
            under_way.push_back(UnderWay { number, topic, confirmed });
            *sent = number;
        }
        Ok(())
    }

    /// Handles the broker's answer to the oldest event sent.
    fn confirmed(
        &mut self,
        under_way: &mut VecDeque<UnderWay>,
        result: Result<(), PublishNoticeError>,
    ) -> Result<(), Trouble> {
        let Some(first) = under_way.pop_front() else { return Ok(()) };
        match result {
            Ok(()) => {
                // If this fails, the event is sent again under the same id.
                self.store.confirmed(first.number).logged("remove events from the outbox");
                Ok(())
            }
            Err(PublishNoticeError::V5PubAck(because)) => {
                let topic = first.topic;
                let problem = format!("does not accept messages to {topic}: {because:?}");
                Err(Trouble::new(Kind::Refused, problem))
            }
            // The connection is lost; the next message of the link says why.
            Err(_) => {
                under_way.clear();
                Ok(())
            }
        }
    }

    fn handle(&mut self, link: &Link, message: &Publish) {
        let Ok(topic) = std::str::from_utf8(&message.topic) else { return };
        let mqtt = &self.host.mqtt;
        match mqtt.topics.read(topic) {
            Some(Place::State { host, session })
                if host == mqtt.host
                    && message.retain
                    && !message.payload.is_empty()
                    && !self.cache.has(session) =>
            {
                link.publish(topic.to_owned(), Vec::new(), retained());
            }
            Some(Place::Request { host, verb }) if host == mqtt.host => {
                let objection = self.trust.objection();
                self.orders.take(&self.host, &mut self.store, verb, message, objection);
            }
            _ => {}
        }
    }

    fn beat(&mut self) {
        let census = self.cache.census();
        self.store
            .record_event(Timestamp::now(), None, kind::HEARTBEAT, &census)
            .logged("write an event");
        if self.tidied.elapsed() > TIDY {
            self.tidied = Instant::now();
            let before = Timestamp::now().checked_sub(OLD).unwrap_or(Timestamp::MIN);
            self.store.forget_requests(before).logged("forget old requests");
        }
    }

    /// Reports once whether other hosts' requests are executed over this broker.
    fn say_trust(&mut self) {
        if self.trust == Trust::Authenticated || self.said_trust == Some(self.trust) {
            return;
        }
        self.said_trust = Some(self.trust);
        let broker = self.host.mqtt.address.to_string();
        let refuses_orders = !self.host.allow.is_empty();
        (self.tell)(Notice::Untrusted { broker, trust: self.trust, refuses_orders });
    }

    fn say(&mut self, notice: Notice) {
        if self.said.as_ref() != Some(&notice) {
            (self.tell)(notice.clone());
            self.said = Some(notice);
        }
    }

    fn status(&self, state: Presence, because: Option<&str>) -> Vec<u8> {
        link::json(&HostStatus {
            v: VERSION,
            host: self.host.mqtt.host.clone(),
            state,
            since: self.since,
            because: because.map(ToOwned::to_owned),
            allow: self.allowed(),
            version: self.host.version.to_owned(),
        })
    }

    /// The verbs that are executed over this broker.
    fn allowed(&self) -> Vec<String> {
        if self.trust.objection().is_some() {
            return Vec::new();
        }
        self.host.allow.iter().map(ToString::to_string).collect()
    }

    /// Published by the broker when it loses us.
    fn will(&self) -> LastWill {
        let mqtt = &self.host.mqtt;
        let payload = self.status(Presence::Gone, Some("connection lost"));
        LastWill::new(mqtt.topics.status(&mqtt.host), payload, QoS::AtLeastOnce, true, None)
    }
}

/// The parts of a relay that are created outside its runtime.
pub(super) struct Prepared {
    pub(super) host: Host,
    pub(super) store: Store,
    pub(super) cache: Arc<StateCache>,
    pub(super) stop: Arc<Stop>,
    pub(super) tell: Box<dyn Fn(Notice) + Send>,
}

impl Prepared {
    pub(super) async fn run(self) {
        let Self { host, store, cache, stop, tell } = self;
        let mut heartbeat = interval_at(Instant::now(), HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (since, tidied) = (Timestamp::now(), Instant::now());
        let orders = Orders::new();
        let relay = Relay {
            host,
            store,
            cache,
            stop,
            orders,
            tell,
            trust: Trust::Unknown,
            said_trust: None,
            said: None,
            since,
            heartbeat,
            tidied,
        };
        relay.work().await;
    }
}

/// Waits for the broker's answer to the oldest event sent, and leaves it in the queue.
async fn first(under_way: &mut VecDeque<UnderWay>) -> Result<(), PublishNoticeError> {
    match under_way.front_mut() {
        Some(first) => first.confirmed.as_mut().await,
        None => std::future::pending().await,
    }
}

fn retained() -> PublishOptions {
    link::confirmed().retained()
}

/// A number between 0 and 1 that differs between hosts.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0
}
