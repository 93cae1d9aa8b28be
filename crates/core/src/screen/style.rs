//! How a character on the screen looks.

use serde::Serialize;

/// A colour as an agent asked for it; themes differ, so rules compare with "default" only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Color {
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Style {
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
    pub fg: Color,
    pub bg: Color,
}

impl Style {
    /// Applies the numbers of one SGR sequence. Unknown numbers are skipped, as terminals do.
    pub(super) fn apply(&mut self, numbers: &[u16]) {
        let mut rest = numbers;
        while let [number, tail @ ..] = rest {
            rest = tail;
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                30..=37 => self.fg = Color::Indexed(low_byte(number - 30)),
                38 => rest = take_color(&mut self.fg, rest),
                39 => self.fg = Color::Default,
                40..=47 => self.bg = Color::Indexed(low_byte(number - 40)),
                48 => rest = take_color(&mut self.bg, rest),
                49 => self.bg = Color::Default,
                // Underline colour: its arguments must not be read as attributes.
                58 => rest = take_color(&mut Color::Default, rest),
                90..=97 => self.fg = Color::Indexed(low_byte(number - 90 + 8)),
                100..=107 => self.bg = Color::Indexed(low_byte(number - 100 + 8)),
                _ => {}
            }
        }
    }
}

fn take_color<'a>(color: &mut Color, rest: &'a [u16]) -> &'a [u16] {
    match rest {
        [5, index, tail @ ..] => {
            *color = Color::Indexed(low_byte(*index));
            tail
        }
        [2, red, green, blue, tail @ ..] => {
            *color = Color::Rgb(low_byte(*red), low_byte(*green), low_byte(*blue));
            tail
        }
        _ => &[],
    }
}

fn low_byte(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styled(numbers: &[u16]) -> Style {
        let mut style = Style::default();
        style.apply(numbers);
        style
    }

    #[test]
    fn attributes_colours_and_reset() {
        assert!(styled(&[1, 2, 7]).dim);
        assert_eq!(styled(&[1, 2, 22]), Style::default());
        assert_eq!(styled(&[38, 5, 211]).fg, Color::Indexed(211));
        assert_eq!(styled(&[48, 2, 1, 2, 3]).bg, Color::Rgb(1, 2, 3));
        assert_eq!(styled(&[94]).fg, Color::Indexed(12));
        assert_eq!(styled(&[31, 0]), Style::default());
    }

    #[test]
    fn broken_colours_do_no_harm() {
        assert_eq!(styled(&[38]), Style::default());
        assert_eq!(styled(&[38, 9, 1]), Style::default());
        assert_eq!(styled(&[38, 5]), Style::default());
        assert_eq!(styled(&[58, 5, 2, 1]), Style { bold: true, ..Style::default() });
    }
}
