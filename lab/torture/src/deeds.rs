//! Operations: what people and agents do all day, some of it killed halfway.

use std::fs::{self, File};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cast::{self, Names};
use crate::ledger::{self, Message};
use crate::plan::{Act, Deed, Fault, Reading, Role};
use crate::run::Ended;
use crate::stage::Stage;
use crate::world::SECRET;

/// Executes one operation of the round.
pub(crate) fn carry_out(stage: &Stage, number: usize, act: Act) {
    // sleep: the time of the operation, by the plan.
    std::thread::sleep(Duration::from_millis(act.after_ms));
    let cut = act.cut_us.map(Duration::from_micros);
    let ended = match act.deed {
        Deed::Spawn(role) => Some(spawn(stage, number, role, cut)),
        Deed::Kill { pick, now } => kill(stage, pick, now, cut),
        Deed::Send { pick, now } => send(stage, number, pick, now, cut),
        Deed::Job { pick } => job(stage, number, pick, cut),
        Deed::Hook { pick, size } => hook(stage, pick, size, cut),
        Deed::Read { pick, command } => read(stage, pick, command, cut),
        Deed::Wait { pick } => wait(stage, pick, cut),
        Deed::Gc => Some(gc(stage, cut)),
        Deed::Reconcile => Some(reconcile(stage, cut)),
    };
    let Some(ended) = ended else { return };
    let kind = act.deed.kind();
    if ended.cut {
        stage.injected(format!("kill -9 dogwatch {kind}"));
    }
    let mut tally = stage.tally();
    let count = tally.deeds.entry(kind).or_default();
    count.times += 1;
    count.cut += u64::from(ended.cut);
    count.failed += u64::from(!ended.cut && !ended.is_ok());
}

/// Whether the fault of the round can make a command fail that would otherwise work.
pub(crate) fn may_fail(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::KillServer
            | Fault::EndServer
            | Fault::KillTmuxCommand
            | Fault::StopServer
            | Fault::StopCommands
            | Fault::DiskFull
            | Fault::FullSupervisor
            | Fault::DiskReadOnly
            | Fault::DeletedLog
            | Fault::DatabaseLocked
    )
}

fn complain_unless(stage: &Stage, what: &str, ended: &Ended, fine: &[i32]) {
    let fits = ended.cut || ended.code.is_some_and(|code| code == 0 || fine.contains(&code));
    if !fits && ended.misbehaved().is_none() && !may_fail(stage.fault()) {
        stage.violation(format_args!("{what} failed with {:?}: {}", ended.code, ended.words()));
    }
}

fn environment(command: &mut Command, name: &str, scene: &str) {
    command.env("TORTURE_NAME", name).env("TORTURE_SCENE", scene).env("TORTURE_API_KEY", SECRET);
}

/// The name of the session that an operation of this round starts.
pub(crate) fn name_of(stage: &Stage, number: usize) -> String {
    format!("t{}x{number}", stage.round())
}

pub(crate) fn spawn(stage: &Stage, number: usize, role: Role, cut: Option<Duration>) -> Ended {
    let world = &stage.world;
    let name = name_of(stage, number);
    let scene = world.path("scenes").join(format!("{name}.toml"));
    let prompt = world.path("scenes").join("prompt.txt").display().to_string();
    let witness = world.witness(&name).display().to_string();
    let program = world.dogwatch.display().to_string();
    let names = Names { witness: &witness, dogwatch: &program, prompt: &prompt };
    if let Err(error) = fs::write(&scene, cast::scenario(role, &names)) {
        stage.log(format_args!("no scenario: {error}"));
    }
    let scene = scene.display().to_string();
    let mut command = world.command(&["spawn", "--json", "--name", &name]);
    match role {
        Role::Agent | Role::Asker => command.arg("codex"),
        _ => command.arg("--").arg(&world.actor).arg(&scene),
    };
    environment(&mut command, &name, &scene);
    stage.ledger().begin(&name, role);
    let ended = stage.run(&format!("spawn {name} {role:?}"), command, cut);
    let said = ended.json();
    let mut ledger = stage.ledger();
    ledger.spawned += u64::from(ended.is_ok());
    ledger.cut_spawns += u64::from(ended.cut);
    let disturbed = ended.cut || matches!(ended.code, Some(124));
    ledger.change(&name, |entry| {
        entry.spawning = false;
        entry.truth.promised = ended.is_ok();
        entry.truth.refused = !ended.is_ok() && !disturbed;
        entry.truth.spawn_disturbed |= disturbed;
        entry.id = said["id"].as_str().map(ToOwned::to_owned);
        entry.pid = said["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    });
    // A runner or agent that was killed right at its start was hit by the fault.
    let hit = ledger.get(&name).is_some_and(|entry| {
        entry.truth.agent_killed || entry.truth.runner_killed || entry.truth.spawn_disturbed
    });
    drop(ledger);
    if !hit {
        complain_unless(stage, &format!("spawn {name}"), &ended, &[]);
    }
    ended
}

fn kill(stage: &Stage, pick: u64, now: bool, cut: Option<Duration>) -> Option<Ended> {
    let name = stage.ledger().pick(pick, |_| true)?;
    stage.ledger().change(&name, |entry| entry.truth.kill_asked = true);
    let mut args = vec!["kill", "--json", &name];
    if now {
        args.push("--now");
    }
    let ended = stage.run(&format!("kill {name}"), stage.world.command(&args), cut);
    complain_unless(stage, &format!("kill {name}"), &ended, &[]);
    if ended.is_ok() {
        let pid = stage.ledger().get(&name).and_then(|entry| entry.pid);
        if pid.is_some() && ledger::agent_lives(&name, pid, &[]) {
            stage.violation(format_args!("kill {name} succeeded, and its agent lives"));
        }
    }
    Some(ended)
}

fn send(
    stage: &Stage,
    number: usize,
    pick: u64,
    now: bool,
    cut: Option<Duration>,
) -> Option<Ended> {
    let name = stage.ledger().pick(pick, |entry| entry.role == Role::Agent)?;
    Some(send_to(stage, &name, &number.to_string(), now, cut))
}

/// A message that says which one it is.
pub(crate) fn send_to(
    stage: &Stage,
    name: &str,
    what: &str,
    now: bool,
    cut: Option<Duration>,
) -> Ended {
    let text = format!("message {what} of round {}", stage.round());
    let mut args = vec!["send", name, &text, "--timeout", "6s", "--json"];
    if now {
        args.extend(["--when", "now"]);
    }
    let ended = stage.run(&format!("send {name}"), stage.world.command(&args), cut);
    let outcome = ended.json()["outcome"].as_str().map(ToOwned::to_owned);
    stage.ledger().messages.push(Message { session: name.to_owned(), text, outcome });
    ended
}

fn job(stage: &Stage, number: usize, pick: u64, cut: Option<Duration>) -> Option<Ended> {
    let name = stage.ledger().pick(pick, |entry| entry.role == Role::Agent)?;
    let text = format!("job {} of round {}", number, stage.round());
    let args = ["job", "submit", &name, &text, "--timeout", "6s", "--json"];
    let ended = stage.run(&format!("job {name}"), stage.world.command(&args), cut);
    stage.ledger().messages.push(Message { session: name, text, outcome: None });
    Some(ended)
}

fn hook(stage: &Stage, pick: u64, size: u32, cut: Option<Duration>) -> Option<Ended> {
    // Agents send their own hooks; ours would be taken for proof.
    let name = stage.ledger().pick(pick, |entry| entry.role != Role::Agent)?;
    let id = stage.ledger().get(&name)?.id.clone()?;
    let fill = "z".repeat(usize::try_from(size).unwrap_or(0));
    let payload = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "fill": fill });
    let ended = call_hook(stage, &id, &payload, cut);
    complain_unless(stage, &format!("hook for {name}"), &ended, &[]);
    if !ended.cut && !ended.is_ok() {
        stage.violation(format_args!("a hook ended with {:?}: {}", ended.code, ended.stderr));
    }
    Some(ended)
}

pub(crate) fn call_hook(stage: &Stage, id: &str, payload: &Value, cut: Option<Duration>) -> Ended {
    let mut command = stage.world.command(&["hook", "codex"]);
    command.env("DOGWATCH_SESSION", id);
    let file = tempfile::tempfile_in(stage.world.path("scenes")).and_then(|mut file| {
        use std::io::{Seek, Write};
        file.write_all(payload.to_string().as_bytes())?;
        file.rewind()?;
        Ok::<File, std::io::Error>(file)
    });
    if let Ok(file) = file {
        command.stdin(file);
    }
    stage.run("hook", command, cut)
}

fn read(stage: &Stage, pick: u64, what: Reading, cut: Option<Duration>) -> Option<Ended> {
    let name = stage.ledger().pick(pick, |_| true);
    let word = what.as_str();
    let needs_name =
        matches!(what, Reading::Why | Reading::Capture | Reading::Exists | Reading::Record);
    let args: Vec<&str> = match (what, &name) {
        (_, Some(name)) if needs_name => vec![word, name, "--json"],
        (_, None) if needs_name => return None,
        (Reading::Events, _) => vec![word, "--last", "200", "--json"],
        _ => vec![word, "--json"],
    };
    let ended = stage.run(&args.join(" "), stage.world.command(&args), cut);
    let fine: &[i32] = match what {
        Reading::Exists | Reading::Doctor => &[1],
        // A session that lost its terminal has no saved screen.
        Reading::Capture => &[3],
        _ => &[],
    };
    complain_unless(stage, word, &ended, fine);
    Some(ended)
}

fn wait(stage: &Stage, pick: u64, cut: Option<Duration>) -> Option<Ended> {
    let name = stage.ledger().pick(pick, |_| true)?;
    let args = ["wait", &name, "--for", "exited,crashed,lost", "--timeout", "2s", "--json"];
    let ended = stage.run(&args.join(" "), stage.world.command(&args), cut);
    complain_unless(stage, "wait", &ended, &[4, 124]);
    Some(ended)
}

fn gc(stage: &Stage, cut: Option<Duration>) -> Ended {
    let ended = stage.run("gc", stage.world.command(&["gc", "--older-than", "1h", "--json"]), cut);
    complain_unless(stage, "gc", &ended, &[]);
    ended
}

fn reconcile(stage: &Stage, cut: Option<Duration>) -> Ended {
    let ended =
        stage.run("reconcile", stage.world.command(&["reconcile", "--once", "--json"]), cut);
    complain_unless(stage, "reconcile", &ended, &[]);
    ended
}
