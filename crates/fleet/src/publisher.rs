//! Publishes on a thread of its own beside a stream of changes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dogwatch_core::fleet::SpawnTerms;
use dogwatch_store::Mqtt;
use jiff::{Timestamp, Zoned};
use tokio::sync::Notify;

use super::link;
use super::probe::Trust;
use super::relay::Prepared;
use crate::state_cache::StateCache;
use dogwatch_engine::error::FleetError;
use dogwatch_engine::observe::changes::{Changes, Interest, Waker};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::WatchLine;

/// Longest sleep of the listener for other processes' events.
const LONGEST: Duration = Duration::from_mins(1);

/// This host, and what other hosts may request of it.
#[derive(Clone)]
pub struct Host {
    pub context: Context,
    pub mqtt: Mqtt,
    /// The verbs that are executed for other hosts.
    pub allow: Vec<&'static str>,
    /// Where and how agents are started for other hosts.
    pub spawn: SpawnTerms,
    /// Environment of agents that are started for other hosts.
    pub env: Vec<(OsString, OsString)>,
    pub clock: fn() -> Zoned,
    pub version: &'static str,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variables may be secrets.
        f.debug_struct("Host").field("mqtt", &self.mqtt).finish_non_exhaustive()
    }
}

/// A message for the user of the command that publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Connected {
        broker: String,
    },
    Trouble {
        broker: String,
        problem: String,
    },
    /// The broker does not authenticate its clients.
    Untrusted {
        broker: String,
        trust: Trust,
        refuses_orders: bool,
    },
}

/// Publishes until it is dropped; then it disconnects from the broker.
#[derive(Debug)]
pub struct Publisher {
    host: String,
    cache: Arc<StateCache>,
    stop: Arc<Stop>,
    listener: Waker,
    threads: Vec<JoinHandle<()>>,
    /// Held while it publishes: two publishers would send everything twice.
    _lock: File,
}

#[derive(Debug, Default)]
pub(super) struct Stop {
    flag: AtomicBool,
    pub(super) notify: Notify,
}

impl Stop {
    pub(super) fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

impl Publisher {
    /// Starts to publish changes and all events from now on. Fails if another process does so already.
    pub fn start(
        host: Host,
        shown: &[WatchLine],
        tell: impl Fn(Notice) + Send + 'static,
    ) -> Result<Self, Error> {
        let lock = host.context.lock("relay")?.ok_or(Error::Fleet(FleetError::AlreadyRelayed))?;
        let mut store = host.context.store()?;
        store.begin_relay(Timestamp::now())?;
        let runtime = link::runtime()?;
        let (cache, stop) = (Arc::new(StateCache::default()), Arc::new(Stop::default()));
        let name = host.mqtt.host.clone();
        for change in shown {
            cache.show(&name, change);
        }
        let (listener, listening) = listen(&host.context, Arc::clone(&cache), Arc::clone(&stop))?;
        let relay = Prepared {
            host,
            store,
            cache: Arc::clone(&cache),
            stop: Arc::clone(&stop),
            tell: Box::new(tell),
        };
        let relaying = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || runtime.block_on(relay.run()))
            .map_err(Error::io("start a thread"))?;
        let threads = vec![relaying, listening];
        Ok(Self { host: name, cache, stop, listener, threads, _lock: lock })
    }

    /// Takes a change.
    pub fn show(&self, change: &WatchLine) {
        self.cache.show(&self.host, change);
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.stop.flag.store(true, Ordering::Relaxed);
        self.stop.notify.notify_one();
        self.listener.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Wakes the relay when any process has written to the database.
fn listen(
    context: &Context,
    cache: Arc<StateCache>,
    stop: Arc<Stop>,
) -> Result<(Waker, JoinHandle<()>), Error> {
    let mut changes = Changes::new();
    changes.set(BTreeSet::from([(Interest::File(context.state.database_log()), ())]));
    let waker = changes.waker();
    let listen = move || {
        while !stop.is_set() {
            changes.wait(LONGEST);
            cache.news.notify_one();
        }
    };
    let thread = thread::Builder::new().name("relay news".to_owned()).spawn(listen);
    Ok((waker, thread.map_err(Error::io("start a thread"))?))
}
