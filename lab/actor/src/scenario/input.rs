//! The `input` step: what is waited for, how it is shown, and where each answer leads.

use serde::Deserialize;

use super::{Label, Span};

/// Waits for input, and branches on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub want: Want,
    #[serde(default)]
    pub echo: Echo,
    /// How many Enters are lost before one counts.
    #[serde(default)]
    pub swallow_enters: u32,
    /// Shown instead of a pasted text; `{lines}` and `{chars}` are filled in.
    pub paste_shown_as: Option<String>,
    /// Text that is in the box already, as if it had been typed.
    #[serde(default)]
    pub prefill: String,
    /// The answers that count. Empty: any answer goes on with the next step.
    #[serde(default)]
    pub on: Vec<Reply>,
    /// Where an answer leads that is not in `on`. Without it such an answer is dropped.
    #[serde(rename = "else")]
    pub otherwise: Option<Label>,
    pub timeout: Option<Timeout>,
}

/// What makes an answer complete.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Text up to an Enter; an Enter within a bracketed paste is text.
    Line,
    /// A single key, by its character or its name.
    Key,
    /// The box holds exactly this; no Enter needed.
    Text(String),
    /// The box contains this; no Enter needed.
    Contains(String),
}

/// When typed text is shown. Only raw mode leaves this to the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Echo {
    #[default]
    AtOnce,
    /// Keys are taken, shown and obeyed this much later, as by a program that is busy.
    Late(Span),
    Never,
}

/// One answer and where it leads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    pub input: String,
    pub goto: Label,
}

/// Where to go when no answer has come. Text typed so far stays in the box.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeout {
    pub after: Span,
    pub goto: Label,
}

impl Input {
    pub(super) fn targets(&self) -> impl Iterator<Item = &Label> {
        self.on
            .iter()
            .map(|reply| &reply.goto)
            .chain(&self.otherwise)
            .chain(self.timeout.as_ref().map(|timeout| &timeout.goto))
    }
}
