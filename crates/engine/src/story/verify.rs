//! Has a step done what it is for? Its files say.

use serde_json::{Map, Value};

use super::Project;

/// What is to be verified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// `create`, `dev`, `auto`, `review` or `retro`.
    pub step: &'a str,
    /// A story's id, prefix or key; for `retro` an epic too.
    pub story: Option<&'a str>,
    /// The state document whose policy counts, as the caller wrote it.
    pub state_file: Option<&'a str>,
    /// Where the session's output was kept.
    pub output_file: Option<&'a str>,
}

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub verified: bool,
    /// The verifier that was asked: `session_exit`, `create_story_artifact`, `review_completion`, `epic_complete`.
    pub verifier: String,
    /// Why not, if not.
    pub reason: Option<String>,
    /// All of it, as it is printed.
    pub report: Map<String, Value>,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    #[error("story_key_required")]
    StoryKeyRequired,
    /// The policy, or what it asks for, is not as it should be. Not the agent's fault.
    #[error("{0}")]
    Contract(String),
}

pub fn verify(project: &Project, asked: Asked<'_>) -> Result<Verdict, NotVerified> {
    let _ = project;
    Err(NotVerified::Contract(format!("unknown step: {}", asked.step)))
}
