//! Being told of events, with polling as long as the broker is away.

use std::time::{Duration, Instant};

use dogwatch_core::config;
use dogwatch_fleet::{Subscription, Update};
use dogwatch_store::{LocalBroker, Mqtt, StateDir, Surroundings};
use dogwatch_testkit::{PATIENCE, TestEnv, eventually};
use jiff::Timestamp;
use serde_json::json;

use crate::mosquitto::{self, Mosquitto};
use crate::relay::{Relay, configure, store};

fn mqtt(env: &TestEnv) -> Mqtt {
    let path = env.home().join(".config/dogwatch/config.toml");
    let table = config::parse(&std::fs::read_to_string(&path).unwrap()).unwrap().mqtt.unwrap();
    let local = LocalBroker::of(&StateDir::open(env.state_dir()).unwrap());
    Mqtt::resolve(&table, &Surroundings { file: &path, machine: "box", password: None, local })
        .unwrap()
}

#[track_caller]
fn until(subscription: &Subscription, is_wanted: impl Fn(&Update) -> bool) -> Update {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(update) = subscription.next(Duration::from_millis(100)).filter(|t| is_wanted(t))
        {
            return update;
        }
    }
    panic!("the expected update did not come");
}

#[test]
fn push_is_lost_and_comes_back_by_itself() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let mut broker = Mosquitto::prepare(&env, "allow_anonymous true\n");
    configure(&env, broker.port, "desk", "");
    let mqtt = mqtt(&env);
    let subscription = Subscription::start(&mqtt, "desk").unwrap();
    until(&subscription, |update| matches!(update, Update::Lost { .. }));
    assert!(!subscription.is_push());
    broker.run();
    until(&subscription, |update| *update == Update::Connected);
    assert!(subscription.is_push());
    let relay = Relay::start(&env);
    relay.says("publishing");
    let mut store = store(&env);
    let mut tell = |n: i32| {
        store.record_event(Timestamp::now(), None, "drift", &json!({ "n": n })).unwrap();
    };
    let is_drift = |n: i32| move |update: &Update| matches!(update, Update::Event(event) if event.data["n"] == n);
    tell(1);
    until(&subscription, is_drift(1));
    broker.kill();
    until(&subscription, |update| matches!(update, Update::Lost { .. }));
    assert!(!subscription.is_push());
    broker.run();
    until(&subscription, |update| *update == Update::Connected);
    tell(2);
    until(&subscription, is_drift(2));
    drop(subscription);
    relay.ended();
}

#[test]
fn the_monitor_listens_and_looks_by_itself_while_there_is_nobody_to_listen_to() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let mut broker = Mosquitto::prepare(&env, "allow_anonymous true\n");
    configure(&env, broker.port, "desk", "");
    // So seldom that only a word from elsewhere makes it look.
    let args = ["reconcile", "--subscribe", "--interval", "1h", "--emit-diff"];
    let monitor = Relay::start_with(&env, &args, &[]);
    monitor.says("checking at intervals: the broker ");
    broker.run();
    monitor.says("subscribed to the broker");
    broker.kill();
    eventually("it looks at intervals again", || {
        monitor.said().matches("checking at intervals").count() >= 2
    });
    broker.run();
    eventually("it listens again", || {
        monitor.said().matches("subscribed to the broker").count() == 2
    });
    monitor.ended();
}
