//! Durations as they are written in a scenario: `"250ms"`, `"2s"`, `"1m"`, `"forever"`.

use std::fmt;
use std::time::Duration;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, de};

/// Longer times are mistakes, and would overflow a point in time.
const MAX: Duration = Duration::from_hours(30 * 24);

/// A length of time, at most 30 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A length of time which may have no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    For(Duration),
    Forever,
}

impl Span {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit_at);
        let number: u64 = number.parse().ok()?;
        let duration = match unit {
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.checked_mul(60)?),
            _ => return None,
        };
        (duration <= MAX).then_some(Self(duration))
    }
}

impl Pause {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "forever" => Some(Self::Forever),
            _ => Span::parse(text).map(|span| Self::For(span.0)),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Words {
            expected: "a duration such as \"250ms\", \"2s\" or \"1m\"",
            parse: Self::parse,
        })
    }
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Words {
            expected: "\"forever\" or a duration such as \"250ms\", \"2s\" or \"1m\"",
            parse: Self::parse,
        })
    }
}

/// Parses within the visitor, because only there does the TOML reader add the place to an error.
struct Words<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Words<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            ("0ms", Some(0)),
            ("250ms", Some(250)),
            ("2s", Some(2_000)),
            ("1m", Some(60_000)),
            ("2", None),
            ("s", None),
            ("", None),
            ("1.5s", None),
            ("2h", None),
            ("-1s", None),
            ("43200m", Some(2_592_000_000)),
            ("43201m", None),
            ("99999999999999999999s", None),
        ];
        for (text, millis) in cases {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(Span::parse(text).map(|span| span.0), expected, "{text}");
        }
    }
}
