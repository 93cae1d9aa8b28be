//! Texts of agents, repositories and other hosts, as a terminal may see them.
//!
//! A control character could do anything there: move the cursor, set the title, answer in the user's name. Characters that
//! are not seen but change what is (directions of writing, widths of nothing, tags) make a text look like another. Each of
//! them is shown as a dot; what a person writes is left alone.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What is shown instead.
const DOT: char = '·';

/// Whether a character is a control, or is not seen itself and may change how others are.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'                        // soft hyphen
            | '\u{61c}'                     // Arabic letter mark
            | '\u{115f}' | '\u{1160}'       // Hangul fillers
            | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'       // Mongolian selectors and separator
            | '\u{200b}'..='\u{200f}'       // zero width, and marks of direction
            | '\u{2028}'..='\u{202e}'       // separators, embeddings and overrides
            | '\u{2060}'..='\u{206f}'       // joiners, isolates, deprecated controls
            | '\u{3164}' | '\u{ffa0}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'       // annotations
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'     // tags, and selectors that carry data
        )
}

/// Joins letters in some scripts, and pictures.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// The text with nothing in it that a terminal obeys or hides. Lines stay lines.
pub fn harmless(text: &str) -> Cow<'_, str> {
    filtered(text, |_| false)
}

/// The same for a text that we have coloured ourselves: plain colours, bold and dim pass.
pub fn coloured(text: &str) -> Cow<'_, str> {
    filtered(text, |codes| {
        let is_ours = |code: &str| {
            matches!(code, "" | "0" | "1" | "2" | "3" | "4" | "22" | "23" | "24" | "39")
                || (code.len() == 2 && matches!(code.as_bytes(), [b'3' | b'9', b'0'..=b'7']))
        };
        codes.split(';').all(is_ours)
    })
}

/// The same for a screen: all colours and attributes pass, and nothing else.
pub fn screen(text: &str) -> Cow<'_, str> {
    filtered(text, |_| true)
}

fn filtered(text: &str, may_pass: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(attributes) = attributes(rest).filter(|all| may_pass(codes(all))) {
            out.push_str(attributes);
            rest = &rest[attributes.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
        let stays = match c {
            '\n' => true,
            c if is_joiner(c) => joins(before) && joins(rest.chars().next()),
            c => !is_hidden(c),
        };
        match c {
            _ if stays => out.push(c),
            '\t' => out.push(' '),
            _ => out.push(DOT),
        }
        // A selector of an emoji's looks is no letter.
        if c != '\u{fe0f}' {
            before = Some(c);
        }
    }
    Cow::Owned(out)
}

/// A code for colours and attributes at the beginning of a text: `ESC [ 1 ; 31 m`.
fn attributes(text: &str) -> Option<&str> {
    let codes = text.strip_prefix("\x1b[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..].starts_with('m').then(|| &text[..end + 3])
}

fn codes(attributes: &str) -> &str {
    attributes.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m')).unwrap_or_default()
}

/// JSON that says the same, with all such characters written as escapes. They are only ever within its texts.
pub fn json(written: &str) -> Cow<'_, str> {
    if !written.chars().any(|c| is_hidden(c) && c != '\n') {
        return Cow::Borrowed(written);
    }
    let mut out = String::with_capacity(written.len());
    for c in written.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide() {
        let table = [
            ("plain\ntext", "plain\ntext"),
            ("a\tb", "a b"),
            ("\x1b[2J\x1b]0;title\x07", "·[2J·]0;title·"),
            ("\x1b[31mred", "·[31mred"),
            ("c1 \u{9b}31m \u{90}x\u{9c}", "c1 ·31m ·x·"),
            ("user\u{202e}nimda\u{202c}", "user·nimda·"),
            ("\u{2066}a\u{2069}\u{200e}\u{200f}\u{61c}", "·a····"),
            ("a\u{200b}b\u{feff}c\u{2060}d\u{ad}e", "a·b·c·d·e"),
            ("a\u{200d}b a\u{200c}b", "a·b a·b"),
            ("x\u{e0041}\u{e0100}y\u{3164}z", "x··y·z"),
            ("line\u{2028}par\u{2029}", "line·par·"),
            ("\r\u{7f}\0", "···"),
            // What people write.
            (
                "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥",
                "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥",
            ),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("naïve 日本 שלום", "naïve 日本 שלום"),
        ];
        for (text, want) in table {
            assert_eq!(harmless(text), want, "{text:?}");
            assert_eq!(harmless(&harmless(text)), want, "again: {text:?}");
        }
    }

    #[test]
    fn colours_of_our_own() {
        let ours = "\x1b[1mNAME\x1b[0m \x1b[32mok\x1b[0m \x1b[91mbad\x1b[39m\n";
        assert_eq!(coloured(ours), ours);
        for (text, want) in [
            ("\x1b[8mconceal", "·[8mconceal"),
            ("\x1b[38;5;1mx", "·[38;5;1mx"),
            ("\x1b[7mx\x1b[31", "·[7mx·[31"),
            ("\x1b[31m\x1b[2K", "\x1b[31m·[2K"),
            ("\x1b[m\u{202e}", "\x1b[m·"),
        ] {
            assert_eq!(coloured(text), want, "{text:?}");
        }
        assert_eq!(screen("\x1b[38;5;1mx\x1b[H\u{202e}"), "\x1b[38;5;1mx·[H·");
    }

    #[test]
    fn json_says_the_same() {
        let value = serde_json::json!({ "a\u{202e}": "x\u{9b}y\u{e0041}\n\u{7f}日" });
        let written = json(&value.to_string()).into_owned();
        assert!(!written.chars().any(is_hidden), "{written}");
        assert!(written.contains("\\u202e") && written.contains("\\udb40\\udc41"), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }
}
