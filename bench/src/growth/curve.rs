use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::machine::Machine;

/// A value measured for several numbers.
#[derive(Debug)]
pub(crate) struct Curve {
    /// What grows.
    pub(crate) of: &'static str,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// Number and value.
    pub(crate) points: Vec<(usize, f64)>,
    pub(crate) limit: Option<Limit>,
}

/// The target for the last point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// At most this many times the first.
    Times(f64),
    /// At most this, at this number.
    At(usize, f64),
}

impl Curve {
    pub(crate) fn new(of: &'static str, what: impl Into<String>, unit: &'static str) -> Self {
        Self { of, what: what.into(), unit, points: Vec::new(), limit: None }
    }

    pub(crate) fn limited(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    fn verdict(&self) -> Option<(String, bool)> {
        let (first, last) = (self.points.first()?.1, self.points.last()?.1);
        match self.limit? {
            Limit::Times(times) => {
                Some((format!("≤ {times}× of the first"), last <= first * times))
            }
            Limit::At(number, most) => {
                let (_, value) = self.points.iter().find(|(n, _)| *n == number)?;
                Some((format!("≤ {most} {} at {number}", self.unit), *value <= most))
            }
        }
    }

    fn to_json(&self) -> Value {
        let (limit, met) = self.verdict().unzip();
        let points: Vec<Value> =
            self.points.iter().map(|(n, value)| json!({ "n": n, "value": value })).collect();
        let Self { of, what, unit, .. } = self;
        json!({ "of": of, "what": what, "unit": unit, "points": points, "limit": limit, "met": met })
    }
}

/// Prints a table for each curve, or all of it as JSON.
pub(crate) fn print(machine: Option<&Machine>, curves: &[Curve], as_json: bool) {
    let text = if as_json {
        let curves: Vec<Value> = curves.iter().map(Curve::to_json).collect();
        format!("{:#}\n", json!({ "machine": machine, "curves": curves }))
    } else {
        tables(machine, curves)
    };
    // If the output is closed, there is no one to report to.
    let _ = io::stdout().write_all(text.as_bytes());
}

fn tables(machine: Option<&Machine>, curves: &[Curve]) -> String {
    let mut text = String::new();
    if let Some(Machine { system, processor, cores, tmux, dogwatch, load }) = machine {
        text = format!("{dogwatch}, {tmux}, {system}, {cores} × {processor}, load {load}\n");
    }
    for group in curves.chunk_by(|a, b| a.of == b.of) {
        let Some(first) = group.first() else { continue };
        let _ = write!(text, "\n{:<34}", first.of);
        for (number, _) in &first.points {
            let _ = write!(text, " {number:>9}");
        }
        text.push_str("  limit\n");
        for curve in group {
            let _ = write!(text, "  {:<32}", format!("{} ({})", curve.what, curve.unit));
            for (number, _) in &first.points {
                let value = curve.points.iter().find(|(n, _)| n == number);
                let cell = value.map_or_else(|| "-".to_owned(), |(_, value)| format!("{value:.1}"));
                let _ = write!(text, " {cell:>9}");
            }
            let verdict = curve.verdict().map(|(limit, is_met)| {
                let met = if is_met { "met" } else { "NOT met" };
                format!("  {limit}: {met}")
            });
            text.push_str(&verdict.unwrap_or_default());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_tables() {
        let mut curve = Curve::new("ended sessions", "ls", "ms").limited(Limit::Times(2.0));
        curve.points = vec![(0, 4.0), (100, 5.0), (5_000, 7.9)];
        let table = tables(None, std::slice::from_ref(&curve));
        assert!(table.contains("5000") && table.contains("7.9") && table.contains("first: met"));
        curve.limit = Some(Limit::At(100, 4.5));
        assert_eq!(curve.verdict(), Some(("≤ 4.5 ms at 100".to_owned(), false)));
    }
}
