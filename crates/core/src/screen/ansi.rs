//! Splits captured bytes into characters to print and changes of style.
//!
//! A capture is a picture, not a stream: of all escape sequences only SGR, character sets and line
//! ends mean something in it. Everything else is passed over, in linear time, whatever it holds.

use super::style::Style;

/// One thing a capture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    Print(char),
    Tab,
    NewLine,
}

/// Numbers of one sequence that are kept; real ones have a dozen at most.
const MAX_NUMBERS: usize = 32;

#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    rest: std::str::Chars<'a>,
    pub(super) style: Style,
    /// Whether any attribute was ever set: plain captures carry none.
    pub(super) styled: bool,
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

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars(),
            style: Style::default(),
            styled: false,
            graphics: Graphics::default(),
        }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest.as_str()
    }

    fn escape(&mut self) {
        match self.rest.next() {
            Some('[') => self.control_sequence(),
            // Titles, links, device strings: their text is not on the screen.
            Some(']' | 'P' | 'X' | '^' | '_' | 'k') => self.string(),
            Some('(') => self.graphics.g0 = self.rest.next() == Some('0'),
            Some(')') => self.graphics.g1 = self.rest.next() == Some('0'),
            _ => {}
        }
    }

    fn control_sequence(&mut self) {
        let mut numbers = [0_u16; MAX_NUMBERS];
        let mut count = 0;
        let mut private = false;
        loop {
            let before = self.rest.clone();
            match self.rest.next() {
                Some(digit @ '0'..='9') => {
                    let digit = digit as u16 - '0' as u16;
                    if let Some(number) = numbers.get_mut(count) {
                        *number = number.saturating_mul(10).saturating_add(digit);
                    }
                }
                Some(';' | ':') => count = (count + 1).min(MAX_NUMBERS),
                Some('<'..='?' | ' '..='/') => private = true,
                Some('m') if !private => {
                    self.style.apply(&numbers[..(count + 1).min(MAX_NUMBERS)]);
                    self.styled |= self.style != Style::default();
                    return;
                }
                Some('@'..='~') | None => return,
                // Broken off: what came instead is read as itself.
                Some(_) => {
                    self.rest = before;
                    return;
                }
            }
        }
    }

    /// Passes over a string up to BEL or ST. One that never ends ends with its line, so that a
    /// broken sequence cannot hide the rest of the screen.
    fn string(&mut self) {
        loop {
            let before = self.rest.clone();
            match self.rest.next() {
                Some('\x07' | '\u{9c}') | None => return,
                Some('\n') => {
                    self.rest = before;
                    return;
                }
                Some('\x1b') => {
                    let after = self.rest.clone();
                    if self.rest.next() != Some('\\') {
                        self.rest = after;
                    }
                    return;
                }
                Some(_) => {}
            }
        }
    }
}

impl Iterator for Scanner<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            match self.rest.next()? {
                '\x1b' => self.escape(),
                '\x0e' => self.graphics.shifted = true,
                '\x0f' => self.graphics.shifted = false,
                '\n' => return Some(Piece::NewLine),
                '\t' => return Some(Piece::Tab),
                control if control.is_control() => {}
                drawn @ '`'..='~' if self.graphics.on() => {
                    return Some(Piece::Print(line_drawing(drawn)));
                }
                printed => return Some(Piece::Print(printed)),
            }
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

    fn printed(text: &str) -> String {
        Scanner::new(text)
            .map(|piece| match piece {
                Piece::Print(printed) => printed,
                Piece::Tab => '\t',
                Piece::NewLine => '\n',
            })
            .collect()
    }

    #[test]
    fn only_what_is_on_the_screen_is_printed() {
        assert_eq!(printed("a\x1b[1;31mb\x1b[0mc"), "abc");
        assert_eq!(printed("\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x07!"), "link!");
        assert_eq!(printed("\x1b[?25l\x1b[2Jx\r\ny"), "x\ny");
        assert_eq!(printed("\x0e\x1b)0qqx\x0fq"), "──│q");
        assert_eq!(printed("\x1b(0lqk\x1b(Bq"), "┌─┐q");
    }

    #[test]
    fn broken_sequences_hide_no_more_than_their_line() {
        assert_eq!(printed("a\x1b]0;never ends\nb"), "a\nb");
        assert_eq!(printed("a\x1b[3\nb"), "a\nb");
        assert_eq!(printed("\x1b"), "");
        assert_eq!(printed("\x1b[1;2\x1b[0mx"), "x");
    }
}
