//! What of conversations is searched, and how a question is asked.

use jiff::Timestamp;
use serde_json::Value;

use crate::topic::Topic;
use crate::transcript::{self, Dialect, Entry, Speaker};

/// Longest text in one row of the index, in bytes: longer ones are split.
pub const MOST_TEXT: usize = 8 * 1024;
/// Of a longer message the rest is not searched.
const MOST_OF_A_MESSAGE: usize = 256 * 1024;
/// Words of a question that count.
const MOST_WORDS: usize = 16;
/// Longest word of a question, in characters.
const LONGEST_WORD: usize = 100;

/// The words of a question, as the expression of an index: rows that have all of them. Whatever the text has, it is words and
/// never syntax. `None` if there is no word in it.
pub fn expression(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .take(MOST_WORDS)
        .map(|word| {
            let word: String = word.chars().take(LONGEST_WORD).collect();
            format!("\"{}\"", word.replace('"', "\"\""))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Something that was said, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub at: Option<Timestamp>,
    pub speaker: Speaker,
    pub text: String,
}

/// What whole lines of a transcript say. What was said twice in a row, because the agent wrote it again when it was complete, counts
/// once.
///
/// `topic` learns titles by the way.
pub fn said(dialect: Dialect, lines: &str, topic: &mut Topic) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for line in lines.lines() {
        if !may_speak(line) {
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        topic.fold_line(dialect, &value);
        let at = value["timestamp"].as_str().and_then(|at| at.parse().ok());
        for Entry { speaker, text } in transcript::said_in(dialect, &value) {
            if !all.iter().rev().take(4).any(|last| last.speaker == speaker && last.text == text) {
                all.push(Said { at, speaker, text });
            }
        }
    }
    all
}

/// Most of a transcript are results of tools, and reading them as JSON takes most of the time: lines that cannot have anything that a
/// person or an agent said are passed over.
fn may_speak(line: &str) -> bool {
    // Claude's results of tools and its own notes; codex's results. Each of these words may also be in what was said, so only lines
    // that lack the words of a message are left out.
    let has = |word: &str| line.contains(word);
    if has("\"tool_result\"") {
        return has("\"type\":\"text\"") || has("\"type\": \"text\"");
    }
    !(has("_call_output\"") && has("\"response_item\"") && !has("\"role\""))
}

/// The folder that a conversation is about, and its id, as its first lines have them.
pub fn head(lines: &str) -> (Option<String>, Option<String>) {
    let values: Vec<Value> =
        lines.lines().take(20).filter_map(|line| serde_json::from_str(line).ok()).collect();
    let first = |paths: [&str; 3]| {
        let text = |value: &Value| {
            paths.iter().find_map(|path| Some(value.pointer(path)?.as_str()?.to_owned()))
        };
        values.iter().find_map(text)
    };
    (
        first(["/cwd", "/payload/cwd", "/payload/cwd"]),
        first(["/sessionId", "/payload/id", "/payload/session_id"]),
    )
}

/// A fingerprint that stays the same from version to version (FNV-1a).
pub fn print(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A text in pieces for the index, cut between words where there are any.
pub fn pieces(text: &str) -> Vec<&str> {
    let mut rest = &text[..text.floor_char_boundary(MOST_OF_A_MESSAGE)];
    let mut pieces = Vec::new();
    while rest.len() > MOST_TEXT {
        let most = rest.floor_char_boundary(MOST_TEXT);
        let at = rest[..most].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(most);
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_words() {
        for (text, want) in [
            ("rate limit", Some(r#""rate" "limit""#)),
            ("  rate\n\tlimit ", Some(r#""rate" "limit""#)),
            (r#"say "hi""#, Some(r#""say" """hi""""#)),
            ("a OR b", Some(r#""a" "OR" "b""#)),
            ("NEAR(a b, 5)", Some(r#""NEAR(a" "b," "5)""#)),
            ("-x col:y z* ^w (", Some(r#""-x" "col:y" "z*" "^w""#)),
            ("größe 日本", Some(r#""größe" "日本""#)),
            ("a\0b", Some(r#""a" "b""#)),
            ("\" * - ( ) : ^ \u{1b}", None),
            ("", None),
        ] {
            assert_eq!(expression(text).as_deref(), want, "{text:?}");
        }
        let long = expression(&"x ".repeat(1000)).unwrap();
        assert_eq!(long.split(' ').count(), MOST_WORDS);
        assert!(expression(&"x".repeat(100_000)).unwrap().len() < 200);
    }

    #[test]
    fn what_is_said_and_when() {
        let lines = [
            r#"{"type":"user","timestamp":"2026-11-15T10:00:00Z","message":{"content":"build \"tool_result\" it"}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-15T10:00:01Z","message":{"content":[{"type":"text","text":"On it."}]}}"#,
            r#"{"type":"user","timestamp":"2026-11-15T10:00:02Z","message":{"content":[{"type":"tool_result","content":"a long text"}]}}"#,
            r#"{"type":"user","timestamp":"2026-11-15T10:00:03Z","message":{"content":[{"type":"tool_result","content":"x"},{"type":"text","text":"and stop"}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","te"#,
        ];
        let said = said(Dialect::Claude, &lines.join("\n"), &mut Topic::default());
        let told: Vec<(&str, Option<i64>)> =
            said.iter().map(|s| (s.text.as_str(), s.at.map(|at| at.as_second() % 60))).collect();
        assert_eq!(
            told,
            [("build \"tool_result\" it", Some(0)), ("On it.", Some(1)), ("and stop", Some(3))]
        );
        let written_again = "{\"type\":\"gemini\",\"content\":\"Done.\"}\n".repeat(3);
        assert_eq!(super::said(Dialect::Gemini, &written_again, &mut Topic::default()).len(), 1);
        let codex = [
            r#"{"type":"response_item","payload":{"type":"function_call_output","output":"x"}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"the function_call_output\" is"}]}}"#,
        ];
        assert_eq!(super::said(Dialect::Codex, &codex.join("\n"), &mut Topic::default()).len(), 1);
    }

    #[test]
    fn long_texts_are_split() {
        assert_eq!(pieces("short"), ["short"]);
        assert_eq!(pieces(" \n"), [] as [&str; 0]);
        let long = "wort für wort ".repeat(2000);
        let split = pieces(&long);
        assert_eq!(split.concat(), long);
        assert!(split.iter().all(|piece| piece.len() <= MOST_TEXT));
        let one = "ü".repeat(20_000);
        assert_eq!(pieces(&one).concat(), one);
        let huge = "x ".repeat(1_000_000);
        assert!(pieces(&huge).concat().len() <= MOST_OF_A_MESSAGE);
    }
}
