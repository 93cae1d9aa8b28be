//! Dialogs of real agents that are answered by naming an option: in panes too small for all of them, and those of agents
//! that mark an option in other ways.

use dogwatch_testkit::eventually_or;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

impl Lab {
    #[track_caller]
    pub(super) fn asks(&self) -> Value {
        let mut last = Value::Null;
        eventually_or("it asks for permission", || {
            last = self.why();
            if last["dialog"].is_string() { Ok(()) } else { Err(format!("{last:#}")) }
        });
        last
    }

    fn has_permission(&self) -> bool {
        self.env.work().join("../permission-given.txt").exists()
    }
}

/// What is refused is not in sight, and what is in sight would allow it.
fn refused_in_a_small_pane(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let session = lab.spawn(&["--prompt", "[permission]"]);
    lab.asks();
    for size in [["40", "10"], ["25", "6"]] {
        lab.env.tmux(&["resize-window", "-t", &session.pane, "-x", size[0], "-y", size[1]]);
        // A picture that is still being drawn for the new size is refused: what it shows changes under one's hands.
        eventually_or("all are listed", || {
            let wrong = lab.dogwatch(&["answer", "a", "no such thing", "--json"]).text();
            let is_listed = wrong.contains("bad_argument") && wrong.to_lowercase().contains(": no");
            if is_listed { Ok(()) } else { Err(wrong) }
        });
        assert_eq!(lab.why()["state"], "waiting", "nothing was chosen");
    }
    let answered = lab.dogwatch(&["answer", "a", "no", "--json"]).success().json();
    assert!(answered["choice"].as_str().unwrap().starts_with("No"), "{answered:#}");
    assert_eq!(answered["outcome"], "answered", "{answered:#}");
    eventually_or("it is at rest", || {
        let verdict = lab.why();
        if verdict["state"] == "idle" { Ok(()) } else { Err(format!("{verdict:#}")) }
    });
    assert!(!lab.has_permission());
    lab.end(&["--now"]);
}

#[test]
fn refused_in_a_small_pane_of_claude() {
    refused_in_a_small_pane(Agent::Claude);
}

#[test]
fn refused_in_a_small_pane_of_codex() {
    refused_in_a_small_pane(Agent::Codex);
}

#[test]
fn gemini_is_answered() {
    let Some(lab) = Lab::new(Agent::Gemini) else { return };
    lab.spawn(&["--prompt", "[permission]"]);
    lab.asks();
    let answered = lab.dogwatch(&["answer", "a", "no", "--json"]).success().json();
    assert!(answered["choice"].as_str().unwrap().starts_with("No"), "{answered:#}");
    assert!(!lab.has_permission());
    let _ = lab.dogwatch(&["send", "a", "[permission] again", "--timeout", "60s"]).success();
    lab.asks();
    let _ = lab.dogwatch(&["answer", "a", "Allow once"]).success();
    eventually_or(
        "it was allowed",
        || if lab.has_permission() { Ok(()) } else { Err(String::new()) },
    );
    lab.end(&["--now"]);
}
