//! Nothing is lost, nothing is told out of order, and what is told twice has the same id.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use dogwatch_testkit::{TestEnv, eventually, eventually_or, process};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mosquitto::{self, Message, Mosquitto, Sub};
use crate::relay::{Relay, configure, journal, store, waiting};

const EVENTS: &str = "dogwatch/+/session/+/event";

/// What a subscriber that drops duplicates by id has, session by session; duplicates must be the same to the last byte.
fn without_duplicates(heard: &[Message]) -> BTreeMap<String, Vec<String>> {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in heard {
        let event = message.json();
        let id = event["id"].as_str().unwrap().to_owned();
        if let Some(before) = known.get(&id) {
            assert_eq!(before, &message.payload, "the same id, another event");
            continue;
        }
        let name = event["session"]["name"].as_str().unwrap().to_owned();
        sessions.entry(name).or_default().push(id.clone());
        known.insert(id, message.payload.clone());
    }
    sessions
}

/// What there is to be heard: all that the journal has of these sessions since relaying began.
fn expected(env: &TestEnv, since: &str) -> BTreeMap<String, Vec<String>> {
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let events = journal(env).into_iter().skip_while(|event| event["id"] != since);
    for event in events.filter(|event| event["session"].is_object()) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        sessions.entry(text(&event["session"]["name"])).or_default().push(text(&event["id"]));
    }
    sessions
}

#[test]
fn a_broker_that_is_killed_in_mid_stream() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    // What it has confirmed to us it must have sent on: what it keeps back for a slow subscriber goes with it.
    let eager = "allow_anonymous true\nmax_inflight_messages 0\nmax_queued_messages 0\n";
    let mut broker = Mosquitto::start_with(&env, eager);
    configure(&env, broker.port, "desk", "");
    let ids = ["one", "two"].map(|name| env.spawn_script(name, "exec sleep 300").id);
    let sub = Sub::start(&env, broker.port, EVENTS, &["-V", "5", "-i", "sub"]);
    eventually("the subscriber is there", || broker.log().contains("Sending SUBACK to sub"));
    let relay = Relay::start(&env);
    relay.says("publishing");
    let mut store = store(&env);
    let mut number = 0;
    let mut tell = |count| {
        for _ in 0..count {
            for id in &ids {
                number += 1;
                store
                    .record_event(Timestamp::now(), Some(id), "job", &json!({ "n": number }))
                    .unwrap();
            }
        }
    };
    tell(1);
    let mut heard = vec![sub.hears("the first", |message| message.json()["data"]["n"] == 1)];
    let first = heard[0].json()["id"].as_str().unwrap().to_owned();
    for round in 1..=3 {
        // Many are under way when it goes, and many come while it is away.
        tell(100);
        broker.kill();
        tell(50);
        eventually("there is a backlog", || waiting(&env) > 0);
        // A broker that forgot who listens must not be told before they are back: that would be lost on the listener's side.
        process::signal(relay.pid(), Signal::STOP);
        broker.run();
        let is_back = || broker.log().matches("Sending SUBACK to sub").count() > round;
        eventually("the subscriber is back", is_back);
        process::signal(relay.pid(), Signal::CONT);
        eventually_or("all is told", || match waiting(&env) {
            0 => Ok(()),
            left => Err(format!("{left} left")),
        });
    }
    heard.extend(sub.rest(Duration::from_secs(1)));
    let (got, wanted) = (without_duplicates(&heard), expected(&env, &first));
    assert_eq!(wanted["one"].len(), 451, "as many as were told");
    assert_eq!(got, wanted);
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn a_relay_that_is_killed_in_mid_stream() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    let id = env.spawn_script("one", "exec sleep 300").id;
    let sub = Sub::start(&env, broker.port, EVENTS, &["-V", "5", "-i", "sub"]);
    eventually("the subscriber is there", || broker.log().contains("Sending SUBACK to sub"));
    let mut relay = Relay::start(&env);
    relay.says("publishing");
    let mut store = store(&env);
    let mut tell = |n: i32| {
        store.record_event(Timestamp::now(), Some(&id), "job", &json!({ "n": n })).unwrap();
    };
    tell(0);
    let mut heard = vec![sub.hears("the first", |message| message.json()["data"]["n"] == 0)];
    let first = heard[0].json()["id"].as_str().unwrap().to_owned();
    for round in 0..5 {
        for n in 1..=100 {
            tell(round * 100 + n);
        }
        relay.killed();
        tell(1000 + round);
        relay = Relay::start(&env);
        relay.says("publishing");
    }
    eventually("all is told", || waiting(&env) == 0);
    heard.extend(sub.rest(Duration::from_millis(500)));
    assert_eq!(without_duplicates(&heard), expected(&env, &first));
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn a_broker_that_was_never_there_and_then_is() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let mut broker = Mosquitto::prepare(&env, "allow_anonymous true\n");
    configure(&env, broker.port, "desk", "");
    let relay = Relay::start(&env);
    relay.says("cannot be reached");
    // Everything else works.
    env.spawn_script("one", "exec sleep 300");
    let _ = env.dogwatch(&["status", "--json"]).success();
    let _ = env.dogwatch(&["kill", "one"]).success();
    let fleet = env.dogwatch(&["fleet"]).code(1);
    assert!(fleet.stderr.contains("cannot be reached"), "{}", fleet.stderr);
    eventually("the events wait", || waiting(&env) >= 4);
    let doctor = env.dogwatch(&["doctor"]).text();
    assert!(doctor.contains("events queued"), "{doctor}");
    broker.run();
    relay.says("publishing");
    eventually("all is told", || waiting(&env) == 0);
    let sub = Sub::start(&env, broker.port, "dogwatch/desk/status", &["-V", "5"]);
    let status = sub.hears("the host", |message| message.retained);
    assert_eq!(status.json()["state"], "online");
    assert_eq!(relay.said().matches("cannot be reached").count(), 1, "said once: {}", relay.said());
    relay.ended();
}

#[test]
fn changes_of_state_are_told_within_moments_also_by_watch() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    let one = env.spawn_script("one", "exec sleep 300");
    let sub = Sub::start(&env, broker.port, "dogwatch/#", &["-V", "5"]);
    let watch = Relay::start_with(&env, &["watch"], &[]);
    watch.says("publishing");
    let is_state = |state: &'static str| {
        move |m: &Message| m.topic.ends_with("/one/state") && m.json()["status"]["state"] == state
    };
    sub.hears("the first word", is_state("working"));
    // The second one leaves it to the first.
    let second = Relay::start_with(&env, &["watch"], &[]);
    second.says("already publishes the events of this state directory");
    let refused = env.dogwatch(&["relay"]).code(4);
    assert!(refused.stderr.contains("already"), "{}", refused.stderr);
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", &one.id);
    let _ = env.run_with_input(&mut hook, br#"{"hook_event_name":"Stop"}"#).success();
    let event = sub
        .hears("the event", |m| m.json()["kind"] == "state" && m.json()["data"]["state"] == "idle");
    assert_eq!(
        (&event.json()["data"]["from"], &event.json()["host"]),
        (&json!("working"), &json!("desk"))
    );
    assert_eq!(event.topic, "dogwatch/desk/session/one/event");
    let state = Sub::start(&env, broker.port, "dogwatch/desk/session/one/state", &[]);
    state.hears("the word on it", |message| message.json()["status"]["state"] == "idle");
    let _ = env.dogwatch(&["kill", "one"]).success();
    // Event and retained word go by different ways, and either may be first.
    let (mut is_told, mut is_cleared) = (false, false);
    sub.hears("its end, and that nothing is retained of it", |m| {
        is_told |= m.json()["kind"] == "deleted";
        is_cleared |= m.topic.ends_with("/one/state") && m.payload.is_empty();
        is_told && is_cleared
    });
    watch.ended();
    second.ended();
}
