//! `dogwatch mcp` as the official MCP inspector sees it.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, skip};

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
