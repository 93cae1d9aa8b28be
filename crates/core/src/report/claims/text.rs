//! Markdown to sentences: without code, quotes and tables.

use super::super::commands::{self, Kind};

/// A sentence of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// In lower case, its code replaced by what it is: `⟦test⟧`, `⟦build⟧`, `⟦code⟧`, `⟦quote⟧`.
    pub(super) plain: String,
    /// As it was said.
    pub(super) shown: String,
    pub(super) is_question: bool,
}

pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    paragraphs(text).iter().flat_map(|paragraph| split(paragraph)).collect()
}

/// Lines that belong together, joined. Code blocks, quotations, tables and open items are left out.
fn paragraphs(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut joins = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(end) = fence {
            if line.starts_with(end) {
                fence = None;
            }
            joins = false;
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        let is_left_out = line.starts_with(['>', '|', '#', '<'])
            || ["- [ ]", "* [ ]", "+ [ ]"].iter().any(|mark| line.starts_with(mark));
        if fence.is_some() || line.is_empty() || is_left_out {
            joins = false;
            continue;
        }
        let begins = !line.starts_with(|c: char| c.is_alphanumeric() || "`*_(\"“'".contains(c))
            || line.starts_with("* ")
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        match all.last_mut().filter(|last| joins && !begins && !last.ends_with(':')) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => all.push(line.to_owned()),
        }
        joins = true;
    }
    all
}

/// Sentences of a paragraph.
fn split(paragraph: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut start = 0;
    let mut rest = paragraph.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let closing = match c {
            '`' => Some('`'),
            '"' => Some('"'),
            '“' => Some('”'),
            '«' => Some('»'),
            '\'' if plain.is_empty() || plain.ends_with([' ', '(']) => Some('\''),
            _ => None,
        };
        let inside = closing.and_then(|end| {
            let after = &paragraph[at + c.len_utf8()..];
            let marks = if c == '`' { after.chars().take_while(|c| *c == '`').count() } else { 0 };
            after[marks..].split_once(end).map(|(inside, _)| (marks, inside, end))
        });
        if let Some((marks, inside, end)) = inside {
            let until = at + c.len_utf8() + marks + inside.len() + end.len_utf8();
            while rest.peek().is_some_and(|(next, after)| {
                *next < until || (c == '`' && *next < until + marks && *after == '`')
            }) {
                rest.next();
            }
            plain.push_str(if c == '`' { code(inside) } else { "⟦quote⟧" });
            continue;
        }
        let is_last = rest.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_number = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit());
        if matches!(c, '.' | '!' | '?') && is_last && !is_number {
            close(&mut found, &mut plain, &paragraph[start..at + c.len_utf8()], c == '?');
            start = at + c.len_utf8();
        } else if c != '*' && c != '_' || (c == '_' && !is_last && !plain.ends_with(' ')) {
            plain.extend(if c == '’' { '\''.to_lowercase() } else { c.to_lowercase() });
        }
    }
    close(&mut found, &mut plain, &paragraph[start..], false);
    found
}

fn close(found: &mut Vec<Sentence>, plain: &mut String, shown: &str, is_question: bool) {
    let text = std::mem::take(plain);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        found.push(Sentence { plain: text, shown: shown.trim().to_owned(), is_question });
    }
}

/// What a piece of code stands for.
fn code(inside: &str) -> &'static str {
    match commands::runs(inside).first().map(|run| run.kind) {
        Some(Kind::Test) => "⟦test⟧",
        Some(Kind::Build) => "⟦build⟧",
        None => "⟦code⟧",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<String> {
        sentences(text).into_iter().map(|sentence| sentence.plain).collect()
    }

    #[test]
    fn sentences_of_a_text() {
        for (text, expected) in [
            ("One. Two!\nThree", &["one", "two", "three"][..]),
            ("soft\nwrap.", &["soft wrap"]),
            ("- a\n- b\n1. c", &["- a", "- b", "1. c"]),
            ("x\n\ny", &["x", "y"]),
            ("See:\nthis", &["see:", "this"]),
            ("v1.2 of a.rs is in.", &["v1.2 of a.rs is in"]),
            ("Run `cargo test` or `ls`", &["run ⟦test⟧ or ⟦code⟧"]),
            ("Run ``npm run build``.", &["run ⟦build⟧"]),
            ("He said \"a. b\" twice", &["he said ⟦quote⟧ twice"]),
            ("It's “so. so” and don't", &["it's ⟦quote⟧ and don't"]),
            ("**bold** _soft_ snake_case", &["bold soft snake_case"]),
            ("```\ncode\n```\n> quote\n| a |\n# head\n- [ ] open", &[]),
            ("an open `tick", &["an open `tick"]),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        assert!(sentences("Is it?")[0].is_question);
    }
}
