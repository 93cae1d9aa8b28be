use std::io;
use std::path::PathBuf;

use dogwatch_core::config::ConfigError;
use dogwatch_core::exit_code;
use dogwatch_core::name::NameError;
use dogwatch_core::profile::ProfileError;
use dogwatch_core::session_file::{FileProblem, Missing, NoTask, TaskId};
use dogwatch_core::workflow::BadWorkflow;
use dogwatch_store::{LocalBrokerError, MqttError, StoreError};

/// Why a use case failed. Each kind has an exit code and, where possible, a hint.
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
    #[error("unknown agent {name:?}; known agents: {known}")]
    UnknownAgent { name: String, known: String },
    #[error("{program} {}", if program.contains('/') { "does not exist" } else { "was not found in PATH" })]
    ProgramNotFound { program: String, install: String },
    #[error("{} cannot be executed", path.display())]
    NotExecutable { path: PathBuf },
    #[error("the directory {} does not exist", path.display())]
    NoSuchFolder { path: PathBuf },
    #[error("{} is not a directory", path.display())]
    NotAFolder { path: PathBuf },
    #[error("a session named {name} already exists")]
    NameInUse { name: String, is_ours: bool },
    #[error("no session {target:?}")]
    NoSuchSession {
        target: String,
        /// The closest existing name.
        near: Option<String>,
    },
    #[error("tmux has a session {target:?}, but dogwatch did not start it")]
    NotOurs { target: String },
    #[error("session {name} has ended: {reason}")]
    IsOver { name: String, reason: String },
    #[error("cannot read session {name}: {reason}")]
    NotReachable { name: String, reason: String },
    #[error("cannot start session {name}: {reason}")]
    LaunchFailed { name: String, reason: String },
    #[error("session {name} was created, but its program did not start within {seconds} s")]
    StartNotConfirmed { name: String, seconds: u64 },
    #[error("cannot end session {name}: {reason}")]
    NotEnded { name: String, reason: String },
    #[error("no screen of session {name} was saved: {reason}")]
    NothingKept { name: String, reason: String },
    #[error("the prompt {problem}")]
    BadPrompt { problem: String },
    #[error("{name} has no open dialog; its state is {state}")]
    NoDialog { name: String, state: &'static str },
    #[error("{name} has another dialog open than the one given by --dialog{}", if question.is_empty() { String::new() } else { format!(": {question}") })]
    OtherDialog { name: String, question: String },
    #[error("another process is typing into {name}")]
    Busy { name: String },
    #[error("no message {id:?}")]
    NoSuchMessage { id: String },
    #[error("message {id} is already being delivered or finished")]
    TooLate { id: String },
    #[error("no pane {target:?}")]
    NoSuchPane { target: String },
    #[error("{pane} is the caller's own pane; an agent cannot close itself")]
    OwnPane { pane: String },
    #[error("{pane} is not ready to close: {}", missing.iter().map(|m| m.words()).collect::<Vec<_>>().join(", "))]
    MayNotClose { pane: String, missing: Vec<Missing> },
    #[error("cannot start role {role} in a pane (attempt {tries} of 3): {reason}")]
    PaneNotReady {
        role: String,
        tries: u32,
        reason: String,
        /// Number of the escalation that was raised.
        escalation: Option<i64>,
    },
    #[error("no session file in {}", project.display())]
    NoSessionFile { project: PathBuf },
    #[error("cannot use the session file {}: {problem}", path.display())]
    BadSessionFile { path: PathBuf, problem: FileProblem },
    #[error("{0}")]
    NoTask(NoTask),
    #[error("{task} is recorded as done, but reporting to {spawner} failed: {reason}")]
    NotReported { task: TaskId, spawner: String, reason: String },
    #[error("no escalation {target:?}")]
    NoSuchEscalation { target: String },
    #[error("escalation {number} has no option {option:?}; its options: {options}")]
    NoSuchOption { number: i64, option: String, options: String },
    #[error("escalation {number} was settled at {at:.0}: {how}")]
    Settled { number: i64, at: jiff::Timestamp, how: String },
    #[error("no job {target:?}")]
    NoSuchJob { target: String },
    #[error("job {id} is already {state}")]
    JobOver { id: String, state: &'static str },
    #[error("cannot cancel job {id}: {reason}")]
    NotCancelled { id: String, reason: String },
    #[error("{}, {problem}", path.display())]
    BadConfig { path: PathBuf, problem: ConfigError },
    #[error("{agent} cannot resume a conversation by its id")]
    CannotResume { agent: String },
    #[error("the registry has no session {name:?}")]
    NotOnRoll { name: String },
    #[error("the registry already has a session {name:?}")]
    OnRoll { name: String },
    #[error("session {name} is already running")]
    StillRuns { name: String },
    #[error("{name} has no conversation to resume")]
    NoConversation { name: String },
    #[error("the conversation {id} of {name} is not on disk: {path}")]
    ConversationGone { name: String, id: String, path: String },
    #[error("the conversation {id} of {name} also belongs to {other}")]
    ConversationShared { name: String, id: String, other: String },
    #[error("session {name} {did}, but the registry could not be updated: {source}")]
    RollNotTold { name: String, did: &'static str, source: Box<Error> },
    #[error("session {name} is on {place}")]
    Elsewhere { name: String, place: String },
    #[error("no agent is running in {target:?}")]
    NoAgentThere { target: String },
    #[error("no card {task:?}")]
    NoSuchCard { task: String },
    #[error("cannot report to {desk}: {problem}")]
    ReportTarget { desk: String, problem: String, is_taken: bool },
    #[error("{0}")]
    BadWorkflow(#[from] BadWorkflow),
    #[error("no run {target:?}")]
    NoSuchRun { target: String },
    #[error("{} has no run yet", project.display())]
    NoRun { project: PathBuf },
    #[error("a run is already active in {}", project.display())]
    RunIsAttended { project: PathBuf },
    #[error("run {id} of this project is unfinished")]
    RunIsOpen { id: String },
    #[error(
        "no BMAD story skills are installed for {}: neither bmad-build-auto, nor bmad-create-story and bmad-dev-story",
        project.display()
    )]
    NoBmad { project: PathBuf },
    #[error("{agent} does not trust {} yet and would ask first", folder.display())]
    NotTrusted { agent: String, folder: PathBuf, file: PathBuf },
    #[error("{agent} would first ask you to accept that it bypasses permissions")]
    BypassNotAccepted { agent: String },
    #[error("{agent} does not support --permissions {level}")]
    NoSuchPermissions { agent: String, level: &'static str },
    #[error("{} is not in a git repository", path.display())]
    NotARepository { path: PathBuf },
    #[error("the work tree has uncommitted changes: {files}")]
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
    #[error("another dogwatch already publishes the events of this state directory")]
    AlreadyRelayed,
    #[error("no host {host:?} on the broker")]
    NoSuchHost { host: String },
    #[error("host {host} is offline: {because}")]
    HostGone { host: String, because: String },
    #[error("host {host} did not answer within {seconds} s")]
    NoReply { host: String, seconds: u64, taken: bool },
    #[error("failed to {action}: {source}")]
    Io { action: String, source: io::Error },
    /// From another host's order.
    #[error("{because}")]
    OrderRefused { because: dogwatch_core::fleet::SpawnRefused },
    #[error(transparent)]
    LocalBroker(#[from] LocalBrokerError),
}

const LIMIT: &str = "the process limit is reached, so no process or thread can start; end some processes or raise the limit (`ulimit -u` shows it)";

impl Error {
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Files of the store were removed or replaced under a command that goes on.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::Store(StoreError::Replaced { .. }))
    }

    /// A stable code for machines.
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
            Self::NotOnRoll { .. } => "not_registered",
            Self::OnRoll { .. } => "registered",
            Self::StillRuns { .. } => "still_runs",
            Self::NoConversation { .. } => "no_conversation",
            Self::ConversationGone { .. } => "conversation_gone",
            Self::ConversationShared { .. } => "conversation_shared",
            Self::RollNotTold { .. } => "registry_not_updated",
            Self::Elsewhere { .. } => "elsewhere",
            Self::NoAgentThere { .. } => "no_agent_there",
            Self::NoSuchCard { .. } => "no_such_card",
            Self::ReportTarget { is_taken: true, .. } => "report_target_taken",
            Self::ReportTarget { .. } => "report_target",
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
                "`dogwatch agents` lists the agents; `dogwatch spawn -- PROGRAM` runs any program"
                    .into()
            }
            Self::ProgramNotFound { install, .. } if !install.is_empty() => {
                format!("install it: {install}")
            }
            Self::NameInUse { name, is_ours: true } => {
                format!("choose another name, or end that session first: dogwatch kill {name}")
            }
            Self::NameInUse { .. } => "choose another name; a tmux session that dogwatch did not start has that one".into(),
            Self::BadConfig { .. } => "correct that line; `dogwatch doctor` checks it".into(),
            Self::NoSuchSession { near: Some(name), .. } => {
                format!("did you mean {name}? `dogwatch ls --all` lists all sessions")
            }
            Self::NoRoom { .. } => "enlarge the window, close a pane (dogwatch pane close) or use another --side for the master".into(),
            Self::NoSuchSession { .. } => "`dogwatch ls --all` lists all sessions".into(),
            Self::NotOurs { .. } => "dogwatch changes only sessions that it started; use tmux for this one".into(),
            Self::IsOver { name, .. } => format!("to see its last screen: dogwatch capture {name}"),
            Self::StartNotConfirmed { name, .. } => {
                format!("to see its screen: dogwatch capture {name}; to end it: dogwatch kill {name}")
            }
            Self::MayNotClose { pane, .. } => {
                format!("`dogwatch team` shows its progress; to close it anyway: dogwatch pane close --force {pane}")
            }
            Self::PaneNotReady { escalation: Some(number), .. } => {
                format!("answer the escalation: dogwatch escalations show {number}")
            }
            Self::NoSessionFile { .. } => {
                "create one with a first task: dogwatch task add --role dev 'Write the parser'".into()
            }
            Self::BadSessionFile { .. } => "the file was not changed; correct it and run the command again".into(),
            Self::NoTask(_) => "`dogwatch task list` lists assignments".into(),
            Self::NoSuchEscalation { .. } => "`dogwatch escalations ls --all` lists all escalations".into(),
            Self::NoSuchOption { number, .. } => {
                format!("`dogwatch escalations show {number}` shows the options")
            }
            Self::NoSuchJob { .. } => "`dogwatch job ls` lists all jobs".into(),
            Self::NotOnRoll { .. } => "`dogwatch registry` lists its sessions; `dogwatch adopt NAME` adds a running one".into(),
            Self::OnRoll { name } => {
                format!("to resume its conversation: dogwatch resume {name}; or choose another name")
            }
            Self::StillRuns { name } => format!("to see it: dogwatch attach {name}; to end it: dogwatch delete {name}"),
            Self::NoConversation { .. } | Self::ConversationGone { .. } => {
                "start a new session: dogwatch create AGENT --name OTHER".into()
            }
            Self::RollNotTold { source, .. } => {
                let hint = source.hint().map(|hint| format!("{hint}; then ")).unwrap_or_default();
                format!("{hint}`dogwatch reconcile --once` updates the registry")
            }
            Self::Elsewhere { .. } => "run the command there; if the registry is wrong, correct `host` and `socket` in it".into(),
            Self::NoAgentThere { .. } => "name the agent: --agent NAME".into(),
            Self::Broker { refused: true, .. } => {
                "check `user` and `password_file` (or DOGWATCH_MQTT_PASSWORD) of [mqtt] in config.toml".into()
            }
            Self::Broker { .. } => "check that the broker is running; `dogwatch broker` runs one on this machine".into(),
            Self::NoSuchHost { .. } | Self::HostGone { .. } => {
                "`dogwatch fleet` lists the hosts; `dogwatch relay` publishes this one".into()
            }
            Self::NoReply { taken: true, .. } => {
                "the host has accepted the order and is still carrying it out; `dogwatch fleet` shows its sessions".into()
            }
            Self::NoReply { .. } => "the order has expired; `dogwatch fleet` lists the hosts".into(),
            Self::NotReported { .. } => "run the command again; nothing is reported twice".into(),
            _ => return self.hint_about_run(),
        })
    }

    /// The hints about a run of stories.
    fn hint_about_run(&self) -> Option<String> {
        Some(match self {
            Self::BadWorkflow(bad) => return bad.hint.clone(),
            Self::RunIsOpen { .. } => {
                "to continue it: dogwatch story resume; to end it: dogwatch story abort".into()
            }
            Self::NoSuchRun { .. } => "`dogwatch story ls` lists the runs of this project".into(),
            Self::NoRun { .. } => {
                "to see what a run would do: dogwatch story plan; to start one: dogwatch story run".into()
            }
            Self::NoBmad { .. } => "`npx bmad-method install --modules bmm --tools claude-code` installs bmad-build-auto; with --shims also bmad-create-story and bmad-dev-story".into(),
            Self::NotTrusted { agent, folder, .. } => format!(
                "start {agent} once in {} and confirm that you trust the folder",
                folder.display()
            ),
            Self::BypassNotAccepted { agent } => format!(
                "start `{agent} --dangerously-skip-permissions` once and accept it, or choose --permissions accept-edits or ask"
            ),
            Self::NoSuchPermissions { .. } => {
                "choose another level or another agent; `docs/stories.md` lists what each agent can do".into()
            }
            Self::NotARepository { .. } => {
                "create one and commit the files: git init && git add -A && git commit -m 'Initial commit'".into()
            }
            Self::DirtyTree { .. } => {
                "commit or stash them, or pass --allow-dirty to leave them out of the commits".into()
            }
            Self::RunIsAttended { .. } => {
                "`dogwatch story status` shows its progress; `dogwatch story pause` stops it".into()
            }
            _ => return None,
        })
    }
}
