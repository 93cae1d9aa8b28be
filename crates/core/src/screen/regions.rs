//! Finds the parts of a screen: what is the box, what is above it, what replaced it.
//!
//! Rules look at one part each. That is what keeps words in an answer, in a draft or in an old
//! line from being taken for signals.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;

use super::Screen;
use super::finder::{Finder, InputBox};
use super::grid::{Grid, Row};
use super::layout::{Layout, ShellShape};
use super::reading::Region;
use super::style::Style;

/// Lines in the regions at the bottom of a screen without a box.
const TAIL_LINES: usize = 24;
const ABOVE_SHELL_LINES: usize = 6;
/// Lines at the top in which an agent may introduce itself.
const BANNER_LINES: usize = 12;

/// A line of a region: text on the screen, without what frames it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    text: &'a str,
    row: Option<&'a Row>,
}

impl<'a> Line<'a> {
    pub(super) fn of(row: &'a Row, text: &'a str) -> Self {
        Self { text, row: Some(row) }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The text with what frames it.
    pub fn whole(&self) -> &'a str {
        self.row.map_or(self.text, Row::text)
    }

    /// Style of a byte of the text.
    pub fn style_at(&self, byte: usize) -> Style {
        self.row.map_or_else(Style::default, |row| row.style_at(self.offset(row) + byte))
    }

    pub fn is_in(&self, row: &Row) -> bool {
        self.row.is_some_and(|own| std::ptr::eq(own, row))
    }

    pub fn is_same(&self, other: &Self) -> bool {
        other.row.is_some_and(|row| self.is_in(row))
    }

    /// Column of the first character that is no blank.
    pub fn column(&self) -> usize {
        self.column_at(self.text.len() - self.text.trim_start().len())
    }

    /// Column of a byte of the text.
    pub fn column_at(&self, byte: usize) -> usize {
        let before = |row: &'a Row| row.text().get(..self.offset(row) + byte);
        self.row.and_then(before).map_or(0, UnicodeWidthStr::width)
    }

    /// Where the text begins in its row, of which it is always a part.
    fn offset(&self, row: &Row) -> usize {
        self.text.as_ptr().addr().saturating_sub(row.text().as_ptr().addr())
    }
}

/// The parts of one screen.
#[derive(Debug, Default)]
pub struct Regions<'a> {
    lines: BTreeMap<Region, Vec<Line<'a>>>,
}

impl<'a> Regions<'a> {
    /// Lines of a part that is there; a part may be there and empty, as an empty box is.
    pub fn get(&self, region: Region) -> Option<&[Line<'a>]> {
        self.lines.get(&region).map(Vec::as_slice)
    }

    pub fn find(
        layout: &'a Layout,
        shell: &ShellShape,
        grid: &'a Grid,
        screen: &Screen<'a>,
    ) -> Self {
        let mut regions = Self::default();
        if let Some(title) = screen.title.map(str::trim).filter(|title| !title.is_empty()) {
            regions.put(Region::Title, vec![Line { text: title, row: None }]);
        }
        let rows = grid.rows();
        let Some(last) = rows.iter().rposition(|row| !row.is_blank()) else { return regions };
        let rows = &rows[..=last];
        regions.put(Region::LastLine, vec![Line::of(&rows[last], rows[last].text())]);
        let width = if screen.width > 0 { screen.width.into() } else { grid.widest() };
        let clipped = screen.height > 0 && rows.len() >= usize::from(screen.height);
        let finder = Finder { layout, rows, width, clipped };
        let found = finder.input_box();
        let picture = found.as_ref().map_or(rows.len(), |found| found.start);
        regions.shell(shell, rows, picture, screen.cursor);
        // A pane that is too low for anything above the box hides what the agent is at.
        if clipped && picture == 0 {
            return regions;
        }
        if let Some(found) = found {
            regions.around(&finder, &found);
        } else if let Some(dialog) = finder.dialog() {
            regions.put(Region::Transcript, finder.lines(0..dialog.start));
            regions.put(Region::Dialog, finder.dialog_lines(dialog));
        } else {
            let lines = finder.lines(0..rows.len());
            let from = lines.len().saturating_sub(TAIL_LINES);
            regions.put(Region::Tail, lines[from..].to_vec());
        }
        regions.own_title();
        regions
    }

    fn put(&mut self, region: Region, lines: Vec<Line<'a>>) {
        self.lines.insert(region, lines);
    }

    /// Looks for a shell prompt: on the last line, or painted over what is left of the box of an
    /// agent that was killed, from the row `picture` on.
    fn shell(
        &mut self,
        shell: &ShellShape,
        rows: &'a [Row],
        picture: usize,
        cursor: Option<(u16, u16)>,
    ) {
        let last = rows.len() - 1;
        let prompt = |row: usize, text: &str| {
            (row == last && shell.prompt.matches(text)) || shell.over.matches(text)
        };
        let found = match cursor {
            // A prompt ends where the cursor stands, whatever old text is right of it.
            Some((column, line)) => rows
                .get(usize::from(line))
                .map(|row| (usize::from(line), row.before_column(column.into())))
                .filter(|(line, text)| prompt(*line, text)),
            None => (picture.min(last)..=last)
                .rev()
                .map(|row| (row, rows[row].text()))
                .find(|(row, text)| prompt(*row, text)),
        };
        let Some((at, text)) = found else { return };
        self.put(Region::Shell, vec![Line::of(&rows[at], text)]);
        let above = rows[..at].iter().filter(|row| !row.is_blank());
        let above: Vec<_> = above.map(|row| Line::of(row, row.text())).collect();
        if !above.is_empty() {
            let from = above.len().saturating_sub(ABOVE_SHELL_LINES);
            self.put(Region::AboveShell, above[from..].to_vec());
        }
    }

    fn around(&mut self, finder: &Finder<'a>, found: &InputBox) {
        let Finder { layout, rows, .. } = *finder;
        self.put(Region::Box, finder.box_lines(found.body.clone()));
        self.put(Region::Footer, finder.lines(found.end..rows.len()));
        let above = 0..found.start;
        self.put(Region::Transcript, finder.lines(above.clone()));
        let asked = layout
            .asked
            .as_ref()
            .and_then(|asked| above.clone().rev().find(|row| asked.matches(finder.text(*row))));
        if let Some(asked) = asked {
            self.put(Region::Asked, finder.lines(asked..asked + 1));
        }
        let turn = asked.map_or(0, |row| row + 1);
        self.put(Region::Turn, finder.lines(turn..found.start));
        let (notices, activity) = finder.activity(above);
        self.put(Region::Notices, notices);
        self.put(Region::Activity, activity);
    }

    /// An agent's own title names the folder it works in, as its footer or its banner does. Any other title was
    /// left by a shell or is the host's, and its silence says nothing.
    fn own_title(&mut self) {
        let (Some([title]), Some(footer), Some(banner)) =
            (self.get(Region::Title), self.get(Region::Footer), self.get(Region::Transcript))
        else {
            return;
        };
        let title = *title;
        let Some(folder) = title.text().rsplit(" | ").next().filter(|name| name.len() > 1) else {
            return;
        };
        let names = |word: &str| word.contains('/') && word.rsplit('/').next() == Some(folder);
        let in_footer = footer.iter().any(|line| line.text().split_whitespace().any(names));
        // A line of its own, perhaps in a frame: a path in an answer is no introduction.
        let introduced = banner.iter().take(BANNER_LINES).any(|line| {
            let words = line.text().split_whitespace();
            let mut words = words.filter(|word| !["│", "directory:"].contains(word));
            words.next().is_some_and(names) && words.next().is_none()
        });
        let named = in_footer || introduced;
        if named {
            self.put(Region::OwnTitle, vec![title]);
        }
    }
}
