//! Masks a captured screen cell by cell.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::Masks;
use super::chains::{self, Block};
use super::flat::{Fill, Span};
use crate::screen::ansi::{self, Painter};
use crate::screen::style::Style;

/// One character on the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// Its position in the capture.
    at: usize,
    length: usize,
    pub(super) shown: char,
    pub(super) column: usize,
    pub(super) width: usize,
}

pub(super) fn mask(masks: &Masks, text: &str, width: usize) -> String {
    let (cells, rows) = cells(text);
    let blocks = chains::blocks(&cells, &rows, width);
    let mut fills: Vec<Option<Fill>> = vec![None; cells.len()];
    let whole_rows = View::of(&cells, rows.iter().map(|row| row.clone().collect::<Vec<_>>()));
    whole_rows.hide(&cells, &mut fills, &masks.spans(&whole_rows.text));
    let likely = |a: &Block, b: &Block| chains::goes_on(&cells, a, b);
    let wrapped = View::of(&cells, chains::chains(&cells, &blocks, likely));
    wrapped.hide(&cells, &mut fills, &masks.spans(&wrapped.text));
    // Known secrets are found however they are broken into rows.
    let broken = View::of(&cells, chains::chains(&cells, &blocks, |_, _| true));
    broken.hide(&cells, &mut fills, &masks.secrets_in(&broken.text));
    rewrite(masks, text, &cells, &fills)
}

/// The cells of a capture, and the range of each row.
fn cells(text: &str) -> (Vec<Cell>, Vec<Range<usize>>) {
    let mut found = Capture::default();
    ansi::paint_by_character(text, &mut found);
    found.new_line();
    (found.cells, found.rows)
}

#[derive(Default)]
struct Capture {
    cells: Vec<Cell>,
    rows: Vec<Range<usize>>,
    column: usize,
    begin: usize,
    /// Position of the current character.
    at: usize,
    length: usize,
}

impl Capture {
    fn add(&mut self, shown: char, width: usize) {
        let Self { at, length, column, .. } = *self;
        // Characters of zero width are treated like escape codes, between the cells.
        if width > 0 {
            self.cells.push(Cell { at, length, shown, column, width });
        }
        self.column += width;
    }
}

impl Painter for Capture {
    fn print(&mut self, printed: char, _: Style) {
        self.add(printed, printed.width().unwrap_or(0));
    }

    fn tab(&mut self, _: Style) {
        self.add(' ', 8 - self.column % 8);
    }

    fn new_line(&mut self) {
        self.rows.push(self.begin..self.cells.len());
        (self.column, self.begin) = (0, self.cells.len());
    }

    fn place(&mut self, at: usize, length: usize) {
        (self.at, self.length) = (at, length);
    }
}

/// Cells as a searchable text.
struct View {
    text: String,
    /// The start of each cell in the text.
    places: Vec<(usize, usize)>,
}

impl View {
    fn of(cells: &[Cell], lines: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let mut view = Self { text: String::new(), places: Vec::new() };
        for line in lines {
            for cell in line {
                view.places.push((view.text.len(), cell));
                view.text.push(cells[cell].shown);
            }
            view.text.push('\n');
        }
        view
    }

    fn hide(&self, cells: &[Cell], fills: &mut [Option<Fill>], spans: &[Span]) {
        for Span { at, fill } in spans {
            let first = self.places.partition_point(|(place, _)| *place < at.start);
            let covered = self.places[first..].iter().take_while(|(place, _)| *place < at.end);
            for (_, cell) in covered.filter(|(_, cell)| cells[*cell].shown != ' ') {
                fills[*cell] = fills[*cell].max(Some(*fill));
            }
        }
    }
}

/// The capture with some cells hidden. Escape codes stay, except for texts in them: links and titles.
fn rewrite(masks: &Masks, text: &str, cells: &[Cell], fills: &[Option<Fill>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let between = |part: &str| {
        let with_text = ["\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\x1bk"];
        if with_text.iter().any(|code| part.contains(code)) {
            masks.text(part)
        } else {
            part.to_owned()
        }
    };
    for (cell, fill) in cells.iter().zip(fills) {
        out.push_str(&between(&text[from..cell.at]));
        from = cell.at + cell.length;
        match fill {
            Some(fill) => out.extend(fill.instead_of(cell.shown)),
            None => out.push_str(&text[cell.at..from]),
        }
    }
    out.push_str(&between(&text[from..]));
    out
}
