use super::*;
use dogwatch_core::usage::{Format, State, read};

fn dir() -> (tempfile::TempDir, StateDir) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = StateDir::open(&tmp.path().join("state")).unwrap();
    (tmp, dir)
}

fn line(conversation: &str, id: usize, output: u64) -> String {
    format!(
        r#"{{"timestamp":"2026-11-16T10:{:02}:01Z","sessionId":"{conversation}","cwd":"/w","message":{{"id":"m{id}","model":"m","usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#,
        id % 60
    )
}

fn file(path: &str, lines: &[String]) -> ReadFile {
    let (mut batch, mut state) = (Batch::default(), State::default());
    read(Format::Claude, lines.join("\n").as_bytes(), &mut state, &mut batch);
    ReadFile { path: path.to_owned(), agent: "claude", file: KnownFile::default(), batch }
}

fn sum(cache: &UsageCache) -> (u64, u64, u64) {
    let buckets = cache.buckets(None).unwrap();
    let tokens = buckets.iter().fold(Tokens::default(), |sum, b| sum.and(b.tokens));
    (buckets.iter().map(|b| b.messages).sum(), tokens.input, tokens.output)
}

#[test]
fn an_answer_counts_once_however_often_it_is_read() {
    let (_tmp, dir) = dir();
    let mut cache = UsageCache::open(&dir).unwrap();
    let one = [line("c1", 1, 1), line("c1", 2, 5)];
    // A fork, and an answer that was not complete.
    let fork = [line("c2", 1, 7), line("c2", 2, 5), line("c2", 3, 1)];
    cache.add(&[file("a", &one), file("b", &fork)]).unwrap();
    assert_eq!(sum(&cache), (3, 30, 13));
    for _ in 0..2 {
        cache.add(&[file("b", &fork), file("a", &one)]).unwrap();
        assert_eq!(sum(&cache), (3, 30, 13));
    }
    cache.add(&[file("a", &[line("c1", 3, 4)])]).unwrap();
    assert_eq!(sum(&cache), (3, 30, 16), "it has grown");
    let of = |conversation| {
        let buckets = cache.buckets_of("claude", conversation, 0).unwrap();
        buckets.iter().map(|b| b.messages).sum::<u64>()
    };
    assert_eq!((of("c1"), of("c2"), of("c3")), (2, 1, 0));
}

#[test]
fn many_processes_may_add_the_same() {
    let (_tmp, dir) = dir();
    let lines: Vec<String> = (0..500).map(|n| line("c", n, 2)).collect();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| UsageCache::open(&dir).unwrap().add(&[file("a", &lines)]).unwrap());
        }
    });
    assert_eq!(sum(&UsageCache::open(&dir).unwrap()), (500, 5000, 1000));
}

#[test]
fn a_damaged_or_newer_cache_is_left_alone() {
    let (_tmp, dir) = dir();
    std::fs::write(dir.usage(), b"not a database, and longer than its header would be".repeat(9))
        .unwrap();
    assert!(matches!(UsageCache::open(&dir), Err(StoreError::Corrupt { .. })));
    std::fs::remove_file(dir.usage()).unwrap();
    let connection = Connection::open(dir.usage()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(UsageCache::open(&dir), Err(StoreError::Newer { .. })));
}

#[test]
fn files_and_links_are_kept() {
    let (_tmp, dir) = dir();
    let mut cache = UsageCache::open(&dir).unwrap();
    let known = KnownFile {
        size: 9,
        modified: 7,
        inode: u64::MAX,
        offset: 8,
        tail: -1,
        state: "{}".into(),
    };
    let read =
        ReadFile { path: "p".into(), agent: "codex", file: known.clone(), batch: Batch::default() };
    cache.add(&[read]).unwrap();
    assert_eq!(cache.file("p").unwrap(), Some(known.clone()));
    assert_eq!(cache.files().unwrap(), HashMap::from([("p".to_owned(), known)]));
    let mut store = Store::open(&dir).unwrap();
    let signal = |session: &str, event: &str, payload: &str| crate::Signal {
        session: session.into(),
        at: jiff::Timestamp::UNIX_EPOCH,
        agent: "claude".into(),
        event: event.into(),
        payload: payload.into(),
        spooled: false,
    };
    let named = r#"{"session_id":"c1"}"#;
    store
        .keep_signals(&[
            signal("s1", "SessionStart", named),
            signal("s1", "Stop", r#"{"session_id":"c9"}"#),
            signal("s1", "SessionStart", "half {"),
        ])
        .unwrap();
    cache.take_links(&store).unwrap();
    store.keep_signals(&[signal("s2", "SessionStart", named)]).unwrap();
    cache.take_links(&store).unwrap();
    assert_eq!(cache.links().unwrap(), HashMap::from([("c1".into(), "s2".into())]));
    assert_eq!(cache.conversations_of("s2").unwrap(), ["c1"]);
}
