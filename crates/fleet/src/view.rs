//! All hosts as the broker knows them, once or continuously.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dogwatch_core::fleet::{Pace, Picture};
use dogwatch_store::Mqtt;
use rumqttc::{PublishOptions, QoS};
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::ask::slow;
use super::link::{self, Heard, Link, Trouble};
use dogwatch_engine::Error;

/// Time limit for the broker to send all retained messages.
const BROKER: Duration = Duration::from_secs(10);
/// How often a wait checks `stop`.
const PULSE: Duration = Duration::from_millis(100);
/// Messages within this time are one change, unless a pause ends it earlier.
const TOGETHER: Duration = Duration::from_millis(500);

/// What all hosts published, from retained messages only.
pub fn picture(mqtt: &Mqtt) -> Result<Picture, Error> {
    let mut viewer = Viewer::new(mqtt)?;
    let deadline = Instant::now() + BROKER;
    let Viewer { runtime, view } = &mut viewer;
    let seen = runtime.block_on(async {
        let all = async {
            while !view.is_complete {
                view.step().await?;
            }
            Ok(())
        };
        timeout_at(deadline, all).await.unwrap_or_else(|_| Err(slow()))
    });
    seen.map_err(|trouble| trouble.error(mqtt))?;
    Ok(viewer.view.picture)
}

/// Follows the fleet continuously.
#[derive(Debug)]
pub struct Viewer<'a> {
    runtime: Runtime,
    view: View<'a>,
}

#[derive(Debug)]
struct View<'a> {
    mqtt: &'a Mqtt,
    link: Option<Link>,
    id: String,
    picture: Picture,
    /// All messages that were retained when we connected have arrived.
    is_complete: bool,
    pace: Pace,
    retry: Instant,
    trouble: Option<Trouble>,
}

impl<'a> Viewer<'a> {
    pub fn new(mqtt: &'a Mqtt) -> Result<Self, Error> {
        let id = Uuid::now_v7().to_string();
        let (picture, pace) = (Picture::default(), Pace::default());
        let view = View {
            mqtt,
            link: None,
            id,
            picture,
            is_complete: false,
            pace,
            retry: Instant::now(),
            trouble: None,
        };
        Ok(Self { runtime: link::runtime()?, view })
    }

    pub fn picture(&self) -> &Picture {
        &self.view.picture
    }

    /// Why the broker is not reachable now, if so.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.view.trouble.as_ref()?;
        Some(format!("the broker {} {trouble}", self.view.mqtt.address))
    }

    /// Waits until the picture has changed, at most so long; reconnects if necessary.
    pub fn next(&mut self, at_most: Duration, stop: &AtomicBool) -> bool {
        let Self { runtime, view } = self;
        runtime.block_on(async {
            let until = Instant::now() + at_most;
            let (before, said) = (view.picture.clone(), view.trouble.clone());
            let mut first_news = None;
            loop {
                let pulse = until.min(Instant::now() + PULSE);
                let step = timeout_at(pulse, view.keep_looking()).await;
                let is_over = Instant::now() >= until || stop.load(Ordering::Relaxed);
                let has_news = view.is_complete && view.picture != before || view.trouble != said;
                // Collect changes of many sessions into one, but report it in time.
                let since = has_news.then(|| *first_news.get_or_insert_with(Instant::now));
                let is_told = since.is_some_and(|at| step.is_err() || at.elapsed() > TOGETHER);
                if is_over || is_told {
                    return has_news;
                }
            }
        })
    }
}

impl View<'_> {
    async fn keep_looking(&mut self) {
        tokio::time::sleep_until(self.retry).await;
        if let Err(trouble) = self.step().await {
            self.link = None;
            self.is_complete = false;
            let wait = self.pace.after_failure(trouble.kind.is_lasting(), 0.0);
            self.retry = Instant::now() + wait;
            self.trouble = Some(trouble);
        }
    }

    /// Handles one message.
    async fn step(&mut self) -> Result<(), Trouble> {
        if self.link.is_none() {
            let id = format!("dogwatch-fleet-{}", self.id);
            self.link = Some(Link::open(self.mqtt, &id, None)?);
        }
        let Some(link) = &mut self.link else { return Ok(()) };
        let topics = &self.mqtt.topics;
        let inbox = topics.reply(&self.id);
        match link.next().await {
            Heard::Connected => {
                self.pace.after_success();
                self.trouble = None;
                // The old picture may be outdated; the broker sends all of it again.
                self.picture = Picture::default();
                // QoS 0: brokers limit open confirmations, and drop messages beyond.
                link.subscribe([
                    (topics.status("+"), QoS::AtMostOnce),
                    (topics.state("+", "+"), QoS::AtMostOnce),
                    (inbox, QoS::AtMostOnce),
                ]);
            }
            // The broker returns this message after all its retained ones.
            Heard::Subscribed => {
                link.publish(inbox, b"mark".to_vec(), PublishOptions::at_most_once());
            }
            Heard::Message(message) => {
                let topic = String::from_utf8_lossy(&message.topic);
                if topic == inbox {
                    self.is_complete = true;
                } else {
                    self.picture.take_in(topics, &topic, &message.payload);
                }
            }
            Heard::Lost(trouble) => return Err(trouble),
        }
        Ok(())
    }
}
