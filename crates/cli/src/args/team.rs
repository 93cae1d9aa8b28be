//! Teams: panes, their agents, tasks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

use super::duration;

/// Put agents into panes beside their master, and take them away again
#[derive(Debug, ClapArgs)]
pub(crate) struct Pane {
    #[command(subcommand)]
    pub(crate) command: PaneCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PaneCommand {
    Spawn(Box<PaneSpawn>),
    Verify(PaneVerify),
    Rebalance(PaneRebalance),
    Close(PaneClose),
}

impl Pane {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            PaneCommand::Spawn(a) => a.json,
            PaneCommand::Verify(a) => a.json,
            PaneCommand::Rebalance(a) => a.json,
            PaneCommand::Close(a) => a.json,
        }
    }
}

/// Where the team writes down who does what
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct SessionFile {
    /// The team's session file [env: DOGWATCH_SESSION_FILE] [default: that of BMAD_SESSION_ID, else the newest of
    /// .agents/orchestration/session-*.md]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) session_file: Option<PathBuf>,
}

/// Start an agent in a pane beside its master, with its role and its task
///
/// Splits the master's window, waits until the agent is at its prompt, gives it colour and name, marks the pane, arranges the window, and tells the
/// agent what to do, each step when the one before is known to be done. If the agent does not get ready, the pane is closed and
/// it is tried again, three times in all.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane spawn --role dev --task 'Write the parser' --unattended
  dogwatch pane spawn --role qa codex --task-file qa.md
  dogwatch pane spawn --role dev --task-id TASK-003
  dogwatch pane spawn --role research --master %0 claude
  dogwatch pane spawn --role tests -- cargo watch -x test

Without a task the agent gets the first pending one of its role when it registers.")]
pub(crate) struct PaneSpawn {
    /// Agent to start (`dogwatch agents` lists them) [default: claude, or the command after `--`]
    pub(crate) agent: Option<String>,
    /// What it does in the team: dev, qa, review, architect, pm, analyst, research, sm, ux, tech-writer, or any other word
    #[arg(long, short)]
    pub(crate) role: String,
    /// A new task for it; `-` reads standard input
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) task: Option<String>,
    /// File with a new task; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "task", value_hint = ValueHint::FilePath)]
    pub(crate) task_file: Option<PathBuf>,
    /// A task of the session file
    #[arg(long, value_name = "TASK", conflicts_with_all = ["task", "task_file"])]
    pub(crate) task_id: Option<String>,
    /// Pane or session that leads the window [default: as the team of this pane has it, else this pane]
    #[arg(long, value_name = "PANE")]
    pub(crate) master: Option<String>,
    /// Side of the window that the master is to have [default: the one that it is on]
    #[arg(long)]
    pub(crate) side: Option<SideArg>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Name of the session [default: project and role]
    #[arg(long, short)]
    pub(crate) name: Option<String>,
    /// Folder to start in [default: the root of the project]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Environment variable for the session; may be repeated
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Model for the agent
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    /// How long the agent may take to be at its prompt
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) ready: Duration,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Further arguments for the agent, or the command to run
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideArg {
    Left,
    Right,
    Top,
    Bottom,
}

/// Tell whether a pane is there and alive: `VALID: %31 session window title` or `INVALID: …`, exit code 0 or 1
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane verify %31
  dogwatch pane verify %31 --session work --window @2 || echo 'moved'")]
pub(crate) struct PaneVerify {
    /// Pane (%31), or name or id of a session
    pub(crate) target: String,
    /// tmux session that it must be in
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// tmux window (@2) that it must be in
    #[arg(long)]
    pub(crate) window: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Let the panes of a window share what its master leaves them
///
/// The master stays on the side that it is on.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane rebalance
  dogwatch pane rebalance --master %0 --side top")]
pub(crate) struct PaneRebalance {
    /// Pane or session that leads the window [default: as the team of this pane has it, else this pane]
    #[arg(long, value_name = "PANE")]
    pub(crate) master: Option<String>,
    /// Side of the window that the master is to have [default: the one that it is on]
    #[arg(long)]
    pub(crate) side: Option<SideArg>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Close the pane of an agent that is ready for it
///
/// Ready means: it is `ready-to-close`, its report came, its task is done, and the id of its conversation is saved. The agent is told to
/// leave by its own command; only if it stays it is ended otherwise. A pane that is gone already is written down as closed.
/// Nobody closes the pane that they are in.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane close %31
  dogwatch pane close --force work-dev

Exit codes: 0 closed, 3 no such pane, 4 not ready, or one's own")]
pub(crate) struct PaneClose {
    /// Pane (%31), or name or id of a session
    pub(crate) target: String,
    /// Also if it is not ready
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the agents of a window: role, pane, state, task, and whether each may be closed
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch team
  dogwatch team work-dev --json")]
pub(crate) struct Team {
    /// Pane or session in the window [default: this pane, else the team of this project]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a member of a team calls from its own pane
#[derive(Debug, ClapArgs)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    Register(AgentRegister),
    Claim(AgentClaim),
    Complete(AgentComplete),
}

impl Agent {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            AgentCommand::Register(a) => a.who.json,
            AgentCommand::Claim(a) => a.who.json,
            AgentCommand::Complete(a) => a.who.json,
        }
    }
}

/// Who calls
#[derive(Debug, ClapArgs)]
pub(crate) struct Who {
    /// Its pane [env: TMUX_PANE]
    #[arg(long, value_name = "PANE")]
    pub(crate) pane: Option<String>,
    /// Its role [env: DOGWATCH_ROLE] [default: as it was spawned]
    #[arg(long, short)]
    pub(crate) role: Option<String>,
    /// The agent's own id of its conversation [default: as its hooks tell]
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write this agent down in the session file, and claim the first pending task of its role
///
/// Prints the task. Asked again, it prints the same task again.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent register
  dogwatch agent register --role master")]
pub(crate) struct AgentRegister {
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Claim the first pending task of this agent's role, or print the one that it has: exit code 0, or 1 if there is none
#[derive(Debug, ClapArgs)]
pub(crate) struct AgentClaim {
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Mark this agent's task done, tell its spawner, and claim the next one
///
/// The spawner gets `STEP COMPLETE: TASK-001 | result: pass | session: ID` with proof of delivery. If no task is left, the pane is set
/// ready-to-close. If it is cut short or the spawner cannot take the message, run it again: nothing is told twice.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent complete --result pass
  dogwatch agent complete --result 'fail: two tests are red'
  dogwatch agent complete --task TASK-007 --result pass")]
pub(crate) struct AgentComplete {
    /// The task [default: the one that it is at]
    #[arg(long, short, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// How it went: pass, fail, or a few words
    #[arg(long)]
    pub(crate) result: String,
    /// How long the spawner is waited for
    #[arg(long, value_name = "DURATION", default_value = "90s", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// The tasks of the session file
#[derive(Debug, ClapArgs)]
pub(crate) struct Task {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    Add(TaskAdd),
    List(TaskList),
}

impl Task {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            TaskCommand::Add(a) => a.json,
            TaskCommand::List(a) => a.json,
        }
    }
}

/// Add a task for a role; makes the session file if there is none
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch task add --role dev 'Write the parser'
  dogwatch task add --role qa - < qa.md")]
pub(crate) struct TaskAdd {
    /// What is to be done; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Who is to do it
    #[arg(long, short)]
    pub(crate) role: String,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the tasks, and who is at them
#[derive(Debug, ClapArgs)]
#[command(visible_alias = "ls")]
pub(crate) struct TaskList {
    /// Only those of a role
    #[arg(long, short)]
    pub(crate) role: Option<String>,
    /// Only those in a status
    #[arg(long)]
    pub(crate) status: Option<TaskStatusArg>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskStatusArg {
    Pending,
    InProgress,
    Done,
}
