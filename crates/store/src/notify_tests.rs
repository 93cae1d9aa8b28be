use super::*;
use crate::{KeptState, StateDir};
use dogwatch_core::event::Subject;
use dogwatch_core::notice::Occasion;
use serde_json::json;

fn at(millisecond: i64) -> Timestamp {
    time(1_794_700_000_000 + millisecond)
}

fn store() -> (tempfile::TempDir, Store) {
    let tmp = tempfile::tempdir().unwrap();
    let store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
    (tmp, store)
}

fn notice(title: &str) -> Notice {
    Notice {
        occasion: Occasion::Waiting,
        at: at(0),
        host: "desk".into(),
        title: title.into(),
        text: String::new(),
        session: Some("dev".into()),
        data: serde_json::Value::Null,
        several: Vec::new(),
    }
}

fn planned(channel: &str, due: i64, batch: u64) -> Planned {
    Planned {
        channel: channel.into(),
        label: format!("the {channel}"),
        due: at(due),
        is_deferred: false,
        batch: Duration::from_millis(batch),
        unless_attached: None,
    }
}

fn add(store: &mut Store, what: NotifyWhat<'_>, now: i64, planned: &[Planned]) -> bool {
    let notice = notice("t");
    let event = NotifyEvent { at: at(now), session: "s", what, notice: &notice };
    store.add_notification(&event, planned).unwrap()
}

fn status(detail: &str, since: i64) -> NotifyWhat<'_> {
    NotifyWhat::Status { detail, since: Some(at(since)) }
}

#[test]
fn an_event_is_written_once() {
    let (_tmp, mut store) = store();
    let desktop = [planned("desktop", 0, 0)];
    assert!(add(&mut store, NotifyWhat::Key("job/1"), 0, &desktop));
    assert!(!add(&mut store, NotifyWhat::Key("job/1"), 9, &desktop));
    assert!(add(&mut store, NotifyWhat::Key("job/1"), 9, &[planned("new", 0, 0)]), "a new channel");
    assert!(add(&mut store, NotifyWhat::Key("job/2"), 9, &desktop));
    assert!(add(&mut store, status("waiting a", 0), 10, &desktop));
    assert!(!add(&mut store, status("waiting a", 0), 500, &desktop));
    assert!(!add(&mut store, status("waiting a\u{1f}d1", 0), 550, &desktop), "its dialog is seen");
    assert!(add(&mut store, status("waiting a\u{1f}d2", 0), 560, &desktop), "another dialog");
    assert!(add(&mut store, status("waiting b", 0), 600, &desktop), "another dialog");
    assert!(add(&mut store, status("waiting a", 0), 700, &desktop), "and back");
    assert!(add(&mut store, status("waiting a", 9_000), 9_001, &desktop), "it began later");
    assert!(!add(&mut store, status("waiting a", 9_000), 9_002, &desktop));
    let subject = Subject { id: "s".into(), name: "dev".into(), agent: "x".into() };
    for (key, seen) in [("unknown", 9_100), ("waiting a", 9_200)] {
        let status = json!({ "state": key.split(' ').next() });
        let state = KeptState { key: key.into(), since: at(seen), seen: at(seen), status };
        store.keep_states(&[(subject.clone(), state.clone())]).unwrap();
    }
    assert!(
        !add(&mut store, status("waiting a", 9_200), 9_201, &desktop),
        "it was not seen for a moment"
    );
    let working = json!({ "state": "working" });
    let state =
        KeptState { key: "working".into(), since: at(9_300), seen: at(9_300), status: working };
    store.keep_states(&[(subject.clone(), state.clone())]).unwrap();
    assert!(add(&mut store, status("waiting a", 9_400), 9_401, &desktop), "it has worked since");
    let times = |session: &str, since| store.times_of_event(session, "waiting a", at(since));
    assert_eq!(times("s", 9_000).unwrap(), 2);
    assert_eq!(times("s", 9_401).unwrap(), 1);
    assert_eq!(times("other", 0).unwrap(), 0);
}

#[test]
fn one_process_takes_what_is_due() {
    let (_tmp, mut store) = store();
    let both = [planned("desktop", 0, 500), planned("phone", 30_000, 500)];
    assert!(add(&mut store, NotifyWhat::Key("a"), 0, &both));
    assert!(add(&mut store, NotifyWhat::Key("b"), 100, &[planned("desktop", 100, 500)]));
    let ready = store.ready_channels(at(1)).unwrap();
    assert_eq!(ready, [("desktop".into(), at(500)), ("phone".into(), at(30_500))]);
    let taken = store.take_deliveries("desktop", at(500), at(60_000)).unwrap();
    assert_eq!(taken.len(), 2, "together");
    assert_eq!(store.take_deliveries("desktop", at(501), at(60_000)).unwrap(), [], "by one");
    let again = store.take_deliveries("desktop", at(60_000), at(99_000)).unwrap();
    assert_eq!(again.len(), 2, "its process was killed");
    let ids: Vec<i64> = again.iter().map(|one| one.id).collect();
    store.settle_deliveries(&ids[..1], DeliveryOutcome::Sent, at(60_100)).unwrap();
    let later = DeliveryOutcome::Again { at: at(65_000), because: "timeout" };
    store.settle_deliveries(&ids[1..], later, at(60_100)).unwrap();
    assert_eq!(store.take_deliveries("desktop", at(64_999), at(99_000)).unwrap(), []);
    let third = store.take_deliveries("desktop", at(65_000), at(99_000)).unwrap();
    assert_eq!((third.len(), third[0].attempts, third[0].is_deferred), (1, 1, true));
    store
        .settle_deliveries(&ids[1..], DeliveryOutcome::Failed { because: "404" }, at(65_100))
        .unwrap();
    assert_eq!(store.next_delivery(None).unwrap(), Some(at(30_500)));
    assert_eq!(store.next_delivery(Some("other")).unwrap(), None);
    let log = store.notify_log(10).unwrap();
    let states: Vec<_> =
        log.iter().map(|one| (one.channel.as_str(), one.state, one.attempts)).collect();
    assert_eq!(
        states,
        [
            ("the desktop", DeliveryState::Sent, 1),
            ("the phone", DeliveryState::Waiting, 0),
            ("the desktop", DeliveryState::Failed, 2),
        ]
    );
    let health = store.channel_health().unwrap();
    assert_eq!(health.len(), 1);
    assert_eq!((health[0].failed, health[0].because.as_deref()), (1, Some("404")));
}

#[test]
fn the_list_has_a_limited_length() {
    let (_tmp, mut store) = store();
    assert!(add(&mut store, NotifyWhat::Key("first"), 0, &[planned("desktop", 0, 0)]));
    let jump = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'notify_events'";
    store.connection.execute(jump, [MOST_EVENTS + TRIM_EVERY - 1]).unwrap();
    assert!(add(&mut store, NotifyWhat::Key("last"), 1, &[planned("desktop", 0, 0)]));
    assert_eq!(store.notify_log(10).unwrap().len(), 1);
}

/// It would be due for ever, and its channel ready.
#[test]
fn what_cannot_be_read_has_failed() {
    let (_tmp, mut store) = store();
    assert!(add(&mut store, NotifyWhat::Key("a"), 0, &[planned("desktop", 0, 0)]));
    assert!(add(&mut store, NotifyWhat::Key("b"), 0, &[planned("desktop", 0, 0)]));
    let spoil = "UPDATE notify_events SET notice = '{' WHERE key = 'a'";
    store.connection.execute(spoil, []).unwrap();
    assert_eq!(store.take_deliveries("desktop", at(1), at(2)).unwrap().len(), 1);
    let states = "SELECT state FROM notify_deliveries ORDER BY event";
    let states: Vec<String> = store
        .connection
        .prepare(states)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(states, ["failed", "waiting"]);
}

#[test]
fn what_is_put_off_was_not_tried() {
    let (_tmp, mut store) = store();
    assert!(add(&mut store, NotifyWhat::Key("a"), 0, &[planned("desktop", 0, 0)]));
    let taken = store.take_deliveries("desktop", at(1), at(2)).unwrap();
    let later = DeliveryOutcome::Later { at: at(9), because: "attached" };
    store.settle_deliveries(&[taken[0].id], later, at(1)).unwrap();
    assert_eq!(store.take_deliveries("desktop", at(8), at(9)).unwrap(), []);
    assert_eq!(store.take_deliveries("desktop", at(9), at(10)).unwrap()[0].attempts, 0);
}

/// A dialog that could not be seen at first gets its name, and stays one event.
#[test]
fn a_dialog_is_named_later() {
    let (_tmp, mut store) = store();
    let desktop = [planned("desktop", 0, 0)];
    assert!(add(&mut store, status("waiting permission", 0), 0, &desktop));
    assert!(!add(&mut store, status("waiting permission\u{1f}one", 0), 1, &desktop));
    let detail = store.last_event_detail("s").unwrap();
    assert_eq!(detail.as_deref(), Some("waiting permission\u{1f}one"));
    assert!(add(&mut store, status("waiting permission\u{1f}two", 0), 2, &desktop), "another");
}
