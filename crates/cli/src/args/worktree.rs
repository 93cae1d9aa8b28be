//! Git worktrees of sessions.

use std::path::PathBuf;

use clap::{ArgGroup, Args as ClapArgs, ValueHint};

/// Show everything that a session changed in its worktree
///
/// Compares with the base: committed, uncommitted and untracked files. Ignored files are left out. The session may be working
/// meanwhile, or may have ended.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch diff api
  dogwatch diff api --stat
  dogwatch diff api --json
  dogwatch diff api | less")]
pub(crate) struct Diff {
    /// Name, id or pane (%3) of the session, or its branch
    pub(crate) session: String,
    /// Print the number of changed lines for each file
    #[arg(long, conflicts_with = "name_only")]
    pub(crate) stat: bool,
    /// Print only the names of changed files
    #[arg(long)]
    pub(crate) name_only: bool,
}

/// Merge, keep or discard the work in a session's worktree
///
/// Nothing that is not committed is lost, except with --discard. A conflict changes nothing. If this command was killed, run it
/// again: it continues where it stopped. No hook runs, and no remote is touched.
#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("way").required(true), after_help = "\
Examples:
  dogwatch finish api --merge
  dogwatch finish api --squash --message 'Fix the login' --kill
  dogwatch finish api --rebase --into develop
  dogwatch finish api --discard --yes")]
#[expect(clippy::struct_excessive_bools, reason = "each is a word on the command line")]
pub(crate) struct Finish {
    /// Name, id or pane (%3) of the session, or its branch
    pub(crate) session: String,
    /// Merge its branch with a merge commit, then remove worktree and branch
    #[arg(long, group = "way")]
    pub(crate) merge: bool,
    /// Put its commits on top of the target, then remove worktree and branch
    #[arg(long, group = "way")]
    pub(crate) rebase: bool,
    /// Put its work on the target as one commit, then remove worktree and branch
    #[arg(long, group = "way")]
    pub(crate) squash: bool,
    /// Keep worktree and branch; `dogwatch gc` never removes them
    #[arg(long, group = "way")]
    pub(crate) keep: bool,
    /// Remove worktree and branch with everything in them
    #[arg(long, group = "way")]
    pub(crate) discard: bool,
    /// Branch that gets the work [default: the one that it began at]
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true, conflicts_with_all = ["keep", "discard"])]
    pub(crate) into: Option<String>,
    /// Message of the merge or squash commit
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["rebase", "keep", "discard"])]
    pub(crate) message: Option<String>,
    /// End the session first if it still lives
    #[arg(long)]
    pub(crate) kill: bool,
    /// Skip the confirmation of --discard; required if standard input is not a terminal
    #[arg(long, short, requires = "discard")]
    pub(crate) yes: bool,
}

/// Open a pull request for a session's worktree with GitHub's gh
///
/// Pushes the branch and opens a pull request, or updates the branch of the one that is open.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch pr api
  dogwatch pr api --draft --title 'Fix the login'")]
pub(crate) struct Pr {
    /// Name, id or pane (%3) of the session, or its branch
    pub(crate) session: String,
    /// Title [default: from the commits]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Description [default: from the commits]
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// Branch to merge into [default: the one that it began at]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// Open it as a draft
    #[arg(long)]
    pub(crate) draft: bool,
}

/// Trust a project's .dogwatch.toml, which can run commands
///
/// Only this content at this path is trusted: after a change, dogwatch refuses the file until you trust it again.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch trust --show
  dogwatch trust
  dogwatch trust ../service")]
pub(crate) struct Trust {
    /// Directory in the project [default: current directory]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Print the file and whether it is trusted; change nothing
    #[arg(long)]
    pub(crate) show: bool,
}

/// Stop trusting a project's .dogwatch.toml
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch untrust
  dogwatch untrust ../service")]
pub(crate) struct Untrust {
    /// Directory in the project [default: current directory]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
