use std::fs;

use dogwatch_testkit::TestEnv;

/// Replaces the time in a name.
fn stamped(name: &str) -> String {
    let parts: Vec<&str> = name.split('-').collect();
    let is_digits = |part: &str| part.len() == 6 && part.bytes().all(|b| b.is_ascii_digit());
    parts.iter().map(|p| if is_digits(p) { "T" } else { p }).collect::<Vec<_>>().join("-")
}

#[test]
fn of_story_steps() {
    let env = TestEnv::new();
    let project = env.work().join("My-Awesome.Project 2");
    fs::create_dir_all(project.join(".git")).unwrap();
    let name = |args: &[&str]| {
        let mut command = env.command(&["spawn", "--json"]);
        command.args(args).args(["--", "sleep", "300"]).current_dir(&project);
        let said = env.run(&mut command).success().json();
        stamped(said["name"].as_str().unwrap())
    };
    let dev = name(&["--step", "dev", "--epic", "6", "--story", "6.2"]);
    assert_eq!(dev, "sa-myawesom-T-T-e6-s6-2-dev");
    let review = name(&["--step", "review", "--epic", "1", "--story", "1.2", "--cycle", "3"]);
    assert_eq!(review, "sa-myawesom-T-T-e1-s1-2-review-r3");
    let retro = name(&["--step", "retro", "--story", "1"]);
    assert_eq!(retro, "sa-myawesom-T-T-e-s1-retro");
    assert_eq!(name(&[]), "myawesom-command-T-T");
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    let story = &listed["sessions"][1]["story"];
    insta::assert_snapshot!(story, @r#"{"step":"review","epic":"1","story":"1.2","cycle":"3"}"#);
}

#[test]
fn the_stamp_is_local_time() {
    let env = TestEnv::new();
    let at = |zone: &str| {
        let mut command = env.command(&["spawn", "--step", "dev", "--story", "1", "--", "true"]);
        env.run(command.env("TZ", zone)).success().text()
    };
    let hour = |name: String| name.split('-').nth(3).unwrap()[..2].parse::<i32>().unwrap();
    let (utc, east) = (hour(at("UTC")), hour(at("Etc/GMT-5")));
    // An hour may begin between the two.
    assert!([5, 6].contains(&((east - utc).rem_euclid(24))), "{utc} {east}");
}

#[test]
fn projects_with_the_same_slug_stay_apart() {
    let env = TestEnv::new();
    let projects = ["my-awesome-one", "my-awesome-two"].map(|name| env.work().join(name));
    for (n, project) in projects.iter().enumerate() {
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("deep/er")).unwrap();
        let n = n.to_string();
        let args = ["spawn", "--step", "dev", "--story", &n, "--cwd", project.to_str().unwrap()];
        let mut command = env.command(&args);
        let _ = env.run(command.args(["--", "sleep", "300"])).success();
    }
    let names = |dir: &str, args: &[&str]| -> Vec<String> {
        let mut command = env.command(&["ls", "--json"]);
        let listed = env.run(command.args(args).current_dir(env.work().join(dir))).json();
        let all = listed["sessions"].as_array().unwrap().iter();
        all.map(|s| s["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names("", &[]);
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|name| name.starts_with("sa-myawesom-")), "{all:?}");
    assert_eq!(names("my-awesome-one", &["--project-only"]), all[..1]);
    assert_eq!(names("my-awesome-two/deep/er", &["--project-only"]), all[1..]);
    assert!(names("", &["--project-only"]).is_empty());
    // What PROJECT_ROOT says goes before the folder.
    let mut command = env.command(&["ls", "--json", "--project-only"]);
    let listed = env.run(command.env("PROJECT_ROOT", &projects[1])).json();
    assert_eq!(listed["sessions"][0]["name"], all[1]);
    // The other project's session is not ended either.
    let mut command = env.command(&["kill-all", "--yes", "--project-only", "--json"]);
    let killed = env.run(command.current_dir(&projects[0])).success().json();
    assert_eq!(killed["killed"].as_array().unwrap().len(), 1);
    assert_eq!(names("", &[]), all[1..]);
}

#[test]
fn bad_ones() {
    let env = TestEnv::new();
    let refused = |name: &str| env.dogwatch(&["spawn", "--name", name, "--", "true"]).code(2);
    insta::assert_snapshot!(refused(""), @r"
    ------- stderr -------
    error: a session name must not be empty
    [exit code: 2]
    ");
    insta::assert_snapshot!(refused("a b"), @r#"
    ------- stderr -------
    error: the session name "a b" contains ' '; allowed are ASCII letters, digits, '-', '_' and '.'
    [exit code: 2]
    "#);
    insta::assert_snapshot!(refused(&"x".repeat(161)), @r"
    ------- stderr -------
    error: the session name has 161 characters; at most 160 are allowed
    [exit code: 2]
    ");
    insta::assert_snapshot!(refused("_dogwatch-x"), @r#"
    ------- stderr -------
    error: session names starting with "_dogwatch" are reserved for dogwatch
    [exit code: 2]
    "#);
    for bad in ["a:b", "=a", "%1", "$1", "a\nb", "é", "a/b", "../a", "*", ".hidden"] {
        let _ = refused(bad);
    }
    let _ = env.dogwatch(&["spawn", "--step", "a b", "--story", "1", "--", "true"]).code(2);
    let _ = env.dogwatch(&["spawn", "--step", "dev", "--", "true"]).code(2);
    let _ = env
        .dogwatch(&["spawn", "--name", "x", "--step", "d", "--story", "1", "--", "true"])
        .code(2);
    assert!(!env.socket().exists(), "tmux was never started");
    let longest = "x".repeat(160);
    assert_eq!(env.spawn_script(&longest, "exit 0").name, longest);
}
