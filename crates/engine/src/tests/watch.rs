//! Rounds of a watcher, and waits.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dogwatch_core::attention::Quorum;
use dogwatch_core::record::{Cause, Exit};
use jiff::Timestamp;

use super::world::{World, recorded};
use crate::observe::wait::{self, Targets, Waited};
use crate::watch::{Change, Watcher, What};

const LONG: Duration = Duration::from_secs(20);

fn next(watcher: &mut Watcher<'_>, at_most: Duration) -> Vec<Change> {
    watcher.next(at_most, &AtomicBool::new(false)).unwrap()
}

fn words(changes: &[Change]) -> Vec<(String, &'static str)> {
    let word = |change: &Change| {
        (change.status.seen.session.name.clone(), change.status.verdict.status.as_str())
    };
    changes.iter().map(word).collect()
}

#[test]
fn the_first_round_tells_of_all() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    world.codex("b", "working_thinking");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    let changes = next(&mut watcher, LONG);
    assert_eq!(words(&changes), [("a".to_owned(), "idle"), ("b".to_owned(), "working")]);
    assert!(changes.iter().all(|change| matches!(change.what, What::Seen)));
    assert_eq!(watcher.statuses().count(), 2);
}

#[test]
fn only_those_that_are_meant() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    world.codex("b", "working_thinking");
    let mut watcher = Watcher::new(&world.context, &["b".to_owned()]).unwrap();
    assert_eq!(words(&next(&mut watcher, LONG)), [("b".to_owned(), "working")]);
    assert!(Watcher::new(&world.context, &["nobody".to_owned()]).is_err());
}

#[test]
fn a_word_from_the_agent_is_looked_at() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    next(&mut watcher, LONG);
    world.fake.show(placed.pane, &recorded("permission_exec"));
    world.context.state.tell_news(&placed.id);
    let changes = next(&mut watcher, LONG);
    assert_eq!(words(&changes), [("a".to_owned(), "waiting")]);
    assert!(matches!(&changes[0].what, What::Changed { from } if from.status.as_str() == "idle"));
}

#[test]
fn nothing_new_is_no_change() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    next(&mut watcher, LONG);
    world.context.state.tell_news(&placed.id);
    assert!(next(&mut watcher, Duration::from_millis(300)).is_empty());
}

#[test]
fn an_end_is_told_and_then_the_session_goes() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    next(&mut watcher, LONG);
    world.ended(&placed, Exit::Code(0), Cause::Itself);
    world.context.state.tell_news(&placed.id);
    assert_eq!(words(&next(&mut watcher, LONG)), [("a".to_owned(), "exited")]);
    world.store().archive(&placed.id, Timestamp::now()).unwrap();
    let changes = next(&mut watcher, LONG);
    assert!(matches!(changes.as_slice(), [Change { what: What::Gone, .. }]), "{changes:?}");
    assert_eq!(watcher.statuses().count(), 0);
}

#[test]
fn a_new_session_is_told() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    next(&mut watcher, LONG);
    world.codex("b", "idle_fresh");
    assert_eq!(words(&next(&mut watcher, LONG)), [("b".to_owned(), "idle")]);
}

#[test]
fn a_server_that_comes_later() {
    let world = World::new();
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    assert!(next(&mut watcher, Duration::from_millis(50)).is_empty());
    world.codex("a", "idle_fresh");
    assert_eq!(words(&next(&mut watcher, LONG)), [("a".to_owned(), "idle")]);
}

#[test]
fn what_tmux_refuses_at_the_start_is_an_error() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context, &[]).unwrap();
    world.fake.refuse("list-panes", "access not allowed");
    assert!(watcher.next(LONG, &AtomicBool::new(false)).is_err());
    world.fake.set_version("3.1");
    assert!(Watcher::new(&world.context, &[]).is_err());
}

/// Waits for sessions by name; without any name, for those that are listed.
fn wait_for(
    world: &World,
    names: &[&str],
    state: &str,
    quorum: Quorum,
    at_most: Duration,
) -> Waited {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let targets = if names.is_empty() { Targets::Listed } else { Targets::Named(&names) };
    let states: Vec<String> = state.split(',').map(ToOwned::to_owned).collect();
    wait::wait(&world.context, targets, &states, quorum, Some(at_most)).unwrap()
}

const ANY: Quorum = Quorum::AtLeast(1);

#[test]
fn a_wait_that_is_over_at_once() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    let wait = |states, at_most| wait_for(&world, &["a"], states, Quorum::All, at_most);
    assert!(matches!(wait("idle,error", LONG), Waited::Happened(all, _) if all.len() == 1));
    assert!(matches!(wait("working", Duration::ZERO), Waited::TimedOut(_)));
}

#[test]
fn a_wait_for_what_can_no_longer_happen() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    world.ended(&placed, Exit::Code(1), Cause::Itself);
    let waited = wait_for(&world, &["a"], "idle", Quorum::All, LONG);
    assert!(matches!(waited, Waited::Impossible(one) if one.verdict.status.as_str() == "crashed"));
}

#[test]
fn a_wait_for_any_ends_with_the_first() {
    let world = World::new();
    let idle = world.codex("a", "idle_fresh");
    let ended = world.codex("b", "working_thinking");
    world.ended(&ended, Exit::Code(1), Cause::Itself);
    world.codex("c", "working_thinking");
    let all = ["a", "b", "c"];
    for names in [&all[..], &[]] {
        let waited = wait_for(&world, names, "idle", ANY, LONG);
        let Waited::Happened(followed, reached) = waited else { panic!("{waited:?}") };
        assert_eq!((followed.len(), reached), (3, vec![idle.id.as_str().into()]), "{names:?}");
    }
    assert!(matches!(wait_for(&world, &all, "idle", Quorum::All, LONG), Waited::Impossible(_)));
    let two = wait_for(&world, &all, "idle", Quorum::AtLeast(2), Duration::ZERO);
    assert!(matches!(two, Waited::TimedOut(_)), "c may still get there: {two:?}");
    let three = wait_for(&world, &all, "idle", Quorum::AtLeast(3), LONG);
    assert!(matches!(three, Waited::Impossible(one) if one.seen.session.name == "b"));
}

#[test]
fn a_wait_is_woken_by_news() {
    let world = World::new();
    let placed = world.codex("a", "working_thinking");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait_for(&world, &["a"], "waiting", Quorum::All, LONG));
        world.fake.show(placed.pane, &recorded("permission_exec"));
        world.context.state.tell_news(&placed.id);
        assert!(matches!(waits.join().unwrap(), Waited::Happened(..)));
    });
}
