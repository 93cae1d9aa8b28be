//! Splits captured text into characters to print and changes of style, with vte.
//!
//! A capture is a picture, not a stream: of all escape sequences only SGR, character sets and line ends mean something in it.
//! Each line has a parser of its own, so that a broken sequence hides no more than its line.

use vte::{Params, Parser, Perform};

use super::style::Style;

/// Whoever draws what a capture says.
pub(crate) trait Painter {
    fn print(&mut self, printed: char, style: Style);
    fn tab(&mut self, style: Style);
    fn new_line(&mut self);
    /// Where in the capture the next character is; only [`paint_by_character`] says so.
    fn place(&mut self, _at: usize, _length: usize) {}
}

/// Reads a capture. True if it carried any attribute: plain captures carry none.
pub(crate) fn paint(text: &str, painter: &mut impl Painter) -> bool {
    let mut reader = Reader::new(painter);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            reader.painter.new_line();
        }
        Parser::new().advance(&mut reader, line.as_bytes());
    }
    reader.styled
}

/// The same, slower, with the place of each character.
pub(crate) fn paint_by_character(text: &str, painter: &mut impl Painter) {
    let mut reader = Reader::new(painter);
    let mut parser = Parser::new();
    for (at, character) in text.char_indices() {
        let length = character.len_utf8();
        if character == '\n' {
            parser = Parser::new();
            reader.painter.new_line();
        } else {
            reader.painter.place(at, length);
            parser.advance(&mut reader, &text.as_bytes()[at..at + length]);
        }
    }
}

/// The text of a capture, without its styles.
pub fn plain(text: &str) -> String {
    let mut out = Plain(String::with_capacity(text.len()));
    paint(text, &mut out);
    out.0
}

struct Plain(String);

impl Painter for Plain {
    fn print(&mut self, printed: char, _: Style) {
        self.0.push(printed);
    }

    fn tab(&mut self, _: Style) {
        self.0.push('\t');
    }

    fn new_line(&mut self) {
        self.0.push('\n');
    }
}

struct Reader<'p, P> {
    painter: &'p mut P,
    style: Style,
    styled: bool,
    graphics: Graphics,
}

/// Which of the two character sets draws lines, and which is in use.
#[derive(Debug, Default)]
struct Graphics {
    g0: bool,
    g1: bool,
    shifted: bool,
}

impl Graphics {
    fn on(&self) -> bool {
        if self.shifted { self.g1 } else { self.g0 }
    }
}

/// Numbers of one sequence that are kept; vte has no more either.
const MAX_NUMBERS: usize = 32;

impl<'p, P: Painter> Reader<'p, P> {
    fn new(painter: &'p mut P) -> Self {
        Self { painter, style: Style::default(), styled: false, graphics: Graphics::default() }
    }
}

impl<P: Painter> Perform for Reader<'_, P> {
    fn print(&mut self, printed: char) {
        match printed {
            '\x7f' => {}
            drawn @ '`'..='~' if self.graphics.on() => {
                self.painter.print(line_drawing(drawn), self.style);
            }
            printed => self.painter.print(printed, self.style),
        }
    }

    fn execute(&mut self, control: u8) {
        match control {
            b'\t' => self.painter.tab(self.style),
            0x0e => self.graphics.shifted = true,
            0x0f => self.graphics.shifted = false,
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, action: char) {
        if action != 'm' || !intermediates.is_empty() {
            return;
        }
        let mut numbers = [0; MAX_NUMBERS];
        let mut count = 0;
        for (place, number) in numbers.iter_mut().zip(params.iter().flatten()) {
            *place = *number;
            count += 1;
        }
        // No number at all is a zero.
        self.style.apply(&numbers[..count.max(1)]);
        self.styled |= self.style != Style::default();
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        match intermediates {
            b"(" => self.graphics.g0 = byte == b'0',
            b")" => self.graphics.g1 = byte == b'0',
            _ => {}
        }
    }
}

/// The DEC special graphics that terminals still draw boxes with.
fn line_drawing(letter: char) -> char {
    match letter {
        'j' => '┘',
        'k' => '┐',
        'l' => '┌',
        'm' => '└',
        'n' => '┼',
        'o' | 'p' | 'q' | 'r' | 's' => '─',
        't' => '├',
        'u' => '┤',
        'v' => '┴',
        'w' => '┬',
        'x' => '│',
        '~' => '·',
        '`' => '◆',
        'a' => '▒',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_the_screen_is_printed() {
        for (text, printed) in [
            ("a\x1b[1;31mb\x1b[0mc", "abc"),
            ("\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x07!", "link!"),
            ("\x1b[?25l\x1b[2Jx\r\ny", "x\ny"),
            ("\x0e\x1b)0qqx\x0fq", "──│q"),
            ("\x1b(0lqk\x1b(Bq", "┌─┐q"),
            ("\x1bP1$r0m\x1b\\a\x1b_x\x1b\\b\x1b^x\x1b\\c", "abc"),
            ("a\x7f\u{9b}\x08b\tc", "ab\tc"),
        ] {
            assert_eq!(plain(text), printed, "{text:?}");
        }
    }

    #[test]
    fn broken_sequences_hide_no_more_than_their_line() {
        assert_eq!(plain("a\x1b]0;never ends\nb"), "a\nb");
        assert_eq!(plain("a\x1b[3\nb"), "a\nb");
        assert_eq!(plain("\x1b"), "");
        assert_eq!(plain("\x1b[1;2\x1b[0mx"), "x");
    }
}
