//! Titles, tags and the archive.

use dogwatch_testkit::{TestEnv, eventually};
use serde_json::Value;

use crate::registry::Registry as _;

fn names(told: &Value) -> Vec<&str> {
    told["sessions"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect()
}

#[test]
fn tags_are_added_listed_filtered_and_removed() {
    let env = TestEnv::new();
    let sleep = ["--", "sleep", "300"];
    let tagged = ["spawn", "--name", "one", "--tag", "backend", "-t", "urgent"];
    let _ = env.dogwatch(&[&tagged[..], &sleep].concat()).success();
    env.spawn_script("two", "exec sleep 300");
    let added = env.dogwatch(&["tag", "add", "two", "urgent", "größe", "urgent", "--json"]);
    assert_eq!(added.success().json()["tags"], serde_json::json!(["größe", "urgent"]));
    let table: [(&[&str], &[&str]); 4] = [
        (&["--tag", "urgent"], &["one", "two"]),
        (&["--tag", "urgent,backend"], &["one"]),
        (&["--tag", "urgent", "--tag", "größe"], &["two"]),
        (&["--tag", "other"], &[]),
    ];
    for (filter, want) in table {
        for list in ["status", "ls"] {
            let told = env.dogwatch(&[&[list, "--json"], filter].concat()).success().json();
            let mut found = names(&told);
            found.sort_unstable();
            assert_eq!(found, want, "{list} {filter:?}");
        }
    }
    insta::assert_snapshot!(env.dogwatch(&["tag", "ls"]).success(), @r"
    TAG      SESSIONS
    backend  one
    größe    two
    urgent   one two
    ");
    insta::assert_snapshot!(env.dogwatch(&["tag", "rm", "one", "urgent", "absent"]), @"one: backend");
    insta::assert_snapshot!(env.dogwatch(&["tag", "rm", "two", "--all"]), @"two: no tags");
    let events = env.dogwatch(&["events", "--kind", "tagged", "--json"]).success();
    let last = events.text().lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(
        (&last["session"]["name"], &last["data"]["tags"]),
        (&"two".into(), &serde_json::json!([]))
    );
}

#[test]
fn bad_tags_and_titles_change_nothing() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    for bad in ["", "two words", "a,b", "*", "x\u{1b}[31m", &"x".repeat(41)] {
        let _ = env.dogwatch(&["tag", "add", "one", "fine", bad]).code(2);
    }
    let many: Vec<String> = (0..21).map(|n| format!("t{n}")).collect();
    let all: Vec<&str> =
        ["tag", "add", "one"].into_iter().chain(many.iter().map(String::as_str)).collect();
    let _ = env.dogwatch(&all).code(2);
    let _ = env.dogwatch(&["tag", "add", "nobody", "x"]).code(3);
    let _ = env.dogwatch(&["rename", "one", &"x".repeat(201)]).code(2);
    let _ = env.dogwatch(&["rename", "nobody", "x"]).code(3);
    let _ = env.dogwatch(&["spawn", "--name", "two", "--tag", "a b", "--", "true"]).code(2);
    let told = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(names(&told), ["one"]);
    assert_eq!(told["sessions"][0]["tags"], serde_json::json!([]));
    assert_eq!(told["sessions"][0]["title"], Value::Null);
}

#[test]
fn two_at_once_lose_no_tag() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let env = &env;
            scope.spawn(move || {
                let _ = env.dogwatch(&["tag", "add", "one", &format!("t{n}")]).success();
            });
        }
    });
    let told = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(told["sessions"][0]["tags"].as_array().unwrap().len(), 8, "{told:#}");
}

#[test]
fn a_title_is_shown_and_removed() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    insta::assert_snapshot!(env.dogwatch(&["rename", "one", "Rate  limits", "of\nthe API"]), @"one: Rate limits of the API");
    let told = env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(told["sessions"][0]["title"], "Rate limits of the API");
    let named = env.dogwatch(&["events", "--kind", "renamed", "--json"]).success().json();
    assert_eq!(named["data"]["title"], "Rate limits of the API");
    insta::assert_snapshot!(env.dogwatch(&["rename", "one", "--clear"]), @"one: no title");
}

#[test]
fn an_unmanaged_agent_is_labelled_too() {
    let env = TestEnv::with_claude();
    env.by_hand("mine");
    eventually("it is found", || {
        let told = env.dogwatch(&["status", "--json"]).success().json();
        told["sessions"].as_array().is_some_and(|all| !all.is_empty())
    });
    let _ = env.dogwatch(&["tag", "add", "mine", "urgent"]).success();
    let told = env.dogwatch(&["status", "--tag", "urgent", "--json"]).success().json();
    assert_eq!(names(&told), ["mine"]);
    let _ = env.dogwatch(&["archive", "mine"]).code(3);
}

#[test]
fn archived_sessions_leave_the_lists_and_come_back() {
    let env = TestEnv::new();
    env.spawn_script("live", "exec sleep 300");
    env.spawn_script("ended", "echo bye; exit 3");
    env.wait_state("ended", "crashed");
    let refused = env.dogwatch(&["archive", "ended", "live"]).code(4);
    assert!(refused.stderr.contains("dogwatch kill live"), "{refused}");
    let list = |args: &[&str]| {
        let told = env.dogwatch(&[args, &["--json"]].concat()).success().json();
        let mut names: Vec<String> = names(&told).iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    assert_eq!(list(&["ls"]), ["ended", "live"], "if one runs, none is archived");
    insta::assert_snapshot!(env.dogwatch(&["archive", "ended"]), @"ended: archived");
    insta::assert_snapshot!(env.dogwatch(&["archive", "ended"]), @"ended: was archived already");
    for command in ["ls", "status"] {
        assert_eq!(list(&[command]), ["live"]);
        assert_eq!(list(&[command, "--archived"]), ["ended"]);
    }
    assert!(env.dogwatch(&["capture", "ended"]).success().text().contains("bye"));
    insta::assert_snapshot!(env.dogwatch(&["unarchive", "ended"]), @"ended: back from the archive");
    insta::assert_snapshot!(env.dogwatch(&["unarchive", "ended"]), @"ended: was not archived");
    assert_eq!(list(&["ls"]), ["ended", "live"]);
    let _ = env.dogwatch(&["unarchive", "nobody"]).code(3);
    let kinds = env.dogwatch(&["events", "--json"]).success();
    assert!(kinds.text().contains("\"unarchived\""), "{kinds}");
    // `kill` archives what it ends.
    let _ = env.dogwatch(&["kill", "live"]).success();
    assert_eq!(list(&["status", "--archived"]), ["live"]);
}
