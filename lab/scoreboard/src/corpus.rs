//! Recorded screens and what they were labelled with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dogwatch_core::screen::{self, Reading, Screen, State};
use serde::Deserialize;

use crate::version;

/// A folder of screens with its `index.jsonl`.
#[derive(Debug)]
pub struct Corpus {
    pub name: &'static str,
    pub recordings: Vec<Recording>,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct CorpusError {
    pub path: PathBuf,
    pub reason: String,
}

impl CorpusError {
    fn new(path: &Path, reason: impl ToString) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// One screen: facts from the index, and the two captures of it.
#[derive(Debug, Clone)]
pub struct Recording {
    pub facts: Facts,
    pub plain: Vec<u8>,
    pub styled: Vec<u8>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Facts {
    pub file: String,
    pub agent: String,
    pub truth: String,
    pub description: String,
    pub width: u16,
    pub height: u16,
    pub pane_title: String,
    pub alternate_screen: bool,
    pub pane_dead: bool,
    pub pane_dead_signal: Option<i32>,
    pub cursor: (u16, u16),
}

/// How a screen is given to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Text alone: no attributes, no title, no cursor.
    Bare,
    /// Plain text, with title, cursor and the kind of screen.
    Plain,
    /// With attributes as well.
    Styled,
}

impl Input {
    pub const ALL: [Self; 3] = [Self::Styled, Self::Plain, Self::Bare];

    pub fn name(self) -> &'static str {
        match self {
            Self::Styled => "attributes, title, cursor",
            Self::Plain => "plain text, title, cursor",
            Self::Bare => "plain text alone",
        }
    }
}

impl Recording {
    pub fn read(&self, input: Input) -> Reading {
        let told = input != Input::Bare;
        let facts = &self.facts;
        let bytes = if input == Input::Styled { &self.styled } else { &self.plain };
        let screen = Screen {
            bytes,
            width: facts.width,
            height: facts.height,
            title: told.then_some(facts.pane_title.as_str()),
            cursor: told.then_some(facts.cursor),
            alternate: told.then_some(facts.alternate_screen),
        };
        screen::read(&facts.agent, &screen)
    }

    /// The state the screen was labelled with, in the words of the contract.
    pub fn truth(&self) -> Truth<'_> {
        let label = self.facts.truth.as_str();
        let need = label.strip_prefix("waiting_input(").and_then(|rest| rest.strip_suffix(')'));
        match (need, label) {
            (Some(need), _) => Truth { state: "waiting", need: Some(need) },
            (None, "done") => Truth { state: "idle", need: None },
            (None, state) => Truth { state, need: None },
        }
    }

    /// A limit was labelled `error` before the contract had a word for it.
    pub fn is_right(&self, reading: &Reading) -> bool {
        let truth = self.truth();
        match &reading.state {
            State::Waiting { need } => truth.need == Some(need.as_str()),
            State::Limited { .. } => truth.state == "limited" || self.is_old_limit(),
            state => truth.state == state.as_str(),
        }
    }

    /// As the label says, to the letter.
    pub fn is_right_by_label(&self, reading: &Reading) -> bool {
        self.is_right(reading) && (reading.state.as_str() == self.truth().state)
    }

    fn is_old_limit(&self) -> bool {
        let limits = ["429", "529", "usage_limit"];
        self.facts.truth == "error" && limits.iter().any(|word| self.facts.file.contains(word))
    }

    pub fn short_name(&self) -> &str {
        self.facts.file.trim_end_matches(".txt")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth<'a> {
    pub state: &'a str,
    pub need: Option<&'a str>,
}

impl Corpus {
    /// The screens given with the contract.
    pub fn given() -> Result<Self, CorpusError> {
        Self::load("given", &testdata("screens"))
    }

    /// Screens recorded for this project, from agents driven by the model double.
    pub fn recorded() -> Result<Self, CorpusError> {
        Self::load("recorded", &testdata("recorded"))
    }

    /// Screens of other versions, of situations that were once judged wrong.
    pub fn versions() -> Result<Self, CorpusError> {
        let folder = testdata("versions");
        let entries = fs::read_dir(&folder).map_err(|error| CorpusError::new(&folder, error))?;
        let mut recordings = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| CorpusError::new(&folder, error))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let Some(name) = name.as_deref().and_then(|name| name.strip_suffix(".screen.ansi"))
            else {
                continue;
            };
            let note = folder.join(format!("{name}.txt"));
            let read = |path: &Path| fs::read(path).map_err(|error| CorpusError::new(path, error));
            let text = String::from_utf8_lossy(&read(&note)?).into_owned();
            let styled = read(&path)?;
            let plain = screen::plain(&String::from_utf8_lossy(&styled)).into_bytes();
            let facts = version::facts(name, &text);
            recordings.extend(facts.map(|facts| Recording { facts, plain, styled }));
        }
        recordings.sort_by(|one, other| one.facts.file.cmp(&other.facts.file));
        Ok(Self { name: "versions", recordings })
    }

    /// Screens of further agents, recorded in the same way.
    pub fn recorded_more() -> Result<Self, CorpusError> {
        Self::load("more agents", &testdata("recorded-more"))
    }

    pub fn load(name: &'static str, folder: &Path) -> Result<Self, CorpusError> {
        let index = folder.join("index.jsonl");
        let text = fs::read_to_string(&index).map_err(|error| CorpusError::new(&index, error))?;
        let recording = |line: &str| {
            let facts: Facts =
                serde_json::from_str(line).map_err(|error| CorpusError::new(&index, error))?;
            let path = folder.join(&facts.file);
            let read = |path: &Path| {
                fs::read(path).map_err(|error: io::Error| CorpusError::new(path, error))
            };
            Ok(Recording {
                plain: read(&path)?,
                styled: read(&path.with_extension("ansi"))?,
                facts,
            })
        };
        let recordings = text.lines().map(recording).collect::<Result<_, _>>()?;
        Ok(Self { name, recordings })
    }
}

fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/testdata").join(folder)
}
