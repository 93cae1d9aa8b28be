//! The journal as `events` shows it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;
use serde_json::{Value, json};

fn events(env: &TestEnv, args: &[&str]) -> Vec<Value> {
    let mut command = env.command(&["events", "--json"]);
    let said = env.run(command.args(args)).success().text();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn what_happened_and_what_happens() {
    let env = TestEnv::new();
    assert_eq!(events(&env, &[]), [] as [Value; 0]);
    let mut command = env.command(&["events", "--follow", "--json"]);
    let mut follow = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let one = env.spawn_script("one", "exec sleep 300");
    let _ = env.dogwatch(&["status"]).success();
    let _ = env.dogwatch(&["kill", "one"]).success();
    let all = events(&env, &[]);
    // On a busy machine it may have been seen while it started, too.
    let (states, rest): (Vec<Value>, Vec<Value>) =
        all.iter().cloned().partition(|event| event["kind"] == "state");
    assert_eq!(kinds(&rest), ["created", "started", "kill_requested", "ended", "deleted"]);
    assert!(states.iter().any(|event| event["data"]["state"] == "working"), "{states:#?}");
    for event in &all {
        assert_eq!(event["session"], json!({ "id": one.id, "name": "one", "agent": "command" }));
        assert_eq!(event["v"], 1);
        let followed: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(&followed, event, "the same as it happens");
    }
    process::signal(i32::try_from(follow.id()).unwrap(), Signal::INT);
    assert!(follow.wait().unwrap().success());

    env.spawn_script("two", "exec sleep 300");
    // The runner notes the start in a file first, and here a moment later.
    eventually("both are written down", || {
        let all = events(&env, &["two"]);
        kinds(&all).into_iter().filter(|kind| *kind != "state").eq(["created", "started"])
    });
    assert_eq!(kinds(&events(&env, &[&one.id, "--kind", "ended"])), ["ended"]);
    assert_eq!(events(&env, &["--last", "1"]).len(), 1);
    let lately = events(&env, &["--since", "1h"]);
    assert_eq!(lately.iter().filter(|event| event["kind"] != "state").count(), rest.len() + 2);
    assert_eq!(events(&env, &["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    let _ = env.dogwatch(&["events", "--since", "yesterday"]).code(2);
    let _ = env.dogwatch(&["events", "--kind", "dirft"]).code(2);
    let text = env.dogwatch(&["events", "one"]).success().text();
    assert!(text.contains("  one  state: ") && text.contains("working\n"), "{text}");
    let _ = env.dogwatch(&["kill", "two"]).success();
}

#[test]
fn a_session_that_could_not_be_made_is_told_as_deleted() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let _ = env.dogwatch(&["spawn", "--name", "one", "--", "sleep", "1"]).code(4);
    let all = events(&env, &[]);
    let last = all.iter().rfind(|event| event["kind"] != "state").unwrap();
    assert_eq!((&last["kind"], &last["session"]["name"]), (&json!("deleted"), &json!("one")));
    assert_eq!(last["data"]["because"], "it failed to start");
    let _ = env.dogwatch(&["kill", "one"]).success();
}
