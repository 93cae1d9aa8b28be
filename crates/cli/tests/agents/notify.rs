//! A real agent asks, and dogwatch notifies a person, though no other dogwatch process runs.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use dogwatch_testkit::{eventually, wait_until, wait_within};
use jiff::Timestamp;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// A channel that appends each notification, with the time of its arrival, to a file.
fn configure(lab: &Lab, more: &str) {
    let script = lab.env.work().join("told.sh");
    fs::write(&script, "#!/bin/sh\nprintf '%s %s\\n' \"$(date +%s%3N)\" \"$(cat)\" >> \"$1\"\n")
        .unwrap();
    let told = told_file(lab);
    let command = format!("command = ['sh', '{}', '{}']", script.display(), told.display());
    let folder = lab.env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("[[notify]]\nkind = 'command'\n{command}\n{more}\n");
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn told_file(lab: &Lab) -> std::path::PathBuf {
    lab.env.root().join("told")
}

/// The notifications so far, with their times of arrival.
fn told(lab: &Lab) -> Vec<(Timestamp, Value)> {
    let text = fs::read_to_string(told_file(lab)).unwrap_or_default();
    let line = |line: &str| {
        let (at, json) = line.split_once(' ').unwrap();
        let at = Timestamp::from_millisecond(at.parse().unwrap()).unwrap();
        (at, serde_json::from_str(json).unwrap())
    };
    text.lines().map(line).collect()
}

/// When the agent's hook said that it asks.
fn asked_at(lab: &Lab, id: &str) -> Timestamp {
    use dogwatch_store::{StateDir, Store};
    let dir = StateDir::open(lab.env.state_dir()).unwrap();
    let signals = Store::open(&dir).unwrap().signals(id).unwrap();
    signals.iter().find(|signal| signal.event == "PermissionRequest").unwrap().at
}

#[test]
fn claude_asks_for_permission_and_no_watcher_runs() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    configure(&lab, "on = ['waiting', 'done']\ndialog = 'permission'");
    let session = lab.spawn(&["--prompt", "[write]"]);
    let (at, notice) = wait_until("a notification arrives", || told(&lab).into_iter().next());
    assert_eq!(notice["occasion"], "waiting", "{notice:#}");
    assert_eq!((&notice["session"], &notice["data"]["for"]), (&"a".into(), &"permission".into()));
    assert!(notice["text"].as_str().unwrap().contains("written.txt"), "{notice:#}");
    let took = at.duration_since(asked_at(&lab, &session.id));
    println!("told {} ms after the hook", took.as_millis());
    // Its next hook, a reminder, comes after some seconds: the same event.
    wait_within(
        Duration::from_secs(20),
        || "a reminder".to_owned(),
        || lab.events(&session).iter().any(|event| event == "Notification").then_some(()),
    );
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    let done = wait_until("it is done", || told(&lab).into_iter().nth(1));
    assert_eq!(done.1["occasion"], "done", "{:#?}", told(&lab));
    let log = lab.dogwatch(&["notify", "log", "--json"]).success().json();
    let sent = log["deliveries"].as_array().unwrap();
    assert_eq!(sent.len(), 2, "{log:#}");
    assert!(sent.iter().all(|one| one["state"] == "sent" && one["attempts"] == 1), "{log:#}");
    lab.end(&["--now"]);
    assert_eq!(told(&lab).len(), 2, "being killed is no event");
}

#[test]
fn an_answer_in_time_makes_it_superfluous() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    configure(&lab, "on = ['waiting']\nafter = '5s'");
    lab.spawn(&["--prompt", "[write]"]);
    let log = || {
        let log = lab.dogwatch(&["notify", "log", "--json"]).success().json();
        log["deliveries"].as_array().unwrap().first().cloned()
    };
    let held = wait_until("it is written down", log);
    assert_eq!((&held["state"], &held["attempts"]), (&"waiting".into(), &0.into()), "{held:#}");
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    eventually("it is settled", || log().is_some_and(|one| one["state"] != "waiting"));
    let settled = log().unwrap();
    assert_eq!(
        (&settled["state"], &settled["because"]),
        (&"skipped".into(), &"over before it was due".into())
    );
    assert!(told(&lab).is_empty());
    lab.end(&["--now"]);
}

#[test]
fn an_earlier_turn_sends_no_notification_when_its_conversation_is_resumed() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    configure(&lab, "on = ['done']");
    let first = lab.spawn(&["--prompt", "[hello]"]);
    eventually("the notification of its turn", || told(&lab).len() == 1);
    let listed = lab.dogwatch(&["ls", "--json"]).success().json();
    let conversation = listed["sessions"][0]["conversation"].as_str().unwrap().to_owned();
    lab.end(&["--now"]);
    let again = lab.spawn(&["--resume", &conversation]);
    assert_ne!(first.id, again.id);
    let _ = lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "30s"]).success();
    // The next turn's notification comes after all earlier ones.
    let _ = lab.dogwatch(&["send", "a", "[hello]"]).success();
    eventually("the notification of the next turn", || told(&lab).len() == 2);
    let log = lab.dogwatch(&["notify", "log", "--json"]).success().json();
    assert_eq!(log["deliveries"].as_array().unwrap().len(), 2, "{log:#}");
    lab.end(&["--now"]);
}

#[test]
fn two_watchers_and_a_runner_tell_once() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    configure(&lab, "on = ['waiting']");
    let watch = || lab.command(&["watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut watchers = [watch(), watch()];
    lab.spawn(&["--prompt", "[write]"]);
    eventually("a notification arrives", || !told(&lab).is_empty());
    // The next dialog's notification comes after all earlier ones.
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    let _ = lab.dogwatch(&["wait", "a", "--for", "idle", "--timeout", "30s"]).success();
    let _ = lab.dogwatch(&["send", "a", "[ask]"]).success();
    eventually("of the next one too", || {
        told(&lab).iter().any(|(_, n)| n["data"]["for"] == "question")
    });
    let needs: Vec<_> = told(&lab).iter().map(|(_, n)| n["data"]["for"].clone()).collect();
    assert_eq!(needs, ["permission", "question"]);
    for watcher in &mut watchers {
        watcher.kill().unwrap();
        watcher.wait().unwrap();
    }
    lab.end(&["--now"]);
}
