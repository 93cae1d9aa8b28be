//! Finds the input box, or the dialog in its place, by the shape that the agent's layout describes.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::grid::Row;
use super::layout::Layout;
use super::pattern::Pattern;
use super::regions::Line;

/// Rows looked at for the keys of a dialog, from the bottom: lists may be shown below them.
const HINT_ROWS: usize = 16;
/// Rows that the keys of a dialog take up in a narrow pane.
const KEY_ROWS: usize = 3;
/// Rows between one option and the next: they may have descriptions.
const OPTION_GAP: usize = 4;
/// Rows between a lid and the box it covers.
const LID_GAP: usize = 3;
/// Blanks between a line and the side column.
const SIDE_GAP: usize = 2;

/// Rows of the input box: `start..end` with its frame, `body` the text in it.
#[derive(Debug)]
pub(super) struct InputBox {
    pub(super) start: usize,
    pub(super) body: Range<usize>,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Finder<'a> {
    pub(super) layout: &'a Layout,
    pub(super) rows: &'a [Row],
    pub(super) width: usize,
    /// The last row of the pane is in use: what is drawn may go on below it.
    pub(super) clipped: bool,
}

impl<'a> Finder<'a> {
    /// Text of a row without its side column.
    pub(super) fn text(&self, row: usize) -> &'a str {
        let row = &self.rows[row];
        let side = self.layout.side_column;
        if side == 0 || row.columns() + side <= self.width || self.width < 2 * side {
            return row.text();
        }
        let main = row.before_column(self.width - side);
        let bare = main.trim_end();
        // Text that runs on across the edge has no column beside it.
        if main.len() - bare.len() >= SIDE_GAP { bare } else { row.text() }
    }

    pub(super) fn lines(&self, range: Range<usize>) -> Vec<Line<'a>> {
        range
            .map(|row| Line::of(&self.rows[row], self.text(row)))
            .filter(|line| !line.text().is_empty())
            .collect()
    }

    fn is(&self, pattern: Option<&Pattern>, row: usize) -> bool {
        pattern.is_some_and(|pattern| pattern.matches(self.text(row)))
    }

    pub(super) fn input_box(&self) -> Option<InputBox> {
        let input = &self.layout.input;
        let mut found = match (&input.bottom, &input.top) {
            (Some(bottom), Some(top)) => self.framed_box(top, bottom),
            (Some(bottom), None) => self.railed_box(bottom),
            (None, _) => self.open_box(),
        }?;
        if let Some(lid) = &input.lid {
            let mut over = found.start.saturating_sub(LID_GAP)..found.start;
            found.start = over.rfind(|row| lid.matches(self.text(*row)))?;
        }
        Some(found)
    }

    /// Between two full-width lines, the upper one right above the prompt sign. A pane that is too
    /// low cuts it off at any point.
    fn framed_box(&self, top: &Pattern, bottom: &Pattern) -> Option<InputBox> {
        let all = self.rows.len();
        let is_top = |row: &usize| top.matches(self.text(*row));
        let closes = |start: usize| (start + 1..all).find(|row| bottom.matches(self.text(*row)));
        let opens = |row: &usize| {
            let next = self.rows.get(row + 1);
            next.is_some_and(|next| self.layout.input.prompt.matches(next.text())) && is_top(row)
        };
        let whole = (0..all).rev().find(opens);
        // The last row may be an upper edge, unless it is the lower edge of a box that is all there, or of a dialog.
        let keys = self.layout.dialog.hint.as_ref();
        let below_keys =
            |row: &usize| (row.saturating_sub(KEY_ROWS)..*row).any(|row| self.is(keys, row));
        let last = all.checked_sub(1).filter(|row| self.clipped && is_top(row) && !below_keys(row));
        let start = match (whole, last) {
            (Some(start), Some(last)) if closes(start) != Some(last) => last,
            (whole, last) => whole.or(last)?,
        };
        let end = closes(start);
        let end = end.or(self.clipped.then_some(all))?;
        // Below an older box, a dialog may have taken its place.
        let mut below = (end + 1).min(all)..all;
        let shape = &self.layout.dialog;
        let edge = below.find(|row| self.is(shape.top.as_ref(), *row));
        let asks = |row| self.is(shape.hint.as_ref(), row) || self.is(shape.cursor.as_ref(), row);
        let alone = edge.is_none() || !(below.any(asks) || self.clipped);
        alone.then(|| InputBox { start, body: start + 1..end, end: (end + 1).min(all) })
    }

    /// A rail at the left side that ends in a lower edge.
    fn railed_box(&self, bottom: &Pattern) -> Option<InputBox> {
        let input = &self.layout.input;
        let edge = (0..self.rows.len()).rev().find(|row| bottom.matches(self.text(*row)))?;
        // Over its whole width: it may reach into the side column.
        let popup = input.popup.as_ref();
        let is_popup = |row: usize| popup.is_some_and(|p| p.matches(self.rows[row].text()));
        let rail = |row: &usize| input.body.matches(self.text(*row)) && !is_popup(*row);
        let length = (0..edge).rev().take_while(rail).count();
        let body = edge - length..edge - usize::from(input.caption && length > 0);
        (length > 0).then(|| InputBox { start: body.start, body, end: edge + 1 })
    }

    /// A prompt sign with nothing but text and the footer below it. People configure that footer or switch it off, so
    /// without one that is known, the block that stands apart at the bottom is taken for it.
    fn open_box(&self) -> Option<InputBox> {
        let input = &self.layout.input;
        let prompt = |row: &usize| input.prompt.matches(self.text(*row));
        let start = (0..self.rows.len()).rev().find(prompt)?;
        let below = start + 1..self.rows.len();
        let is_below =
            |row| input.body.matches(self.text(row)) || self.is(input.footer.as_ref(), row);
        if !below.clone().all(is_below) {
            return None;
        }
        let block = |last: usize| {
            (below.start..last).rfind(|row| self.rows[*row].is_blank()).map(|row| row + 1)
        };
        let footer = below.clone().rfind(|row| self.is(input.footer.as_ref(), *row));
        let end = match (footer, &input.footer) {
            (Some(footer), _) => block(footer).unwrap_or(footer),
            (None, Some(_)) if self.may_be_dialog(start) => return None,
            (None, Some(_)) => block(below.end).unwrap_or(below.end),
            (None, None) => below.end,
        };
        let text = (start..end).rev().find(|row| !self.rows[*row].is_blank()).unwrap_or(start);
        Some(InputBox { start, body: start..text + 1, end })
    }

    /// Whether the line with the prompt sign may be the marked option of a dialog: the keys are named below it, or are
    /// cut off.
    fn may_be_dialog(&self, row: usize) -> bool {
        let shape = &self.layout.dialog;
        let has_keys =
            |from: usize| (from..self.rows.len()).any(|row| self.is(shape.hint.as_ref(), row));
        let low = self.rows.len().saturating_sub(HINT_ROWS).max(row + 1);
        let marked = self.is(shape.cursor.as_ref(), row) && self.has_second_option(row);
        has_keys(low) || (marked && self.clipped)
    }

    /// The text in the box: prompt sign and frame removed.
    pub(super) fn box_lines(&self, body: Range<usize>) -> Vec<Line<'a>> {
        let input = &self.layout.input;
        let first = body.start;
        body.filter_map(|row| {
            let text = self.text(row);
            let sign = if row == first { &input.prompt } else { &input.body };
            let inside = sign.strip(text).or_else(|| input.body.strip(text)).unwrap_or(text);
            let edge = input.edge.as_ref().and_then(|edge| edge.find(inside));
            let inside = &inside[..edge.map_or(inside.len(), |edge| edge.start())];
            (!inside.trim().is_empty()).then(|| Line::of(&self.rows[row], inside))
        })
        .collect()
    }

    /// The last block of lines, and the hints below it.
    pub(super) fn activity(&self, above: Range<usize>) -> (Vec<Line<'a>>, Vec<Line<'a>>) {
        let Layout { notice, notice_row, .. } = self.layout;
        let kept = above.end.checked_sub(1).filter(|_| *notice_row);
        let hint = |row: usize| Some(row) == kept && self.text(row).starts_with("  ");
        let beside = |row: &usize| {
            self.text(*row).is_empty() || hint(*row) || self.is(notice.as_ref(), *row)
        };
        let bottom =
            above.clone().rev().find(|row| !beside(row)).map_or(above.start, |row| row + 1);
        let ends = |row: &usize| self.text(*row).is_empty();
        let top = (above.start..bottom).rev().find(ends).map_or(above.start, |row| row + 1);
        (self.lines(bottom..above.end), self.lines(top..bottom))
    }

    pub(super) fn dialog(&self) -> Option<Range<usize>> {
        let shape = &self.layout.dialog;
        let end = self.rows.len();
        let top = |before: usize| (0..before).rev().find(|row| self.is(shape.top.as_ref(), *row));
        let inside = |row: &usize| self.is(shape.body.as_ref(), *row);
        let mut low = end.saturating_sub(HINT_ROWS)..end;
        let hint = low.rfind(|row| self.is(shape.hint.as_ref(), *row));
        let cursor = (0..end).rev().find(|row| self.is(shape.cursor.as_ref(), *row));
        let anchor = match (hint, cursor) {
            (Some(hint), Some(cursor)) if cursor < hint => cursor,
            (Some(hint), _) => hint,
            (None, Some(cursor)) if self.has_second_option(cursor) => cursor,
            // Options and keys are cut off; what is left is a frame with text in place of the box.
            (None, _) => {
                let top = top(end).filter(|_| self.clipped)?;
                return (top + 1..end).all(|row| inside(&row)).then_some(top + 1..end);
            }
        };
        let above = (0..anchor).rev().take_while(inside).count();
        let start = top(anchor).map_or(anchor - above, |row| row + 1);
        let foreign = (start..end).any(|row| self.is(shape.never.as_ref(), row));
        (!foreign).then_some(start..end)
    }

    /// A marked line is an option only beside another one, numbered or below the same column: a
    /// prompt sign looks the same.
    fn has_second_option(&self, cursor: usize) -> bool {
        let shape = &self.layout.dialog;
        let text = self.text(cursor);
        let marked = shape.cursor.as_ref().and_then(|cursor| cursor.captures(text));
        let marked = marked.and_then(|found| Some(found.name("option")?.start()));
        let column = marked.map(|start| text[..start].width());
        let aligned = |row: usize| {
            let bare = self.text(row).trim_start();
            !bare.is_empty() && Some(self.text(row).len() - bare.len()) == column
        };
        let near =
            cursor.saturating_sub(OPTION_GAP)..(cursor + OPTION_GAP + 1).min(self.rows.len());
        near.filter(|row| *row != cursor)
            .any(|row| self.is(shape.option.as_ref(), row) || aligned(row))
    }

    pub(super) fn dialog_lines(&self, range: Range<usize>) -> Vec<Line<'a>> {
        let frame = &self.layout.dialog.frame;
        let bare = |text: &'a str| match text.trim_start().strip_prefix(frame.as_slice()) {
            Some(inside) => {
                let inside = inside.trim_start_matches(frame.as_slice());
                inside.trim_end_matches(frame.as_slice()).trim_end()
            }
            None => text,
        };
        let lines = range.map(|row| Line::of(&self.rows[row], bare(self.text(row))));
        lines.filter(|line| !line.text().trim().is_empty()).collect()
    }
}
