//! Starting a session: an agent or a command, in a pane that runs our runner.

mod checks;
mod limits;
mod place;
pub mod worktree;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::agent_version::Standing;
use dogwatch_core::launch::{self, Ask, Launch};
use dogwatch_core::limits::WhenLimited;
use dogwatch_core::name::{self, SessionName, StoryStep};
use dogwatch_core::profile::Profile;
use dogwatch_core::record::{Ended, Started};
use dogwatch_core::startup::Reduced;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{NewSession, Server, SessionFolder, Store, TeamMembership, Wanted};
use dogwatch_tmux::{Command, PaneId};
use jiff::{Timestamp, Zoned};

use limits::Limits;
pub use place::{Beside, Place};

use crate::actions::callback::Subscriber;
use crate::actions::kill;
use crate::error::{AgentError, SessionError};
use crate::observe::arrival;
use crate::observe::binaries::{self, Binary};
use crate::observe::snapshot;
use crate::worktree::spawn_step;
use crate::{Context, Error, summon};

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
    /// A conversation that it shall go on with.
    pub resume: Option<String>,
    pub unattended: bool,
    pub env: Vec<(String, String)>,
    pub caller_env: Vec<(OsString, OsString)>,
    pub place: Place,
    pub tags: Vec<String>,
    /// Its place in a team.
    pub membership: Option<TeamMembership>,
    /// What to do when it meets a usage limit; without it, what the configuration says.
    pub when_limited: Option<WhenLimited>,
    /// Gets a message at the end of its first turn.
    pub subscriber: Option<Subscriber>,
}

#[derive(Debug, Clone)]
pub enum What {
    Agent { name: String, extra_args: Vec<OsString> },
    Command(Vec<OsString>),
    Script(Script),
}

/// Text for the shell that tmux would start, which runs it from a file in the session's folder.
#[derive(Debug, Clone)]
pub struct Script {
    pub text: String,
    /// The agent that it is about to start, as far as the caller knows.
    pub agent: String,
    /// Whether the shell is to be left at its prompt, for the text to be typed into it.
    pub interactive: bool,
}

impl Script {
    /// Its name in the session's folder.
    pub fn file_name(&self) -> &'static str {
        if self.interactive { TYPED_FILE } else { SCRIPT_FILE }
    }

    /// For `sh`, which gives way to the shell of the pane: only there it is known without asking.
    fn arguments(&self, folder: &Path) -> Vec<OsString> {
        if self.interactive {
            vec!["-c".into(), r#"exec "${SHELL:-/bin/sh}" -l"#.into()]
        } else {
            let run = r#"exec "${SHELL:-/bin/sh}" "$0""#;
            vec!["-c".into(), run.into(), folder.join(SCRIPT_FILE).into()]
        }
    }
}

/// A script that a shell was given to run.
pub const SCRIPT_FILE: &str = "command.sh";
/// A script that is typed into a shell.
pub const TYPED_FILE: &str = "typed.sh";

/// A session that certainly started.
#[derive(Debug, Clone)]
pub struct Spawned {
    pub id: SessionId,
    pub name: SessionName,
    pub agent: String,
    pub pane: PaneId,
    pub started: Started,
    pub cwd: PathBuf,
    pub conversation: Option<String>,
    /// The prompt was too long for an argument: the argument says to read it from its file.
    pub prompt_in_file: bool,
    /// The agent's version, where anything depends on it and it could be found out.
    pub version: Option<String>,
    /// What a person should know of this version; nothing if it was verified.
    pub caution: Option<String>,
    /// Why it runs without what agents are usually given.
    pub reduced: Option<Reduced>,
    /// Its account is limited until then, and the prompt waits.
    pub held_until: Option<Timestamp>,
}

/// Starts a session and returns once its program has certainly been executed. On failure nothing of it
/// is left.
pub fn spawn(context: &Context, request: &Request, now: &Zoned) -> Result<Spawned, Error> {
    spawn_as(context, request, new_id(), now)
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The same with an id that was chosen before.
fn spawn_as(
    context: &Context,
    request: &Request,
    id: String,
    now: &Zoned,
) -> Result<Spawned, Error> {
    let limits = Limits::of(context, request, &id, now)?;
    let request = &limits.without_held_prompt(request);
    let plan = Plan::make(context, request, id, now)?;
    let folder = context.state.session(&plan.id);
    let mut store = context.store()?;
    // Held until the runner has come: whoever finds it unheld may collect it.
    let _handover = folder.create(&plan.launch, request.prompt.as_deref())?;
    if let Some(reduced) = plan.reduced() {
        folder.write_reduced(&reduced).logged("note what an agent is started without");
    }
    spawn_step();
    let spawned = plan.carry_out(context, request, &limits, now, &mut store, &folder);
    if spawned
        .as_ref()
        .is_err_and(|e| !matches!(e, Error::Session(SessionError::StartNotConfirmed { .. })))
    {
        store.unregister(&plan.id).logged("forget a session");
        folder.remove();
    }
    if let Some(subscriber) = &request.subscriber {
        summon::poke(context, subscriber.as_str());
    }
    let spawned = spawned?;
    // The agent runs: nothing may fail any more.
    context.state.tell_news(&spawned.id);
    Ok(spawned)
}

/// Everything checked and decided before anything is changed.
struct Plan {
    id: String,
    profile: Profile,
    /// The agent's name inside the session.
    called: String,
    conversation: Option<String>,
    name: SessionName,
    /// The caller insists on the name.
    exact_name: bool,
    launch: Launch,
    binary: Binary,
}

impl Plan {
    fn make(context: &Context, request: &Request, id: String, now: &Zoned) -> Result<Self, Error> {
        checks::cwd(&request.cwd)?;
        checks::prompt(request.prompt.as_deref())?;
        checks::env(&request.env)?;
        let (profile, program, extra_args) = checks::program(context, &request.what, &request.cwd)?;
        let binary = binaries::identify(&context.state, &profile, &program, now.timestamp());
        let profile = binary.fit(&profile);
        checks::prefix(request.prompt.as_deref(), &profile)?;
        let local = now.datetime();
        let name = match (&request.name, &request.story, &request.membership) {
            (Some(name), _, _) => SessionName::new(name)?,
            (None, Some(step), _) => name::story_name(&request.project, step, local)?,
            (None, None, Some(membership)) => name::role_name(&request.project, &membership.role)?,
            (None, None, None) => name::plain_name(&request.project, &profile.name, local)?,
        };
        // tmux takes some names for those of its clients.
        dogwatch_tmux::SessionName::new(name.as_str()).map_err(dogwatch_tmux::Error::from)?;
        let folder = context.state.session(&id).path().to_owned();
        let mut caller_env = request.caller_env.clone();
        let mut called = profile.name.clone();
        let mut extra_args = extra_args;
        if let What::Script(script) = &request.what {
            called.clone_from(&script.agent);
            extra_args = script.arguments(&folder);
            checks::leave_out_marks(context, &script.agent, &mut caller_env);
            caller_env.retain(|(key, _)| key != "SHELL");
        }
        let conversation = match &request.resume {
            Some(_) if profile.launch.resume.is_empty() => {
                return Err(AgentError::CannotResume { agent: profile.title }.into());
            }
            Some(id) => Some(id.clone()),
            None => {
                (!profile.launch.conversation.is_empty()).then(|| uuid::Uuid::new_v4().to_string())
            }
        };
        let mut launch = launch::plan(&Ask {
            profile: &profile,
            program: program.into_os_string(),
            extra_args,
            prompt: request.prompt.as_deref(),
            model: request.model.as_deref(),
            conversation: conversation.as_deref(),
            resume: request.resume.is_some(),
            unattended: request.unattended,
            session: &id,
            cwd: request.cwd.clone(),
            folder,
            state_dir: context.state.root().to_owned(),
            port: checks::free_port(&profile)?,
            secret: &uuid::Uuid::new_v4().simple().to_string(),
            dogwatch: context.dogwatch.clone(),
            caller_env,
            set_env: request.env.clone(),
        });
        if let Some(fallback) = &mut launch.fallback {
            let standing = profile.standing(binary.parsed());
            fallback.extras.verified = standing == Standing::Verified;
            fallback.extras.program.clone_from(&binary.file);
            fallback.extras.version.clone_from(&binary.version);
        }
        if let What::Script(script) = &request.what {
            launch.files.push((script.file_name().to_owned(), script.text.clone()));
        }
        let exact_name = request.name.is_some();
        Ok(Self { id, profile, called, conversation, name, exact_name, launch, binary })
    }

    fn carry_out(
        &self,
        context: &Context,
        request: &Request,
        limits: &Limits,
        now: &Zoned,
        store: &mut Store,
        folder: &SessionFolder,
    ) -> Result<Spawned, Error> {
        let placed = self.place(context, request, limits, now, store);
        let (name, pane) = placed.map_err(|error| give_up(folder, error))?;
        spawn_step();
        let started = confirm(folder, &name).map_err(|error| give_up(folder, error));
        let started = started.inspect_err(|error| {
            use SessionError::{LaunchFailed, NotStarted};
            if matches!(error, Error::Session(LaunchFailed { .. } | NotStarted { .. })) {
                context.tmux.run_one(Command::new("kill-pane").target(pane)).logged("ask tmux");
            }
        })?;
        Ok(Spawned {
            id: self.id.as_str().into(),
            name,
            agent: self.profile.name.clone(),
            pane,
            started,
            cwd: request.cwd.clone(),
            conversation: self.conversation.clone(),
            prompt_in_file: self.launch.prompt_in_file,
            version: self.binary.version.clone(),
            caution: self.profile.caution(self.binary.version.as_deref()),
            reduced: self.reduced(),
            held_until: limits.held_until,
        })
    }

    /// Why the agent is started without what it is usually given.
    fn reduced(&self) -> Option<Reduced> {
        self.binary.refused.clone().map(|because| Reduced { because })
    }

    /// Registers the session and makes its pane, under the first name that is free in the store and in
    /// tmux.
    fn place(
        &self,
        context: &Context,
        request: &Request,
        limits: &Limits,
        now: &Zoned,
        store: &mut Store,
    ) -> Result<(SessionName, PaneId), Error> {
        let prompt = limits.prompt(&self.id);
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
            tags: &request.tags,
            membership: request.membership.as_ref(),
            // Recorded with it: however early we are killed, dogwatch reports the end of each agent that started.
            subscriber: request.subscriber.as_ref().map(Subscriber::as_str),
            limits: limits.policy.as_ref(),
            prompt: prompt.as_ref(),
        };
        let wanted = if self.exact_name {
            Wanted::Exactly(&self.name)
        } else {
            Wanted::OrNumbered(&self.name)
        };
        if self.exact_name && matches!(request.place, Place::Beside(_)) {
            // tmux refuses a duplicate session name; here only the store can.
            let bearers = store.named(&context.socket, self.name.as_str())?;
            if bearers.iter().any(|session| !session.archived) {
                return Err(
                    SessionError::NameInUse { name: self.name.to_string(), is_ours: true }.into()
                );
            }
        }
        let mut refused = Vec::new();
        loop {
            let name = store.register(&new, wanted, &refused)??;
            spawn_step();
            match self.make_pane(context, request, &name) {
                Ok((pane, server)) => {
                    // The runner notes its pane too, so a store that fails now (a full disk) loses nothing.
                    store
                        .placed(&self.id, &pane.to_string(), server)
                        .logged("note the pane of a session");
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
                        return Err(SessionError::NameInUse {
                            name: name.to_string(),
                            is_ours: true,
                        }
                        .into());
                    }
                    refused.push(name);
                }
                // tmux may still do it: see [`give_up`].
                Err(dogwatch_tmux::Error::Timeout { after, .. }) => {
                    return Err(SessionError::StartNotConfirmed {
                        name: name.to_string(),
                        seconds: after.as_secs(),
                    }
                    .into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Plan {
    fn make_pane(
        &self,
        context: &Context,
        request: &Request,
        name: &SessionName,
    ) -> Result<(PaneId, Server), dogwatch_tmux::Error> {
        match &request.place {
            Place::OwnSession => {
                place::own_session(context, &self.id, &self.called, name, &request.cwd)
            }
            Place::Beside(beside) => place::beside(context, &self.id, beside, &request.cwd),
        }
    }
}

/// Puts a session of ours away that bears the name and is over; false if there is none.
fn make_room(context: &Context, name: &SessionName, now: Timestamp) -> Result<bool, Error> {
    match snapshot::find(context, name.as_str()) {
        Ok(seen) if seen.life.state.is_over() && seen.pane.is_some() => {
            kill::kill(context, &seen, false, now).map(|_| true)
        }
        Ok(_) | Err(Error::Session(SessionError::NoSuchSession { .. })) => Ok(false),
        Err(Error::Session(SessionError::NotOurs { .. })) => {
            Err(SessionError::NameInUse { name: name.to_string(), is_ours: false }.into())
        }
        Err(error) => Err(error),
    }
}

/// tmux did not answer in time, or did not start the runner. It may do so later, and no agent must run then that we called a
/// failure: the runner finds nothing to start, unless it was faster.
fn give_up(folder: &SessionFolder, error: Error) -> Error {
    match error {
        Error::Session(SessionError::StartNotConfirmed { name, seconds })
            if folder.withdraw().logged("take a start back") == Some(true) =>
        {
            SessionError::NotStarted { name, seconds }.into()
        }
        error => error,
    }
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
        Some(Word::Ended(ended)) => Err(SessionError::LaunchFailed {
            name: name.to_string(),
            reason: ended.error.unwrap_or_else(|| "the runner ended immediately".into()),
        }
        .into()),
        None => Err(SessionError::StartNotConfirmed {
            name: name.to_string(),
            seconds: START_PATIENCE.as_secs(),
        }
        .into()),
    }
}
