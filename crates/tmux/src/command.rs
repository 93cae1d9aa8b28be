use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::{PaneId, Target};

/// One tmux command as words, for either transport.
///
/// Operands follow a `--`, so text that begins with a dash stays text, and a target can only be
/// given as a [`Target`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a command does nothing until a server runs it"]
pub struct Command {
    name: &'static str,
    options: Vec<OsString>,
    operands: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    runs_on: bool,
    is_guard: bool,
}

/// Commands that write to the terminal of a pane, or have to do with it.
const WRITING: [&str; 7] = [
    "send-keys",
    "send-prefix",
    "paste-buffer",
    "copy-mode",
    "pipe-pane",
    "respawn-pane",
    "respawn-window",
];

impl Command {
    /// `name` is a full command name such as `new-session`, never an alias.
    pub fn new(name: &'static str) -> Self {
        debug_assert!(!WRITING.contains(&name), "it can end the server: use Input");
        Self::unguarded(name)
    }

    /// Also one that writes to a pane, which only [`crate::Input`] makes.
    pub(crate) fn unguarded(name: &'static str) -> Self {
        let (options, operands) = (vec![], vec![]);
        Self { name, options, operands, stdin: None, runs_on: false, is_guard: false }
    }

    /// Runs other commands and prints what came of it: see [`crate::input`].
    pub(crate) fn guard(self) -> Self {
        Self { is_guard: true, ..self }
    }

    pub(crate) fn is_guard(&self) -> bool {
        self.is_guard
    }

    /// Expands a format for one pane; fails if the pane is gone.
    ///
    /// Not `display-message -t PANE`: for a missing pane, tmux expands the format without pane, window and session, and 3.2a
    /// dereferences a null pointer at `window_activity` and `session_activity`, which crashes the server. Later versions print an
    /// empty line with exit code 0.
    pub fn about_pane(pane: PaneId, format: impl Into<OsString>) -> Self {
        let only_this_one = format!("#{{==:#{{pane_id}},{pane}}}");
        Self::new("list-panes").target(pane).option('f', only_this_one).option('F', format)
    }

    pub fn flag(mut self, letter: char) -> Self {
        self.options.push(format!("-{letter}").into());
        self
    }

    pub fn flag_if(self, condition: bool, letter: char) -> Self {
        if condition { self.flag(letter) } else { self }
    }

    /// An option with its value. Targets go through [`Command::target`].
    pub fn option(mut self, letter: char, value: impl Into<OsString>) -> Self {
        debug_assert_ne!(letter, 't', "a target must be exact: use Command::target");
        self.options.extend([format!("-{letter}").into(), value.into()]);
        self
    }

    pub fn target(mut self, target: impl Into<Target>) -> Self {
        debug_assert_ne!(self.name, "display-message", "it may be gone: use Command::about_pane");
        self.options.extend(["-t".into(), target.into().as_str().into()]);
        self
    }

    /// Several options in one word, where the number of words matters.
    pub(crate) fn packed(mut self, options: String) -> Self {
        self.options.push(options.into());
        self
    }

    pub fn arg(mut self, operand: impl Into<OsString>) -> Self {
        self.operands.push(operand.into());
        self
    }

    pub fn args<T: Into<OsString>>(mut self, operands: impl IntoIterator<Item = T>) -> Self {
        self.operands.extend(operands.into_iter().map(Into::into));
        self
    }

    /// Data for the command's `-` operand; only one command of a chain can have it, and
    /// only the one-shot transport supports it.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// In a one-shot chain, joins its output with that of the next command into one reply. Separating them
    /// costs tmux about a quarter of capturing a screen.
    pub fn runs_on(mut self) -> Self {
        self.runs_on = true;
        self
    }

    pub(crate) fn does_run_on(&self) -> bool {
        self.runs_on
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn stdin_bytes(&self) -> Option<&[u8]> {
        self.stdin.as_deref()
    }

    /// The command's words as tmux must see them, before any transport's quoting.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        let dashes = (!self.operands.is_empty()).then_some(OsStr::new("--"));
        std::iter::once(OsStr::new(self.name))
            .chain(self.options.iter().map(OsString::as_os_str))
            .chain(dashes)
            .chain(self.operands.iter().map(OsString::as_os_str))
    }
}

/// For people: one line of bounded length, with control characters made visible.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST_WORD: usize = 60;
        for (at, word) in self.words().enumerate() {
            let word = word.to_string_lossy();
            let shown: String = word.chars().take(LONGEST_WORD).collect();
            let cut = if shown.len() < word.len() { "…" } else { "" };
            let gap = if at == 0 { "" } else { " " };
            let plain = |c: char| c.is_alphanumeric() || "-_=:%@$./,+#{}".contains(c);
            if !shown.is_empty() && shown.chars().all(plain) {
                write!(f, "{gap}{shown}{cut}")?;
            } else {
                write!(f, "{gap}{shown:?}{cut}")?;
            }
        }
        Ok(())
    }
}

/// Escapes a text where tmux would expand formats in it: working directories (`-c`)
/// and the names of sessions and windows (`-s`, `-n`).
pub fn escape_format(text: impl AsRef<OsStr>) -> OsString {
    let bytes = text.as_ref().as_bytes();
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte == b'#' {
            escaped.push(b'#');
        }
        escaped.push(byte);
    }
    OsString::from_vec(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PaneId;

    fn words(command: &Command) -> Vec<String> {
        command.words().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn operands_come_after_dashes_whatever_the_order_of_calls() {
        let command = Command::unguarded("send-keys").arg("-x").flag('l').target(PaneId(4));
        assert_eq!(words(&command), ["send-keys", "-l", "-t", "%4", "--", "-x"]);
    }

    #[test]
    fn no_dashes_without_operands() {
        assert_eq!(words(&Command::new("list-sessions")), ["list-sessions"]);
    }

    #[test]
    fn shown_on_one_short_line() {
        let command = Command::new("set-buffer").arg("a\nb").arg("x".repeat(100)).arg("");
        let shown = command.to_string();
        assert!(shown.starts_with(r#"set-buffer -- "a\nb" xxx"#), "{shown}");
        assert!(shown.ends_with(r#"x… """#), "{shown}");
        assert!(shown.len() < 100);
    }

    #[test]
    fn hashes_are_doubled() {
        assert_eq!(escape_format("a#{pid}#b"), "a##{pid}##b");
    }
}
