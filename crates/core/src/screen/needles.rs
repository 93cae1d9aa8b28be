//! What a line must hold if a pattern is to match it, told from the pattern's text.
//!
//! Most lines match no pattern. To find out by looking for a word takes nanoseconds, by the pattern itself microseconds, and
//! a pattern that is never tried need not be compiled.

use std::cmp::Reverse;
use std::str::Chars;

/// Classes of more characters than this are not worth a look for each.
const MAX_CLASS: usize = 8;

/// One of these words is in every line that the pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needles {
    words: Vec<String>,
    /// The words are in lower case and stand for any.
    any_case: bool,
}

impl Needles {
    /// `None` if nothing is known.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let mut scanner = Scanner { rest: pattern.chars(), any_case: false };
        let mut words = scanner.choice().ok()??;
        let any_case = scanner.any_case;
        if any_case {
            for word in &mut words {
                word.make_ascii_lowercase();
            }
        }
        scanner.rest.as_str().is_empty().then_some(Self { words, any_case })
    }

    pub(super) fn are_in(&self, line: &str) -> bool {
        let any_case = |word: &String| {
            let word = word.as_bytes();
            // The first letter tells in most places, and quickly; that bit is the case of letters.
            let begins = |part: &[u8]| part[0] | 0x20 == word[0] | 0x20;
            let mut parts = line.as_bytes().windows(word.len());
            parts.any(|part| begins(part) && part.eq_ignore_ascii_case(word))
        };
        let is_in = |word: &String| {
            if self.any_case { any_case(word) } else { line.contains(word.as_str()) }
        };
        self.words.iter().any(is_in)
    }
}

/// One of them is there; `None` if that is not known.
type Words = Option<Vec<String>>;

/// The pattern has something in it that is not understood here.
#[derive(Debug)]
struct Odd;

enum Atom {
    Char(char),
    Words(Words),
}

#[derive(PartialEq, Eq)]
enum Times {
    Once,
    OnceOrMore,
    Perhaps,
}

struct Scanner<'p> {
    rest: Chars<'p>,
    /// Whether any part of the pattern is to match in any case.
    any_case: bool,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest.next();
        }
        found
    }

    /// Branches up to the end of the group or of the pattern: each must have words.
    fn choice(&mut self) -> Result<Words, Odd> {
        let mut all = self.sequence()?;
        while self.take('|') {
            let more = self.sequence()?;
            all = all.zip(more).map(|(all, more)| [all, more].concat());
        }
        Ok(all)
    }

    /// The best words of one branch.
    fn sequence(&mut self) -> Result<Words, Odd> {
        let mut best = None;
        let mut run = String::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let atom = self.atom()?;
            let times = self.times()?;
            let goes_on = matches!(atom, Atom::Char(_)) && times == Times::Once;
            match atom {
                Atom::Char(char) if times != Times::Perhaps => run.push(char),
                Atom::Words(words) if times != Times::Perhaps => best = better(best, words),
                _ => {}
            }
            if !goes_on {
                best = better(best, Some(vec![std::mem::take(&mut run)]));
            }
        }
        Ok(better(best, Some(vec![run])))
    }

    fn atom(&mut self) -> Result<Atom, Odd> {
        match self.rest.next().ok_or(Odd)? {
            '(' => self.group(),
            '[' => self.class(),
            '.' | '^' | '$' => Ok(Atom::Words(None)),
            '\\' => match self.rest.next().ok_or(Odd)? {
                'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'b' | 'B' => Ok(Atom::Words(None)),
                other if other.is_alphanumeric() => Err(Odd),
                escaped => Ok(Atom::Char(escaped)),
            },
            '*' | '+' | '?' | '{' => Err(Odd),
            literal => Ok(Atom::Char(literal)),
        }
    }

    fn group(&mut self) -> Result<Atom, Odd> {
        if self.take('?') {
            if self.take('P') || self.peek() == Some('<') {
                self.rest.find(|char| *char == '>').ok_or(Odd)?;
            } else if self.take('i') {
                self.any_case = true;
                // Flags of all that follows, not of a group.
                return if self.take(')') { Ok(Atom::Words(None)) } else { Err(Odd) };
            } else if !self.take(':') {
                return Err(Odd);
            }
        }
        let words = self.choice()?;
        if self.take(')') { Ok(Atom::Words(words)) } else { Err(Odd) }
    }

    fn class(&mut self) -> Result<Atom, Odd> {
        let mut is_plain = !self.take('^');
        let mut chars = Vec::new();
        loop {
            match self.rest.next().ok_or(Odd)? {
                ']' if !chars.is_empty() => break,
                '[' | ']' => return Err(Odd),
                '\\' => {
                    let escaped = self.rest.next().ok_or(Odd)?;
                    is_plain &= !escaped.is_alphanumeric();
                    chars.push(escaped);
                }
                '-' if !chars.is_empty() && self.peek() != Some(']') => is_plain = false,
                char => chars.push(char),
            }
        }
        let plain = is_plain && chars.len() <= MAX_CLASS;
        Ok(Atom::Words(plain.then(|| chars.iter().map(char::to_string).collect())))
    }

    fn times(&mut self) -> Result<Times, Odd> {
        let times = match self.peek() {
            Some('*' | '?') => Times::Perhaps,
            Some('+') => Times::OnceOrMore,
            Some('{') => {
                let least: String =
                    self.rest.clone().skip(1).take_while(char::is_ascii_digit).collect();
                self.rest.find(|char| *char == '}').ok_or(Odd)?;
                let least: u32 = least.parse().map_err(|_| Odd)?;
                self.take('?');
                return Ok(if least == 0 { Times::Perhaps } else { Times::OnceOrMore });
            }
            _ => return Ok(Times::Once),
        };
        self.rest.next();
        self.take('?');
        Ok(times)
    }
}

/// The more telling of the two: the one whose shortest word is longer, or that has fewer. Blanks are everywhere.
fn better(one: Words, other: Words) -> Words {
    let shortest =
        |words: &Vec<String>| words.iter().map(|word| word.trim().len()).min().unwrap_or(0);
    let telling = |words: &Vec<String>| (shortest(words), Reverse(words.len()));
    [one, other].into_iter().flatten().filter(|words| shortest(words) > 0).max_by_key(telling)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        Needles::of(pattern).map(|needles| needles.words).unwrap_or_default()
    }

    #[test]
    fn words_that_must_be_there() {
        for (pattern, expected) in [
            ("^Pane is dead( \\(status (?P<status>\\d+)|$)", &["Pane is dead"][..]),
            ("^claude( .*)? --resume \\S", &[" --resume "]),
            ("(?i)\\blog ?in\\b|text Style", &["log", "text style"]),
            ("^[❯>!#](\\s|$)", &["❯", ">", "!", "#"]),
            ("^(─{12,}( .* ─+)?|╭─{12,}╮)$", &["─", "╭─"]),
            ("^ *[^\\s\\w]{1,2} (\\S.*?)…( \\(x)?", &["…"]),
            ("ab+c", &["ab"]),
            ("ab?c{0,3}de*", &["d"]),
            ("1\\. (Yes|No)\\b", &["1. "]),
            ("[\\[\\]]x", &["x"]),
            ("[\\[\\]]+", &["[", "]"]),
            ("[a-z]", &[]),
            ("^(\\s|$|❯ )", &[]),
            ("x|", &[]),
            ("^\\s+\\S", &[]),
            ("(?x) a b", &[]),
            ("\\x41bc", &[]),
            ("[[:alpha:]]bc", &[]),
            ("(ab", &[]),
        ] {
            assert_eq!(words(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn case() {
        let needles = Needles::of("(?i)API Error").unwrap();
        assert!(needles.are_in("an api eRROR"));
        assert!(!needles.are_in("an api"));
        assert!(!Needles::of("API").unwrap().are_in("api"));
    }
}
