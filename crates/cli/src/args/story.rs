//! Runs: stories from creation to commit.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use dogwatch_core::permissions::Permissions;

use super::duration;

/// Run stories unattended, from creation to commit
///
/// The steps of a story are create, implement, review, commit and retrospective.
/// A program drives the run, not a model: it starts the agents, waits for them, checks each step by its files, retries
/// or asks you (`dogwatch escalations`), and commits verified work. A run that was killed continues where it stopped.
///
/// By default the agents of a run bypass permission prompts: they run commands and change files without asking. With
/// `--permissions ask` or `accept-edits`, each permission prompt becomes a question that you answer with `dogwatch
/// escalations`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch story plan                        # show steps and agents
  dogwatch story run --epic 1                # all stories of epic 1
  dogwatch story run --stories 1.2,1.4-1.6 --agent-for review=codex
  dogwatch story run --max-parallel 3        # in parallel, each in a git worktree
  dogwatch story run --permissions ask       # agents ask before they act (default: bypass)
  dogwatch story run --workflow mine.toml    # another list of steps
  dogwatch story resume                      # after a pause, a kill or a power cut
  dogwatch story report --html report.html   # durations, attempts, tokens, timeline")]
pub(crate) struct Story {
    #[command(subcommand)]
    pub(crate) command: StoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoryCommand {
    /// Show what a run would do
    #[command(after_help = "\
Examples:
  dogwatch story plan
  dogwatch story plan --epic 1 --agent-for review=codex --json")]
    Plan(Box<StoryPlan>),
    /// Start a run
    #[command(after_help = "\
Examples:
  dogwatch story run --epic 1
  dogwatch story run --stories 1.2,1.4-1.6 --max-parallel 3
  dogwatch story run --answer-within 1h --default-option 1")]
    Run(Box<StoryRun>),
    /// Continue a run that was paused, stopped or killed, including runs of the npm story-automator
    #[command(after_help = "\
Examples:
  dogwatch story resume
  dogwatch story resume 01a1df96 --no-wait")]
    Resume(StoryResume),
    /// Show the progress of a run
    #[command(after_help = "\
Examples:
  dogwatch story status
  dogwatch story status 01a1df96 --json")]
    Status(StoryOne),
    /// Pause a run: finish the current steps and start no more
    #[command(after_help = "\
Examples:
  dogwatch story pause")]
    Pause(StoryOne),
    /// Abort a run and end its sessions; commits are kept
    #[command(after_help = "\
Examples:
  dogwatch story abort")]
    Abort(StoryOne),
    /// List the runs of this project, newest first
    #[command(after_help = "\
Examples:
  dogwatch story ls
  dogwatch story ls --all --json")]
    Ls(StoryLs),
    /// Check the preconditions of a run, or the state document and sessions of an existing run
    #[command(after_help = "\
Examples:
  dogwatch story validate
  dogwatch story validate --new --epic 1")]
    Validate(Box<StoryValidate>),
    /// Show all events of a run
    #[command(after_help = "\
Examples:
  dogwatch story log
  dogwatch story log 01a1df96 --json")]
    Log(StoryOne),
    /// Report duration, attempts and tokens of each step
    #[command(after_help = "\
Examples:
  dogwatch story report
  dogwatch story report --html report.html")]
    Report(StoryReport),
}

/// What to do, and with which agents
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct StoryWhat {
    /// Workflow file (TOML; see docs/stories.md) or a built-in workflow: bmad, bmad-build [default: by what is installed]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) workflow: Option<PathBuf>,
    /// Only stories of this epic
    #[arg(long, value_name = "N")]
    pub(crate) epic: Option<String>,
    /// Only these stories or workflow items: 1.2,1.4-1.6
    #[arg(long, visible_alias = "items", value_name = "LIST")]
    pub(crate) stories: Option<String>,
    /// Skip the step that adds tests
    #[arg(long)]
    pub(crate) skip_automate: bool,
    /// Skip a step; repeatable
    #[arg(long, value_name = "STEP")]
    pub(crate) skip: Vec<String>,
    /// Run N stories in parallel, each in its own git worktree
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) max_parallel: u32,
    /// Agent for every step [default: by the story's complexity]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Agent for one step: review=codex; repeatable
    #[arg(long, value_name = "STEP=AGENT")]
    pub(crate) agent_for: Vec<String>,
    /// Fallback agent; `none` for no fallback
    #[arg(long, value_name = "AGENT")]
    pub(crate) fallback: Option<String>,
    /// Model of the primary agent
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Ask before a story uses more than N tokens
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
    /// Ask before a story costs more than this; requires --prices
    #[arg(long, value_name = "DOLLARS", requires = "prices")]
    pub(crate) budget_usd: Option<f64>,
    /// Dollars per million tokens: input,output,cached
    #[arg(long, value_name = "A,B,C")]
    pub(crate) prices: Option<String>,
    /// Start even though the work tree has uncommitted changes; commits leave them out
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// What agents may do without asking: ask (asks before edits and commands), accept-edits, or bypass (never asks)
    #[arg(long, value_name = "LEVEL", value_parser = permissions, default_value = "bypass")]
    pub(crate) permissions: Permissions,
    /// More arguments for the agents; repeatable
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_arg: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryPlan {
    #[command(flatten)]
    pub(crate) what: StoryWhat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryRun {
    #[command(flatten)]
    pub(crate) what: StoryWhat,
    /// How long to wait for your answer before --default-option applies
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "default_option")]
    pub(crate) answer_within: Option<Duration>,
    /// Number of the option that applies without an answer
    #[arg(long, value_name = "N", requires = "answer_within")]
    pub(crate) default_option: Option<u32>,
    /// Exit when a question comes up instead of waiting for the answer
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Show what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryResume {
    /// Run id [default: newest run of this project]
    pub(crate) run: Option<String>,
    /// Exit when a question comes up instead of waiting for the answer
    #[arg(long)]
    pub(crate) no_wait: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryOne {
    /// Run id [default: newest run of this project]
    pub(crate) run: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryValidate {
    /// Run id [default: newest run of this project]
    pub(crate) run: Option<String>,
    /// Check the preconditions of a new run, even if there was one before
    #[arg(long, conflicts_with = "run")]
    pub(crate) new: bool,
    #[command(flatten)]
    pub(crate) what: StoryWhat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryLs {
    /// Include all projects
    #[arg(long)]
    pub(crate) all: bool,
}

fn permissions(word: &str) -> Result<Permissions, String> {
    let known = Permissions::ALL.into_iter().find(|level| level.as_str() == word);
    known.ok_or_else(|| "one of ask, accept-edits, bypass".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryReport {
    /// Run id [default: newest run of this project]
    pub(crate) run: Option<String>,
    /// Write an HTML page with a timeline to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}
