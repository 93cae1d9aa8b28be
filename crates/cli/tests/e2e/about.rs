//! What a session is about: title, project, branch, tags, context.

use std::fs;
use std::process::Command;

use dogwatch_testkit::{Spawned, TestEnv};
use serde_json::{Value, json};

fn row(env: &TestEnv, name: &str) -> Value {
    env.dogwatch(&["status", name, "--json"]).success().json()["sessions"][0].clone()
}

/// A claude that does nothing, with a transcript that its hook names.
fn claude_with(env: &TestEnv, name: &str) -> Spawned {
    let session = env.spawn(&["--name", name, "--", "sleep", "300"]);
    let transcript = env.home().join(format!("{name}.jsonl"));
    fs::write(&transcript, "").unwrap();
    let payload = json!({ "hook_event_name": "Stop", "transcript_path": transcript });
    let mut hook = env.command(&["hook", "claude"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
    session
}

#[test]
fn project_and_branch_are_those_of_the_folder() {
    let env = TestEnv::new();
    env.spawn_script("plain", "exec sleep 300");
    let plain = row(&env, "plain");
    assert_eq!(
        (&plain["project_name"], &plain["branch"]),
        (&json!("work"), &Value::Null),
        "{plain:#}"
    );
    fs::write(env.work().join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
    assert_eq!(row(&env, "plain")["branch"], "feature/x");
    let repo = env.root().join("my repo");
    fs::create_dir(&repo).unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&repo).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ]);
        assert!(git.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&["worktree", "add", "-q", "-b", "side", "../tree"]);
    let tree = env.root().join("tree");
    env.spawn(&["--name", "tree", "--cwd", tree.to_str().unwrap(), "--", "sleep", "300"]);
    let told = row(&env, "tree");
    assert_eq!(
        (&told["project_name"], &told["branch"]),
        (&json!("my repo"), &json!("side")),
        "{told:#}"
    );
    let table = env.dogwatch(&["status"]).success().text();
    assert!(table.contains("work@feature/x") && table.contains("my repo@side"), "{table}");
}

#[test]
fn the_title_is_the_users_the_agents_or_the_prompts() {
    let env = TestEnv::new();
    env.add_profile(
        "mute",
        "transcript = { dialect = \"claude\", find = [] }\n[launch]\nprompt = [\"@prompt@\"]\n",
        "exec sleep 300",
    );
    let session =
        env.spawn(&["mute", "--name", "one", "--prompt", "\n## Fix the login\n\nIt is broken."]);
    let title = || {
        let told = row(&env, "one");
        (told["title"].clone(), told["title_from"].clone())
    };
    assert_eq!(title(), (json!("Fix the login"), json!("prompt")));
    let transcript = env.home().join("one.jsonl");
    let user = json!({ "type": "user", "message": { "content": "Fix the login" } });
    fs::write(&transcript, format!("{user}\n")).unwrap();
    let payload = json!({ "hook_event_name": "Stop", "transcript_path": transcript });
    let mut hook = env.command(&["hook", "mute"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut hook, payload.to_string().as_bytes()).success();
    assert_eq!(title(), (json!("Fix the login"), json!("prompt")));
    let made_up = json!({ "type": "ai-title", "aiTitle": "Login \u{1b}[31mfix" });
    fs::write(&transcript, format!("{user}\n{made_up}\n")).unwrap();
    assert_eq!(title(), (json!("Login [31mfix"), json!("agent")));
    let _ = env.dogwatch(&["rename", "one", "Mine"]).success();
    assert_eq!(title(), (json!("Mine"), json!("rename")));
    let _ = env.dogwatch(&["tag", "add", "one", "urgent"]).success();
    let table = env.dogwatch(&["status"]).success().text();
    assert!(
        table.contains("TITLE") && table.contains("Mine") && table.contains("urgent"),
        "{table}"
    );
    let _ = env.dogwatch(&["rename", "one", "--clear"]).success();
    assert_eq!(title().1, "agent");
    // What was told stays, also if the transcript is gone after the end.
    let _ = env.dogwatch(&["kill", "one", "--now"]).success();
    assert_eq!(title().1, "agent");
    fs::remove_file(&transcript).unwrap();
    assert_eq!(title(), (json!("Login [31mfix"), json!("agent")));
}

#[test]
fn the_context_is_what_the_agent_says_of_it() {
    let env = TestEnv::new();
    let session = claude_with(&env, "one");
    assert_eq!(row(&env, "one")["context"], Value::Null, "unknown stays unknown");
    let line = json!({ "context_window": { "context_window_size": 200_000, "used_percentage": 38, "remaining_percentage": 62, "current_usage": null } });
    let mut hook = env.command(&["hook", "claude", "--statusline"]);
    hook.env("DOGWATCH_SESSION", &session.id);
    let _ = env.run_with_input(&mut hook, line.to_string().as_bytes()).success();
    assert_eq!(row(&env, "one")["context"], json!({ "used": null, "window": 200_000, "left": 62 }));
    let table = env.dogwatch(&["status"]).success().text();
    assert!(table.contains("62% left"), "{table}");
}
