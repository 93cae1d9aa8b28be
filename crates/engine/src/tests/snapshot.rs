//! What is remembered, joined with what tmux lists.

use dogwatch_core::liveness::State;
use dogwatch_core::record::{Cause, Ended, Exit, Started};
use dogwatch_store::Which;
use jiff::Timestamp;

use super::world::{GONE, World, ago};
use crate::Error;
use crate::error::SessionError;
use crate::observe::snapshot::{find, hide_superseded, list, look, look_at_current};
use crate::observe::{exists, processes};

#[test]
fn a_pane_with_our_runner_in_it_is_running() {
    let world = World::new();
    world.running("web", "codex");
    assert_eq!(world.life("web"), ("running".into(), "running".into()));
}

#[test]
fn a_pane_whose_runner_has_said_nothing_is_starting() {
    let world = World::new();
    world.placed("web", "codex");
    assert_eq!(world.life("web").0, "starting");
}

#[test]
fn a_session_without_a_pane_is_being_created_for_a_while() {
    let world = World::new();
    world.fake.session("other");
    world.register("new", "codex", ago(1));
    world.register("old", "codex", ago(600));
    assert_eq!(world.life("new").0, "starting");
    assert_eq!(world.life("old").0, "lost");
}

#[test]
fn how_it_ended_is_what_the_record_says() {
    let table = [
        (Exit::Code(0), Cause::Itself, "exited"),
        (Exit::Code(3), Cause::Itself, "crashed"),
        (Exit::Signal(9), Cause::Itself, "crashed"),
        (Exit::Signal(2), Cause::Itself, "stopped"),
        (Exit::Signal(15), Cause::Request, "stopped"),
        (Exit::Code(0), Cause::Hangup, "stopped"),
    ];
    for (exit, cause, state) in table {
        let world = World::new();
        let placed = world.running("web", "codex");
        world.ended(&placed, exit, cause);
        assert_eq!(world.life("web").0, state, "{exit:?} {cause:?}");
    }
}

#[test]
fn a_dead_pane_without_a_record_is_lost() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.fake.change(placed.pane, |pane| pane.dead = true);
    let (state, reason) = world.life("web");
    assert_eq!(state, "lost");
    assert!(reason.contains("runner was killed"), "{reason}");
}

#[test]
fn an_agent_that_outlives_its_runner_is_named() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, processes::myself().unwrap());
    world.fake.close(placed.pane);
    world.fake.session("other");
    let (state, reason) = world.life("web");
    assert_eq!(state, "lost");
    assert!(reason.contains("still running without it"), "{reason}");
}

#[test]
fn a_runner_that_lives_is_still_ending_its_agent() {
    let world = World::new();
    let placed = world.running("web", "codex");
    world.fake.session("other");
    world.fake.close(placed.pane);
    let (state, reason) = world.life("web");
    assert_eq!(state, "running");
    assert!(reason.contains("still ending"), "{reason}");
}

#[test]
fn what_was_found_lost_is_noted() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.fake.end();
    let seen = find(&world.context, "web").unwrap();
    assert_eq!(seen.life.state, State::Lost);
    assert!(seen.life.reason.contains("server died before"), "{}", seen.life.reason);
    assert!(world.store().by_id(&placed.id).unwrap().unwrap().is_over());
}

#[test]
fn the_same_pane_id_on_a_later_server_is_another_pane() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.fake.end();
    let again = world.fake.session("web");
    assert_eq!(again, placed.pane);
    world.fake.change(again, |pane| pane.pid = GONE.pid);
    assert_eq!(world.life("web").0, "lost");
}

#[test]
fn a_pane_that_runs_something_else_is_not_ours_any_more() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.fake.change(placed.pane, |pane| pane.pid = 4321);
    let seen = find(&world.context, "web").unwrap();
    assert_eq!((seen.life.state, seen.pane), (State::Lost, None));
}

#[test]
fn a_tmux_that_hangs_leaves_sessions_unknown() {
    let world = World::new();
    world.running("web", "codex");
    world.fake.hang(true);
    let seen = find(&world.context, "web").unwrap();
    assert_eq!(seen.life.state, State::Unknown);
    assert!(matches!(seen.must_be_known(), Err(Error::Session(SessionError::NotReachable { .. }))));
}

#[test]
fn a_server_that_cannot_be_asked_has_not_no_sessions() {
    let world = World::new();
    world.fake.session("other");
    world.fake.hang(true);
    assert!(look_at_current(&world.context).is_err());
    world.fake.hang(false);
    world.fake.end();
    assert!(look_at_current(&world.context).unwrap().is_empty());
}

#[test]
fn what_tmux_refuses_is_an_error_for_all() {
    let world = World::new();
    world.running("web", "codex");
    world.fake.refuse("list-panes", "access not allowed");
    assert!(matches!(look_at_current(&world.context), Err(Error::Tmux(_))));
    world.fake.set_version("3.1c");
    let error = look_at_current(&world.context).unwrap_err();
    assert!(error.to_string().contains("3.1c"), "{error}");
}

#[test]
fn a_look_at_all_sessions_is_one_client() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.running(name, "codex");
    }
    world.fake.take_ran();
    assert_eq!(look_at_current(&world.context).unwrap().len(), 3);
    assert_eq!(world.fake.take_ran(), ["display-message", "list-panes"]);
}

#[test]
fn a_pane_that_was_made_meanwhile_is_looked_for_again() {
    let world = World::new();
    world.fake.session("other");
    let id = world.register("web", "codex", ago(1));
    let server = world.fake.identity().unwrap();
    let server = dogwatch_store::Server { pid: server.0.into(), start: server.1.cast_signed() };
    world.store().placed(&id, "%77", server).unwrap();
    world.fake.take_ran();
    find(&world.context, "web").unwrap();
    let asked = world.fake.take_ran().into_iter().filter(|name| name == "list-panes").count();
    assert_eq!(asked, 2);
}

#[test]
fn names_ids_and_panes_mean_the_same_session() {
    let world = World::new();
    let placed = world.running("web-1", "codex");
    for target in ["web-1", "web.1", &placed.id, &placed.pane.to_string()] {
        assert_eq!(find(&world.context, target).unwrap().session.id, placed.id, "{target}");
    }
}

#[test]
fn a_name_that_nobody_has() {
    let world = World::new();
    world.running("web", "codex");
    world.fake.session("mine");
    assert!(matches!(
        find(&world.context, "mine"),
        Err(Error::Session(SessionError::NotOurs { .. }))
    ));
    let error = find(&world.context, "wep").unwrap_err();
    assert!(
        matches!(&error, Error::Session(SessionError::NoSuchSession { near: Some(near), .. }) if near == "web")
    );
}

#[test]
fn of_two_with_a_name_the_living_one_is_meant() {
    let world = World::new();
    let old = world.running("web", "codex");
    world.ended(&old, Exit::Code(0), Cause::Itself);
    world.fake.close(old.pane);
    let new = world.running("web", "codex");
    assert_eq!(find(&world.context, "web").unwrap().session.id, new.id);
}

#[test]
fn a_session_of_another_server_is_unknown_here() {
    let world = World::new();
    world.running("web", "codex");
    let mut elsewhere = world.context.clone();
    elsewhere.socket = world.home().join("other");
    let seen =
        find(&elsewhere, &world.store().sessions(&world.context.socket, Which::All).unwrap()[0].id)
            .unwrap();
    assert_eq!(seen.life.state, State::Unknown);
    assert!(seen.life.reason.contains("another tmux server"), "{}", seen.life.reason);
}

#[test]
fn what_the_runner_wrote_completes_the_store() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    let me = processes::myself().unwrap();
    let folder = world.folder(&placed);
    let started =
        Started { at: ago(3), runner: me, agent: me, pane: Some(placed.pane.to_string()) };
    folder.write_started(&started).unwrap();
    assert_eq!(world.life("web").0, "running");
    assert!(world.store().by_id(&placed.id).unwrap().unwrap().started().is_some());
}

#[test]
fn an_end_on_disk_goes_before_a_dead_pane() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.fake.change(placed.pane, |pane| pane.dead = true);
    let folder = world.folder(&placed);
    let (at, exit, cause) = (Timestamp::now(), Exit::Code(4), Cause::Itself);
    folder.write_ended(&Ended { at, exit, cause, error: None, by: None, hangup: None }).unwrap();
    assert_eq!(world.life("web").0, "crashed");
    assert!(world.store().by_id(&placed.id).unwrap().unwrap().ended().is_some());
}

#[test]
fn lists_show_what_was_not_put_away() {
    let world = World::new();
    let over = world.running("over", "codex");
    world.ended(&over, Exit::Code(0), Cause::Itself);
    world.running("lives", "codex");
    let (seen, left_out) = list(&world.context).unwrap();
    assert_eq!((seen.len(), left_out), (2, 0));
    world.store().archive(&over.id, Timestamp::now()).unwrap();
    let seen = look(&world.context, Which::current(Timestamp::now())).unwrap();
    assert_eq!(seen.iter().map(|one| one.session.name.as_str()).collect::<Vec<_>>(), ["lives"]);
}

#[test]
fn nothing_is_hidden_that_was_not_resumed() {
    let world = World::new();
    let over = world.running("over", "codex");
    world.ended(&over, Exit::Code(0), Cause::Itself);
    let mut seen = look_at_current(&world.context).unwrap();
    assert_eq!(hide_superseded(&mut seen, |one| one), 0);
    assert_eq!(seen.len(), 1);
}

#[test]
fn whether_tmux_has_a_session() {
    let world = World::new();
    let exists = |name: &str| exists::session(&world.context, name).unwrap();
    assert!(!exists("web"), "no server");
    world.fake.session("web-1");
    for (name, expected) in [("web-1", true), ("web.1", true), ("web", false), ("a:b", false)] {
        assert_eq!(exists(name), expected, "{name}");
    }
    world.fake.hang(true);
    assert!(exists::session(&world.context, "web-1").is_err());
}
