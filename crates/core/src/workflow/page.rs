//! The report as one self-contained HTML file: no script, no font, no external picture.

use std::fmt::Write;

use jiff::Timestamp;

use super::report::{Report, StepLine, Try};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2330;--dim:#636a77;--line:#d9dde4;--ground:#fff;--good:#26774a;--bad:#b93a26;--wait:#946f00;--skip:#6b7280}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--dim:#9aa2af;--line:#333a46;--ground:#14171c;--good:#4fb37d;--bad:#ee7560;--wait:#dcb340;--skip:#9aa2af}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:72rem;margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
td,th{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}td:first-child,th:first-child{padding-left:0}\
th{color:var(--dim);font-weight:500}.n{text-align:right;font-variant-numeric:tabular-nums}.n,.at,.step,.state,.what b{white-space:nowrap}.what{min-width:9rem}.why{overflow-wrap:anywhere;min-width:14rem}.dim{color:var(--dim)}\
.good{color:var(--good)}.bad{color:var(--bad)}.wait{color:var(--wait)}.skip{color:var(--skip)}\
.lanes{position:relative;--names:7rem;font-size:.8rem}.lane{display:flex;border-bottom:1px solid var(--line)}.lane span{flex:0 0 var(--names);padding:.2rem .5rem .2rem 0;box-sizing:border-box}\
.track{flex:1;position:relative;min-height:1.7rem}.track i{position:absolute;top:.2rem;bottom:.2rem;min-width:2px;border-radius:2px;background:currentColor;overflow:hidden;white-space:nowrap;font-style:normal}\
.track i::after{content:attr(data-step);color:var(--ground);padding-left:.3rem}.marks{position:absolute;inset:0 0 0 var(--names)}.marks i{position:absolute;top:0;bottom:0;border-left:2px dashed}\
.ends{display:flex;justify-content:space-between;margin-left:7rem;font-size:.8rem}.key{font-size:.8rem}.key b{display:inline-block;width:.8em;height:.8em;border-radius:2px;background:currentColor;margin-right:.3em}.key span{margin-right:1em;white-space:nowrap}\
@media(max-width:44rem){.lanes{--names:3.6rem}.track i::after{content:none}.ends{margin-left:3.6rem}th{display:none}tr{display:flex;flex-wrap:wrap;gap:0 .6rem;padding:.3rem 0;border-bottom:1px solid var(--line)}tr:has(th){display:none}\
td,td:first-child{border:0;padding:0}.what:not(:empty){flex-basis:100%;font-weight:600}.what:empty{display:none}.why{flex-basis:100%}td[data-of]::before{content:attr(data-of) ' ';color:var(--dim)}}";

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
        "<p>{}. Started {}, {} in total. Attempts: {}, of which retries: {}. Tokens: {}{}. Questions: {}.{}</p>",
        text(&standing(report.standing)),
        clock(report.begun),
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
    for (name, line) in report.lines() {
        for (at, step) in line.steps.iter().enumerate() {
            let name = if at == 0 { format!("{name} {}", line.title) } else { String::new() };
            step_row(&mut out, name.trim(), step);
        }
    }
    out.push_str("</table>\n<h2>Attempts that failed</h2>\n");
    failures(&mut out, report);
    if !report.questions.is_empty() {
        out.push_str("<h2>Questions</h2>\n<table><tr><th>at</th><th>about</th><th>why</th><th>answer</th></tr>\n");
        for one in &report.questions {
            let answer = match (&one.action, &one.by) {
                (Some(action), by) => {
                    format!("{} ({})", action.as_str(), by.as_deref().unwrap_or(""))
                }
                (None, _) => "open".into(),
            };
            let _ = writeln!(
                out,
                "<tr><td class=at>{}</td><td class=what>{}<br><span class=dim>{}</span></td><td class=why>{}</td><td>{}</td></tr>",
                clock(one.at),
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

fn step_row(out: &mut String, name: &str, step: &StepLine) {
    let _ = writeln!(
        out,
        "<tr><td class=what>{}</td><td class=step>{}</td><td class=\"state {}\">{}</td><td class=n>{}</td><td class=n data-of=attempts>{}</td><td class=n data-of=tokens>{}</td><td class=\"dim why\">{}</td></tr>",
        text(name),
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
    for (name, line) in report.lines() {
        for step in &line.steps {
            for one in step.attempts.iter().filter(|one| colour(one) == "bad") {
                let _ = writeln!(
                    rows,
                    "<tr><td class=at>{}</td><td class=what>{} {} #{}</td><td>{}</td><td>{}</td><td class=\"dim why\">{}</td></tr>",
                    clock(one.begun),
                    text(&name),
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
    // In thousandths of the whole.
    let at = |at: Timestamp| {
        let since = at.duration_since(report.begun).as_millis().clamp(0, span);
        i64::try_from(since * 1000 / span).unwrap_or(0)
    };
    out.push_str("<h2>Timeline</h2>\n<div class=lanes role=\"img\" aria-label=\"timeline\">\n");
    for (name, line) in report.lines() {
        let _ = write!(out, "<div class=lane><span>{}</span><div class=track>", text(&name));
        for step in &line.steps {
            for one in &step.attempts {
                let (from, to) = (at(one.begun), at(one.over.unwrap_or(report.last)));
                let hover =
                    format!("{name} {} #{} {}: {}", step.step, one.n, one.agent, one.result);
                let _ = write!(
                    out,
                    "<i class={} style=\"left:{}%;width:{}%\" data-step=\"{}\" title=\"{} {}\"></i>",
                    colour(one),
                    percent(from),
                    percent(to - from),
                    text(&step.step),
                    text(&hover),
                    text(&one.why),
                );
            }
        }
        out.push_str("</div></div>\n");
    }
    if !report.questions.is_empty() {
        out.push_str("<div class=marks>");
        for one in &report.questions {
            let hover = text(&format!("{}: {}", one.job, one.why));
            let left = percent(at(one.at));
            let _ = write!(out, "<i class=wait style=\"left:{left}%\" title=\"{hover}\"></i>");
        }
        out.push_str("</div>\n");
    }
    let _ = writeln!(
        out,
        "</div>\n<p class=\"ends dim\"><span>{}</span><span>{}</span></p>",
        clock(report.begun),
        length(report.seconds)
    );
    out.push_str("<p class=\"key dim\"><span><b class=good></b>verified</span> <span><b class=bad></b>failed</span> <span><b class=wait></b>running, or a question</span> <span><b class=skip></b>skipped</span></p>\n");
}

fn percent(thousandths: i64) -> String {
    format!("{}.{}", thousandths / 10, thousandths % 10)
}

fn clock(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn standing(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
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

/// Escapes a text.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::terminal::harmless(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
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

/// Empty without prices.
pub fn money(micro_usd: u64) -> String {
    if micro_usd == 0 {
        String::new()
    } else {
        format!(", ${}.{:02}", micro_usd / 1_000_000, micro_usd % 1_000_000 / 10_000)
    }
}
