//! The report as one HTML file that needs nothing else: no script, no font, no picture from anywhere.

use std::fmt::Write;

use jiff::Timestamp;

use super::report::{Line, Report, StepLine, Try};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2330;--dim:#69707d;--line:#d9dde4;--ground:#fff;--good:#2e8b57;--bad:#c8442f;--wait:#c79a1b;--skip:#8a92a0}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--dim:#9aa2af;--line:#333a46;--ground:#14171c}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:72rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
td,th{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--dim);font-weight:500}\
.n{text-align:right;font-variant-numeric:tabular-nums}.dim{color:var(--dim)}svg{width:100%;height:auto}\
svg text{fill:currentColor;font:12px system-ui,sans-serif}.good{fill:var(--good);color:var(--good)}.bad{fill:var(--bad);color:var(--bad)}\
.wait{fill:var(--wait);color:var(--wait)}.skip{fill:var(--skip);color:var(--skip)}";

const WIDTH: i64 = 1000;
const NAMES: i64 = 130;
const ROW: i64 = 22;

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut out = String::new();
    let title = format!("{} · {}", report.workflow, report.run);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n",
        title = text(&title)
    );
    let _ = writeln!(
        out,
        "<p>{} since {:.0}, {} in all. {} attempts, {} of them retries; {} tokens{}; {} questions.{}</p>",
        text(report.standing),
        report.begun,
        length(report.seconds),
        report.attempts,
        report.retries,
        report.spent.tokens(),
        money(report.spent.micro_usd),
        report.questions.len(),
        report.why.as_deref().map(|why| format!(" {}", text(why))).unwrap_or_default(),
    );
    timeline(&mut out, report);
    out.push_str("<h2>Steps</h2>\n<table><tr><th>what</th><th>step</th><th>state</th><th class=n>time</th><th class=n>attempts</th><th class=n>tokens</th><th>why</th></tr>\n");
    for line in report.items.iter().chain(&report.groups) {
        for (at, step) in line.steps.iter().enumerate() {
            step_row(&mut out, line, step, at == 0);
        }
    }
    out.push_str("</table>\n<h2>Attempts that failed</h2>\n");
    failures(&mut out, report);
    if !report.questions.is_empty() {
        out.push_str("<h2>Questions</h2>\n<table><tr><th>at</th><th>about</th><th>why</th><th>answer</th></tr>\n");
        for one in &report.questions {
            let answer = match (&one.action, &one.by) {
                (Some(action), by) => {
                    format!("{} ({})", action.word(), by.as_deref().unwrap_or(""))
                }
                (None, _) => "open".into(),
            };
            let _ = writeln!(
                out,
                "<tr><td>{:.0}</td><td>{}<br><span class=dim>{}</span></td><td>{}</td><td>{}</td></tr>",
                one.at,
                text(&one.job.to_string()),
                text(one.trigger.title()),
                text(&one.why),
                text(&answer)
            );
        }
        out.push_str("</table>\n");
    }
    out.push_str("</body></html>\n");
    out
}

fn step_row(out: &mut String, line: &Line, step: &StepLine, first: bool) {
    let name = if first { format!("{} {}", line.name, line.title) } else { String::new() };
    let _ = writeln!(
        out,
        "<tr><td>{}</td><td>{}</td><td class={}>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=dim>{}</td></tr>",
        text(name.trim()),
        text(&step.label),
        colour_of_state(step.state),
        text(step.state),
        if step.attempts.is_empty() { String::new() } else { length(step.seconds) },
        step.attempts.len(),
        step.spent.tokens(),
        text(&step.why),
    );
}

fn failures(out: &mut String, report: &Report) {
    let mut rows = String::new();
    for line in report.items.iter().chain(&report.groups) {
        for step in &line.steps {
            for one in step.attempts.iter().filter(|one| colour(one) == "bad") {
                let _ = writeln!(
                    rows,
                    "<tr><td>{:.0}</td><td>{} {} #{}</td><td>{}</td><td>{}</td><td class=dim>{}</td></tr>",
                    one.begun,
                    text(&line.name),
                    text(&step.step),
                    one.n,
                    text(&one.agent),
                    text(one.result),
                    text(&one.why)
                );
            }
        }
    }
    if rows.is_empty() {
        out.push_str("<p class=dim>None.</p>\n");
    } else {
        let _ = write!(
            out,
            "<table><tr><th>at</th><th>attempt</th><th>agent</th><th>failure</th><th>why</th></tr>\n{rows}</table>\n"
        );
    }
}

/// A row for each item, a bar for each attempt.
fn timeline(out: &mut String, report: &Report) {
    let span = report.last.duration_since(report.begun).as_millis().max(1);
    let x = |at: Timestamp| {
        let since = at.duration_since(report.begun).as_millis().clamp(0, span);
        NAMES + i64::try_from(since * i128::from(WIDTH - NAMES) / span).unwrap_or(0)
    };
    let lines: Vec<&Line> = report.items.iter().chain(&report.groups).collect();
    let height = i64::try_from(lines.len()).unwrap_or(0) * ROW + 24;
    let _ = writeln!(
        out,
        "<h2>Timeline</h2>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"timeline\">"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = i64::try_from(row).unwrap_or(0) * ROW;
        let _ = writeln!(out, "<text x=\"0\" y=\"{}\">{}</text>", y + 15, text(&line.name));
        for step in &line.steps {
            for one in &step.attempts {
                let (from, to) = (x(one.begun), x(one.over.unwrap_or(report.last)));
                let hover = format!(
                    "{} {} #{} {}: {} {}",
                    line.name, step.step, one.n, one.agent, one.result, one.why
                );
                let _ = writeln!(
                    out,
                    "<rect class=\"{}\" x=\"{from}\" y=\"{}\" width=\"{}\" height=\"14\" rx=\"2\"><title>{}</title></rect>",
                    colour(one),
                    y + 4,
                    (to - from).max(2),
                    text(&hover)
                );
            }
        }
    }
    for one in &report.questions {
        let at = x(one.at);
        let _ = writeln!(
            out,
            "<path class=\"wait\" d=\"M{at} 0V{}\" stroke=\"currentColor\"><title>{}</title></path>",
            height - 20,
            text(&format!("{}: {}", one.job, one.why))
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{NAMES}\" y=\"{}\" class=dim>{:.0}</text><text x=\"{WIDTH}\" y=\"{}\" text-anchor=\"end\" class=dim>{}</text></svg>",
        height - 4,
        report.begun,
        height - 4,
        length(report.seconds)
    );
}

fn colour(one: &Try) -> &'static str {
    match one.result {
        "verified" => "good",
        "running" => "wait",
        "skipped" => "skip",
        _ => "bad",
    }
}

fn colour_of_state(state: &str) -> &'static str {
    match state {
        "done" | "accepted" => "good",
        "dropped" => "bad",
        "asked" | "in-progress" | "resting" => "wait",
        _ => "skip",
    }
}

/// A text that cannot be taken for anything else.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('·'),
            c => out.push(c),
        }
    }
    out
}

/// `1h 02m`, `3m 20s`, `12s`.
pub fn length(seconds: i64) -> String {
    match seconds.max(0) {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m {:02}s", s / 60, s % 60),
        s => format!("{}h {:02}m", s / 3600, s % 3600 / 60),
    }
}

/// Nothing if nobody said what tokens cost.
pub fn money(micro_usd: u64) -> String {
    if micro_usd == 0 {
        String::new()
    } else {
        format!(", ${}.{:02}", micro_usd / 1_000_000, micro_usd % 1_000_000 / 10_000)
    }
}
