use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use dogwatch_core::exit_code;
use dogwatch_core::label;
use dogwatch_core::launch::PRIVATE_PROMPTS;
use dogwatch_core::name::StoryStep;
use dogwatch_engine::actions::callback;
use dogwatch_engine::actions::spawn::worktree::{self, InWorktree, SpawnedInWorktree};
use dogwatch_engine::actions::spawn::{self, Place, Request, Spawned, What};
use dogwatch_engine::error::SessionError;
use dogwatch_engine::observe::limits::clock;
use dogwatch_engine::worktree::make::Wish;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::session;
use dogwatch_store::{open_given, read_up_to};
use jiff::Timestamp;

use crate::args::Spawn;
use crate::commands::diff;
use crate::usage::UsageError;
use crate::{environment, ui};

pub(crate) fn spawn(context: &Context, args: Spawn) -> Result<u8, Error> {
    let as_json = ui::prints_json();
    let subscriber = args.notify_me.then(|| callback::subscriber(context)).transpose()?;
    let place = in_worktree(&args);
    let request = Request { subscriber, ..request(args)? };
    let now = environment::local_time();
    let (spawned, made) = match place {
        None => (spawn::spawn(context, &request, &now)?, None),
        Some(place) => {
            let SpawnedInWorktree { spawned, worktree, values, notes } =
                worktree::spawn(context, &request, &place, &now)?;
            for note in notes {
                ui::talk(format_args!("note: {note}"));
            }
            let folder = ui::short_path(&worktree.folder);
            ui::talk(format_args!("worktree {folder} on branch {}", worktree.branch));
            (spawned, Some((worktree, values)))
        }
    };
    if spawned.prompt_in_file {
        ui::talk("note: the prompt is not on the command line; the agent reads it from a file");
    }
    if let Some(caution) = caution(&spawned) {
        ui::talk(format_args!("note: {caution}"));
    }
    if let Some(until) = spawned.held_until {
        let clock = clock(until, Timestamp::now());
        ui::talk(format_args!("note: its account is limited; the prompt is delivered at {clock}"));
    }
    if as_json {
        let mut shape = shape(&spawned);
        if let Some((worktree, values)) = made {
            shape.worktree = Some(Box::new(diff::shape(&worktree)));
            shape.values = values.into_iter().collect();
        }
        ui::json(&shape);
    } else {
        ui::line(&spawned.name);
    }
    Ok(exit_code::OK)
}

/// The worktree that is asked for.
fn in_worktree(args: &Spawn) -> Option<InWorktree> {
    let branch = args.worktree.clone()?;
    let branch = Some(branch).filter(|branch| !branch.is_empty());
    let wish = Wish { branch, base: args.base.clone() };
    Some(InWorktree { wish, no_setup: args.no_setup })
}

fn request(mut args: Spawn) -> Result<Request, Error> {
    // `spawn - -- COMMAND`: no agent is called that.
    args.words = args.words.or_else(|| args.agent.take_if(|agent| agent == "-"));
    let prompt = prompt(&args)?;
    let what = match args.agent {
        Some(name) => What::Agent { name, extra_args: args.args },
        None if args.args.is_empty() => {
            return Err(UsageError::NothingToStart.into());
        }
        None => What::Command(args.args),
    };
    let story = args.step.zip(args.story).map(|(step, story)| StoryStep {
        step,
        epic: args.epic.unwrap_or_default(),
        story,
        cycle: args.cycle,
    });
    let here = environment::current_dir()?;
    let cwd = args.cwd.map_or_else(|| here.clone(), |dir| here.join(dir));
    // `..` and links are resolved where the folder exists; where not, spawn says so with the path as given.
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let mut env = variables(&args.env)?;
    if args.private_prompt {
        env.push((PRIVATE_PROMPTS.to_owned(), "1".to_owned()));
    }
    Ok(Request {
        what,
        prompt,
        name: args.name,
        story,
        project: environment::project_of(&cwd),
        cwd,
        model: args.model,
        resume: args.resume,
        unattended: args.unattended,
        env,
        caller_env: std::env::vars_os().collect(),
        place: Place::OwnSession,
        tags: label::tags(&args.tags)?,
        membership: None,
        when_limited: args.when_limited,
        subscriber: None,
    })
}

pub(super) fn not_a_pair(option: &'static str, given: &str, form: &'static str) -> Error {
    UsageError::NotAPair { option, given: given.to_owned(), form }.into()
}

/// Variables as they are given: `KEY=VALUE`.
pub(super) fn variables(given: &[String]) -> Result<Vec<(String, String)>, Error> {
    let pair = |pair: &String| match pair.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(not_a_pair("--env", pair, "KEY=VALUE")),
    };
    given.iter().map(pair).collect()
}

fn prompt(args: &Spawn) -> Result<Option<String>, Error> {
    let stdin = Path::new("-");
    let text = args.prompt.as_ref().or(args.words.as_ref());
    let bytes = match (text, &args.prompt_file) {
        (Some(text), _) if text != "-" => return Ok(Some(text.clone())),
        (None, Some(file)) if file != stdin => {
            let action = format!("read {}", file.display());
            open_given(file).and_then(read_prompt).map_err(Error::io(action))?
        }
        (None, None) => return Ok(None),
        _ => read_prompt(std::io::stdin()).map_err(Error::io("read standard input"))?,
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        Error::Session(SessionError::BadPrompt {
            problem: format!("is not UTF-8 (byte {})", error.utf8_error().valid_up_to()),
        })
    })
}

/// One byte more than is taken, so that too long is noticed, and no more.
fn read_prompt(from: impl Read) -> std::io::Result<Vec<u8>> {
    read_up_to(from, spawn::MAX_PROMPT + 1)
}

pub(super) fn shape(spawned: &Spawned) -> session::Spawned {
    session::Spawned {
        id: spawned.id.clone(),
        name: spawned.name.to_string(),
        agent: spawned.agent.clone(),
        pane: spawned.pane.to_string(),
        pid: spawned.started.agent.pid,
        started: spawned.started.at,
        cwd: spawned.cwd.to_string_lossy().into_owned(),
        conversation: spawned.conversation.clone(),
        prompt_in_file: spawned.prompt_in_file,
        version: spawned.version.clone(),
        caution: caution(spawned),
        worktree: None,
        values: BTreeMap::new(),
    }
}

/// What to know of the agent's version.
fn caution(spawned: &Spawned) -> Option<String> {
    let reduced =
        spawned.reduced.as_ref().map(|reduced| format!("{} {}", spawned.agent, reduced.note()));
    reduced.or_else(|| {
        let agent = &spawned.agent;
        let caution = spawned.caution.as_ref()?;
        Some(format!("{caution}; `dogwatch agents verify {agent}` checks it"))
    })
}
