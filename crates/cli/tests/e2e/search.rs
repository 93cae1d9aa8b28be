//! Search over titles, prompts, conversations and last screens.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use dogwatch_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-222222222222";

/// The transcript of a conversation that dogwatch did not start.
fn transcript(env: &TestEnv, id: &str) -> PathBuf {
    let folder = env.home().join(".claude/projects/-work");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{id}.jsonl"))
}

fn line(env: &TestEnv, who: &str, at: &str, text: &str) -> String {
    let message = json!({ "role": who, "content": [{ "type": "text", "text": text }] });
    let line = json!({ "type": who, "timestamp": at, "cwd": env.work(), "message": message });
    format!("{line}\n")
}

fn found(output: &CommandOutput) -> Vec<Value> {
    output.json()["hits"].as_array().unwrap().clone()
}

fn search(env: &TestEnv, words: &[&str]) -> Vec<Value> {
    found(&env.dogwatch(&[&["search", "--json"], words].concat()))
}

#[test]
fn conversations_are_found_whoever_started_them() {
    let env = TestEnv::new();
    let old = line(&env, "user", "2026-11-10T10:00:00Z", "Explain the limiter");
    let answer = line(
        &env,
        "assistant",
        "2026-11-10T10:00:05Z",
        "The Limiter counts requests\n\tper key, größe included.",
    );
    fs::write(transcript(&env, ONE), format!("{old}{answer}")).unwrap();
    let title = json!({ "type": "ai-title", "aiTitle": "Flaky tests" });
    let newer = line(&env, "user", "2026-11-15T10:00:00Z", "Why are the tests flaky?");
    let tool = json!({ "type": "assistant", "timestamp": "2026-11-15T10:00:01Z", "message": { "content": [{ "type": "tool_use", "name": "Bash", "input": { "command": "cargo nextest run" } }] } });
    let result = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "content": "limiter of the tool" }] } });
    fs::write(transcript(&env, TWO), format!("{newer}{tool}\n{result}\n{title}\n")).unwrap();

    let hits = search(&env, &["LIMITER", "grosse"]);
    assert_eq!(hits.len(), 0, "{hits:#?}");
    let hits = search(&env, &["limiter", "GRÖßE"]);
    assert_eq!(hits.len(), 1, "what tools print is not searched: {hits:#?}");
    let hit = &hits[0];
    assert_eq!(
        (&hit["conversation"], &hit["found_in"], &hit["session"]),
        (&json!(ONE), &json!("agent"), &Value::Null)
    );
    assert_eq!(hit["snippet"], "The Limiter counts requests per key, größe included.");
    assert_eq!(hit["marks"], json!([[4, 11], [37, 42]]));
    let resume = json!(["dogwatch", "spawn", "claude", "--resume", ONE, "--cwd", env.work()]);
    assert_eq!((&hit["open"], &hit["at"]), (&resume, &json!("2026-11-10T10:00:05Z")));
    assert_eq!(search(&env, &["nextest"])[0]["found_in"], "tool");
    let flaky = search(&env, &["flaky"]);
    assert_eq!((&flaky[0]["title"], &flaky[0]["matches"]), (&json!("Flaky tests"), &json!(2)));
    // The same, for people.
    insta::assert_snapshot!(env.dogwatch(&["search", "requests", "per"]).success().text().lines().skip(1).take(1).collect::<String>(), @"  agent: The Limiter counts «requests» «per» key, größe included.");
    let nothing = env.dogwatch(&["search", "nowhere"]).code(1);
    assert!(nothing.stderr.contains("nothing found"), "{nothing}");
    for hostile in [
        "\"",
        "*",
        "limiter*",
        "NEAR(a b)",
        "a OR b",
        "-x",
        "text:limiter",
        "'; DROP TABLE texts; --",
        "\u{202e}",
        "{}",
        "",
        "日本",
    ] {
        let output = env.dogwatch(&["search", "--json", "--", hostile]);
        assert!(output.code == Some(0) || output.code == Some(1), "{hostile:?}: {output}");
    }
}

#[test]
fn filters() {
    let env = TestEnv::new();
    fs::write(transcript(&env, ONE), line(&env, "user", "2020-01-01T10:00:00Z", "the word"))
        .unwrap();
    let codex = env.home().join(".codex/sessions/2026/11/15");
    fs::create_dir_all(&codex).unwrap();
    let meta = json!({ "timestamp": "2026-11-15T10:00:00Z", "type": "session_meta", "payload": { "id": TWO, "cwd": "/elsewhere" } });
    let said = json!({ "timestamp": jiff::Timestamp::now().to_string(), "type": "response_item", "payload": { "type": "message", "role": "user", "content": [{ "text": "the word" }] } });
    fs::write(
        codex.join(format!("rollout-2026-11-15T10-00-00-{TWO}.jsonl")),
        format!("{meta}\n{said}\n"),
    )
    .unwrap();
    let chats = env.home().join(".gemini/tmp/x/chats");
    fs::create_dir_all(&chats).unwrap();
    let gemini = "{\"sessionId\":\"33333333-1111-4111-8111-111111111111\"}\n{\"type\":\"user\",\"timestamp\":\"2021-01-01T10:00:00Z\",\"content\":\"the word\"}\n";
    fs::write(chats.join("session-2021-33333333.jsonl"), gemini).unwrap();
    let agents = |args: &[&str]| -> Vec<String> {
        let hits = search(&env, &[&["word"], args].concat());
        hits.iter().map(|hit| hit["agent"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(agents(&[]), ["codex", "gemini", "claude"], "newest first");
    assert_eq!(agents(&["--agent", "claude,gemini"]), ["gemini", "claude"]);
    assert_eq!(agents(&["--since", "1d"]), ["codex"]);
    assert_eq!(agents(&["--project", env.work().to_str().unwrap()]), ["claude"]);
    assert_eq!(agents(&["--limit", "2"]), ["codex", "gemini"]);
    assert_eq!(env.dogwatch(&["search", "word", "--limit", "2", "--json"]).json()["more"], true);
    let _ = env.dogwatch(&["search"]).code(2);
    let _ = env.dogwatch(&["search", "x", "--project", "/no/such"]).code(1);
}

#[test]
fn what_is_added_is_found_and_what_is_rewritten_replaced() {
    let env = TestEnv::new();
    let path = transcript(&env, ONE);
    let at = "2026-11-10T10:00:00Z";
    fs::write(&path, line(&env, "user", at, "alpha")).unwrap();
    assert_eq!(search(&env, &["alpha"]).len(), 1);
    let index = env.state_dir().join("search.db");
    let before = fs::metadata(&index).unwrap().modified().unwrap();
    assert_eq!(search(&env, &["alpha"]).len(), 1);
    assert_eq!(
        fs::metadata(&index).unwrap().modified().unwrap(),
        before,
        "nothing is written if nothing is new"
    );
    let next = line(&env, "assistant", at, "beta");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&next.as_bytes()[..20]).unwrap();
    assert_eq!(search(&env, &["beta"]).len(), 0, "half a line");
    file.write_all(&next.as_bytes()[20..]).unwrap();
    assert_eq!(search(&env, &["beta"]).len(), 1);
    fs::write(&path, line(&env, "user", at, "gamma")).unwrap();
    assert_eq!((search(&env, &["alpha"]).len(), search(&env, &["gamma"]).len()), (0, 1), "shorter");
    let longer =
        line(&env, "user", at, "delta") + &line(&env, "user", at, "and much more than before");
    fs::write(&path, longer).unwrap();
    assert_eq!((search(&env, &["gamma"]).len(), search(&env, &["delta"]).len()), (0, 1), "longer");
    // A damaged index is made again.
    for ending in ["", "-wal", "-shm"] {
        let _ =
            fs::write(env.state_dir().join(format!("search.db{ending}")), "rubbish".repeat(999));
    }
    assert_eq!(search(&env, &["delta"]).len(), 1);
    // What is gone is forgotten by gc.
    fs::remove_file(&path).unwrap();
    let _ = env.dogwatch(&["gc"]).success();
    assert_eq!(search(&env, &["delta"]).len(), 0);
}

#[test]
fn sessions_are_found_by_title_tag_prompt_and_last_screen() {
    let env = TestEnv::new();
    env.spawn_script("build", "echo 'fatal: undefined symbol frobnicate'; exit 3");
    env.wait_state("build", "crashed");
    env.spawn_script("live", "exec sleep 300");
    let hit = &search(&env, &["frobnicate"])[0];
    assert_eq!((&hit["session"]["name"], &hit["found_in"]), (&json!("build"), &json!("screen")));
    assert_eq!(hit["open"], json!(["dogwatch", "capture", "build"]));
    let _ = env.dogwatch(&["rename", "live", "Rate limits"]).success();
    let _ = env.dogwatch(&["tag", "add", "live", "backend"]).success();
    for word in ["limits", "backend", "live"] {
        let hit = &search(&env, &[word])[0];
        assert_eq!((&hit["found_in"], &hit["session"]["running"]), (&json!("title"), &json!(true)));
        assert_eq!(hit["open"], json!(["dogwatch", "attach", "live"]));
    }
    let _ = env.dogwatch(&["tag", "rm", "live", "backend"]).success();
    assert_eq!(search(&env, &["backend"]).len(), 0);
    env.add_profile("mute", "[launch]\nprompt = [\"@prompt@\"]\n", "exec sleep 300");
    env.spawn(&["mute", "--name", "asked", "--prompt", "Please unscrew the lightbulb"]);
    assert_eq!(search(&env, &["lightbulb"])[0]["found_in"], "prompt");
    let _ = env.dogwatch(&["kill-all", "--yes", "--now"]).success();
    assert_eq!(search(&env, &["lightbulb"])[0]["session"]["archived"], true);
    let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
    assert_eq!(search(&env, &["lightbulb"]).len(), 0, "forgotten with its session");
}

#[test]
fn keys_are_not_in_the_index() {
    let env = TestEnv::new();
    let key = format!("sk-ant-api03-{}", "Ab3dE5fG7h".repeat(9));
    let said = line(&env, "user", "2026-11-10T10:00:00Z", &format!("use the key {key} for it"));
    fs::write(transcript(&env, ONE), said).unwrap();
    let hit = &search(&env, &["use", "key"])[0];
    assert!(!hit["snippet"].as_str().unwrap().contains("Ab3dE5fG7h"), "{hit:#}");
    for ending in ["", "-wal"] {
        let bytes =
            fs::read(env.state_dir().join(format!("search.db{ending}"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(!text.contains("ab3de5fg7h"), "{ending}");
    }
}

#[test]
fn several_at_once_and_one_that_is_killed() {
    let env = TestEnv::new();
    let text: String = (0..3000).fold(String::new(), |text, n| {
        text + &line(&env, "assistant", "2026-11-10T10:00:00Z", &format!("word{n} common"))
    });
    for n in 0..6 {
        let id = format!("{n}1111111-1111-4111-8111-111111111111");
        fs::write(transcript(&env, &id), &text).unwrap();
    }
    let mut killed = env.command(&["search", "--index"]).spawn().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let _ = scope.spawn(|| env.dogwatch(&["search", "common", "--json"]));
        }
    });
    let _ = env.dogwatch(&["search", "--index"]).success();
    let whole = env.dogwatch(&["search", "word2999", "--json"]).success().json();
    assert_eq!(whole["hits"].as_array().unwrap().len(), 6, "{whole:#}");
    assert!(
        whole["hits"].as_array().unwrap().iter().all(|hit| hit["matches"] == 1),
        "nothing twice: {whole:#}"
    );
    assert_eq!(whole["index"]["missing"], 0);
}

#[test]
fn a_conversation_is_resumed_by_its_id() {
    let env = TestEnv::new();
    env.add_profile(
        "mute",
        "[launch]\nresume = [\"--go-on\", \"@conversation@\"]\n",
        "echo \"got $*\"; exec sleep 300",
    );
    env.spawn(&["mute", "--name", "again", "--resume", ONE]);
    env.wait_screen("again", &format!("got --go-on {ONE}"));
    let _ = env.dogwatch(&["spawn", "--resume", ONE, "--", "true"]).code(2);
}
