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
    eventually("the statusline has told of the context", || {
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
    eventually("codex has told of the context", || {
        row(&lab)["context"]["left"].as_u64().is_some_and(|left| left > 50)
    });
    lab.end(&[]);
}
