//! Rules for requests for permission: read, rehearsed, and as a real shell sees the commands.

use std::fs;
use std::process::Command;

use dogwatch_core::rules::shell;
use dogwatch_testkit::{TestEnv, skip};
use proptest::prelude::*;

fn write_config(env: &TestEnv, text: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

#[test]
fn rules_are_listed_and_mistakes_are_named() {
    let env = TestEnv::new();
    assert!(env.dogwatch(&["rules"]).success().stderr.contains("a person is asked everything"));
    write_config(&env, "[[rule]]\nanswer = \"allow\"\ncommand = \"cargo test *\"\n");
    let listed = env.dogwatch(&["rules", "--json"]).success().json();
    assert_eq!(listed["rules"][0]["about"], "command cargo test *");
    assert!(listed["paused_since"].is_null());
    assert!(env.dogwatch(&["rules", "pause"]).success().text().contains("paused"));
    assert!(env.dogwatch(&["rules", "--json"]).success().json()["paused_since"].is_string());
    assert!(env.dogwatch(&["rules", "resume"]).success().text().contains("again"));
    for (rule, problem) in [
        ("answer = \"allow\"", "must say what"),
        ("answer = \"maybe\"\ncommand = \"x\"", "unknown variant"),
        ("answer = \"allow\"\ncommand = \"a && b\"", "one command"),
        ("answer = \"allow\"\ncomand = \"a\"", "unknown field"),
    ] {
        write_config(&env, &format!("[[rule]]\n{rule}\n"));
        let said = env.dogwatch(&["rules"]).code(2).stderr;
        assert!(said.contains(problem) && said.contains("line "), "{said}");
    }
    let _ = env.dogwatch(&["rules", "explain", "7"]).code(2);
}

#[test]
fn rules_of_a_project_count_once_it_is_trusted() {
    let env = TestEnv::new();
    let _ = env.run(Command::new("git").args(["init", "-q"]).arg(env.work())).success();
    let file = env.work().join(".dogwatch.toml");
    fs::write(&file, "[[rule]]\nanswer = \"allow\"\ncommand = \"make *\"\n").unwrap();
    let count = || {
        let listed = env.dogwatch(&["rules", "--json"]).success().json();
        listed["rules"].as_array().unwrap().len()
    };
    assert_eq!(count(), 0);
    let _ = env.dogwatch(&["trust"]).success();
    assert_eq!(count(), 1);
    fs::write(&file, "[[rule]]\nanswer = \"allow\"\ncommand = \"rm *\"\n").unwrap();
    assert_eq!(count(), 0, "what is written there now was never trusted");
    fs::write(&file, "[[rule]]\nanswer = \"allow\"\n").unwrap();
    let _ = env.dogwatch(&["trust"]).code(2);
}

/// The words that bash gives to the command, which it does not find and so hands to us.
fn by_bash(line: &str) -> Option<Vec<String>> {
    // By a descriptor of its own: the line may send its output away.
    let script = format!(
        "exec 9>&1; PATH=/nowhere; command_not_found_handle() {{ printf '%s\\0' \"$@\" >&9; }}\n{line}"
    );
    let output = Command::new("bash").args(["-c", &script]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_terminator('\0').map(ToOwned::to_owned).collect())
}

#[test]
fn a_line_is_taken_apart_as_bash_does() {
    if Command::new("bash").arg("--version").output().is_err() {
        return skip::skipped(None, "bash is not installed");
    }
    // No words that bash knows, and nothing that ends up in a file.
    let piece = prop::sample::select(vec![
        "x",
        "yy",
        " ",
        "  ",
        "\t",
        "'",
        "\"",
        "\\",
        "'a b'",
        "\"c d\"",
        "\\ ",
        "''",
        "=",
        "~",
        "#",
        "!",
        ";",
        "\n",
        "&&",
        "2>&1",
        ">/dev/null",
        "é",
    ]);
    let lines =
        prop::collection::vec(piece, 1..12).prop_map(|pieces| format!("zz{}", pieces.concat()));
    let config =
        ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(line in lines)| {
        let commands = shell::commands(&line).unwrap_or_default();
        // What has a slash is a path, and not looked for.
        if !commands.iter().any(|words| words[0].contains('/')) && !commands.is_empty() {
            let ours: Vec<String> = commands.concat();
            prop_assert_eq!(Some(ours), by_bash(&line), "{:?}", line);
        }
    });
}
