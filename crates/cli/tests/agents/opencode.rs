//! opencode, which is asked over HTTP. It takes many seconds to start, so each test asks for several things.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use dogwatch_testkit::{Spawned, eventually};
use model_double::homes::Agent;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::verdict::said;

/// It takes 6 seconds to start on two idle processors, and a minute or two if these have much else to do.
const START: Duration = Duration::from_secs(200);

/// Waits until it shows a text for the first time, and returns the states it was in meanwhile.
fn starts(lab: &Lab, text: &str) -> Vec<String> {
    let begun = Instant::now();
    let mut seen = Vec::new();
    while !lab.env.screen("a").contains(text) {
        let verdict = lab.why();
        assert!(begun.elapsed() < START, "never showed {text:?}: {verdict:#}");
        seen.push(verdict["state"].as_str().unwrap().to_owned());
        // sleep: the interval of a poll.
        std::thread::sleep(Duration::from_millis(500));
    }
    seen
}

fn tell(lab: &Lab, message: &str, session: &Spawned) {
    lab.env.keys(session, &["-l", message]);
    lab.env.wait_screen("a", message);
    lab.env.keys(session, &["Enter"]);
}

#[test]
fn works_asks_and_is_idle_by_its_own_word() {
    let Some(lab) = Lab::new(Agent::Opencode) else { return };
    let session = lab.spawn(&["--prompt", "[gate]"]);
    let seen = starts(&lab, "esc interrupt");
    assert!(!seen.iter().any(|state| state == "idle"), "before its first turn: {seen:?}");
    lab.is("working", "own_word");
    lab.double.release("gate");
    let idle = lab.is("idle", "own_word");
    assert_eq!(idle["after_turn"], true);
    tell(&lab, "[ask] me", &session);
    let waiting = lab.is("waiting", "own_word");
    assert_eq!(waiting["for"], "question");
    assert_eq!(waiting["question"], "Which database should I use?");
    let recorded = lab.dogwatch(&["record", "a", "--json"]).success().json();
    let state = format!("{}/agent-state.json", recorded["folder"].as_str().unwrap());
    let state: Value = serde_json::from_slice(&fs::read(state).unwrap()).unwrap();
    assert_eq!(state["/question"][0]["questions"][0]["header"], "Database", "{state:#}");
    lab.end(&["--now"]);
}

#[test]
fn asks_for_permission_and_fails() {
    let Some(lab) = Lab::new(Agent::Opencode) else { return };
    let config = lab.env.home().join(".config/opencode/opencode.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    settings["permission"]["bash"] = "ask".into();
    fs::write(&config, settings.to_string()).unwrap();
    let session = lab.spawn(&["--prompt", "[tool]"]);
    starts(&lab, "Permission required");
    let waiting = lab.is("waiting", "own_word");
    assert_eq!(waiting["for"], "permission");
    assert_eq!(waiting["question"], "echo dogwatch-tool-ran > tool-ran.txt");
    let options = &waiting["options"];
    assert_eq!(*options, json!(["Allow once", "Allow always", "Reject"]), "{waiting:#}");
    let answered = lab.dogwatch(&["answer", "a", "reject", "--json"]).success().json();
    assert_eq!(answered["choice"], "Reject", "{answered:#}");
    lab.is("idle", "own_word");
    assert!(!lab.env.work().join("tool-ran.txt").exists());
    tell(&lab, "[401] now", &session);
    // It says idle after that; the screen tells how the turn ended.
    let failed = lab.is("error", "screen");
    assert_eq!(said(&failed, "own_word"), "idle", "{failed:#}");
    lab.end(&["--now"]);
}

/// Whoever has the port of a session is not asked unless it is that session's agent.
#[test]
fn a_stranger_on_its_port_is_not_believed() {
    let Some(lab) = Lab::new(Agent::Opencode) else { return };
    let session = lab.spawn(&[]);
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let port = stranger.local_addr().unwrap().port();
    let endpoint = json!({ "port": port, "user": "opencode", "password": "x" });
    fs::write(lab.env.session_dir(&session).join("endpoint.json"), endpoint.to_string()).unwrap();
    eventually("it is told", || {
        said(&lab.why(), "own_word") == "another program is listening on its port"
    });
    assert!(stranger.accept().is_err(), "the password is not given away");
    lab.end(&["--now"]);
}
