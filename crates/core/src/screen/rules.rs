//! Markers of an agent: the shape of its screen and the rules over its parts, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::layout::{Layout, Pattern, ShellShape};
use super::reading::{Need, Region};

/// What is known of one agent's screen: one TOML file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Markers {
    pub agent: String,
    /// Parts of patterns that are used more than once: `@name@` stands for them below.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    pub layout: Layout,
    /// In order of authority: the first that matches decides.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Markers {
    /// Reads a file of markers, built in or a user's own.
    pub fn parse(source: &str) -> Result<Self, MarkersError> {
        #[derive(Deserialize)]
        struct Defined {
            #[serde(default)]
            define: BTreeMap<String, String>,
        }
        let Defined { define } = from_toml(source)?;
        let fill = |text: String| {
            define.iter().fold(text, |text, (name, part)| text.replace(&format!("@{name}@"), part))
        };
        // Twice, for parts that use other parts.
        from_toml(&fill(fill(source.to_owned())))
    }
}

/// What holds for every agent: ends of panes, shells, and the words of failures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    pub shell: ShellShape,
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// Kinds of failures by their text, in order.
    #[serde(rename = "failure")]
    pub failures: Vec<Failure>,
    /// Finds the end of a limit in its text; the group `until`.
    pub until: Pattern,
}

impl Terminal {
    pub fn parse(source: &str) -> Result<Self, MarkersError> {
        from_toml(source)
    }
}

fn from_toml<T: serde::de::DeserializeOwned>(source: &str) -> Result<T, MarkersError> {
    toml::from_str(source).map_err(|error| MarkersError { reason: error.to_string() })
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the markers cannot be used: {reason}")]
pub struct MarkersError {
    /// Place and cause, in words.
    pub reason: String,
}

/// One rule: if this is seen there, the agent is in that state.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub name: String,
    pub state: Claim,
    /// What a `waiting` agent waits for.
    #[serde(default, rename = "for")]
    pub need: Option<Need>,
    /// Kind of an `error`, where its text does not tell.
    #[serde(default)]
    pub kind: Option<String>,
    /// Named groups of the pattern become details.
    pub see: Sight,
    /// All of these must be seen as well.
    #[serde(default)]
    pub with: Vec<Sight>,
    /// None of these may be seen.
    #[serde(default)]
    pub without: Vec<Sight>,
    /// Whether the pane must show its alternate screen, where that is known.
    #[serde(default)]
    pub alternate: Option<bool>,
}

/// Something to be seen in a region; without a pattern, the region itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sight {
    pub region: Region,
    #[serde(default, rename = "match")]
    pub pattern: Option<Pattern>,
    /// Which lines may match.
    #[serde(default)]
    pub line: Which,
    /// No line after the match may match this: it must be the newest of its kind.
    #[serde(default)]
    pub newest_of: Option<Pattern>,
    /// The look of the match's last character; not asked of captures without attributes.
    #[serde(default)]
    pub look: Option<Look>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    #[default]
    Any,
    First,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Has a colour other than the default.
    Coloured,
    Dim,
    Plain,
}

/// What a rule claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    Starting,
    Working,
    Waiting,
    /// An error or a limit, as its text says.
    Failed,
    Limited,
    Idle,
    /// Idle after a finished turn.
    Done,
    Exited,
    Crashed,
    /// Something hides what the agent is doing.
    Hidden,
    /// No state, only details.
    Note,
}

/// How a failure is known by its text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub kind: String,
    #[serde(rename = "match")]
    pub pattern: Pattern,
    /// Waiting helps: a limit rather than an error.
    #[serde(default)]
    pub limit: bool,
}
