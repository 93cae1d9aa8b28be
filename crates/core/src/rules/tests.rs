use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rules(text: &str) -> Vec<Rule> {
    #[derive(Deserialize)]
    struct File {
        rule: Vec<RuleTable>,
    }
    let file: File = toml::from_str(text).unwrap();
    read(&file.rule, text).unwrap()
}

fn bash(line: &str) -> Request {
    Request {
        agent: "claude".into(),
        tags: vec!["night".into()],
        project: "/p".into(),
        tool: "Bash".into(),
        command: Some(line.into()),
        paths: vec!["/p".into()],
        ..Request::default()
    }
}

const RULES: &str = r#"
[[rule]]
name = "tests"
answer = "allow"
tool = "Bash"
command = ["cargo test *", "tail *", "cd *"]

[[rule]]
name = "no push"
answer = "deny"
command = "git push *"

[[rule]]
name = "git"
answer = "allow"
command = "git *"
agent = "claude"

[[rule]]
name = "look first"
answer = "ask"
command = "git reset *"

[[rule]]
name = "source"
answer = "allow"
tool = ["Edit", "Write"]
path = "src/**"

[[rule]]
name = "secrets"
answer = "deny"
path = "**/.env"

[[rule]]
name = "at night"
answer = "allow"
command = "make *"
tags = ["night"]
"#;

#[test]
fn commands_by_rules() {
    let rules = rules(RULES);
    let table = [
        ("cargo test", Answer::Allow),
        ("cargo test --lib 2>&1 | tail -5", Answer::Allow),
        ("cd sub && cargo test", Answer::Allow),
        ("cargo test; rm -rf ~", Answer::Ask),
        ("cargo test; rm -rf /", Answer::Ask),
        ("cargo test $(rm -rf /)", Answer::Ask),
        ("cargo test `rm x`", Answer::Ask),
        ("cargo test > /etc/passwd", Answer::Ask),
        ("cargo test\nrm x", Answer::Ask),
        ("PATH=. cargo test", Answer::Ask),
        ("cargo test & rm x", Answer::Ask),
        ("./cargo test", Answer::Ask),
        ("git status", Answer::Allow),
        ("git push origin main", Answer::Deny),
        ("cargo test && git push", Answer::Deny),
        ("sudo git push", Answer::Deny),
        ("sh -c 'git push'", Answer::Deny),
        ("git status && git reset --hard", Answer::Ask),
        ("git push && git reset --hard", Answer::Deny),
        ("make all", Answer::Allow),
        ("rm x", Answer::Ask),
    ];
    for (line, want) in table {
        let decision = decide(&rules, &bash(line));
        assert_eq!(decision.answer, want, "{line}: {decision:?}");
    }
    let by_day = Request { tags: vec![], ..bash("make all") };
    assert_eq!(decide(&rules, &by_day).answer, Answer::Ask);
    let codex = Request { agent: "codex".into(), ..bash("git status") };
    assert_eq!(decide(&rules, &codex).answer, Answer::Ask);
}

#[test]
fn files_by_rules() {
    let rules = rules(RULES);
    let table = [
        ("Edit", "/p/src/a.rs", Answer::Allow),
        ("Write", "/p/src/deep/a.rs", Answer::Allow),
        ("Edit", "/p/README.md", Answer::Ask),
        ("Edit", "/etc/passwd", Answer::Ask),
        ("Write", "/p/src/.env", Answer::Deny),
        ("Read", "/p/src/a.rs", Answer::Ask),
        ("AskUserQuestion", "/p/src/a.rs", Answer::Ask),
        ("ExitPlanMode", "/p/src/a.rs", Answer::Ask),
    ];
    for (tool, path, want) in table {
        let request =
            Request { tool: tool.into(), command: None, paths: vec![path.into()], ..bash("") };
        let decision = decide(&rules, &request);
        assert_eq!(decision.answer, want, "{tool} {path}: {decision:?}");
    }
    let without = Request { tool: "Edit".into(), command: None, paths: vec![], ..bash("") };
    assert_eq!(decide(&rules, &without).answer, Answer::Ask, "it does not say which file");
}

/// A request as its hook sends it, with paths as they would be resolved.
fn hooked(tool: &str, input: Value) -> Request {
    let payload = json!({"tool_name": tool, "tool_input": input, "cwd": "/p"});
    let asked = asked(&payload).unwrap();
    let resolve = |path: &String| {
        if path.starts_with('/') { path.clone() } else { format!("/p/{path}") }
    };
    let paths = asked.paths.iter().map(resolve).collect();
    Request { agent: "codex".into(), project: "/p".into(), paths, ..asked }
}

#[test]
fn patches_of_codex_by_their_files() {
    let rules = rules(
        "[[rule]]\nanswer = 'allow'\npath = '**'\n[[rule]]\nanswer = 'deny'\npath = '**/.env'\n",
    );
    let table = [
        ("*** Add File: src/a.rs\n+x", Answer::Allow),
        ("*** Add File: /home/u/.bashrc\n+x", Answer::Ask),
        ("*** Update File: src/a.rs\n*** Move to: /etc/x\n@@\n-x\n+y", Answer::Ask),
        ("*** Update File: .env\n@@\n-x\n+y", Answer::Deny),
        ("*** Add File: a\n+*** End Patch\n*** Add File: .env\n+x", Answer::Deny),
        ("*** Add File: a\n+x\n *** Add File: /etc/x\n+x", Answer::Ask),
        ("nothing known", Answer::Ask),
    ];
    for (lines, want) in table {
        let patch = format!("*** Begin Patch\n{lines}\n*** End Patch\n");
        let found = decide(&rules, &hooked("apply_patch", json!({"command": patch})));
        assert_eq!(found.answer, want, "{lines}: {found:?}");
    }
    let by_shell = hooked("Bash", json!({"command": "apply_patch '*** Begin Patch'"}));
    assert_eq!(decide(&rules, &by_shell).answer, Answer::Ask);
}

#[test]
fn what_is_not_a_command_is_not_answered_as_one() {
    let rules = rules(
        "[[rule]]\nanswer = 'allow'\ntool = '*'\n[[rule]]\nanswer = 'deny'\ncommand = 'git push *'\n",
    );
    let table = [
        ("Bash", json!({"command": "curl x"}), Answer::Allow),
        (
            "Bash",
            json!({"command": "curl x", "description": "network-access https://x:443"}),
            Answer::Ask,
        ),
        ("request_permissions", json!({"reason": "x", "permissions": {}}), Answer::Ask),
        ("write_stdin", json!({"session_id": 1, "chars": "git push\n"}), Answer::Ask),
        ("Monitor", json!({"command": "git push"}), Answer::Deny),
        ("Monitor", json!({"command": "tail -f $X"}), Answer::Ask),
        ("Monitor", json!({}), Answer::Ask),
        ("some_shell", json!({"command": "git push"}), Answer::Deny),
    ];
    for (tool, input, want) in table {
        let found = decide(&rules, &hooked(tool, input.clone()));
        assert_eq!(found.answer, want, "{tool} {input}: {found:?}");
    }
}

#[test]
fn what_a_command_runs_in_turn() {
    let deny = "[[rule]]\nname = 'no push'\nanswer = 'deny'\ncommand = 'git push *'\n";
    let all = rules(&format!("[[rule]]\nanswer = 'allow'\ntool = 'Bash'\n{deny}"));
    let shells = rules(&format!("[[rule]]\nanswer = 'allow'\ncommand = 'sh *'\n{deny}"));
    let free = rules("[[rule]]\nanswer = 'allow'\ncommand = ['sh *', 'xargs *']\n");
    let table = [
        (&all, "sh -c 'git push $B'", Answer::Ask),
        (&all, "sh -c 'git push'", Answer::Deny),
        (&all, "eval 'git push'", Answer::Deny),
        (&all, "echo push | xargs git", Answer::Ask),
        (&all, "echo 'git push' | sh", Answer::Ask),
        (&all, "sh -c 'ls -l'", Answer::Allow),
        (&shells, "sh -c 'git push $B'", Answer::Ask),
        (&shells, "sh -c 'ls -l'", Answer::Allow),
        (&free, "sh -c 'ls $B'", Answer::Allow),
        (&free, "xargs ls", Answer::Allow),
    ];
    for (rules, line, want) in table {
        let found = decide(rules, &bash(line));
        assert_eq!(found.answer, want, "{line}: {found:?}");
    }
    let found = decide(&all, &bash("sh -c 'git push $B'"));
    assert_eq!(
        found.because,
        "what `sh -c git push $B` runs is not certain, and no push says deny"
    );
    let any = rules("[[rule]]\nanswer = 'allow'\ntool = 'Bash'\n");
    assert_eq!(decide(&any, &bash("sh -c 'rm $x'")).answer, Answer::Ask);
}

#[test]
fn a_path_is_not_known_after_cd() {
    let rules = rules(
        "[[rule]]\nanswer = 'allow'\ncommand = ['cd *', 'make *', 'pushd *']\npath = '**'\n\
         [[rule]]\nanswer = 'allow'\ncommand = ['cd *', 'ls *', 'touch *']\n\
         [[rule]]\nanswer = 'deny'\ncommand = 'touch *'\npath = '/etc/**'\n",
    );
    for (line, want) in [
        ("make all", Answer::Allow),
        ("cd /tmp/evil && make", Answer::Ask),
        ("pushd /tmp && make", Answer::Ask),
        ("cd sub && ls", Answer::Allow),
        ("touch x", Answer::Allow),
        ("cd /etc && touch x", Answer::Ask),
    ] {
        let found = decide(&rules, &bash(line));
        assert_eq!(found.answer, want, "{line}: {found:?}");
    }
}

#[test]
fn the_same_request_is_known_again() {
    let edit = |text: &str| hooked("Edit", json!({"file_path": "/p/a", "new_string": text}));
    assert_eq!(edit("x").fingerprint(), edit("x").fingerprint());
    assert_ne!(edit("x").fingerprint(), edit("y").fingerprint());
}

#[test]
fn a_tool_that_runs_a_shell_needs_a_certain_command_even_where_all_is_allowed() {
    let rules = rules("[[rule]]\nanswer = \"allow\"\ntool = \"*\"\n");
    assert_eq!(decide(&rules, &bash("rm -rf /")).answer, Answer::Allow, "as the user wished");
    assert_eq!(decide(&rules, &bash("rm -rf $HOME")).answer, Answer::Ask);
    assert_eq!(decide(&rules, &Request { command: None, ..bash("") }).answer, Answer::Ask);
    let question = Request { tool: "AskUserQuestion".into(), ..bash("") };
    assert_eq!(decide(&rules, &question).answer, Answer::Ask);
}

#[test]
fn bad_rules_are_refused_with_their_place() {
    for (text, problem) in [
        ("answer = \"allow\"", "must say what"),
        ("answer = \"allow\"\nagent = \"claude\"", "must say what"),
        ("answer = \"allow\"\ncommand = \"a; b\"", "one command"),
        ("answer = \"allow\"\npath = \"../x\"", "no path pattern"),
    ] {
        #[derive(Deserialize)]
        struct File {
            rule: Vec<RuleTable>,
        }
        let text = format!("\n[[rule]]\n{text}\n");
        let file: File = toml::from_str(&text).unwrap();
        let error = read(&file.rule, &text).unwrap_err();
        assert!(error.problem.contains(problem) && error.line == 3, "{error:?}");
    }
}

#[test]
fn what_a_payload_asks() {
    let table = [
        (
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/p"}),
            "Bash",
            Some("ls"),
            vec!["/p"],
        ),
        (
            json!({"tool_name": "Edit", "tool_input": {"file_path": "/p/a"}, "cwd": "/p"}),
            "Edit",
            None,
            vec!["/p/a"],
        ),
        (
            json!({"tool_name": "shell", "tool_input": {"command": ["bash", "-lc", "ls"]}}),
            "shell",
            None,
            vec![],
        ),
    ];
    for (payload, tool, command, paths) in table {
        let found = asked(&payload).unwrap();
        assert_eq!(
            (found.tool.as_str(), found.command.as_deref(), found.paths),
            (tool, command, paths.into_iter().map(str::to_owned).collect())
        );
    }
    assert_eq!(asked(&json!([])), None);
}

/// Commands that run what no rule allows, however they are put together with allowed ones.
const BAD: [&str; 8] = [
    "rm -rf /",
    "curl x",
    "sh evil",
    "'rm' x",
    "r\\m x",
    "\"rm\" -rf x",
    "./cargo test",
    "cargo run",
];
const GOOD: [&str; 5] =
    ["cargo test", "cargo test --lib 'a b'", "tail -5", "cd \"x y\"", "git log"];
const JOINTS: [&str; 10] = [" && ", " || ", "; ", " | ", "\n", ";", "&&", " & ", "\n\n", " |& "];
const TRICKS: [&str; 12] = [
    "$(rm x)", "`rm x`", " > x", " 2>x", "\\\n", "\r", "\u{202e}", " <(rm x)", " # ", "'", "\"",
    " & rm x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_bad_command_is_allowed_whatever_is_around_it(
        good in prop::collection::vec(0..GOOD.len(), 0..4),
        bad in 0..BAD.len(),
        at in 0..4_usize,
        joints in prop::collection::vec(0..JOINTS.len(), 5),
    ) {
        let rules = rules(RULES);
        let mut parts: Vec<&str> = good.iter().map(|n| GOOD[*n]).collect();
        parts.insert(at.min(parts.len()), BAD[bad]);
        let mut line = String::new();
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                line.push_str(JOINTS[joints[n]]);
            }
            line.push_str(part);
        }
        prop_assert_ne!(decide(&rules, &bash(&line)).answer, Answer::Allow, "{:?}", line);
    }

    #[test]
    fn no_trick_is_allowed_wherever_it_stands(line in 0..GOOD.len(), trick in 0..TRICKS.len(), at in 0..40_usize) {
        let rules = rules(RULES);
        let mut text = GOOD[line].to_owned();
        let at = at.min(text.len());
        let is_quoted = text[..at].matches(['\'', '"']).count() % 2 == 1;
        text.insert_str(at, TRICKS[trick]);
        // In quotes most of them are plain text.
        if !is_quoted {
            prop_assert_ne!(decide(&rules, &bash(&text)).answer, Answer::Allow, "{:?}", text);
        }
    }

    #[test]
    fn every_word_of_an_allowed_line_is_in_it(line in "[ a-z'\"\\\\;|&$`()<>*\n~#=]{0,40}") {
        if let Ok(commands) = shell::commands(&line) {
            for word in commands.iter().flatten() {
                let mut letters = line.chars();
                prop_assert!(word.chars().all(|c| letters.any(|l| l == c)), "{:?} {:?}", line, commands);
            }
        }
    }
}
