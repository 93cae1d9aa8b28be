//! Verifies one version of an agent: starts the laboratory in a process that has nothing of the user's environment, and keeps the
//! recordings of what was not recognised.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_engine::error::AgentError;
use dogwatch_engine::observe::{agents, processes};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::verification::{Grade, Totals, Verification};
use dogwatch_store::read_up_to;
use jiff::Timestamp;
use model_double::homes::Agent;
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::laboratory::{self, Task};

/// How often the laboratory is looked at.
const PACE: Duration = Duration::from_millis(100);
/// After this the laboratory has not kept its own limits.
const LIMIT: Duration = Duration::from_mins(10);
/// How long the program may take to say its version, the first time on a busy machine.
const FIRST_START: Duration = Duration::from_mins(1);
/// How long it may take to clear up.
const LEAVING: Duration = Duration::from_secs(20);

/// What to verify.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub agent: String,
    /// The program; else the one on the search path.
    pub program: Option<PathBuf>,
    /// The longer plays too.
    pub all: bool,
    /// Only these plays.
    pub only: Vec<String>,
    /// How many sessions side by side; none for as many as the machine can take.
    pub lanes: Option<usize>,
    /// Names of the user and the machine, masked in recordings.
    pub names: Vec<String>,
}

/// Verifies an agent. Progress is printed by the laboratory, to standard error.
pub fn verify(context: &Context, request: &Request) -> Result<Verification, Error> {
    let begun = Instant::now();
    let agent = &request.agent;
    if crate::agent::named(agent).is_none() {
        let known: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        let (agent, known) = (agent.clone(), known.join(", "));
        return Err(AgentError::NotVerifiable { agent, known }.into());
    }
    let profile = agents::profile(context, agent)?;
    let wanted = request.program.clone().unwrap_or_else(|| PathBuf::from(&profile.program));
    let here = std::env::current_dir().map_err(Error::io("find the current directory"))?;
    let found = agents::find_program(&wanted.to_string_lossy(), &context.path, &here);
    let Some(program) = found else {
        let (program, install) = (wanted.display().to_string(), profile.install);
        return Err(AgentError::ProgramNotFound { program, install }.into());
    };
    let folder = tempfile::Builder::new()
        .prefix("dogwatch-verify-")
        .tempdir()
        .map_err(Error::io("create a private directory"))?;
    let task = Task {
        agent: agent.clone(),
        program: program.clone(),
        path: search_path(&program, &context.path),
        folder: folder.path().to_owned(),
        all: request.all,
        only: request.only.clone(),
        lanes: request.lanes.unwrap_or_else(lanes),
        names: request.names.clone(),
    };
    write_launcher(&task, &profile.program)?;
    let version = version(&task, &profile.version_args);
    if version.is_none() {
        return Err(AgentError::DoesNotStart { program }.into());
    }
    task.save()?;
    let played = play(context, &task);
    let outcome = played.and_then(|()| laboratory::outcome(&task.folder));
    let report = outcome.as_ref().ok().and_then(|outcome| {
        let is_off = |grade: Grade| !matches!(grade, Grade::Right | Grade::NotApplicable);
        let is_any = outcome.situations.iter().any(|situation| is_off(situation.grade));
        is_any.then(|| keep_reports(context, &task, version.as_deref())).flatten()
    });
    remove(folder);
    let outcome = outcome?;
    Ok(Verification {
        agent: agent.clone(),
        program: program.display().to_string(),
        version,
        dogwatch: env!("CARGO_PKG_VERSION").to_owned(),
        at: Timestamp::now(),
        seconds: begun.elapsed().as_secs(),
        totals: Totals::of(&outcome.situations),
        situations: outcome.situations,
        sources: outcome.sources,
        turn_end: outcome.turn_end,
        report: report.map(|path| path.display().to_string()),
    })
}

/// Agents are mostly busy while they start; then they wait.
fn lanes() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores * 2).clamp(2, 8)
}

/// The program's own folder may have what it needs to run.
fn search_path(program: &Path, path: &OsStr) -> OsString {
    let own = program.parent().map(Path::to_owned);
    let folders = own.into_iter().chain(std::env::split_paths(path));
    std::env::join_paths(folders).unwrap_or_else(|_| path.to_owned())
}

/// `spawn` finds the agent by its name, so the program gets it, whatever its file is called. Shell scripts may look beside
/// themselves for the rest of them: they keep their own path.
fn write_launcher(task: &Task, name: &str) -> Result<(), Error> {
    let folder = task.folder.join("bin");
    fs::create_dir_all(&folder).map_err(Error::io("create a directory"))?;
    let quoted = task.program.display().to_string().replace('\'', r"'\''");
    let path = folder.join(name);
    if !is_shell_script(&task.program) {
        return symlink(&task.program, &path).map_err(Error::io("write a launcher"));
    }
    let script = format!("#!/bin/sh\nexec '{quoted}' \"$@\"\n");
    fs::write(&path, script).map_err(Error::io("write a launcher"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .map_err(Error::io("write a launcher"))
}

fn is_shell_script(program: &Path) -> bool {
    let start = fs::File::open(program).and_then(|file| read_up_to(file, 64));
    let start = start.logged("read a program").unwrap_or_default();
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"#!") && line.ends_with(b"sh")
}

/// A command that has nothing of the user's environment but the search path.
fn clean(program: &Path, task: &Task) -> Result<Command, Error> {
    let (home, tmp) = (task.folder.join("home"), task.folder.join("tmp"));
    for folder in [&home, &tmp] {
        fs::create_dir_all(folder).map_err(Error::io("create a directory"))?;
    }
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .env("TMPDIR", tmp)
        .env("PATH", task.search_path())
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .current_dir(&task.folder);
    Ok(command)
}

fn version(task: &Task, args: &[String]) -> Option<String> {
    let mut command = clean(&task.program, task).logged("ask an agent for its version")?;
    command.args(args);
    let output = processes::output_within(command, b"", FIRST_START)?;
    agents::version_in(&String::from_utf8_lossy(&output)).map(ToOwned::to_owned)
}

/// Runs the laboratory to its end.
fn play(context: &Context, task: &Task) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(Error::io("listen for Ctrl-C"))?;
    }
    let mut child = clean(&context.dogwatch, task)?
        .args(["lab", "verify"])
        .arg(&task.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(Error::io("start the laboratory"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal: Signal| {
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, signal).logged("signal the laboratory");
        }
    };
    let begun = Instant::now();
    let mut asked: Option<Instant> = None;
    loop {
        match child.try_wait().map_err(Error::io("wait for the laboratory"))? {
            Some(_) if stop.load(Ordering::Relaxed) => {
                return Err(AgentError::VerificationStopped.into());
            }
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let problem = io::Error::other(format!("it ended with {status}"));
                return Err(Error::io("run the laboratory")(problem));
            }
            None => {}
        }
        let is_late = begun.elapsed() > LIMIT;
        match asked {
            None if is_late || stop.load(Ordering::Relaxed) => {
                asked = Some(Instant::now());
                signal(Signal::TERM);
            }
            Some(at) if at.elapsed() > LEAVING => signal(Signal::KILL),
            _ => {}
        }
        // sleep: a child and a signal at once; neither tells the other's wait.
        std::thread::sleep(PACE);
    }
}

/// Moves the recordings to where bug reports are.
fn keep_reports(context: &Context, task: &Task, version: Option<&str>) -> Option<PathBuf> {
    let from = task.reports();
    if !from.exists() {
        return None;
    }
    let time = Timestamp::now().strftime("%y%m%d-%H%M%S");
    let name = format!("verify-{}-{}-{time}", task.agent, version.unwrap_or("unknown"));
    let to = context.state.records().logged("find the folder of bug reports")?.join(name);
    copy_folder(&from, &to).logged("keep recordings")?;
    Some(to)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// What was being ended may still write a last word.
fn remove(folder: tempfile::TempDir) {
    let path = folder.keep();
    let begun = Instant::now();
    while fs::remove_dir_all(&path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
        if begun.elapsed() > Duration::from_secs(5) {
            fs::remove_dir_all(&path).logged_unless_missing("remove a folder");
            return;
        }
        // sleep: no event reports the last write of a process that is ending.
        std::thread::sleep(PACE);
    }
}
