//! Cells as bytes for a terminal: the cursor only where it must move, an attribute only where it changes, and the terminal's own
//! sixteen colours by their own codes, which every terminal knows.

use std::fmt::Write as _;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

const ATTRIBUTES: [(Modifier, u8); 8] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// The bytes that draw these cells, given from left to right and top to bottom.
pub(super) fn paint<'c>(cells: impl Iterator<Item = (u16, u16, &'c Cell)>) -> String {
    let mut out = String::new();
    let mut look = Look::default();
    let mut at = None;
    for (x, y, cell) in cells {
        if at != Some((x, y)) {
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        let next = Look { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if next != look {
            next.write(&mut out);
            look = next;
        }
        out.push_str(cell.symbol());
        let width = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
        // Terminals disagree about wide characters: after one, the cursor is moved again.
        at = (width == 1 && cell.symbol().is_ascii()).then_some((x + 1, y));
        if width == 1 && !cell.symbol().is_ascii() && is_plain(cell.symbol()) {
            at = Some((x + 1, y));
        }
    }
    if look != Look::default() {
        out.push_str("\x1b[0m");
    }
    out
}

/// One character that every terminal draws in one column: Latin letters, lines, boxes.
fn is_plain(symbol: &str) -> bool {
    let mut chars = symbol.chars();
    let is_known = |c: char| matches!(c, '\u{a1}'..='\u{24f}' | '\u{2010}'..='\u{2027}' | '\u{2500}'..='\u{259f}');
    chars.next().is_some_and(is_known) && chars.next().is_none()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Look {
    fn write(self, out: &mut String) {
        out.push_str("\x1b[0");
        for (attribute, code) in ATTRIBUTES {
            if self.modifier.contains(attribute) {
                let _ = write!(out, ";{code}");
            }
        }
        colour(out, self.fg, 30);
        colour(out, self.bg, 40);
        out.push('m');
    }
}

fn colour(out: &mut String, colour: Color, base: u8) {
    let number = match colour {
        Color::Reset => return,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        Color::Indexed(number) => {
            let _ = write!(out, ";{};5;{number}", base + 8);
            return;
        }
        Color::Rgb(red, green, blue) => {
            let _ = write!(out, ";{};2;{red};{green};{blue}", base + 8);
            return;
        }
    };
    let _ = write!(out, ";{}", base + number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn painted(text: &str, style: Style) -> String {
        let area = Rect::new(0, 0, 10, 1);
        let mut next = Buffer::empty(area);
        next.set_string(1, 0, text, style);
        paint(Buffer::empty(area).diff(&next).into_iter())
    }

    #[test]
    fn only_what_is_needed_is_written() {
        for (text, style, want) in [
            ("ab", Style::new(), "\x1b[1;2Hab"),
            ("ab", Style::new().fg(Color::Red), "\x1b[1;2H\x1b[0;31mab\x1b[0m"),
            (
                "a",
                Style::new().bg(Color::Indexed(9)).add_modifier(Modifier::BOLD),
                "\x1b[1;2H\x1b[0;1;48;5;9ma\x1b[0m",
            ),
            ("─x", Style::new().fg(Color::White), "\x1b[1;2H\x1b[0;97m─x\x1b[0m"),
            ("日x", Style::new(), "\x1b[1;2H日\x1b[1;4Hx"),
            ("", Style::new(), ""),
        ] {
            assert_eq!(painted(text, style), want, "{text}");
        }
    }
}
