use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_core::family;
use dogwatch_core::launch::{self, Ask, Launch};
use dogwatch_core::name::{self, SessionName, StoryStep};
use dogwatch_core::profile::{self, Profile};
use dogwatch_core::record::{Ended, Started};
use dogwatch_store::{NewSession, Server, SessionFolder, Store, Wanted};
use dogwatch_tmux::{Command, PaneId, Target, escape_format};
use jiff::{Timestamp, Zoned};

use crate::act::kill;
use crate::sense::{agents, arrival};
use crate::{Context, Error, snapshot};

/// Columns and rows of a session's window, while nobody is attached who has others.
const WIDTH: u16 = 200;
const HEIGHT: u16 = 50;
/// Lines of history that are there to read, and kept once a program that scrolls has ended.
pub const HISTORY: u32 = 5000;
/// What tmux is told, which drops a tenth of its lines at once whenever it has that many.
const TMUX_HISTORY: u32 = HISTORY + HISTORY / 8;
/// How long the runner may take to say that the agent runs. Loaded machines are slow; a failure is
/// told at once, so this is only waited out when everything hangs.
const START_PATIENCE: Duration = Duration::from_secs(15);
/// How often another name is tried when tmux already has the one the store thought free.
const NAME_TRIES: usize = 100;
/// Longest prompt taken at all.
pub const MAX_PROMPT: u64 = 16 * 1024 * 1024;

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct Request {
    pub what: What,
    pub prompt: Option<String>,
    /// A name of the caller's own; else one is made from the story, or from agent and time.
    pub name: Option<String>,
    pub story: Option<StoryStep>,
    pub project: PathBuf,
    pub cwd: PathBuf,
    pub model: Option<String>,
    pub unattended: bool,
    pub env: Vec<(String, String)>,
    pub caller_env: Vec<(OsString, OsString)>,
}

#[derive(Debug, Clone)]
pub enum What {
    Agent { name: String, extra_args: Vec<OsString> },
    Command(Vec<OsString>),
}

/// A session that certainly started.
#[derive(Debug, Clone)]
pub struct Spawned {
    pub id: String,
    pub name: SessionName,
    pub agent: String,
    pub pane: PaneId,
    pub started: Started,
    pub cwd: PathBuf,
    pub conversation: Option<String>,
    /// The prompt was too long for an argument: the agent was told to read it from its file.
    pub prompt_in_file: bool,
}

/// Starts a session and returns once its program has certainly been executed. On failure nothing of it
/// is left.
pub fn spawn(context: &Context, request: &Request, now: &Zoned) -> Result<Spawned, Error> {
    let plan = Plan::make(context, request, now)?;
    let folder = context.state.session(&plan.id);
    let mut store = context.store()?;
    folder.create(&plan.launch, request.prompt.as_deref())?;
    let spawned = plan.carry_out(context, request, now, &mut store, &folder);
    if spawned.as_ref().is_err_and(|e| !matches!(e, Error::StartNotConfirmed { .. })) {
        let _ = store.unregister(&plan.id);
        folder.remove();
    }
    spawned
}

/// Everything checked and decided before anything is changed.
struct Plan {
    id: String,
    profile: Profile,
    conversation: Option<String>,
    name: SessionName,
    /// The caller insists on the name.
    exact_name: bool,
    launch: Launch,
}

impl Plan {
    fn make(context: &Context, request: &Request, now: &Zoned) -> Result<Self, Error> {
        check_cwd(&request.cwd)?;
        check_prompt(request.prompt.as_deref())?;
        check_env(&request.env)?;
        let (profile, program, extra_args) = program(context, &request.what, &request.cwd)?;
        check_prefix(request.prompt.as_deref(), &profile)?;
        let local = now.datetime();
        let name = match (&request.name, &request.story) {
            (Some(name), _) => SessionName::new(name)?,
            (None, Some(step)) => name::story_name(&request.project, step, local)?,
            (None, None) => name::plain_name(&request.project, &profile.name, local)?,
        };
        // tmux takes some names for those of its clients.
        dogwatch_tmux::SessionName::new(name.as_str()).map_err(dogwatch_tmux::Error::from)?;
        let id = uuid::Uuid::now_v7().to_string();
        let conversation =
            (!profile.launch.conversation.is_empty()).then(|| uuid::Uuid::new_v4().to_string());
        let launch = launch::plan(&Ask {
            profile: &profile,
            program: program.into_os_string(),
            extra_args,
            prompt: request.prompt.as_deref(),
            model: request.model.as_deref(),
            conversation: conversation.as_deref(),
            unattended: request.unattended,
            session: &id,
            cwd: request.cwd.clone(),
            folder: context.state.session(&id).path().to_owned(),
            state_dir: context.state.root().to_owned(),
            port: free_port(&profile)?,
            secret: &uuid::Uuid::new_v4().simple().to_string(),
            dogwatch: context.dogwatch.clone(),
            caller_env: request.caller_env.clone(),
            set_env: request.env.clone(),
        });
        let exact_name = request.name.is_some();
        Ok(Self { id, profile, conversation, name, exact_name, launch })
    }

    fn carry_out(
        &self,
        context: &Context,
        request: &Request,
        now: &Zoned,
        store: &mut Store,
        folder: &SessionFolder,
    ) -> Result<Spawned, Error> {
        let (name, pane) = self.place(context, request, now, store)?;
        let started = confirm(folder, &name).inspect_err(|error| {
            if matches!(error, Error::LaunchFailed { .. }) {
                let _ = context.tmux.run_one(Command::new("kill-pane").target(pane));
            }
        })?;
        Ok(Spawned {
            id: self.id.clone(),
            name,
            agent: self.profile.name.clone(),
            pane,
            started,
            cwd: request.cwd.clone(),
            conversation: self.conversation.clone(),
            prompt_in_file: self.launch.prompt_in_file,
        })
    }

    /// Registers the session and makes its pane, under the first name that is free in the store and in
    /// tmux.
    fn place(
        &self,
        context: &Context,
        request: &Request,
        now: &Zoned,
        store: &mut Store,
    ) -> Result<(SessionName, PaneId), Error> {
        let new = NewSession {
            id: &self.id,
            agent: &self.profile.name,
            project: &request.project,
            cwd: &request.cwd,
            story: request.story.as_ref(),
            model: request.model.as_deref(),
            conversation: self.conversation.as_deref(),
            command: &self.launch.shown,
            socket: &context.socket,
            created: now.timestamp(),
            seat: None,
        };
        let wanted = if self.exact_name {
            Wanted::Exactly(&self.name)
        } else {
            Wanted::OrNumbered(&self.name)
        };
        let mut refused = Vec::new();
        loop {
            let name = store.register(&new, wanted, &refused)??;
            match make_pane(context, &self.id, &self.profile.name, &name, &request.cwd) {
                Ok((pane, server)) => {
                    // The runner notes its pane too, so a store that fails now (a full disk) loses nothing.
                    let _ = store.placed(&self.id, &pane.to_string(), server);
                    return Ok((name, pane));
                }
                Err(dogwatch_tmux::Error::DuplicateSession { .. })
                    if !self.exact_name && refused.len() < NAME_TRIES =>
                {
                    store.unregister(&self.id)?;
                    refused.push(name);
                }
                Err(dogwatch_tmux::Error::DuplicateSession { .. }) => {
                    store.unregister(&self.id)?;
                    // One that is over does not hold its name.
                    if refused.contains(&name) || !make_room(context, &name, now.timestamp())? {
                        return Err(Error::NameInUse { name: name.to_string() });
                    }
                    refused.push(name);
                }
                // tmux may still do it: then the session must not be unknown to us.
                Err(dogwatch_tmux::Error::Timeout { after, .. }) => {
                    return Err(Error::StartNotConfirmed {
                        name: name.to_string(),
                        seconds: after.as_secs(),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Puts a session of ours away that bears the name and is over; false if there is none.
fn make_room(context: &Context, name: &SessionName, now: Timestamp) -> Result<bool, Error> {
    match snapshot::find(context, name.as_str()) {
        Ok(seen) if seen.life.state.is_over() && seen.pane.is_some() => {
            kill::kill(context, &seen, false, now).map(|_| true)
        }
        Ok(_) | Err(Error::NoSuchSession { .. } | Error::NotOurs { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes the tmux session in one process: a pane that runs our runner, with the history we promise.
///
/// tmux fixes a pane's history when it is made, from an option of a session that does not exist
/// before. So the session is made with a stand-in, the option is set, and the real window takes its
/// place. The server does all of it before it looks at any child again, so nothing of the
/// stand-in is ever seen.
fn make_pane(
    context: &Context,
    id: &str,
    agent: &str,
    name: &SessionName,
    cwd: &Path,
) -> Result<(PaneId, Server), dogwatch_tmux::Error> {
    let tmux_name = dogwatch_tmux::SessionName::new(name.as_str())?;
    let session = Target::session(&tmux_name);
    let mut new_session = Command::new("new-session")
        .flag('d')
        .option('s', name.as_str())
        .option('x', WIDTH.to_string())
        .option('y', HEIGHT.to_string())
        .option('c', escape_format(cwd));
    // Also for windows that a person opens beside the agent's; those are not of its family, though,
    // and outlive it.
    let set = |key: &str, value: &str| format!("{key}={value}");
    for pair in [
        set("STORY_AUTOMATOR_CHILD", "true"),
        set("AI_AGENT", agent),
        set("CLAUDECODE", ""),
        set("BASH_ENV", ""),
        set("DOGWATCH_SESSION", id),
        set(family::TAG, ""),
    ] {
        new_session = new_session.option('e', pair);
    }
    let made = context.tmux.run(&[
        // Two words, so that tmux starts it without a shell.
        new_session.args(["cat", "-"]),
        Command::new("set-option")
            .target(session.clone())
            .args(["history-limit", &TMUX_HISTORY.to_string()]),
        Command::new("new-window")
            .target(session.clone())
            .option('n', agent)
            .option('c', escape_format(cwd))
            .option('e', set(family::TAG, id))
            .flag('P')
            .option('F', "#{pane_id} #{pid} #{start_time}")
            .arg(&context.dogwatch)
            .args(["run", "--state-dir"])
            .arg(context.state.root())
            .arg(id),
        Command::new("set-option").flag('w').target(session.clone()).args(["remain-on-exit", "on"]),
        // A user's setting that ends sessions nobody looks at would end ours at once.
        Command::new("set-option").target(session.clone()).args(["destroy-unattached", "off"]),
        Command::new("kill-window").flag('a').target(session.clone()),
        Command::new("move-window").flag('r').target(session),
    ]);
    let replies = made.inspect_err(|error| {
        if may_be_half_made(error) {
            // Half a session is none.
            let _ = context.tmux.run_one(Command::new("kill-session").target(&tmux_name));
        }
    })?;
    let answer = replies.get(2).map(|r| r.first_line().into_owned()).unwrap_or_default();
    parse_place(&answer).ok_or_else(|| dogwatch_tmux::Error::Failed {
        command: "new-window".into(),
        message: format!("unexpected answer {answer:?}"),
        status: None,
    })
}

/// Whether the session may exist although its making failed: it is somebody else's, or was not begun, otherwise.
fn may_be_half_made(error: &dogwatch_tmux::Error) -> bool {
    use dogwatch_tmux::Error::{Failed, NotFound, ServerDying};
    match error {
        Failed { command, .. } => !command.starts_with("new-session"),
        NotFound { .. } | ServerDying => true,
        _ => false,
    }
}

fn parse_place(answer: &str) -> Option<(PaneId, Server)> {
    let mut words = answer.split_whitespace();
    let pane = words.next()?.parse().ok()?;
    let server = Server { pid: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? };
    Some((pane, server))
}

/// Waits for the runner's word.
fn confirm(folder: &SessionFolder, name: &SessionName) -> Result<Started, Error> {
    enum Word {
        Started(Started),
        Ended(Ended),
    }
    let look = || {
        // In this order: an agent may start and end between the two, and its start was written before its end.
        let ended = folder.ended().map(Word::Ended);
        folder.started().map(Word::Started).or(ended)
    };
    match arrival::wait_in(folder.path(), START_PATIENCE, look) {
        Some(Word::Started(started)) => Ok(started),
        Some(Word::Ended(ended)) => Err(Error::LaunchFailed {
            name: name.to_string(),
            reason: ended.error.unwrap_or_else(|| "its runner ended at once".into()),
        }),
        None => Err(Error::StartNotConfirmed {
            name: name.to_string(),
            seconds: START_PATIENCE.as_secs(),
        }),
    }
}

fn program(
    context: &Context,
    what: &What,
    cwd: &Path,
) -> Result<(Profile, PathBuf, Vec<OsString>), Error> {
    let (profile, program, extra_args) = match what {
        What::Agent { name, extra_args } => {
            let profile = agents::profile(context, name)?;
            let program = profile.program.clone();
            (profile, program, extra_args.clone())
        }
        What::Command(words) => {
            let profile = agents::profile(context, profile::COMMAND)?;
            let first = words.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
            (profile, first, words.iter().skip(1).cloned().collect())
        }
    };
    match agents::find_program(&program, &context.path, cwd) {
        Some(path) => Ok((profile, path, extra_args)),
        None if program.contains('/') && cwd.join(&program).exists() => {
            Err(Error::NotExecutable { path: cwd.join(program) })
        }
        None => Err(Error::ProgramNotFound { program, install: profile.install }),
    }
}

/// A port that nobody listens on, if the agent wants one. It is free again before the agent takes it;
/// should somebody else be faster, the agent says so.
fn free_port(profile: &Profile) -> Result<u16, Error> {
    if !profile.launch.args.iter().any(|arg| arg.contains("@port@")) {
        return Ok(0);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|l| l.local_addr()).map_err(Error::io("find a free port"))?;
    Ok(address.port())
}

fn check_cwd(cwd: &Path) -> Result<(), Error> {
    // tmux would quietly start the pane in the home folder.
    if cwd.is_dir() {
        Ok(())
    } else if cwd.exists() {
        Err(Error::NotAFolder { path: cwd.to_owned() })
    } else {
        Err(Error::NoSuchFolder { path: cwd.to_owned() })
    }
}

fn check_prompt(prompt: Option<&str>) -> Result<(), Error> {
    let problem = match prompt {
        None => return Ok(()),
        Some(text) if text.trim().is_empty() => "is empty".to_owned(),
        Some(text) if text.len() as u64 > MAX_PROMPT => {
            format!("is longer than {MAX_PROMPT} bytes")
        }
        Some(text) => match text.find('\0') {
            Some(at) => format!("has a NUL byte at {at}, which no program can be given"),
            None => return Ok(()),
        },
    };
    Err(Error::BadPrompt { problem })
}

/// Some agents take a text that begins in a certain way for something else than a message.
fn check_prefix(prompt: Option<&str>, profile: &Profile) -> Result<(), Error> {
    let prompt = prompt.unwrap_or_default().trim_start();
    let refused = &profile.launch.refused_prefixes;
    match refused.iter().find(|prefix| prompt.starts_with(prefix.as_str())) {
        Some(prefix) => Err(Error::BadPrompt {
            problem: format!(
                "begins with {prefix:?}, which {} would run as a command instead of reading it",
                profile.title
            ),
        }),
        None => Ok(()),
    }
}

fn check_env(env: &[(String, String)]) -> Result<(), Error> {
    let bad = env
        .iter()
        .find(|(key, value)| key.is_empty() || key.contains(['=', '\0']) || value.contains('\0'));
    match bad {
        Some((key, _)) => Err(Error::BadArgument {
            problem: format!("{key:?} cannot be the name of an environment variable"),
        }),
        None => Ok(()),
    }
}
