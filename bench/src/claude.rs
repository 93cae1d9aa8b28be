//! Imitates Claude Code sessions without Claude Code: a recorded screen, a state file, stored hook signals, a transcript and a
//! statusline's clock.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_store::{Session, Signal, StateDir, Store, Which};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::child;
use crate::error::Error;
use crate::world::World;

/// Screen and state of a session, selected by its prompt.
const SCENES: [(&str, &str); 3] = [
    (
        "working",
        include_str!("../../crates/core/testdata/screens/claude/2.1.325/working_tool_bash_3s.ansi"),
    ),
    ("idle", include_str!("../../crates/core/testdata/screens/claude/2.1.325/done_short.ansi")),
    (
        "waiting",
        include_str!("../../crates/core/testdata/screens/claude/2.1.325/permission_bash.ansi"),
    ),
];
const PROGRAM: &str = include_str!("claude.sh");
const TOOL_CALL: &str = include_str!("../payloads/PostToolUse.json");
/// Hook signals of each session.
const SIGNALS: usize = 40;
/// Lines of its transcript, some 2 kB each; its turn began this many lines before the end.
const LINES: usize = 120;
const LINES_OF_TURN: usize = 30;

/// Installs `claude` in the path of the environment.
pub(crate) fn install(world: &World) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        let path = world.programs().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    let all = || {
        fs::create_dir_all(world.programs())?;
        write("claude", PROGRAM)?;
        // Stands for an agent with nothing but a screen.
        write("codex", "#!/bin/sh\nstty -echo\nexec sleep 100000\n")?;
        // A line end after the last row would scroll.
        SCENES.iter().try_for_each(|(name, text)| {
            write(&format!("{name}.screen"), text.trim_end_matches('\n'))
        })
    };
    all().map_err(Error::io("write a stand-in for claude"))
}

/// Starts this many sessions with alternating scenes, and waits until each has the expected status.
pub(crate) fn fill_up_to(world: &World, count: usize) -> Result<(), Error> {
    fill(world, count, &SCENES.map(|(scene, _)| scene))
}

/// Starts this many idle sessions.
pub(crate) fn fill_with_idle(world: &World, count: usize) -> Result<(), Error> {
    fill(world, count, &["idle"])
}

fn fill(world: &World, count: usize, scenes: &[&str]) -> Result<(), Error> {
    let had = world.names()?.len();
    world.side_by_side(had..count, |number| {
        let scene = scenes[number % scenes.len()];
        let name = format!("{scene}-{number}");
        // More than a single word, which agents would take for a subcommand.
        let prompt = format!("play {scene}");
        child::run(&mut world.dogwatch(["spawn", "claude", &prompt, "--name", &name]))?
            .success()
            .map(drop)
    })?;
    let state = StateDir::open(&world.state())?;
    let store = Store::open(&state)?;
    for session in &store.sessions(&world.socket(), Which::All)?[had..] {
        dress(&state, &store, session, &world.home())?;
    }
    wait_until_played(world, count)
}

/// Writes the history of a session.
fn dress(state: &StateDir, store: &Store, session: &Session, home: &Path) -> Result<(), Error> {
    let conversation = session.conversation.clone().unwrap_or_default();
    let folder = home.join(".claude/projects/-bench");
    let path = folder.join(format!("{conversation}.jsonl"));
    let scene = scene_of(&session.name);
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, transcript(scene)))
        .map_err(Error::io("write a transcript"))?;
    let mut payload: Value = serde_json::from_str(TOOL_CALL).unwrap_or_default();
    payload["transcript_path"] = json!(path);
    let mut at = session.created;
    for number in 0..SIGNALS {
        let event = match number {
            0 => "SessionStart",
            1 => "UserPromptSubmit",
            _ if number + 1 < SIGNALS => ["PreToolUse", "PostToolUse"][number % 2],
            _ if scene == "idle" => "Stop",
            _ if scene == "waiting" => "PermissionRequest",
            _ => "PreToolUse",
        };
        payload["hook_event_name"] = json!(event);
        at += Duration::from_millis(1);
        let signal = Signal {
            session: session.id.to_string(),
            at,
            agent: "claude".into(),
            event: event.into(),
            payload: payload.to_string(),
            spooled: false,
        };
        signal.keep(state, &format!("{}-{number}", session.id))?;
    }
    Ok(store.heartbeat(&session.id, Timestamp::now(), "{}")?)
}

fn transcript(scene: &str) -> String {
    let mut text = String::new();
    let now = Timestamp::now();
    for number in 0..LINES {
        let at = now - Duration::from_secs((LINES - number) as u64);
        let mut line = if number + LINES_OF_TURN == LINES {
            json!({"type": "user", "origin": {"kind": "human"}, "message": {"role": "user", "content": "go on"}})
        } else if number + 1 == LINES && scene == "idle" {
            json!({"type": "system", "subtype": "turn_duration", "durationMs": 30_000})
        } else {
            let words = "some words that a tool printed, \"quoted\" here and there\n".repeat(30);
            json!({"type": "assistant", "isSidechain": false, "message": {"role": "assistant", "content": [{"type": "text", "text": words}]}})
        };
        line["timestamp"] = json!(at);
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Waits until every session has the expected status: otherwise the figures would be worthless.
fn wait_until_played(world: &World, count: usize) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        world.go_on()?;
        let printed = child::run(&mut world.dogwatch(["status", "--json"]))?.success()?.text();
        let listed: Value = serde_json::from_str(&printed).unwrap_or_default();
        let sessions = listed["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_played =
            |session: &&Value| session["state"].as_str() == session["name"].as_str().map(scene_of);
        let other = sessions.iter().find(|session| !is_played(session));
        if sessions.len() == count && other.is_none() {
            return Ok(());
        }
        if begun.elapsed() > child::PATIENCE {
            let found =
                other.map_or_else(|| format!("{} sessions", sessions.len()), Value::to_string);
            return Err(Error::Wrong { what: "status of what is played", found });
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn scene_of(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}
