//! Creates what would take hours through the store: the same rows and directories that real sessions leave.

use std::ops::Range;

use dogwatch_core::launch::Launch;
use dogwatch_core::name::SessionName;
use dogwatch_core::record::{Cause, Ended, Exit, ProcessIdent, Started};
use dogwatch_store::{NewSession, Signal, StateDir, Store, Wanted};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::error::Error;
use crate::world::World;

/// A typical hook payload.
const PAYLOAD: &str = include_str!("../../payloads/PostToolUse.json");

/// Sessions that began and ended an hour ago. Their panes are gone.
pub(super) fn ended(world: &World, numbers: Range<usize>) -> Result<(), Error> {
    let dir = StateDir::open(&world.state())?;
    let mut store = Store::open(&dir)?;
    let (home, socket) = (world.home(), world.socket());
    let at = Timestamp::now() - SignedDuration::from_hours(1);
    for n in numbers {
        world.go_on()?;
        let id = format!("01a1df30-7629-7000-8000-{n:012x}");
        let name = SessionName::new(&format!("ended-{n}"))
            .map_err(|error| Error::Wrong { what: "a name", found: error.to_string() })?;
        let new = NewSession {
            id: &id,
            agent: "command",
            project: &home,
            cwd: &home,
            story: None,
            model: None,
            conversation: None,
            command: &["true".to_owned()],
            socket: &socket,
            created: at,
            tags: &[],
            membership: None,
            subscriber: None,
            limits: None,
            prompt: None,
        };
        let launch = Launch {
            argv: vec!["true".into()],
            shown: vec![],
            env: vec![],
            files: vec![],
            prompt_in_file: false,
            fallback: None,
        };
        let folder = dir.session(&id);
        folder.create(&launch, None)?;
        // Taken by the runner, as in a real start, or already collected by a command that runs beside us.
        let _ = folder.take_environment();
        store.register(&new, Wanted::Exactly(&name), &[])?.ok();
        let no_process = ProcessIdent { pid: i32::MAX, start: 1 };
        let started =
            Started { at, runner: no_process, agent: no_process, pane: Some("%999999".into()) };
        folder.write_started(&started)?;
        store.started(&id, &started)?;
        let ended = Ended {
            at,
            exit: Exit::Code(0),
            cause: Cause::Itself,
            error: None,
            by: None,
            hangup: None,
        };
        folder.keep_screen(b"what it said\n")?;
        store.ended(&id, &ended)?;
    }
    Ok(())
}

/// Calls of hooks by one session.
pub(super) fn hooks(world: &World, session: &str, count: usize) -> Result<(), Error> {
    let mut store = Store::open(&StateDir::open(&world.state())?)?;
    let signal = |event: &str| Signal {
        session: session.to_owned(),
        at: Timestamp::now(),
        agent: "claude".to_owned(),
        event: event.to_owned(),
        payload: PAYLOAD.to_owned(),
        spooled: false,
    };
    store.keep_signals(&[signal("UserPromptSubmit")])?;
    let batch = vec![signal("PostToolUse"); 1_000];
    for part in (0..count).step_by(batch.len()) {
        world.go_on()?;
        store.keep_signals(&batch[..batch.len().min(count - part)])?;
    }
    Ok(())
}

/// Entries of the journal.
pub(super) fn events(world: &World, count: usize) -> Result<(), Error> {
    let mut store = Store::open(&StateDir::open(&world.state())?)?;
    for n in 0..count {
        world.go_on()?;
        store.record_event(Timestamp::now(), None, "heartbeat", &json!({ "n": n }))?;
    }
    Ok(())
}
