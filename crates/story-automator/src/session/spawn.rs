//! Starts the session of a step.

use std::ffi::OsString;

use dogwatch_base::log::Logged as _;
use dogwatch_core::name::StoryStep;
use dogwatch_tmux::Input;
use jiff::Zoned;

use super::{Place, Runtime, output, polls, remains};
use dogwatch_engine::actions::kill;
use dogwatch_engine::actions::spawn::{self, Request, Script, Spawned, TYPED_FILE, What};
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::{Context, Error};

/// Longest command that is typed directly.
const LONGEST_TYPED: usize = 500;

/// What to start.
#[derive(Debug, Clone)]
pub struct Ask {
    pub step: StoryStep,
    pub command: String,
    pub agent: String,
    pub caller_env: Vec<(OsString, OsString)>,
}

/// Starts the session, and returns when its shell certainly runs. Leaves nothing behind on failure.
pub fn spawn(context: &Context, place: &Place, ask: Ask, now: &Zoned) -> Result<Spawned, Error> {
    remains::clear(place);
    polls::forget_old(context);
    let is_typed = place.runtime == Runtime::Legacy;
    let text = format!("{}\n", ask.command.trim_end());
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let script = Script { text, agent: ask.agent.clone(), interactive: is_typed };
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
        tags: Vec::new(),
        membership: None,
        when_limited: Some(dogwatch_core::limits::WhenLimited::Notify),
        resume: None,
        subscriber: None,
    };
    let spawned = spawn::spawn(context, &request, now)?;
    output::forget(context, place, spawned.name.as_str());
    if is_typed {
        let typed = type_in(context, &spawned, ask.command.trim_end());
        typed.inspect_err(|_| undo(context, &spawned, now))?;
    }
    Ok(spawned)
}

/// Types the command into the shell, as a person would; a long one through its file.
fn type_in(context: &Context, spawned: &Spawned, command: &str) -> Result<(), Error> {
    let file = context.state.session(&spawned.id).path().join(TYPED_FILE);
    let is_short = command.len() <= LONGEST_TYPED && !command.contains('\n');
    let by_file = || format!("bash '{}'", file.to_string_lossy().replace('\'', r"'\''"));
    let line = if is_short { command.to_owned() } else { by_file() };
    Ok(context.tmux.type_into(&Input::text(spawned.pane, line).then("Enter"))?)
}

fn undo(context: &Context, spawned: &Spawned, now: &Zoned) {
    if let Ok(seen) = snapshot::find(context, &spawned.id) {
        kill::kill(context, &seen, true, now.timestamp()).logged("end a session");
    }
}
