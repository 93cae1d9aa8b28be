//! Usage as a picture: one self-contained SVG with a bar for each row.

use std::fmt::Write as _;

use dogwatch_protocol::usage::{By, Tokens, UsageReport, UsageRow, Used};

/// The rows above these are summed up in the last one.
const MOST_ROWS: usize = 60;
const WIDTH: usize = 900;
const LABELS: usize = 250;
const NUMBERS: usize = 190;
const LINE: usize = 24;
const TOP: usize = 58;

/// A cost for people, never more exact than it is: `$1.20`, `$0.0031`, `≥ $1.20`, `no price`.
pub fn cost_words(used: &Used) -> String {
    match used.cost_usd {
        None if used.messages == 0 => "$0.00".to_owned(),
        None => "no price".to_owned(),
        Some(cost) => {
            let bound = if used.cost_is_lower_bound { "≥ " } else { "" };
            let digits = if cost > 0.0 && cost < 0.01 { 4 } else { 2 };
            format!("{bound}${cost:.digits$}")
        }
    }
}

/// A number of tokens for people: `950`, `12.3k`, `4.56M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn token_words(tokens: u64) -> String {
    let n = tokens as f64;
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{:.1}k", n / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2}M", n / 1e6),
        _ => format!("{:.2}G", n / 1e9),
    }
}

/// The report as an SVG document. Bars are costs, or tokens if nothing has a price.
pub fn svg(report: &UsageReport) -> String {
    let is_priced = report.rows.iter().any(|row| row.used.cost_usd.is_some_and(|cost| cost > 0.0));
    #[expect(clippy::cast_precision_loss, reason = "bars are some hundred pixels long")]
    let weight = |used: &Used| {
        if is_priced { used.cost_usd.unwrap_or(0.0) } else { used.tokens.total() as f64 }
    };
    // Days and hours are in the order of time, the others in that of their cost.
    let is_by_time = matches!(report.by, By::Day | By::Hour);
    let (shown, left_out) = if is_by_time {
        let (left_out, shown) = report.rows.split_at(report.rows.len().saturating_sub(MOST_ROWS));
        (shown, left_out)
    } else {
        report.rows.split_at(report.rows.len().min(MOST_ROWS))
    };
    let most = shown.iter().map(|row| weight(&row.used)).fold(0.0, f64::max);
    let lines = shown.len() + usize::from(!left_out.is_empty());
    let height = TOP + lines * LINE + 30;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let what = if is_priced { "cost" } else { "tokens" };
    let title = format!("Usage by {}: {what}", report.by.as_str());
    text(&mut svg, 16, 24, "start", "font-size=\"16\" font-weight=\"bold\"", &title);
    let since = report.since.map(|at| format!("since {at:.0}, ")).unwrap_or_default();
    let sum = format!(
        "{since}{} tokens, {}, list prices of {}",
        token_words(report.total.tokens.total()),
        cost_words(&report.total),
        report.prices_of
    );
    text(&mut svg, 16, 44, "start", "fill=\"#666\"", &sum);
    for (number, row) in shown.iter().enumerate() {
        let y = TOP + number * LINE;
        let label = shortened(row.key.as_deref().unwrap_or("none"));
        text(&mut svg, LABELS, y + 16, "end", "", &label);
        let room = WIDTH - LABELS - NUMBERS - 20;
        #[expect(clippy::cast_precision_loss, reason = "some hundred pixels")]
        let length = if most > 0.0 { weight(&row.used) / most * room as f64 } else { 0.0 };
        // A bar that is not nothing can be seen.
        let length = if weight(&row.used) > 0.0 { length.max(1.0) } else { 0.0 };
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{length:.1}\" height=\"16\" rx=\"2\" fill=\"#3b7dd8\"/>",
            LABELS + 10,
            y + 3
        );
        let tokens = token_words(row.used.tokens.total());
        let numbers = format!("{} · {tokens}", cost_words(&row.used));
        let colour = if row.used.cost_is_lower_bound { "fill=\"#a05a00\"" } else { "" };
        text(&mut svg, WIDTH - 16, y + 16, "end", colour, &numbers);
    }
    if !left_out.is_empty() {
        let y = TOP + shown.len() * LINE + 16;
        let words = if is_by_time { "earlier" } else { "more" };
        let label = format!("{} {words}", left_out.len());
        text(&mut svg, LABELS, y, "end", "fill=\"#666\"", &label);
        text(&mut svg, WIDTH - 16, y, "end", "fill=\"#666\"", &sum_words(left_out));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The cost and the tokens of rows that are not drawn.
fn sum_words(rows: &[UsageRow]) -> String {
    let mut sum = Used {
        tokens: Tokens::default(),
        messages: 0,
        subagents: Tokens::default(),
        cost_usd: None,
        cost_is_lower_bound: false,
        unpriced: Vec::new(),
    };
    let mut tokens = 0_u64;
    for UsageRow { used, .. } in rows {
        tokens = tokens.saturating_add(used.tokens.total());
        sum.messages += used.messages;
        sum.cost_is_lower_bound |= used.cost_is_lower_bound;
        if let Some(cost) = used.cost_usd {
            *sum.cost_usd.get_or_insert_default() += cost;
        }
    }
    format!("{} · {}", cost_words(&sum), token_words(tokens))
}

fn text(svg: &mut String, x: usize, y: usize, anchor: &str, style: &str, words: &str) {
    let words = escaped(words);
    let _ =
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {style}>{words}</text>");
}

/// The end of a long name, which for folders says the most.
fn shortened(label: &str) -> String {
    const MOST: usize = 34;
    let length = label.chars().count();
    if length <= MOST {
        return label.to_owned();
    }
    format!("…{}", label.chars().skip(length - MOST + 1).collect::<String>())
}

/// Without what XML would take for its own, and without what it does not allow at all.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input: u64, cost_usd: Option<f64>, cost_is_lower_bound: bool) -> Used {
        Used {
            tokens: Tokens { input, ..Tokens::default() },
            messages: 1,
            subagents: Tokens::default(),
            cost_usd,
            cost_is_lower_bound,
            unpriced: Vec::new(),
        }
    }

    fn row(key: &str, used: Used) -> UsageRow {
        let key = Some(key.to_owned());
        UsageRow { key, used, session: None, conversation: None, agent: None, project: None }
    }

    #[test]
    fn costs_and_tokens_in_words() {
        for (cost, bound, want) in [
            (Some(1.2), false, "$1.20"),
            (Some(0.0031), false, "$0.0031"),
            (Some(0.0), false, "$0.00"),
            (Some(1.2), true, "≥ $1.20"),
            (None, true, "no price"),
        ] {
            assert_eq!(cost_words(&used(1, cost, bound)), want);
        }
        for (tokens, want) in [(0, "0"), (999, "999"), (12_345, "12.3k"), (4_560_000, "4.56M")] {
            assert_eq!(token_words(tokens), want);
        }
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let rows = vec![
            row("<script>alert('x')</script> & \"more\"\u{1b}[0m", used(10, Some(1.0), false)),
            row("double", used(5, None, true)),
        ];
        let total = used(15, Some(1.0), true);
        let report =
            UsageReport { by: By::Model, since: None, prices_of: "2026-11-16".into(), rows, total };
        let svg = svg(&report);
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
        assert!(
            svg.contains("&lt;/script&gt;") && svg.contains("≥ $1.00") && svg.contains("no price")
        );
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn many_rows_are_cut_and_none_are_drawn() {
        let rows: Vec<_> =
            (0..100).map(|n| row(&format!("row {n}"), used(n, Some(1.0), false))).collect();
        let total = used(1, None, true);
        let mut report =
            UsageReport { by: By::Day, since: None, prices_of: String::new(), rows, total };
        let by_day = svg(&report);
        assert!(by_day.contains("40 earlier") && by_day.contains("$40.00 · 780"), "{by_day}");
        assert!(by_day.contains(">row 99<") && !by_day.contains(">row 0<"), "{by_day}");
        report.by = By::Model;
        let by_model = svg(&report);
        assert!(by_model.contains("40 more") && by_model.contains(">row 0<"), "{by_model}");
        assert!(!by_model.contains(">row 99<"), "{by_model}");
        report.rows.clear();
        assert!(svg(&report).ends_with("</svg>\n"));
    }
}
