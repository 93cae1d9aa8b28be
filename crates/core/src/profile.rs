//! What an agent is, as data: one TOML file each, built in, and overridable by the user.
//!
//! Adding an agent needs no Rust. Texts in a profile may hold `@placeholders@`, which
//! [`crate::launch`] fills in; `docs/agents.md` lists them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::agent_version::{Before, VersionRange};
use crate::config::ConfigError;
use crate::delivery::safe_text::InputRules;
use crate::permissions::TrustWay;
use crate::transcript::Dialect;

/// Name of the profile that runs a plain command.
pub const COMMAND: &str = "command";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub title: String,
    /// Program to look for on the path; empty for plain commands.
    #[serde(default)]
    pub program: String,
    #[serde(default)]
    pub version_args: Vec<String>,
    /// The npm package that it comes in: its version can be read there without starting it.
    #[serde(default)]
    pub package: String,
    /// Versions that were played against the model double.
    #[serde(default)]
    pub verified: Option<VersionRange>,
    /// How a person gets it, for `doctor` and for the error when it is missing.
    #[serde(default)]
    pub install: String,
    #[serde(default)]
    pub launch: LaunchRules,
    #[serde(default)]
    pub hooks: Option<Hooks>,
    /// Files written into the session's folder at spawn.
    #[serde(default)]
    pub files: Vec<FileRule>,
    /// What older versions cannot take, newest first.
    #[serde(default)]
    pub before: Vec<Before>,
    /// Texts by which it says, while it starts, that it cannot take what we put into it. What names our files or
    /// options need not be listed.
    #[serde(default)]
    pub complaints: Vec<String>,
    /// The agent's own way out, tried before any signal.
    #[serde(default)]
    pub ending: Vec<Press>,
    /// Keys that cut a running turn short.
    #[serde(default)]
    pub interrupt: Vec<String>,
    /// What must not be typed or pasted into it as it is.
    #[serde(default)]
    pub input: InputRules,
    /// Commands of its own that are of use to a team.
    #[serde(default)]
    pub slash: SlashCommands,
    #[serde(default)]
    pub transcript: Option<TranscriptRules>,
    /// How the agent can be asked what it is doing.
    #[serde(default)]
    pub own_word: Option<OwnWordWay>,
    /// Where it keeps which folders it is trusted in; without it that is not known before it is started.
    #[serde(default)]
    pub trust: Option<TrustWay>,
    /// Where its conversations are on disk; without it they are looked for as transcripts.
    #[serde(default)]
    pub conversations: Option<ConversationRules>,
    /// What tells its accounts apart; without it they are unknown.
    #[serde(default)]
    pub account: Option<AccountRules>,
}

/// What tells the accounts of an agent apart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountRules {
    /// Variables with an API key, the first that counts first. Only a fingerprint of the value is kept.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The folder with its login, in the home folder.
    pub root: String,
    /// The variable that names another one.
    #[serde(default)]
    pub root_variable: Option<String>,
}

/// Where an agent keeps its conversations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationRules {
    pub way: ConversationWay,
    /// The folder that they are below, in the home folder.
    pub root: String,
    /// The variable that names another one.
    #[serde(default)]
    pub root_variable: Option<String>,
}

/// How conversations lie on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationWay {
    /// `projects/<folder with dashes>/<id>.jsonl`.
    ClaudeProjects,
    /// `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.
    CodexRollouts,
    /// `conversations/<id>.db`, and the last one of each folder in `cache/last_conversations.json`.
    AgyDatabases,
}

/// What an agent can be told by a slash command; one that it does not have is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlashCommands {
    /// Sets the colour of its prompt to `@color@`.
    pub color: Option<String>,
    /// Names the conversation `@name@`.
    pub rename: Option<String>,
    /// Switches to `@model@`.
    pub model: Option<String>,
    /// The dialog that may come up then, and the beginning of the option that confirms it.
    pub model_dialog: Option<ModelDialog>,
    pub exit: Option<String>,
}

/// A dialog that confirms another model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelDialog {
    pub question: String,
    pub choose: String,
}

/// Where an agent says of itself what it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnWordWay {
    /// `sessions/<pid>.json` in Claude Code's configuration folder.
    ClaudeStateFile,
    /// opencode's server on loopback, by the session's `endpoint.json`.
    OpencodeHttp,
}

/// Where an agent's transcript is, when no hook has told it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranscriptRules {
    pub dialect: Dialect,
    /// Below the home folder; `*` stands for a part of one folder's or file's name, and
    /// `@conversation@` and `@conversation8@` (its first eight letters) are filled in.
    #[serde(default)]
    pub find: Vec<String>,
    /// The agent keeps it open all the time: what this file's name ends in.
    #[serde(default)]
    pub held_open: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchRules {
    /// Always passed.
    #[serde(default)]
    pub args: Vec<String>,
    /// Passed with `--unattended`: the agent may act without asking.
    #[serde(default)]
    pub unattended: Vec<String>,
    /// Passed in a run with `--permissions ask`; without it the agent cannot take part in one.
    #[serde(default)]
    pub ask: Option<Vec<String>>,
    /// Passed in a run with `--permissions accept-edits`; without it the agent cannot take part in one.
    #[serde(default)]
    pub accept_edits: Option<Vec<String>>,
    #[serde(default)]
    pub model: Vec<String>,
    /// Fixes the conversation's id to one of ours, where the agent can be told.
    #[serde(default)]
    pub conversation: Vec<String>,
    /// Passed first, to go on with the conversation `@conversation@`; without it that cannot be done.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Passed last, with the prompt in `@prompt@`.
    #[serde(default)]
    pub prompt: Vec<String>,
    /// What to say instead of a prompt too long for one argument; `@prompt_file@` holds it.
    #[serde(default)]
    pub long_prompt: Option<String>,
    /// Prompts that begin so are refused, because the agent would not take them for a message.
    #[serde(default)]
    pub refused_prefixes: Vec<String>,
    /// Appended to a prompt that is a single bare word, which the agent would take for a subcommand.
    #[serde(default)]
    pub bare_word_suffix: String,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of an outer agent that must not reach this one.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Words of a command line with which it does one thing without talking to anybody, and ends.
    #[serde(default)]
    pub headless: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    pub events: Vec<String>,
    pub way: HookWay,
    /// One event's entry in a file; `@event@` and the command's placeholders are filled in, entries are
    /// joined with commas.
    #[serde(default)]
    pub entry: String,
}

/// How hooks are put into an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookWay {
    /// As `@hook_entries@` in one of the profile's files.
    File,
    /// As codex's configuration overrides.
    CodexOverrides,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRule {
    pub name: String,
    pub content: String,
}

/// Keys to press, and how long to wait for the end after each press.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Press {
    pub keys: Vec<String>,
    pub wait_ms: u64,
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("cannot read the agent profile {file}: {message}")]
    Syntax { file: String, message: String },
    #[error("the agent profile {file} has the name {name:?}; it must match the file name")]
    WrongName { file: String, name: String },
}

/// Reads a profile; `file` is only for the error text.
pub fn parse(file: &str, text: &str) -> Result<Profile, ProfileError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let problem = error.message().replace('\n', "; ");
        let message = ConfigError::at(text, start, problem).to_string();
        ProfileError::Syntax { file: file.to_owned(), message }
    })
}

/// Each is read when first asked for, and once.
static BUILTIN: [(&str, &str, OnceLock<Option<Profile>>); 14] = [
    ("claude", include_str!("../agents/claude.toml"), OnceLock::new()),
    ("codex", include_str!("../agents/codex.toml"), OnceLock::new()),
    ("gemini", include_str!("../agents/gemini.toml"), OnceLock::new()),
    ("opencode", include_str!("../agents/opencode.toml"), OnceLock::new()),
    ("copilot", include_str!("../agents/copilot.toml"), OnceLock::new()),
    ("qwen", include_str!("../agents/qwen.toml"), OnceLock::new()),
    ("kimi", include_str!("../agents/kimi.toml"), OnceLock::new()),
    ("aider", include_str!("../agents/aider.toml"), OnceLock::new()),
    ("amp", include_str!("../agents/amp.toml"), OnceLock::new()),
    ("crush", include_str!("../agents/crush.toml"), OnceLock::new()),
    ("cursor", include_str!("../agents/cursor.toml"), OnceLock::new()),
    ("goose", include_str!("../agents/goose.toml"), OnceLock::new()),
    ("agy", include_str!("../agents/agy.toml"), OnceLock::new()),
    (COMMAND, include_str!("../agents/command.toml"), OnceLock::new()),
];

/// Programs of the built-in profiles that are not called as the profile is.
const OTHER_PROGRAMS: [(&str, &str); 2] = [("cursor", "cursor-agent"), (COMMAND, "")];

/// Names of the built-in profiles, agents first.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _, _)| *name)
}

/// Whether a profile of that name ships with dogwatch. The user may have another one of it.
pub fn is_builtin(name: &str) -> bool {
    BUILTIN.iter().any(|(known, _, _)| *known == name)
}

/// The program of a built-in profile, without reading it; empty for plain commands. Whoever looks for agents among
/// the processes asks for all of them.
pub fn builtin_program(name: &str) -> Option<&'static str> {
    let (name, _, _) = BUILTIN.iter().find(|(known, _, _)| *known == name)?;
    let other = OTHER_PROGRAMS.iter().find(|(known, _)| known == name);
    Some(other.map_or(name, |(_, program)| program))
}

/// A profile that ships with dogwatch.
pub fn builtin(name: &str) -> Option<Profile> {
    let (name, text, profile) = BUILTIN.iter().find(|(known, _, _)| *known == name)?;
    profile.get_or_init(|| parse(name, text).ok()).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_are_whole() {
        for (name, text, _) in &BUILTIN {
            let name = *name;
            let profile = parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(profile.name, name);
            assert_eq!(Some(profile.program.as_str()), builtin_program(name));
            assert_eq!(profile.program.is_empty(), name == COMMAND);
            assert_eq!(profile.install.is_empty(), name == COMMAND);
            if let Some(hooks) = &profile.hooks {
                assert!(!hooks.events.is_empty());
                assert_eq!(hooks.way == HookWay::File, hooks.entry.contains("@hook@"), "{name}");
            }
        }
    }

    #[test]
    fn errors_name_file_and_place() {
        let error = parse("mine.toml", "name = \"x\"\ntitel = \"y\"\n").unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains("line 2, column 1: "), "{error}");
    }
}
