//! Makes a text safe for an agent's input box: the agent must take it as a message, and nothing else.

use serde::Deserialize;

pub use dogwatch_protocol::message::Change;

/// Longer messages belong into a file, and the message names it.
pub const MOST_BYTES: usize = 1024 * 1024;

/// Words that end agents of several makers, as they end editors: Claude Code, Qwen Code and opencode take some or all of them. Of an agent
/// whose profile says nothing about it, the same is assumed.
const ENDING: [&str; 6] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/// How an agent treats input that is not a plain message; from its profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputRules {
    /// Texts that begin like this, after blanks, are commands.
    pub command_prefixes: Vec<String>,
    /// Texts that are this, blanks aside, are commands.
    pub command_words: Vec<String>,
    /// An Enter after a text that ends like this does not submit it.
    pub continuations: Vec<String>,
}

impl Default for InputRules {
    fn default() -> Self {
        Self {
            command_prefixes: Vec::new(),
            command_words: ENDING.map(ToOwned::to_owned).into(),
            continuations: Vec::new(),
        }
    }
}

/// A text as it will be pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeText {
    pub text: String,
    /// What was changed, for the receipt.
    pub changes: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    #[error("the message is empty")]
    Empty,
    #[error(
        "the message has {bytes} bytes, at most {MOST_BYTES} are allowed; write it to a file and send the path"
    )]
    TooLong { bytes: usize },
    #[error(
        "the message begins with {prefix:?}, which this agent treats as a command; --slash sends a slash command"
    )]
    Command { prefix: String },
    #[error(
        "the message is {word:?}, which would end this agent; `dogwatch kill` ends a session, a longer message is taken as one"
    )]
    Ending { word: String },
    #[error("a slash command is one line that begins with a slash")]
    NotSlash,
}

/// Makes a text safe to paste.
pub fn message(text: &str, rules: &InputRules) -> Result<SafeText, BadText> {
    let mut changes = Vec::new();
    let mut change = |before: &str, after: String, what| {
        if after != before {
            changes.push(what);
        }
        after
    };
    let text = change(text, text.replace("\r\n", "\n").replace('\r', "\n"), Change::LineEnds);
    let readable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text = change(&text, text.chars().filter(readable).collect(), Change::ControlCharacters);
    // The box would show empty lines, and agents trim them anyway.
    let text = change(&text, text.trim_end_matches('\n').to_owned(), Change::TrailingLineEnds);
    if text.trim().is_empty() {
        return Err(BadText::Empty);
    }
    if text.len() > MOST_BYTES {
        return Err(BadText::TooLong { bytes: text.len() });
    }
    let bare = text.trim_start();
    let prefix = rules.command_prefixes.iter().find(|prefix| bare.starts_with(prefix.as_str()));
    if let Some(prefix) = prefix {
        return Err(BadText::Command { prefix: prefix.clone() });
    }
    let bare = bare.trim_end();
    let is_bare = |word: &&String| word.eq_ignore_ascii_case(bare);
    if let Some(word) = rules.command_words.iter().find(is_bare) {
        return Err(BadText::Ending { word: word.clone() });
    }
    let goes_on = rules.continuations.iter().any(|end| text.ends_with(end.as_str()));
    let text = if goes_on { change(&text, format!("{text} "), Change::Continued) } else { text };
    Ok(SafeText { text, changes })
}

/// A slash command as it will be typed.
pub fn slash(text: &str) -> Result<SafeText, BadText> {
    let bare = text.trim();
    if !bare.starts_with('/') || bare.len() < 2 || bare.chars().any(char::is_control) {
        return Err(BadText::NotSlash);
    }
    Ok(SafeText { text: bare.to_owned(), changes: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> InputRules {
        InputRules {
            command_prefixes: vec!["!".into(), "/".into()],
            continuations: vec!["\\".into()],
            ..InputRules::default()
        }
    }

    #[test]
    fn most_texts_are_left_alone() {
        for text in
            ["hi", "| : ; $ \\` \" ' {} # %", "a\n\n\tb", "日本 🎉", "not / a ! command", " x"]
        {
            let safe = message(text, &rules()).unwrap();
            assert_eq!((safe.text.as_str(), safe.changes.len()), (text, 0));
        }
    }

    #[test]
    fn characters_with_an_effect_are_removed() {
        let made = |text: &str| {
            let safe = message(text, &rules()).unwrap();
            (safe.text, safe.changes)
        };
        assert_eq!(made("a\r\nb\rc"), ("a\nb\nc".into(), vec![Change::LineEnds]));
        let paste_end = made("a\x1b[201~\x03b");
        assert_eq!(paste_end, ("a[201~b".into(), vec![Change::ControlCharacters]));
        assert_eq!(made("a\\"), ("a\\ ".into(), vec![Change::Continued]));
        assert_eq!(made("a\n\n"), ("a".into(), vec![Change::TrailingLineEnds]));
    }

    #[test]
    fn texts_that_cannot_be_sent_are_refused() {
        let refused = |text: &str| message(text, &rules()).unwrap_err();
        assert_eq!(refused(""), BadText::Empty);
        assert_eq!(refused(" \n\x1b\t"), BadText::Empty);
        assert_eq!(refused("!ls"), BadText::Command { prefix: "!".into() });
        // Seen: " /help" is still a command to claude, and codex trims a long paste.
        assert_eq!(refused("\n !ls"), BadText::Command { prefix: "!".into() });
        assert_eq!(refused(" /help me"), BadText::Command { prefix: "/".into() });
        // Seen: claude 2.0.1 to 2.1.325 and opencode end.
        assert_eq!(refused("exit"), BadText::Ending { word: "exit".into() });
        assert_eq!(refused(" :Q\n"), BadText::Ending { word: ":q".into() });
        assert!(message("exit the loop early", &rules()).is_ok());
        let without = InputRules { command_words: Vec::new(), ..rules() };
        assert!(message("quit", &without).is_ok(), "codex and gemini take it as a message");
        let long = "x".repeat(MOST_BYTES + 1);
        assert_eq!(refused(&long), BadText::TooLong { bytes: MOST_BYTES + 1 });
        assert_eq!(slash("/color blue ").unwrap().text, "/color blue");
        for text in ["color", "/", "/a\n/b", ""] {
            assert_eq!(slash(text), Err(BadText::NotSlash), "{text:?}");
        }
    }
}
