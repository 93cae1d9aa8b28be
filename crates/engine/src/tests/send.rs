//! A message on its way: what is typed, and when nothing is.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dogwatch_core::delivery::{Outcome, Proof, When};
use dogwatch_core::record::{Cause, Exit};
use dogwatch_tmux::fake::Input;
use jiff::Timestamp;

use super::world::{Placed, World, recorded, typed};
use crate::Error;
use crate::actions::send::{self, Request};
use crate::error::MessageError;
use crate::observe::messages;

const AT_ONCE: Duration = Duration::ZERO;
const SHORT: Duration = Duration::from_secs(20);

fn send(world: &World, text: &str, timeout: Duration) -> Result<Outcome, Error> {
    let request =
        Request { target: "web", text, slash: false, when: When::Idle, timeout: Some(timeout) };
    Ok(send::send(&world.context, &request)?.outcome)
}

fn keys(world: &World, placed: &Placed) -> Vec<Input> {
    world.typed(placed)
}

#[test]
fn text_then_enter_then_proof() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.play_codex(&placed);
    let outcome = send(&world, "hello there", SHORT).unwrap();
    assert_eq!(outcome, Outcome::Delivered { proof: Proof::Hook, while_working: false });
    let expected = [Input::Paste("hello there".into()), Input::Key("Enter".into())];
    assert_eq!(keys(&world, &placed), expected);
    let ran = world.fake.ran();
    let at = |name: &str| ran.iter().position(|one| one == name).unwrap();
    assert!(at("paste-buffer") < at("send-keys"));
    assert!(at("copy-mode") < at("send-keys"), "copy mode is left before keys are pressed");
}

/// The process ends between our look and the paste. An unguarded paste would end a server of 3.3a.
#[test]
fn an_agent_that_dies_is_sent_nothing_and_its_server_lives() {
    for version in ["3.3a", "3.4", "3.7c"] {
        let world = World::supervised();
        world.fake.set_version(version);
        let placed = world.codex("web", "idle_fresh");
        world.fake.die_at("load-buffer", placed.pane);
        let outcome = send(&world, "hello", SHORT).unwrap();
        let Outcome::Failed { because } = &outcome else { panic!("{version}: {outcome:?}") };
        assert!(because.contains("nothing was typed"), "{version}: {because}");
        assert!(keys(&world, &placed).is_empty(), "{version}");
        assert!(world.fake.identity().is_some(), "{version}: the server has ended");
    }
}

#[test]
fn nothing_is_typed_while() {
    let table = [
        ("permission_exec", "dialog"),
        ("question_request_user_input", "dialog"),
        ("idle_half_typed", "draft"),
        ("working_thinking", "working"),
    ];
    for (screen, because) in table {
        let world = World::supervised();
        let placed = world.codex("web", screen);
        let outcome = send(&world, "hello", AT_ONCE).unwrap();
        let (Outcome::Refused { because: said } | Outcome::Queued { because: said }) = &outcome
        else {
            panic!("{screen}: {outcome:?}")
        };
        assert!(said.contains(because), "{screen}: {said}");
        assert!(keys(&world, &placed).is_empty(), "{screen}");
    }
}

#[test]
fn the_same_text_in_the_box_is_a_draft_of_another() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.fake.show(placed.pane, &typed("hello"));
    let outcome = send(&world, "hello", AT_ONCE).unwrap();
    assert!(
        matches!(&outcome, Outcome::Refused { because } if because.contains("same text")),
        "{outcome:?}"
    );
    assert!(keys(&world, &placed).is_empty());
}

#[test]
fn a_message_waits_for_the_end_of_a_turn() {
    let world = World::supervised();
    let placed = world.codex("web", "working_thinking");
    world.play_codex(&placed);
    let (fake, state, id) = (world.fake.clone(), world.context.state.clone(), placed.id.clone());
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| send(&world, "hello", SHORT).unwrap());
        dogwatch_testkit::eventually("it is queued", || {
            world.store().next_message(&placed.id).unwrap().is_some()
        });
        assert!(keys(&world, &placed).is_empty());
        fake.show(placed.pane, &recorded("done_turn"));
        state.tell_news(&id);
        assert!(matches!(sent.join().unwrap(), Outcome::Delivered { .. }));
    });
    assert_eq!(keys(&world, &placed).len(), 2);
}

#[test]
fn a_session_that_is_over_takes_nothing() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.ended(&placed, Exit::Code(0), Cause::Itself);
    let outcome = send(&world, "hello", SHORT).unwrap();
    assert!(
        matches!(&outcome, Outcome::Failed { because } if because.contains("ended")),
        "{outcome:?}"
    );
    assert!(keys(&world, &placed).is_empty());
}

#[test]
fn a_plain_command_takes_no_messages() {
    let world = World::supervised();
    world.running("web", "command");
    let error = send(&world, "hello", AT_ONCE).unwrap_err();
    assert!(error.to_string().contains("plain command"), "{error}");
}

#[test]
fn texts_that_an_agent_would_run_are_refused() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    for text in ["", "   "] {
        assert!(send(&world, text, AT_ONCE).is_err(), "{text:?}");
    }
    assert!(keys(&world, &placed).is_empty());
}

#[test]
fn a_slash_command_is_typed_and_not_pasted() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.play_codex(&placed);
    let request = Request {
        target: "web",
        text: "/rename fresh",
        slash: true,
        when: When::Idle,
        timeout: Some(SHORT),
    };
    let outcome = send::send(&world.context, &request).unwrap().outcome;
    assert!(matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
    assert_eq!(keys(&world, &placed)[0], Input::Text("/rename fresh".into()));
}

#[test]
fn messages_are_delivered_in_the_order_in_which_they_came() {
    let world = World::supervised();
    let placed = world.codex("web", "working_thinking");
    let first = send(&world, "first", AT_ONCE).unwrap();
    assert!(matches!(first, Outcome::Queued { .. }), "{first:?}");
    world.fake.show(placed.pane, &recorded("done_turn"));
    let (state, id) = (world.context.state.clone(), placed.id.clone());
    let mut text = String::new();
    // Each turn ends at once.
    world.fake.play(placed.pane, move |pane, input| {
        if let Input::Paste(pasted) = input {
            text.clone_from(pasted);
            pane.screen = typed(pasted);
            return;
        }
        pane.screen = recorded("done_turn");
        World::hook(&state, &id, "UserPromptSubmit", serde_json::json!({ "prompt": text }));
        World::hook(&state, &id, "Stop", serde_json::json!({}));
    });
    let outcome = send(&world, "second", SHORT).unwrap();
    assert!(matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
    let pasted: Vec<_> =
        keys(&world, &placed).into_iter().filter(|key| matches!(key, Input::Paste(_))).collect();
    assert_eq!(pasted, [Input::Paste("first".into()), Input::Paste("second".into())]);
}

#[test]
fn a_message_that_was_not_begun_can_be_taken_back() {
    let world = World::supervised();
    let placed = world.codex("web", "working_thinking");
    assert!(matches!(send(&world, "hello", AT_ONCE).unwrap(), Outcome::Queued { .. }));
    let message = world.store().next_message(&placed.id).unwrap().unwrap();
    send::cancel(&world.context, &message.id).unwrap();
    assert!(world.store().next_message(&placed.id).unwrap().is_none());
    assert!(matches!(
        send::cancel(&world.context, &message.id),
        Err(Error::Message(MessageError::TooLate { .. }))
    ));
    assert!(send::cancel(&world.context, "no-such").is_err());
}

#[test]
fn a_message_that_is_cancelled_before_it_is_posted_is_not_sent() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.play_codex(&placed);
    let request = Request {
        target: "web",
        text: "hello",
        slash: false,
        when: When::Idle,
        timeout: Some(SHORT),
    };
    let id = send::new_id();
    let sent = send::send_unless(&world.context, &request, &id, &AtomicBool::new(true));
    assert!(matches!(sent, Err(Error::Message(MessageError::Cancelled))), "{sent:?}");
    assert!(world.store().message(&id).unwrap().is_none());
    assert!(keys(&world, &placed).is_empty());
}

/// Without its terms nobody knows what it waits for, and what it is guarded by. It does not block the next one.
#[test]
fn a_message_with_damaged_terms_fails() {
    let damaged = [
        serde_json::Value::Null,
        serde_json::json!({ "when": "someday" }),
        serde_json::json!({ "when": "idle", "guard": 7 }),
    ];
    for terms in damaged {
        let world = World::supervised();
        let placed = world.codex("web", "idle_fresh");
        world.play_codex(&placed);
        let old = dogwatch_store::NewMessage {
            id: "old",
            session: &placed.id,
            text: "go on",
            slash: false,
            terms: &terms,
            sender: dogwatch_core::record::ProcessIdent { pid: 0, start: 0 },
            posted: Timestamp::now(),
        };
        world.store().post(&old).unwrap();
        let outcome = send(&world, "second", SHORT).unwrap();
        assert!(matches!(outcome, Outcome::Delivered { .. }), "{terms}: {outcome:?}");
        let expected = [Input::Paste("second".into()), Input::Key("Enter".into())];
        assert_eq!(keys(&world, &placed), expected, "{terms}");
        let kept = world.store().message("old").unwrap().unwrap().outcome;
        let Some(Outcome::Failed { because }) = &kept else { panic!("{terms}: {kept:?}") };
        assert!(because.contains("terms are damaged"), "{because}");
    }
}

#[test]
fn the_very_same_message_is_not_sent_twice() {
    let world = World::supervised();
    let placed = world.codex("web", "idle_fresh");
    world.play_codex(&placed);
    let since = Timestamp::now();
    let request = Request {
        target: "web",
        text: "once",
        slash: false,
        when: When::Idle,
        timeout: Some(SHORT),
    };
    for _ in 0..2 {
        let receipt = send::send_once(&world.context, &request, since).unwrap();
        assert!(matches!(receipt.outcome, Outcome::Delivered { .. }), "{:?}", receipt.outcome);
    }
    assert_eq!(keys(&world, &placed).len(), 2);
}

#[test]
fn messages_to_a_session_that_ended_have_failed() {
    let world = World::new();
    let placed = world.codex("web", "working_thinking");
    world.post(&placed, "hello");
    world.ended(&placed, Exit::Code(0), Cause::Itself);
    let shown = messages::list(&world.context, None, 10).unwrap().remove(0).1;
    assert!(matches!(shown.outcome, Some(Outcome::Failed { .. })), "{:?}", shown.outcome);
    let kept = || world.store().message(&shown.id).unwrap().unwrap().outcome;
    assert_eq!(kept(), None, "a look records nothing");
    send::settle_left(&world.context, &|_| true).unwrap();
    assert_eq!(kept(), shown.outcome);
}
