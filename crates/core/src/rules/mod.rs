//! Rules that answer an agent's requests for permission.
//!
//! A request is answered only if every command in it is known for certain and fits a rule. A rule that denies goes before one that asks,
//! and that before one that allows. Everything else is left to a person.

mod pace;
mod pattern;
pub mod shell;

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

    fn has_command(&self, command: &[String]) -> bool {
        match self.answer {
            _ if self.commands.is_empty() => true,
            Answer::Allow => self.commands.iter().any(|pattern| pattern.fits(command)),
            Answer::Deny | Answer::Ask => {
                self.commands.iter().any(|pattern| pattern.fits_within(command))
            }
        }
    }
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
}

impl Request {
    /// The same for the same request.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let command = self.command.as_ref();
        for part in [Some(&self.tool), command].into_iter().flatten().chain(&self.paths) {
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

/// Tools that ask a person something, which is for no rule to answer.
const QUESTIONS: [&str; 4] =
    ["AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "request_user_input"];

/// What a hook's payload asks for: the tool, its line for a shell, and the paths as the agent writes them.
pub fn asked(payload: &Value) -> Option<(String, Option<String>, Vec<String>)> {
    let tool = payload["tool_name"].as_str()?.to_owned();
    let input = &payload["tool_input"];
    let command = match &input["command"] {
        Value::String(line) => Some(line.clone()),
        _ => None,
    };
    let files =
        ["file_path", "notebook_path", "path"].iter().filter_map(|key| input[*key].as_str());
    let mut paths: Vec<String> = files.map(ToOwned::to_owned).collect();
    if paths.is_empty() && command.is_some() {
        paths.extend(payload["cwd"].as_str().map(ToOwned::to_owned));
    }
    Some((tool, command, paths))
}

/// Whether the tool runs its `command` in a shell. Of others, `command` may be anything: codex gives a patch.
fn runs_a_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "shell" | "exec_command" | "local_shell" | "run_shell_command")
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
    if QUESTIONS.contains(&request.tool.as_str()) {
        return Decision::ask(format!("{} is a question to a person", request.tool));
    }
    let commands = match &request.command {
        Some(line) if runs_a_shell(&request.tool) => match shell::commands(line) {
            Ok(commands) => commands,
            Err(uncertain) => {
                return Decision::ask(format!("what the command runs is not certain: {uncertain}"));
            }
        },
        None if runs_a_shell(&request.tool) => {
            return Decision::ask("the agent does not say which command");
        }
        // Not a shell's: nothing to compare command patterns with.
        _ => vec![],
    };
    let near: Vec<&Rule> =
        rules.iter().filter(|rule| rule.is_for(request) && rule.has_paths(request)).collect();
    let speaks = |rule: &Rule| {
        let of_none = commands.is_empty() && rule.commands.is_empty();
        of_none || commands.iter().any(|command| rule.has_command(command))
    };
    for answer in [Answer::Deny, Answer::Ask] {
        if let Some(rule) = near.iter().find(|rule| rule.answer == answer && speaks(rule)) {
            let because = format!("{} says {}", rule.name, answer.as_str());
            return Decision { answer, rules: vec![rule.name.clone()], because };
        }
    }
    let allows: Vec<&&Rule> = near.iter().filter(|rule| rule.answer == Answer::Allow).collect();
    let mut by: Vec<String> = Vec::new();
    if commands.is_empty() {
        let Some(rule) = allows.iter().find(|rule| rule.commands.is_empty()) else {
            return Decision::ask("no rule speaks of it");
        };
        by.push(rule.name.clone());
    }
    for command in &commands {
        let Some(rule) = allows.iter().find(|rule| rule.has_command(command)) else {
            return Decision::ask(format!("no rule allows `{}`", command.join(" ")));
        };
        if !by.contains(&rule.name) {
            by.push(rule.name.clone());
        }
    }
    let because = format!("allowed by {}", by.join(", "));
    Decision { answer: Answer::Allow, rules: by, because }
}

#[cfg(test)]
mod tests;
