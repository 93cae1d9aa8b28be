//! Rounds of a watcher.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dogwatch_core::record::{Cause, Exit};
use jiff::Timestamp;

use super::world::{World, recorded};
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
    let mut watcher = Watcher::new(&world.context).unwrap();
    let changes = next(&mut watcher, LONG);
    assert_eq!(words(&changes), [("a".to_owned(), "idle"), ("b".to_owned(), "working")]);
    assert!(changes.iter().all(|change| matches!(change.what, What::Seen)));
    assert_eq!(watcher.statuses().count(), 2);
}

#[test]
fn a_word_from_the_agent_is_looked_at() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context).unwrap();
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
    let mut watcher = Watcher::new(&world.context).unwrap();
    next(&mut watcher, LONG);
    world.context.state.tell_news(&placed.id);
    assert!(next(&mut watcher, Duration::from_millis(300)).is_empty());
}

#[test]
fn an_end_is_told_and_then_the_session_goes() {
    let world = World::new();
    let placed = world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context).unwrap();
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
    let mut watcher = Watcher::new(&world.context).unwrap();
    next(&mut watcher, LONG);
    world.codex("b", "idle_fresh");
    assert_eq!(words(&next(&mut watcher, LONG)), [("b".to_owned(), "idle")]);
}

#[test]
fn a_server_that_comes_later() {
    let world = World::new();
    let mut watcher = Watcher::new(&world.context).unwrap();
    assert!(next(&mut watcher, Duration::from_millis(50)).is_empty());
    world.codex("a", "idle_fresh");
    assert_eq!(words(&next(&mut watcher, LONG)), [("a".to_owned(), "idle")]);
}

#[test]
fn what_tmux_refuses_at_the_start_is_an_error() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    let mut watcher = Watcher::new(&world.context).unwrap();
    world.fake.refuse("list-panes", "access not allowed");
    assert!(watcher.next(LONG, &AtomicBool::new(false)).is_err());
    world.fake.set_version("3.1");
    assert!(Watcher::new(&world.context).is_err());
}
