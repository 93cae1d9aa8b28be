//! Tools: doctor, agents, judge, record.

use dogwatch_testkit::{CommandOutput, TestEnv};

use crate::registry::Registry as _;

fn alone(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let mut command = env.roll_command(args);
    // Without the agents of this machine.
    let path = format!("{}:/usr/bin:/bin", env.root().join("bin").display());
    env.run(command.env("PATH", path))
}

#[test]
fn doctor_and_agents() {
    let env = TestEnv::new();
    env.write_program("claude", "echo 2.1.325");
    env.add_profile("fake", "install = 'make it'\n", "echo no version");
    std::fs::write(env.home().join(".config/dogwatch/agents/bad.toml"), "name = 1").unwrap();
    shape!("agents", alone(&env, &["agents", "--json"]).code(7));
    let output = alone(&env, &["doctor", "--json"]);
    let first = output.json();
    // How many there are depends on the machine's tmux.
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ok", "checks"]);
    for check in first["checks"].as_array().unwrap() {
        let keys: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["check", "health", "found", "remedy"]);
    }
}

const DIALOG: &str =
    include_str!("../../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

#[test]
fn one_screen_alone() {
    let env = TestEnv::new();
    env.write("dialog", DIALOG);
    env.write("empty", "");
    for name in ["dialog", "empty"] {
        let words = ["judge", "--agent", "codex", "--screen", name, "--json"];
        shape!(format!("judge_{name}"), env.dogwatch(&words).success());
    }
}

#[test]
fn a_recording() {
    let env = TestEnv::new();
    env.spawn_script("live", "echo hello; exec sleep 300");
    env.wait_screen("live", "hello");
    shape!("record", env.dogwatch(&["record", "live", "--out", "kept", "--json"]).success());
    let output = env.dogwatch(&["record", "live", "--json"]).success();
    let folder = output.json()["folder"].as_str().unwrap().to_owned();
    for name in ["meta.json", "verdict.json"] {
        let text = std::fs::read_to_string(std::path::Path::new(&folder).join(name)).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        let shape = super::shape::of_value(value, &output.known);
        stored!(format!("record_{name}"), shape);
    }
}
