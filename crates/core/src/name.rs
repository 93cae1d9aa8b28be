//! Session names: `sa-{slug}-{YYMMDD}-{HHMMSS}-e{epic}-s{story}-{step}[-r{cycle}]` for story steps, own
//! names for the rest.
//!
//! A name is for people. Identity is the session id and, in tmux, the pane id: two projects may
//! share a slug and still never see each other's sessions.

use std::fmt;
use std::path::Path;

use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

pub use dogwatch_protocol::session::StoryStep;

/// Longest name accepted, in bytes; the published story tools accept no longer one either.
pub const MAX_LEN: usize = 160;
/// Names below this prefix are dogwatch's own sessions, hidden from every list.
pub const RESERVED_PREFIX: &str = "_dogwatch";

/// A name that tmux keeps exactly as it is and that needs no quoting anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionName(String);

/// Why a text cannot be a session name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a session name must not be empty")]
    Empty,
    #[error("the session name has {len} characters; at most {MAX_LEN} are allowed")]
    TooLong { len: usize },
    #[error(
        "the session name {name:?} contains {found:?}; allowed are ASCII letters, digits, '-', '_' and '.'"
    )]
    Forbidden { name: String, found: char },
    #[error("the session name {name:?} starts with '-' and would be read as an option")]
    LeadingDash { name: String },
    #[error("session names starting with \"{RESERVED_PREFIX}\" are reserved for dogwatch")]
    Reserved,
}

impl SessionName {
    /// Takes a person's choice. Dots become dashes, because tmux would turn them into something else.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if let Some(found) = text.chars().find(|&c| !allowed(c)) {
            return Err(NameError::Forbidden { name: text.to_owned(), found });
        }
        if text.len() > MAX_LEN {
            return Err(NameError::TooLong { len: text.len() });
        }
        let name = text.replace('.', "-");
        if name.starts_with('-') {
            return Err(NameError::LeadingDash { name: text.to_owned() });
        }
        if name.starts_with(RESERVED_PREFIX) {
            return Err(NameError::Reserved);
        }
        Ok(Self(name))
    }

    /// The same name for the `n`th session that wants it in the same second; the first keeps it plain.
    pub fn numbered(&self, n: u32) -> Result<Self, NameError> {
        if n <= 1 { Ok(self.clone()) } else { Self::new(&format!("{}-n{n}", self.0)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Name of the session that runs `at` this step, started at `now` (local time).
pub fn story_name(project: &Path, at: &StoryStep, now: DateTime) -> Result<SessionName, NameError> {
    SessionName::new(&story_text(project, at, now))
}

/// The same as text, which need not be a name that a session may have.
pub fn story_text(project: &Path, at: &StoryStep, now: DateTime) -> String {
    let cycle = at.cycle.as_ref().map(|c| format!("-r{c}")).unwrap_or_default();
    format!(
        "sa-{slug}-{stamp}-e{epic}-s{story}-{step}{cycle}",
        slug = slug(project),
        stamp = now.strftime("%y%m%d-%H%M%S"),
        epic = at.epic,
        story = at.story,
        step = at.step,
    )
}

/// Name of a session that was given none: agent and time.
pub fn plain_name(project: &Path, agent: &str, now: DateTime) -> Result<SessionName, NameError> {
    let stamp = now.strftime("%y%m%d-%H%M%S");
    SessionName::new(&format!("{}-{agent}-{stamp}", slug(project)))
}

/// Name of a member of a team that was given none.
pub fn role_name(project: &Path, role: &str) -> Result<SessionName, NameError> {
    SessionName::new(&format!("{}-{role}", slug(project)))
}

/// Eight letters that stand for a project in session names.
pub fn slug(project: &Path) -> String {
    let last = project.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let slug: String = last.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    if slug.is_empty() { "project".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn step(step: &str, epic: &str, story: &str, cycle: Option<&str>) -> StoryStep {
        StoryStep {
            step: step.into(),
            epic: epic.into(),
            story: story.into(),
            cycle: cycle.map(Into::into),
        }
    }

    #[test]
    fn story_names() {
        let now = date(2026, 11, 15).at(8, 13, 18, 0);
        let table = [
            (
                "/srv/my-awesome-project",
                step("dev", "6", "6.2", None),
                "sa-myawesom-261115-081318-e6-s6-2-dev",
            ),
            (
                "/srv/proj1",
                step("review", "1", "1.2", Some("3")),
                "sa-proj1-261115-081318-e1-s1-2-review-r3",
            ),
            ("/srv/proj1", step("retro", "", "1", None), "sa-proj1-261115-081318-e-s1-retro"),
            ("/srv/___", step("dev", "1", "1.1", None), "sa-project-261115-081318-e1-s1-1-dev"),
            ("/", step("dev", "1", "1.1", None), "sa-project-261115-081318-e1-s1-1-dev"),
            (
                "/srv/Ünï Çode 9",
                step("dev", "1", "1.1", None),
                "sa-node9-261115-081318-e1-s1-1-dev",
            ),
        ];
        for (root, at, want) in table {
            assert_eq!(story_name(Path::new(root), &at, now).unwrap().as_str(), want);
        }
    }

    #[test]
    fn names_of_people() {
        assert_eq!(SessionName::new("a.b-C_9").unwrap().as_str(), "a-b-C_9");
        assert_eq!(SessionName::new(""), Err(NameError::Empty));
        assert_eq!(SessionName::new(&"x".repeat(161)), Err(NameError::TooLong { len: 161 }));
        for (bad, found) in [("a b", ' '), ("a:b", ':'), ("é", 'é'), ("#{pid}", '#'), ("a\n", '\n')]
        {
            assert_eq!(
                SessionName::new(bad),
                Err(NameError::Forbidden { name: bad.into(), found }),
            );
        }
        assert!(matches!(SessionName::new("-x"), Err(NameError::LeadingDash { .. })));
        assert!(matches!(SessionName::new(".x"), Err(NameError::LeadingDash { .. })));
        assert_eq!(SessionName::new("_dogwatch-7"), Err(NameError::Reserved));
    }

    #[test]
    fn same_second() {
        let name = SessionName::new("sa-x-1").unwrap();
        assert_eq!(name.numbered(1).unwrap().as_str(), "sa-x-1");
        assert_eq!(name.numbered(50).unwrap().as_str(), "sa-x-1-n50");
    }
}
