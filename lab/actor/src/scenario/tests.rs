use std::fs;

use super::*;

fn message(text: &str) -> String {
    match Scenario::parse(text, "") {
        Ok(scenario) => panic!("accepted: {scenario:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let cases = [
        ("", "scenario:1:1: expected at least one [[step]]"),
        ("[[step]]\nprint = \"a\n", "scenario:2:"),
        ("[[step]]\nprnt = \"a\"", "scenario:2:1: unknown variant `prnt`, expected one of `print`"),
        ("[[step]]\nprint = 3", "scenario:2:9: invalid type: integer `3`, expected a string"),
        ("[[step]]\nexit = 300", "scenario:2:8: invalid value: integer `300`, expected u8"),
        ("colour = 1\n[[step]]\nexit = 0", "scenario:1:1: unknown field `colour`, expected one of"),
        (
            "[[step]]\nstall = \"2 hours\"",
            "scenario:2:9: invalid value: string \"2 hours\", expected \"forever\" or a duration",
        ),
        (
            "[[step]]\nstream = { text = \"a\", count = 2, every = \"x\" }",
            "scenario:2:43: invalid value: string \"x\", expected a duration",
        ),
        ("[[step]]\nstream = { text = \"a\" }", "scenario:2:10: missing field `count`"),
        (
            "[[step]]\nclock = \"on\"",
            "scenario:2:9: invalid value: string \"on\", expected \"off\" or",
        ),
        ("[[step]]\nclock = { text = \"a\", rwo = 1 }", "scenario:2:23: unknown field `rwo`"),
        (
            "[[step]]\ncrash = \"HUP\"",
            "scenario:2:9: unknown variant `HUP`, expected one of `KILL`",
        ),
        ("[[step]]\ngoto = \"x\"", "scenario:2:8: no label \"x\"; expected a label, but"),
        (
            "[[step]]\nlabel = \"a\"\n[[step]]\n[step.input]\nwant = \"key\"\nelse = \"b\"",
            "scenario:6:8: no label \"b\"; expected one of \"a\"",
        ),
        (
            "[[step]]\nlabel = \"ü\"\n[[step]]\nlabel = \"ü\"",
            "scenario:4:9: label \"ü\" is set twice",
        ),
        (
            "[[step]]\nexit = 0\n[[step]]\nprint = \"a\"\nexit = 0",
            "scenario:3:1: expected one action in this step, but it has several",
        ),
        ("[[step]]\nexit = 0\n[[step]]\n", "scenario:3:1: "),
    ];
    for (text, expected) in cases {
        let message = message(text);
        assert!(message.starts_with(expected), "{text:?}\n  gave {message}");
    }
}

#[test]
fn a_file_is_named_in_its_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    let cases = [
        ("[[step]]\nexit = \"x\"", "s.toml:2:8: invalid type"),
        ("[[step]]\nscreen = { file = \"no.txt\" }", "s.toml:2:19: expected a screen file at "),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).expect("written");
        let error = Scenario::load(&path).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let missing = Scenario::load(&folder.path().join("none.toml")).expect_err("refused");
    assert!(missing.to_string().contains("none.toml: cannot read the scenario"));
}

#[test]
fn steps_remember_their_line() {
    let scenario = Scenario::parse("\n[[step]]\nexit = 0\n\n[[step]]\nexit = 1\n", "").expect("ok");
    assert_eq!(scenario.lines, [2, 5]);
}

#[test]
fn the_built_in_scenarios_are_valid() {
    for (name, text) in crate::demo::ALL {
        if let Err(error) = Scenario::parse(text, "") {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn the_examples_in_the_readme_are_valid() {
    let readme = include_str!("../../README.md");
    let mut seen = String::new();
    for example in readme.split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap_or_default();
        if let Err(error) = Scenario::parse(example, "") {
            panic!("{error} in\n{example}");
        }
        seen.push_str(example);
    }
    let error = message("[[step]]\nnone = 1");
    let (_, actions) = error.split_once("expected one of ").expect("a list of actions");
    for action in actions.split(", ").map(|action| action.trim_matches('`')) {
        let shown =
            ["\n", "[step."].iter().any(|before| seen.contains(&format!("{before}{action}")));
        assert!(shown, "no example of {action}");
    }
}
