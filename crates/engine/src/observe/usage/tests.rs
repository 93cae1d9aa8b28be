use std::fs;
use std::path::Path;

use dogwatch_core::usage::Tokens;
use dogwatch_store::StateDir;
use dogwatch_tmux::{Server, Socket};

use super::*;
use crate::context::Caller;

fn context(home: &Path) -> Context {
    Context {
        state: StateDir::open(&home.join("state")).unwrap(),
        tmux: Server::new(Socket::Path(home.join("sock"))),
        socket: home.join("sock"),
        dogwatch: "dogwatch".into(),
        profiles: None,
        config: None,
        path: std::ffi::OsString::new(),
        home: Some(home.to_owned()),
        agent_roots: Vec::new(),
        host: "h".into(),
        caller: Caller::default(),
    }
}

fn answer(id: usize, conversation: &str) -> String {
    format!(
        "{{\"timestamp\":\"2026-11-16T10:{:02}:01Z\",\"sessionId\":\"{conversation}\",\"cwd\":\"/w\",\"message\":{{\"id\":\"m{id}\",\"model\":\"claude-opus-5-5\",\"usage\":{{\"input_tokens\":10,\"output_tokens\":{id}}}}}}}\n",
        id % 60
    )
}

fn total(context: &Context) -> Tokens {
    let query = Query { by: By::Day, since: None };
    let (report, notes) = report(context, query).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    report.total.tokens
}

#[test]
fn what_is_added_is_read_and_nothing_twice() {
    let tmp = tempfile::tempdir().unwrap();
    let context = context(tmp.path());
    assert_eq!(total(&context), Tokens::default(), "no agent at all");
    let folder = tmp.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("c1.jsonl");
    let mut text: String = (1..=3).map(|n| answer(n, "c1")).collect();
    let numbers = |tokens: Tokens| (tokens.input, tokens.output);
    fs::write(&path, &text).unwrap();
    assert_eq!(numbers(total(&context)), (30, 6));
    let fourth = answer(4, "c1");
    text.push_str(&fourth[..fourth.len() / 2]);
    fs::write(&path, &text).unwrap();
    assert_eq!(numbers(total(&context)), (30, 6), "half a line");
    text.push_str(&fourth[fourth.len() / 2..]);
    fs::write(&path, &text).unwrap();
    for _ in 0..2 {
        assert_eq!(numbers(total(&context)), (40, 10));
    }
    // A subagent and a fork.
    let deeper = folder.join("c1/subagents");
    fs::create_dir_all(&deeper).unwrap();
    fs::write(deeper.join("agent-1.jsonl"), answer(5, "c1")).unwrap();
    fs::write(folder.join("c2.jsonl"), text.replace("\"c1\"", "\"c2\"")).unwrap();
    assert_eq!(numbers(total(&context)), (50, 15));
    // Rewritten in the same length, truncated, and replaced.
    let other = text.replace("\"m1\"", "\"x1\"");
    fs::write(&path, &other).unwrap();
    assert_eq!(numbers(total(&context)), (50 + 10, 15 + 1));
    fs::write(&path, answer(7, "c1")).unwrap();
    assert_eq!(numbers(total(&context)), (70, 23));
    let new = folder.join("new");
    fs::write(&new, answer(7, "c1") + &answer(8, "c1")).unwrap();
    fs::rename(&new, &path).unwrap();
    assert_eq!(numbers(total(&context)), (80, 31));
    fs::remove_file(&path).unwrap();
    assert_eq!(numbers(total(&context)), (80, 31), "what was spent stays spent");
}

#[test]
fn a_cache_that_is_damaged_is_done_without() {
    let tmp = tempfile::tempdir().unwrap();
    let context = context(tmp.path());
    let folder = tmp.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("c1.jsonl"), answer(1, "c1")).unwrap();
    let garbage = b"not a database at all, and long enough to see that".repeat(20);
    fs::write(context.state.usage(), &garbage).unwrap();
    let (report, notes) = report(&context, Query { by: By::Session, since: None }).unwrap();
    assert_eq!((report.rows.len(), report.total.tokens.input), (1, 10));
    assert!(notes[0].contains("usage.db"), "{notes:?}");
    assert_eq!(fs::read(context.state.usage()).unwrap(), garbage);
}

#[test]
fn every_way_of_grouping_has_the_same_total() {
    let tmp = tempfile::tempdir().unwrap();
    let context = context(tmp.path());
    let folder = tmp.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let chats = tmp.path().join(".gemini/tmp/w/chats");
    fs::create_dir_all(&chats).unwrap();
    fs::write(tmp.path().join(".gemini/tmp/w/.project_root"), "/w").unwrap();
    let many: String = (1..50).map(|n| answer(n, if n % 2 == 0 { "c1" } else { "c2" })).collect();
    fs::write(folder.join("c1.jsonl"), many).unwrap();
    let gemini = "{\"sessionId\":\"g\"}\n{\"id\":\"x\",\"timestamp\":\"2026-11-16T12:00:00Z\",\"model\":\"double\",\"tokens\":{\"input\":5,\"output\":1}}\n";
    fs::write(chats.join("session-1.jsonl"), gemini).unwrap();
    for by in By::ALL {
        let (report, _) = report(&context, Query { by, since: None }).unwrap();
        let sum = report.rows.iter().fold(Tokens::default(), |sum, row| sum.and(row.used.tokens));
        assert_eq!(sum, report.total.tokens, "{by:?}");
        assert_eq!((sum.input, sum.output), (490 + 5, 1225 + 1), "{by:?}");
        assert_eq!(
            (report.total.unpriced.as_slice(), report.total.messages),
            (&["double".to_owned()][..], 50)
        );
        let keys: Vec<&str> = report.rows.iter().filter_map(|row| row.key.as_deref()).collect();
        match by {
            By::Agent => assert_eq!(keys, ["claude", "gemini"]),
            By::Project => assert_eq!(keys, ["/w"]),
            By::Model => assert_eq!(keys, ["claude-opus-5-5", "double"]),
            By::Session => assert_eq!(keys.len(), 3),
            By::Run | By::Tag => assert!(keys.is_empty()),
            By::Day | By::Hour => assert!(!keys.is_empty()),
        }
    }
    let since = "2026-11-16T11:00:00Z".parse().unwrap();
    let (late, _) = report(&context, Query { by: By::Agent, since: Some(since) }).unwrap();
    assert_eq!((late.rows.len(), late.total.tokens.input), (1, 5));
}

/// A line that is much longer than what is read at once.
#[test]
fn long_lines() {
    let tmp = tempfile::tempdir().unwrap();
    let context = context(tmp.path());
    let folder = tmp.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let long = format!("{{\"x\":\"{}\"}}\n", "y".repeat(9 * 1024 * 1024));
    let text = [answer(1, "c"), long, answer(2, "c")].concat();
    fs::write(folder.join("c.jsonl"), text).unwrap();
    assert_eq!(total(&context).output, 3);
}
