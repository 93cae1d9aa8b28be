//! Two hosts, as two state folders and two tmux servers, on one broker.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mosquitto::{self, Mosquitto, publish};
use crate::relay::{Relay, configure};

/// Hosts and their sessions with states, as `fleet` sees them from one of the hosts.
fn seen(env: &TestEnv) -> Value {
    let seen = env.dogwatch(&["fleet", "--json"]).success().json();
    short(&seen)
}

fn short(seen: &Value) -> Value {
    let hosts = seen["hosts"].as_array().unwrap().iter().map(|host| {
        let sessions = host["sessions"].as_array().unwrap().iter();
        let sessions: Vec<_> =
            sessions.map(|one| json!([one["session"]["name"], one["status"]["state"]])).collect();
        json!([host["host"], host["online"], sessions])
    });
    hosts.collect()
}

#[test]
fn all_hosts_from_retained_messages_alone() {
    if !mosquitto::is_here() {
        return;
    }
    let (desk, attic) = (TestEnv::new(), TestEnv::new());
    let broker = Mosquitto::start(&desk);
    configure(&desk, broker.port, "desk", "");
    configure(&attic, broker.port, "attic", "");
    assert_eq!(seen(&desk), json!([]));
    desk.spawn_script("one", "exec sleep 300");
    attic.spawn_script("one", "exec sleep 300");
    attic.spawn_script("two", "exit 3");
    let relays = [Relay::start(&desk), Relay::start(&attic)];
    let all = json!([
        ["attic", true, [["one", "working"], ["two", "crashed"]]],
        ["desk", true, [["one", "working"]]],
    ]);
    eventually("both hosts are there", || seen(&desk) == all);
    assert_eq!(seen(&attic), all, "it is the same from everywhere");
    // Any tool may write to a broker: what cannot be read is passed over.
    for topic in
        ["dogwatch/x/status", "dogwatch/desk/session/one/state", "dogwatch/desk/session/y/state"]
    {
        publish(&desk, broker.port, topic, "{\"what\":1}", &["-r"]);
    }
    assert_eq!(seen(&attic)[0], all[0]);
    let table = attic.dogwatch(&["fleet"]).success().text();
    for word in ["HOST", "attic", "desk", "working", "crashed", "exit code 3"] {
        assert!(table.contains(word), "{word} in:\n{table}");
    }
    let [first, second] = relays;
    first.killed();
    eventually("one is gone", || seen(&attic)[1][1] == json!(false));
    assert_eq!(seen(&attic)[0], all[0], "the other is not concerned");
    second.ended();
    for env in [&desk, &attic] {
        let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
    }
}

#[test]
fn a_table_that_lives() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let mut broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    let mut command = env.command(&["fleet", "--watch", "--json"]);
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut until = |wanted: &dyn Fn(&Value) -> bool| loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if wanted(&line) {
            return;
        }
    };
    let relay = Relay::start(&env);
    until(&|line| short(line) == json!([["desk", true, []]]));
    env.spawn_script("one", "exec sleep 300");
    until(&|line| short(line)[0][2] == json!([["one", "working"]]));
    broker.kill();
    until(&|line| line["trouble"].is_string());
    broker.run();
    until(&|line| line["trouble"].is_null() && short(line)[0][2] == json!([["one", "working"]]));
    let _ = env.dogwatch(&["kill", "one"]).success();
    until(&|line| short(line)[0][2] == json!([]));
    process::signal(i32::try_from(watch.id()).unwrap(), Signal::INT);
    assert!(watch.wait().unwrap().success());
    relay.ended();
}

#[test]
fn mistakes_in_the_configuration() {
    let env = TestEnv::new();
    let missing = env.dogwatch(&["relay"]).code(2);
    assert!(missing.stderr.contains("no broker is configured"), "{}", missing.stderr);
    configure(&env, 1, "desk/1", "");
    let bad = env.dogwatch(&["fleet", "--json"]).code(2).json();
    assert_eq!(bad["error"]["code"], "bad_config");
    let message = bad["error"]["message"].as_str().unwrap();
    assert!(message.contains("line 3, column 8"), "{message}");
    // Who needs no broker is not concerned.
    let _ = env.dogwatch(&["status"]).success();
    let _ = env.dogwatch(&["events"]).success();
}
