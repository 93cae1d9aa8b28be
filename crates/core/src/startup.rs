//! An agent that cannot take what it was given for our sake: how that is noticed while it starts, and how it is started
//! without.
//!
//! The table of versions in a profile prevents it for versions that are known. This is for those that are not: an agent that
//! ends at once because of an option of ours, or opens a dialog about a file of ours, is started once more without them.

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::Exit;

/// An exit so long after the start may be because of what the agent was given. Node takes seconds on a loaded machine.
pub const EARLY: Duration = Duration::from_secs(15);
/// Longest reason that is noted.
const MAX_BECAUSE: usize = 200;
/// A line is a complaint if it names something of ours and has one of these.
const MARKS: [&str; 16] = [
    "unknown",
    "unexpected",
    "unrecognized",
    "unrecognised",
    "invalid",
    "error",
    "not recognized",
    "no such",
    "unsupported",
    "not supported",
    "cannot",
    "could not",
    "failed",
    "refused",
    "bad ",
    "illegal",
];

/// What an agent was given for our sake, in the words by which it would name it, and how it is started without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The command line without it.
    pub argv: Vec<OsString>,
    pub extras: Extras,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extras {
    /// Variables that were set for our sake.
    pub unset: Vec<String>,
    /// Paths of our files.
    pub files: Vec<String>,
    /// Options and keys of configuration.
    pub words: Vec<String>,
    /// Texts of its own by which this agent complains.
    pub complaints: Vec<String>,
    /// Whether this version was played against the model double: then no dialog about our files is to be expected.
    pub verified: bool,
    /// The agent's program, for which it is remembered.
    pub program: Option<FileStamp>,
    pub version: Option<String>,
}

/// A file, as long as it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Links resolved.
    pub path: String,
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// That an agent was started without what it is usually given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduced {
    /// What it said of it.
    pub because: String,
}

impl Reduced {
    /// For people.
    pub fn note(&self) -> String {
        format!("runs without hooks and options of dogwatch: {}", self.because)
    }
}

/// The words by which an agent would name these arguments: `--session-id`, and the keys in `-c hooks.Stop=…`.
pub fn words_of<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut words = Vec::new();
    for argument in arguments {
        let name = argument.split('=').next().unwrap_or_default();
        let parts: Vec<&str> = match name.strip_prefix("--") {
            Some(option) => vec![option],
            None if argument.contains('=') => name.split('.').collect(),
            None => Vec::new(),
        };
        for part in parts {
            let is_word = part.len() > 3
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
            if is_word && !words.iter().any(|word| word == part) {
                words.push(part.to_owned());
            }
        }
    }
    words
}

impl Extras {
    /// Why the agent ended, if that was because of what it was given: the line in which it says so.
    pub fn blamed_for_exit(&self, exit: Exit, after: Duration, screen: &str) -> Option<String> {
        if after > EARLY || matches!(exit, Exit::Signal(_)) {
            return None;
        }
        let lines = || screen.lines().map(str::trim).filter(|line| !line.is_empty());
        let complains =
            |line: &&str| self.complaints.iter().any(|text| line.contains(text.as_str()));
        let names = |line: &&str| {
            let lower = line.to_lowercase();
            MARKS.iter().any(|mark| lower.contains(mark))
                && (self.words.iter().any(|word| has_word(&lower, &word.to_lowercase()))
                    || self.unset.iter().any(|name| line.contains(name.as_str())))
        };
        let named = || (exit != Exit::Code(0)).then(|| lines().find(names)).flatten();
        let because = lines().find(complains).or_else(named);
        because.map(shortened).or_else(|| {
            let file = self.named_file(screen).filter(|_| exit != Exit::Code(0))?;
            Some(format!("it ended and named {}", file_name(file)))
        })
    }

    /// Why the agent does not come up, if a dialog is open that names a file of ours.
    pub fn blamed_in_dialog(&self, screen: &str) -> Option<String> {
        let file = self.named_file(screen)?;
        let title =
            screen.lines().map(|line| line.trim_matches(is_frame)).find(|line| !line.is_empty());
        Some(shortened(&format!(
            "its dialog {:?} names {}",
            title.unwrap_or_default(),
            file_name(file)
        )))
    }

    /// A path may be broken into lines, inside of a frame.
    fn named_file(&self, screen: &str) -> Option<&str> {
        let squeezed: String = screen.chars().filter(|c| !is_frame(*c)).collect();
        let is_named = |file: &&String| {
            let file: String = file.chars().filter(|c| !is_frame(*c)).collect();
            squeezed.contains(&file)
        };
        self.files.iter().find(is_named).map(String::as_str)
    }
}

/// Of another session's file, the path says nothing.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_frame(c: char) -> bool {
    c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c)
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric();
        !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
    })
}

fn shortened(text: &str) -> String {
    crate::text::shortened(text.trim(), MAX_BECAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> Extras {
        let arguments = ["--settings", "/s/sessions/1-2/settings.json", "--session-id", "c-1"];
        Extras {
            files: vec!["/s/sessions/1-2/settings.json".into()],
            words: words_of(arguments),
            ..Extras::default()
        }
    }

    #[test]
    fn words_by_which_it_would_be_named() {
        assert_eq!(claude().words, ["settings", "session-id"]);
        let codex = ["-c", "hooks.Stop=[{hooks=[]}]", "-c", "features.daemon_auto_start=false"];
        assert_eq!(words_of(codex), ["hooks", "Stop", "features", "daemon_auto_start"]);
        assert_eq!(words_of(["--port", "4711", "-x"]), ["port"]);
    }

    #[test]
    fn exits_that_are_because_of_us() {
        let codex = Extras { words: words_of(["-c", "hooks.Stop=[]"]), ..Extras::default() };
        let gemini = Extras { words: words_of(["--session-id", "x"]), ..Extras::default() };
        let opencode = Extras {
            words: words_of(["--port", "1"]),
            unset: vec!["OPENCODE_SERVER_PASSWORD".into()],
            complaints: vec!["Unauthorized".into()],
            ..Extras::default()
        };
        let (one, zero) = (Exit::Code(1), Exit::Code(0));
        let table: [(&Extras, Exit, &str, bool); 15] = [
            (&claude(), one, "error: unknown option '--session-id'", true),
            (&claude(), one, "error: unknown option '--settings'\n", true),
            (&claude(), one, "Error: cannot read /s/sessions/1-2/\nsettings.json", true),
            (&claude(), one, "Invalid API key · Please run /login", false),
            (
                &claude(),
                one,
                "  --session-id <uuid>  Use a session ID\nerror: unknown option '--foo'",
                false,
            ),
            (&claude(), zero, "error: unknown option '--session-id'", false),
            (&claude(), Exit::Signal(9), "error: unknown option '--session-id'", false),
            (&claude(), one, "", false),
            (&codex, one, "Error loading config.toml: unknown field `hooks`", true),
            (&codex, Exit::Code(2), "error: unexpected argument '--model' found", false),
            (&gemini, one, "Usage: gemini\n\nUnknown arguments: session-id, sessionId", true),
            (&gemini, one, "Unknown argument: session-identity", false),
            (&gemini, one, "Unknown argument: obsession-id", false),
            (&opencode, zero, "Database migration complete.\nUnauthorized\n", true),
            (&opencode, one, "error: OPENCODE_SERVER_PASSWORD is too short", true),
        ];
        for (extras, exit, screen, want) in table {
            let because = extras.blamed_for_exit(exit, Duration::from_secs(2), screen);
            assert_eq!(because.is_some(), want, "{exit:?} {screen}: {because:?}");
        }
        let late = EARLY + Duration::from_secs(1);
        assert_eq!(claude().blamed_for_exit(one, late, "unknown option '--settings'"), None);
    }

    #[test]
    fn dialogs_that_are_about_our_files() {
        let dialog = "\
──────────────────
 Settings Error
 /s/sessions/1-2/settings.json
  └ hooks
    └ TaskCreated: Invalid key in record
 ❯ 1. Exit and fix manually
   2. Continue without these settings
";
        assert!(claude().blamed_in_dialog(dialog).unwrap().contains("Settings Error"));
        let narrow = "│ /s/sessions/1- │\n│ 2/settings.js  │\n│ on             │\n";
        assert!(claude().blamed_in_dialog(narrow).is_some());
        for other in ["❯ Try \"fix it\"", "/home/u/.claude/settings.json", "/s/sessions/1-2/prompt"]
        {
            assert_eq!(claude().blamed_in_dialog(other), None, "{other}");
        }
    }
}
