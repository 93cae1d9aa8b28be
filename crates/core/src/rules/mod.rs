//! Rules that answer an agent's requests for permission.
//!
//! A request is answered only if every command in it is known for certain and fits a rule. A rule that denies goes before one that asks,
//! and that before one that allows. Everything else is left to a person.

mod pace;
mod patch;
mod pattern;
pub mod shell;
mod within;

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use toml::Spanned;

use crate::config::ConfigError;
use dogwatch_base::glob;
pub use dogwatch_protocol::rules::Answer;
pub use pace::{Held, Pace, Past, may_answer};
use pattern::{CommandPattern, PathPattern};
use within::Inside;

/// A `[[rule]]` as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    pub answer: Spanned<Answer>,
    pub name: Option<String>,
    #[serde(default)]
    agent: OneOrMore,
    #[serde(default)]
    tool: OneOrMore,
    #[serde(default)]
    command: OneOrMore,
    #[serde(default)]
    path: OneOrMore,
    #[serde(default)]
    tags: Vec<String>,
}

/// `"a"` or `["a", "b"]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    #[default]
    None,
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::None => vec![],
            Self::One(one) => vec![one],
            Self::More(all) => all,
        }
    }
}

/// A name with stars in it, as written and read.
type NamePattern = (String, glob::Pattern);

/// A rule, read. What it does not name is as it pleases.
#[derive(Debug, Clone)]
pub struct Rule {
    pub answer: Answer,
    /// Its name, or else where it is written: `rule 3`.
    pub name: String,
    agents: Vec<NamePattern>,
    tools: Vec<NamePattern>,
    commands: Vec<CommandPattern>,
    paths: Vec<PathPattern>,
    tags: Vec<String>,
}

/// Reads the rules of a file.
pub fn read(tables: &[RuleTable], text: &str) -> Result<Vec<Rule>, ConfigError> {
    let rule = |(at, table): (usize, &RuleTable)| {
        let offset = table.answer.span().start;
        Rule::from_table(at + 1, table.clone())
            .map_err(|problem| ConfigError::at(text, offset, problem))
    };
    tables.iter().enumerate().map(rule).collect()
}

impl Rule {
    fn from_table(number: usize, table: RuleTable) -> Result<Self, String> {
        let names = |texts: OneOrMore| {
            texts
                .into_vec()
                .into_iter()
                .map(|text| (text.clone(), glob::Pattern::stars(&text)))
                .collect()
        };
        let commands = table
            .command
            .into_vec()
            .iter()
            .map(|text| CommandPattern::parse(text))
            .collect::<Result<_, _>>()?;
        let paths = table
            .path
            .into_vec()
            .iter()
            .map(|text| PathPattern::parse(text))
            .collect::<Result<_, _>>()?;
        let rule = Self {
            answer: table.answer.into_inner(),
            name: table.name.unwrap_or_else(|| format!("rule {number}")),
            agents: names(table.agent),
            tools: names(table.tool),
            commands,
            paths,
            tags: table.tags,
        };
        let says_what =
            !rule.tools.is_empty() || !rule.commands.is_empty() || !rule.paths.is_empty();
        if rule.answer == Answer::Allow && !says_what {
            return Err("a rule that allows must say what: tool, command or path".to_owned());
        }
        Ok(rule)
    }

    /// What it is about, for people.
    pub fn about(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut part = |name: &str, values: Vec<&str>| {
            if !values.is_empty() {
                parts.push(format!("{name} {}", values.join(", ")));
            }
        };
        part("agent", self.agents.iter().map(|(text, _)| text.as_str()).collect());
        part("tool", self.tools.iter().map(|(text, _)| text.as_str()).collect());
        part("command", self.commands.iter().map(CommandPattern::as_str).collect());
        part("path", self.paths.iter().map(PathPattern::as_str).collect());
        part("tags", self.tags.iter().map(String::as_str).collect());
        if parts.is_empty() { "everything".to_owned() } else { parts.join("; ") }
    }

    fn is_for(&self, request: &Request) -> bool {
        let fits = |patterns: &[NamePattern], text: &str| {
            patterns.is_empty() || patterns.iter().any(|(_, pattern)| pattern.fits(text))
        };
        fits(&self.agents, &request.agent)
            && fits(&self.tools, &request.tool)
            && self.tags.iter().all(|tag| request.tags.contains(tag))
    }

    /// Whether it speaks of all these paths, or of one of them.
    fn has_paths(&self, request: &Request) -> bool {
        let fits =
            |path: &String| self.paths.iter().any(|pattern| pattern.fits(path, &request.project));
        match self.answer {
            _ if self.paths.is_empty() => true,
            Answer::Allow => !request.paths.is_empty() && request.paths.iter().all(fits),
            Answer::Deny | Answer::Ask => request.paths.iter().any(fits),
        }
    }

    fn has_command(&self, command: &Asked) -> bool {
        match self.answer {
            // Whatever it is, but what it is must be certain.
            Answer::Allow if self.commands.is_empty() => !command.inside.is_uncertain,
            _ if self.commands.is_empty() => true,
            Answer::Allow => self.commands.iter().any(|pattern| pattern.fits(&command.words)),
            Answer::Deny | Answer::Ask => {
                self.commands.iter().any(|pattern| command.inside.fits(pattern))
            }
        }
    }
}

/// A command of a line, with what it runs in turn.
struct Asked {
    words: shell::Words,
    inside: Inside,
}

/// What an agent asks permission for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub agent: String,
    pub tags: Vec<String>,
    /// The folder that the session was started in, without links.
    pub project: String,
    pub tool: String,
    /// The line that a shell is to run.
    pub command: Option<String>,
    /// The files that a tool is to touch; for a command, the folder that it runs in. Without links.
    pub paths: Vec<String>,
    /// All that the tool was given, by which the same request is known again.
    pub input: String,
    /// Why no rule answers it, whatever it says.
    pub unanswerable: Option<&'static str>,
}

impl Request {
    /// The same for the same request.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.tool, &self.input].into_iter().chain(&self.paths) {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let mut text = String::new();
        for byte in &hash.finalize()[..8] {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// Tools that ask a person something, which is for no rule to answer. codex: more permissions for all that follows, and keys for a
/// program that runs, whose meaning is up to that program.
const QUESTIONS: [&str; 6] = [
    "AskUserQuestion",
    "ExitPlanMode",
    "EnterPlanMode",
    "request_user_input",
    "request_permissions",
    "write_stdin",
];
/// codex's tool that takes a patch as its `command`.
const PATCHES: &str = "apply_patch";
/// How codex describes a request for a host, beside the command that wants to reach it.
const NETWORK: &str = "network-access ";

/// What a hook's payload asks for. The paths are as the agent writes them; agent, tags and project are the session's, and not in it.
pub fn asked(payload: &Value) -> Option<Request> {
    let tool = payload["tool_name"].as_str()?.to_owned();
    let input = &payload["tool_input"];
    let text = |key: &str| input[key].as_str().map(ToOwned::to_owned);
    let mut request = Request { input: input.to_string(), ..Request::default() };
    if tool == PATCHES {
        let patch = ["command", "input", "patch"].iter().find_map(|key| text(key));
        match patch.as_deref().and_then(patch::named) {
            Some(paths) => request.paths = paths,
            None => request.unanswerable = Some("which files the patch changes is not certain"),
        }
    } else {
        request.command = text("command");
        request.paths =
            ["file_path", "notebook_path", "path"].into_iter().filter_map(text).collect();
        if request.paths.is_empty() && request.command.is_some() {
            request.paths.extend(payload["cwd"].as_str().map(ToOwned::to_owned));
        }
    }
    if text("description").is_some_and(|description| description.starts_with(NETWORK)) {
        request.unanswerable = Some("it asks for access to the network");
    }
    Some(Request { tool, ..request })
}

/// Tools that do nothing but run a command in a shell.
fn runs_a_shell(tool: &str) -> bool {
    matches!(
        tool,
        "Bash" | "Monitor" | "shell" | "exec_command" | "local_shell" | "run_shell_command"
    )
}

/// What the rules answer, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub answer: Answer,
    /// The rules that decided.
    pub rules: Vec<String>,
    pub because: String,
}

impl Decision {
    fn ask(because: impl Into<String>) -> Self {
        Self { answer: Answer::Ask, rules: vec![], because: because.into() }
    }
}

/// Decides about a request.
pub fn decide(rules: &[Rule], request: &Request) -> Decision {
    let rules: Vec<&Rule> = rules.iter().filter(|rule| rule.is_for(request)).collect();
    commands_of(request)
        .and_then(|commands| {
            if let Some(decision) = against(&rules, request, &commands) {
                return Ok(decision);
            }
            allowed(&rules, request, &commands)
        })
        .unwrap_or_else(Decision::ask)
}

/// The commands that a request is about; none if it is about something else. Or why it is left to a person.
fn commands_of(request: &Request) -> Result<Vec<Asked>, String> {
    if QUESTIONS.contains(&request.tool.as_str()) {
        return Err(format!("{} is a question to a person", request.tool));
    }
    if let Some(because) = request.unanswerable {
        return Err(because.to_owned());
    }
    let Some(line) = &request.command else {
        let unsaid = "the agent does not say which command".to_owned();
        return if runs_a_shell(&request.tool) { Err(unsaid) } else { Ok(vec![]) };
    };
    let commands = shell::commands(line)
        .map_err(|uncertain| format!("what the command runs is not certain: {uncertain}"))?;
    let asked = |words: shell::Words| Asked { inside: Inside::of(&words), words };
    let commands: Vec<Asked> = commands.into_iter().map(asked).collect();
    if commands.iter().any(|command| command.inside.applies_patch()) {
        return Err("which files the patch changes is not certain".to_owned());
    }
    Ok(commands)
}

fn is_spoken_of(rule: &Rule, commands: &[Asked]) -> bool {
    let of_none = commands.is_empty() && rule.commands.is_empty();
    of_none || commands.iter().any(|command| rule.has_command(command))
}

/// What the rules that deny or ask say; `None` if none of them speaks of the request.
fn against(rules: &[&Rule], request: &Request, commands: &[Asked]) -> Option<Decision> {
    let against: Vec<&&Rule> = rules.iter().filter(|rule| rule.answer != Answer::Allow).collect();
    let near = || against.iter().filter(|rule| rule.has_paths(request));
    for answer in [Answer::Deny, Answer::Ask] {
        let mut of_answer = near().filter(|rule| rule.answer == answer);
        if let Some(rule) = of_answer.find(|rule| is_spoken_of(rule, commands)) {
            let because = format!("{} says {}", rule.name, answer.as_str());
            return Some(Decision { answer, rules: vec![rule.name.clone()], because });
        }
    }
    let uncertain = commands.iter().find(|command| command.inside.is_uncertain);
    if let Some(command) = uncertain
        && let Some(rule) = near().find(|rule| !rule.commands.is_empty())
    {
        let line = command.words.join(" ");
        let because = format!(
            "what `{line}` runs is not certain, and {} says {}",
            rule.name,
            rule.answer.as_str()
        );
        return Some(Decision::ask(because));
    }
    let elsewhere = against.iter().find(|rule| {
        !rule.paths.is_empty() && !rule.commands.is_empty() && is_spoken_of(rule, commands)
    });
    if change_folder(commands)
        && let Some(rule) = elsewhere
    {
        return Some(Decision::ask(format!("{}, and {} has a path", FOLDER_CHANGES, rule.name)));
    }
    None
}

const FOLDER_CHANGES: &str = "the line changes its folder";

fn change_folder(commands: &[Asked]) -> bool {
    commands.iter().any(|command| command.inside.changes_folder())
}

/// Whether every command is allowed; or why not.
fn allowed(rules: &[&Rule], request: &Request, commands: &[Asked]) -> Result<Decision, String> {
    let moves = change_folder(commands);
    let near = rules.iter().filter(|rule| rule.answer == Answer::Allow && rule.has_paths(request));
    let allows: Vec<&&Rule> = near.filter(|rule| !moves || rule.paths.is_empty()).collect();
    let mut by: Vec<String> = Vec::new();
    if commands.is_empty() {
        let rule = allows.iter().find(|rule| rule.commands.is_empty());
        by.push(rule.ok_or("no rule speaks of it")?.name.clone());
    }
    for command in commands {
        let line = command.words.join(" ");
        let rule = allows.iter().find(|rule| rule.has_command(command)).ok_or_else(|| {
            if moves {
                format!("{FOLDER_CHANGES}, and no rule without a path allows `{line}`")
            } else if command.inside.is_uncertain {
                format!("what `{line}` runs is not certain, and no rule allows that command")
            } else {
                format!("no rule allows `{line}`")
            }
        })?;
        if !by.contains(&rule.name) {
            by.push(rule.name.clone());
        }
    }
    let because = format!("allowed by {}", by.join(", "));
    Ok(Decision { answer: Answer::Allow, rules: by, because })
}

#[cfg(test)]
mod tests;
