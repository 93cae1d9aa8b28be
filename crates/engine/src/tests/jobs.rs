//! Jobs: what is refused, and how far one has come.

use std::time::Duration;

use dogwatch_core::record::{Cause, Exit};
use dogwatch_tmux::fake::Input;

use super::world::{World, recorded};
use crate::Error;
use crate::actions::job;
use crate::error::SessionError;

#[test]
fn a_job_is_refused_before_anything_is_kept() {
    let world = World::new();
    world.running("build", "command");
    assert!(job::file(&world.context, "build", "do it").is_err());
    let over = world.codex("web", "idle_fresh");
    assert!(job::file(&world.context, "web", "  ").is_err());
    world.ended(&over, Exit::Code(0), Cause::Itself);
    assert!(matches!(
        job::file(&world.context, "web", "do it"),
        Err(Error::Session(SessionError::IsOver { .. }))
    ));
    assert!(matches!(
        job::file(&world.context, "nobody", "x"),
        Err(Error::Session(SessionError::NoSuchSession { .. }))
    ));
    assert!(world.store().jobs(None, 10).unwrap().is_empty());
}

#[test]
fn a_prompt_is_brought_to_the_agent() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.play_codex(&placed);
    let limit = Some(Duration::from_secs(20));
    let submitted = job::submit(&world.context, "web", "do it", limit).unwrap();
    assert_eq!(submitted.trouble, None);
    assert_eq!(world.typed(&placed), [Input::Paste("do it".into()), Input::Key("Enter".into())]);
    assert_eq!(world.store().jobs(Some(&placed.id), 10).unwrap().len(), 1);
}

#[test]
fn a_job_of_a_session_that_died_has_failed() {
    let world = World::new();
    let placed = world.codex("web", "working_thinking");
    let job = job::file(&world.context, "web", "do it").unwrap();
    world.ended(&placed, Exit::Code(9), Cause::Itself);
    let job = job::settled(&world.context, &job.id).unwrap();
    assert!(job.state.is_over(), "{:?}", job.state);
}

#[test]
fn a_job_that_was_not_begun_is_cancelled_without_a_key() {
    let world = World::supervised();
    let placed = world.codex("web", "working_thinking");
    let limit = Some(Duration::ZERO);
    let job = job::submit(&world.context, "web", "do it", limit).unwrap().job;
    world.fake.show(placed.pane, &recorded("working_thinking"));
    let job = job::cancel(&world.context, &job.id, "me").unwrap();
    assert!(job.state.is_over(), "{:?}", job.state);
    assert!(world.typed(&placed).is_empty());
}

#[test]
fn reading_a_job_records_nothing() {
    let world = World::new();
    let placed = world.codex("web", "idle_fresh");
    let filed = job::file(&world.context, "web", "do it").unwrap();
    world.ended(&placed, Exit::Code(7), Cause::Itself);
    let shown = crate::observe::jobs::find(&world.context, &filed.id).unwrap();
    assert_eq!(shown.state.as_str(), "failed");
    let listed = crate::observe::jobs::list(&world.context, None, 9).unwrap();
    assert_eq!(listed[0].1.state.as_str(), "failed");
    let recorded = || world.store().job(&filed.id).unwrap().unwrap();
    assert_eq!(recorded().state.as_str(), "queued", "nobody has settled it");
    job::settled(&world.context, &filed.id).unwrap();
    assert_eq!(recorded().state.as_str(), "failed");
}
