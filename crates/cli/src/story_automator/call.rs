//! One call of the helper: its words, and how options are found among them.

use std::path::PathBuf;

use super::project;

/// Words after the command's name. Options are found by a scan from the left; what is not known is left alone.
pub(crate) struct Call<'a> {
    pub(crate) command: &'a str,
    pub(crate) words: &'a [String],
}

impl<'a> Call<'a> {
    pub(crate) fn new(command: &'a str, words: &'a [String]) -> Self {
        Self { command, words }
    }

    /// The first word, and a call with the others.
    pub(crate) fn split(&self) -> Option<(&'a str, Call<'a>)> {
        let (first, rest) = self.words.split_first()?;
        Some((first, Call::new(self.command, rest)))
    }

    pub(crate) fn word(&self, index: usize) -> Option<&'a str> {
        self.words.get(index).map(String::as_str)
    }

    /// The value of an option: the last one given counts; one without a value is as good as none.
    pub(crate) fn option(&self, name: &str) -> Option<&'a str> {
        let pairs = self.words.iter().zip(self.words.iter().skip(1));
        pairs.filter(|(word, _)| *word == name).map(|(_, value)| value.as_str()).next_back()
    }

    /// The same for commands that look for an option's first place, and take what stands behind it.
    pub(crate) fn first_option(&self, name: &str) -> Option<&'a str> {
        let place = self.words.iter().position(|word| word == name)?;
        self.word(place + 1)
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
