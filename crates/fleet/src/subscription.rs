//! Delivers events as they happen, in place of polling.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::Event;
use dogwatch_core::fleet::Pace;
use dogwatch_store::Mqtt;
use rumqttc::QoS;
use tokio::sync::Notify;
use uuid::Uuid;

use super::link::{self, Heard, Link, Trouble};
use dogwatch_engine::Error;

/// How many events are remembered to drop duplicates.
const REMEMBERED: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// From now on events are pushed. Earlier ones are not delivered: check once.
    Connected,
    /// From now on nothing is pushed: poll until it is connected again.
    Lost { because: String },
    /// Each event once.
    Event(Box<Event>),
}

/// A permanent connection to the broker, on its own thread; ends when dropped.
///
/// ```no_run
/// # use std::time::Duration;
/// # use dogwatch_fleet::{Subscription, Update};
/// # fn look() {}
/// # fn monitor(mqtt: &dogwatch_store::Mqtt) -> Result<(), dogwatch_engine::Error> {
/// let subscription = Subscription::start(mqtt, &mqtt.host)?;
/// loop {
///     let patience = if subscription.is_push() { 300 } else { 30 };
///     match subscription.next(Duration::from_secs(patience)) {
///         Some(Update::Lost { .. }) => {}
///         Some(Update::Connected | Update::Event(_)) | None => look(),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Subscription {
    updates: Receiver<Update>,
    is_push: Arc<AtomicBool>,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Subscription {
    /// Subscribes to the events of a host, or of all with `+`. Reconnects without limit.
    pub fn start(mqtt: &Mqtt, host: &str) -> Result<Self, Error> {
        Self::start_waking(mqtt, host, || {})
    }

    /// The same; calls `wake` for each update, for a caller that waits for other events too.
    pub fn start_waking(
        mqtt: &Mqtt,
        host: &str,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, Error> {
        let topics = &mqtt.topics;
        // All sessions of that host, and the host itself.
        let of_sessions = topics.state(host, "+").replace("/state", "/event");
        let filters = [of_sessions, topics.event(host, None)];
        let (sender, updates) = channel();
        let (is_push, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let runtime = link::runtime()?;
        let listener = Listener {
            mqtt: mqtt.clone(),
            filters,
            sender,
            wake: Box::new(wake),
            is_push: Arc::clone(&is_push),
            recent: VecDeque::new(),
        };
        let stopped = Arc::clone(&stop);
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = listener.run() => {}
                    () = stopped.notified() => {}
                }
            });
        };
        let thread = thread::Builder::new().name("subscription".to_owned()).spawn(work);
        let thread = Some(thread.map_err(Error::io("start a thread"))?);
        Ok(Self { updates, is_push, stop, thread })
    }

    /// Whether events are pushed now.
    pub fn is_push(&self) -> bool {
        self.is_push.load(Ordering::Relaxed)
    }

    /// The next update, waiting at most so long.
    pub fn next(&self, at_most: Duration) -> Option<Update> {
        match self.updates.recv_timeout(at_most) {
            Ok(update) => Some(update),
            Err(RecvTimeoutError::Timeout) => None,
            // The thread panicked.
            Err(RecvTimeoutError::Disconnected) => {
                // sleep: without it the caller would spin.
                thread::sleep(at_most);
                None
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Listener {
    mqtt: Mqtt,
    filters: [String; 2],
    sender: Sender<Update>,
    wake: Box<dyn Fn() + Send>,
    is_push: Arc<AtomicBool>,
    recent: VecDeque<String>,
}

impl Listener {
    async fn run(mut self) {
        let mut pace = Pace::default();
        let mut said = None;
        loop {
            let trouble = self.one_connection(&mut pace).await;
            let was_push = self.is_push.swap(false, Ordering::Relaxed);
            let wait = pace.after_failure(trouble.kind.is_lasting(), 0.0);
            let because = trouble.problem;
            if was_push || said.as_ref() != Some(&because) {
                self.send(Update::Lost { because: because.clone() });
            }
            said = Some(because);
            // sleep: the pace of attempts to connect.
            tokio::time::sleep(wait).await;
        }
    }

    async fn one_connection(&mut self, pace: &mut Pace) -> Trouble {
        let id = format!("dogwatch-listen-{}", Uuid::now_v7());
        let mut link = match Link::open(&self.mqtt, &id, None) {
            Ok(link) => link,
            Err(trouble) => return trouble,
        };
        loop {
            match link.next().await {
                Heard::Connected => {
                    pace.after_success();
                    let qos = QoS::AtLeastOnce;
                    link.subscribe(self.filters.clone().map(|filter| (filter, qos)));
                }
                Heard::Subscribed => {
                    self.is_push.store(true, Ordering::Relaxed);
                    self.send(Update::Connected);
                }
                Heard::Message(message) => self.handle(&message.payload),
                Heard::Lost(trouble) => return trouble,
            }
        }
    }

    fn handle(&mut self, payload: &[u8]) {
        let Some(event) = serde_json::from_slice::<Event>(payload).logged("read an event") else {
            return;
        };
        if self.recent.contains(&event.id) {
            return;
        }
        self.recent.push_back(event.id.clone());
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
        self.send(Update::Event(Box::new(event)));
    }

    fn send(&self, update: Update) {
        let _ = self.sender.send(update);
        (self.wake)();
    }
}
