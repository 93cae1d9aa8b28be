//! The session file of a team: a Markdown file that people and agents read, and that people also edit.
//!
//! It is kept as lines with their line ends. Reading finds the known parts (two tables and the tasks) wherever they are; an edit
//! changes only its cell or line. So everything a person has written stays byte for byte: other
//! sections, further columns, comments, order, spacing.
//!
//! ```markdown
//! ## Active Agents
//!
//! | Pane | Session | Window | Role | Status | CWD | Name | Name Source | Conversation ID |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | %31 | work | @2 | dev | active | /home/me/p | dev-agent | spawner | 6f1c… |
//!
//! ## Tasks
//!
//! ### TASK-001 · in-progress · dev
//!
//! - Pane: %31
//!
//! Write the parser.
//!
//! ## Pane Lifecycle
//!
//! | Pane | Status | Report-back sent | Session ID saved | Task marked done | Ready-to-close set |
//! | --- | --- | --- | --- | --- | --- |
//! | %31 | active | ☐ | ☑ | ☐ | ☐ |
//! ```

mod boxes;
mod markdown;
mod moves;
mod rows;
mod tasks;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use boxes::Boxes;
pub use moves::{Claimed, Missing, NoTask};
pub use rows::{AgentRow, PaneRow, PaneStatus};
pub use tasks::{Task, TaskId, TaskStatus};

use markdown::Heading;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    lines: Vec<String>,
}

/// A part of the file that is not usable as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("line {line}: a code block or comment is never closed")]
    Unclosed { line: usize },
    #[error("the table under \"{section}\" has no column \"Pane\"")]
    NoPaneColumn { section: &'static str },
    #[error("no task {id}")]
    NoSuchTask { id: TaskId },
}

const HEAD: &str = "\
# Agent sessions

Kept by dogwatch, for people and agents to read. People may edit it at any time; agents call `dogwatch agent` and `dogwatch task`.
";

impl SessionFile {
    pub fn parse(text: &str) -> Self {
        Self { lines: text.split_inclusive('\n').map(ToOwned::to_owned).collect() }
    }

    /// A problem that hides parts of the file; a person may be in the middle of an edit.
    pub fn check(&self) -> Result<(), FileProblem> {
        let mut outside = markdown::Outside::default();
        let mut opened = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let was_inside = outside.is_inside();
            outside.is_plain(line);
            if !was_inside {
                opened = at + 1;
            }
        }
        if outside.is_inside() { Err(FileProblem::Unclosed { line: opened }) } else { Ok(()) }
    }

    /// A new file with all parts, empty.
    pub fn new() -> Self {
        let mut file = Self::parse(HEAD);
        file.agent_table();
        file.task_section();
        file.pane_table();
        file
    }

    pub fn render(&self) -> String {
        self.lines.concat()
    }

    fn headings(&self) -> Vec<Heading> {
        markdown::headings(&self.lines)
    }

    /// The lines of the section with this title.
    fn section(&self, title: &str) -> Option<Range<usize>> {
        let headings = self.headings();
        let wanted = markdown::key(title);
        // "Tasks (sprint 3)" also counts; "Task force" does not.
        let is_meant = |heading: &Heading| markdown::key(&heading.text).starts_with(&wanted);
        let at = headings.iter().position(is_meant)?;
        Some(markdown::section(&headings, at, self.lines.len()))
    }

    /// The line end of this file.
    fn line_end(&self) -> &'static str {
        let is_dos = self.lines.first().is_some_and(|line| line.ends_with("\r\n"));
        if is_dos { "\r\n" } else { "\n" }
    }

    /// Inserts lines before this line number.
    fn insert(&mut self, at: usize, lines: impl IntoIterator<Item = String>) {
        let end = self.line_end();
        if let Some(before) = at.checked_sub(1).and_then(|at| self.lines.get_mut(at))
            && !before.ends_with('\n')
        {
            before.push_str(end);
        }
        let new: Vec<String> = lines.into_iter().map(|line| format!("{line}{end}")).collect();
        self.lines.splice(at..at, new);
    }

    /// Appends a section to the file.
    fn append_section(&mut self, title: &str, lines: &[String]) {
        let is_apart = self.lines.last().is_none_or(|line| line.trim().is_empty());
        let gap = (!is_apart).then(String::new);
        let heading = [format!("## {title}"), String::new()];
        self.insert(self.lines.len(), gap.into_iter().chain(heading).chain(lines.iter().cloned()));
    }
}

impl Default for SessionFile {
    fn default() -> Self {
        Self::new()
    }
}
