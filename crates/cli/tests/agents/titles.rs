//! Titles and contexts as the real agents write them.

use dogwatch_testkit::eventually;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

fn row(lab: &Lab) -> Value {
    lab.dogwatch(&["status", "a", "--json"]).success().json()["sessions"][0].clone()
}

#[test]
fn claude_titles_and_context() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[hello] Greet the reader"]);
    lab.wait_event(&session, "Stop");
    let told = row(&lab);
    let from = told["title_from"].as_str().unwrap().to_owned();
    assert!(from == "prompt" || from == "agent", "{told:#}");
    eventually("the statusline reports the context", || {
        row(&lab)["context"]["left"].as_u64().is_some_and(|left| left > 50)
    });
    let _ = lab.dogwatch(&["send", "a", "--slash", "/rename Greeting of readers"]).success();
    eventually("claude has renamed its conversation", || {
        let told = row(&lab);
        told["title"] == "Greeting of readers" && told["title_from"] == "agent"
    });
    lab.end(&[]);
    assert_eq!(row(&lab)["title"], "Greeting of readers");
}

#[test]
fn codex_titles_and_context() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    let session = lab.spawn(&["--prompt", "[hello] Greet the reader"]);
    lab.wait_event(&session, "Stop");
    let told = row(&lab);
    assert_eq!(told["title"], "[hello] Greet the reader", "{told:#}");
    eventually("codex reports the context", || {
        row(&lab)["context"]["left"].as_u64().is_some_and(|left| left > 50)
    });
    lab.end(&[]);
}

/// What a real agent and a person said is found, and the conversation goes on where it was found.
fn is_found(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--unattended", "--prompt", "[hello] Greet the xylophone"]);
    lab.wait_event(&session, "Stop");
    let hit = |word: &str| {
        let told = lab.dogwatch(&["search", word, "--json"]).json();
        told["hits"][0].clone()
    };
    eventually("the prompt is found", || hit("xylophone")["session"]["name"] == "a");
    let prompt = hit("xylophone");
    assert_eq!(prompt["open"], serde_json::json!(["dogwatch", "attach", "a"]), "{prompt:#}");
    eventually("the answer is found", || hit("double")["found_in"] == "agent");
    lab.end(&[]);
    let found = hit("double");
    let conversation = found["conversation"].as_str().unwrap();
    assert_eq!(found["open"][2], agent.name(), "{found:#}");
    assert_eq!((&found["open"][3], &found["open"][4]), (&"--resume".into(), &conversation.into()));
    let open: Vec<&str> =
        found["open"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    let name = ["--name", "again"];
    let _ = lab.dogwatch(&[&open[1..], &name].concat()).success();
    lab.env.wait_screen("again", "Greet the xylophone");
    let _ = lab.dogwatch(&["kill", "again"]).success();
}

#[test]
fn claude_conversations_are_found() {
    is_found(Agent::Claude);
}

#[test]
fn codex_conversations_are_found() {
    is_found(Agent::Codex);
}
