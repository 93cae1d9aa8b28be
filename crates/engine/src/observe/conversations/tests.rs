use std::fs;

use dogwatch_core::profile::builtin;
use dogwatch_store::StateDir;
use dogwatch_tmux::{Server, Socket};
use tempfile::TempDir;

use super::*;

const ID: &str = "b3a7c2f0-1111-4000-8000-000000000001";

fn context(home: &TempDir) -> Context {
    let home = home.path().canonicalize().unwrap();
    Context {
        state: StateDir::open(&home.join("state")).unwrap(),
        tmux: Server::new(Socket::Path(home.join("none"))),
        socket: home.join("none"),
        dogwatch: "dogwatch".into(),
        profiles: None,
        config: None,
        path: "".into(),
        home: Some(home),
        agent_roots: Vec::new(),
        host: "h".into(),
        caller: crate::context::Caller::default(),
    }
}

fn write(context: &Context, path: &str, text: &str) -> String {
    let path = context.home.as_ref().unwrap().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn ids(found: Vec<Conversation>) -> Vec<String> {
    found.into_iter().map(|found| found.id).collect()
}

#[test]
fn of_claude() {
    let home = tempfile::tempdir().unwrap();
    let mut context = context(&home);
    let claude = builtin("claude").unwrap();
    let head = format!("{{\"type\":\"mode\"}}\n{{\"sessionId\":\"{ID}\",\"cwd\":\"/w/a.b\"}}\n");
    let path = write(&context, &format!(".claude/projects/-w-a-b/{ID}.jsonl"), &head);
    write(&context, ".claude/projects/-w-a-b/agent-7.jsonl", "{}");
    let folder = |folder: &str| ids(Finder::new(&context).in_folder(&claude, folder, None, None));
    assert_eq!(folder("/w/a.b"), [ID]);
    assert_eq!(folder("/w/a-b"), [""; 0], "another folder with the same key");
    assert_eq!(folder("/w"), [""; 0]);
    let late = Some(Timestamp::MAX);
    assert_eq!(Finder::new(&context).in_folder(&claude, "/w/a.b", late, None), []);

    let find = |cwd: Option<&str>| Finder::new(&context).find(&claude, ID, cwd, None);
    assert_eq!(find(Some("/w/a.b")), Artifact::Found(path.clone()));
    assert_eq!(find(Some("/moved")), Artifact::Found(path.clone()));
    assert_eq!(find(None), Artifact::Found(path));
    let missing = Finder::new(&context).find(&claude, &ID.replace('1', "2"), Some("/w/a.b"), None);
    assert!(
        matches!(missing, Artifact::Missing(path) if path.contains("projects/-w-a-b/b3a7c2f0-2222"))
    );
    let evil = Finder::new(&context).find(&claude, "../../x", None, None);
    assert!(matches!(evil, Artifact::Missing(_)));

    write(&context, &format!("other/projects/-w-a-b/{ID}.jsonl"), &head);
    context.agent_roots = vec![("CLAUDE_CONFIG_DIR".into(), home.path().join("other"))];
    let found = Finder::new(&context).find(&claude, ID, Some("/w/a.b"), None);
    assert!(matches!(found, Artifact::Found(path) if path.contains("/other/")));
}

#[test]
fn of_codex() {
    let home = tempfile::tempdir().unwrap();
    let mut context = context(&home);
    let codex = builtin("codex").unwrap();
    let head =
        format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{ID}\",\"cwd\":\"/w\"}}}}\n");
    let file = format!("sessions/2026/11/15/rollout-2026-11-15T10-00-00-{ID}.jsonl");
    let path = write(&context, &format!(".codex/{file}"), &head);
    let mut finder = Finder::new(&context);
    assert_eq!(finder.find(&codex, ID, None, None), Artifact::Found(path));
    assert_eq!(ids(finder.in_folder(&codex, "/w", None, None)), [ID]);
    assert_eq!(finder.in_folder(&codex, "/v", None, None), []);
    context.agent_roots = vec![("CODEX_HOME".into(), home.path().join("elsewhere"))];
    let moved = Finder::new(&context).find(&codex, ID, None, None);
    assert!(matches!(moved, Artifact::Missing(path) if path.contains("/elsewhere/sessions/")));
}

/// As the source describes it; the program itself was never at hand.
#[test]
fn of_agy() {
    let home = tempfile::tempdir().unwrap();
    let context = context(&home);
    let agy = builtin("agy").unwrap();
    let root = ".gemini/antigravity-cli";
    let other = ID.replace('b', "c");
    let cache = format!(
        "{{\"/w\":\"{ID}\",\"/v\":\"{other}\",\"/u\":7,\"/o\":{{\"conversationId\":\"{ID}\"}}}}"
    );
    write(&context, &format!("{root}/cache/last_conversations.json"), &cache);
    let path = write(&context, &format!("{root}/conversations/{ID}.db"), "SQLite");
    let wal = write(&context, &format!("{root}/conversations/{ID}.db-wal"), "");
    let mut finder = Finder::new(&context);
    assert_eq!(ids(finder.in_folder(&agy, "/w", None, None)), [ID]);
    assert_eq!(ids(finder.in_folder(&agy, "/o", None, None)), [ID]);
    assert_eq!(finder.in_folder(&agy, "/v", None, None), [], "named, but not there");
    assert_eq!(finder.in_folder(&agy, "/u", None, None), []);
    assert_eq!(finder.find(&agy, ID, None, None), Artifact::Found(path.clone()));
    let path = PathBuf::from(path);
    assert_eq!(Finder::files(&agy, path.clone()), [path, PathBuf::from(wal)]);
}
