use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const PASS: &str = "dogwatch reconcile --once";
/// Sessions that one tmux process creates.
const AT_ONCE: usize = 50;
/// The fields that dogwatch requests, as far as they cost tmux time.
const FIELDS: &str = "#{session_name} #{pane_id} #{pane_pid} #{pane_dead} #{pane_current_command} #{pane_current_path}";

/// A pass over a registry with that many sessions, each alive, with an agent in it and its conversation on disk, compared with
/// listing the panes only. There is no drift, as usual.
pub(crate) fn measure(world: &World, sessions: usize, rounds: usize) -> Result<Group, Error> {
    prepare(world, sessions)?;
    let timed = |mut command: std::process::Command| {
        move || -> Result<Duration, Error> { Ok(child::run(&mut command)?.success()?.took) }
    };
    let list = world.tmux(["list-panes", "-a", "-F", FIELDS]);
    let pass = world.dogwatch(["reconcile", "--once", "--emit-diff"]);
    let contestants = vec![
        Contestant::new("tmux list-panes -a", timed(list)),
        Contestant::new(PASS, timed(pass)),
    ];
    // A millisecond per session, plus the start of a process.
    let most = f64::from(u32::try_from(sessions).unwrap_or(u32::MAX)) + 10.0;
    Ok(Group {
        title: format!("reconcile, {sessions} sessions"),
        runners: race(world, contestants, rounds)?,
        targets: vec![Target { runner: PASS, goal: Goal::Milliseconds(most) }],
    })
}

fn prepare(world: &World, sessions: usize) -> Result<(), Error> {
    let io = |what| Error::io(what);
    let program = world.programs().join("claude");
    fs::create_dir_all(world.programs()).map_err(io("make a folder"))?;
    fs::write(&program, "#!/bin/sh\nread -r line\n").map_err(io("write a program"))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&program, executable).map_err(io("make it executable"))?;
    let have = world.names()?.len();
    let names: Vec<String> = (0..sessions).map(|n| format!("w{n}-creator-claude")).collect();
    let program = program.display().to_string();
    for part in names[have.min(sessions)..].chunks(AT_ONCE) {
        world.go_on()?;
        let make =
            |name: &String| ["new-session", "-d", "-s", name, &program, ";"].map(ToOwned::to_owned);
        let words: Vec<String> = part.iter().flat_map(make).collect();
        child::run(&mut world.tmux(&words[..words.len() - 1]))?.success()?;
    }
    write_registry(world, &names)?;
    let begun = Instant::now();
    loop {
        let said = child::run(&mut world.dogwatch(["reconcile", "--once", "--emit-diff"]))?;
        let said = said.success()?.text();
        // Until all agents run, and their panes are recorded.
        if said.contains("\"drifts\":[],\"standing\":[],\"written\":false")
            && said.contains(&format!("\"sessions_checked\":{sessions},"))
        {
            return Ok(());
        }
        if begun.elapsed() > child::PATIENCE {
            return Err(Error::Wrong { what: "a registry in which nothing differs", found: said });
        }
    }
}

/// Each with its own conversation.
fn write_registry(world: &World, names: &[String]) -> Result<(), Error> {
    let home = world.home().canonicalize().map_err(Error::io("find the home"))?;
    let home = home.display().to_string();
    let key: String =
        home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let project = world.home().join(".claude/projects").join(key);
    fs::create_dir_all(&project).map_err(Error::io("make a project"))?;
    let mut text = "version: 1\nsessions:\n".to_owned();
    for (n, name) in names.iter().enumerate() {
        let id = format!("{n:08x}-0000-4000-8000-000000000000");
        fs::write(project.join(format!("{id}.jsonl")), "{}\n")
            .map_err(Error::io("write a conversation"))?;
        let _ = writeln!(
            text,
            "  {name}: # session {n}\n    agent: claude\n    workspace: w{n}\n    cwd: {home}\n    \
             status: running\n    created_at: 2026-11-15T10:00:00Z\n    claude_session_id_own: {id}\n    \
             agent_identities:\n      claude:\n        session_id: {id}"
        );
    }
    child::run(&mut world.dogwatch(["ls"]))?.success()?;
    let file = world.state().join("agent-sessions.yaml");
    fs::write(file, text).map_err(Error::io("write a registry"))
}
