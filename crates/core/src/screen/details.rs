//! What can be read off a screen beside the state.

use regex_lite::Captures;

use super::Screen;
use super::choices;
use super::grid::Grid;
use super::layout::Layout;
use super::pattern::Pattern;
use super::reading::{Details, Exit, Region, State, Todos};
use super::regions::{Line, Regions};
use crate::text::shortened;

/// Options, questions and drafts longer than this are cut.
const MAX_TEXT: usize = 2_000;
/// In a pane of fewer lines a dialog may not show all of its options.
const LOW: u16 = 30;
/// The left edge of blocks in opencode.
const RAIL: char = '┃';

/// A screen taken apart.
#[derive(Debug)]
pub(super) struct Picture<'r, 'a> {
    pub(super) layout: &'a Layout,
    pub(super) grid: &'a Grid,
    pub(super) regions: &'r Regions<'a>,
    pub(super) screen: &'r Screen<'a>,
}

impl Details {
    /// Adds what follows from the structure alone, as far as it goes with the state.
    pub(super) fn complete(&mut self, state: &State, picture: &Picture) {
        if matches!(state, State::Exited | State::Crashed | State::Starting) {
            // The picture of an agent that is gone says nothing any more.
            *self = Self { exit: self.exit, ..Self::default() };
            return;
        }
        let Picture { layout, regions, .. } = picture;
        set(&mut self.draft, draft(picture));
        let mark = layout.input.pasted.as_ref();
        self.hands.has_box = regions.get(Region::Box).is_some();
        self.hands.is_paste_mark =
            self.draft.as_deref().is_some_and(|text| mark.is_some_and(|mark| mark.matches(text)));
        self.hands.asked = regions.get(Region::Asked).map(|lines| {
            let lines: Vec<_> = lines.iter().map(|line| said(layout, line)).collect();
            lines.join("\n")
        });
        self.hands.answered = answered(regions);
        let text = |lines: &[Line]| lines.iter().map(Line::text).collect::<Vec<_>>().join("\n");
        self.hands.footer = regions.get(Region::Footer).map(text);
        set(&mut self.todos, todos(layout, regions));
        let dialog = regions.get(Region::Dialog);
        if let Some(dialog) = dialog.filter(|_| matches!(state, State::Waiting { .. })) {
            let styled = picture.grid.styled();
            let mut options = options(layout, dialog);
            self.hands.marked = choices::marked(layout, styled, dialog, &options);
            self.hands.numbers = choices::numbers(dialog, &options);
            self.hands.is_low = (1..LOW).contains(&picture.screen.height);
            let buttons = choices::buttons(layout, styled, dialog);
            if let Some(buttons) = buttons.filter(|_| options.is_empty()) {
                self.hands.marked = Some(buttons.marked);
                self.hands.numbers = (1..=buttons.texts.len()).collect();
                self.hands.sideways = true;
                options = buttons.texts.into_iter().map(|text| (buttons.line, text)).collect();
            }
            let first = options.first().map_or(dialog.len(), |(at, _)| *at);
            set(&mut self.question, question(&dialog[..first]));
            self.hands.about =
                dialog[..first].iter().flat_map(|line| essence(line.text())).collect();
            self.options =
                options.into_iter().map(|(_, text)| shortened(&text, MAX_TEXT)).collect();
        } else if !matches!(state, State::Waiting { .. }) {
            self.question = None;
        }
    }

    /// Takes the named groups of a rule that matched.
    pub(super) fn fill(&mut self, found: &Captures) {
        let group = |name| found.name(name).map(|text| text.as_str().trim());
        let number = |name| group(name).and_then(|text| text.parse().ok());
        set(&mut self.label, group("label").map(str::to_owned));
        set(&mut self.question, group("question").map(str::to_owned));
        set(&mut self.elapsed_secs, group("elapsed").and_then(seconds));
        set(&mut self.background, number("background"));
        if let (Some(done), Some(all)) = (number("done"), number("all")) {
            set(&mut self.todos, Some(Todos { done, doing: 0, open: all.saturating_sub(done) }));
        }
        let exit = |name| group(name).and_then(|text| text.parse().ok());
        set(&mut self.exit, exit("status").map(Exit::Status));
        set(&mut self.exit, exit("signal").map(Exit::Signal));
    }
}

/// A text without what depends on the width of the pane or moves by itself: blanks, frames, pictures.
pub(super) fn essence(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation())
}

/// A line of a person's message without its sign.
fn said<'a>(layout: &Layout, line: &Line<'a>) -> &'a str {
    let text = line.text();
    layout.asked.as_ref().and_then(|sign| sign.strip(text)).unwrap_or(text).trim()
}

/// Text typed by a person: dim text in the box is a suggestion, a placeholder is none either.
fn draft(picture: &Picture) -> Option<String> {
    let lines = picture.regions.get(Region::Box)?;
    let first = lines.first()?;
    let text = first.text().trim_start();
    let start = first.text().len() - text.len();
    // The cursor stands on the first character of a suggestion, which is reversed then, not dim.
    let second = start + text.chars().next().map_or(0, char::len_utf8);
    let suggested = if picture.grid.styled() {
        first.style_at(start).dim || first.style_at(second).dim
    } else {
        picture.screen.cursor.is_some_and(|cursor| stands_before(picture.grid, cursor, first))
    };
    let placeholder = picture.layout.input.placeholder.as_ref();
    if suggested || placeholder.is_some_and(|pattern| pattern.matches(text)) {
        return None;
    }
    let lines: Vec<_> = lines.iter().map(|line| line.text().trim()).collect();
    Some(shortened(&lines.join("\n"), MAX_TEXT))
}

/// Typing moves the cursor; it stands before the text only if the text was not typed.
fn stands_before(grid: &Grid, (column, line): (u16, u16), text: &Line) -> bool {
    let row = grid.rows().get(usize::from(line));
    row.is_some_and(|row| text.is_in(row)) && usize::from(column) <= text.column()
}

/// What can be chosen, by line: numbered lines, or else what stands below or above the marked line.
fn options(layout: &Layout, lines: &[Line]) -> Vec<(usize, String)> {
    let choice = |pattern: &Option<Pattern>, line: &Line| {
        let found = pattern.as_ref()?.captures(line.text())?;
        Some(found.name("option")?.as_str().trim().to_owned())
    };
    let numbered = |(at, line)| Some((at, choice(&layout.dialog.option, line)?));
    let mut options: Vec<_> = lines.iter().enumerate().filter_map(numbered).collect();
    options.drain(..other_lists(layout, lines, &options));
    let marked = lines.iter().find_map(|line| Some((line, choice(&layout.dialog.cursor, line)?)));
    let Some((cursor, text)) = marked.filter(|_| options.is_empty()) else { return options };
    let column = cursor.column_at(cursor.text().len() - text.len());
    let beside = |(at, line): (usize, &Line)| {
        let text = if line.is_same(cursor) { &text } else { line.text().trim() };
        (line.is_same(cursor) || line.column() == column).then(|| (at, text.to_owned()))
    };
    lines.iter().enumerate().filter_map(beside).collect()
}

/// How many of the numbered lines are of other lists: a plan, say, has numbered steps above its dialog. A list begins
/// with its number one, and only that of the dialog has the cursor.
fn other_lists(layout: &Layout, lines: &[Line], numbered: &[(usize, String)]) -> usize {
    let cursor = layout.dialog.cursor.as_ref();
    let is_it = |text: &str| cursor.is_some_and(|cursor| cursor.matches(text));
    let marked = |line: &Line| is_it(line.text()) || is_it(line.whole());
    let last = numbered.iter().rposition(|(at, _)| marked(&lines[*at]));
    let is_first = |(at, _): &(usize, String)| {
        let text = lines[*at].text().trim_start_matches(|sign: char| !sign.is_ascii_digit());
        text.starts_with("1.")
    };
    last.and_then(|last| numbered[..=last].iter().rposition(is_first)).unwrap_or(0)
}

/// The last line before the options that asks something, else the heading.
fn question(before: &[Line]) -> Option<String> {
    let words = before.iter().filter(|line| line.text().contains(char::is_alphanumeric));
    let lines: Vec<_> = words.map(|line| line.text().trim()).collect();
    let at = None
        .or_else(|| lines.iter().rposition(|line| line.ends_with(['?', '？'])))
        .or_else(|| lines.iter().position(|line| line.contains("? ")))
        .or_else(|| lines.iter().rposition(|line| line.ends_with(':')))
        .unwrap_or(0);
    let mut text = (*lines.get(at)?).to_owned();
    // A question that was wrapped begins on the line above.
    if let Some(above) = at.checked_sub(1).filter(|_| text.starts_with(char::is_lowercase)) {
        text = format!("{} {text}", lines[above]);
    }
    Some(shortened(&text, MAX_TEXT))
}

fn todos(layout: &Layout, regions: &Regions) -> Option<Todos> {
    let shape = &layout.todo;
    let mut todos = Todos::default();
    for region in [shape.region, Region::Dialog] {
        for line in regions.get(region).unwrap_or_default() {
            let is = |pattern: &Option<Pattern>| {
                pattern.as_ref().is_some_and(|pattern| pattern.matches(line.text()))
            };
            todos.done += u32::from(is(&shape.done));
            todos.doing += u32::from(is(&shape.doing));
            todos.open += u32::from(is(&shape.open));
        }
    }
    (todos != Todos::default()).then_some(todos)
}

/// The rule with more authority was there first.
fn set<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

/// `45s`, `1m 04s`, `2h 3m`, as agents write durations.
fn seconds(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    for part in text.split_whitespace() {
        let unit = part.chars().last()?;
        let number: u64 = part.strip_suffix(unit)?.parse().ok()?;
        let each = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        total = total.saturating_add(number.saturating_mul(each));
    }
    Some(total)
}

/// Whether there is something below the last message that is not its own text. That is indented, or has a rail at its left.
fn answered(regions: &Regions) -> bool {
    let Some([asked, ..]) = regions.get(Region::Asked) else { return false };
    let has_rail = |line: &Line| line.text().trim_start().starts_with(RAIL);
    let is_answer = |line: &Line| {
        if has_rail(asked) {
            !line.text().trim().is_empty() && !has_rail(line)
        } else {
            line.text().starts_with(|c: char| !c.is_whitespace())
        }
    };
    regions.get(Region::Turn).is_some_and(|lines| lines.iter().any(is_answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(seconds("45s"), Some(45));
        assert_eq!(seconds("1m 04s"), Some(64));
        assert_eq!(seconds("2h 3m"), Some(7_380));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("99999999999999999999s"), None);
    }
}
