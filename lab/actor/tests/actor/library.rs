//! The library's own door: a play within this process, on pipes.

use std::fs::{self, File};
use std::io::Write;

use dogwatch_actor::{Ending, Scenario, Stage, Trouble, play};

fn play_with(toml: &str, input: &str) -> (Ending, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("output");
    let scenario = Scenario::parse(toml, folder.path()).expect("a scenario");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(input.as_bytes()).expect("written");
    drop(writer);
    let shown = Box::new(File::create(&output).expect("a file"));
    let stage = Stage::new(reader.into(), shown)
        .expect("a stage")
        .with_env(|name| (name == "NAME").then(|| "Ada".to_owned()));
    let ending = play(&scenario, stage);
    (ending, fs::read_to_string(output).expect("the output"))
}

#[test]
fn a_play_answers_and_ends() {
    let toml = r#"
        [[step]]
        input = { want = "line", on = [{ input = "yes", goto = "yes" }], else = "no" }
        [[step]]
        label = "yes"
        [[step]]
        print = "{env:NAME} said {input}{env:NOTHING}"
        [[step]]
        exit = 3
        [[step]]
        label = "no"
    "#;
    for (input, code, shown) in [("yes\n", 3, "Ada said yes"), ("perhaps\n", 0, "")] {
        let (ending, output) = play_with(toml, input);
        assert!(matches!(ending, Ending::Exit(exit) if exit == code), "{ending:?}");
        assert_eq!(output, shown);
    }
}

#[test]
fn a_failed_step_is_named() {
    let cases = [
        ("\n[[step]]\nspawn = { for = \"1s\" }", "line 2: failed to start a child: "),
        ("[[step]]\nprint_file = { env = \"NONE\" }", "line 1: environment variable NONE"),
        ("[[step]]\nwrite_file = { path = \"a/b\", text = \"\" }", "line 1: failed to use "),
        ("[[step]]\nraw = true", "line 1: failed to use the terminal: raw mode needs"),
    ];
    for (toml, expected) in cases {
        let (Ending::Failed(error), _) = play_with(toml, "") else {
            panic!("it did not fail: {toml}");
        };
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(!matches!(error.trouble, Trouble::TimedOut { .. }));
    }
}
