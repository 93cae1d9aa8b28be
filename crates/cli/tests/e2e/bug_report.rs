use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dogwatch_testkit::{Spawned, TestEnv, process};
use rustix::process::Signal;
use serde_json::Value;

/// A key that nobody who searches for keys finds here.
fn key() -> String {
    format!("sk-ant-api03-{}", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0".repeat(3))
}

const TOKEN: &str = "correct-horse-battery-staple";
const EDGE: &str =
    "────────────────────────────────────────────────────────────────────────────────";

/// Starts an actor that looks like an idle claude, in a pane of 80 columns, and has talked of secrets.
fn idle_claude(env: &TestEnv, last_line: &str) -> Spawned {
    let home = env.home().display();
    let screen = format!(
        "● You are ada@lovelace.example in {home}/project.\n\n● The token is {TOKEN}, the key {}\n  and password=hunter22.\n\n\
         ✻ Worked for 3s\n\n{EDGE}\n❯ \n{EDGE}\n  {last_line}\n",
        key()
    );
    let screen = env.write("screen.ansi", screen);
    let scenario = format!(
        "[[step]]\ntitle = \"✳ {home}\"\n[[step]]\nawait_file = {{ path = \"go\", within = \"60s\" }}\n\
         [[step]]\nscreen = {{ file = \"{}\", cursor = [2, 9] }}\n[[step]]\nawait_file = {{ path = \"end\", within = \"60s\" }}\n",
        screen.display()
    );
    let scenario = env.write("claude.toml", scenario);
    let dogwatch = dogwatch_testkit::dogwatch();
    let version = "[ \"$1\" = --version ] && exec echo '9.8.7 (Claude Code)'";
    let play = format!("exec '{dogwatch}' lab actor '{}'", scenario.display());
    env.write_program("claude", &format!("{version}\n{play}"));
    let programs = env.root().join("bin");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut spawn = env.command(&["spawn", "--json", "--name", "x", "claude", "--prompt", "go"]);
    spawn.env("PATH", path).env("LAB_TOKEN", TOKEN);
    let said = env.run(&mut spawn).success().json();
    let session = Spawned {
        id: said["id"].as_str().unwrap().to_owned(),
        name: "x".to_owned(),
        pane: said["pane"].as_str().unwrap().to_owned(),
        pid: i32::try_from(said["pid"].as_i64().unwrap()).unwrap(),
    };
    env.tmux(&["resize-window", "-t", &session.pane, "-x", "80", "-y", "24"]);
    env.write("go", "");
    env.wait_screen("x", "Worked for 3s");
    session
}

/// Tells dogwatch something, as the agent's hook would.
fn hook(env: &TestEnv, session: &Spawned, payload: &Value) {
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap().path())).collect();
    files.sort();
    files
}

fn meta(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("meta.json")).unwrap()).unwrap()
}

/// Nothing of what is private is in any file, and what should be JSON is.
#[track_caller]
fn is_clean(env: &TestEnv, folder: &Path) {
    for (name, text) in files(folder) {
        let home = env.home().display().to_string();
        for secret in [TOKEN, "horse", "Cd2Ef3", "Qr9St0", "hunter22", "lovelace", &home] {
            assert!(!text.contains(secret), "{secret} in {name}:\n{text}");
        }
        match name.rsplit('.').next() {
            Some("json") => drop(serde_json::from_str::<Value>(&text).unwrap()),
            Some("jsonl") => {
                text.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
            }
            _ => {}
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_session_without_its_secrets() {
    let env = TestEnv::new();
    let session = idle_claude(&env, "? for shortcuts");
    let talk = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"use {}\"}}}}\n", key());
    let talk = env.write("talk.jsonl", talk);
    hook(
        &env,
        &session,
        &serde_json::json!({
            "hook_event_name": "Stop", "transcript_path": talk, "cwd": env.home(), "api_key": "4f2a9b",
            "last_assistant_message": format!("it is {TOKEN}"),
        }),
    );
    let said = env.dogwatch(&["bug-report", "x", "--json"]).success();
    insta::assert_snapshot!(said.json_shape(), @r#"
    {
      "name": "x",
      "id": "[id]",
      "state": "idle",
      "folder": "$STATE/records/x-$STAMP",
      "files": [
        "screen.txt",
        "screen.ansi",
        "verdict.json",
        "signals.jsonl",
        "transcript.jsonl"
      ],
      "screen_alone": {
        "before": "idle",
        "after": "idle",
        "same": true
      }
    }
    "#);
    let folder = PathBuf::from(said.json()["folder"].as_str().unwrap());
    assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o700, 0o700));
    assert!(files(&folder).iter().all(|(name, _)| mode(&folder.join(name)) == 0o600));
    is_clean(&env, &folder);

    let (before, after) = (env.screen("x"), fs::read_to_string(folder.join("screen.txt")).unwrap());
    let widths = |text: &str| -> Vec<usize> { text.lines().map(|l| l.chars().count()).collect() };
    assert_eq!(widths(&before), widths(after.trim_end()), "{after}");
    assert!(after.contains("● You are xxx@xxxxxxxx.xxxxxxx in ~~~"), "{after}");
    assert!(after.contains("\n❯\n"), "{after}");

    let meta = meta(&folder);
    assert_eq!((&meta["width"], &meta["height"]), (&80.into(), &24.into()));
    assert_eq!((&meta["agent"], &meta["state"]), (&"claude".into(), &"idle".into()));
    assert_eq!(meta["version"], "9.8.7");
    assert_eq!(meta["cursor"], serde_json::json!([2, 9]));
    assert_eq!(meta["alternate_screen"], false);
    let verdict: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("verdict.json")).unwrap()).unwrap();
    assert_eq!(
        (&verdict["state"], verdict["reasons"].as_array().unwrap().len()),
        (&"idle".into(), 7)
    );

    let alone = env.dogwatch(&["debug", "screen", "--report", folder.to_str().unwrap(), "--json"]);
    let alone = alone.success().json();
    let screen = folder.join("screen.ansi");
    let by_hand = env.dogwatch(&[
        "debug",
        "screen",
        "--agent",
        "claude",
        "--screen",
        screen.to_str().unwrap(),
        "--ansi",
        "--width",
        "80",
        "--height",
        "24",
        "--title",
        meta["pane_title"].as_str().unwrap(),
        "--json",
    ]);
    assert_eq!((&alone["state"], &alone), (&"idle".into(), &by_hand.success().json()));
    env.write("end", "");
    env.wait_state("x", "exited");
}

#[test]
fn a_session_that_is_over() {
    let env = TestEnv::new();
    let _session = idle_claude(&env, "? for shortcuts");
    env.write("end", "");
    env.wait_state("x", "exited");
    let _ = env.dogwatch(&["kill", "x"]).success();
    let mut record = env.command(&["bug-report", "x", "--out", "report"]);
    // Nobody can ask it for its environment any more; that of the caller knows the token too.
    let said = env.run(record.env("MY_TOKEN", TOKEN)).success();
    insta::assert_snapshot!(said, @r"
    $WORK/report
    ------- stderr -------
    masking did not change the status read from the screen (idle)
    note: the folder contains what the agent wrote and read; review it before you send it
    ");
    let folder = env.work().join("report");
    is_clean(&env, &folder);
    let meta = meta(&folder);
    assert_eq!((&meta["state"], &meta["screen_from"]), (&"exited".into(), &"kept".into()));
    assert_eq!(meta["session"]["ended"]["exit"]["code"], 0);
    let _ = env.dogwatch(&["debug", "screen", "--report", "report"]).success();
}

#[test]
fn masking_that_changes_what_the_screen_says_is_told() {
    let env = TestEnv::new();
    let _session = idle_claude(&env, "? for shortcuts");
    let mut record = env.command(&["bug-report", "x", "--out", "report"]);
    // A secret that looks like the frame of the input box.
    let said = env.run(record.env("MY_PASSWORD", EDGE)).success();
    assert!(
        said.stderr
            .contains("warning: masking changed the status read from the screen from idle to "),
        "{said}"
    );
    let alone = &meta(&env.work().join("report"))["screen_alone"];
    assert_eq!((&alone["before"], &alone["same"]), (&"idle".into(), &false.into()));
    env.write("end", "");
    env.wait_state("x", "exited");
}

#[test]
fn a_recording_never_takes_the_place_of_another() {
    let env = TestEnv::new();
    env.spawn_script("x", "echo hello; exec sleep 300");
    env.wait_screen("x", "hello");
    fs::create_dir(env.work().join("here")).unwrap();
    for folder in ["here-2", "here-3"] {
        let said = env.dogwatch(&["bug-report", "x", "--out", "here", "--json"]).success().json();
        assert_eq!(said["folder"], env.work().join(folder).to_str().unwrap());
        assert_eq!(said["screen_alone"], Value::Null, "nothing is known of such screens");
        let screen = fs::read_to_string(env.work().join(folder).join("screen.txt")).unwrap();
        assert_eq!(screen.trim_end(), "hello");
    }
    assert_eq!(fs::read_dir(env.work().join("here")).unwrap().count(), 0);
    let none = env
        .work()
        .read_dir()
        .unwrap()
        .all(|e| !e.unwrap().file_name().to_string_lossy().starts_with(".new"));
    assert!(none, "nothing half-made is left");
    let _ = env.dogwatch(&["debug", "screen", "--report", "here-2"]).code(2);
    let _ = env.dogwatch(&["debug", "screen", "--report", "here"]).code(1);
}

#[test]
fn the_former_names_work_as_before() {
    let env = TestEnv::new();
    let _session = idle_claude(&env, "? for shortcuts");
    let said = env.dogwatch(&["record", "x", "--out", "report", "--json"]).success().json();
    assert_eq!(said["folder"], env.work().join("report").to_str().unwrap());
    let former = env.dogwatch(&["judge", "--record", "report", "--json"]).success().json();
    let now = env.dogwatch(&["debug", "screen", "--report", "report", "--json"]).success().json();
    assert_eq!(former, now);
    env.write("end", "");
    env.wait_state("x", "exited");
}

#[test]
fn what_cannot_be_recorded() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["bug-report", "nosuch"]).code(3);
    env.spawn_script("x", "exec sleep 300");
    for out in ["no/such/folder", "/", ".."] {
        let _ = env.dogwatch(&["bug-report", "x", "--out", out]).code(2);
    }
    insta::assert_snapshot!(env.dogwatch(&["bug-report", "x", "--out", "no/such/folder"]), @r"
    ------- stderr -------
    error: the directory no/such does not exist
    [exit code: 2]
    ");
    let _ = env.dogwatch(&["debug", "screen", "--agent", "claude"]).code(2);
    let _ = env.dogwatch(&["debug", "screen", "--report", "x", "--agent", "claude"]).code(2);
}

/// Its terminal was taken away: there is no screen, but all the rest.
#[test]
fn a_session_that_left_no_screen() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    process::signal(env.server_pid(), Signal::KILL);
    env.wait_state("x", "lost");
    let said = env.dogwatch(&["bug-report", "x", "--out", "r", "--json"]).success().json();
    assert_eq!(said["files"], serde_json::json!(["verdict.json", "signals.jsonl"]));
    assert_eq!(meta(&env.work().join("r"))["file"], Value::Null);
}

#[test]
fn an_agent_that_others_started() {
    let env = TestEnv::new();
    env.write(
        "screen",
        format!("✻ Worked for 3s\n\n{EDGE}\n❯ \n{EDGE}\n  ? for shortcuts {TOKEN}\n"),
    );
    let screen = env.work().join("screen");
    let script =
        format!("[ \"$1\" = --version ] && exec echo 9.8.7\ncat '{}'\nread line", screen.display());
    let claude = env.write_program("claude", &script);
    let claude = claude.display().to_string();
    let start = ["new-session", "-d", "-s", "my/own", "-x", "80", "-y", "24", "-e"];
    env.tmux(&[&start[..], &[&format!("MY_TOKEN={TOKEN}"), &claude]].concat());
    let mut said = Value::Null;
    dogwatch_testkit::eventually("it is seen idle", || {
        let record = env.dogwatch(&["bug-report", "my/own", "--json"]);
        said = if record.code == Some(0) { record.json() } else { Value::Null };
        said["state"] == "idle"
    });
    let folder = PathBuf::from(said["folder"].as_str().unwrap());
    assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("my-own-"), "{said}");
    is_clean(&env, &folder);
    assert_eq!(meta(&folder)["version"], "9.8.7");
    assert_eq!(
        said["files"],
        serde_json::json!(["screen.txt", "screen.ansi", "verdict.json", "signals.jsonl"])
    );
    env.tmux(&["kill-session", "-t", "=my/own:"]);
}
