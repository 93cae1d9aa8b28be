use super::*;
use crate::StateDir;
use crate::{Look, NewCallback};
use dogwatch_core::record::{Cause, Exit};
use jiff::SignedDuration;

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
        tags: &[],
        membership: None,
        subscriber: None,
        limits: None,
        prompt: None,
    }
}

#[test]
fn a_team_membership_is_stored() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    let membership = TeamMembership {
        role: "dev".into(),
        master: "%0".into(),
        spawner: "%1".into(),
        session_file: "/p/s.md".into(),
    };
    let with_membership = NewSession { membership: Some(&membership), ..new("a") };
    store.register(&with_membership, Wanted::Exactly(&name), &[]).unwrap().unwrap();
    store.register(&new("b"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let found: Vec<_> = store
        .sessions(Path::new("/s"), Which::InTeams)
        .unwrap()
        .into_iter()
        .map(|s| s.membership)
        .collect();
    assert_eq!(found, [Some(membership)]);
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
fn an_end_is_journalled_once() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    store.register(&new("a"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
    let first = Ended {
        at,
        exit: Exit::Code(3),
        cause: Cause::Itself,
        error: None,
        by: None,
        hangup: None,
    };
    let second = Ended { exit: Exit::Code(4), ..first.clone() };
    store.ended("a", &first).unwrap();
    store.ended("a", &second).unwrap();
    let found = store.named(Path::new("/s"), "x").unwrap();
    assert_eq!(found[0].ended(), Some(&first));
    let events: Vec<String> =
        store.journal("a").unwrap().into_iter().map(|e| e.event.kind).collect();
    assert_eq!(events, ["created", "ended"]);
}

#[test]
fn data_of_unmanaged_agents_is_removed_in_time() {
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
fn a_session_is_found_by_a_prefix_of_its_id() {
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

#[test]
fn lists_have_live_sessions_and_those_that_ended_recently() {
    let (_tmp, mut store) = store();
    let now = Timestamp::from_second(1_794_700_000).unwrap();
    let hours_ago = |hours| now - SignedDuration::from_hours(hours);
    let mut add = |id: &str, over: Option<i64>, lost: bool| {
        let name = SessionName::new(id).unwrap();
        store.register(&new(id), Wanted::Exactly(&name), &[]).unwrap().unwrap();
        match over.map(hours_ago) {
            Some(at) if lost => store.lost(&[id], at).unwrap(),
            Some(at) => {
                let (exit, cause) = (Exit::Code(0), Cause::Itself);
                store
                    .ended(id, &Ended { at, exit, cause, error: None, by: None, hangup: None })
                    .unwrap();
            }
            None => {}
        }
    };
    add("lives", None, false);
    add("ended-long-ago", Some(25), false);
    add("lost-long-ago", Some(25), true);
    add("lost-lately", Some(2), true);
    for n in 0..=MOST_OVER {
        add(&format!("ended-{n:03}"), Some(1), false);
    }
    let shown = |store: &Store, which| -> Vec<String> {
        let found = store.sessions(Path::new("/s"), which).unwrap();
        found.into_iter().map(|session| session.id.into()).collect()
    };
    let current = shown(&store, Which::current(now));
    assert!(current.contains(&"lives".to_owned()));
    assert_eq!(current.len(), 1 + usize::try_from(MOST_OVER).unwrap());
    assert!(!current.iter().any(|id| id.ends_with("long-ago") || id == "lost-lately"));
    assert_eq!(store.count_over(Path::new("/s")).unwrap(), MOST_OVER + 4);
    store.archive("lives", now).unwrap();
    assert!(!shown(&store, Which::current(now)).contains(&"lives".to_owned()));
    assert_eq!(shown(&store, Which::All).len(), 5 + usize::try_from(MOST_OVER).unwrap());
}

#[test]
fn lists_do_not_read_the_rows_of_other_sessions() {
    let (_tmp, store) = store();
    let plan = |sql: &str| -> String {
        let mut plan = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let listed = "FROM sessions WHERE socket = 's' AND put_away IS NULL";
    for sql in [
        format!("SELECT name {listed} AND over IS NULL"),
        format!("SELECT name {listed} AND over >= 7 ORDER BY over DESC LIMIT 9"),
    ] {
        assert!(
            plan(&sql).contains("sessions_by_over (socket=? AND put_away=? AND over"),
            "{}",
            plan(&sql)
        );
    }
}

#[test]
fn many_sessions_are_removed_together() {
    let (_tmp, mut store) = store();
    let ids: Vec<String> = (0..250).map(|n| format!("id-{n}")).collect();
    let name = SessionName::new("x").unwrap();
    for id in &ids {
        store.register(&new(id), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    }
    let most: Vec<&str> = ids[1..].iter().map(String::as_str).collect();
    store.forget_all(&most).unwrap();
    assert_eq!(store.all_ids().unwrap(), ["id-0"]);
    assert_eq!(store.journal("id-7").unwrap().len(), 1, "only that the session was removed");
}

#[test]
fn a_stage_has_the_recorded_data() {
    let (_tmp, mut store) = store();
    let name = SessionName::new("x").unwrap();
    store.register(&new("a"), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    let found = |store: &Store| store.named(Path::new("/s"), "x").unwrap().remove(0);
    assert_eq!(found(&store).stage, Stage::Made);
    let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
    let process = dogwatch_core::record::ProcessIdent { pid: 7, start: 1 };
    let started = Started { at, runner: process, agent: process, pane: None };
    store.started("a", &started).unwrap();
    let mut session = found(&store);
    assert_eq!((session.started().map(|s| s.agent), session.is_over()), (Some(process), false));
    store.lost(&["a"], at).unwrap();
    let lost = found(&store);
    assert!(matches!(lost.stage, Stage::Lost { started: Some(_), found } if found == at));
    assert!(lost.is_over() && lost.ended().is_none());
    // A record that is found later.
    let ended = Ended {
        at,
        exit: Exit::Code(3),
        cause: Cause::Itself,
        error: None,
        by: None,
        hangup: None,
    };
    store.ended("a", &ended).unwrap();
    assert_eq!(found(&store).ended(), Some(&ended));
    session.set_lost(at);
    session.set_ended(ended.clone());
    assert_eq!((session.ended(), session.started().is_some()), (Some(&ended), true));
}

/// The lead is busy while its worker is removed: it hears of both what happened and the end. Nothing is kept for a lead that is gone.
#[test]
fn what_a_living_session_is_to_be_told_outlives_the_worker() {
    let (_tmp, mut store) = store();
    for id in ["lead", "gone", "worker"] {
        let name = SessionName::new(id).unwrap();
        store.register(&new(id), Wanted::Exactly(&name), &[]).unwrap().unwrap();
    }
    let at = Timestamp::UNIX_EPOCH;
    for (subscriber, job) in [("lead", None), ("lead", Some("j")), ("gone", None)] {
        let new = NewCallback { subscriber, session: "worker", job, at };
        store.add_callback(&new).unwrap();
    }
    let number = store.callbacks("lead").unwrap()[0].number;
    assert!(store.tell_callback(number, "limited", "worker is limited", false, at).unwrap());
    store.forget("gone").unwrap();
    store.forget("worker").unwrap();
    store.forget_strangers(Timestamp::now()).unwrap();
    let news = store.callback_news("lead").unwrap();
    let texts: Vec<&str> = news.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["worker is limited", "worker is gone: its session was removed."]);
    assert_eq!(store.callback_subscribers().unwrap(), ["lead"]);
    store.forget("lead").unwrap();
    assert!(store.callback_subscribers().unwrap().is_empty());
}

/// The policy and the prompt of a session are recorded with it, or it is not recorded.
#[test]
fn a_session_is_registered_with_what_belongs_to_it_or_not_at_all() {
    let (_tmp, mut store) = store();
    let policy = LimitPolicy {
        session: "a".into(),
        account: "account".to_owned(),
        policy: dogwatch_core::limits::WhenLimited::Wait,
        message: "go on".to_owned(),
        retry_after: 60,
    };
    let terms = serde_json::json!({});
    let sender = dogwatch_core::record::ProcessIdent { pid: 0, start: 0 };
    let message = |session: &'static str| NewMessage {
        id: "m",
        session,
        text: "do it",
        slash: false,
        terms: &terms,
        sender,
        posted: Timestamp::UNIX_EPOCH,
    };
    store.post(&message("other")).unwrap();
    let prompt = message("a");
    let one = NewSession { limits: Some(&policy), prompt: Some(&prompt), ..new("a") };
    let wanted = SessionName::new("a").unwrap();
    // Its prompt cannot be stored: a message of this id is there.
    assert!(store.register(&one, Wanted::Exactly(&wanted), &[]).is_err());
    assert!(!store.knows("a").unwrap() && store.limit_policy("a").unwrap().is_none());
    let prompt = NewMessage { id: "n", ..message("a") };
    let one = NewSession { prompt: Some(&prompt), ..one };
    store.register(&one, Wanted::Exactly(&wanted), &[]).unwrap().unwrap();
    assert_eq!(store.limit_policy("a").unwrap(), Some(policy));
    assert_eq!(store.message("n").unwrap().unwrap().text, "do it");
    store.unregister("a").unwrap();
    assert!(store.limit_policy("a").unwrap().is_none() && store.message("n").unwrap().is_none());
    assert!(store.message("m").unwrap().is_some(), "that of another one");
}
