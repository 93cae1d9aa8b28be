//! Teams: panes, their agents, tasks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};

use super::duration;

/// Manage the panes of a team
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane spawn --role dev --task 'Write the parser'
  dogwatch pane verify %31
  dogwatch pane close work-dev")]
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

/// The team's session file
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct SessionFile {
    /// The team's session file [env: DOGWATCH_SESSION_FILE] [default: the one of BMAD_SESSION_ID, else the newest of
    /// .agents/orchestration/session-*.md]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) session_file: Option<PathBuf>,
}

/// Start an agent in a pane next to its master, with a role and a task
///
/// Splits the master's window, waits until the agent is at its prompt, sets colour and name, marks the pane, arranges
/// the window and sends the task. Each step is verified before the next. If the agent does not become ready, dogwatch
/// closes the pane and retries, three attempts in total.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane spawn --role dev --task 'Write the parser' --unattended
  dogwatch pane spawn --role qa codex --task-file qa.md
  dogwatch pane spawn --role dev --task-id TASK-003
  dogwatch pane spawn --role research --master %0 claude
  dogwatch pane spawn --role tests -- cargo watch -x test

Without a task the agent gets the first pending task of its role when it registers.")]
pub(crate) struct PaneSpawn {
    /// Agent to start (`dogwatch agents` lists them) [default: claude, or the command after `--`]
    pub(crate) agent: Option<String>,
    /// Role in the team: dev, qa, review, architect, pm, analyst, research, sm, ux, tech-writer or any other word
    #[arg(long, short)]
    pub(crate) role: String,
    /// Text of a new task; `-` reads standard input
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) task: Option<String>,
    /// File with a new task; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "task", value_hint = ValueHint::FilePath)]
    pub(crate) task_file: Option<PathBuf>,
    /// Existing task in the session file
    #[arg(long, value_name = "TASK", conflicts_with_all = ["task", "task_file"])]
    pub(crate) task_id: Option<String>,
    /// Master pane or session [default: the master of this pane's team, else this pane]
    #[arg(long, value_name = "PANE")]
    pub(crate) master: Option<String>,
    /// Side of the window for the master [default: its current side]
    #[arg(long)]
    pub(crate) side: Option<SideArg>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
    /// Name of the session [default: project and role]
    #[arg(long, short)]
    pub(crate) name: Option<String>,
    /// Directory to start in [default: project root]
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Environment variable for the session; repeatable
    #[arg(long, short, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
    /// Model for the agent
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Let the agent act without asking for permission
    #[arg(long)]
    pub(crate) unattended: bool,
    /// How long to wait until the agent is at its prompt
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) ready: Duration,
    /// More arguments for the agent, or the command to run
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

/// Check whether a pane exists and is alive
///
/// Prints `VALID: %31 session window title` (exit code 0) or `INVALID: …` (exit code 1).
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane verify %31
  dogwatch pane verify %31 --session work --window @2 || echo 'moved'")]
pub(crate) struct PaneVerify {
    /// Pane (%31), or name or id of a session
    pub(crate) target: String,
    /// tmux session that must contain the pane
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// tmux window (@2) that must contain the pane
    #[arg(long)]
    pub(crate) window: Option<String>,
}

/// Distribute the panes of a window evenly next to the master
///
/// The master stays on its side unless --side is given.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane rebalance
  dogwatch pane rebalance --master %0 --side top")]
pub(crate) struct PaneRebalance {
    /// Master pane or session [default: the master of this pane's team, else this pane]
    #[arg(long, value_name = "PANE")]
    pub(crate) master: Option<String>,
    /// Side of the window for the master [default: its current side]
    #[arg(long)]
    pub(crate) side: Option<SideArg>,
}

/// Close the pane of an agent that is ready to close
///
/// Ready means: the pane is `ready-to-close`, the report has arrived, the task is done and the conversation id is saved.
/// Uses the agent's own exit command first and ends the session otherwise only if that fails. A pane that no longer
/// exists is recorded as closed. An agent cannot close its own pane.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pane close %31
  dogwatch pane close --force work-dev

Exit codes: 0 closed, 3 no such pane, 4 not ready, or the caller's own pane")]
pub(crate) struct PaneClose {
    /// Pane (%31), or name or id of a session
    pub(crate) target: String,
    /// Close even if it is not ready
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) file: SessionFile,
}

/// List the agents of a team: role, pane, status, task
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch team
  dogwatch team work-dev --json")]
pub(crate) struct Team {
    /// Pane or session in the team's window [default: this pane, else the team of this project]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
}

/// Register, claim and complete tasks (called by team agents)
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent register
  dogwatch agent claim
  dogwatch agent complete --result pass")]
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

/// The calling agent
#[derive(Debug, ClapArgs)]
pub(crate) struct Who {
    /// Pane of the agent [env: TMUX_PANE]
    #[arg(long, value_name = "PANE")]
    pub(crate) pane: Option<String>,
    /// Role of the agent [env: DOGWATCH_ROLE] [default: the role it was spawned with]
    #[arg(long, short)]
    pub(crate) role: Option<String>,
    /// Conversation id of the agent [default: from its hooks]
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
}

/// Register this agent in the session file and claim the first pending task of its role
///
/// Prints the task. A second call prints the same task.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent register
  dogwatch agent register --role master")]
pub(crate) struct AgentRegister {
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Claim the first pending task of this agent's role
///
/// Prints the task, or the one that the agent already has. Exit code 1 if there is none.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent claim
  dogwatch agent claim --json")]
pub(crate) struct AgentClaim {
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Mark this agent's task as done, report to its spawner and claim the next task
///
/// The spawner receives `STEP COMPLETE: TASK-001 | result: pass | session: ID`, with proof of delivery. If no task is left, the
/// pane becomes ready-to-close. If the command is interrupted or the spawner cannot take the message, run it again:
/// nothing is reported twice.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch agent complete --result pass
  dogwatch agent complete --result 'fail: two tests are red'
  dogwatch agent complete --task TASK-007 --result pass")]
pub(crate) struct AgentComplete {
    /// Task to complete [default: the current task]
    #[arg(long, short, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Result: pass, fail or a short text
    #[arg(long)]
    pub(crate) result: String,
    /// How long to wait for the spawner
    #[arg(long, value_name = "DURATION", default_value = "90s", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Add and list tasks of a team
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch task add --role dev 'Write the parser'
  dogwatch task list")]
pub(crate) struct Task {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    Add(TaskAdd),
    List(TaskList),
}

/// Add a task for a role; creates the session file if needed
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch task add --role dev 'Write the parser'
  dogwatch task add --role qa - < qa.md")]
pub(crate) struct TaskAdd {
    /// Text of the task; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Role that does the task
    #[arg(long, short)]
    pub(crate) role: String,
    #[command(flatten)]
    pub(crate) file: SessionFile,
}

/// List tasks and assignments
#[derive(Debug, ClapArgs)]
#[command(
    visible_alias = "ls",
    after_help = "\
Examples:
  dogwatch task list
  dogwatch task list --role dev --status pending --json"
)]
pub(crate) struct TaskList {
    /// Only tasks of this role
    #[arg(long, short)]
    pub(crate) role: Option<String>,
    /// Only tasks with this status
    #[arg(long)]
    pub(crate) status: Option<TaskStatusArg>,
    #[command(flatten)]
    pub(crate) file: SessionFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskStatusArg {
    Pending,
    InProgress,
    Done,
}
