//! An agent that cannot take what it is given for our sake is started once more without it, and its prompt arrives once.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, eventually};
use serde_json::Value;

/// Options as claude has them, with a file of ours.
const EXTRAS: &str = r#"
version_args = ["--version"]
verified = { from = "1.0.0", to = "1.0.0" }

[launch]
args = ["--settings", "@folder@/settings.json"]
conversation = ["--session-id", "@conversation@"]
prompt = ["--", "@prompt@"]

[[files]]
name = "settings.json"
content = "{}"
"#;

/// Says its version, and notes every start with its prompt.
const BEGIN: &str = r#"
[ "$1" = --version ] && { echo "picky 2.0.0"; exit; }
for last; do :; done
echo "$last" >> starts
"#;

fn add(env: &TestEnv, script: &str) {
    env.add_profile("picky", EXTRAS, &format!("{BEGIN}{script}"));
}

fn starts(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.work().join("starts")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn spawn(env: &TestEnv, name: &str) -> Value {
    env.dogwatch(&["spawn", "picky", "--json", "--name", name, "--prompt", "do it"])
        .success()
        .json()
}

fn status(env: &TestEnv, name: &str) -> Value {
    env.dogwatch(&["status", name, "--json"]).success().json()["sessions"][0].clone()
}

/// What is remembered of the program.
fn remembered(env: &TestEnv) -> Option<String> {
    let files = fs::read_dir(env.state_dir().join("agents")).ok()?;
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    files
        .flatten()
        .filter_map(|file| read(file.path()))
        .find(|text| text.contains("\"refused\":\""))
}

/// It runs and got its prompt once; `status`, `why` and the journal say why it was restarted.
fn runs_without(env: &TestEnv, why: &str) {
    eventually("it is started again", || starts(env).len() == 2);
    assert_eq!(
        starts(env),
        ["do it", "do it"],
        "each start has the prompt, and the first did not take it"
    );
    env.wait_screen("a", "took do it");
    eventually("its note is there", || {
        status(env, "a")["notes"][0].as_str().is_some_and(|n| n.contains(why))
    });
    let told = env.dogwatch(&["why", "a"]).success().text();
    assert!(told.contains("note: ") && told.contains(why), "{told}");
    let event = || env.dogwatch(&["events", "--kind", "restarted", "--json"]).success().text();
    eventually("an event tells of it", || event().contains(why));
    let listed = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"][0]["conversation"], Value::Null, "it has no id of our choice");
    assert_eq!(listed["sessions"][0]["state"], "running");
}

#[test]
fn an_agent_that_ends_because_of_an_option() {
    let env = TestEnv::new();
    add(
        &env,
        r#"case "$*" in *--session-id*) echo "error: unknown option '--session-id'" >&2; exit 1;; esac
        echo "took $last"; exec sleep 300"#,
    );
    let said = spawn(&env, "a");
    assert_eq!(said["version"], "2.0.0");
    assert!(
        said["caution"].as_str().unwrap().contains("newer than what dogwatch was verified with")
    );
    runs_without(&env, "unknown option '--session-id'");
    // From now on it is started without at once.
    eventually("it is remembered", || remembered(&env).is_some());
    let said = spawn(&env, "b");
    assert!(said["caution"].as_str().unwrap().contains("without hooks"), "{said}");
    env.wait_screen("b", "took do it");
    assert_eq!(starts(&env).len(), 3);
    assert!(status(&env, "b")["notes"][0].as_str().unwrap().contains("--session-id"));
}

#[test]
fn an_agent_that_opens_a_dialog_about_our_file() {
    let env = TestEnv::new();
    add(
        &env,
        r#"case "$1" in --settings) printf ' Settings Error\n %s\n  hooks: Invalid key\n 1. Exit\n' "$2"; exec sleep 300;; esac
        echo "took $last"; exec sleep 300"#,
    );
    let _ = spawn(&env, "a");
    runs_without(&env, "Settings Error");
    eventually("it is remembered", || remembered(&env).is_some());
}

#[test]
fn an_end_for_another_reason_stays_an_end() {
    let env = TestEnv::new();
    add(&env, "echo 'Invalid API key' >&2; exit 1");
    let _ = spawn(&env, "a");
    eventually("it has ended", || status(&env, "a")["state"] == "crashed");
    assert_eq!(starts(&env), ["do it"]);
    assert_eq!(remembered(&env), None);
}

#[test]
fn it_is_tried_once_and_no_more() {
    let env = TestEnv::new();
    add(&env, r#"echo "error: unknown option '--settings'" >&2; exit 1"#);
    let _ = spawn(&env, "a");
    eventually("it has ended", || status(&env, "a")["state"] == "crashed");
    assert_eq!(starts(&env).len(), 2);
    assert_eq!(remembered(&env), None, "without them it does not run either");
}

#[test]
fn an_agent_that_is_ended_stays_so() {
    let env = TestEnv::new();
    // It complains when it is asked to end.
    add(
        &env,
        r#"trap "echo \"error: unknown option '--settings'\"; exit 1" TERM INT HUP; echo "took $last"; while :; do sleep 0.1; done"#,
    );
    let _ = spawn(&env, "a");
    env.wait_screen("a", "took do it");
    let _ = env.dogwatch(&["kill", "a"]).success();
    assert_eq!(starts(&env), ["do it"]);
}

#[test]
fn a_version_that_was_verified_is_not_worth_a_word() {
    let env = TestEnv::new();
    env.add_profile(
        "picky",
        &EXTRAS.replace("to = \"1.0.0\"", "to = \"2.0.0\""),
        &format!("{BEGIN}exec sleep 300"),
    );
    let output = env.dogwatch(&["spawn", "picky", "--name", "a"]).success();
    assert!(output.stderr.is_empty(), "{output}");
    let doctor = env.dogwatch(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let picky = checks.iter().find(|check| check["check"] == "picky").unwrap();
    assert_eq!(picky["remedy"], Value::Null, "{picky}");
    add(&env, "exec sleep 300");
    let output = env.dogwatch(&["spawn", "picky", "--name", "b"]).success();
    assert!(output.to_string().contains("dogwatch agents verify picky"), "{output}");
    let doctor = env.dogwatch(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let picky = checks.iter().find(|check| check["check"] == "picky").unwrap();
    assert!(picky["remedy"].as_str().unwrap().contains("newer"), "{picky}");
}
