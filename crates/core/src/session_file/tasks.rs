//! The tasks: a heading each, our notes directly below it, then the text.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::markdown::{self, Heading, Outside};
use super::{FileProblem, SessionFile};

const TASKS: &str = "Tasks";
/// Separator between the parts of a heading; people also use others.
const BETWEEN: &str = " · ";
const ALSO_BETWEEN: [char; 6] = ['·', '•', '|', '—', '–', ':'];

/// The number of a task, as in `TASK-007`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TASK-{:03}", self.0)
    }
}

impl FromStr for TaskId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let digits = match text.get(..5) {
            Some(start) if start.eq_ignore_ascii_case("task-") => &text[5..],
            _ => text,
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_number { digits.parse().map(Self).map_err(|_| ()) } else { Err(()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    InProgress,
    Done,
}

impl TaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Done => "done",
        }
    }

    pub fn of(text: &str) -> Option<Self> {
        match markdown::key(text).as_str() {
            "pending" => Some(Self::Pending),
            "inprogress" => Some(Self::InProgress),
            "done" => Some(Self::Done),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    /// `None` for a person's own word, such as `blocked`: then it is not claimed.
    pub status: Option<TaskStatus>,
    pub role: String,
    /// The pane that holds it, or did last.
    pub pane: Option<String>,
    pub result: Option<String>,
    pub text: String,
}

impl Task {
    /// Its first line.
    pub fn title(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

/// A task's place in the file.
struct Place {
    heading: usize,
    /// Bytes of the status in the heading's line.
    status: Range<usize>,
    /// Lines with our notes.
    notes: Range<usize>,
    task: Task,
}

impl SessionFile {
    /// All tasks, in the order of the file.
    pub fn tasks(&self) -> Vec<Task> {
        self.places().into_iter().map(|place| place.task).collect()
    }

    pub fn task(&self, id: TaskId) -> Option<Task> {
        self.tasks().into_iter().find(|task| task.id == id)
    }

    /// Adds a task. Its number is above all in the file and above `known`, so that no number is used twice even if a person
    /// removed a task.
    pub fn add_task(&mut self, role: &str, text: &str, known: u32) -> TaskId {
        let id = TaskId(self.highest().max(known) + 1);
        let section = self.task_section();
        let used = section.clone().rfind(|at| !self.lines[*at].trim().is_empty());
        let at = used.map_or(section.start, |at| at + 1);
        let pending = TaskStatus::Pending.as_str();
        let heading = [format!("### {id}{BETWEEN}{pending}{BETWEEN}{role}"), String::new()];
        let next_is_apart = self.lines.get(at).is_none_or(|line| line.trim().is_empty());
        let gap = (!next_is_apart).then(String::new);
        let lines = [String::new()].into_iter().chain(heading).chain(safe_text(text)).chain(gap);
        self.insert(at, lines);
        id
    }

    /// Changes a task's status, and nothing else of its heading.
    pub fn mark_task(&mut self, id: TaskId, status: TaskStatus) -> Result<(), FileProblem> {
        let place = self.place(id)?;
        if place.task.status != Some(status) {
            self.lines[place.heading].replace_range(place.status, status.as_str());
        }
        Ok(())
    }

    /// Writes a note below a task's heading, or removes it.
    pub(super) fn note_task(
        &mut self,
        id: TaskId,
        key: &str,
        value: Option<&str>,
    ) -> Result<(), FileProblem> {
        let place = self.place(id)?;
        let has_key = |line: &String| note(line).is_some_and(|(k, _)| k == key);
        let at = place.notes.clone().find(|at| has_key(&self.lines[*at]));
        let value = value.map(|value| format!("- {key}: {}", one_line(value)));
        match (at, value) {
            (Some(at), Some(line)) => {
                let end = self.line_end();
                self.lines[at] = format!("{line}{end}");
            }
            // A person may have written it more than once.
            (Some(_), None) => {
                for at in place.notes.rev() {
                    if has_key(&self.lines[at]) {
                        self.lines.remove(at);
                    }
                }
            }
            (None, Some(line)) if place.notes.is_empty() => {
                // Text right below a list would be parsed as part of it.
                let next = self.lines.get(place.heading + 1);
                let gap = next.filter(|next| !next.trim().is_empty()).map(|_| String::new());
                self.insert(place.heading + 1, [String::new(), line].into_iter().chain(gap));
            }
            (None, Some(line)) => self.insert(place.notes.end, [line]),
            (None, None) => {}
        }
        Ok(())
    }

    pub(super) fn task_section(&mut self) -> Range<usize> {
        if self.section(TASKS).is_none() {
            self.append_section(TASKS, &[]);
        }
        let end = self.lines.len();
        self.section(TASKS).unwrap_or(end..end)
    }

    fn place(&self, id: TaskId) -> Result<Place, FileProblem> {
        let found = self.places().into_iter().find(|place| place.task.id == id);
        found.ok_or(FileProblem::NoSuchTask { id })
    }

    fn places(&self) -> Vec<Place> {
        let headings = self.headings();
        (0..headings.len()).filter_map(|at| self.place_at(&headings, at)).collect()
    }

    fn place_at(&self, headings: &[Heading], at: usize) -> Option<Place> {
        let line = headings[at].line;
        let (id, status, role) = parts(&self.lines[line])?;
        let body = markdown::section(headings, at, self.lines.len());
        let notes = self.notes(body.clone());
        let said = |key: &str| {
            let mut found = notes.clone().filter_map(|at| note(&self.lines[at]));
            found.find(|(k, _)| *k == key).map(|(_, value)| value.to_owned())
        };
        let text_start = if notes.is_empty() { body.start } else { notes.end };
        Some(Place {
            heading: line,
            task: Task {
                id,
                status: TaskStatus::of(&self.lines[line][status.clone()]),
                role: role.to_lowercase(),
                pane: said(PANE),
                result: said(RESULT),
                text: plain_text(&self.lines[text_start..body.end]),
            },
            status,
            notes,
        })
    }

    /// Our notes: the list right below the heading, if it is one.
    fn notes(&self, body: Range<usize>) -> Range<usize> {
        let first = body.clone().find(|at| !self.lines[*at].trim().is_empty());
        let Some(first) = first else { return body.start..body.start };
        let end = (first..body.end).find(|at| note(&self.lines[*at]).is_none()).unwrap_or(body.end);
        first..end
    }

    /// The highest number of any task, also in comments.
    fn highest(&self) -> u32 {
        let numbers = self.lines.iter().filter_map(|line| {
            let (_, after) = line.split_once("TASK-")?;
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        // A larger number is a typing error.
        numbers.filter(|number: &u32| *number < 1_000_000).max().unwrap_or(0)
    }
}

pub(super) const PANE: &str = "Pane";
pub(super) const RESULT: &str = "Result";

/// Key and value of one of our notes.
fn note(line: &str) -> Option<(&'static str, &str)> {
    let rest = line.trim().strip_prefix(['-', '*'])?;
    let (key, value) = rest.split_once(':')?;
    let key = [PANE, RESULT]
        .into_iter()
        .find(|k| k.eq_ignore_ascii_case(key.trim().trim_matches('*')))?;
    Some((key, value.trim().trim_matches('*').trim()))
}

/// Number, position of the status, and role of a task's heading.
fn parts(line: &str) -> Option<(TaskId, Range<usize>, &str)> {
    let (_, text) = markdown::heading(line)?;
    let start = line.find(text)?;
    let mut pieces = Vec::new();
    let mut from = start;
    for (at, c) in line[start..start + text.len()].char_indices() {
        if ALSO_BETWEEN.contains(&c) {
            pieces.push(from..start + at);
            from = start + at + c.len_utf8();
        }
    }
    pieces.push(from..start + text.len());
    let trimmed = |piece: &Range<usize>| {
        let text = &line[piece.clone()];
        let begin = piece.start + (text.len() - text.trim_start().len());
        begin..begin + text.trim().len()
    };
    let mut pieces = pieces.iter().map(trimmed).filter(|piece| !piece.is_empty());
    let first = &line[pieces.next()?];
    let id = first
        .get(..5)
        .filter(|start| start.eq_ignore_ascii_case("task-"))
        .and(first.parse().ok())?;
    let (status, role) = (pieces.next()?, pieces.next()?);
    // Some people write the role before the status.
    if TaskStatus::of(&line[status.clone()]).is_none()
        && TaskStatus::of(&line[role.clone()]).is_some()
    {
        return Some((id, role, &line[status]));
    }
    Some((id, status, &line[role]))
}

/// Escapes lines that would begin or hide a section, so that the text stays within its task.
fn safe_text(text: &str) -> Vec<String> {
    let mut outside = Outside::default();
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim_end().lines() {
        let line = line.trim_end_matches('\r');
        let is_first = lines.iter().all(|line| line.trim().is_empty());
        let begins = markdown::heading(line).is_some() || (is_first && note(line).is_some());
        let line = line.replace("<!--", "&lt;!--");
        let line = if outside.is_plain(&line) && begins {
            let indent = line.len() - line.trim_start().len();
            format!("{}\\{}", &line[..indent], &line[indent..])
        } else {
            line
        };
        lines.push(line);
    }
    lines.extend(outside.closing());
    lines
}

/// A task's text without that escaping.
fn plain_text(lines: &[String]) -> String {
    let plain = |line: &String| {
        let line = line.trim_end_matches(['\n', '\r']);
        let indent = line.len() - line.trim_start().len();
        match line[indent..].strip_prefix('\\') {
            Some(rest) if rest.starts_with(['#', '-', '*']) => format!("{}{rest}", &line[..indent]),
            _ => line.replace("&lt;!--", "<!--"),
        }
    };
    let text: Vec<String> = lines.iter().map(plain).collect();
    text.join("\n").trim_matches('\n').trim_end().to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
