//! Tables for people: aligned columns, coloured cells, no lines, fitted to the terminal's width.
//!
//! What is too wide is made narrower in this order: columns that may be left out go; paths lose their beginning, and
//! texts of people their end; the last column, which says the most, goes on in further lines beside the others, or
//! below them; in the end all columns do. So names, states, diagnoses and remedies are always there in full.
//!
//! Written here because colours in comfy-table bring crossterm and ten more crates along.

mod text;

use std::fmt;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::ui;
use text::{cut, one_line, shorten_path, wrap};

/// Blanks between columns.
const GAP: usize = 2;
/// Blanks before what goes on below.
const INDENT: usize = 2;
/// No path and no text is made narrower than this.
const NARROWEST: usize = 12;
/// The least room in which it makes sense to read on beside the other columns.
const LAST_COLUMN: usize = 24;
/// The least room for a text beside columns that are of less use.
const TEXT_COLUMN: usize = 20;
/// Columns of paths, and of what people wrote.
const PATHS: [&str; 2] = ["FOLDER", "PROGRAM"];
const TEXTS: [&str; 4] = ["TEXT", "PROMPT", "TITLE", "PROJECT"];

/// A text in one cell, perhaps in a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    colour: Option<AnsiColor>,
}

impl Cell {
    pub(crate) fn painted(text: impl Into<String>, colour: AnsiColor) -> Self {
        Self { text: ui::harmless(text.into()), colour: Some(colour) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn style(&self) -> Style {
        Style::new().fg_color(self.colour.map(Into::into))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = self.style();
        write!(f, "{style}{}{style:#}", self.text)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: ui::harmless(text.into()), colour: None }
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    width: Option<usize>,
    /// Columns that may be left out, the first of them first.
    spare: Vec<String>,
    /// Columns that are shown only where all others keep a width, the first of them left out first.
    optional: Vec<Optional>,
}

#[derive(Debug)]
struct Optional {
    title: String,
    /// The room that texts keep.
    text: usize,
    /// The room that the last column keeps beside the others.
    last: usize,
}

/// Where the columns go.
#[derive(Debug)]
struct Layout {
    /// Those that are shown.
    columns: Vec<usize>,
    widths: Vec<usize>,
    place: Place,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// All in one line; the last may go on in its own column.
    Beside,
    /// The last below the others.
    LastBelow,
    /// As many in a line as fit.
    Stacked,
}

impl Table {
    /// Fitted to `width`; without it nothing is cut.
    pub(crate) fn new(header: &[&str], width: Option<usize>) -> Self {
        let header = header.iter().map(|&title| title.to_owned()).collect();
        Self { header, rows: Vec::new(), width, spare: Vec::new(), optional: Vec::new() }
    }

    /// Columns that are left out where there is no room, the first of them first.
    pub(crate) fn spare(mut self, titles: &[&str]) -> Self {
        self.spare = titles.iter().map(|&title| title.to_owned()).collect();
        self
    }

    /// Columns that are shown only where the others have room, the first of them left out first: the last column and texts go before
    /// `minor` ones; texts before `middle` ones, for which the last column goes below; and `major` ones stay while texts can be read.
    pub(crate) fn optional(mut self, minor: &[&str], middle: &[&str], major: &[&str]) -> Self {
        let kinds =
            [(minor, TEXT_COLUMN, LAST_COLUMN), (middle, TEXT_COLUMN, 0), (major, NARROWEST, 0)];
        for (titles, text, last) in kinds {
            let with = |title: &&str| Optional { title: (*title).to_owned(), text, last };
            self.optional.extend(titles.iter().map(with));
        }
        self
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// How many lines it takes.
    pub(crate) fn height(&self) -> usize {
        self.to_string().lines().count()
    }

    /// The header and each row, as they are drawn.
    pub(crate) fn blocks(&self) -> (String, Vec<String>) {
        let layout = self.layout();
        let bold = Style::new().bold();
        let titles: Vec<_> = self.header.iter().map(|title| (title.clone(), bold)).collect();
        let cells = |row: &Vec<Cell>| -> Vec<(String, Style)> {
            row.iter().map(|cell| (self.in_line(&cell.text), cell.style())).collect()
        };
        let rows = self.rows.iter().map(|row| self.draw(&layout, &cells(row))).collect();
        (self.draw(&layout, &titles), rows)
    }

    fn in_line(&self, text: &str) -> String {
        if self.width.is_some() { one_line(text) } else { cut(text, usize::MAX) }
    }

    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| self.in_line(&cell.text).width()).max().unwrap_or(0);
        widest.max(self.header[column].width())
    }

    fn layout(&self) -> Layout {
        let mut columns: Vec<usize> = (0..self.header.len()).collect();
        let mut widths: Vec<usize> = columns.iter().map(|column| self.natural(*column)).collect();
        let Some(width) = self.width else {
            return Layout { columns, widths, place: Place::Beside };
        };
        let total = |widths: &[usize]| widths.iter().map(|w| w + GAP).sum::<usize>() - GAP;
        for spare in &self.spare {
            let at = columns.iter().position(|column| self.header[*column] == *spare);
            if let Some(at) = at.filter(|_| total(&widths) > width) {
                columns.remove(at);
                widths.remove(at);
            }
        }
        for optional in &self.optional {
            let least = self.least(&columns, &widths, optional);
            let at = columns.iter().position(|column| self.header[*column] == optional.title);
            if let Some(at) = at.filter(|_| least > width) {
                columns.remove(at);
                widths.remove(at);
            }
        }
        let last = columns.len().saturating_sub(1);
        let wanted = |widths: &[usize]| {
            let rest = widths[last].saturating_sub(LAST_COLUMN);
            let bends =
                !self.is_one_of(&columns, last, &PATHS) && !self.is_one_of(&columns, last, &TEXTS);
            total(widths) - if bends { rest } else { 0 }
        };
        let natural = widths.clone();
        self.shrink(&columns, &mut widths, width, wanted);
        let before_last = total(&widths) - widths[last];
        let place = if total(&widths) <= width {
            Place::Beside
        } else if before_last + LAST_COLUMN.min(widths[last]) <= width {
            widths[last] = width - before_last;
            Place::Beside
        } else if before_last.saturating_sub(GAP) <= width {
            if !self.optional.is_empty() {
                // The room that the last one leaves.
                widths = natural;
                let others = |widths: &[usize]| total(&widths[..last]);
                self.shrink(&columns, &mut widths, width, others);
            }
            Place::LastBelow
        } else {
            Place::Stacked
        };
        Layout { columns, widths, place }
    }

    /// Makes texts and paths narrower, until what is wanted fits.
    fn shrink(
        &self,
        columns: &[usize],
        widths: &mut [usize],
        width: usize,
        wanted: impl Fn(&[usize]) -> usize,
    ) {
        for kinds in [&TEXTS[..], &PATHS[..]] {
            for at in (0..columns.len()).filter(|at| self.is_one_of(columns, *at, kinds)) {
                let over = wanted(widths).saturating_sub(width);
                widths[at] = widths[at].saturating_sub(over).max(widths[at].min(NARROWEST));
            }
        }
    }

    /// The least width of these columns that leaves texts and the last column the room that they keep beside the optional one.
    fn least(&self, columns: &[usize], widths: &[usize], beside: &Optional) -> usize {
        let last = columns.len().saturating_sub(1);
        let of = |(at, width): (usize, &usize)| {
            let is_text = self.is_one_of(columns, at, &TEXTS);
            let most = if at == last {
                beside.last
            } else if is_text {
                beside.text
            } else {
                usize::MAX
            };
            // Without room, the last one goes below.
            if most == 0 { 0 } else { GAP + (*width).min(most) }
        };
        widths.iter().enumerate().map(of).sum::<usize>().saturating_sub(GAP)
    }

    fn is_one_of(&self, columns: &[usize], at: usize, titles: &[&str]) -> bool {
        titles.contains(&self.header[columns[at]].as_str())
    }

    /// One row, without a new line at its end.
    fn draw(&self, layout: &Layout, cells: &[(String, Style)]) -> String {
        let width = self.width.unwrap_or(usize::MAX);
        let mut shown: Vec<(String, Style, usize)> = Vec::new();
        for (at, (column, room)) in layout.columns.iter().zip(&layout.widths).enumerate() {
            let Some((text, style)) = cells.get(*column) else { continue };
            let text = if self.width.is_none() {
                text.clone()
            } else if self.is_one_of(&layout.columns, at, &PATHS) {
                shorten_path(text, *room)
            } else if self.is_one_of(&layout.columns, at, &TEXTS) {
                cut(text, *room)
            } else {
                text.clone()
            };
            shown.push((text, *style, *room));
        }
        match layout.place {
            Place::Beside => beside(&shown),
            Place::LastBelow => below(&shown, width),
            Place::Stacked => stacked(&shown, width),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (header, rows) = self.blocks();
        f.write_str(&header)?;
        rows.iter().try_for_each(|row| write!(f, "\n{row}"))
    }
}

type Shown = (String, Style, usize);

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Cells in one line, without blanks at the end: they would wrap in a narrow terminal.
fn line(cells: &[Shown]) -> String {
    let full = cells.iter().rposition(|(text, ..)| !text.is_empty()).map_or(0, |last| last + 1);
    let mut out = String::new();
    for (at, (text, style, room)) in cells[..full].iter().enumerate() {
        out.push_str(&painted(text, *style));
        if at + 1 < full {
            out.push_str(&" ".repeat((room + GAP).saturating_sub(text.width())));
        }
    }
    out
}

fn beside(cells: &[Shown]) -> String {
    let Some(((text, style, room), others)) = cells.split_last() else { return String::new() };
    if text.width() <= *room {
        return line(cells);
    }
    let indent: usize = others.iter().map(|(_, _, room)| room + GAP).sum();
    let mut parts = wrap(text, *room).into_iter();
    let mut first = others.to_vec();
    first.push((parts.next().unwrap_or_default(), *style, *room));
    let mut out = line(&first);
    for part in parts {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
        out.push_str(&painted(&part, *style));
    }
    out
}

fn below(cells: &[Shown], width: usize) -> String {
    let Some(((text, style, _), others)) = cells.split_last() else { return String::new() };
    let mut out = line(others);
    for part in wrap(text, width.saturating_sub(INDENT)).iter().filter(|part| !part.is_empty()) {
        out.push('\n');
        out.push_str(&" ".repeat(INDENT));
        out.push_str(&painted(part, *style));
    }
    out
}

fn stacked(cells: &[Shown], width: usize) -> String {
    let mut lines: Vec<Vec<Shown>> = Vec::new();
    let mut row: Vec<Shown> = Vec::new();
    let room = width.saturating_sub(INDENT);
    for (text, style, _) in cells.iter().filter(|(text, ..)| !text.is_empty()) {
        for part in wrap(text, room) {
            let used: usize = row.iter().map(|(text, ..)| text.width() + GAP).sum();
            if !row.is_empty() && used + part.width() > room {
                lines.push(std::mem::take(&mut row));
            }
            let width = part.width();
            row.push((part, *style, width));
        }
    }
    lines.push(row);
    let drawn = lines.iter().enumerate().map(|(at, cells)| {
        let indent = if at > 0 { INDENT } else { 0 };
        format!("{:indent$}{}", "", line(cells))
    });
    drawn.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
