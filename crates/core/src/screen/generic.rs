//! Reads the screen of an agent without rules of its own: what any terminal program draws when it works, asks or waits.
//!
//! A dialog outranks a spinner, and that a prompt. What is found here is a guess by structure, and its reason says so.

use std::sync::LazyLock;

use serde::Deserialize;

use super::details::essence;
use super::grid::{Grid, Row};
use super::pattern::Pattern;
use super::reading::{Details, Need, Reading, Reason, Region, State};
use crate::text::shortened;

/// Lines at the bottom in which a dialog is looked for.
const DIALOG_LINES: usize = 16;
/// Lines at the bottom in which a spinner is looked for.
const SPINNER_LINES: usize = 10;
/// Lines that may stand below a dialog: keys, a list of tasks, a status line.
const BELOW_DIALOG: usize = 7;
/// Lines that may stand below a prompt, and below a box.
const BELOW_PROMPT: usize = 3;
const BELOW_BOX: usize = 6;
/// Lines between one option and the next.
const OPTION_GAP: usize = 4;
/// Rows between the edges of a box.
const BOX_ROWS: usize = 12;
/// Longest text of a detail.
const MAX_TEXT: usize = 300;
/// Signs that frame a line.
const FRAME: [char; 8] = ['│', '┃', '║', '▌', '▐', '▎', '╎', '┆'];
/// Signs that edges are drawn with.
const EDGE: &str = "─━═╌┄┈╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝├┤▀▄▁▔╹╻_";

static SHAPES: LazyLock<Option<Shapes>> =
    LazyLock::new(|| toml::from_str(include_str!("../../screens/generic.toml")).ok());

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    cursor: Pattern,
    option: Pattern,
    choice: Pattern,
    yes_or_no: Pattern,
    keys_in_brackets: Pattern,
    question: Pattern,
    keys: Pattern,
    confirms: Pattern,
    secret: Pattern,
    any_key: Pattern,
    number_wanted: Pattern,
    permission: Pattern,
    trust: Pattern,
    login: Pattern,
    spinner: Vec<Pattern>,
    prompt: Pattern,
    named_prompt: Pattern,
    placeholder: Pattern,
}

/// A line with something written on it, without frame and blanks.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    row: usize,
    text: &'a str,
}

struct Look<'a> {
    shapes: &'a Shapes,
    rows: &'a [Row],
    lines: Vec<Line<'a>>,
    /// The last row of the pane is in use.
    clipped: bool,
}

/// What the structure of a screen says; nothing if it says nothing.
pub(super) fn read(grid: &Grid, height: u16) -> Option<Reading> {
    let shapes = SHAPES.as_ref()?;
    let rows = grid.rows();
    let clipped = height > 0 && rows.len() >= usize::from(height);
    let mut lines = Vec::new();
    for (row, text) in rows.iter().enumerate() {
        let text = bare(text.text());
        if !text.is_empty() && !is_edge(text) {
            lines.push(Line { row, text });
        }
    }
    let look = Look { shapes, rows, lines, clipped };
    look.dialog().or_else(|| look.spinner()).or_else(|| look.prompt())
}

/// Whether a plain command asks on its last line, and for what: what it writes may look like anything, so nothing but a
/// question that can be answered there counts.
pub(super) fn asks_at_the_end(grid: &Grid) -> Option<Reading> {
    let shapes = SHAPES.as_ref()?;
    let last =
        grid.rows().iter().rev().map(|row| bare(row.text())).find(|text| !text.is_empty())?;
    let asks = [
        (&shapes.yes_or_no, "yes or no on the last line", Need::Question),
        (&shapes.secret, "asks for a secret on the last line", Need::Login),
        (&shapes.any_key, "waits for a key", Need::Other),
    ];
    let (_, rule, need) = asks.into_iter().find(|(pattern, ..)| pattern.matches(last))?;
    Some(reading(State::Waiting { need }, rule, Region::LastLine, last, asked(last)))
}

impl<'a> Look<'a> {
    fn bottom(&self, count: usize) -> &[Line<'a>] {
        &self.lines[self.lines.len().saturating_sub(count)..]
    }

    /// A line of keys, and not of something that these keys stop.
    fn names_keys(&self, text: &str) -> bool {
        self.shapes.keys.matches(text) && (self.shapes.confirms.matches(text) || !self.spins(text))
    }

    fn spins(&self, text: &str) -> bool {
        self.shapes.spinner.iter().any(|pattern| pattern.matches(text))
    }

    fn dialog(&self) -> Option<Reading> {
        let lines = self.bottom(DIALOG_LINES);
        self.marked_options(lines)
            .or_else(|| self.numbered_options(lines))
            .or_else(|| self.one_line(lines))
            .or_else(|| self.question_with_keys(lines))
    }

    /// One option is marked, and another stands beside it: both with numbers, or both of the words that dialogs use.
    fn marked_options(&self, lines: &[Line<'a>]) -> Option<Reading> {
        let Shapes { cursor, option, choice, .. } = self.shapes;
        let text_of = |pattern: &Pattern, line: &Line<'a>| {
            Some(pattern.captures(line.text)?.name("option")?.as_str().trim().to_owned())
        };
        let is_numbered = |text: &str| text.contains(|c: char| c.is_ascii_digit());
        let marked = lines.iter().rposition(|line| {
            let Some(text) = text_of(cursor, line) else { return false };
            let sign = &line.text[..line.text.len() - text.len()];
            is_numbered(sign) || choice.matches(&text)
        })?;
        let with_number = {
            let text = text_of(cursor, &lines[marked])?;
            is_numbered(&lines[marked].text[..lines[marked].text.len() - text.len()])
        };
        let beside = |line: &Line<'a>| {
            if with_number {
                text_of(option, line)
            } else {
                choice.matches(line.text).then(|| line.text.to_owned())
            }
        };
        let near =
            marked.saturating_sub(2 * OPTION_GAP)..(marked + 2 * OPTION_GAP + 1).min(lines.len());
        let mut options = Vec::new();
        let (mut first, mut last) = (marked, marked);
        for at in near {
            let text = if at == marked { text_of(cursor, &lines[at]) } else { beside(&lines[at]) };
            let Some(text) = text else { continue };
            (first, last) = (first.min(at), last.max(at));
            options.push((at, shortened(&text, MAX_TEXT)));
        }
        let place = options.iter().position(|(at, _)| *at == marked)?;
        let named = |line: &Line| self.names_keys(line.text);
        let is_draft = self.input_box().is_some_and(|rows| rows.contains(&lines[marked].row))
            && !options.iter().any(|(_, text)| choice.matches(text))
            && !lines[last + 1..].iter().any(named);
        if options.len() < 2 || is_draft || !self.ends_with(lines, last) {
            return None;
        }
        let above = &lines[..first];
        let mut reading = self.waiting(
            above,
            "options at the bottom, one of them marked",
            lines[marked].text,
            &options,
        );
        reading.details.hands.marked = Some(place);
        Some(reading)
    }

    /// A numbered list, and below it a line that wants one of the numbers.
    fn numbered_options(&self, lines: &[Line<'a>]) -> Option<Reading> {
        let wants = |line: &Line| {
            self.shapes.number_wanted.matches(line.text) || self.shapes.any_key.matches(line.text)
        };
        let at = lines.iter().rposition(wants).filter(|at| self.ends_with(lines, *at))?;
        let option = |(at, line): (usize, &Line<'a>)| {
            let text = self.shapes.option.captures(line.text)?.name("option")?.as_str().to_owned();
            Some((at, shortened(&text, MAX_TEXT)))
        };
        let options: Vec<_> = lines[..at].iter().enumerate().filter_map(option).collect();
        let (first, last) = (options.first()?.0, options.last()?.0);
        let is_list = options.len() > 1 && at - last <= OPTION_GAP;
        let rule = "numbered options at the bottom";
        is_list.then(|| self.waiting(&lines[..first], rule, lines[at].text, &options))
    }

    /// The question and its answers on one line.
    fn one_line(&self, lines: &[Line<'a>]) -> Option<Reading> {
        let Shapes { yes_or_no, keys_in_brackets, secret, any_key, .. } = self.shapes;
        let asks =
            |line: &Line| yes_or_no.matches(line.text) || keys_in_brackets.matches(line.text);
        if let Some(at) = lines.iter().rposition(asks).filter(|at| self.ends_with(lines, *at)) {
            let above = &lines[..=at];
            return Some(self.waiting(above, "yes or no at the bottom", lines[at].text, &[]));
        }
        let last = lines.last()?;
        let (rule, need) = match last.text {
            text if secret.matches(text) => ("asks for a secret on the last line", Need::Login),
            text if any_key.matches(text) => ("waits for a key", Need::Other),
            _ => return None,
        };
        Some(reading(State::Waiting { need }, rule, Region::LastLine, last.text, asked(last.text)))
    }

    /// Keys that choose and confirm, in place of a box.
    fn question_with_keys(&self, lines: &[Line<'a>]) -> Option<Reading> {
        let keys = lines.iter().rposition(|line| self.names_keys(line.text))?;
        let from = keys.saturating_sub(2 * OPTION_GAP);
        let asks = |line: &Line| self.shapes.question.matches(line.text);
        let question = lines[from..keys].iter().rposition(asks).map(|at| from + at + 1);
        let in_place = question.is_some() || self.input_box().is_none();
        let above = &lines[..question.unwrap_or(keys)];
        let rule = "keys of a dialog at the bottom";
        let shown = in_place && self.ends_with(lines, keys);
        shown.then(|| self.waiting(above, rule, lines[keys].text, &[]))
    }

    /// Whether a dialog whose last line this is may be the last on the screen: only keys and a status line are below it.
    fn ends_with(&self, lines: &[Line<'a>], at: usize) -> bool {
        let below = &lines[at + 1..];
        let over = |line: &Line| {
            let is_hint = self.names_keys(line.text);
            !is_hint && (self.spins(line.text) || self.shapes.prompt.matches(line.text))
        };
        below.len() <= BELOW_DIALOG && !below.iter().any(over)
    }

    fn waiting(
        &self,
        above: &[Line<'a>],
        rule: &str,
        text: &str,
        options: &[(usize, String)],
    ) -> Reading {
        let near = &above[above.len().saturating_sub(2 * OPTION_GAP)..];
        let ends = |line: &&Line| {
            line.text.ends_with(['?', '？']) || self.shapes.question.matches(line.text)
        };
        let question = near.iter().rev().find(ends).or(near.last()).map(|line| line.text);
        let said = |pattern: &Pattern| {
            near.iter().any(|line| pattern.matches(line.text))
                || options.iter().any(|(_, text)| pattern.matches(text))
        };
        let need = match self.shapes {
            shapes if said(&shapes.login) => Need::Login,
            shapes if said(&shapes.trust) => Need::Trust,
            shapes if said(&shapes.permission) => Need::Permission,
            _ => Need::Question,
        };
        let mut details = asked(question.unwrap_or_default());
        details.options = options.iter().map(|(_, text)| text.clone()).collect();
        let still = near.iter().filter(|line| !self.spins(line.text));
        details.hands.about = still.flat_map(|line| essence(line.text)).collect();
        reading(State::Waiting { need }, rule, Region::Dialog, text, details)
    }

    fn spinner(&self) -> Option<Reading> {
        let inside = self.input_box();
        let outside = |line: &&Line| inside.as_ref().is_none_or(|rows| !rows.contains(&line.row));
        let lines = self.bottom(SPINNER_LINES).iter().rev().filter(outside);
        let mut lines = lines.filter(|line| !self.shapes.prompt.matches(line.text));
        let (line, found) = lines.find_map(|line| {
            let patterns = &self.shapes.spinner;
            Some((line, patterns.iter().find_map(|pattern| pattern.captures(line.text))?))
        })?;
        let label = found.name("label").map(|label| label.as_str().trim());
        let label = label.filter(|label| !label.is_empty()).map(|label| shortened(label, MAX_TEXT));
        let details = Details { label, ..Details::default() };
        let rule = "something turns or can be stopped";
        Some(reading(State::Working, rule, Region::Activity, line.text, details))
    }

    fn prompt(&self) -> Option<Reading> {
        let idle = |rule, text| {
            Some(reading(State::Idle { done: false }, rule, Region::Box, text, Details::default()))
        };
        if let Some(rows) = self.input_box() {
            // A pane that is too low for anything above the box hides what the agent is at.
            if self.clipped && rows.start <= 1 {
                return None;
            }
            let text = self.lines.iter().find(|line| rows.contains(&line.row));
            return idle(
                "box at the bottom, no sign of activity",
                text.map_or("", |line| line.text),
            );
        }
        let last = self.lines.last()?;
        let empty = |line: &&Line| {
            let is_sign = self.shapes.prompt.matches(line.text);
            is_sign
                && (line.text.chars().count() == 1 || self.shapes.placeholder.matches(line.text))
        };
        let at_end = self.bottom(BELOW_PROMPT + 1).iter().rev().find(empty);
        let is_prompt = |text: &str| {
            self.shapes.prompt.matches(text)
                || self.shapes.named_prompt.matches(text)
                || self.shapes.placeholder.matches(text)
        };
        let found = at_end.or(Some(last).filter(|line| is_prompt(line.text)))?;
        idle("prompt at the bottom, no sign of activity", found.text)
    }

    /// Rows of the last box, if it takes input: it holds a prompt sign, a placeholder or nothing.
    fn input_box(&self) -> Option<std::ops::Range<usize>> {
        let edges = |row: &usize| is_edge(self.rows[*row].text().trim());
        let all = self.rows.len();
        let written = |rows: std::ops::Range<usize>| {
            self.lines.iter().filter(move |line| rows.contains(&line.row))
        };
        let end = (0..all).rev().find(edges)?;
        if written(end..all).count() > BELOW_BOX {
            return None;
        }
        let start = (end.saturating_sub(BOX_ROWS)..end).rev().find(edges)?;
        let inside = start + 1..end;
        let first = written(inside.clone()).next();
        let can_type = first.is_none_or(|line| {
            self.shapes.prompt.matches(line.text) || self.shapes.placeholder.matches(line.text)
        });
        (can_type && !inside.is_empty()).then_some(inside)
    }
}

fn asked(question: &str) -> Details {
    let question = Some(question).filter(|text| !text.is_empty());
    Details { question: question.map(|text| shortened(text, MAX_TEXT)), ..Details::default() }
}

fn reading(state: State, rule: &str, region: Region, text: &str, details: Details) -> Reading {
    let rule = format!("by structure: {rule}");
    let reason = Reason { rule, region, text: shortened(text, MAX_TEXT) };
    Reading { state, details, reasons: vec![reason] }
}

/// Text without blanks and frame.
fn bare(text: &str) -> &str {
    text.trim().trim_matches(FRAME).trim()
}

/// A line that is drawn, perhaps with a label in it.
fn is_edge(text: &str) -> bool {
    let drawn = text.chars().filter(|c| EDGE.contains(*c)).count();
    let begins = text.chars().next().is_some_and(|c| EDGE.contains(c));
    begins && drawn >= 3 && 2 * drawn >= text.chars().count()
}

#[cfg(test)]
#[path = "generic_tests.rs"]
mod tests;
