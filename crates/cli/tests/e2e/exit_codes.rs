//! Exit codes are an interface: each command is held to the table in `docs/protocol.md`.

use std::collections::BTreeSet;

use dogwatch_engine::Error;
use dogwatch_testkit::{CommandOutput, TestEnv};

const PROTOCOL: &str = include_str!("../../../../docs/protocol.md");

/// The error codes that the documentation has in the row of an exit code.
fn documented(exit_code: i32) -> Vec<String> {
    let rows = PROTOCOL.split("## Exit codes").nth(1).unwrap();
    let rows = rows.split("\n## ").next().unwrap();
    let row = rows.lines().find(|line| line.starts_with(&format!("| {exit_code} |"))).unwrap();
    let errors = row.split(" | ").nth(2).unwrap_or_default();
    errors.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[track_caller]
fn refused(output: CommandOutput, exit_code: i32, error: &str) {
    let said = output.code(exit_code).json();
    assert_eq!(said["error"]["code"], error, "{said}");
    let documented = documented(exit_code);
    assert!(documented.iter().any(|code| code == error), "{error} is not in {documented:?}");
}

/// No code is missing in the documentation, and it has none that there is not.
#[test]
fn the_documentation_has_every_error_code_in_the_row_of_its_exit_code() {
    let rows = [1, 2, 3, 4, 5, 6, 7, 124];
    let documented: BTreeSet<(i32, String)> = rows
        .into_iter()
        .flat_map(|row| documented(row).into_iter().map(move |c| (row, c)))
        .collect();
    let codes = Error::CODES.into_iter().flatten();
    let ours: BTreeSet<(i32, String)> =
        codes.map(|(kind, code)| (i32::from(kind.exit_code()), (*code).to_owned())).collect();
    let missing: Vec<_> = ours.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/protocol.md: {missing:?}");
    let unknown: Vec<_> = documented.difference(&ours).collect();
    assert!(unknown.is_empty(), "only in docs/protocol.md: {unknown:?}");
}

#[test]
fn as_documented() {
    let env = TestEnv::new();
    env.spawn_script("alive", "exec sleep 300");
    env.spawn_script("ended", "exit 3");
    env.wait_state("ended", "crashed");
    let no_session: [&[&str]; 15] = [
        &["status", "nobody"],
        &["why", "nobody"],
        &["wait", "nobody", "--for", "idle"],
        &["watch", "nobody"],
        &["events", "nobody"],
        &["events", "nobody", "--follow"],
        &["send", "nobody", "hello"],
        &["answer", "nobody", "1"],
        &["messages", "nobody"],
        &["job", "submit", "nobody", "work"],
        &["job", "ls", "nobody"],
        &["record", "nobody"],
        &["capture", "nobody"],
        &["kill", "nobody"],
        &["kill", "alive", "nobody"],
    ];
    let others: [(&[&str], i32, &str); 16] = [
        (&["kill-all"], 2, "bad_argument"),
        (&["events", "--kind", "nonsense"], 2, "bad_argument"),
        (&["spawn", "--name", "a b", "--", "true"], 2, "bad_name"),
        (&["spawn", "--cwd", "/no/such/folder", "--", "true"], 2, "bad_cwd"),
        (&["send", "alive", "hello"], 2, "bad_argument"),
        (&["messages", "--cancel", "nothing"], 3, "no_such_message"),
        (&["job", "show", "nothing"], 3, "no_such_job"),
        (&["job", "wait", "nothing"], 3, "no_such_job"),
        (&["job", "cancel", "nothing"], 3, "no_such_job"),
        (&["escalations", "show", "99"], 3, "no_such_escalation"),
        (&["spawn", "--name", "alive", "--", "true"], 4, "name_in_use"),
        (&["job", "submit", "ended", "work"], 4, "is_over"),
        (&["answer", "alive", "1"], 4, "no_dialog"),
        (&["answer", "ended", "1"], 4, "no_dialog"),
        (&["spawn", "no-such-agent"], 7, "unknown_agent"),
        (&["spawn", "--", "/no/such/program"], 7, "program_not_found"),
    ];
    let no_session = no_session.iter().map(|words| (*words, 3, "no_such_session"));
    for (words, exit_code, error) in no_session.chain(others) {
        // Before a `--` of the command's own.
        let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let mut words = words.to_vec();
        words.insert(at, "--json");
        refused(env.dogwatch(&words), exit_code, error);
    }
    assert_eq!(env.seen("alive")["state"], "running", "nothing was changed");
}

#[test]
fn the_answer_no_and_a_deadline() {
    let env = TestEnv::new();
    env.spawn_script("alive", "exec sleep 300");
    let _ = env.dogwatch(&["exists", "alive"]).code(0);
    let _ = env.dogwatch(&["exists", "nobody"]).code(1);
    let _ = env.dogwatch(&["wait", "alive", "--for", "idle", "--timeout", "10ms"]).code(124);
    env.spawn_script("ended", "exit 3");
    let _ = env.dogwatch(&["wait", "ended", "--for", "idle", "--timeout", "30s"]).code(4);
}

/// A command line that cannot be parsed: words on standard error, nothing on standard output.
#[test]
fn every_command_refuses_what_it_does_not_know() {
    let env = TestEnv::new();
    let help = env.dogwatch(&["--help"]).success().text();
    let commands = help.split("Usage:").nth(1).unwrap().split("Options:").next().unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let output = env.dogwatch(&[command, "--no-such-option"]).code(2);
        assert!(output.stdout.is_empty(), "{command}: {output}");
    }
}

/// One flag for all commands, before or after the command; those that print no JSON refuse it.
#[test]
fn json_is_one_flag() {
    let env = TestEnv::new();
    let after = env.dogwatch(&["ls", "--json"]).success().facts();
    assert_eq!(env.dogwatch(&["--json", "ls"]).success().facts(), after);
    assert_eq!(env.dogwatch(&["list", "--json"]).success().facts(), after);
    for words in [&["attach", "x", "--json"][..], &["--json", "relay"], &["demo", "--json"]] {
        let output = env.dogwatch(words).code(2);
        assert!(output.stdout.is_empty() && output.stderr.contains("JSON"), "{words:?}: {output}");
    }
    let _ = env.dogwatch(&["status", "--watch", "--json"]).code(2);
    let inner = ["spawn", "--name", "x", "--", "echo", "--json"];
    assert_eq!(env.dogwatch(&inner).success().text().trim(), "x");
}

#[test]
fn a_name_that_was_probably_meant() {
    let env = TestEnv::new();
    env.spawn_script("build", "exec sleep 300");
    insta::assert_snapshot!(env.dogwatch(&["events", "buil"]).code(3), @r#"
    ------- stderr -------
    error: no session "buil"
    hint: did you mean build? `dogwatch ls --all` lists all sessions
    [exit code: 3]
    "#);
    let _ = env.dogwatch(&["kill", "build", "--now"]).success();
    let told = env.dogwatch(&["events", "build"]).success().text();
    assert!(told.contains("ended"), "one that was put away is known: {told}");
}
