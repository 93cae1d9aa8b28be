//! The state as a frame. Nothing wraps: what does not fit is cut with `…`.

mod header;
mod overlay;
mod preview;
#[cfg(test)]
mod small_tests;
mod style;
mod table;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;

use crate::model::{Hit, Mode, State, View};
use crate::text;

/// Draws the whole frame; where the cursor is, if something is typed.
pub fn draw(state: &State, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    if area.width < 2 || area.height < 2 {
        return None;
    }
    let mut canvas = Canvas { buffer };
    let cursor = frame(state, &mut canvas);
    if !state.around.has_colours {
        for cell in &mut buffer.content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }
    cursor
}

fn frame(state: &State, canvas: &mut Canvas<'_>) -> Option<Position> {
    let area = canvas.area();
    header::draw(state, canvas);
    let bottom = area.height.saturating_sub(1);
    let middle = middle(state, area);
    match state.view {
        Some(View::Questions) => preview::questions(state, canvas, middle),
        Some(view) => preview::view(state, view, canvas, middle),
        None => queue(state, canvas, middle),
    }
    overlay::draw(state, canvas, middle);
    overlay::last_line(state, canvas, bottom)
}

/// The frame without its header and its last line.
fn middle(state: &State, area: Rect) -> Rect {
    let top = header::height(state);
    Rect { y: top, height: area.height.saturating_sub(top + 1), ..area }
}

/// How far the lower part or the view can be scrolled; `None` while that is not known.
pub fn most_scroll(state: &State) -> Option<usize> {
    let middle = middle(state, Rect::new(0, 0, state.size.0, state.size.1));
    let below = match state.view {
        Some(View::Questions) => return Some(preview::most_of_question(state, middle)),
        Some(_) => middle,
        None if state.is_small() => middle,
        None => parts(state, middle).1,
    };
    let room = usize::from(below.height.saturating_sub(1));
    Some(preview::count(state)?.saturating_sub(room))
}

/// The list above, and the selected session below.
fn queue(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if state.rows.is_empty() {
        preview::empty(state, canvas, area);
        return;
    }
    if state.is_small() {
        if state.is_open {
            preview::draw(state, canvas, area);
        } else {
            table::small(state, canvas, area);
        }
        return;
    }
    let (list, below) = parts(state, area);
    table::draw(state, canvas, list);
    preview::draw(state, canvas, below);
}

/// What is at this place of the terminal, for a mouse.
pub fn hit(state: &State, y: u16) -> Hit {
    let middle = middle(state, Rect::new(0, 0, state.size.0, state.size.1));
    if state.view.is_some() || state.rows.is_empty() || (state.is_small() && state.is_open) {
        return Hit::Below;
    }
    let list = if state.is_small() { middle } else { parts(state, middle).0 };
    if y >= list.bottom() {
        return Hit::Below;
    }
    table::row_at(state, list, y).map_or(Hit::List, Hit::Row)
}

/// Where the list and the preview are.
fn parts(state: &State, area: Rect) -> (Rect, Rect) {
    let head = 1;
    let room = area.height.saturating_sub(head);
    // Nine rows in a low terminal, else half of the room for the list, and at least five lines for the preview.
    let most = if room < 30 { 9 } else { room / 2 }.min(room.saturating_sub(5)).max(1);
    let wanted = u16::try_from(state.entries.len().max(1)).unwrap_or(u16::MAX);
    let is_long = wanted > most;
    let rows = wanted.min(most) + u16::from(is_long && most + 1 < room);
    let list = Rect { height: (head + rows).min(area.height), ..area };
    let below =
        Rect { y: list.bottom(), height: area.bottom().saturating_sub(list.bottom()), ..area };
    (list, below)
}

/// Writes texts into a buffer, cut at the right.
pub(crate) struct Canvas<'b> {
    buffer: &'b mut Buffer,
}

impl Canvas<'_> {
    fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Columns that texts may use: the last one stays free, so that no terminal wraps.
    fn columns(&self) -> usize {
        usize::from(self.buffer.area.width.saturating_sub(1))
    }

    /// Writes a text from this column on, cut with `…` at the end of the line.
    fn put(&mut self, x: usize, y: u16, words: &str, style: Style) -> usize {
        self.put_within(x, y, words, self.columns(), style)
    }

    /// The same, cut at another column.
    fn put_within(&mut self, x: usize, y: u16, words: &str, end: usize, style: Style) -> usize {
        let end = end.min(self.columns());
        if x >= end || y >= self.buffer.area.bottom() {
            return x;
        }
        let cut = text::cut(words, end - x);
        let at = u16::try_from(x).unwrap_or(u16::MAX);
        let (after, _) = self.buffer.set_stringn(at, y, &cut, end - x, style);
        usize::from(after)
    }

    /// A line with its own styles, from an agent's screen, cut with `…` at the end of the line.
    fn line(&mut self, x: usize, y: u16, line: &Line<'_>) {
        if y >= self.buffer.area.bottom() || x >= self.columns() {
            return;
        }
        let column = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let room = self.columns() - x;
        let is_cut = line.width() > room && hides_words(line, room - 1);
        self.buffer.set_line(column(x), y, line, column(room - usize::from(is_cut)));
        if is_cut {
            self.put(self.columns() - 1, y, "…", style::dim());
        }
    }

    /// A rule to the end of the line.
    fn rule(&mut self, x: usize, y: u16, style: Style) {
        let room = self.columns().saturating_sub(x);
        self.put(x, y, &"─".repeat(room), style);
    }

    fn blank(&mut self, y: u16) {
        let width = usize::from(self.buffer.area.width);
        if y < self.buffer.area.bottom() {
            self.buffer.set_stringn(0, y, " ".repeat(width), width, Style::reset());
        }
    }
}

/// Whether words are beyond that column; a rule that is cut is a rule still.
fn hides_words(line: &Line<'_>, column: usize) -> bool {
    let mut at = 0;
    let mut chars = line.spans.iter().flat_map(|span| span.content.chars());
    chars.any(|c| {
        at += text::width(c.encode_utf8(&mut [0; 4]));
        at > column && c.is_alphanumeric()
    })
}

/// Whether a person types on the last line.
pub(crate) fn is_typing(mode: &Mode) -> bool {
    matches!(mode, Mode::Filter | Mode::Kill { .. } | Mode::Word { .. } | Mode::Command { .. })
}
