//! Tries patterns only near one of their words. Transcripts are long, secrets are few, and searching for a word is a
//! hundred times faster than trying a pattern.

use std::ops::Range;

use regex_lite::Regex;

/// How far after its word the last part of a match may begin; that part is taken to its end.
const BEHIND: usize = 120;
/// What counts as "soon after", in bytes including the word.
const SOON: usize = 40;
/// Longest word that is taken whole.
const LONGEST_WORD: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Haystack<'t> {
    pub(super) text: &'t str,
    small: String,
}

impl<'t> Haystack<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, small: text.to_ascii_lowercase() }
    }
}

/// Where a pattern can match at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clues<'a, W> {
    /// One of these, in lower case, is in every match,
    pub(super) words: &'a [W],
    /// at most this many bytes after its beginning,
    pub(super) before: usize,
    /// and soon followed by one of these characters; by any if empty.
    pub(super) then: &'a str,
}

#[cfg(test)]
thread_local! {
    /// Bytes that were searched without a match.
    pub(super) static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The matches of a pattern's named group, in order.
pub(super) fn find<'t, W: AsRef<str>>(
    hay: &Haystack<'t>,
    clues: Clues<W>,
    pattern: &Regex,
    part: &str,
) -> Vec<Match<'t>> {
    let Clues { words, before, then } = clues;
    let at = |word: &'_ str| hay.small.match_indices(word).map(|(at, _)| at).collect::<Vec<_>>();
    let mut places: Vec<usize> = words.iter().flat_map(|word| at(word.as_ref())).collect();
    places.sort_unstable();
    places.dedup();
    let mut found = Vec::new();
    let mut behind = 0;
    // Up to here there is no match: one that begins before this would have been found.
    let mut searched = 0;
    for at in places {
        let near = (at + BEHIND).min(hay.text.len());
        if at < behind || near < searched || !is_followed(hay.text, at, then) {
            continue;
        }
        let window = window(hay.text, at.saturating_sub(before).max(behind), at);
        let Some(captures) = pattern.captures(&hay.text[window.clone()]) else {
            searched = window.end;
            #[cfg(test)]
            WORK.with(|work| work.set(work.get() + window.len()));
            continue;
        };
        behind = window.start + captures.get(0).map_or(0, |whole| whole.end());
        found.extend(captures.name(part).map(|part| Match {
            at: window.start + part.start()..window.start + part.end(),
            text: part.as_str(),
        }));
    }
    found
}

#[derive(Debug)]
pub(super) struct Match<'t> {
    pub(super) at: Range<usize>,
    pub(super) text: &'t str,
}

fn is_followed(text: &str, at: usize, then: &str) -> bool {
    let soon = &text.as_bytes()[at..(at + SOON).min(text.len())];
    then.is_empty() || soon.iter().any(|byte| then.as_bytes().contains(byte))
}

/// The surroundings of a position, extended to the end of the last word.
fn window(text: &str, start: usize, at: usize) -> Range<usize> {
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let near = boundary((at + BEHIND).min(text.len()));
    let far = boundary((near + LONGEST_WORD).min(text.len()));
    let rest = text[near..far].find(char::is_whitespace);
    boundary(start)..rest.map_or(far, |rest| near + rest)
}
