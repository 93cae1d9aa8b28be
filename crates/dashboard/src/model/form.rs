//! The form for a new session.

use std::path::Path;

use super::Around;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Agent,
    Folder,
    Name,
    Worktree,
    Prompt,
}

impl Field {
    pub const ALL: [Self; 5] =
        [Self::Agent, Self::Folder, Self::Name, Self::Worktree, Self::Prompt];

    pub fn title(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Folder => "folder",
            Self::Name => "name",
            Self::Worktree => "worktree",
            Self::Prompt => "prompt",
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            Self::Agent | Self::Folder => "Tab completes",
            Self::Name => "empty: dogwatch chooses one",
            Self::Worktree => {
                "a branch name: work in a git worktree of its own; empty: in the folder"
            }
            Self::Prompt => "empty: the agent waits at its prompt",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    pub values: [String; 5],
    pub at: usize,
}

impl Form {
    pub fn new(around: &Around, folder: &str) -> Self {
        let agent = around.agents.first().cloned().unwrap_or_default();
        let values = [agent, folder.to_owned(), String::new(), String::new(), String::new()];
        Self { values, at: 4 }
    }

    pub fn field(&self) -> Field {
        Field::ALL[self.at]
    }

    pub fn value(&self, field: Field) -> &str {
        let at = Field::ALL.iter().position(|one| *one == field).unwrap_or(0);
        self.values[at].trim()
    }

    pub fn type_in(&mut self, c: char) {
        if !c.is_control() {
            self.values[self.at].push(c);
        }
    }

    /// Of the prompt; no other field has lines.
    pub fn new_line(&mut self) {
        if self.field() == Field::Prompt {
            self.values[self.at].push('\n');
        }
    }

    /// Lines stay lines in the prompt, and never run together elsewhere.
    pub fn paste(&mut self, text: &str) {
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        for c in lines.trim_end_matches('\n').chars() {
            match (c, self.field()) {
                ('\n', Field::Prompt) => self.new_line(),
                ('\n' | '\t', _) => self.type_in(' '),
                (c, _) => self.type_in(c),
            }
        }
    }

    pub fn erase(&mut self) {
        self.values[self.at].pop();
    }

    pub fn move_by(&mut self, down: bool) {
        let count = Field::ALL.len();
        self.at = if down { (self.at + 1) % count } else { (self.at + count - 1) % count };
    }

    /// Completes the agent to the next one that begins like what is written; true if there was one. The folder needs the file
    /// system, and is completed by the caller.
    pub fn complete_agent(&mut self, agents: &[String]) -> bool {
        let typed = self.values[0].clone();
        let here = agents.iter().position(|agent| *agent == typed);
        let next = match here {
            Some(at) => agents.get((at + 1) % agents.len()),
            None => agents.iter().find(|agent| agent.starts_with(&typed)),
        };
        let Some(next) = next else { return false };
        self.values[0].clone_from(next);
        true
    }

    /// The words of `dogwatch spawn` that start it.
    pub fn words(&self, home: Option<&Path>) -> Vec<String> {
        let mut words = vec!["spawn".to_owned(), self.value(Field::Agent).to_owned()];
        for (option, field) in
            [("--cwd", Field::Folder), ("--name", Field::Name), ("--worktree", Field::Worktree)]
        {
            let value = match (self.value(field).strip_prefix("~/"), home) {
                (Some(rest), Some(home)) if field == Field::Folder => {
                    home.join(rest).display().to_string()
                }
                _ if field == Field::Folder && self.value(field) == "~" => {
                    home.map(|home| home.display().to_string()).unwrap_or_default()
                }
                _ => self.value(field).to_owned(),
            };
            if !value.is_empty() {
                words.push(format!("{option}={value}"));
            }
        }
        let prompt = self.value(Field::Prompt);
        if !prompt.is_empty() {
            words.push(format!("--prompt={prompt}"));
        }
        words
    }
}
