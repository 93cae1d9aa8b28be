//! What `search` found.

use jiff::Timestamp;
use serde::Serialize;

use crate::id::SessionId;

/// Conversations and sessions that match.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchResults {
    /// Matches in titles and prompts first, then by time, newest first.
    pub hits: Vec<SearchHit>,
    /// There are more than the limit.
    pub more: bool,
    pub index: IndexState,
}

/// What the index lacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct IndexState {
    /// Conversations and sessions that were added or updated by this call.
    pub added: usize,
    /// Those that are not in the index yet, or not all of them.
    pub missing: usize,
    /// Bytes of transcripts that are not in the index yet.
    pub missing_bytes: u64,
    /// Another process was adding to it.
    pub busy: bool,
}

/// A conversation or a session that matches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchHit {
    /// The session of dogwatch that had the conversation last; null if dogwatch did not start it.
    pub session: Option<SearchSession>,
    pub agent: String,
    /// The agent's own id of the conversation.
    pub conversation: Option<String>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// Where the match is.
    pub found_in: FoundIn,
    /// When that was said, if it is known.
    pub at: Option<Timestamp>,
    /// How many messages match; 1 for a word that is in nearly every conversation.
    pub matches: u32,
    /// The text around the match, in one line.
    pub snippet: String,
    /// Where in it the words are: first character and the one after the last.
    pub marks: Vec<[usize; 2]>,
    /// The command that attaches to it, resumes it, or shows its last screen; null if there is none.
    pub open: Option<Vec<String>>,
}

/// A session of dogwatch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchSession {
    pub id: SessionId,
    pub name: String,
    /// Whether it has not ended, as far as the database knows.
    pub running: bool,
    pub archived: bool,
}

/// Where a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FoundIn {
    /// Title, name or tags.
    Title,
    /// The first prompt.
    Prompt,
    /// What a person said.
    Person,
    /// What the agent said.
    Agent,
    /// A tool call: its name and command or file.
    Tool,
    /// The last screen.
    Screen,
}

impl FoundIn {
    pub fn new(word: &str) -> Self {
        match word {
            "title" => Self::Title,
            "prompt" => Self::Prompt,
            "person" => Self::Person,
            "tool" => Self::Tool,
            "screen" => Self::Screen,
            _ => Self::Agent,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Prompt => "prompt",
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Screen => "screen",
        }
    }
}
