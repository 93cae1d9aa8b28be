//! Stories: whole ones, unattended.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use dogwatch_core::permissions::Permissions;

use super::duration;

/// Do whole stories with agents, unattended: create, implement, review, commit, look back
///
/// The run is a program, not a model: it starts the agents, waits for them, checks by files whether each step is really done, tries again
/// or asks you (`dogwatch escalations`) when it is not, and commits what is verified. Killed at any moment, it resumes where it was.
///
/// By default the agents of a run act with permission prompts bypassed: they run commands and change files without asking. `--permissions
/// ask` or `accept-edits` makes each prompt of an agent a question that you answer with `dogwatch escalations`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch story plan                        # what would be done, and by whom
  dogwatch story run --epic 1                # all stories of epic 1
  dogwatch story run --stories 1.2,1.4-1.6 --agent-for review=codex
  dogwatch story run --max-parallel 3        # side by side, each in a git worktree
  dogwatch story run --permissions ask       # agents ask before they act (default: bypass)
  dogwatch story run --workflow mine.toml    # any other list of steps
  dogwatch story resume                      # after a pause, a kill or a power cut
  dogwatch story report --html report.html   # what happened, with a timeline")]
pub(crate) struct Story {
    #[command(subcommand)]
    pub(crate) command: StoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoryCommand {
    /// Show what a run would do, and change nothing
    Plan(Box<StoryPlan>),
    /// Begin a run and carry it out
    Run(Box<StoryRun>),
    /// Go on with a run that was paused, stopped or killed; also one of the original
    Resume(StoryResume),
    /// Show how far a run is
    Status(StoryOne),
    /// Let what is under way end, and begin nothing more
    Pause(StoryOne),
    /// End a run and its sessions; what was committed stays
    Abort(StoryOne),
    /// List the runs of this project, newest first
    Ls(StoryLs),
    /// Check everything for which `run` would refuse to begin; with a run, its state document and sessions
    Validate(Box<StoryValidate>),
    /// Show everything that happened in a run
    Log(StoryOne),
    /// Tell what happened: how long, how many attempts and tokens for each step
    Report(StoryReport),
}

impl Story {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            StoryCommand::Plan(a) => a.json,
            StoryCommand::Run(a) => a.json,
            StoryCommand::Resume(a) => a.json,
            StoryCommand::Status(a)
            | StoryCommand::Pause(a)
            | StoryCommand::Abort(a)
            | StoryCommand::Log(a) => a.json,
            StoryCommand::Ls(a) => a.json,
            StoryCommand::Validate(a) => a.json,
            StoryCommand::Report(a) => a.json,
        }
    }
}

/// What is to be done, and by whom
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct StoryWhat {
    /// A workflow of your own (TOML; see docs/stories.md), or a built-in one: bmad, bmad-build [default: by what is installed]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) workflow: Option<PathBuf>,
    /// Only stories of this epic
    #[arg(long, value_name = "N")]
    pub(crate) epic: Option<String>,
    /// Only these stories, or items of a workflow: 1.2,1.4-1.6
    #[arg(long, visible_alias = "items", value_name = "LIST")]
    pub(crate) stories: Option<String>,
    /// Leave the step out that adds tests
    #[arg(long)]
    pub(crate) skip_automate: bool,
    /// Leave a step out
    #[arg(long, value_name = "STEP")]
    pub(crate) skip: Vec<String>,
    /// Do so many stories side by side, each in a git worktree of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) max_parallel: u32,
    /// Who does every step [default: by the story's complexity]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Who does one step: review=codex
    #[arg(long, value_name = "STEP=AGENT")]
    pub(crate) agent_for: Vec<String>,
    /// Who does it if the first one fails; "none" for nobody
    #[arg(long, value_name = "AGENT")]
    pub(crate) fallback: Option<String>,
    /// The first one's model
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Ask before a story uses more tokens than this
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<u64>,
    /// Ask before a story costs more dollars than this; needs --prices
    #[arg(long, value_name = "DOLLARS", requires = "prices")]
    pub(crate) budget_usd: Option<f64>,
    /// Dollars for a million tokens: input,output,cached
    #[arg(long, value_name = "A,B,C")]
    pub(crate) prices: Option<String>,
    /// Begin although files are changed and not committed; they are left out of the commits
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// What agents may do without asking: ask (before edits and commands), accept-edits, or bypass (nothing is asked)
    #[arg(long, value_name = "LEVEL", value_parser = permissions, default_value = "bypass")]
    pub(crate) permissions: Permissions,
    /// A further argument for the agents
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_arg: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryPlan {
    #[command(flatten)]
    pub(crate) what: StoryWhat,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryRun {
    #[command(flatten)]
    pub(crate) what: StoryWhat,
    /// How long you have to answer a question before --default-option counts
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "default_option")]
    pub(crate) answer_within: Option<Duration>,
    /// Number of the option that counts if you do not answer
    #[arg(long, value_name = "N", requires = "answer_within")]
    pub(crate) default_option: Option<u32>,
    /// Leave when a question is asked, instead of waiting for the answer
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryResume {
    /// The run [default: the newest of this project]
    pub(crate) run: Option<String>,
    /// Leave when a question is asked, instead of waiting for the answer
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryOne {
    /// The run [default: the newest of this project]
    pub(crate) run: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryValidate {
    /// The run [default: the newest of this project]
    pub(crate) run: Option<String>,
    /// Check what a new run would be refused for, also if there was one before
    #[arg(long, conflicts_with = "run")]
    pub(crate) new: bool,
    #[command(flatten)]
    pub(crate) what: StoryWhat,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryLs {
    /// Of all projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn permissions(word: &str) -> Result<Permissions, String> {
    let known = Permissions::ALL.into_iter().find(|level| level.word() == word);
    known.ok_or_else(|| "one of ask, accept-edits, bypass".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StoryReport {
    /// The run [default: the newest of this project]
    pub(crate) run: Option<String>,
    /// Write a page with a timeline to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
