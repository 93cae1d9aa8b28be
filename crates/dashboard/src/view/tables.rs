//! Runs, jobs and messages as lines.

use std::path::{Path, PathBuf};

use dogwatch_core::job::JobState;
use dogwatch_protocol::run::{Report, StepLine};
use dogwatch_store::Job;
use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::style;
use crate::model::{Sent, short_path};
use crate::text;

/// A run of stories.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) project: PathBuf,
    pub(crate) begun: Timestamp,
    /// `running`, `paused`, …
    pub(crate) standing: String,
    pub(crate) questions: usize,
    /// `None` if this version cannot read its journal.
    pub(crate) report: Option<Report>,
}

/// Each run with its stories, and a column for each step: how it stands and how many attempts it took.
pub(crate) fn runs(runs: &[Run], home: Option<&Path>, now: Timestamp) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for run in runs {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(run_title(run, home, now));
        if let Some(report) = &run.report {
            stories(report, &mut lines);
        }
    }
    lines
}

fn run_title(run: &Run, home: Option<&Path>, now: Timestamp) -> Line<'static> {
    let questions = match run.questions {
        0 => String::new(),
        1 => "  1 question to you".to_owned(),
        count => format!("  {count} questions to you"),
    };
    let done = run.report.as_ref().map(|report| {
        let done = report.items.iter().filter(|item| item.state == "done").count();
        format!("  {done} of {} done", report.items.len())
    });
    let age = text::age(run.begun, now);
    let project = short_path(&run.project, home);
    let rest = format!("{}  begun {age} ago  {project}", done.unwrap_or_default());
    Line::from(vec![
        Span::styled(format!("run {}  ", text::one_line(&run.id)), style::bold()),
        Span::styled(text::one_line(&run.standing), standing_style(&run.standing)),
        Span::raw(rest),
        Span::styled(questions, style::of(dogwatch_core::attention::Place::Answer)),
    ])
}

fn standing_style(standing: &str) -> Style {
    use dogwatch_core::attention::Place;
    match standing {
        "running" => style::of(Place::Working),
        "complete" => style::plain(),
        "aborted" | "unreadable" => style::of(Place::Trouble),
        _ => style::of(Place::Answer),
    }
}

fn stories(report: &Report, lines: &mut Vec<Line<'static>>) {
    let rows: Vec<_> = report.lines().collect();
    let mut steps: Vec<&str> = Vec::new();
    for step in rows.iter().flat_map(|(_, line)| &line.steps) {
        if !steps.contains(&step.label.as_str()) {
            steps.push(&step.label);
        }
    }
    let names = rows.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0).clamp(5, 24);
    let width_of = |label: &str| {
        let of_label = rows.iter().flat_map(|(_, line)| &line.steps).filter(|s| s.label == label);
        let widest = of_label.map(|step| text::width(&cell(step).0)).max().unwrap_or(0);
        widest.max(text::width(label)).min(18)
    };
    let widths: Vec<usize> = steps.iter().map(|label| width_of(label)).collect();
    let mut head = text::fit("STORY", names);
    for (label, width) in steps.iter().zip(&widths) {
        head.push_str("  ");
        head.push_str(&text::fit(&text::one_line(label), *width));
    }
    lines.push(Line::styled(format!("  {head}"), style::dim()));
    for (name, line) in rows {
        let mut spans = vec![Span::raw(format!("  {}", text::fit(&text::one_line(&name), names)))];
        for (label, width) in steps.iter().zip(&widths) {
            let step = line.steps.iter().find(|step| step.label == *label);
            let (word, style) = step.map_or((String::new(), style::plain()), cell);
            spans.push(Span::raw("  "));
            spans.push(Span::styled(text::fit(&word, *width), style));
        }
        let open = line.steps.iter().find(|step| step.state == "asked");
        let why = line.why.clone().or(open.map(|step| step.why.clone())).unwrap_or_default();
        spans.push(Span::raw(format!("  {}", text::one_line(&why)).trim_end().to_owned()));
        lines.push(Line::from(spans));
    }
}

/// How a step stands, and how many attempts it took if it was more than one.
fn cell(step: &StepLine) -> (String, Style) {
    use dogwatch_core::attention::Place;
    let (word, style) = match step.state {
        "waiting" => (".", style::dim()),
        "in-progress" => ("working", style::of(Place::Working)),
        "asked" => ("asks you", style::of(Place::Answer)),
        "done" => ("done", style::plain()),
        other => (other, style::dim()),
    };
    match step.attempts.len() {
        0 | 1 => (word.to_owned(), style),
        attempts => (format!("{word} ×{attempts}"), style),
    }
}

/// Messages with their receipts, the newest first.
pub(crate) fn messages(sent: &[Sent], now: Timestamp) -> Vec<Line<'static>> {
    let head = ["TO", "AGE", "RECEIPT", "TEXT"].map(ToOwned::to_owned);
    let row = |one: &Sent| {
        [
            text::cut(&text::one_line(&one.to), 24),
            text::age(one.posted, now),
            text::cut(&text::one_line(&one.receipt()), 70),
            text::one_line(&one.text),
        ]
    };
    table(head, sent.iter().rev().map(row))
}

/// Jobs with the times of their steps, the newest first.
pub(crate) fn jobs(found: &[(Option<String>, Job)], now: Timestamp) -> Vec<Line<'static>> {
    let head = ["SESSION", "AGE", "STATE", "STEPS", "PROMPT"].map(ToOwned::to_owned);
    let row = |(name, job): &(Option<String>, Job)| {
        let session = name.as_deref().unwrap_or(&job.session);
        [
            text::cut(&text::one_line(session), 24),
            text::age(job.submitted, now),
            text::cut(&text::one_line(&job_state(job)), 40),
            job_steps(job),
            text::one_line(&job.prompt),
        ]
    };
    table(head, found.iter().rev().map(row))
}

fn job_state(job: &Job) -> String {
    let word = job.state.as_str();
    match (&job.state, &job.waiting) {
        (JobState::Failed { because, .. }, _) => format!("{word}: {because}"),
        (JobState::Cancelled { by }, _) => format!("{word} by {by}"),
        (_, Some(waiting)) => format!("{word}, waiting for {waiting}"),
        _ => word.to_owned(),
    }
}

fn job_steps(job: &Job) -> String {
    let steps = [("delivered", job.delivered), ("running", job.running), ("ended", job.ended)];
    let steps = steps.into_iter().filter_map(|(word, at)| {
        let seconds = at?.duration_since(job.submitted).as_secs_f64();
        Some(format!("{word} {seconds:.1}s"))
    });
    steps.collect::<Vec<_>>().join(" → ")
}

/// A dim head, and the rows.
fn table<const N: usize>(
    head: [String; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Vec<Line<'static>> {
    let rows: Vec<[String; N]> = std::iter::once(head).chain(rows).collect();
    let mut lines: Vec<Line<'static>> = text::columns(&rows).into_iter().map(Line::from).collect();
    if let Some(first) = lines.first_mut() {
        *first = std::mem::take(first).style(style::dim());
    }
    lines
}
