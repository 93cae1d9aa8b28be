//! Starting the session of a step.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dogwatch_core::name::StoryStep;
use dogwatch_tmux::{Command, Running};
use jiff::Zoned;

use super::{Place, Runtime, polls, remains};
use crate::act::kill;
use crate::act::spawn::{self, Request, Script, Spawned, TYPED_FILE, What};
use crate::sense::agents;
use crate::{Context, Error, snapshot};

/// Longest command that is typed as it is.
const LONGEST_TYPED: usize = 500;

/// What to start.
#[derive(Debug, Clone)]
pub struct Ask {
    pub step: StoryStep,
    pub command: String,
    pub agent: String,
    /// `SHELL`.
    pub shell: Option<PathBuf>,
    pub caller_env: Vec<(OsString, OsString)>,
}

/// Starts the session, and returns once its shell certainly runs. On failure nothing of it is left.
pub fn spawn(context: &Context, place: &Place, ask: Ask, now: &Zoned) -> Result<Spawned, Error> {
    let ask_shell = Command::new("show-options").flag('g').flag('v').arg("default-shell");
    let asked = context.tmux.start(&[ask_shell]);
    // While tmux makes up its answer.
    remains::clear(place);
    polls::forget_old(context);
    let is_typed = place.runtime == Runtime::Legacy;
    let text = format!("{}\n", ask.command.trim_end());
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let script = Script {
        shell: shell(context, asked, ask.shell, &place.project)?,
        text,
        agent: ask.agent.clone(),
        interactive: is_typed,
    };
    let request = Request {
        what: What::Script(script),
        prompt: None,
        name: None,
        story: Some(ask.step),
        project: place.project.clone(),
        cwd: place.project.clone(),
        model: None,
        unattended: false,
        env: vec![
            set("STORY_AUTOMATOR_CHILD", "true"),
            set("AI_AGENT", &ask.agent),
            set("BASH_ENV", ""),
            set("BMAD_AUDIT_KEY", ""),
            set("CLAUDECODE", ""),
        ],
        caller_env: ask.caller_env,
        place: spawn::Place::OwnSession,
        seat: None,
        resume: None,
    };
    let spawned = spawn::spawn(context, &request, now)?;
    if is_typed {
        let typed = type_in(context, &spawned, ask.command.trim_end());
        typed.inspect_err(|_| undo(context, &spawned, now))?;
    }
    Ok(spawned)
}

/// Types the command into the shell, as a person would; a long one by its file.
fn type_in(context: &Context, spawned: &Spawned, command: &str) -> Result<(), Error> {
    let file = context.state.session(&spawned.id).path().join(TYPED_FILE);
    let is_short = command.len() <= LONGEST_TYPED && !command.contains('\n');
    let by_file = || format!("bash '{}'", file.to_string_lossy().replace('\'', r"'\''"));
    let line = if is_short { command.to_owned() } else { by_file() };
    let keys = |command: Command| command.target(spawned.pane);
    context.tmux.run(&[
        keys(Command::new("send-keys").flag('l')).arg(line),
        keys(Command::new("send-keys")).arg("Enter"),
    ])?;
    Ok(())
}

fn undo(context: &Context, spawned: &Spawned, now: &Zoned) {
    if let Ok(seen) = snapshot::find(context, &spawned.id) {
        let _ = kill::kill(context, &seen, true, now.timestamp());
    }
}

/// The shell that runs commands: tmux's own choice, else the caller's, else the usual ones.
fn shell(
    context: &Context,
    asked: Result<Running, dogwatch_tmux::Error>,
    variable: Option<PathBuf>,
    cwd: &Path,
) -> Result<PathBuf, Error> {
    let of_tmux = asked
        .and_then(Running::finish)
        .ok()
        .and_then(|replies| Some(PathBuf::from(replies.first()?.first_line().into_owned())));
    let mut wanted = of_tmux.into_iter().chain(variable).filter(|shell| shell.is_absolute());
    let find = |shell: &str| agents::find_program(shell, &context.path, cwd);
    let found = wanted.find_map(|shell| find(&shell.to_string_lossy()));
    found.or_else(|| find("bash")).or_else(|| find("sh")).ok_or_else(|| {
        let (program, install) = ("bash".to_owned(), "install bash".to_owned());
        Error::ProgramNotFound { program, install }
    })
}
