//! The dashboard with real agents behind it: a permission prompt is answered from it, and the agent goes on.

use std::path::PathBuf;

use dogwatch_testkit::{dogwatch, eventually_or, process, wait_until};
use model_double::homes::Agent;
use rustix::process::Signal;

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
        // Below a shell: tmux continues a program of its own that is stopped.
        let shell = format!("'{}' top; true", dogwatch());
        let args = [&new[..], &size, &["sh", "-c", &shell]].concat();
        let mut tmux = lab.env.tmux_command(&socket, &args);
        assert!(tmux.envs(lab.environment()).status().unwrap().success());
        Self { lab, socket }
    }

    fn keys(&self, keys: &[&str]) {
        self.lab.env.tmux_on(&self.socket, &[&["send-keys", "-t", "=outer:"], keys].concat());
    }

    fn pid(&self) -> i32 {
        let format = ["display-message", "-p", "-t", "=outer:", "#{pane_pid}"];
        let shell = self.lab.env.tmux_on(&self.socket, &format).trim().parse().unwrap();
        process::children(shell)[0]
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

    #[track_caller]
    fn hides(&self, text: &str) {
        eventually_or(&format!("it no longer shows {text:?}"), || {
            let screen = self.screen();
            if screen.contains(text) { Err(format!("\n{screen}")) } else { Ok(()) }
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
    let session = lab.spawn(&["--prompt", "[permission]"]);
    top.shows("1 need you");
    eventually_or("its dialog is known", || {
        let why = lab.why();
        if why["dialog"].is_string() { Ok(()) } else { Err(format!("{why:#}")) }
    });
    // A digit alone does nothing; `a` shows what can be chosen.
    top.keys(&["1"]);
    top.keys(&["a"]);
    eventually_or("what can be chosen is shown", || {
        let screen = top.screen();
        if screen.contains("── answer a ─") {
            return Ok(());
        }
        if screen.contains("not on the screen") {
            // The agent says that it asks before it has drawn what.
            top.keys(&["a"]);
        }
        Err(screen)
    });
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
    top.keys(&["-l", "hello there,"]);
    top.keys(&["M-Enter"]);
    top.keys(&["-l", "on two lines"]);
    top.shows("on two lines");
    top.keys(&["Enter"]);
    top.shows("proven by its");
    top.keys(&["c"]);
    top.shows("> hello there,");
    top.shows("on two lines");
    top.keys(&["Escape"]);
    // A key that came together with the Esc would be one with Alt.
    top.hides("─ conversation ─");
    // The receipt stays, and so does a job.
    top.keys(&["M"]);
    top.shows("RECEIPT");
    top.shows("→ proven by its");
    let _ = lab.dogwatch(&["job", "submit", "a", "one more thing", "--wait"]).success();
    top.keys(&["J"]);
    top.shows("one more thing");
    top.shows("→ ended");
    top.keys(&["Escape"]);
    // An agent that was killed is started again in its conversation, under its name.
    process::signal(session.pid, Signal::KILL);
    top.shows("1 failed");
    top.keys(&["R"]);
    top.shows("resumed a");
    top.shows("1 idle");
    let now = lab.session("a");
    assert_ne!(now.id, session.id);
    let again = lab.dogwatch(&["send", "a", "are you back?", "--timeout", "60s"]).success();
    assert!(again.text().contains("delivered"), "{again}");
    top.keys(&["q"]);
    lab.end(&["--now"]);
}

/// A dialog that is answered elsewhere while the dashboard cannot know it yet: the digit is refused, and reaches no other dialog
/// and no input box.
fn a_dialog_that_changed_is_refused(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    lab.spawn(&["--prompt", "[permission]"]);
    lab.asks();
    let top = Top::open(&lab);
    top.shows("1 need you");
    eventually_or("what can be chosen is shown", || {
        top.keys(&["a"]);
        // One key at a time: a second one would be for what is shown later.
        let screen = wait_until("the key is taken", || {
            let screen = top.screen();
            let is_taken = ["── answer a ─", "nothing to answer", "not on the screen"];
            is_taken.iter().any(|text| screen.contains(text)).then_some(screen)
        });
        if screen.contains("── answer a ─") { Ok(()) } else { Err(screen) }
    });
    let dashboard = top.pid();
    process::signal(dashboard, Signal::STOP);
    let _ = lab.dogwatch(&["answer", "a", "1"]).success();
    eventually_or("its turn is over", || {
        let state = lab.why()["state"].clone();
        if state == "idle" { Ok(()) } else { Err(state.to_string()) }
    });
    let _ = lab.dogwatch(&["send", "a", "[ask] which", "--timeout", "60s"]).success();
    lab.asks();
    let before = lab.why()["dialog"].clone();
    top.keys(&["1"]);
    process::signal(dashboard, Signal::CONT);
    eventually_or("it is refused", || {
        let screen = top.screen();
        let is_refused = screen.contains("has changed") || screen.contains("not answered");
        if is_refused { Ok(()) } else { Err(screen) }
    });
    top.shows("1 need you");
    assert_eq!(lab.why()["dialog"], before, "the other one is still open");
    top.keys(&["q"]);
    lab.end(&["--now"]);
}

#[test]
fn a_dialog_of_claude_that_changed_is_refused() {
    a_dialog_that_changed_is_refused(Agent::Claude);
}

#[test]
fn a_permission_prompt_of_claude_is_answered() {
    a_permission_prompt_is_answered(Agent::Claude);
}

#[test]
fn a_permission_prompt_of_codex_is_answered() {
    a_permission_prompt_is_answered(Agent::Codex);
}
