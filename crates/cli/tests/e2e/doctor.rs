use std::fs;

use dogwatch_testkit::TestEnv;

fn path_with(env: &TestEnv) -> String {
    format!("{}:{}", env.root().join("bin").display(), std::env::var("PATH").unwrap())
}

/// A `tmux` that says it is 3.1 and knows no newer flags.
fn add_old_tmux(env: &TestEnv) {
    env.write_program(
        "tmux",
        r#"[ "$1" = -V ] && { echo 'tmux 3.1c'; exit 0; }
echo 'usage: new-session [-AdDEPX] [-c start-directory]' >&2; exit 1"#,
    );
}

#[test]
fn all_is_well() {
    let env = TestEnv::new();
    let output = env.dogwatch(&["doctor", "--json"]).success().json();
    assert_eq!(output["ok"], true);
    let checks = output["checks"].as_array().unwrap();
    let health = |subject: &str| {
        let check = checks.iter().find(|c| c["check"] == subject).unwrap();
        check["health"].as_str().unwrap().to_owned()
    };
    for subject in ["tmux", "tmux server", "state directory", "store", "supervisor"] {
        assert_eq!(health(subject), "ok", "{subject}");
    }
    let text = env.dogwatch(&["doctor"]).success().text();
    assert!(text.starts_with("CHECK"), "{text}");
    // Looking changes nothing but the store itself.
    assert!(!env.socket().exists());
}

/// What dogwatch does about the faults of a version is said, and they are no reason to fail.
#[test]
fn faults_of_a_version_are_told() {
    for (version, expected) in [("3.2a", 5), ("3.3a", 5), ("3.6b", 1), ("3.7c", 0)] {
        let env = TestEnv::new();
        let script = format!(
            r#"[ "$1" = -V ] && {{ echo 'tmux {version}'; exit 0; }}
echo 'no server running on x' >&2; exit 1"#
        );
        env.write_program("tmux", &script);
        let mut command = env.command(&["doctor", "--json"]);
        let said = env.run(command.env("PATH", path_with(&env))).success().json();
        let checks = said["checks"].as_array().unwrap();
        let faults: Vec<_> = checks.iter().filter(|c| c["check"] == "tmux fault").collect();
        assert_eq!(faults.len(), expected, "{version}: {said:#}");
        for fault in faults {
            assert_eq!(fault["health"], "warning");
            assert!(fault["found"].as_str().unwrap().starts_with(version));
            assert!(fault["remedy"].as_str().unwrap().contains("dogwatch"));
        }
    }
}

#[test]
fn no_tmux() {
    let env = TestEnv::new();
    let empty = env.root().join("empty");
    fs::create_dir(&empty).unwrap();
    let without = |args: &[&str]| env.run(env.command(args).env("PATH", &empty));
    let doctor = without(&["doctor"]).code(1).text();
    assert!(doctor.contains("tmux was not found in PATH"), "{doctor}");
    assert!(doctor.contains("apt install tmux"), "{doctor}");
    insta::assert_snapshot!(without(&["ls"]), @r"
    ------- stderr -------
    error: tmux was not found in PATH
    hint: install tmux: `apt install tmux` (Debian, Ubuntu), `dnf install tmux` (Fedora) or `brew install tmux` (macOS)
    [exit code: 5]
    ");
    let output = without(&["spawn", "--json", "--", "/bin/true"]).code(5);
    assert_eq!(output.json()["error"]["code"], "tmux_missing");
    let _ = without(&["exists", "x"]).code(5);
    let _ = without(&["kill-all", "--yes"]).code(5);
    let _ = without(&["watch"]).code(5);
    let left = fs::read_dir(env.state_dir().join("sessions")).into_iter().flatten().count();
    assert_eq!(left, 0, "a session was left behind");
}

#[test]
fn a_tmux_that_is_too_old() {
    let env = TestEnv::new();
    add_old_tmux(&env);
    let with_old = |args: &[&str]| env.run(env.command(args).env("PATH", path_with(&env)));
    let doctor = with_old(&["doctor"]).code(1).text();
    assert!(doctor.contains("tmux 3.1c is too old; dogwatch needs 3.2 or newer"), "{doctor}");
    assert!(doctor.contains("install tmux 3.2 or newer"), "{doctor}");
    let output = with_old(&["spawn", "--json", "--", "true"]).code(5);
    assert_eq!(output.json()["error"]["code"], "tmux_too_old");
}

#[test]
fn agents_and_their_versions() {
    let env = TestEnv::new();
    env.write_program("claude", "echo '9.8.7 (Claude Code)'");
    let bin = env.root().join("bin");
    // Only these: what else is installed here must not matter.
    for tool in ["tmux", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(tool))
            .find(|path| path.exists())
            .unwrap();
        std::os::unix::fs::symlink(found, bin.join(tool)).unwrap();
    }
    let output = env.run(env.command(&["doctor", "--json"]).env("PATH", &bin)).success().json();
    let checks = output["checks"].as_array().unwrap();
    let agent = |name: &str| checks.iter().find(|c| c["check"] == name).unwrap().clone();
    assert_eq!(agent("claude")["health"], "ok");
    assert_eq!(agent("claude")["found"], format!("9.8.7, {}", bin.join("claude").display()));
    assert_eq!(agent("codex")["health"], "missing");
    assert_eq!(agent("codex")["remedy"], "npm install -g @openai/codex");
}

#[test]
fn a_bad_profile() {
    let env = TestEnv::new();
    env.add_profile("broken", "titel = \"typo\"\n", "exit 0");
    let doctor = env.dogwatch(&["doctor"]).code(1).text();
    assert!(doctor.contains("titel"), "{doctor}");
    assert!(doctor.contains("broken.toml"), "{doctor}");
}

#[test]
fn an_agent_that_hangs_when_asked_for_its_version() {
    let env = TestEnv::new();
    env.add_profile("slow", "version_args = [\"--version\"]\n", "exec sleep 300");
    let begun = std::time::Instant::now();
    let output = env.dogwatch(&["doctor", "--json"]).success().json();
    assert!(begun.elapsed().as_secs() < 20);
    let checks = output["checks"].as_array().unwrap();
    let slow = checks.iter().find(|c| c["check"] == "slow").unwrap();
    assert!(slow["found"].as_str().unwrap().starts_with("version unknown"), "{slow}");
}
