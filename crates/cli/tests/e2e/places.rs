//! Folders with any name can be worked in.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, eventually};

const WRITE_DOWN: &str = r#"pwd -P > "$OUT.part"; printf %s "$PWD" > "$OUT.part"; mv "$OUT.part" "$OUT"; exec sleep 300"#;

/// Spawns in a folder and returns where the program found itself.
fn place(env: &TestEnv, folder: &PathBuf, name: &str) -> PathBuf {
    fs::create_dir(folder).unwrap();
    let out = env.root().join(format!("out-{name}"));
    let mut command = env.command(&["spawn", "--json", "--name", name, "--cwd"]);
    command.arg(folder).args(["--", "sh", "-c", WRITE_DOWN]).env("OUT", &out);
    let _ = env.run(&mut command).success();
    eventually("the folder was written down", || out.exists());
    PathBuf::from(OsString::from_vec(fs::read(out).unwrap()))
}

#[test]
fn with_any_name() {
    let env = TestEnv::new();
    let names = [
        "with space",
        "it's",
        "do\"uble",
        "#{pid}",
        "##",
        "#(touch pwned)",
        "%d %H",
        "$HOME",
        "$(touch pwned)",
        "`x`",
        "back\\slash",
        "semi;",
        "-dash",
        "ünï 🐕",
        "new\nline",
        "~",
        "a:b",
        "*",
        "=x",
        "%1",
    ];
    for (n, name) in names.iter().enumerate() {
        let folder = env.work().join(name);
        assert_eq!(place(&env, &folder, &format!("s{n}")), folder, "{name:?}");
        let session = env.seen(&format!("s{n}"));
        assert_eq!(session["cwd"], folder.to_str().unwrap());
        let pane = session["pane"].as_str().unwrap();
        let shown =
            env.tmux(&["display-message", "-p", "-t", pane, "#{pane_start_path}#{session_path}"]);
        assert!(shown.contains("work"), "{shown}");
    }
    assert!(!env.work().join("pwned").exists() && !env.root().join("pwned").exists());
}

#[test]
fn with_a_name_that_is_not_text() {
    let env = TestEnv::new();
    let folder = env.work().join(OsString::from_vec(b"latin\xe9".to_vec()));
    assert_eq!(place(&env, &folder, "x"), folder);
    fs::create_dir(folder.join(".git")).unwrap();
    let _ =
        env.run(env.command(&["spawn", "--name", "y", "--", "sleep", "300"]).current_dir(&folder));
    let listed = env.run(env.command(&["ls", "--json", "--project-only"]).current_dir(&folder));
    let listed = listed.success().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["sessions"][0]["name"], "y");
}

#[test]
fn a_window_opened_beside_starts_in_the_same_folder() {
    let env = TestEnv::new();
    let folder = env.work().join("it's #{pid} here");
    place(&env, &folder, "x");
    let path = env.tmux(&["display-message", "-p", "-t", "=x:", "#{session_path}"]);
    assert_eq!(path, folder.to_str().unwrap());
}

#[test]
fn folders_that_cannot_be_worked_in() {
    let env = TestEnv::new();
    let refused = |cwd: &str| env.dogwatch(&["spawn", "--cwd", cwd, "--", "true"]).code(2);
    insta::assert_snapshot!(refused("no/such"), @r"
    ------- stderr -------
    error: the directory $WORK/no/such does not exist
    [exit code: 2]
    ");
    env.write("file", "");
    insta::assert_snapshot!(refused("file"), @r"
    ------- stderr -------
    error: $WORK/file is not a directory
    [exit code: 2]
    ");
}

#[test]
fn relative_folders_and_links_are_resolved() {
    let env = TestEnv::new();
    fs::create_dir(env.work().join("real")).unwrap();
    std::os::unix::fs::symlink("real", env.work().join("link")).unwrap();
    let _ =
        env.dogwatch(&["spawn", "--name", "x", "--cwd", "./link/../link", "--", "sleep", "300"]);
    assert_eq!(env.seen("x")["cwd"], env.work().join("real").to_str().unwrap());
}
