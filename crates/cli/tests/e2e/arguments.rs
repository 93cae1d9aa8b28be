//! Arguments of a command arrive as they were given: there is no shell in between.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use dogwatch_testkit::{TestEnv, eventually};

const WRITE_DOWN: &str =
    r#"for a; do printf '%s\0' "$a"; done > part && mv part got; exec sleep 300"#;

#[test]
fn nasty_arguments_arrive() {
    let env = TestEnv::new();
    let program = env.write_program("take", WRITE_DOWN);
    let mut words: Vec<OsString> = [
        "",
        " ",
        "--",
        "-",
        "--json",
        "--help",
        "-n",
        ";",
        "\\;",
        "a;",
        "a\\",
        "'",
        "\"",
        "$(touch pwned)",
        "`touch pwned`",
        "#{pid}",
        "#(touch pwned)",
        "%1",
        "=x:",
        "a\nb\n",
        "\t",
        "\u{1b}[31m",
        "\u{7}",
        "~",
        "*",
        "{a,b}",
        "!!",
        "&&",
        "| cat",
        "> pwned",
        "é🐕",
        "@prompt@",
        "@folder@",
        "A=b",
        "\r\n",
        "\u{1}",
    ]
    .map(OsString::from)
    .into();
    words.push((1..=255_u8).map(char::from).collect::<String>().into());
    words.push(OsString::from_vec((1..=255).collect()));
    words.push("y".repeat(100_000).into());
    let mut command = env.command(&["spawn", "--name", "x", "--"]);
    let _ = env.run(command.arg(program).args(&words)).success();
    let got = env.work().join("got");
    eventually("the arguments were written down", || got.exists());
    let bytes = fs::read(got).unwrap();
    let arrived: Vec<OsString> = bytes
        .strip_suffix(b"\0")
        .unwrap()
        .split(|b| *b == 0)
        .map(|part| OsString::from_vec(part.to_vec()))
        .collect();
    assert_eq!(arrived, words);
    assert!(!env.work().join("pwned").exists());
    // Words that are no text do not keep a session from being listed.
    assert_eq!(env.seen("x")["state"], "running");
}

#[test]
fn further_arguments_for_an_agent() {
    let env = TestEnv::new();
    env.add_profile("taker", "[launch]\nargs = [\"--always\"]\n", WRITE_DOWN);
    let _ = env.dogwatch(&["spawn", "taker", "--", "--plan", "a b"]).success();
    let got = env.work().join("got");
    eventually("the arguments were written down", || got.exists());
    assert_eq!(fs::read(got).unwrap(), b"--always\0--plan\0a b\0");
}

#[test]
fn a_relative_program_is_found_from_where_the_caller_stands() {
    let env = TestEnv::new();
    env.write_program("here", "echo it is me; exec sleep 300");
    let mut command = env.command(&["spawn", "--name", "x", "--cwd", "/", "--", "../bin/here"]);
    let _ = env.run(&mut command).success();
    env.wait_screen("x", "it is me");
}

#[test]
fn schemas_are_printed_by_name() {
    let env = TestEnv::new();
    let names = env.dogwatch(&["schema"]).success().text();
    assert!(names.lines().count() > 100 && names.lines().any(|name| name == "status"), "{names}");
    let listed = env.dogwatch(&["schema", "--json"]).success().json();
    assert_eq!(listed["schemas"].as_array().unwrap().len(), names.lines().count());
    let schema = env.dogwatch(&["schema", "doctor"]).success().json();
    assert!(schema["properties"]["checks"].is_object(), "{schema}");
    let unknown = env.dogwatch(&["schema", "docter"]).code(2).stderr;
    assert!(unknown.contains("did you mean \"doctor\"?"), "{unknown}");
}
