//! Tables for people: aligned columns, coloured cells, no lines, cut to the terminal's width.
//!
//! Written here because colours in comfy-table bring crossterm and ten more crates along, for
//! what is sixty lines.

use std::fmt;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui;

/// Blanks between columns.
const GAP: usize = 2;
/// No column is made narrower than this.
const NARROWEST: usize = 8;
/// What the last column, which says the most, gets if others can be made narrower.
const LAST_COLUMN: usize = 32;

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
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style::new().fg_color(self.colour.map(Into::into));
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
}

impl Table {
    /// `width` cuts the last column; without it nothing is cut.
    pub(crate) fn new(header: &[&str], width: Option<usize>) -> Self {
        Self { header: header.iter().map(|&t| t.to_owned()).collect(), rows: Vec::new(), width }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    pub(crate) fn height(&self) -> usize {
        self.rows.len() + 1
    }

    /// Takes room from the widest columns until the last one has enough to be worth reading.
    fn shrink(&self, widths: &mut [usize]) {
        let Some((last, others)) = widths.split_last_mut() else { return };
        let wanted = (*last).min(LAST_COLUMN);
        let used = |others: &[usize]| others.iter().map(|width| width + GAP).sum::<usize>();
        while self.width.is_some_and(|width| used(others) + wanted > width) {
            let Some(widest) = others.iter_mut().max().filter(|width| **width > NARROWEST) else {
                return;
            };
            *widest -= 1;
        }
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let first_line = |cell: &Cell| cell.text.lines().next().unwrap_or_default().width();
        let widest = cells.map(first_line).max().unwrap_or(0);
        widest.max(self.header[column].width())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = (0..self.header.len()).map(|n| self.column_width(n)).collect();
        self.shrink(&mut widths);
        let before_last: usize = widths.iter().rev().skip(1).map(|w| w + GAP).sum();
        let left_for_last = self.width.map_or(usize::MAX, |w| w.saturating_sub(before_last).max(8));
        let bold = Style::new().bold();
        let header = self.header.iter().map(|title| (title.as_str(), bold));
        write_line(f, header, &widths, left_for_last)?;
        for row in &self.rows {
            writeln!(f)?;
            let cells = row.iter().map(|cell| {
                let colour = cell.colour.map(Into::into);
                (cell.text.as_str(), Style::new().fg_color(colour))
            });
            write_line(f, cells, &widths, left_for_last)?;
        }
        Ok(())
    }
}

fn write_line<'a>(
    f: &mut fmt::Formatter<'_>,
    cells: impl Iterator<Item = (&'a str, Style)>,
    widths: &[usize],
    left_for_last: usize,
) -> fmt::Result {
    let cells: Vec<_> = cells.collect();
    // Blanks at the end would wrap in a narrow terminal.
    let full = cells.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
    for (column, (text, style)) in cells.into_iter().take(full).enumerate() {
        if column + 1 == widths.len() {
            let text = cut(text, left_for_last);
            write!(f, "{style}{text}{style:#}")?;
        } else if column + 1 == full {
            write!(f, "{style}{}{style:#}", cut(text, widths[column]))?;
        } else {
            let text = cut(text, widths[column]);
            let fill = (widths[column] + GAP).saturating_sub(text.width());
            write!(f, "{style}{text}{style:#}{:fill$}", "")?;
        }
    }
    Ok(())
}

/// The text, or as much of it as fits with a mark that there was more. New lines end it.
fn cut(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.width() <= width && line.len() == text.len() {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let mut kept: String = line.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_cut() {
        let mut table = Table::new(&["NAME", "WHY"], Some(18));
        table.row(["日本".into(), "short".into()]);
        table.row(["a".into(), "rather too long".into()]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(plain, "NAME  WHY\n日本  short\na     rather too …");
    }

    #[test]
    fn wide_columns_make_room_for_the_last() {
        let mut table = Table::new(&["NAME", "FOLDER", "WHY"], Some(40));
        table.row([
            "short".into(),
            "/a/very/long/folder/name/indeed".into(),
            "because of this".into(),
        ]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(plain.lines().last(), Some("short  /a/very/long/fo…  because of this"));
    }

    #[test]
    fn no_blanks_at_the_end() {
        let mut table = Table::new(&["NAME", "FOUND", "REMEDY"], None);
        table.row(["tmux".into(), "3.3a".into(), "".into()]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(plain, "NAME  FOUND  REMEDY\ntmux  3.3a");
    }

    #[test]
    fn colours_take_no_room() {
        let mut table = Table::new(&["S", "W"], None);
        table.row([Cell::painted("ok", AnsiColor::Green), "x".into()]);
        let text = table.to_string();
        assert!(text.contains("\u{1b}[32mok\u{1b}[0m  x"), "{text:?}");
    }
}
