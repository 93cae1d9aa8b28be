//! Starting a session: what is checked before anything is changed, what tmux gets, and what is left after a failure.

use dogwatch_core::record::{Cause, Ended, Exit, Started};
use dogwatch_store::{StateDir, Which};
use dogwatch_tmux::fake::FakePane;
use jiff::{Timestamp, Zoned};

use super::world::{GONE, World};
use crate::Error;
use crate::actions::spawn::{self, Place, Request, What};
use crate::error::{AgentError, SessionError};
use crate::observe::processes;

fn request(world: &World) -> Request {
    Request {
        what: What::Command(vec!["sh".into(), "-c".into(), "true".into()]),
        prompt: None,
        name: Some("web".to_owned()),
        story: None,
        project: world.home().to_owned(),
        cwd: world.home().to_owned(),
        model: None,
        resume: None,
        unattended: false,
        env: Vec::new(),
        caller_env: Vec::new(),
        place: Place::OwnSession,
        tags: Vec::new(),
        membership: None,
        when_limited: None,
        subscriber: None,
    }
}

/// Plays the runner: it writes its record as soon as the pane is made.
fn play_runner(world: &World, ended: Option<Ended>) {
    let state = world.context.state.clone();
    world.fake.on_start(move |pane| runner(&state, pane, ended.as_ref()));
}

fn runner(state: &StateDir, pane: &mut FakePane, ended: Option<&Ended>) {
    let [_, run, .., id] = pane.runs.as_slice() else { return };
    if run != "run" {
        return;
    }
    let folder = state.session(id);
    let me = processes::myself().unwrap();
    if let Some(ended) = ended {
        return folder.write_ended(ended).unwrap();
    }
    let (at, pane) = (Timestamp::now(), Some(pane.id.to_string()));
    folder.write_started(&Started { at, runner: me, agent: me, pane }).unwrap();
}

fn spawn(world: &World, request: &Request) -> Result<spawn::Spawned, Error> {
    spawn::spawn(&world.context, request, &Zoned::now())
}

/// Nothing of a session that could not be started is left.
fn nothing_is_left(world: &World) {
    assert!(world.store().sessions(&world.context.socket, Which::All).unwrap().is_empty());
    assert!(world.context.state.session_ids().is_empty());
}

#[test]
fn a_session_in_a_pane_with_our_runner() {
    let world = World::new();
    play_runner(&world, None);
    let spawned = spawn(&world, &request(&world)).unwrap();
    assert_eq!(spawned.name.as_str(), "web");
    let pane = world.fake.pane(spawned.pane).unwrap();
    assert_eq!(pane.session, "web");
    assert_eq!(pane.runs.last(), Some(&spawned.id.to_string()));
    assert_eq!(pane.options.get("remain-on-exit").map(String::as_str), Some("on"));
    assert_eq!(world.fake.panes().len(), 1, "the stand-in is gone");
    assert_eq!(world.life("web").0, "running");
}

#[test]
fn all_of_it_is_one_client() {
    let world = World::new();
    play_runner(&world, None);
    spawn(&world, &request(&world)).unwrap();
    let ran = world.fake.take_ran();
    let made = ["new-session", "new-window", "kill-window", "move-window"];
    for name in made {
        assert_eq!(ran.iter().filter(|one| *one == name).count(), 1, "{name}: {ran:?}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_is_changed() {
    let world = World::new();
    std::fs::write(world.home().join("file"), "").unwrap();
    let with = |change: &dyn Fn(&mut Request)| {
        let mut request = request(&world);
        change(&mut request);
        spawn(&world, &request).unwrap_err()
    };
    let missing = world.home().join("missing");
    assert!(matches!(
        with(&|r| r.cwd.clone_from(&missing)),
        Error::Session(SessionError::NoSuchFolder { .. })
    ));
    assert!(matches!(
        with(&|r| r.cwd = world.home().join("file")),
        Error::Session(SessionError::NotAFolder { .. })
    ));
    for prompt in ["", "  \n", "a\0b"] {
        let error = with(&|r| r.prompt = Some(prompt.to_owned()));
        assert!(
            matches!(error, Error::Session(SessionError::BadPrompt { .. })),
            "{prompt:?}: {error}"
        );
    }
    for (key, value) in [("", "x"), ("A=B", "x"), ("A", "x\0")] {
        with(&|r| r.env = vec![(key.to_owned(), value.to_owned())]);
    }
    let unknown = What::Command(vec!["no-such-program-here".into()]);
    assert!(matches!(
        with(&|r| r.what = unknown.clone()),
        Error::Agent(AgentError::ProgramNotFound { .. })
    ));
    let plain = What::Command(vec!["./file".into()]);
    assert!(matches!(
        with(&|r| r.what = plain.clone()),
        Error::Agent(AgentError::NotExecutable { .. })
    ));
    let agent = What::Agent { name: "nobody".to_owned(), extra_args: Vec::new() };
    with(&|r| r.what = agent.clone());
    with(&|r| r.name = Some("a b".to_owned()));
    assert!(world.fake.ran().is_empty(), "tmux was not asked: {:?}", world.fake.ran());
    nothing_is_left(&world);
}

#[test]
fn a_name_that_is_taken_is_refused_if_it_was_asked_for() {
    let world = World::new();
    play_runner(&world, None);
    world.fake.session("web");
    let error = spawn(&world, &request(&world)).unwrap_err();
    assert!(matches!(error, Error::Session(SessionError::NameInUse { .. })), "{error}");
    nothing_is_left(&world);
}

#[test]
fn a_name_of_our_own_is_numbered() {
    let world = World::new();
    play_runner(&world, None);
    let unnamed = Request { name: None, ..request(&world) };
    let now = Zoned::now();
    let first = spawn::spawn(&world.context, &unnamed, &now).unwrap();
    let second = spawn::spawn(&world.context, &unnamed, &now).unwrap();
    assert_ne!(first.name, second.name);
    assert!(second.name.as_str().starts_with(first.name.as_str()), "{}", second.name.as_str());
}

#[test]
fn one_that_is_over_gives_up_its_name() {
    let world = World::new();
    play_runner(&world, None);
    // Its runner is gone: what is left of it would be ended by signals.
    let old = world.placed("web", "codex");
    world.started(&old, GONE, GONE);
    world.ended(&old, Exit::Code(0), Cause::Itself);
    let spawned = spawn(&world, &request(&world)).unwrap();
    assert_eq!(spawned.name.as_str(), "web");
    assert!(world.fake.pane(old.pane).is_none());
}

#[test]
fn a_launch_that_failed_leaves_nothing() {
    let world = World::new();
    let error = Some("no such program".to_owned());
    let (at, exit) = (Timestamp::now(), Exit::Code(127));
    play_runner(
        &world,
        Some(Ended { at, exit, cause: Cause::Launch, error, by: None, hangup: None }),
    );
    let failed = spawn(&world, &request(&world)).unwrap_err();
    assert!(
        matches!(&failed, Error::Session(SessionError::LaunchFailed { reason, .. }) if reason == "no such program"),
        "{failed}"
    );
    nothing_is_left(&world);
    assert!(world.fake.panes().is_empty());
}

#[test]
fn half_a_session_is_none() {
    let world = World::new();
    play_runner(&world, None);
    world.fake.refuse("new-window", "create window failed: fork failed");
    let error = spawn(&world, &request(&world)).unwrap_err();
    assert!(matches!(error, Error::Tmux(_)), "{error}");
    nothing_is_left(&world);
    assert!(world.fake.panes().is_empty(), "what was made of it is gone");
}

#[test]
fn a_tmux_that_hangs_starts_nothing_later() {
    let world = World::new();
    world.fake.hang(true);
    let error = spawn(&world, &request(&world)).unwrap_err();
    assert!(matches!(error, Error::Session(SessionError::NotStarted { .. })), "{error}");
    nothing_is_left(&world);
}

#[test]
fn beside_another_pane() {
    let world = World::new();
    play_runner(&world, None);
    let master = world.fake.session("lead");
    let beside = spawn::Beside { pane: master, before: false, layout: None };
    let request = Request { place: Place::Beside(beside), ..request(&world) };
    let spawned = spawn(&world, &request).unwrap();
    let (pane, lead) = (world.fake.pane(spawned.pane).unwrap(), world.fake.pane(master).unwrap());
    assert_eq!((pane.window, pane.session.as_str()), (lead.window, "lead"));
    let again = spawn(&world, &request).unwrap_err();
    assert!(matches!(again, Error::Session(SessionError::NameInUse { .. })), "{again}");
}

#[test]
fn beside_a_pane_that_is_gone() {
    let world = World::new();
    world.fake.session("lead");
    let pane = dogwatch_tmux::PaneId(99);
    let beside = spawn::Beside { pane, before: false, layout: None };
    let request = Request { place: Place::Beside(beside), ..request(&world) };
    assert!(spawn(&world, &request).is_err());
    nothing_is_left(&world);
}
