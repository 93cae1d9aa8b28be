use super::*;
use crate::Look;
use crate::StateDir;
use dogwatch_core::record::{Cause, Exit};

fn store() -> (tempfile::TempDir, Store) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = StateDir::open(&tmp.path().join("state")).unwrap();
    let store = Store::open(&dir).unwrap();
    (tmp, store)
}

fn new(id: &str) -> NewSession<'_> {
    NewSession {
        id,
        agent: "claude",
        project: Path::new("/p"),
        cwd: Path::new("/p/sub"),
        story: None,
        model: None,
        conversation: None,
        command: &[],
        socket: Path::new("/s"),
        created: Timestamp::UNIX_EPOCH,
        seat: None,
    }
}

#[test]
fn a_seat_in_a_team() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    let seat = Seat {
        role: "dev".into(),
        master: "%0".into(),
        spawner: "%1".into(),
        session_file: "/p/s.md".into(),
    };
    let with_seat = NewSession { seat: Some(&seat), ..new("a") };
    store.register(&with_seat, Wanted::Exactly(&name), &[]).unwrap().unwrap();
    store.register(&new("b"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let found: Vec<_> =
        store.sessions(Path::new("/s"), false).unwrap().into_iter().map(|s| s.seat).collect();
    assert_eq!(found, [Some(seat), None]);
}

#[test]
fn names_are_numbered_until_one_is_free() {
    let (_tmp, mut store) = store();
    let base = SessionName::new("sa-x").unwrap();
    let mut take = |id: &str, skip: &[SessionName]| {
        let name = store.register(&new(id), Wanted::OrNumbered(&base), skip).unwrap().unwrap();
        name.as_str().to_owned()
    };
    assert_eq!(take("a", &[]), "sa-x");
    assert_eq!(take("b", &[]), "sa-x-n2");
    assert_eq!(take("c", &[base.numbered(3).unwrap()]), "sa-x-n4");
}

#[test]
fn an_end_is_told_once() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    store.register(&new("a"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
    let first = Ended { at, exit: Exit::Code(3), cause: Cause::Itself, error: None };
    let second = Ended { exit: Exit::Code(4), ..first.clone() };
    store.ended("a", &first).unwrap();
    store.ended("a", &second).unwrap();
    let found = store.named(Path::new("/s"), "x").unwrap();
    assert_eq!(found[0].ended, Some(first));
    let events: Vec<String> =
        store.journal("a").unwrap().into_iter().map(|e| e.event.kind).collect();
    assert_eq!(events, ["created", "ended"]);
}

#[test]
fn strangers_are_forgotten_in_time() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    store.register(&new("ours"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let at = |second| Timestamp::from_second(second).unwrap();
    for (id, second) in [("ours", 100), ("%1-7-9", 100), ("%2-8-9", 900)] {
        let (session, print) = (id.to_owned(), "print".to_owned());
        store.keep_looks(&[Look { session, print, moved: at(second) }]).unwrap();
    }
    store.forget_strangers(at(500)).unwrap();
    let left = |id| store.last_look(id).unwrap().is_some();
    assert_eq!([left("ours"), left("%1-7-9"), left("%2-8-9")], [true, false, true]);
}

#[test]
fn found_by_the_start_of_an_id() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    for id in ["01a1de6c-11ac-7930", "01a1de6c-11ad-7930"] {
        store.register(&new(id), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    }
    let found = |id: &str| store.by_id(id).unwrap().map(|s| s.id);
    assert_eq!(found("01a1de6c-11ac").as_deref(), Some("01a1de6c-11ac-7930"));
    assert_eq!(found("01a1de6c"), None, "two fit");
    assert_eq!(found("01a1"), None, "too short");
    assert_eq!(found("x' OR 1=1"), None);
}
