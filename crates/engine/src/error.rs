use std::io;
use std::path::PathBuf;

use dogwatch_core::config::ConfigError;
use dogwatch_core::exit_code;
use dogwatch_core::name::NameError;
use dogwatch_core::profile::ProfileError;
use dogwatch_core::session_file::{FileProblem, Missing, NoTask, TaskId};
use dogwatch_core::workflow::BadWorkflow;
use dogwatch_store::{LocalBrokerError, MqttError, StoreError};

/// Why a use case did not succeed. Each kind has an exit code and, where there is one, a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Mqtt(#[from] MqttError),
    #[error(transparent)]
    Tmux(#[from] dogwatch_tmux::Error),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("there is no agent named {name:?}; known are {known}")]
    UnknownAgent { name: String, known: String },
    #[error("{program} {}", if program.contains('/') { "does not exist" } else { "was not found on the path" })]
    ProgramNotFound { program: String, install: String },
    #[error("{} cannot be executed", path.display())]
    NotExecutable { path: PathBuf },
    #[error("the folder {} does not exist", path.display())]
    NoSuchFolder { path: PathBuf },
    #[error("{} is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("a session named {name} exists already")]
    NameInUse { name: String, is_ours: bool },
    #[error("there is no session {target:?}")]
    NoSuchSession {
        target: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
    #[error("tmux has a session {target:?}, but dogwatch did not start it")]
    NotOurs { target: String },
    #[error("the session {name} is over: {reason}")]
    IsOver { name: String, reason: String },
    #[error("the session {name} cannot be looked at: {reason}")]
    NotReachable { name: String, reason: String },
    #[error("the session {name} could not be started: {reason}")]
    LaunchFailed { name: String, reason: String },
    #[error("the session {name} was made, but its start was not confirmed within {seconds} s")]
    StartNotConfirmed { name: String, seconds: u64 },
    #[error("the session {name} could not be ended: {reason}")]
    NotEnded { name: String, reason: String },
    #[error("nothing was kept of the session {name}: {reason}")]
    NothingKept { name: String, reason: String },
    #[error("the prompt {problem}")]
    BadPrompt { problem: String },
    #[error("no dialog is open in {name}: it is {state}")]
    NoDialog { name: String, state: &'static str },
    #[error("another dialog is open in {name} than the one that was meant{}", if question.is_empty() { String::new() } else { format!(": {question}") })]
    OtherDialog { name: String, question: String },
    #[error("somebody else is typing into {name}")]
    Busy { name: String },
    #[error("there is no message {id:?}")]
    NoSuchMessage { id: String },
    #[error("the message {id} is on its way or settled already")]
    TooLate { id: String },
    #[error("there is no pane {target:?}")]
    NoSuchPane { target: String },
    #[error("{pane} is the pane that this runs in: an agent never closes itself")]
    OwnPane { pane: String },
    #[error("{pane} may not be closed yet: {}", missing.iter().map(|m| m.words()).collect::<Vec<_>>().join(", "))]
    MayNotClose { pane: String, missing: Vec<Missing> },
    #[error("no {role} could be started in a pane (attempt {tries} of 3): {reason}")]
    PaneNotReady {
        role: String,
        tries: u32,
        reason: String,
        /// The number of the question that a person is asked.
        escalation: Option<i64>,
    },
    #[error("there is no session file in {}", project.display())]
    NoSessionFile { project: PathBuf },
    #[error("the session file {} cannot be used: {problem}", path.display())]
    BadSessionFile { path: PathBuf, problem: FileProblem },
    #[error("{0}")]
    NoTask(NoTask),
    #[error("{task} is done and written down, but {spawner} was not told: {reason}")]
    NotReported { task: TaskId, spawner: String, reason: String },
    #[error("there is no escalation {target:?}")]
    NoSuchEscalation { target: String },
    #[error("the escalation {number} has no option {option:?}; it has {options}")]
    NoSuchOption { number: i64, option: String, options: String },
    #[error("the escalation {number} was settled {at:.0}: {how}")]
    Settled { number: i64, at: jiff::Timestamp, how: String },
    #[error("there is no job {target:?}")]
    NoSuchJob { target: String },
    #[error("the job {id} is {state} already")]
    JobOver { id: String, state: &'static str },
    #[error("the job {id} could not be cancelled: {reason}")]
    NotCancelled { id: String, reason: String },
    #[error("{}, {problem}", path.display())]
    BadConfig { path: PathBuf, problem: ConfigError },
    #[error("{agent} cannot go on with a conversation by its id")]
    CannotResume { agent: String },
    #[error("the registry has no session {name:?}")]
    NotOnRoll { name: String },
    #[error("the registry has a session {name} already")]
    OnRoll { name: String },
    #[error("the session {name} runs already")]
    StillRuns { name: String },
    #[error("no conversation of {name} is known that could be gone on with")]
    NoConversation { name: String },
    #[error("the conversation {id} of {name} is not on disk: {path}")]
    ConversationGone { name: String, id: String, path: String },
    #[error("the conversation {id} of {name} is also that of {other}")]
    ConversationShared { name: String, id: String, other: String },
    #[error("the session {name} {did}, but the registry could not be told: {source}")]
    RollNotTold { name: String, did: &'static str, source: Box<Error> },
    #[error("the session {name} is on {place}")]
    Elsewhere { name: String, place: String },
    #[error("no agent runs in {target:?}")]
    NoAgentThere { target: String },
    #[error("there is no card {task:?}")]
    NoSuchCard { task: String },
    #[error("the {desk} cannot be reported to: {problem}")]
    ReportTarget { desk: String, problem: String, is_taken: bool },
    #[error("{0}")]
    BadWorkflow(#[from] BadWorkflow),
    #[error("there is no run {target:?}")]
    NoSuchRun { target: String },
    #[error("{} has no run yet", project.display())]
    NoRun { project: PathBuf },
    #[error("somebody carries out a run in {} already", project.display())]
    RunIsAttended { project: PathBuf },
    #[error("the run {id} of this project is not over")]
    RunIsOpen { id: String },
    #[error(
        "BMAD's skills for stories are not installed for {}: neither bmad-build-auto, nor bmad-create-story and bmad-dev-story",
        project.display()
    )]
    NoBmad { project: PathBuf },
    #[error("{agent} does not trust {} yet, and would ask before it begins", folder.display())]
    NotTrusted { agent: String, folder: PathBuf, file: PathBuf },
    #[error("{agent} would ask you to accept that permissions are bypassed before it begins")]
    BypassNotAccepted { agent: String },
    #[error("{agent} cannot be run with --permissions {level}")]
    NoSuchPermissions { agent: String, level: &'static str },
    #[error("{} is in no git repository", path.display())]
    NotARepository { path: PathBuf },
    #[error("the tree is not clean: {files}")]
    DirtyTree { files: String },
    #[error("git {what} failed in {}: {said}", dir.display())]
    Git { what: String, dir: PathBuf, said: String },
    #[error("{problem}")]
    BadArgument { problem: String },
    #[error(
        "no room for another pane: the window has {width}x{height} cells and {panes} panes, the master on the {side}; each pane needs {}x{}",
        dogwatch_core::window::LEAST_WIDTH,
        dogwatch_core::window::LEAST_HEIGHT
    )]
    NoRoom { width: u32, height: u32, panes: usize, side: &'static str },
    #[error("the broker {broker} {problem}")]
    Broker { broker: String, problem: String, refused: bool },
    #[error("another dogwatch relays the events of this state folder already")]
    AlreadyRelayed,
    #[error("there is no host {host:?} on the broker")]
    NoSuchHost { host: String },
    #[error("the host {host} is gone: {because}")]
    HostGone { host: String, because: String },
    #[error("the host {host} did not answer within {seconds} s")]
    NoReply { host: String, seconds: u64, taken: bool },
    #[error("failed to {action}: {source}")]
    Io { action: String, source: io::Error },
    /// Of another host's order.
    #[error("{because}")]
    OrderRefused { because: dogwatch_core::fleet::SpawnRefused },
    #[error(transparent)]
    LocalBroker(#[from] LocalBrokerError),
}

const LIMIT: &str = "no process or thread could be started: a limit is reached (`ulimit -u` shows it); end some, or raise it";

impl Error {
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Files of the store were removed or replaced under a command that goes on.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::Store(StoreError::Replaced { .. }))
    }

    /// A stable word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(StoreError::Corrupt { .. }) => "store_corrupt",
            Self::Store(StoreError::Newer { .. }) => "store_newer",
            Self::Store(StoreError::Replaced { .. }) => "store_replaced",
            Self::Store(StoreError::Full { .. }) => "disk_full",
            Self::Store(StoreError::BadRegistry { .. }) => "bad_registry",
            Self::Store(StoreError::NotEditable { .. }) => "registry_not_editable",
            Self::Store(StoreError::NotShared { .. }) => "not_writable",
            Self::Store(_) => "store",
            Self::Tmux(dogwatch_tmux::Error::NotInstalled { .. }) => "tmux_missing",
            Self::Tmux(dogwatch_tmux::Error::TooOld { .. }) => "tmux_too_old",
            Self::Tmux(dogwatch_tmux::Error::Denied { .. }) => "tmux_denied",
            Self::Name(_) | Self::Tmux(dogwatch_tmux::Error::BadName(_)) => "bad_name",
            Self::Tmux(_) => "tmux",
            Self::Profile(_) => "bad_profile",
            Self::UnknownAgent { .. } => "unknown_agent",
            Self::ProgramNotFound { .. } | Self::NotExecutable { .. } => "program_not_found",
            Self::NoSuchFolder { .. } | Self::NotAFolder { .. } => "bad_cwd",
            Self::NameInUse { .. } => "name_in_use",
            Self::NoSuchSession { .. } => "no_such_session",
            Self::NotReachable { .. } => "not_reachable",
            Self::IsOver { .. } => "is_over",
            Self::NotOurs { .. } => "not_ours",
            Self::LaunchFailed { .. } => "launch_failed",
            Self::StartNotConfirmed { .. } => "start_not_confirmed",
            Self::NotEnded { .. } => "not_ended",
            Self::NothingKept { .. } => "nothing_kept",
            Self::BadPrompt { .. } => "bad_prompt",
            Self::NoDialog { .. } => "no_dialog",
            Self::OtherDialog { .. } => "other_dialog",
            Self::Busy { .. } => "busy",
            Self::NoSuchMessage { .. } => "no_such_message",
            Self::TooLate { .. } => "too_late",
            Self::NoSuchPane { .. } => "no_such_pane",
            Self::OwnPane { .. } => "own_pane",
            Self::MayNotClose { .. } => "may_not_close",
            Self::PaneNotReady { .. } => "pane_not_ready",
            Self::NoSessionFile { .. } => "no_session_file",
            Self::BadSessionFile { .. } => "bad_session_file",
            Self::NoTask(_) => "no_task",
            Self::NotReported { .. } => "not_reported",
            Self::NoSuchEscalation { .. } => "no_such_escalation",
            Self::NoSuchOption { .. } => "no_such_option",
            Self::Settled { .. } => "settled",
            Self::NoSuchJob { .. } => "no_such_job",
            Self::JobOver { .. } => "job_over",
            Self::NotCancelled { .. } => "not_cancelled",
            Self::BadConfig { .. } | Self::Mqtt(_) => "bad_config",
            Self::CannotResume { .. } => "cannot_resume",
            Self::NotOnRoll { .. } => "not_on_roll",
            Self::OnRoll { .. } => "on_roll",
            Self::StillRuns { .. } => "still_runs",
            Self::NoConversation { .. } => "no_conversation",
            Self::ConversationGone { .. } => "conversation_gone",
            Self::ConversationShared { .. } => "conversation_shared",
            Self::RollNotTold { .. } => "roll_not_told",
            Self::Elsewhere { .. } => "elsewhere",
            Self::NoAgentThere { .. } => "no_agent_there",
            Self::NoSuchCard { .. } => "no_such_card",
            Self::ReportTarget { is_taken: true, .. } => "desk_taken",
            Self::ReportTarget { .. } => "desk",
            Self::BadWorkflow(_) => "bad_workflow",
            Self::NoSuchRun { .. } | Self::NoRun { .. } => "no_such_run",
            Self::RunIsAttended { .. } => "run_is_attended",
            Self::RunIsOpen { .. } => "run_is_open",
            Self::NoBmad { .. } => "no_bmad",
            Self::NotTrusted { .. } => "not_trusted",
            Self::BypassNotAccepted { .. } => "bypass_not_accepted",
            Self::NoSuchPermissions { .. } => "no_such_permissions",
            Self::NotARepository { .. } => "not_a_repository",
            Self::DirtyTree { .. } => "dirty_tree",
            Self::Git { .. } => "git",
            Self::BadArgument { .. } => "bad_argument",
            Self::NoRoom { .. } => "no_room",
            Self::Broker { refused: true, .. } => "broker_refused",
            Self::Broker { .. } => "broker",
            Self::AlreadyRelayed => "already_relayed",
            Self::NoSuchHost { .. } => "no_such_host",
            Self::HostGone { .. } => "host_gone",
            Self::NoReply { .. } => "no_reply",
            Self::Io { .. } => "io",
            Self::OrderRefused { .. } => "order_refused",
            Self::LocalBroker(LocalBrokerError::Runs(_)) => "broker_runs",
            Self::LocalBroker(_) => "broker_failed",
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Store(_)
            | Self::LocalBroker(LocalBrokerError::Store(_))
            | Self::BadSessionFile { .. }
            | Self::RollNotTold { .. } => exit_code::STORE,
            Self::Tmux(dogwatch_tmux::Error::BadName(_))
            | Self::Name(_)
            | Self::NoSuchFolder { .. }
            | Self::NotAFolder { .. }
            | Self::BadPrompt { .. }
            | Self::NoSuchOption { .. }
            | Self::BadConfig { .. }
            | Self::Mqtt(_)
            | Self::LocalBroker(LocalBrokerError::Password(_) | LocalBrokerError::TooLong(_))
            | Self::BadWorkflow(_)
            | Self::NotARepository { .. }
            | Self::NoSuchPermissions { .. }
            | Self::NoBmad { .. }
            | Self::BadArgument { .. } => exit_code::USAGE,
            Self::Tmux(_) | Self::NotReachable { .. } => exit_code::TMUX,
            Self::UnknownAgent { .. }
            | Self::Profile(_)
            | Self::ProgramNotFound { .. }
            | Self::NotExecutable { .. }
            | Self::LaunchFailed { .. }
            | Self::CannotResume { .. }
            | Self::PaneNotReady { .. } => exit_code::AGENT,
            Self::NameInUse { .. }
            | Self::IsOver { .. }
            | Self::TooLate { .. }
            | Self::NoDialog { .. }
            | Self::OtherDialog { .. }
            | Self::Busy { .. }
            | Self::OwnPane { .. }
            | Self::Settled { .. }
            | Self::RunIsAttended { .. }
            | Self::RunIsOpen { .. }
            | Self::NotTrusted { .. }
            | Self::BypassNotAccepted { .. }
            | Self::DirtyTree { .. }
            | Self::JobOver { .. }
            | Self::OnRoll { .. }
            | Self::StillRuns { .. }
            | Self::Elsewhere { .. }
            | Self::ConversationShared { .. }
            | Self::ReportTarget { is_taken: true, .. }
            | Self::AlreadyRelayed
            | Self::OrderRefused { .. }
            | Self::LocalBroker(LocalBrokerError::Runs(_))
            | Self::MayNotClose { .. }
            | Self::NoRoom { .. } => exit_code::CONFLICT,
            Self::NoSuchSession { .. }
            | Self::NotOurs { .. }
            | Self::NothingKept { .. }
            | Self::NoSuchMessage { .. }
            | Self::NoSuchPane { .. }
            | Self::NoSuchEscalation { .. }
            | Self::NoSuchJob { .. }
            | Self::NoSuchCard { .. }
            | Self::NoSuchHost { .. }
            | Self::NoSuchRun { .. }
            | Self::NoRun { .. }
            | Self::NoSessionFile { .. }
            | Self::NotOnRoll { .. }
            | Self::NoConversation { .. }
            | Self::ConversationGone { .. }
            | Self::NoAgentThere { .. }
            | Self::NoTask(_) => exit_code::NOT_FOUND,
            Self::StartNotConfirmed { .. } | Self::NoReply { .. } => exit_code::TIMEOUT,
            Self::NotEnded { .. }
            | Self::NotReported { .. }
            | Self::NotCancelled { .. }
            | Self::ReportTarget { .. }
            | Self::Broker { .. }
            | Self::HostGone { .. }
            | Self::Git { .. }
            | Self::Io { .. } => exit_code::FAILED,
        }
    }

    fn is_at_limit(&self) -> bool {
        let kind = match self {
            Self::Io { source, .. } => source.kind(),
            Self::Tmux(dogwatch_tmux::Error::Io { source, .. }) => source.kind(),
            _ => return false,
        };
        kind == io::ErrorKind::WouldBlock
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) | Self::LocalBroker(LocalBrokerError::Store(error)) => {
                return error.hint();
            }
            Self::Mqtt(error) | Self::LocalBroker(LocalBrokerError::Password(error)) => {
                return error.hint();
            }
            // What the kernel says when there are no processes or threads left: "Resource temporarily unavailable".
            _ if self.is_at_limit() => LIMIT.into(),
            Self::Tmux(error) => return error.hint().map(ToOwned::to_owned),
            Self::UnknownAgent { .. } => {
                "`dogwatch agents` lists them; any program can be run with `dogwatch spawn -- PROGRAM`"
                    .into()
            }
            Self::ProgramNotFound { install, .. } if !install.is_empty() => {
                format!("install it: {install}")
            }
            Self::NameInUse { name, is_ours: true } => {
                format!("choose another name, or end it first: dogwatch kill {name}")
            }
            Self::NameInUse { .. } => "choose another name; that one is tmux's, and dogwatch did not start it".into(),
            Self::BadConfig { .. } => "put that line right; `dogwatch doctor` looks again".into(),
            Self::NoSuchSession { near: Some(name), .. } => {
                format!("did you mean {name}? `dogwatch ls --all` lists all sessions")
            }
            Self::NoRoom { .. } => "make the window larger, close a pane (dogwatch pane close), or put the master on another --side".into(),
            Self::NoSuchSession { .. } => "`dogwatch ls --all` lists them".into(),
            Self::NotOurs { .. } => "dogwatch acts on its own sessions; use tmux for this one".into(),
            Self::IsOver { name, .. } => format!("see what it showed: dogwatch capture {name}"),
            Self::StartNotConfirmed { name, .. } => {
                format!("look at it: dogwatch capture {name}; or end it: dogwatch kill {name}")
            }
            Self::MayNotClose { pane, .. } => {
                format!("`dogwatch team` shows how far it is; to end it all the same: dogwatch pane close --force {pane}")
            }
            Self::PaneNotReady { escalation: Some(number), .. } => {
                format!("a person is asked what to do: dogwatch escalations show {number}")
            }
            Self::NoSessionFile { .. } => {
                "make one with a first task: dogwatch task add --role dev 'What is to be done'".into()
            }
            Self::BadSessionFile { .. } => "it was left as it is; put it right, then run this again".into(),
            Self::NoTask(_) => "`dogwatch task list` shows who is at what".into(),
            Self::NoSuchEscalation { .. } => "`dogwatch escalations ls --all` lists them".into(),
            Self::NoSuchOption { number, .. } => {
                format!("`dogwatch escalations show {number}` shows them")
            }
            Self::NoSuchJob { .. } => "`dogwatch job ls` lists them".into(),
            Self::NotOnRoll { .. } => "`dogwatch registry` lists them; `dogwatch adopt NAME` adds one that runs".into(),
            Self::OnRoll { name } => {
                format!("bring it back with its conversation: dogwatch resume {name}; or choose another name")
            }
            Self::StillRuns { name } => format!("see it: dogwatch attach {name}; or end it: dogwatch delete {name}"),
            Self::NoConversation { .. } | Self::ConversationGone { .. } => {
                "start a new session: dogwatch create AGENT --name OTHER".into()
            }
            Self::RollNotTold { source, .. } => {
                let hint = source.hint().map(|hint| format!("{hint}; then ")).unwrap_or_default();
                format!("{hint}`dogwatch reconcile --once` will find it")
            }
            Self::Elsewhere { .. } => "run this there; if it is a mistake, put `host` and `socket` right in the registry".into(),
            Self::NoAgentThere { .. } => "name the agent: --agent NAME".into(),
            Self::Broker { refused: true, .. } => {
                "look at `user` and `password_file` (or DOGWATCH_MQTT_PASSWORD) of [mqtt] in config.toml".into()
            }
            Self::Broker { .. } => "is it running? `dogwatch broker` runs one on this machine".into(),
            Self::NoSuchHost { .. } | Self::HostGone { .. } => {
                "`dogwatch fleet` lists the hosts; `dogwatch relay` makes this one known".into()
            }
            Self::NoReply { taken: true, .. } => {
                "it has taken the order and will carry it out; `dogwatch fleet` shows what came of it".into()
            }
            Self::NoReply { .. } => "the order expires by itself; `dogwatch fleet` shows the hosts".into(),
            Self::NotReported { .. } => "run it again: nothing is told twice".into(),
            _ => return self.hint_about_run(),
        })
    }

    /// The hints about a run of stories.
    fn hint_about_run(&self) -> Option<String> {
        Some(match self {
            Self::BadWorkflow(bad) => return bad.hint.clone(),
            Self::RunIsOpen { .. } => {
                "go on with it: dogwatch story resume; or end it: dogwatch story abort".into()
            }
            Self::NoSuchRun { .. } => "`dogwatch story status` shows the newest of this project".into(),
            Self::NoRun { .. } => {
                "what could be done: dogwatch story plan; to begin: dogwatch story run".into()
            }
            Self::NoBmad { .. } => "install them: `npx bmad-method install --modules bmm --tools claude-code` has bmad-build-auto; with --shims it also has bmad-create-story and bmad-dev-story".into(),
            Self::NotTrusted { agent, folder, .. } => format!(
                "start {agent} once in {} and answer that you trust the folder",
                folder.display()
            ),
            Self::BypassNotAccepted { agent } => format!(
                "start `{agent} --dangerously-skip-permissions` once and accept it, or choose --permissions accept-edits or ask"
            ),
            Self::NoSuchPermissions { .. } => {
                "choose another level or another agent; `docs/stories.md` lists what each agent can do".into()
            }
            Self::NotARepository { .. } => {
                "make it one and commit what is there: git init && git add -A && git commit -m 'Begin'".into()
            }
            Self::DirtyTree { .. } => {
                "commit or stash them, or say --allow-dirty: then they are left out of the commits".into()
            }
            Self::RunIsAttended { .. } => {
                "`dogwatch story status` shows how far it is; `dogwatch story pause` stops it".into()
            }
            _ => return None,
        })
    }
}
