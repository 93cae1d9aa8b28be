//! What one host may ask of another.

use std::path::Path;

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mosquitto::{self, Mosquitto, Sub, publish};
use crate::relay::{Relay, configure, journal, write_config};

const ALL: &str = "[fleet]\nallow = ['send', 'spawn', 'kill']";

/// The same, with a folder to start agents in.
fn all_in(folder: &Path) -> String {
    format!("{ALL}\n[fleet.spawn]\nfolders = ['{}']", folder.display())
}

/// An order by hand, issued now.
fn order(id: &str, more: &str) -> String {
    format!("{{\"id\":\"{id}\",\"issued\":\"{}\"{more}}}", Timestamp::now())
}

/// An agent that takes messages and tells of them by its hook.
fn add_agent(env: &TestEnv) {
    let prompt = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";
    env.write("prompt.txt", prompt);
    let hook = format!("command = ['{}', 'hook', 'codex']", dogwatch());
    let scenario = format!(
        "record = 'received'\n[[step]]\nraw = true\n[[step]]\nbracketed_paste = true\n\
         [[step]]\nlabel = 'ready'\n[[step]]\nscreen = {{ file = 'prompt.txt', cursor = [2, 4] }}\n\
         [[step]]\n[step.input]\nwant = 'line'\n\
         [[step]]\nhook = {{ event = 'UserPromptSubmit', payload = {{ prompt = '{{input}}' }}, {hook} }}\n\
         [[step]]\nhook = {{ event = 'Stop', {hook} }}\n[[step]]\ngoto = 'ready'\n"
    );
    let file = env.write("agent.toml", scenario);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), file.display());
    env.add_profile("codex", "[input]\ncommand_prefixes = ['!', '/']\n", &script);
}

#[test]
fn started_told_and_ended_from_another_host() {
    if !mosquitto::is_here() {
        return;
    }
    let (desk, attic) = (TestEnv::new(), TestEnv::new());
    let broker = Mosquitto::start(&desk);
    configure(&desk, broker.port, "desk", "");
    configure(&attic, broker.port, "attic", &all_in(attic.work()));
    add_agent(&attic);
    let relay = Relay::start(&attic);
    relay.says("publishing");
    let work = attic.work().display().to_string();
    let spawn = ["fleet", "spawn", "attic/far", "codex", "--cwd", &work, "--json"];
    let reply = desk.dogwatch(&spawn).success().json();
    assert_eq!((&reply["state"], &reply["result"]["session"]), (&json!("done"), &json!("far")));
    eventually("it is at its prompt", || {
        attic.dogwatch(&["why", "far", "--json"]).success().json()["state"] == "idle"
    });
    let send = ["fleet", "send", "attic/far", "hello from the desk", "--timeout", "20s", "--json"];
    let reply = desk.dogwatch(&send).success().json();
    assert_eq!(reply["result"]["outcome"], "delivered", "{reply:#}");
    let received = std::fs::read(attic.work().join("received")).unwrap();
    assert!(String::from_utf8_lossy(&received).contains("hello from the desk"));
    let killed = desk.dogwatch(&["fleet", "kill", "attic/far"]).success().text();
    assert!(killed.contains("attic/far: ended"), "{killed}");
    assert_eq!(attic.seen("far")["put_away"], true);
    let requests: Vec<Value> =
        journal(&attic).into_iter().filter(|event| event["kind"] == "request").collect();
    let verbs: Vec<_> = requests.iter().map(|event| &event["data"]["verb"]).collect();
    assert_eq!(verbs, ["spawn", "send", "kill"]);
    assert_eq!(requests[0]["data"]["from"], "desk");
    // What goes wrong there is said here, with the exit code it would have had there.
    let none = desk.dogwatch(&["fleet", "kill", "attic/nosuch", "--json"]).code(3).json();
    assert_eq!((&none["state"], &none["code"]), (&json!("failed"), &json!("no_such_session")));
    let _ = desk.dogwatch(&["fleet", "spawn", "attic", "nosuch", "--cwd", &work]).code(7);
    let _ = desk.dogwatch(&["fleet", "spawn", "attic", "codex", "--cwd", "relative"]).code(2);
    relay.ended();
    let gone = desk.dogwatch(&["fleet", "kill", "attic/far"]).code(1);
    assert!(gone.stderr.contains("host attic is offline: it was killed"), "{}", gone.stderr);
    let _ = desk.dogwatch(&["fleet", "kill", "cellar/x"]).code(3);
    let _ = desk.dogwatch(&["fleet", "kill", "cellar"]).code(2);
}

#[test]
fn nothing_is_done_that_is_not_allowed() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", "");
    let one = env.spawn_script("one", "exec sleep 300");
    let relay = Relay::start(&env);
    relay.says("publishing");
    let refused = env.dogwatch(&["fleet", "kill", "desk/one"]).code(4);
    assert!(refused.stderr.contains("does not allow `kill`"), "{}", refused.stderr);
    relay.ended();
    configure(&env, broker.port, "desk", "[fleet]\nallow = ['send']");
    let relay = Relay::start(&env);
    relay.says("publishing");
    let refused = env.dogwatch(&["fleet", "kill", "desk/one", "--json"]).code(4).json();
    assert_eq!(refused["state"], "refused");
    assert!(refused["because"].as_str().unwrap().ends_with("has send"), "{refused}");
    assert!(process::is_alive(one.pid));
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn by_hand_with_mosquitto_pub_and_only_once() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", ALL);
    let [one, two] = ["one", "two"].map(|name| env.spawn_script(name, "exec sleep 300"));
    let sub = Sub::start(&env, broker.port, "dogwatch/reply/#", &["-V", "5"]);
    let relay = Relay::start(&env);
    relay.says("publishing");
    let ask = |verb: &str, payload: &str, more: &[&str]| {
        let topic = format!("dogwatch/desk/request/{verb}");
        let mut options = vec!["-D", "publish", "response-topic", "dogwatch/reply/hand"];
        options.extend(["-D", "publish", "correlation-data", "c1"]);
        options.extend(more);
        publish(&env, broker.port, &topic, payload, &options);
    };
    let answer = |state: &str| sub.hears(state, |message| message.json()["state"] == state).json();
    let kill_one = order("r1", r#","session":"one""#);
    ask("kill", &kill_one, &[]);
    answer("accepted");
    let first = answer("done");
    process::wait_gone(one.pid);
    // The same again, as after a broker that was killed: it is answered, and not done.
    env.spawn_script("one", "exec sleep 300");
    ask("kill", &kill_one, &[]);
    assert_eq!(answer("done"), first);
    relay.killed();
    let relay = Relay::start(&env);
    relay.says("publishing");
    ask("kill", &kill_one, &[]);
    assert_eq!(answer("done"), first, "remembered across a restart");
    assert_eq!(env.seen("one")["state"], "running");
    // What cannot be meant.
    ask("kill", "not json", &[]);
    assert!(answer("failed")["because"].as_str().unwrap().contains("not JSON"));
    ask("kill", r#"{"session":"two"}"#, &[]);
    assert!(answer("failed")["because"].as_str().unwrap().contains("\"id\""));
    ask("send", &order("r2", r#","session":"two""#), &[]);
    assert!(answer("failed")["because"].as_str().unwrap().contains("text"));
    ask("reboot", &order("r3", ""), &[]);
    assert!(answer("refused")["because"].as_str().unwrap().contains("unknown verb"));
    ask("kill", &order("r4", r#","session":"two","expires":"2026-01-01T00:00:00Z""#), &[]);
    answer("expired");
    ask("kill", r#"{"id":"r4b","session":"two"}"#, &[]);
    assert!(answer("refused")["because"].as_str().unwrap().contains("issued"));
    ask("kill", r#"{"id":"r4c","session":"two","issued":"2026-01-01T00:00:00Z"}"#, &[]);
    answer("expired");
    // Retained, it would be done anew at each connection: its live copy is refused already, and the retained one each time.
    ask("kill", &order("r5", r#","session":"two""#), &["-r"]);
    assert!(answer("refused")["because"].as_str().unwrap().contains("retain"));
    relay.ended();
    let relay = Relay::start(&env);
    relay.says("publishing");
    assert!(answer("refused")["because"].as_str().unwrap().contains("retain"));
    assert!(process::is_alive(two.pid));
    let refused = journal(&env).into_iter().filter(|event| event["kind"] == "request_refused");
    let refused: Vec<_> = refused.map(|event| event["data"]["id"].clone()).collect();
    assert_eq!(refused, ["r3", "r4", "r4b", "r4c", "r5"], "each once");
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn an_order_that_waited_too_long_is_not_carried_out() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    configure(&env, broker.port, "desk", ALL);
    let one = env.spawn_script("one", "exec sleep 300");
    let relay = Relay::start(&env);
    relay.says("publishing");
    eventually("the broker knows the host", || {
        let listed = env.dogwatch(&["fleet", "--json"]);
        listed.text().contains("\"desk\"")
    });
    process::signal(relay.pid(), Signal::STOP);
    let late = env.dogwatch(&["fleet", "kill", "desk/one", "--expires", "1s"]).code(124);
    assert!(late.stderr.contains("did not answer"), "{}", late.stderr);
    let sub = Sub::start(&env, broker.port, "dogwatch/reply/#", &["-V", "5"]);
    eventually("it listens", || broker.log().contains("dogwatch/reply/# (QoS 1)"));
    process::signal(relay.pid(), Signal::CONT);
    let answer = sub.hears("that it was too late", |message| message.json()["id"].is_string());
    assert_eq!(answer.json()["state"], "expired");
    assert!(process::is_alive(one.pid));
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn orders_from_a_broker_that_takes_anybody_are_refused() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start_open(&env);
    let one = env.spawn_script("one", "exec sleep 300");
    // With a password that it does not ask for, and without any.
    let bare = format!("[mqtt]\nurl = 'mqtt://127.0.0.1:{}'\nhost = 'desk'\n{ALL}", broker.port);
    for is_bare in [false, true] {
        if is_bare {
            write_config(&env, &bare);
        } else {
            configure(&env, broker.port, "desk", ALL);
        }
        let relay = Relay::start(&env);
        relay.says("publishing");
        relay.says("can read all events");
        relay.says("orders from other hosts are refused");
        let refused = env.dogwatch(&["fleet", "kill", "desk/one", "--json"]).code(4).json();
        let because = refused["because"].as_str().unwrap();
        assert!(
            because.contains(if is_bare { "not authenticated" } else { "without a password" }),
            "{because}"
        );
        let doctor = env.dogwatch(&["doctor"]).text();
        assert!(doctor.contains("orders are refused"), "{doctor}");
        relay.ended();
    }
    assert!(process::is_alive(one.pid));
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}

#[test]
fn agents_are_started_in_named_folders_only() {
    if !mosquitto::is_here() {
        return;
    }
    let env = TestEnv::new();
    let broker = Mosquitto::start(&env);
    add_agent(&env);
    let allowed = env.work().join("allowed");
    for folder in ["allowed/deep", "allowed2", "other"] {
        std::fs::create_dir_all(env.work().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(env.work().join("other"), allowed.join("out")).unwrap();
    std::os::unix::fs::symlink(&allowed, env.work().join("link")).unwrap();
    let spawn = |cwd: &str, more: &[&str], code: i32| {
        let mut args = vec!["fleet", "spawn", "desk", "codex", "--json", "--cwd", cwd];
        args.extend(more);
        env.dogwatch(&args).code(code).json()
    };
    configure(&env, broker.port, "desk", ALL);
    let relay = Relay::start(&env);
    relay.says("allows no folders");
    relay.says("publishing");
    let none = spawn(&allowed.display().to_string(), &[], 4);
    assert!(none["because"].as_str().unwrap().contains("allows no folders"), "{none}");
    relay.ended();
    configure(&env, broker.port, "desk", &all_in(&env.work().join("link")));
    let relay = Relay::start(&env);
    relay.says("publishing");
    let inside = |part: &str| format!("{}/{part}", env.work().display());
    for outside in ["allowed2", "other", "allowed/out", "allowed/../other", "nosuch", ""] {
        let reply = spawn(&inside(outside), &[], 4);
        assert_eq!(reply["state"], "refused", "{outside}: {reply}");
    }
    let unattended = spawn(&inside("allowed"), &["--unattended"], 4);
    assert!(unattended["because"].as_str().unwrap().contains("unattended"), "{unattended}");
    for good in ["allowed", "link/deep"] {
        let reply = spawn(&inside(good), &[], 0);
        assert_eq!(reply["state"], "done", "{good}: {reply}");
    }
    let refused = journal(&env).into_iter().filter(|event| event["kind"] == "request_refused");
    assert_eq!(refused.count(), 8);
    relay.ended();
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
}
