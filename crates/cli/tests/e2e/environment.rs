use std::collections::BTreeMap;
use std::fs;

use dogwatch_testkit::{Spawned, TestEnv, eventually};

const WRITE_DOWN: &str = "env -0 > part && mv part got; exec sleep 300";

fn written(env: &TestEnv) -> BTreeMap<String, String> {
    let got = env.work().join("got");
    eventually("the environment was written down", || got.exists());
    let text = fs::read_to_string(got).unwrap();
    let pairs = text.split_terminator('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn spawn_with(env: &TestEnv, args: &[&str], caller: &[(&str, &str)]) -> Spawned {
    let mut command = env.command(&["spawn", "--json"]);
    command.args(args).args(["--", "sh", "-c", WRITE_DOWN]);
    let said = env.run(command.envs(caller.iter().copied())).success().json();
    let text = |key: &str| said[key].as_str().unwrap().to_owned();
    Spawned { id: text("id"), name: text("name"), pane: text("pane"), pid: 0 }
}

#[test]
fn what_a_session_is_given() {
    let env = TestEnv::new();
    let value = "a b\n'\"$HOME` ; #{pid} é=";
    let caller = [
        ("MINE", value),
        ("CLAUDECODE", "1"),
        ("BASH_ENV", "/some/script"),
        ("AI_AGENT", "outer"),
        ("DOGWATCH_SESSION", "outer"),
        ("TMUX", "/outer/socket,1,2"),
        ("TMUX_PANE", "%77"),
        ("TERM", "outer-term"),
    ];
    let session = spawn_with(&env, &["--prompt", "x"], &caller);
    let got = written(&env);
    let prompt = env.session_dir(&session).join("prompt");
    for (key, want) in [
        ("MINE", value),
        ("STORY_AUTOMATOR_CHILD", "true"),
        ("AI_AGENT", "command"),
        ("CLAUDECODE", ""),
        ("BASH_ENV", ""),
        ("DOGWATCH_SESSION", &session.id),
        ("DOGWATCH_PROMPT_FILE", prompt.to_str().unwrap()),
        ("TMUX_PANE", &session.pane),
        ("HOME", env.home().to_str().unwrap()),
        ("PWD", env.work().to_str().unwrap()),
    ] {
        assert_eq!(got.get(key).map(String::as_str), Some(want), "{key}");
    }
    assert!(got["TMUX"].starts_with(env.socket().to_str().unwrap()), "{}", got["TMUX"]);
    assert_ne!(got["TERM"], "outer-term");
}

#[test]
fn env_wins_over_everything_but_identity() {
    let env = TestEnv::new();
    let own = ["AI_AGENT=mine", "CLAUDECODE=x", "MINE=a=b c", "EMPTY=", "HOME=/elsewhere"];
    let mut args = Vec::new();
    for pair in own.iter().chain(&["DOGWATCH_SESSION=forged", "DOGWATCH_FAMILY=forged"]) {
        args.extend(["--env", pair]);
    }
    let session = spawn_with(&env, &args, &[("MINE", "the caller's")]);
    let got = written(&env);
    for pair in own {
        let (key, value) = pair.split_once('=').unwrap();
        assert_eq!(got[key], value, "{key}");
    }
    assert_eq!(got["DOGWATCH_SESSION"], session.id);
    assert_eq!(got["DOGWATCH_FAMILY"], session.id);
    assert!(!got.contains_key("DOGWATCH_PROMPT_FILE"), "there is no prompt");
}

#[test]
fn sessions_of_one_server_do_not_share_an_environment() {
    let env = TestEnv::new();
    spawn_with(&env, &["--name", "one"], &[("ONLY_ONE", "1")]);
    written(&env);
    fs::remove_file(env.work().join("got")).unwrap();
    spawn_with(&env, &["--name", "two"], &[("ONLY_TWO", "2")]);
    let got = written(&env);
    assert!(got.contains_key("ONLY_TWO") && !got.contains_key("ONLY_ONE"), "{got:?}");
}

#[test]
fn bad_pairs_are_refused() {
    let env = TestEnv::new();
    let refused = |pair: &str| env.dogwatch(&["spawn", "--env", pair, "--", "true"]).code(2);
    insta::assert_snapshot!(refused("NOTHING"), @r#"
    ------- stderr -------
    error: --env "NOTHING" is not of the form KEY=VALUE
    [exit code: 2]
    "#);
    insta::assert_snapshot!(refused("=x"), @r#"
    ------- stderr -------
    error: "" is not a valid name of an environment variable
    [exit code: 2]
    "#);
}
