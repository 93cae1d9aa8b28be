//! One session as the dashboard shows it.

use std::path::{Path, PathBuf};

use dogwatch_core::attention::{Place, is_seen};
use dogwatch_core::status::{agrees, detail};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{Reason, Role, Source, Status, Verdict};
use jiff::Timestamp;

use crate::text;

/// A session, its verdict, and what grouping and filtering need.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub id: SessionId,
    pub name: String,
    /// What a person calls it.
    pub title: Option<String>,
    pub agent: String,
    pub verdict: Verdict,
    pub notes: Vec<String>,
    /// The numbers that the options of the open dialog have on the screen.
    pub numbers: Vec<usize>,
    pub folder: PathBuf,
    pub project: PathBuf,
    pub tags: Vec<String>,
    pub role: Option<String>,
    /// The story that it works on, and the run.
    pub story: Option<String>,
    pub run: Option<String>,
    pub created: Timestamp,
    /// tmux has its pane.
    pub has_pane: bool,
    pub is_managed: bool,
    /// A tmux client shows it.
    pub is_attached: bool,
}

impl Row {
    pub fn status(&self) -> &Status {
        &self.verdict.status
    }

    /// What the list calls it.
    pub fn called(&self) -> String {
        text::one_line(self.title.as_deref().unwrap_or(&self.name))
    }

    /// Whether a person has looked at it since its status began.
    pub fn is_seen(&self, looked_at: Option<Timestamp>) -> bool {
        is_seen(self.is_attached, looked_at, self.verdict.since)
    }

    /// The options of the open dialog with their numbers.
    pub fn options(&self) -> Vec<(usize, String)> {
        let Status::Waiting { options, .. } = self.status() else { return Vec::new() };
        if self.numbers.len() == options.len() {
            self.numbers.iter().copied().zip(options.iter().cloned()).collect()
        } else {
            (1..).zip(options.iter().cloned()).collect()
        }
    }

    /// The id of the dialog that is open, if it was seen on the screen.
    pub fn dialog(&self) -> Option<&str> {
        match self.status() {
            Status::Waiting { dialog, .. } => dialog.as_deref(),
            _ => None,
        }
    }

    /// The folder with the home directory shortened.
    pub fn folder_text(&self, home: Option<&Path>) -> String {
        short_path(&self.folder, home)
    }

    /// What it is doing, on one line.
    pub fn what(&self, is_seen: bool) -> String {
        let what = text::one_line(&what(self.status()));
        let is_new = Place::of(self.status(), is_seen) == Place::Unseen;
        if is_new { format!("{what}  (not looked at yet)") } else { what }
    }

    /// The question alone, for views without room for its kind.
    pub fn question(&self) -> Option<String> {
        match self.status() {
            Status::Waiting { question: Some(question), .. } => Some(text::one_line(question)),
            Status::Waiting { r#for, .. } => Some(r#for.as_str().to_owned()),
            _ => None,
        }
    }

    /// Which sources say so, and which disagree: `asserted by: own word, hook; screen agrees`.
    pub fn evidence(&self) -> String {
        let named = |wanted: &dyn Fn(&Reason) -> bool| -> Vec<String> {
            let all = self.verdict.reasons.iter().filter(|reason| wanted(reason));
            all.map(|reason| reason.source.as_str().replace('_', " ")).collect()
        };
        let agrees = |reason: &Reason| agrees(self.status(), reason);
        let is_screen = |reason: &Reason| reason.source == Source::Screen;
        let mut by = named(&|reason| reason.role == Role::Decided);
        by.extend(named(&|reason| agrees(reason) && !is_screen(reason)));
        let by = if by.is_empty() { String::new() } else { format!(" by: {}", by.join(", ")) };
        let screen = named(&|reason| agrees(reason) && is_screen(reason));
        let screen = if screen.is_empty() { "" } else { "; screen agrees" };
        let against = match named(&|reason| reason.role == Role::Disagrees).as_slice() {
            [] => String::new(),
            [one] => format!("; {one} disagrees"),
            several => format!("; {} disagree", several.join(", ")),
        };
        format!("{}{by}{screen}{against}", self.verdict.basis.as_str())
    }

    /// What a filter is compared with.
    pub fn haystack(&self, home: Option<&Path>) -> String {
        let status = self.status();
        let mut all = vec![
            self.name.clone(),
            self.agent.clone(),
            status.as_str().to_owned(),
            self.folder_text(home),
            what(status),
        ];
        all.extend(self.tags.iter().cloned());
        all.extend(self.role.clone());
        all.extend([&self.title, &self.story, &self.run].into_iter().flatten().cloned());
        all.join(" ").to_lowercase()
    }
}

/// The path with the home directory as `~`.
pub fn short_path(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => text::one_line(&format!("~/{}", rest.display())),
        None => text::one_line(&path.display().to_string()),
    }
}

/// The details of a status, in words that fit a list.
pub fn what(status: &Status) -> String {
    match status {
        Status::Limited { until: Some(until), .. } => format!("resets {until}"),
        Status::Stuck { .. } => "no sign of life".to_owned(),
        other => detail(other),
    }
}

/// The sign of a place in the queue. Never colour alone.
pub fn sign(place: Place, status: &Status) -> char {
    match place {
        Place::Answer => '!',
        Place::Trouble => 'x',
        Place::Limit => '%',
        Place::Unseen => '+',
        Place::Working => '*',
        Place::Rest if matches!(status, Status::Unknown { .. }) => '?',
        Place::Idle | Place::Rest => '.',
    }
}
