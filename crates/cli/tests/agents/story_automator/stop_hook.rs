//! The stop hook, fired by a real claude: a lead that wants to stop in the middle of a run is sent back to it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use dogwatch_testkit::{dogwatch, eventually_or};
use model_double::Scenario;
use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

/// The lead gives up too early. Sent back, it works on until the gate opens.
const PLAY: &str = r#"
[[rule]]
match = 'Story Automator active'
steps = [["Back to the run.", { gate = "run" }, " The run is over."]]

[[rule]]
match = 'lead the run'
steps = ["I have had enough."]
"#;

struct Run {
    lab: Lab,
    helper: PathBuf,
    /// The lead's pane.
    pane: String,
}

impl Run {
    /// A project with the skill, the helper linked into it, its hook in the project's settings, and a claude that a
    /// person started there: one that dogwatch starts is a child, and may stop.
    fn new() -> Option<Self> {
        let lab = Lab::new(Agent::Claude)?;
        let skill = lab.env.work().join(".claude/skills/bmad-story-automator");
        for folder in ["scripts", "data"] {
            fs::create_dir_all(skill.join(folder)).unwrap();
        }
        fs::write(skill.join("data/stop-hook-recovery.md"), "Go on.\n").unwrap();
        let helper = skill.join("scripts/story-automator");
        symlink(dogwatch(), &helper).unwrap();
        lab.double.replace_scenario(Scenario::parse("stop-hook.toml", PLAY).unwrap());
        let mut run = Self { lab, helper, pane: String::new() };
        let ensure = ["ensure-stop-hook", "--settings", ".claude/settings.json"];
        let ensure = [&ensure[..], &["--command", "story-automator", "stop-hook"]].concat();
        let installed: Value = serde_json::from_str(&run.helper(&ensure)).unwrap();
        assert_eq!(installed["changed"], true, "{installed}");
        run.pane = run.lab.start_by_hand();
        Some(run)
    }

    fn helper(&self, words: &[&str]) -> String {
        let mut command = self.lab.env.foreign(&self.helper);
        let output = command.envs(self.lab.environment()).args(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A run with two stories to go.
    fn activate(&self) {
        let create = ["orchestrator-helper", "marker", "create", "--epic", "1", "--story", "1.1"];
        let more = ["--remaining", "2", "--state-file", "out/s.md"];
        self.helper(&[&create[..], &more].concat());
    }

    fn wait_state(&self, state: &str) {
        eventually_or(&format!("the lead is {state}"), || {
            let seen = self.lab.dogwatch(&["why", &self.pane, "--json"]);
            let told: Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
            if told["state"] == state { Ok(()) } else { Err(format!("{seen}")) }
        });
    }

    fn wait_screen(&self, text: &str) {
        eventually_or(&format!("the lead says {text}"), || {
            let screen = self.lab.env.tmux(&["capture-pane", "-p", "-t", &self.pane]);
            if screen.contains(text) { Ok(()) } else { Err(screen) }
        });
    }

    fn say(&self, text: &str) {
        self.wait_state("idle");
        // Its launcher is the agent until the agent itself runs, which is another one by its process.
        eventually_or("the lead is told", || {
            if self.lab.asked().iter().any(|said| said == text) {
                return Ok(());
            }
            let sent = self.lab.dogwatch(&["send", &self.pane, text, "--timeout", "5s"]);
            Err(format!("{sent}"))
        });
    }

    /// What the hook made claude tell the model.
    fn sent_back(&self) -> Vec<String> {
        let asked = self.lab.asked().into_iter();
        asked.filter(|said| said.contains("Story Automator active")).collect()
    }
}

#[test]
fn a_lead_cannot_stop_while_the_run_is_active() {
    let Some(run) = Run::new() else { return };
    run.activate();
    run.say("lead the run");
    run.wait_screen("Back to the run.");
    let sent_back = run.sent_back();
    assert_eq!(sent_back.len(), 1, "{sent_back:?}");
    assert!(sent_back[0].contains("Story Automator active (2 stories remaining)"));
    assert!(sent_back[0].contains("data/stop-hook-recovery.md"), "{sent_back:?}");
    run.wait_state("working");
    // The run ends; so may the turn.
    assert_eq!(run.helper(&["orchestrator-helper", "marker", "remove"]), "Marker removed\n");
    run.lab.double.release("run");
    run.wait_screen("The run is over.");
    run.wait_state("idle");
    assert_eq!(run.sent_back().len(), 1, "nobody objects any more");
}

#[test]
fn without_a_run_a_claude_stops_as_ever() {
    let Some(run) = Run::new() else { return };
    run.say("lead the run");
    run.wait_screen("I have had enough.");
    run.wait_state("idle");
    assert_eq!(run.sent_back(), [""; 0]);
}
