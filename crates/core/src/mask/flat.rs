//! Spans of a text to hide, and their replacements.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// A part to hide, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: Range<usize>,
    pub(super) fill: Fill,
}

/// The replacement; where two spans overlap, the later one here wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fill {
    Name,
    Home,
    /// With the characters that stay.
    Secret(&'static str),
}

impl Fill {
    /// The replacement of one character: of the same width; blanks stay.
    pub(super) fn instead_of(self, hidden: char) -> Option<char> {
        let (narrow, wide) = match self {
            Self::Home => ('~', '～'),
            Self::Name | Self::Secret(_) => ('x', 'ｘ'),
        };
        match hidden.width() {
            _ if hidden.is_whitespace() => Some(hidden),
            _ if matches!(self, Self::Secret(keep) if keep.contains(hidden)) => Some(hidden),
            Some(2) => Some(wide),
            Some(1) => Some(narrow),
            // Combining accents are dropped with their base.
            _ => None,
        }
    }
}

/// Hides all spans. A home directory becomes one `~`.
pub(super) fn replace(text: &str, spans: &[Span]) -> String {
    let mut fills: Vec<Option<Fill>> = vec![None; text.len()];
    for span in spans {
        for fill in &mut fills[span.at.clone()] {
            *fill = (*fill).max(Some(span.fill));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut in_home = false;
    for (at, shown) in text.char_indices() {
        let fill = fills[at];
        match fill {
            Some(Fill::Home) if in_home => {}
            Some(Fill::Home) => out.push('~'),
            Some(fill) => out.extend(fill.instead_of(shown)),
            None => out.push(shown),
        }
        in_home = fill == Some(Fill::Home);
    }
    out
}

/// Where a word occurs.
pub(super) fn occurrences<'a>(
    text: &'a str,
    word: &'a str,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    text.match_indices(word).map(|(at, found)| at..at + found.len())
}

/// Whether it is a whole word: `alice`, not `malice`.
pub(super) fn is_word(text: &str, at: &Range<usize>) -> bool {
    let before = text[..at.start].chars().next_back();
    let after = text[at.end..].chars().next();
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Whether it is a path or the beginning of one, and not a part of another one.
pub(super) fn is_path(text: &str, at: &Range<usize>, home: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let before = text[..at.start].chars().next_back();
    let mut after = text[at.end..].chars();
    // A dash ends a directory name only in the form where all separators are dashes.
    let ends = match after.next() {
        Some('-') if home.starts_with("/-") => true,
        // `in /home/me.` ends a sentence.
        Some('.') => !after.next().is_some_and(goes_on),
        Some(next) => !goes_on(next),
        None => true,
    };
    ends && (home.starts_with("/-") || !before.is_some_and(goes_on))
}
