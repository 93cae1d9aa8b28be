//! One pass over the registry: the file against tmux.

use dogwatch_core::record::{Cause, Exit};
use dogwatch_core::registry::Kind;
use dogwatch_store::RegistryFile;

use super::world::{World, ago};
use crate::Error;
use crate::registry::ManagedRegistry;
use crate::registry::observe::ObserveOptions;

/// An entry whose session was running a while ago.
fn entry(world: &World, name: &str, more: &str) -> String {
    let (home, socket) = (world.home().display(), world.context.socket.display());
    let created = ago(3600);
    format!(
        "  {name}:\n    agent: claude\n    cwd: {home}\n    status: running\n    created_at: {created}\n    \
         host: desk\n    socket: {socket}\n{more}"
    )
}

fn write(world: &World, entries: &[String]) {
    let text = format!("# mine\nversion: 1\nsessions:\n{}", entries.concat());
    std::fs::write(world.home().join("sessions.yaml"), text).unwrap();
}

fn file(world: &World) -> String {
    std::fs::read_to_string(world.home().join("sessions.yaml")).unwrap()
}

fn managed(world: &World) -> ManagedRegistry<'_> {
    let file = RegistryFile::new(world.home().join("sessions.yaml"));
    ManagedRegistry::new(&world.context, file, ObserveOptions::default())
}

fn pass(world: &World, dry_run: bool) -> (Vec<Kind>, bool) {
    let pass = managed(world).pass(dry_run).unwrap();
    (pass.drifts.iter().map(|drift| drift.kind).collect(), pass.written)
}

#[test]
fn a_registry_that_is_not_there_is_empty() {
    let world = World::new();
    let pass = managed(&world).pass(false).unwrap();
    assert_eq!((pass.checked, pass.drifts.len(), pass.written), (0, 0, false));
}

#[test]
fn a_session_that_is_gone_is_terminated_in_the_file() {
    let world = World::new();
    world.fake.session("other");
    write(&world, &[entry(&world, "api-creator-claude", "")]);
    assert_eq!(pass(&world, false), (vec![Kind::Dead], true));
    let text = file(&world);
    assert!(text.contains("status: terminated") && text.contains("auto-detected"), "{text}");
    assert!(text.starts_with("# mine\n"), "comments stay");
    assert_eq!(pass(&world, false), (vec![], false), "told once");
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let world = World::new();
    world.fake.session("other");
    write(&world, &[entry(&world, "api-creator-claude", "")]);
    let before = file(&world);
    for _ in 0..2 {
        assert_eq!(pass(&world, true), (vec![Kind::Dead], false));
    }
    assert_eq!(file(&world), before);
}

#[test]
fn without_a_server_all_of_them_are_gone() {
    let world = World::new();
    write(
        &world,
        &[entry(&world, "api-creator-claude", ""), entry(&world, "web-creator-claude", "")],
    );
    let (kinds, written) = pass(&world, false);
    assert!(kinds.contains(&Kind::AllGone), "{kinds:?}");
    assert!(written);
    assert_eq!(file(&world).matches("status: terminated").count(), 2);
}

#[test]
fn while_tmux_does_not_answer_nothing_is_decided() {
    let world = World::new();
    world.fake.session("other");
    write(&world, &[entry(&world, "api-creator-claude", "")]);
    world.fake.hang(true);
    let before = file(&world);
    assert!(matches!(managed(&world).pass(false), Err(Error::Tmux(_))));
    assert_eq!(file(&world), before);
}

#[test]
fn an_agent_that_left_its_pane_is_told() {
    let world = World::new();
    let pane = world.fake.session("api-creator-claude");
    // A shell is left.
    world.fake.change(pane, |pane| pane.pid = 1);
    write(&world, &[entry(&world, "api-creator-claude", "")]);
    assert_eq!(pass(&world, true).0, [Kind::AgentGone]);
}

#[test]
fn entries_of_other_hosts_and_other_words_are_left_alone() {
    let world = World::new();
    world.fake.session("other");
    let elsewhere = entry(&world, "api-creator-claude", "").replace("desk", "laptop");
    let parked =
        entry(&world, "web-creator-claude", "").replace("status: running", "status: parked");
    write(&world, &[elsewhere, parked]);
    let before = file(&world);
    assert_eq!(pass(&world, false), (vec![], false));
    assert_eq!(file(&world), before);
}

#[test]
fn what_a_person_has_just_written_is_not_undone() {
    let world = World::new();
    world.fake.session("other");
    let fresh = entry(&world, "api-creator-claude", "");
    let fresh = fresh.replace(&created(&fresh), &format!("created_at: {}", ago(1)));
    write(&world, &[fresh]);
    let pass = managed(&world).pass(false).unwrap();
    assert!(pass.held && !pass.written && pass.drifts.is_empty(), "{pass:?}");
}

fn created(entry: &str) -> String {
    entry.lines().find(|line| line.contains("created_at")).unwrap().trim().to_owned()
}

#[test]
fn a_file_that_is_no_registry_is_refused() {
    let world = World::new();
    for text in ["sessions: [1, 2]\n", "version: 9\nsessions: {}\n", "- a\n", "a: [\n"] {
        std::fs::write(world.home().join("sessions.yaml"), text).unwrap();
        assert!(managed(&world).pass(false).is_err(), "{text}");
        assert_eq!(file(&world), text);
    }
}

#[test]
fn an_agent_of_the_name_is_read_from_the_pattern() {
    let world = World::new();
    let text = "version: 1\nsessions:\n  api-creator-codex:\n    status: running\n";
    std::fs::write(world.home().join("sessions.yaml"), text).unwrap();
    let registry = managed(&world).read().unwrap();
    assert_eq!(registry.sessions["api-creator-codex"].agent, "codex");
}

#[test]
fn one_look_at_tmux_for_the_whole_registry() {
    let world = World::new();
    let over = world.running("api-creator-codex", "codex");
    world.ended(&over, Exit::Code(0), Cause::Itself);
    world.fake.session("other");
    let names = ["api-creator-claude", "web-creator-claude", "doc-creator-claude"];
    write(&world, &names.map(|name| entry(&world, name, "")));
    world.fake.take_ran();
    pass(&world, true);
    assert_eq!(world.fake.take_ran(), ["display-message", "list-panes"]);
}
