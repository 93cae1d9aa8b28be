//! A prompt arrives byte for byte, however it is given.

use std::fs;
use std::path::Path;

use dogwatch_testkit::{CommandOutput, TestEnv, eventually};

/// Everything that a shell, tmux or a terminal could trip over, except NUL.
fn nasty() -> String {
    let mut text = String::from("--help -n\n-");
    text.extend((1..=126_u8).map(char::from));
    text.push_str("\n$(touch pwned) `touch pwned` ${HOME} $HOME %HOME% !! !x *?[a]~\n");
    text.push_str("#{pid} #(touch pwned) #[fg=red] %1 =x: {a,b} ' \" '' \"\" \\' \\\" \\\\ \\n\n");
    text.push_str("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{9b}31m \u{7f}\u{85}\u{2028}\n");
    text.push_str(
        "é ü 🐕\u{200d}🦺 e\u{301} \u{202e}rtl\u{202c} \u{feff}\u{fffd}\r\n\t @prompt@ @model@",
    );
    text.push_str("\n\\;");
    text
}

/// Copies the prompt it was given to `got`, then waits.
const COPY: &str = r#"cp "$DOGWATCH_PROMPT_FILE" part && mv part got; exec sleep 300"#;

fn arrived(env: &TestEnv) -> Vec<u8> {
    let file = env.work().join("got");
    eventually("the prompt has arrived", || file.exists());
    assert!(!env.work().join("pwned").exists(), "a part of the prompt was executed");
    fs::read(file).unwrap()
}

fn spawned_with(env: &TestEnv, args: &[&str], stdin: &[u8]) -> CommandOutput {
    let mut command = env.command(&["spawn"]);
    command.args(args).args(["--", "sh", "-c", COPY]);
    env.run_with_input(&mut command, stdin).success()
}

#[test]
fn as_an_argument() {
    let env = TestEnv::new();
    let _ = spawned_with(&env, &["--prompt", &nasty()], b"");
    assert_eq!(String::from_utf8(arrived(&env)).unwrap(), nasty());
}

#[test]
fn from_a_file() {
    let env = TestEnv::new();
    env.write("-task", nasty());
    let _ = spawned_with(&env, &["--prompt-file", "./-task"], b"");
    assert_eq!(String::from_utf8(arrived(&env)).unwrap(), nasty());
}

#[test]
fn from_standard_input_in_all_three_ways() {
    for way in [&["--prompt", "-"][..], &["--prompt-file", "-"], &["-"]] {
        let env = TestEnv::new();
        let _ = spawned_with(&env, way, nasty().as_bytes());
        assert_eq!(String::from_utf8(arrived(&env)).unwrap(), nasty(), "{way:?}");
    }
}

#[test]
fn a_megabyte() {
    let env = TestEnv::new();
    let prompt = (0..120_000).fold(String::new(), |text, n| text + &format!("{n:08x}\n"));
    assert!(prompt.len() > 1024 * 1024);
    let _ = spawned_with(&env, &["-"], prompt.as_bytes());
    assert!(arrived(&env) == prompt.as_bytes(), "it was changed on its way");
}

/// An agent that takes its prompt as an argument, as claude does.
fn add_agent(env: &TestEnv) {
    env.add_profile(
        "asked",
        "[launch]\nmodel = [\"--model\", \"@model@\"]\nprompt = [\"--\", \"@prompt@\"]\n\
         long_prompt = \"Read @prompt_file@\"\nrefused_prefixes = [\"!\"]\n",
        r#"for last; do :; done; printf %s "$last" > part && mv part got; exec sleep 300"#,
    );
}

#[test]
fn as_an_agents_argument() {
    let env = TestEnv::new();
    add_agent(&env);
    let command = &mut env.command(&["spawn", "asked", "--model", "m", "-"]);
    let _ = env.run_with_input(command, nasty().as_bytes()).success();
    assert_eq!(String::from_utf8(arrived(&env)).unwrap(), nasty());
    // Lists show the command without the prompt.
    let listed = env.dogwatch(&["ls", "--json"]).text();
    assert!(listed.contains("--model") && !listed.contains("pwned"), "{listed}");
}

#[test]
fn too_long_for_an_argument() {
    let env = TestEnv::new();
    add_agent(&env);
    let prompt = "x".repeat(1024 * 1024);
    let command = &mut env.command(&["spawn", "--name", "x", "asked", "-"]);
    let output = env.run_with_input(command, prompt.as_bytes()).success();
    insta::assert_snapshot!(output, @r"
    x
    ------- stderr -------
    note: the prompt is not on the command line; the agent reads it from a file
    ");
    let told = String::from_utf8(arrived(&env)).unwrap();
    let file = told.strip_prefix("Read ").unwrap();
    assert!(fs::read_to_string(Path::new(file)).unwrap() == prompt);
}

#[test]
fn the_longest_argument_and_one_byte_more() {
    // Linux takes 128 KiB with the final NUL.
    for (length, in_file) in [(128 * 1024 - 1, false), (128 * 1024, true)] {
        let env = TestEnv::new();
        add_agent(&env);
        let prompt = "x".repeat(length);
        let command = &mut env.command(&["spawn", "--json", "asked", "-"]);
        let output = env.run_with_input(command, prompt.as_bytes()).success();
        assert_eq!(output.json()["prompt_in_file"], in_file);
        assert_eq!(arrived(&env).len() == length, !in_file);
    }
}

#[test]
fn refused_prompts() {
    let env = TestEnv::new();
    add_agent(&env);
    let refused = |args: &[&str], input: &[u8]| {
        let mut command = env.command(&["spawn"]);
        env.run_with_input(command.args(args), input).code(2)
    };
    insta::assert_snapshot!(refused(&["asked", "-p", " \n"], b""), @r"
    ------- stderr -------
    error: the prompt is empty
    [exit code: 2]
    ");
    insta::assert_snapshot!(refused(&["asked", "-p", " !rm"], b""), @r#"
    ------- stderr -------
    error: the prompt begins with "!", which Test agent would run as a command
    [exit code: 2]
    "#);
    insta::assert_snapshot!(refused(&["asked", "-"], b"a\0b"), @r"
    ------- stderr -------
    error: the prompt contains a NUL byte at 1
    [exit code: 2]
    ");
    insta::assert_snapshot!(refused(&["asked", "-"], b"abc\xff"), @r"
    ------- stderr -------
    error: the prompt is not UTF-8 (byte 3)
    [exit code: 2]
    ");
    let huge = vec![b'x'; 17 * 1024 * 1024];
    insta::assert_snapshot!(refused(&["asked", "-"], &huge), @r"
    ------- stderr -------
    error: the prompt is longer than 16777216 bytes
    [exit code: 2]
    ");
    let missing = env.dogwatch(&["spawn", "asked", "--prompt-file", "no/such"]).code(1);
    insta::assert_snapshot!(missing, @r"
    ------- stderr -------
    error: failed to read no/such: No such file or directory (os error 2)
    [exit code: 1]
    ");
    assert_eq!(env.dogwatch(&["ls", "--json"]).json()["sessions"], serde_json::json!([]));
}
