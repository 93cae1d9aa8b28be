//! One call of the helper: its arguments, and how options are found among them.

use std::path::PathBuf;

use super::project;

/// Options of all commands. None of them is taken as the value of another one: a missing value stays missing, and the
/// next option keeps its own.
const OPTIONS: [&str; 54] = [
    "--after",
    "--agent",
    "--agents-file",
    "--artifacts-dir",
    "--before",
    "--command",
    "--complexity-file",
    "--config-file",
    "--config-json",
    "--cycle",
    "--entry",
    "--epic",
    "--events",
    "--file",
    "--full",
    "--gate",
    "--gitignore",
    "--heartbeat",
    "--ids",
    "--initial-wait",
    "--input",
    "--json",
    "--max-polls",
    "--model",
    "--name",
    "--output",
    "--output-file",
    "--output-folder",
    "--pid",
    "--project-only",
    "--project-root",
    "--project-slug",
    "--range",
    "--remaining",
    "--repo",
    "--rules",
    "--set",
    "--settings",
    "--since",
    "--slug",
    "--sprint",
    "--state",
    "--state-file",
    "--story",
    "--story-key",
    "--task",
    "--template",
    "--timeout",
    "--title",
    "--to",
    "--total",
    "--verbose",
    "--workflow",
    "--write",
];

/// Whether a word is an option of the helper, and so not a value.
pub(crate) fn is_option(word: &str) -> bool {
    OPTIONS.binary_search(&word).is_ok()
}

/// Neither blank nor the beginning of an option.
pub(crate) fn is_value(word: &str) -> bool {
    !word.trim().is_empty() && !word.starts_with("--")
}

/// The arguments after the command's name. Options are found by a scan from the left; unknown words are ignored.
pub(crate) struct Call<'a> {
    pub(crate) command: &'a str,
    pub(crate) words: &'a [String],
}

impl<'a> Call<'a> {
    pub(crate) fn new(command: &'a str, words: &'a [String]) -> Self {
        Self { command, words }
    }

    /// The first word, and a call with the rest.
    pub(crate) fn split(&self) -> Option<(&'a str, Call<'a>)> {
        let (first, rest) = self.words.split_first()?;
        Some((first, Call::new(self.command, rest)))
    }

    pub(crate) fn word(&self, index: usize) -> Option<&'a str> {
        self.words.get(index).map(String::as_str)
    }

    /// The value of an option. The last one given counts; one without a value counts as missing.
    pub(crate) fn option(&self, name: &str) -> Option<&'a str> {
        let pairs = self.words.iter().zip(self.words.iter().skip(1));
        let values = pairs.filter(|(word, value)| *word == name && !is_option(value));
        values.map(|(_, value)| value.as_str()).next_back()
    }

    /// The same for commands that use an option's first occurrence and the word after it.
    pub(crate) fn first_option(&self, name: &str) -> Option<&'a str> {
        let place = self.words.iter().position(|word| word == name)?;
        self.word(place + 1).filter(|value| !is_option(value))
    }

    /// The same for options that must have a value at every occurrence.
    pub(crate) fn with_value(&self, name: &str) -> Result<Option<&'a str>, String> {
        let mut found = None;
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == name {
                let value = words.next().filter(|value| is_value(value));
                found = Some(value.ok_or_else(|| format!("{name} requires a value"))?.as_str());
            }
        }
        Ok(found)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.words.iter().any(|word| word == name)
    }

    pub(crate) fn asks_for_help(&self) -> bool {
        self.word(0).is_some_and(|word| word == "--help" || word == "-h")
    }

    /// `PROJECT_ROOT`, else the current folder.
    #[expect(clippy::unused_self, reason = "where a call is made from is a fact of the call")]
    pub(crate) fn project(&self) -> PathBuf {
        project::root()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_never_the_value_of_another() {
        assert!(OPTIONS.is_sorted(), "they are searched by halves");
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let table = [
            ("--repo --story 1.1", None, Some("1.1")),
            ("--repo --repo . --story", Some("."), None),
            ("--repo a --repo --story 1.1", Some("a"), Some("1.1")),
            ("--repo --fix --story -1", Some("--fix"), Some("-1")),
        ];
        for (text, repo, story) in table {
            let words = words(text);
            let call = Call::new("commit-story", &words);
            assert_eq!((call.option("--repo"), call.option("--story")), (repo, story), "{text}");
        }
        let words = words("--epic --story 1.1");
        let call = Call::new("marker", &words);
        assert_eq!(
            (call.first_option("--epic"), call.first_option("--story")),
            (None, Some("1.1"))
        );
    }
}
