//! What can be wrong with a command line beyond what its parser finds.

use std::io;
use std::path::PathBuf;

use dogwatch_core::recording;
use dogwatch_core::since;
use dogwatch_engine::Error;

/// Why a command line cannot be carried out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("nothing to start; pass an agent, or a command after --")]
    NothingToStart,
    #[error("no message given; pass a text, `-` for standard input, or --file")]
    MissingMessage,
    #[error("no prompt given; pass a prompt, `-` for standard input, or --file")]
    MissingPrompt,
    #[error("no option given; pass --option 1 to {options}")]
    MissingOption { options: usize },
    #[error("missing input: pass --agent and --screen, or --report")]
    MissingScreen,
    #[error("HOME is not set to an absolute path")]
    NoHome,
    #[error("the text is not valid UTF-8 (byte {at})")]
    NotUtf8 { at: usize },
    #[error("{option} {given:?} is not of the form {form}")]
    NotAPair { option: &'static str, given: String, form: &'static str },
    #[error("{target:?} is not of the form HOST/SESSION")]
    NotHostAndSession { target: String },
    #[error("--prices {given:?} are not three numbers: input,output,cached")]
    NotPrices { given: String },
    #[error("{given:?} is not a task id; task ids look like TASK-001")]
    NotATaskId { given: String },
    #[error("{} is not a valid name for a new folder", path.display())]
    NotAFolderName { path: PathBuf },
    #[error("unknown state {given:?}; known states: {known}")]
    UnknownState { given: String, known: String },
    #[error("unknown schema {given:?}; `dogwatch schema` lists all{}", meant.as_ref().map_or_else(String::new, |name| format!(" (did you mean {name:?}?)")))]
    UnknownSchema { given: String, meant: Option<String> },
    #[error("unknown event kind {given:?}; known kinds: {known}")]
    UnknownEventKind { given: String, known: String },
    #[error(
        "no request for permission of {target} is recorded; `dogwatch rules rehearse` lists all"
    )]
    NoRequest { target: String },
    #[error(
        "no notification channel has the name or kind {given:?}; see [[notify]] in config.toml"
    )]
    UnknownChannel { given: String },
    #[error("--since {given:?} is not a time; write for example {}", since::FORMS)]
    NotATime { given: String },
    #[error("--since {given:?} is in the future")]
    InTheFuture { given: String },
    #[error("unknown trigger {given:?}; known triggers: {known}")]
    UnknownTrigger { given: String, known: String },
    #[error("--default must be one of the options, 1 to {options}")]
    DefaultNotAnOption { options: usize },
    #[error("DOGWATCH_REGISTRY_PATTERN: {problem}")]
    BadPattern { problem: String },
    #[error("--watch needs a terminal; use `{instead}` without one")]
    NeedsTerminal { instead: &'static str },
    #[error("kill-all needs --yes when standard input is not a terminal")]
    NotConfirmed,
    #[error("not inside tmux; run this in a tmux pane or from a key binding of tmux")]
    NotInTmux,
    #[error("not inside tmux; run this in a tmux pane or pass --master")]
    NoMaster,
    #[error("not inside tmux; run this in the agent's pane or pass --pane %ID")]
    NoPane,
    #[error("this project has no team; pass a pane or a session")]
    NoTeam,
    #[error("this project has several teams; pass one of their masters: {masters}")]
    SeveralTeams { masters: String },
    #[error("{} is not part of a bug report: {source}", path.display())]
    NotABugReport { path: PathBuf, source: serde_json::Error },
    #[error("{} contains no screen; see {} in it", folder.display(), recording::VERDICT)]
    NoScreen { folder: PathBuf },
    #[error("dogwatch has no screen rules for the agent {agent:?}")]
    NoScreenRules { agent: String },
    #[error("{}: {source}", path.display())]
    NotAFile { path: PathBuf, source: io::Error },
    #[error("{} is larger than {megabytes} MB and cannot be a captured screen", path.display())]
    NotAScreen { path: PathBuf, megabytes: u64 },
}

impl From<UsageError> for Error {
    fn from(error: UsageError) -> Self {
        Self::Usage(Box::new(error))
    }
}
