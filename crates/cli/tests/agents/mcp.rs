//! `dogwatch mcp` as the official MCP inspector sees it.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, skip, wait_until};

/// A scripted agent that asks a question as codex does, and takes one answer.
const ASKS: &str = "[[step]]\nraw = true\n[[step]]\nscreen = { file = 'question.txt' }\n\
    [[step]]\n[step.input]\nwant = 'line'\n\
    [[step]]\nscreen = { file = 'prompt.txt', cursor = [2, 4] }\n[[step]]\nstall = 'forever'\n";
const PROMPT: &str = "• Done.\n\n  Worked for 1s • 14:00\n\n› \n\n  GPT-5.5 default · /work";
const QUESTION: &str = "• I have a question first.\n\n\
    \x20 Question 1/1 (1 unanswered)\n\
    \x20 Which database should I use?\n\n\
    \x20 › 1. PostgreSQL         choose PostgreSQL\n\
    \x20   2. SQLite             choose SQLite\n\
    \x20   3. None of the above  Optionally, add details in notes (tab)\n\n\
    \x20 tab to add notes | enter to submit answer | esc to interrupt";

/// The official client checks every result against the schema of its tool.
#[test]
fn the_inspector_accepts_every_result() {
    let Some(inspector) = inspector() else { return };
    let env = TestEnv::new();
    env.add_profile("robot", "[input]\n", "echo ready; exec sleep 600");
    let call = |tool: &str, arguments: &[&str]| {
        let mut command = env.foreign(&inspector);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--cli", dogwatch(), "mcp", "--method", "tools/call", "--tool-name", tool]);
        for argument in arguments {
            command.args(["--tool-arg", argument]);
        }
        let said = env.run(&mut command).success().json();
        assert_eq!(said["isError"], false, "{tool}: {said:#}");
        said["structuredContent"].clone()
    };
    let spawned = call("spawn", &["agent=robot", "name=w"]);
    assert_eq!(spawned["name"], "w");
    let cursor = format!("cursor={}", spawned["cursor"]);
    assert_eq!(call("sessions", &[])["sessions"][0]["name"], "w");
    assert_eq!(call("why", &["session=w"])["name"], "w");
    assert_eq!(call("capture", &["session=w", "lines=5"])["name"], "w");
    assert!(call("since", &[&cursor])["cursor"].is_number());
    let asked = call("ask_person", &["question=Which one?", "key=q"]);
    assert_eq!(asked["state"], "open");
    assert!(call("send", &["session=w", "text=hello", "wait=0"])["outcome"].is_string());
    let job = call("job_submit", &["session=w", "prompt=work", "key=k"]);
    let id = format!("job={}", job["id"].as_str().unwrap());
    assert_eq!(call("job_result", &[&id])["id"], job["id"]);
    env.write("question.txt", QUESTION);
    env.write("prompt.txt", PROMPT);
    let scenario = env.write("asks.toml", ASKS);
    let script = format!("exec '{}' lab actor '{}'", dogwatch(), scenario.display());
    env.add_profile("codex", "[input]\n", &script);
    call("spawn", &["agent=codex", "name=asks"]);
    let mark = wait_until("it waits", || {
        let listed = call("sessions", &["states=[\"waiting\"]"]);
        listed["sessions"][0]["mark"].as_str().map(|mark| format!("mark={mark}"))
    });
    let answered = call("answer", &["session=asks", &mark, "choice=PostgreSQL"]);
    assert_eq!(answered["choice"], "PostgreSQL");
    let read = |uri: &str| {
        let mut command = env.foreign(&inspector);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--cli", dogwatch(), "mcp", "--method", "resources/read", "--uri", uri]);
        env.run(&mut command).success().json()["contents"][0]["text"].to_string()
    };
    assert!(read("dogwatch://sessions").contains("asks"));
    assert!(read("dogwatch://session/w").contains("robot"));
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        let mut command = env.foreign(&inspector);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["--cli", dogwatch(), "mcp", "--method", method]);
        assert!(env.run(&mut command).success().json().is_object(), "{method}");
    }
}

/// The program that `lab/mcp/install` installs; a test without it is skipped.
fn inspector() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let folder = cache.or_else(home)?.join("dogwatch/lab-mcp");
    let installed = fs::read_dir(folder).into_iter().flatten().flatten();
    let program = |entry: fs::DirEntry| entry.path().join("node_modules/.bin/mcp-inspector");
    let found = installed.map(program).find(|program| program.exists());
    if found.is_none() {
        let why = "the MCP inspector is not installed; run lab/mcp/install";
        skip::skipped(skip::AGENTS, why);
    }
    found
}
