use super::*;
use dogwatch_core::search::expression;

fn index() -> (tempfile::TempDir, StateDir, SearchIndex) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = StateDir::open(&tmp.path().join("state")).unwrap();
    let index = SearchIndex::open(&dir).unwrap();
    (tmp, dir, index)
}

fn doc(text: &str, said: &'static str, at: i64) -> Doc {
    Doc { text: text.to_owned(), said, at: Some(at) }
}

fn addition<'a>(path: &'a str, from: Option<u64>, to: u64, docs: &'a [Doc]) -> Addition<'a> {
    Addition {
        path,
        agent: "claude",
        conversation: Some("c"),
        cwd: Some("/w"),
        title: None,
        from,
        read_to: to,
        print: 7,
        length: to,
        modified: 1,
        docs,
    }
}

/// Paths and snippets of what is found.
fn found(index: &SearchIndex, text: &str) -> Vec<(String, String)> {
    let Some(expression) = expression(text) else { return Vec::new() };
    let question = Question { expression: &expression, limit: 3, marks: ("[", "]") };
    let (found, _) = index.ask(&question, |_| true).unwrap();
    found.into_iter().map(|found| (found.source.path, found.snippet)).collect()
}

#[test]
fn texts_are_found_by_words_and_the_newest_first() {
    let (_tmp, _dir, mut index) = index();
    let old = [doc("The Limiter counts größe per key", "person", 10)];
    let new = [doc("we limit by address", "agent", 20), doc("the limiter again", "agent", 30)];
    let headed = [doc("Limiter of the API", "title", 1), doc("nothing", "agent", 5)];
    assert!(index.add(&addition("/old", Some(0), 9, &old)).unwrap());
    assert!(index.add(&addition("/new", Some(0), 9, &new)).unwrap());
    assert!(index.add(&addition("/headed", None, 9, &headed)).unwrap());
    let paths =
        |text: &str| -> Vec<String> { found(&index, text).into_iter().map(|(p, _)| p).collect() };
    assert_eq!(paths("limiter"), ["/headed", "/new", "/old"]);
    assert_eq!(paths("GROSSE limiter"), [] as [&str; 0]);
    assert_eq!(paths("grösse"), [] as [&str; 0]);
    assert_eq!(paths("GROßE"), ["/old"], "case and accents do not count");
    assert_eq!(paths("limiter key"), ["/old"], "all words");
    assert_eq!(found(&index, "again")[0].1, "the limiter [again]");
    for hostile in [
        "limiter OR nothing",
        "lim*",
        "\"",
        "NEAR(limiter key)",
        "text:limiter",
        "-limiter nothing",
        "{",
        "limiter\"",
        "'; DROP TABLE texts; --",
    ] {
        let _ = found(&index, hostile);
    }
    assert_eq!(
        paths("limiter\""),
        ["/headed", "/new", "/old"],
        "a quotation mark is no part of a word"
    );
    assert_eq!(paths("lim*"), [] as [&str; 0]);
    let (few, more) = index
        .ask(&Question { expression: "\"limiter\"", limit: 1, marks: ("", "") }, |source| {
            source.path != "/headed"
        })
        .unwrap();
    assert_eq!((few[0].source.path.as_str(), more), ("/new", true));
}

#[test]
fn a_source_is_continued_only_where_it_was_left() {
    let (_tmp, _dir, mut index) = index();
    let one = [doc("alpha", "person", 1)];
    let two = [doc("beta", "person", 2)];
    assert!(index.add(&addition("/a", Some(0), 5, &one)).unwrap());
    assert!(!index.add(&addition("/a", Some(0), 5, &one)).unwrap(), "another process was faster");
    assert!(index.add(&addition("/a", Some(5), 9, &two)).unwrap());
    assert!(!index.add(&addition("/b", Some(5), 9, &two)).unwrap(), "nothing of it is known");
    assert_eq!((found(&index, "alpha").len(), found(&index, "beta").len()), (1, 1));
    assert!(index.add(&addition("/a", None, 3, &two)).unwrap());
    assert_eq!((found(&index, "alpha").len(), found(&index, "beta").len()), (0, 1), "replaced");
    let id = index.sources().unwrap()["/a"].id;
    index.forget(&[id]).unwrap();
    assert_eq!((found(&index, "beta").len(), index.sources().unwrap().len()), (0, 0));
}

#[test]
fn a_word_that_is_everywhere() {
    let (_tmp, _dir, mut index) = index();
    let docs: Vec<Doc> = (0..6000).map(|n| doc("the same word", "agent", n)).collect();
    for path in ["/a", "/b", "/c", "/d", "/e"] {
        assert!(index.add(&addition(path, Some(0), 9, &docs)).unwrap());
    }
    assert_eq!(found(&index, "word").len(), 3);
}

#[test]
fn a_damaged_index_is_made_again() {
    let (_tmp, dir, mut index) = index();
    assert!(index.add(&addition("/a", Some(0), 5, &[doc("alpha", "person", 1)])).unwrap());
    drop(index);
    SearchIndex::remove(&dir);
    fs::write(SearchIndex::path(&dir), b"this is not a database, and it is long enough".repeat(9))
        .unwrap();
    let index = SearchIndex::open(&dir).unwrap();
    assert_eq!(index.sources().unwrap().len(), 0);
}

#[test]
fn many_processes_may_write_together() {
    let (_tmp, dir, index) = index();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                let mut index = SearchIndex::open(dir).unwrap();
                let docs = [doc("alpha", "person", n)];
                for m in 0..20 {
                    assert!(index.add(&addition(&format!("/{n}/{m}"), Some(0), 5, &docs)).unwrap());
                }
            });
        }
    });
    assert_eq!(index.sources().unwrap().len(), 80);
}

/// An agent finds a title for its conversation after some time.
#[test]
fn a_title_that_came_later_is_first_too() {
    let (_tmp, _dir, mut index) = index();
    let begun: Vec<Doc> = (0..9).map(|n| doc("the limiter", "agent", n)).collect();
    assert!(index.add(&addition("/titled", Some(0), 9, &begun)).unwrap());
    let later = [doc("Limiter of the API", "title", 10)];
    let titled =
        Addition { title: Some("Limiter of the API"), ..addition("/titled", Some(9), 10, &later) };
    assert!(index.add(&titled).unwrap());
    let new = [doc("the limiter again", "agent", 99)];
    assert!(index.add(&addition("/new", Some(0), 9, &new)).unwrap());
    let found = found(&index, "limiter");
    assert_eq!(found[0], ("/titled".to_owned(), "[Limiter] of the API".to_owned()));
    assert_eq!(found[1].0, "/new");
}
