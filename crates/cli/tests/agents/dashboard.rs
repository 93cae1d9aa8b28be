//! The dashboard with real agents behind it: a permission prompt is answered from it, and the agent goes on.

use std::path::PathBuf;

use dogwatch_testkit::{dogwatch, eventually_or};
use model_double::homes::Agent;

use crate::lab::Lab;

/// The dashboard in a terminal of its own.
struct Top<'l> {
    lab: &'l Lab,
    socket: PathBuf,
}

impl<'l> Top<'l> {
    fn open(lab: &'l Lab) -> Self {
        let socket = lab.env.another_socket("outer");
        let size = ["-x", "120", "-y", "40"];
        let new = ["new-session", "-d", "-s", "outer"];
        lab.env.tmux_on(&socket, &[&new[..], &size, &[dogwatch(), "top"]].concat());
        Self { lab, socket }
    }

    fn keys(&self, keys: &[&str]) {
        self.lab.env.tmux_on(&self.socket, &[&["send-keys", "-t", "=outer:"], keys].concat());
    }

    fn screen(&self) -> String {
        self.lab.env.tmux_on(&self.socket, &["capture-pane", "-p", "-t", "=outer:"])
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        eventually_or(&format!("it shows {text:?}"), || {
            let screen = self.screen();
            if screen.contains(text) { Ok(()) } else { Err(format!("\n{screen}")) }
        });
    }
}

fn has_permission(lab: &Lab) -> bool {
    lab.env.work().join("../permission-given.txt").exists()
}

fn a_permission_prompt_is_answered(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let top = Top::open(&lab);
    top.shows("No agents here yet.");
    lab.spawn(&["--prompt", "[permission]"]);
    top.shows("1 need you");
    eventually_or("its dialog is known", || {
        let why = lab.why();
        if why["dialog"].is_string() { Ok(()) } else { Err(format!("{why:#}")) }
    });
    // A digit alone does nothing; `a` shows what can be chosen.
    top.keys(&["1"]);
    top.keys(&["a"]);
    top.shows("answer a");
    assert!(!has_permission(&lab));
    top.keys(&["1"]);
    top.shows("a: answered 1");
    eventually_or(
        "it was allowed",
        || {
            if has_permission(&lab) { Ok(()) } else { Err(top.screen()) }
        },
    );
    top.shows("turn finished");
    // A message, with its receipt.
    top.keys(&["m"]);
    top.shows("message to a");
    top.keys(&["-l", "hello there"]);
    top.keys(&["Enter"]);
    top.shows("proven by its");
    top.keys(&["c"]);
    top.shows("> hello there");
    top.keys(&["q"]);
    top.keys(&["q"]);
    lab.end(&["--now"]);
}

#[test]
fn a_permission_prompt_of_claude_is_answered() {
    a_permission_prompt_is_answered(Agent::Claude);
}

#[test]
fn a_permission_prompt_of_codex_is_answered() {
    a_permission_prompt_is_answered(Agent::Codex);
}
