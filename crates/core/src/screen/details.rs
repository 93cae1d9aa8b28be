//! What can be read off a screen beside the state.

use regex::Captures;

use super::Screen;
use super::grid::Grid;
use super::layout::{Layout, Pattern};
use super::reading::{Details, Exit, Region, State, Todos};
use super::regions::{Line, Regions};

/// Options, questions and drafts longer than this are cut.
const MAX_TEXT: usize = 2_000;

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
        set(&mut self.todos, todos(layout, regions));
        let dialog = regions.get(Region::Dialog);
        if let Some(dialog) = dialog.filter(|_| matches!(state, State::Waiting { .. })) {
            set(&mut self.question, question(layout, dialog));
            self.options = options(layout, dialog);
        } else {
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

/// Typing moves the cursor; before the text it stands only if nobody typed it.
fn stands_before(grid: &Grid, (column, line): (u16, u16), text: &Line) -> bool {
    let row = grid.rows().get(usize::from(line));
    row.is_some_and(|row| text.is_in(row)) && usize::from(column) <= text.column()
}

/// Where options are numbered, lines without a number describe them.
fn options(layout: &Layout, lines: &[Line]) -> Vec<String> {
    let Some(option) = &layout.dialog.option else { return Vec::new() };
    let found: Vec<_> =
        lines.iter().filter_map(|line| option.regex().captures(line.text())).collect();
    let numbered = found.iter().any(|found| found.name("number").is_some());
    let wanted = found.iter().filter(|found| found.name("number").is_some() == numbered);
    let texts = wanted.filter_map(|found| found.name("option"));
    texts.map(|text| shortened(text.as_str().trim(), MAX_TEXT)).collect()
}

/// The last line before the options that asks something, else the last line before them.
fn question(layout: &Layout, lines: &[Line]) -> Option<String> {
    let option = layout.dialog.option.as_ref();
    let is_option = |line: &Line| option.is_some_and(|option| option.matches(line.text()));
    let first = lines.iter().position(is_option).unwrap_or(lines.len());
    let before = lines[..first].iter().filter(|line| line.text().contains(char::is_alphanumeric));
    let before: Vec<_> = before.collect();
    let asks = before.iter().rposition(|line| line.text().ends_with(['?', '？']));
    let at = asks.or_else(|| before.len().checked_sub(1))?;
    let mut text = before[at].text().trim().to_owned();
    // A question that was wrapped begins on the line above.
    if let Some(above) = at.checked_sub(1).filter(|_| text.starts_with(char::is_lowercase)) {
        text = format!("{} {text}", before[above].text().trim());
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

pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((byte, _)) => format!("{}…", &text[..byte]),
        None => text.to_owned(),
    }
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
