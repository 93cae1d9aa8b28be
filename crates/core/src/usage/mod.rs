//! Tokens that agents used, as their transcripts tell.
//!
//! A file of each agent: it turns lines into [`Record`]s, one for each answer of a model. An answer may be written several times: while
//! it grows, and again in the transcript of a resumed or forked conversation. All copies have the same key, and the one with the
//! most tokens counts. So a transcript may be read again at any time.

mod budget;
mod chart;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod prices;
mod report;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use budget::{
    BudgetAction, BudgetRule, BudgetScope, BudgetStanding, Period, held_words, used_up_words,
};
pub use chart::{cost_words, svg, token_words};
pub use dogwatch_protocol::usage::{By, Tokens};
pub use opencode::OpencodeMessage;
pub use prices::{Price, PriceTable, Rates};
pub use report::{Bucket, Cost, Grouped, Label, grouped, spent};

/// A quarter of an hour: every time zone begins its hours and days at one.
pub const SLOT_SECONDS: i64 = 15 * 60;

/// Prompts longer than these have another price with some models.
pub const LONG_PROMPTS: [u64; 3] = [100_000, 200_000, 272_000];

/// How transcripts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Claude,
    Codex,
    /// Lines.
    Gemini,
    /// One JSON document: gemini before 0.40.
    GeminiDocument,
    /// One JSON document for each message: opencode before 1.2.
    OpencodeMessage,
}

impl Format {
    /// The file is one document: it is read from its beginning whenever it has changed.
    pub fn is_document(self) -> bool {
        matches!(self, Self::GeminiDocument | Self::OpencodeMessage)
    }
}

/// One answer of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub key: i64,
    /// Quarters of an hour since 1970.
    pub slot: i64,
    /// Index into the models of its batch.
    pub model: u32,
    /// Index into the conversations of its batch.
    pub thread: u32,
    pub is_subagent: bool,
    /// How many of [`LONG_PROMPTS`] its prompt exceeds.
    pub length: u8,
    pub tokens: Tokens,
}

/// A conversation, and the folder that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    pub conversation: String,
    pub cwd: String,
}

/// What was read from one transcript.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub models: Vec<String>,
    pub threads: Vec<Thread>,
    pub records: Vec<Record>,
    known: HashMap<i64, usize>,
}

impl Batch {
    /// Adds an answer, or what was not known of it.
    fn add(&mut self, answer: Answer<'_>) {
        if answer.tokens == Tokens::default() {
            return;
        }
        if let Some(at) = self.known.get(&answer.key) {
            self.records[*at].tokens.raise(answer.tokens);
            return;
        }
        let model = position(&mut self.models, answer.model);
        let (conversation, cwd) = (answer.conversation, answer.cwd);
        let is_known = |thread: &Thread| thread.conversation == conversation;
        let thread = self.threads.iter().rposition(is_known).unwrap_or_else(|| {
            self.threads
                .push(Thread { conversation: conversation.to_owned(), cwd: cwd.to_owned() });
            self.threads.len() - 1
        });
        let prompt = answer.prompt.unwrap_or_else(|| answer.tokens.prompt());
        self.known.insert(answer.key, self.records.len());
        self.records.push(Record {
            key: answer.key,
            slot: answer.second.div_euclid(SLOT_SECONDS),
            model,
            thread: u32::try_from(thread).unwrap_or(u32::MAX),
            is_subagent: answer.is_subagent,
            length: length_of(prompt),
            tokens: answer.tokens,
        });
    }
}

/// How many of [`LONG_PROMPTS`] a prompt exceeds.
fn length_of(prompt: u64) -> u8 {
    LONG_PROMPTS.iter().fold(0, |n, limit| n + u8::from(prompt > *limit))
}

fn position(names: &mut Vec<String>, name: &str) -> u32 {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// One answer, as a line tells of it.
struct Answer<'a> {
    key: i64,
    second: i64,
    model: &'a str,
    conversation: &'a str,
    cwd: &'a str,
    is_subagent: bool,
    tokens: Tokens,
    /// The length of its prompt, if that is not the sum of its tokens.
    prompt: Option<u64>,
}

/// What the lines so far said about those that follow. Kept with the place up to which a transcript was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conversation: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    turn: String,
    #[serde(skip_serializing_if = "is_false")]
    is_subagent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Tokens>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Reads whole lines, or a whole document.
pub fn read(format: Format, text: &[u8], state: &mut State, batch: &mut Batch) {
    match format {
        Format::Claude => claude::read(text, state, batch),
        Format::Codex => codex::read(text, state, batch),
        Format::Gemini => gemini::read(text, state, batch),
        Format::GeminiDocument => gemini::read_document(text, state, batch),
        Format::OpencodeMessage => opencode::read(text, state, batch),
    }
}

/// Adds a message of opencode's database.
pub fn add_opencode(message: &OpencodeMessage<'_>, batch: &mut Batch) {
    opencode::add(message, batch);
}

/// The lines with an object of this name (in its quotes), each once.
fn lines_with<'t>(text: &'t [u8], name: &'static [u8]) -> impl Iterator<Item = &'t [u8]> {
    let finder = memchr::memmem::Finder::new(name);
    let mut from = 0;
    std::iter::from_fn(move || {
        let mut after = from;
        let at = loop {
            let at = after + finder.find(text.get(after..)?)?;
            after = at + name.len();
            if begins_object(&text[after..]) {
                break at;
            }
        };
        let begin = memchr::memrchr(b'\n', &text[from..at]).map_or(from, |n| from + n + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
        from = end + 1;
        Some(&text[begin..end])
    })
}

/// `:{`, with blanks or without.
fn begins_object(text: &[u8]) -> bool {
    let mut letters = text.iter().filter(|byte| !matches!(byte, b' ' | b'\t')).take(2);
    (letters.next(), letters.next()) == (Some(&b':'), Some(&b'{'))
}

/// Seconds since 1970 of a time as transcripts have it.
fn second(text: &str) -> Option<i64> {
    quick_second(text.as_bytes())
        .or_else(|| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second))
}

/// Of `2026-11-16T10:00:00.123Z`, which nearly all of them are.
fn quick_second(text: &[u8]) -> Option<i64> {
    if text.len() < 20 || text.last() != Some(&b'Z') || text[10] != b'T' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        text[range].iter().try_fold(0_i16, |n, byte| {
            byte.is_ascii_digit().then(|| n * 10 + i16::from(byte - b'0'))
        })
    };
    let part = |range: std::ops::Range<usize>| i8::try_from(number(range)?).ok();
    let date = jiff::civil::Date::new(number(0..4)?, part(5..7)?, part(8..10)?).ok()?;
    let epoch = jiff::civil::Date::constant(1970, 1, 1);
    let days = i64::from(date.since((jiff::Unit::Day, epoch)).ok()?.get_days());
    let clock = [number(11..13)?, number(14..16)?, number(17..19)?].map(i64::from);
    Some(days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2])
}

/// A hash of bytes, the same in every version: it is kept.
pub fn hash(bytes: &[u8]) -> i64 {
    key(&[bytes])
}

/// A key of parts, the same in every version: it is kept.
fn key(parts: &[&[u8]]) -> i64 {
    // FNV-1a, with its bits mixed at the end.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)).cast_signed()
}
