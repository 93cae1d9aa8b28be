//! Titles, tags and the archive.

use clap::{Args as ClapArgs, Subcommand};

/// Tag sessions, to find and filter them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch tag add api urgent backend
  dogwatch tag rm api urgent
  dogwatch tag ls
  dogwatch status --tag backend")]
pub(crate) struct Tag {
    #[command(subcommand)]
    pub(crate) verb: TagVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TagVerb {
    Add(TagChange),
    #[command(visible_alias = "remove")]
    Rm(TagRemoval),
    #[command(visible_alias = "list")]
    Ls(TagLs),
}

/// Add tags to a session
///
/// A tag is one word of letters, digits and `-_.:/+#`. A session that resumes a conversation keeps its tags and title.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch tag add api urgent
  dogwatch tag add %3 review area:login")]
pub(crate) struct TagChange {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Tags
    #[arg(required = true, value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

/// Remove tags from a session
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch tag rm api urgent
  dogwatch tag rm api --all")]
pub(crate) struct TagRemoval {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Tags
    #[arg(required_unless_present = "all", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Remove all its tags
    #[arg(long, conflicts_with = "tags")]
    pub(crate) all: bool,
}

/// List tags and the sessions that have them
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch tag ls
  dogwatch tag ls --all --json")]
pub(crate) struct TagLs {
    /// Include sessions that ended long ago or are archived
    #[arg(long, short)]
    pub(crate) all: bool,
}

/// Set the title that lists show for a session
///
/// The title says what the session is about. Its name, by which commands and tmux know it, stays the same. Without a
/// title of yours, lists show the agent's own title of the conversation, or the first line of the first prompt.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch rename api 'Rate limits of the public API'
  dogwatch rename api --clear")]
pub(crate) struct Rename {
    /// Name, id or pane (%3) of the session
    pub(crate) session: String,
    /// Title, in one or several words
    #[arg(required_unless_present = "clear", value_name = "TITLE")]
    pub(crate) title: Vec<String>,
    /// Remove the title
    #[arg(long, conflicts_with = "title")]
    pub(crate) clear: bool,
}

/// Hide ended sessions from lists
///
/// `status --archived` and `ls --archived` list them, `capture`, `why` and `search` still find them, and `unarchive` brings
/// them back. `kill` archives what it ends. A running session cannot be archived. `gc` removes archived sessions like others.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch archive api tests")]
pub(crate) struct Archive {
    /// Names, ids or panes (%3) of sessions
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
}

/// Show archived sessions in lists again
///
/// Lists show a session for a day after it came back from the archive.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dogwatch unarchive api")]
pub(crate) struct Unarchive {
    /// Names or ids of sessions
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
}
