use super::*;
use crate::StateDir;
use dogwatch_core::record::ProcessIdent;
use serde_json::json;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_000 + second).unwrap()
}

fn new(began: i64, until: Option<i64>) -> NewLimit<'static> {
    NewLimit {
        session: "s",
        account: "claude /h/.claude",
        began: at(began),
        until: until.map(at),
        due: at(began + 60),
        told: true,
        guessed: until.is_none(),
        text: "limit reached",
    }
}

#[test]
fn a_limit_is_settled_once_with_its_message() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = StateDir::open(&tmp.path().join("s")).unwrap();
    let mut store = Store::open(&dir).unwrap();
    assert!(store.arm_limit(&new(0, Some(60)), at(1)).unwrap());
    assert!(!store.arm_limit(&new(0, Some(60)), at(2)).unwrap(), "known");
    let limit = store.last_limit("s").unwrap().unwrap();
    assert_eq!((limit.action, limit.settled), (LimitAction::Armed, None));
    let terms = json!({ "when": "idle" });
    let message = |id| NewMessage {
        id,
        session: "s",
        text: "go on",
        slash: false,
        terms: &terms,
        sender: ProcessIdent { pid: 0, start: 0 },
        posted: at(61),
    };
    let mut others = Store::open(&dir).unwrap();
    let act = |store: &mut Store, id: &'static str| {
        store.settle_limit(limit.id, LimitAction::Acting, None, Some(id), &[message(id)], at(61))
    };
    assert!(act(&mut store, "m1").unwrap());
    assert!(!act(&mut others, "m2").unwrap(), "one process continues it");
    assert_eq!(store.message("m2").unwrap(), None);
    assert_eq!(store.next_message("s").unwrap().unwrap().id.as_str(), "m1");
    assert_eq!(store.continued_in_a_row("s").unwrap(), 1);
    assert!(store.finish_limit(limit.id, LimitAction::Continued, None, at(62)).unwrap());
    assert!(!others.finish_limit(limit.id, LimitAction::Failed, None, at(63)).unwrap());
    let told: Vec<_> = store.journal("s").unwrap().into_iter().map(|entry| entry.event).collect();
    let words: Vec<_> = told
        .iter()
        .filter(|event| event.kind == kind::LIMIT)
        .map(|event| event.data["action"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["armed", "acting", "continued"]);
    store.limits_are_over("s", at(70)).unwrap();
    assert_eq!(store.continued_in_a_row("s").unwrap(), 0);
}

#[test]
fn accounts_and_pauses() {
    let tmp = tempfile::tempdir().unwrap();
    let mut store = Store::open(&StateDir::open(&tmp.path().join("s")).unwrap()).unwrap();
    let account = "claude /h/.claude";
    for policy in [WhenLimited::Wait, WhenLimited::Notify] {
        let (session, account) = ("s".into(), account.to_owned());
        let (message, retry_after) = ("go on".to_owned(), 300);
        let new = LimitPolicy { session, account, policy, message, retry_after };
        store.set_limit_policy(&new, at(0)).unwrap();
    }
    assert_eq!(store.limit_policy("s").unwrap().unwrap().policy, WhenLimited::Notify);
    assert_eq!(store.limit_policy("other").unwrap(), None);
    store.arm_limit(&new(0, Some(60)), at(1)).unwrap();
    store.arm_limit(&new(100, Some(600)), at(101)).unwrap();
    assert_eq!(store.open_limits().unwrap().len(), 1, "the newer one takes its place");
    let ends = |store: &Store, now| {
        let found = store.account_limits(account, at(now)).unwrap();
        found.first().and_then(|limit| limit.until)
    };
    assert_eq!(ends(&store, 200), Some(at(600)));
    assert_eq!(ends(&store, 700), None);
    assert_eq!(store.limits_paused().unwrap(), None);
    assert!(store.pause_limits(true, "ann", at(5)).unwrap());
    assert!(!store.pause_limits(true, "bob", at(6)).unwrap());
    assert_eq!(store.limits_paused().unwrap(), Some(at(5)));
    assert!(store.pause_limits(false, "ann", at(7)).unwrap());
    assert_eq!(store.limits_paused().unwrap(), None);
}
