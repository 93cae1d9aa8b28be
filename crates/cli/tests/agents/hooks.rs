//! Hooks of ours must not stop an agent, whatever its version and wherever dogwatch lies.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, eventually};
use model_double::homes::Agent;

use crate::lab::Lab;

/// dogwatch in a folder whose name a shell would do much with.
fn badly_placed(env: &TestEnv) -> PathBuf {
    let folder = env.root().join("it's $HOME `id` \"x\" a\\b");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("dogwatch");
    // A copy, because dogwatch finds its own path behind links.
    fs::copy(dogwatch(), &path).unwrap();
    path
}

/// A prompt at the start and one by `send` get through, and hooks tell of both.
fn prompts_get_through(lab: &Lab) {
    let binary = badly_placed(&lab.env);
    let mut spawn = lab.env.foreign(&binary);
    spawn.envs(lab.environment());
    spawn.args(["spawn", lab.agent.name(), "--name", "a", "--unattended", "--prompt", "[hello]"]);
    let _spawned = lab.env.run(&mut spawn).success();
    let session = lab.session("a");
    lab.wait_event(&session, "Stop");
    let events = lab.events(&session);
    assert!(events.iter().any(|event| event == "UserPromptSubmit"), "{events:?}");
    let _sent = lab.dogwatch(&["send", "a", "[tool] leave a mark", "--timeout", "60s"]).success();
    assert_eq!(lab.wait_file("tool-ran.txt"), "dogwatch-tool-ran\n");
    eventually("both turns are told by hooks", || {
        lab.events(&session).iter().filter(|event| *event == "Stop").count() == 2
    });
    assert_eq!(lab.asked().iter().filter(|asked| asked.contains("[hello]")).count(), 1);
    lab.end(&["--now"]);
}

#[test]
fn of_an_old_claude() {
    let Some(lab) = Lab::with_old_claude() else { return };
    prompts_get_through(&lab);
}

#[test]
fn of_claude() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    prompts_get_through(&lab);
}

#[test]
fn of_codex() {
    let Some(lab) = Lab::new(Agent::Codex) else { return };
    prompts_get_through(&lab);
}

/// Settings that an older dogwatch wrote: the old claude drops the arguments and calls dogwatch without any.
#[test]
fn of_an_old_claude_with_settings_of_an_older_dogwatch() {
    let Some(lab) = Lab::with_old_claude() else { return };
    let profiles = lab.env.home().join(".config/dogwatch/agents");
    fs::create_dir_all(&profiles).unwrap();
    let profile = include_str!("../../../core/agents/claude.toml");
    let with_args = "\"command\": @dogwatch@, \"args\": [\"hook\", \"claude\"]";
    let older = profile.replace("\"command\": @hook@", with_args);
    assert_ne!(older, profile);
    fs::write(profiles.join("claude.toml"), older).unwrap();
    let session = lab.spawn(&["--unattended", "--prompt", "[hello]"]);
    lab.wait_event(&session, "Stop");
    lab.env.wait_screen("a", "Hello from the double.");
    lab.end(&["--now"]);
}
