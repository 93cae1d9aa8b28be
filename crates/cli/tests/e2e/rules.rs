//! Rules for requests for permission: read, rehearsed, and as a real shell sees the commands.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use dogwatch_core::rules::shell;
use dogwatch_testkit::{CommandOutput, Spawned, TestEnv, skip};
use proptest::prelude::*;
use serde_json::{Value, json};

fn write_config(env: &TestEnv, text: &str) {
    let folder = env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

#[test]
fn rules_are_listed_and_mistakes_are_named() {
    let env = TestEnv::new();
    assert!(
        env.dogwatch(&["rules"]).success().stderr.contains("dogwatch answers no permission prompt")
    );
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
    let listed = env.dogwatch(&["rules", "--json"]).success().json();
    assert!(listed["off"].as_str().unwrap().contains("changed since you trusted it"), "{listed:#}");
    fs::write(&file, "[[rule]]\nanswer = \"allow\"\n").unwrap();
    let _ = env.dogwatch(&["trust"]).code(2);
}

/// A session whose agent asks by hooks.
struct Asking<'a> {
    env: &'a TestEnv,
    session: Spawned,
}

impl Asking<'_> {
    fn tells(&self, payload: &Value) -> String {
        let mut hook = self.env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &self.session.id);
        self.env.run_with_input(&mut hook, payload.to_string().as_bytes()).success().text()
    }

    /// What a rule answers; empty if a person is asked.
    fn asks(&self, command: &str) -> String {
        let answer = self.tells(&json!({
            "hook_event_name": "PermissionRequest", "session_id": "c", "cwd": self.env.work(),
            "tool_name": "Bash", "tool_input": { "command": command },
        }));
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let behavior = &answer["hookSpecificOutput"]["decision"]["behavior"];
        behavior.as_str().unwrap_or_default().to_owned()
    }

    /// An agent calls dogwatch.
    fn calls(&self, args: &[&str]) -> CommandOutput {
        self.env.run(self.env.command(args).env("DOGWATCH_SESSION", &self.session.id))
    }
}

fn events(env: &TestEnv, kind: &str) -> Vec<Value> {
    let said = env.dogwatch(&["events", "--kind", kind, "--json"]).success();
    said.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn answers_end_without_progress_and_go_on_after_an_edit() {
    let env = TestEnv::new();
    let rule = "[[rule]]\nanswer = \"allow\"\ncommand = \"make *\"\n";
    write_config(&env, &format!("[rules]\nwithout_progress = 2\n{rule}"));
    let agent = Asking { session: env.spawn_script("a", "exec sleep 600"), env: &env };
    assert_eq!(
        [agent.asks("make"), agent.asks("make"), agent.asks("make")],
        ["allow", "allow", ""]
    );
    assert_eq!(agent.asks("make other"), "allow", "another request");
    let held = events(&env, "rules_held");
    assert_eq!(held.len(), 1, "{held:#?}");
    assert!(held[0]["data"]["because"].as_str().unwrap().contains("2 times"), "{held:#?}");
    let _ = agent.tells(&json!({
        "hook_event_name": "PostToolUse", "session_id": "c", "cwd": env.work(), "tool_name": "Edit",
        "tool_input": { "file_path": env.work().join("a.c") }, "tool_response": {},
    }));
    assert_eq!(agent.asks("make"), "allow", "a file was changed");
    assert_eq!(events(&env, "rules_answered").len(), 4);
}

#[test]
fn what_a_project_denies_is_not_lifted_by_changing_its_file() {
    let env = TestEnv::new();
    let _ = env.run(Command::new("git").args(["init", "-q"]).arg(env.work())).success();
    write_config(&env, "[[rule]]\nanswer = \"allow\"\ncommand = \"git *\"\n");
    let file = env.work().join(".dogwatch.toml");
    let deny = "[[rule]]\nanswer = \"deny\"\ncommand = \"git push *\"\n";
    fs::write(&file, deny).unwrap();
    let _ = env.dogwatch(&["trust"]).success();
    let agent = Asking { session: env.spawn_script("a", "exec sleep 600"), env: &env };
    assert_eq!([agent.asks("git push"), agent.asks("git status")], ["deny", "allow"]);
    fs::write(&file, format!("{deny}\n")).unwrap();
    assert_eq!([agent.asks("git push"), agent.asks("git status")], ["", ""]);
    let explained = env.dogwatch(&["rules", "explain", "a"]).success().text();
    assert!(explained.contains("changed since you trusted it, so no rule answers"), "{explained}");
    fs::remove_file(&file).unwrap();
    assert_eq!([agent.asks("git push"), agent.asks("git status")], ["", ""]);
    assert!(env.dogwatch(&["rules"]).success().stderr.contains("was trusted and is gone"));
    // An agent can neither trust what it wrote nor have what was trusted forgotten.
    for args in [&["trust", "--json"][..], &["untrust", "--json"]] {
        assert_eq!(env.as_agent(args).code(4).json()["error"]["code"], "agent_may_not_trust");
    }
    fs::write(&file, deny).unwrap();
    assert_eq!([agent.asks("git push"), agent.asks("git status")], ["deny", "allow"]);
}

#[test]
fn an_agent_cannot_undo_a_stop() {
    let env = TestEnv::new();
    write_config(&env, "[[rule]]\nanswer = \"allow\"\ncommand = \"make *\"\n");
    // A session may have a number for a name.
    let agent = Asking { session: env.spawn_script("7", "exec sleep 600"), env: &env };
    let _ = agent.calls(&["rules", "pause"]).success();
    assert_eq!(events(&env, "rules_paused")[0]["data"]["by"], "agent 7");
    for args in [&["rules", "resume"][..], &["limits", "resume"], &["budget", "lift"]] {
        let said = env.as_agent(args).code(4).stderr;
        assert!(said.contains("a person has to"), "{args:?}: {said}");
    }
    assert_eq!(agent.asks("make"), "");
    let _ = env.dogwatch(&["rules", "resume"]).success();
    assert_eq!(agent.asks("make"), "allow");
    let explained = env.dogwatch(&["rules", "explain", "7"]).success().text();
    assert!(explained.contains("of 7: Bash make"), "{explained}");
}

/// The commands that bash runs, which it does not find and so hands to us. All of them succeed, or all fail.
fn by_bash(line: &str, all_succeed: bool) -> Option<Vec<Vec<String>>> {
    // By a descriptor of its own: the line may send its output away.
    let code = u8::from(!all_succeed);
    let script = format!(
        "exec 9>&1; PATH=/nowhere; command_not_found_handle() {{ printf '%s\\0' \"$@\" $'\\1' >&9; return {code}; }}\n{line}"
    );
    let output = Command::new("bash").args(["-c", &script]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let words = |command: &str| command.split_terminator('\0').map(ToOwned::to_owned).collect();
    Some(text.split_terminator("\x01\0").map(words).collect())
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
        "|",
        "||",
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
            let succeeding = by_bash(&line, true).unwrap();
            if line.contains('|') {
                // Of `a || b` one runs b, the other the rest; those of a pipe run in any order.
                let all = succeeding.into_iter().chain(by_bash(&line, false).unwrap());
                let all: BTreeSet<Vec<String>> = all.collect();
                prop_assert_eq!(commands.into_iter().collect::<BTreeSet<_>>(), all, "{:?}", line);
            } else {
                prop_assert_eq!(commands, succeeding, "{:?}", line);
            }
        }
    });
}
