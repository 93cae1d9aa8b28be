//! Whether a host is there, and what is said of its sessions when it is not.

use dogwatch_testkit::{TestEnv, eventually};
use serde_json::Value;

use crate::mosquitto::{self, Mosquitto, Sub};
use crate::relay::{Relay, configure};

#[test]
fn a_host_that_is_killed_is_said_to_be_gone() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let sub = Sub::start(&env, broker.port, "dogwatch/desk/status", &["-V", "5"]);
    let relay = Relay::start(&env);
    sub.hears("that it is there", |message| message.json()["state"] == "online");
    let sessions = || {
        let seen = env.dogwatch(&["fleet", "--json"]).success().json();
        seen["hosts"][0]["sessions"].as_array().map_or(0, Vec::len)
    };
    eventually("both are known", || sessions() == 2);
    relay.killed();
    let will = sub.hears("its last will", |message| message.json()["state"] == "gone");
    assert_eq!(will.json()["because"], "connection lost");
    let seen = env.dogwatch(&["fleet", "--json"]).success().json();
    assert_eq!(seen["hosts"][0]["online"], false);
    assert_eq!(seen["hosts"][0]["sessions"].as_array().unwrap().len(), 2);
    let table = env.dogwatch(&["fleet"]).success().text();
    assert!(table.contains("unknown") && table.contains("host offline; last working"), "{table}");
    // What is gone by the time it comes back is not retained any longer.
    let _ = env.dogwatch(&["kill", "two"]).success();
    let relay = Relay::start(&env);
    sub.hears("that it is back", |message| message.json()["state"] == "online");
    eventually("one is left", || sessions() == 1);
    relay.ended();
    let bye = sub.hears("goodbye", |message| message.json()["state"] == "gone");
    assert_eq!(bye.json()["because"], "it was killed");
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn heartbeats_and_requests_are_in_the_journal() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    let sub = Sub::start(&env, broker.port, "dogwatch/desk/event", &["-V", "5"]);
    let relay = Relay::start(&env);
    let beat = sub.hears("a heartbeat", |message| message.json()["kind"] == "heartbeat").json();
    assert_eq!(beat["data"]["sessions"], 0);
    let kept = env.dogwatch(&["events", "--kind", "heartbeat", "--json"]).success().text();
    let kept: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!(kept, beat, "the same here and there");
    relay.ended();
}
