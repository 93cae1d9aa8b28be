//! Markers of an agent: the shape of its screen and the rules over its parts, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::layout::{Layout, ShellShape};
use super::pattern::{Parts, Pattern};
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
    /// Reads a file of markers of a user's own.
    pub fn parse(source: &str) -> Result<Self, MarkersError> {
        let mut markers = Self::built_in(source)?;
        let mut patterns = markers.patterns();
        patterns
            .try_for_each(|pattern| pattern.check())
            .map_err(|reason| MarkersError { reason })?;
        drop(patterns);
        Ok(markers)
    }

    /// Reads a file whose patterns a test has checked: that takes longer than all the rest.
    pub(super) fn built_in(source: &str) -> Result<Self, MarkersError> {
        let mut markers: Self = from_toml(source)?;
        let parts = Parts::of(&markers.define);
        markers.patterns().for_each(|pattern| pattern.fill(&parts));
        Ok(markers)
    }

    fn patterns(&mut self) -> impl Iterator<Item = &mut Pattern> {
        self.layout.patterns().chain(self.rules.iter_mut().flat_map(Rule::patterns))
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
#[error("invalid screen rules: {reason}")]
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

impl Rule {
    fn patterns(&mut self) -> impl Iterator<Item = &mut Pattern> {
        let sights = [&mut self.see].into_iter().chain(&mut self.with).chain(&mut self.without);
        sights.flat_map(|sight| [&mut sight.pattern, &mut sight.newest_of]).flatten()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all_patterns() -> Vec<Pattern> {
        let source = include_str!("../../screens/terminal.toml");
        let Terminal { shell, mut rules, failures, until } = Terminal::parse(source).unwrap();
        let mut all = vec![shell.prompt, shell.over, until];
        all.extend(failures.into_iter().map(|failure| failure.pattern));
        for source in crate::screen::BUILT_IN {
            let mut markers = Markers::built_in(source).unwrap();
            all.extend(markers.layout.patterns().map(|pattern| pattern.clone()));
            rules.append(&mut markers.rules);
        }
        all.extend(rules.iter_mut().flat_map(Rule::patterns).map(|pattern| pattern.clone()));
        all
    }

    #[test]
    fn built_in_patterns_are_sound() {
        for pattern in all_patterns() {
            assert_eq!(pattern.check(), Ok(()));
        }
    }

    #[test]
    fn no_pattern_misses_a_recorded_line_for_want_of_a_word() {
        let patterns = all_patterns();
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"));
        let mut folders = vec![root.to_owned()];
        let mut lines = std::collections::BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "txt") {
                    let text = std::fs::read_to_string(path).unwrap();
                    lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
                }
            }
        }
        assert!(lines.len() > 1_000);
        for (pattern, line) in patterns.iter().flat_map(|p| lines.iter().map(move |l| (p, l))) {
            assert!(!pattern.misses(line), "{pattern:?} misses {line:?}");
        }
    }
}
