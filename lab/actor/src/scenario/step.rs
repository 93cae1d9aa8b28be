//! The steps of a scenario, one action each, as they are written in the file.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use toml::Spanned;

use super::{Input, Pause, Span};

/// The name of a place in the flow, with its place in the file.
pub type Label = Spanned<String>;

/// One action. In the file, the one key of a `[[step]]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    // The screen
    Print(String),
    Screen(Screen),
    Title(String),
    AlternateScreen(bool),
    Stream(Stream),
    Clock(Clock),
    PrintSize(String),
    PrintEnv(Vec<String>),
    PrintFile(PrintFile),
    // The keyboard
    Raw(bool),
    BracketedPaste(bool),
    Input(Box<Input>),
    // Time
    Stall(Pause),
    Hang(Pause),
    AwaitFile(AwaitFile),
    // The world
    WriteFile(WriteFile),
    AppendLine(AppendLine),
    AppendJson(AppendJson),
    Hook(Hook),
    Spawn(Spawn),
    // The flow
    Label(Label),
    Goto(Label),
    Repeat(Repeat),
    // Signals and the end
    IgnoreSignals(Vec<IgnorableSignal>),
    Suspend(StopSignal),
    Crash(FatalSignal),
    Exit(u8),
}

impl Step {
    /// The labels that this step may lead to.
    pub(super) fn targets(&self) -> Vec<&Label> {
        match self {
            Self::Goto(label) => vec![label],
            Self::Repeat(repeat) => vec![&repeat.from],
            Self::Input(input) => input.targets().collect(),
            Self::AwaitFile(wait) => wait.otherwise.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Shows a recorded screen on a cleared terminal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screen {
    pub file: Spanned<String>,
    /// Where the cursor is put afterwards: column and row, from 0.
    pub cursor: Option<(u16, u16)>,
}

/// Prints a text again and again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub text: String,
    pub count: u32,
    pub every: Span,
}

/// A status line that is painted again and again while other steps are played.
#[derive(Debug, Clone)]
pub enum Clock {
    Off,
    On(Ticking),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ticking {
    /// `{time}` is the time of day in UTC, `{n}` the number of the tick.
    pub text: String,
    /// The row from 0, or from the bottom if negative.
    pub row: i32,
    pub every: Span,
    /// With it, the step lasts so long and the clock ends with it.
    #[serde(rename = "for")]
    pub lasting: Option<Span>,
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OffOrTicking;

        impl<'de> Visitor<'de> for OffOrTicking {
            type Value = Clock;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"off\" or a table with text, row and every")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Clock, E> {
                match text {
                    "off" => Ok(Clock::Off),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Clock, A::Error> {
                Ticking::deserialize(MapAccessDeserializer::new(map)).map(Clock::On)
            }
        }

        deserializer.deserialize_any(OffOrTicking)
    }
}

/// Prints a file which an environment variable names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintFile {
    pub env: String,
}

/// Waits until a file exists.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwaitFile {
    pub path: String,
    pub within: Span,
    /// Where to go when the time is over; without it the play ends as timed out.
    #[serde(rename = "else")]
    pub otherwise: Option<Label>,
}

/// Replaces a file in one go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    pub path: String,
    pub text: String,
}

/// Appends a text and a newline to a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppendLine {
    pub path: String,
    pub text: String,
}

/// Appends a value as one line of JSON to a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppendJson {
    pub path: String,
    pub value: Map<String, Value>,
}

/// Runs the hook command with a payload on its standard input, and waits for its end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Becomes `hook_event_name` in the payload.
    pub event: String,
    #[serde(default)]
    pub payload: Map<String, Value>,
    /// Instead of the command in `DOGWATCH_HOOK_COMMAND`.
    pub command: Option<Vec<String>>,
}

/// Starts a process that sleeps in the background.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    #[serde(rename = "for")]
    pub lasting: Span,
    #[serde(default)]
    pub session: Session,
    #[serde(default)]
    pub ignore_hangup: bool,
    /// Gets the process id once the child has settled.
    pub pid_file: Option<String>,
}

/// Whose session a child belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    /// The actor's: the terminal's hangup reaches it.
    #[default]
    Same,
    /// One of its own, as a daemon has.
    Own,
}

/// Plays the part from a label up to here so many times in all.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    pub from: Label,
    pub times: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum IgnorableSignal {
    Hup,
    Int,
    Term,
}

/// `STOP` cannot be refused; `TSTP` has no effect on an orphaned process group, such as a
/// program that a tmux pane runs directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    Tstp,
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FatalSignal {
    Kill,
    Segv,
    Term,
    Abrt,
}
