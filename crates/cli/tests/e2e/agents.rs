use std::fs;

use dogwatch_testkit::TestEnv;

#[test]
fn known_ones_and_what_was_found() {
    let env = TestEnv::new();
    env.add_profile("mine", "version_args = [\"--version\"]\n", "echo mine 1.2.3");
    let listed = env.dogwatch(&["agents", "--json"]).success().json();
    let agents = listed["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|a| a["name"].as_str().unwrap()).collect();
    for name in [
        "agy", "aider", "claude", "codex", "copilot", "cursor", "gemini", "mine", "opencode",
        "qwen",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let mine = agents.iter().find(|a| a["name"] == "mine").unwrap();
    assert_eq!((mine["found"].as_bool(), mine["version"].as_str()), (Some(true), Some("1.2.3")));
    let table = env.dogwatch(&["agents"]).success().text();
    assert!(table.starts_with("AGENT") && table.contains("Test agent"), "{table}");
}

#[test]
fn bad_profiles() {
    let env = TestEnv::new();
    env.add_profile("broken", "titel = \"typo\"\n", "exit 0");
    let folder = env.home().join(".config/dogwatch/agents");
    fs::write(folder.join("other.toml"), "name = \"another\"\ntitle = \"x\"\n").unwrap();
    let output = env.dogwatch(&["agents", "--json"]).code(7).json();
    let error = |name: &str| {
        let all = output["agents"].as_array().unwrap();
        let found = all.iter().find(|a| a["name"] == name).unwrap();
        found["error"].as_str().unwrap().to_owned()
    };
    assert!(error("broken").contains("titel"), "{}", error("broken"));
    assert!(error("other").contains("it must match the file name"), "{}", error("other"));
    let spawned = env.dogwatch(&["spawn", "--json", "broken"]).code(7);
    assert_eq!(spawned.json()["error"]["code"], "bad_profile");
    // The others work all the same.
    env.add_profile("fine", "", "exec sleep 300");
    env.spawn(&["--name", "x", "fine"]);
    assert_eq!(env.seen("x")["agent"], "fine");
}

#[test]
fn a_profile_of_ones_own_goes_before_the_built_in() {
    let env = TestEnv::new();
    env.add_profile(
        "claude",
        "[launch]\nargs = [\"--mine\"]\n",
        "echo \"args: $*\"; exec sleep 300",
    );
    env.spawn(&["--name", "x", "claude"]);
    env.wait_screen("x", "args: --mine");
}

#[test]
fn settings_are_put_in_without_touching_the_users_own() {
    let env = TestEnv::new();
    let user = env.home().join(".claude/settings.json");
    fs::create_dir(user.parent().unwrap()).unwrap();
    fs::write(&user, "{\"mine\": true}").unwrap();
    env.write_program(
        "claude",
        "[ \"$1\" = --version ] && { echo 2.1.325; exit; }\n\
         printf '%s\\n' \"$@\" > part; mv part args; exec sleep 300",
    );
    let path = format!("{}:{}", env.root().join("bin").display(), std::env::var("PATH").unwrap());
    let mut command =
        env.command(&["spawn", "--json", "--name", "x", "--unattended", "--model", "opus"]);
    let said = env.run(command.args(["claude", "-p", "doctor"]).env("PATH", path)).success().json();
    let args = env.work().join("args");
    dogwatch_testkit::eventually("the arguments were written down", || args.exists());
    let text = fs::read_to_string(args).unwrap();
    let words: Vec<&str> = text.lines().collect();
    let after = |flag: &str| words[words.iter().position(|w| *w == flag).unwrap() + 1];
    assert_eq!(after("--model"), "opus");
    assert_eq!(after("--session-id"), said["conversation"].as_str().unwrap());
    assert!(words.contains(&"--dangerously-skip-permissions"));
    assert_eq!(after("--"), "doctor");
    let settings: serde_json::Value =
        serde_json::from_slice(&fs::read(after("--settings")).unwrap()).unwrap();
    let hook = &settings["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(hook["command"], format!("'{}' hook claude", dogwatch_testkit::dogwatch()));
    assert_eq!(fs::read_to_string(&user).unwrap(), "{\"mine\": true}");
    // The status line is a line for a shell, and it works as one.
    let line = settings["statusLine"]["command"].as_str().unwrap();
    let output = env.run_with_input(env.foreign("sh").args(["-c", line]), b"{}").success();
    assert!(!output.stdout.is_empty());
}
