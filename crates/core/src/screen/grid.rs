//! The screen as rows of styled text.

use std::borrow::Cow;
use std::collections::VecDeque;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::ansi::{self, Painter};
use super::style::Style;

/// Rows kept: the last ones, where agents draw. Far more than any terminal has.
const MAX_ROWS: usize = 2_000;
/// Columns kept of a row.
const MAX_COLUMNS: usize = 1_000;
/// Marks that take no column of their own (accents, joiners) kept for one row.
const MAX_ZERO_WIDTH: usize = 1_000;

/// One line of the screen, without trailing blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    text: String,
    /// Where each style begins, as a byte offset; empty means the default style throughout.
    runs: Vec<(usize, Style)>,
}

impl Row {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    pub fn style_at(&self, byte: usize) -> Style {
        let after = self.runs.partition_point(|(start, _)| *start <= byte);
        after.checked_sub(1).map_or_else(Style::default, |index| self.runs[index].1)
    }

    pub fn columns(&self) -> usize {
        self.text.width()
    }

    /// The part left of a column.
    pub fn before_column(&self, column: usize) -> &str {
        let mut used = 0;
        for (byte, printed) in self.text.char_indices() {
            if used >= column {
                return &self.text[..byte];
            }
            used += printed.width().unwrap_or(0);
        }
        &self.text
    }

    fn trim_end(&mut self) {
        self.text.truncate(self.text.trim_end().len());
        let length = self.text.len();
        self.runs.retain(|(start, _)| *start < length);
    }
}

/// What a capture shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    rows: Vec<Row>,
    /// Whether the capture carried attributes at all: without them, "not dim" proves nothing.
    styled: bool,
}

impl Grid {
    /// Reads captured bytes, plain or with escape sequences, valid or not.
    pub fn parse(bytes: &[u8]) -> Self {
        // What is valid, as nearly all is, is found to be so much faster than by the lossy way.
        let valid = std::str::from_utf8(bytes).map(Cow::Borrowed);
        let text = valid.unwrap_or_else(|_| String::from_utf8_lossy(bytes));
        let mut builder = Builder::default();
        let styled = ansi::paint(&text, &mut builder);
        let last = builder.row.finish();
        if !last.is_blank() {
            builder.rows.push_back(last);
        }
        Self { rows: builder.rows.into(), styled }
    }

    /// Drops what lies above the visible part: signals are never looked for in scrollback.
    pub fn keep_last(&mut self, height: usize) {
        if height > 0 && self.rows.len() > height {
            self.rows.drain(..self.rows.len() - height);
        }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn styled(&self) -> bool {
        self.styled
    }

    pub fn widest(&self) -> usize {
        self.rows.iter().map(Row::columns).max().unwrap_or(0)
    }
}

#[derive(Debug, Default)]
struct Builder {
    rows: VecDeque<Row>,
    row: RowBuilder,
}

impl Painter for Builder {
    fn print(&mut self, printed: char, style: Style) {
        self.row.print(printed, style);
    }

    fn tab(&mut self, style: Style) {
        self.row.tab(style);
    }

    fn new_line(&mut self) {
        if self.rows.len() == MAX_ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(self.row.finish());
    }
}

#[derive(Debug, Default)]
struct RowBuilder {
    row: Row,
    columns: usize,
    zero_width: usize,
}

impl RowBuilder {
    fn print(&mut self, printed: char, style: Style) {
        let width = printed.width().unwrap_or(0);
        let room = if width == 0 {
            self.zero_width += 1;
            self.zero_width <= MAX_ZERO_WIDTH
        } else {
            self.columns + width <= MAX_COLUMNS
        };
        if !room {
            return;
        }
        let current = self.row.runs.last().map_or_else(Style::default, |(_, last)| *last);
        if current != style {
            self.row.runs.push((self.row.text.len(), style));
        }
        // A no-break space looks like a blank and is meant as one.
        self.row.text.push(if printed == '\u{a0}' { ' ' } else { printed });
        self.columns += width;
    }

    fn tab(&mut self, style: Style) {
        for _ in 0..8 - self.columns % 8 {
            self.print(' ', style);
        }
    }

    fn finish(&mut self) -> Row {
        (self.columns, self.zero_width) = (0, 0);
        let mut row = std::mem::take(&mut self.row);
        row.trim_end();
        row
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn texts(grid: &Grid) -> Vec<&str> {
        grid.rows().iter().map(Row::text).collect()
    }

    #[test]
    fn plain_and_styled_captures_are_the_same_text() {
        let plain = Grid::parse("❯ hi\n\n  there\n".as_bytes());
        let styled = Grid::parse("\x1b[2m❯ \x1b[0mhi\n\n  there\x1b[7m \x1b[0m\n".as_bytes());
        assert_eq!(texts(&plain), ["❯ hi", "", "  there"]);
        assert_eq!(texts(&plain), texts(&styled));
        assert!(!plain.styled() && styled.styled());
        let row = &styled.rows()[0];
        assert!(row.style_at(0).dim && !row.style_at("❯ ".len()).dim);
    }

    #[test]
    fn columns_count_wide_characters_twice() {
        let grid = Grid::parse("这是 x".as_bytes());
        assert_eq!(grid.rows()[0].columns(), 6);
        assert_eq!(grid.rows()[0].before_column(4), "这是");
        assert_eq!(grid.rows()[0].before_column(99), "这是 x");
    }

    #[test]
    fn bad_bytes_and_nothing_at_all() {
        assert!(Grid::parse(b"").rows().is_empty());
        assert_eq!(texts(&Grid::parse(b"a\xff\xfeb")), ["a\u{fffd}\u{fffd}b"]);
    }

    #[test]
    fn scrollback_is_dropped() {
        let mut grid = Grid::parse(b"1\n2\n3\n");
        grid.keep_last(2);
        assert_eq!(texts(&grid), ["2", "3"]);
        grid.keep_last(0);
        assert_eq!(grid.rows().len(), 2);
    }

    #[test]
    fn ten_megabytes_of_anything_stay_small() {
        let size = 10 << 20;
        for unit in ["\x1b[1;38;5;3m", "\n", "\x1b]0;x", "\x1b[", "a\u{301}", "\x1b[7mx\x1b[0m\n"] {
            let bytes = unit.repeat(size / unit.len());
            let grid = Grid::parse(bytes.as_bytes());
            assert!(grid.rows().len() <= MAX_ROWS + 1);
            let kept: usize = grid.rows().iter().map(|row| row.text().len()).sum();
            assert!(kept < 8 << 20, "{unit:?} keeps {kept} bytes");
        }
    }
}
