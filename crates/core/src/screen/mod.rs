//! Reads an agent's screen: what does it show, and what does that mean.
//!
//! Captured text becomes a [`grid`] of styled rows; [`regions`] finds the parts (input box, what is
//! above it, a dialog in its place, a shell prompt); the [`rules`] of the agent look at one part each.
//! The markers are data, `crates/core/screens/*.toml`, and a user may bring their own. When no rule
//! matches, the answer is [`State::Unknown`]: silence of the rules never means idle.

pub(crate) mod ansi;
mod choices;
mod details;
mod detect;
mod finder;
mod generic;
pub mod grid;
pub mod layout;
mod needles;
mod pattern;
mod reading;
pub mod regions;
pub mod rules;
pub mod style;

#[cfg(test)]
mod older_versions;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

pub use ansi::plain;
pub use reading::{Details, Exit, Hands, Need, Reading, Reason, Region, State, Todos};
pub use rules::{Markers, MarkersError};

use rules::Terminal;

use crate::profile::COMMAND;

/// One look at a pane.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen<'a> {
    /// As captured: plain, or with attributes (`capture-pane -e`), which tells more.
    pub bytes: &'a [u8],
    /// Size of the pane; 0 if not known. Rows above the last `height` are scrollback.
    pub width: u16,
    pub height: u16,
    pub title: Option<&'a str>,
    /// Column and row, from 0.
    pub cursor: Option<(u16, u16)>,
    pub alternate: Option<bool>,
}

/// Agents whose markers are built in. Each is read when first asked for: most commands look at one kind of agent.
static MARKERS: [(&str, LazyLock<Option<Markers>>); 8] = [
    ("claude", LazyLock::new(|| Markers::built_in(BUILT_IN[0]).ok())),
    ("codex", LazyLock::new(|| Markers::built_in(BUILT_IN[1]).ok())),
    ("gemini", LazyLock::new(|| Markers::built_in(BUILT_IN[2]).ok())),
    ("opencode", LazyLock::new(|| Markers::built_in(BUILT_IN[3]).ok())),
    ("qwen", LazyLock::new(|| Markers::built_in(BUILT_IN[4]).ok())),
    ("aider", LazyLock::new(|| Markers::built_in(BUILT_IN[5]).ok())),
    ("copilot", LazyLock::new(|| Markers::built_in(BUILT_IN[6]).ok())),
    ("kimi", LazyLock::new(|| Markers::built_in(BUILT_IN[7]).ok())),
];

const BUILT_IN: [&str; 8] = [
    include_str!("../../screens/claude.toml"),
    include_str!("../../screens/codex.toml"),
    include_str!("../../screens/gemini.toml"),
    include_str!("../../screens/opencode.toml"),
    include_str!("../../screens/qwen.toml"),
    include_str!("../../screens/aider.toml"),
    include_str!("../../screens/copilot.toml"),
    include_str!("../../screens/kimi.toml"),
];

static TERMINAL: LazyLock<Terminal> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test parses the built-in file")]
    Terminal::parse(include_str!("../../screens/terminal.toml"))
        .expect("invariant: built-in rules of terminals parse")
});

/// Of an agent of which nothing is known: no box, no dialog, no rule.
static NO_MARKERS: LazyLock<Markers> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test parses it")]
    Markers::built_in(
        "agent = ''\nrule = []\n[layout.input]\nprompt = '[^\\s\\S]'\nbody = '[^\\s\\S]'",
    )
    .expect("invariant: built-in markers parse")
});

/// Built-in markers of an agent.
pub fn markers(agent: &str) -> Option<&'static Markers> {
    MARKERS.iter().find(|(name, _)| *name == agent).and_then(|(_, markers)| markers.as_ref())
}

/// Reads a screen with the built-in markers; that of an agent without any, by its structure.
pub fn read(agent: &str, screen: &Screen) -> Reading {
    match (agent, markers(agent)) {
        (_, Some(markers)) => read_with(markers, screen),
        (COMMAND, None) => detect::read_command(screen),
        (_, None) => read_with(&NO_MARKERS, screen),
    }
}

/// The kind of failure that a text tells of.
pub fn kind_of_failure(text: &str) -> Option<&'static str> {
    let known = TERMINAL.failures.iter().find(|failure| failure.pattern.matches(text))?;
    Some(&known.kind)
}

/// When a limit ends, as a text says it.
pub fn end_of_limit(text: &str) -> Option<String> {
    detect::until(&TERMINAL, text)
}

/// Reads a screen with a user's own markers, and where they are silent, by its structure.
pub fn read_with(markers: &Markers, screen: &Screen) -> Reading {
    detect::read(&TERMINAL, markers, screen)
}
