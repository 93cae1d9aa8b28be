//! What each session is doing, by what its pane shows.

use dogwatch_core::record::{Cause, Exit};
use dogwatch_core::status::{Basis, Status};
use dogwatch_store::Which;
use jiff::Timestamp;
use serde_json::json;

use super::world::{GONE, World, recorded};
use crate::Error;
use crate::error::SessionError;
use crate::observe::status::{self, Named, StatusReader};

#[test]
fn screens_of_codex() {
    let table = [
        ("idle_fresh", "idle"),
        ("idle_after_interrupt", "idle"),
        ("idle_half_typed", "idle"),
        ("done_turn", "idle"),
        ("idle_quoted_signals", "idle"),
        ("working_thinking", "working"),
        ("working_reconnecting_network_60s", "working"),
        ("permission_exec", "waiting"),
        ("question_request_user_input", "waiting"),
        ("error_usage_limit", "limited"),
        ("error_403", "error"),
    ];
    for (screen, word) in table {
        let world = World::new();
        world.codex("web", screen);
        let status = world.status("web");
        assert_eq!(status.as_str(), word, "{screen}: {status:?}");
    }
}

#[test]
fn what_was_typed_and_not_sent_is_told() {
    let world = World::new();
    world.codex("web", "idle_half_typed");
    let Status::Idle { draft, after_turn, .. } = world.status("web") else { panic!("not idle") };
    assert_eq!(draft.as_deref(), Some("half typed text not sent"));
    assert!(!after_turn);
}

#[test]
fn a_hook_says_that_it_works_before_the_screen_does() {
    let world = World::new();
    let placed = world.codex("web", "idle_fresh");
    World::hook(&world.context.state, &placed.id, "UserPromptSubmit", json!({ "prompt": "go" }));
    assert_eq!(world.status("web").as_str(), "working");
}

#[test]
fn an_agent_that_ended_is_not_judged_by_its_screen() {
    let world = World::new();
    let placed = world.codex("web", "working_thinking");
    world.ended(&placed, Exit::Code(7), Cause::Itself);
    assert!(matches!(world.status("web"), Status::Crashed { exit: Some(Exit::Code(7)) }));
}

#[test]
fn a_lost_session_stays_lost_whatever_its_pane_shows() {
    let world = World::new();
    let placed = world.codex("web", "idle_fresh");
    world.fake.end();
    let placed_again = world.fake.session("web");
    assert_eq!(placed_again, placed.pane);
    world.fake.show(placed_again, &recorded("working_thinking"));
    assert_ne!(world.status("web").as_str(), "working");
}

#[test]
fn while_tmux_hangs_the_last_status_is_stale() {
    let world = World::new();
    world.codex("web", "idle_fresh");
    assert_eq!(world.status("web").as_str(), "idle");
    world.fake.hang(true);
    let judged = world.judged("web").unwrap();
    assert!(
        judged.verdict.basis == Basis::Stale || judged.verdict.status.as_str() == "unknown",
        "{:?}",
        judged.verdict
    );
}

#[test]
fn a_plain_command_is_working_until_it_ends() {
    let world = World::new();
    let placed = world.running("build", "command");
    world.fake.show(placed.pane, "compiling\n");
    assert_eq!(world.status("build").as_str(), "working");
    world.ended(&placed, Exit::Code(0), Cause::Itself);
    assert_eq!(world.status("build").as_str(), "exited");
}

#[test]
fn all_sessions_are_read_by_one_client() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    world.codex("b", "working_thinking");
    world.codex("c", "permission_exec");
    world.fake.take_ran();
    let all = status::all(&world.context, Timestamp::now()).unwrap();
    let words: Vec<_> = all
        .iter()
        .map(|one| (one.seen.session.name.as_str(), one.verdict.status.as_str()))
        .collect();
    assert_eq!(words, [("a", "idle"), ("b", "working"), ("c", "waiting")]);
    let ran = world.fake.take_ran();
    let captures = ran.iter().filter(|name| *name == "capture-pane").count();
    assert_eq!((captures, ran.iter().filter(|name| *name == "list-panes").count()), (3, 1));
}

#[test]
fn a_pane_that_goes_away_between_two_questions() {
    let world = World::new();
    world.codex("a", "idle_fresh");
    let gone = world.codex("b", "idle_fresh");
    world.fake.close(gone.pane);
    let all = status::all(&world.context, Timestamp::now()).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(world.status("a").as_str(), "idle");
}

#[test]
fn a_state_is_written_down_once() {
    let world = World::new();
    let placed = world.codex("web", "idle_fresh");
    let since = || world.judged("web").unwrap().verdict.since.unwrap().as_millisecond();
    assert_eq!(since(), since());
    let entries = || world.store().journal(&placed.id).unwrap().len();
    let before = entries();
    world.status("web");
    assert_eq!(entries(), before);
    world.fake.show(placed.pane, &recorded("permission_exec"));
    assert_eq!(world.status("web").as_str(), "waiting");
    assert_eq!(entries(), before + 1);
}

#[test]
fn who_bears_a_name() {
    let world = World::new();
    world.codex("web", "idle_fresh");
    world.fake.session("mine");
    let mut reader = StatusReader::new(&world.context).unwrap();
    let mut named = |name: &str| reader.named(name, Timestamp::now()).unwrap();
    assert!(matches!(named("web"), Named::Session(one, _) if one.seen.session.name == "web"));
    assert!(matches!(named("mine"), Named::Stranger(..)));
    assert!(matches!(named("nobody"), Named::Nobody));
    assert!(matches!(world.judged("mine"), Err(Error::Session(SessionError::NotOurs { .. }))));
}

#[test]
fn ended_sessions_that_lists_leave_out_are_counted() {
    let world = World::new();
    let placed = world.placed("web", "codex");
    world.started(&placed, GONE, GONE);
    world.ended(&placed, Exit::Code(0), Cause::Itself);
    let mut reader = StatusReader::new(&world.context).unwrap();
    let all = reader.all_of(Which::current(Timestamp::now()), Timestamp::now()).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((reader.left_out(&all).unwrap(), reader.left_out(&[]).unwrap()), (0, 1));
}

#[test]
fn interests_of_one_that_is_over_are_none() {
    let world = World::new();
    let lives = world.codex("lives", "idle_fresh");
    let over = world.codex("over", "idle_fresh");
    world.ended(&over, Exit::Code(0), Cause::Itself);
    let mut reader = StatusReader::new(&world.context).unwrap();
    let judged = reader.all(Timestamp::now()).unwrap();
    let interests = reader.interests(&judged);
    assert!(interests.iter().any(|(_, id)| *id == lives.id));
    assert!(!interests.iter().any(|(_, id)| *id == over.id));
}

#[test]
fn several_sessions_are_one_question_to_tmux() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.codex(name, "idle_fresh");
    }
    let _before = world.fake.take_ran();
    let mut reader = StatusReader::new(&world.context).unwrap();
    let found = reader.many(&["c", "a", "b"], Timestamp::now()).unwrap();
    let names: Vec<&str> = found.iter().map(|one| one.seen.session.name.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    let ran = world.fake.take_ran();
    assert_eq!(ran.iter().filter(|command| command.contains("list-panes")).count(), 1, "{ran:?}");
    assert!(reader.many(&["a", "nobody"], Timestamp::now()).is_err());
}
