//! Regular expressions of markers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex_lite::{Captures, Match, Regex};
use serde::Deserialize;

use super::needles::Needles;

/// No pattern counts further than this.
const LONGEST_RUN: usize = 40;
/// Defined parts may use other parts, so many levels deep.
const MAX_DEPTH: usize = 4;

/// A regular expression that is compiled when it is first needed: most of a file's are not, in a short command.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub struct Pattern {
    source: String,
    needles: OnceLock<Option<Needles>>,
    regex: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Self {
        Self { source, needles: OnceLock::new(), regex: OnceLock::new() }
    }
}

impl Pattern {
    pub fn matches(&self, text: &str) -> bool {
        self.regex_for(text).is_some_and(|regex| regex.is_match(&with_short_runs(text)))
    }

    pub fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.regex_for(text)?.find(text)
    }

    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex_for(text)?.captures(text)
    }

    /// What remains after a match at the beginning.
    pub fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.find(text)?;
        (found.start() == 0).then(|| &text[found.end()..])
    }

    /// `None` if it cannot match this text: something that it asks for is not there. A pattern that was not
    /// [checked](Self::check) and is not sound matches nothing.
    fn regex_for(&self, text: &str) -> Option<&Regex> {
        let needles = self.needles.get_or_init(|| Needles::of(&self.source));
        if needles.as_ref().is_some_and(|needles| !needles.are_in(text)) {
            return None;
        }
        self.regex.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }

    /// What is wrong with it, if anything is.
    pub(super) fn check(&self) -> Result<(), String> {
        let problem = match Regex::new(&self.source) {
            Err(error) => error.to_string(),
            Ok(_) if self.counts_further_than(LONGEST_RUN) => {
                format!("repeats more than {LONGEST_RUN} times")
            }
            Ok(_) => return Ok(()),
        };
        Err(format!("the pattern {:?}: {problem}", self.source))
    }

    /// By the numbers of repetitions, `{12,}` or `{0,30}`.
    fn counts_further_than(&self, most: usize) -> bool {
        let counts = self.source.split('{').skip(1).filter_map(|after| after.split_once('}'));
        let mut numbers = counts.flat_map(|(counts, _)| counts.split(','));
        numbers.any(|number| number.trim().parse().is_ok_and(|number: usize| number > most))
    }

    /// Whether it would match this text if it were tried.
    #[cfg(test)]
    pub(super) fn misses(&self, text: &str) -> bool {
        let regex = self.regex.get_or_init(|| Regex::new(&self.source).ok());
        !self.matches(text) && regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    pub(super) fn fill(&mut self, parts: &Parts) {
        parts.fill(&mut self.source);
    }
}

/// A text in which no sign is repeated more often than patterns count. The edges of boxes are as wide as the screen, and
/// to match them sign by sign would take a fifth of all the time.
fn with_short_runs(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_RUN {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut last, mut run) = (String::new(), None, 0);
    for (at, sign) in text.char_indices() {
        run = if last == Some(sign) { run + 1 } else { 1 };
        last = Some(sign);
        if run == LONGEST_RUN + 1 && kept.is_empty() {
            kept.reserve(text.len());
            kept.push_str(&text[..at]);
        } else if run <= LONGEST_RUN && !kept.is_empty() {
            kept.push(sign);
        }
    }
    if kept.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// Parts of patterns by name: `@name@` stands for them.
#[derive(Debug)]
pub(super) struct Parts(Vec<(String, String)>);

impl Parts {
    pub(super) fn of(define: &BTreeMap<String, String>) -> Self {
        let named = |(name, part): (&String, &String)| (format!("@{name}@"), part.clone());
        let mut parts = Self(define.iter().map(named).collect());
        for _ in 1..MAX_DEPTH {
            let known = Self(parts.0.clone());
            parts.0.iter_mut().for_each(|(_, part)| known.fill(part));
        }
        parts
    }

    fn fill(&self, text: &mut String) {
        for (name, part) in &self.0 {
            if text.contains(name) {
                *text = text.replace(name, part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_cut() {
        let long = "─".repeat(200);
        let cut = "─".repeat(LONGEST_RUN);
        assert_eq!(with_short_runs(&long), cut);
        assert_eq!(with_short_runs(&format!("a{long} b {long}╮")), format!("a{cut} b {cut}╮"));
        for same in ["", "ab", &"ab".repeat(99), &cut] {
            assert!(matches!(with_short_runs(same), Cow::Borrowed(text) if text == same));
        }
    }

    #[test]
    fn parts_of_parts() {
        let define = [("a", "x"), ("b", "<@a@@a@>"), ("c", "@b@+")];
        let define = define.map(|(name, part)| (name.to_owned(), part.to_owned())).into();
        let mut pattern = Pattern::from("^@c@ @unknown@ me@home$".to_owned());
        pattern.fill(&Parts::of(&define));
        assert_eq!(pattern.source, "^<xx>+ @unknown@ me@home$");
        assert!(pattern.matches("<xx>> @unknown@ me@home"));
    }

    #[test]
    fn parts_that_never_end_do_no_harm() {
        let define = [("a".to_owned(), "@a@@a@".to_owned())].into();
        let mut pattern = Pattern::from("@a@".to_owned());
        pattern.fill(&Parts::of(&define));
        assert!(pattern.source.len() < 10_000);
    }
}
