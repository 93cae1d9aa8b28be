//! Private keys between their `BEGIN` and `END` lines, also if only a part is visible.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::flat::{Fill, Span};
use super::near::{self, Clues, Haystack};

#[expect(clippy::expect_used, reason = "a test uses it")]
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?<mark>-----(?:BEGIN|END) [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)")
        .expect("invariant: a fixed pattern")
});

/// Limit on the lines of a key.
const MAX_LINES: usize = 200;
/// Shortest line of a key whose other end is not visible.
const SHORTEST_LINE: usize = 8;

pub(super) fn spans(hay: &Haystack) -> Vec<Span> {
    let text = hay.text;
    let mut spans = Vec::new();
    let clues = Clues { words: &["private key"], before: 60, then: "-" };
    let mut marks = near::find(hay, clues, &MARK, "mark").into_iter().peekable();
    let mut behind = 0;
    let begins = |mark: &str| mark.starts_with("-----BEGIN");
    while let Some(mark) = marks.next() {
        let next = marks.peek().map_or(text.len(), |next| next.at.start);
        let goes_to_end = marks.peek().is_some_and(|next| !begins(next.text));
        let inside = mark.at.end..next;
        if !begins(mark.text) {
            spans.extend(up(text, behind..mark.at.start));
        } else if goes_to_end && lines(text, inside.clone()) <= MAX_LINES {
            spans.extend(material(text, inside));
            // This end does not belong to another key too.
            behind = marks.next().map_or(next, |end| end.at.end);
            continue;
        } else {
            spans.extend(down(text, inside));
        }
        behind = mark.at.end;
    }
    spans
}

fn lines(text: &str, part: Range<usize>) -> usize {
    text[part].matches('\n').count()
}

fn is_material(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=".contains(c)
}

/// All runs of letters and digits in a part; frames around them stay.
fn material(text: &str, part: Range<usize>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (at, shown) in text[part.clone()].char_indices().filter(|(_, c)| is_material(*c)) {
        let at = part.start + at;
        let end = at + shown.len_utf8();
        match spans.last_mut() {
            Some(last) if last.at.end == at => last.at.end = end,
            _ => spans.push(Span { at: at..end, fill: Fill::Secret("") }),
        }
    }
    spans
}

/// The lines after a beginning without a visible end, while they look like a key.
fn down(text: &str, part: Range<usize>) -> Vec<Span> {
    let mut at = part.start;
    let mut spans = Vec::new();
    for (number, line) in text[part].split_inclusive('\n').enumerate() {
        if number > 0 && !is_line_of_key(line) {
            break;
        }
        spans.extend(material(text, at..at + line.len()));
        at += line.len();
    }
    spans
}

/// The lines before an end without a visible beginning.
fn up(text: &str, part: Range<usize>) -> Vec<Span> {
    let mut end = part.end;
    let mut spans = Vec::new();
    for line in text[part].split_inclusive('\n').rev() {
        if is_line_of_key(line) {
            spans.extend(material(text, end - line.len()..end));
        } else if line.ends_with('\n') {
            break;
        }
        end -= line.len();
    }
    spans
}

/// One word of a key's characters, or two where lines are numbered.
fn is_line_of_key(line: &str) -> bool {
    let inner = line.trim_matches(|c: char| !is_material(c));
    let mut words = inner.split_whitespace().rev();
    let is_key = |word: &str| word.len() >= SHORTEST_LINE && word.chars().all(is_material);
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    words.next().is_some_and(is_key) && words.all(is_number)
}
