//! The report as text, at most 80 columns wide.

use std::fmt::Write as _;

use dogwatch_protocol::report::{Question, Report, ReportedRun, RunKind, SessionReport, Source};
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr as _;

use super::words::{self, Clock};
use crate::ui;

const WIDTH: usize = 80;
/// Where texts begin.
const INDENT: usize = 13;
/// Most of one kind; the page and the JSON have all.
const MOST: usize = 8;

pub(super) fn text(report: &Report, zone: &TimeZone) -> String {
    let clock = Clock { zone, until: report.until };
    let seconds = report.until.duration_since(report.since).as_secs();
    let mut out = format!(
        "Since {} ({}): {}\n",
        clock.time(report.since),
        words::duration(seconds),
        words::counted(report.sessions.len(), "session")
    );
    for one in &report.sessions {
        session(&mut out, one, &clock);
    }
    out
}

fn session(out: &mut String, one: &SessionReport, clock: &Clock<'_>) {
    let name = ui::harmless(format!("{} · {}", one.name, one.agent));
    let title = one.title.as_ref().map(|title| format!(" · {title}")).unwrap_or_default();
    let _ = writeln!(out, "\n{}", cut(&format!("{name}{}", flat(&title)), WIDTH));
    let times: Vec<String> = words::times(&one.time)
        .iter()
        .map(|(state, seconds)| format!("{} {}", words::state(*state), words::duration(*seconds)))
        .collect();
    row(out, "time", &[times.join(" · ")]);
    let turns = one.turns.as_ref().map(|turns| words::counted(turns.len(), "turn"));
    let files = words::counted(one.files.len(), "file") + " edited";
    let done = [turns, Some(words::commits(one)), one.turns.is_some().then_some(files)];
    row(out, "work", &[done.into_iter().flatten().collect::<Vec<_>>().join(" · ")]);
    let cost = one.usage.as_ref().map(|used| {
        let sources: Vec<String> = one.usage_sources.iter().map(words::source).collect();
        format!("{} ({})", words::cost(used), sources.join(", "))
    });
    row(out, "cost", &cost.into_iter().collect::<Vec<_>>());
    for (kind, label) in [(RunKind::Test, "tests"), (RunKind::Build, "builds")] {
        let runs: Vec<&ReportedRun> = one.runs.iter().filter(|run| run.kind == kind).collect();
        if let Some(last) = runs.last() {
            let at = last.at.map(|at| format!(" at {}", clock.time(at))).unwrap_or_default();
            let last = format!("last: `{}`{at}: {}", last.command, words::result(last));
            row(out, label, &[words::runs(&runs), last]);
        }
    }
    let claims: Vec<String> = one
        .claims
        .iter()
        .map(|claim| {
            let mark = words::verdict(claim.verdict);
            format!("{mark}: {} ({})", clock.claim(claim), words::source(&claim.source))
        })
        .collect();
    row(out, "claims", &last_of(claims));
    let questions = one.questions.iter().map(|one| question(one, clock)).collect();
    row(out, "questions", &last_of(questions));
    for (label, list) in [
        ("limits", &one.limits),
        ("loops", &one.loops),
        ("collisions", &one.collisions),
        ("dogwatch", &one.actions),
    ] {
        let one = |it: &dogwatch_protocol::report::Happened| {
            format!("{} {} ({})", clock.time(it.at), it.text, words::source(&it.source))
        };
        row(out, label, &last_of(list.iter().map(one).collect()));
    }
    row(out, "note", &one.notes);
}

fn question(one: &Question, clock: &Clock<'_>) -> String {
    let by = one.by.as_ref().map_or("; who is not recorded".to_owned(), |by| format!(" by {by}"));
    let answered = match one.answered {
        Some(at) => format!("answered at {}{by}", clock.time(at)),
        None => "no answer was observed".to_owned(),
    };
    let (at, source): (_, &Source) = (clock.time(one.at), &one.source);
    format!("{at} {}: {} → {answered} ({})", one.about, one.text, words::source(source))
}

/// The last ones, with a word about the others.
fn last_of(mut list: Vec<String>) -> Vec<String> {
    let more = list.len().saturating_sub(MOST);
    if more > 0 {
        list.drain(..more);
        list.insert(0, format!("({more} more: --json or --html shows them)"));
    }
    list
}

/// A label, and texts that are wrapped beside it.
fn row(out: &mut String, label: &str, texts: &[String]) {
    let mut label = label;
    for text in texts.iter().filter(|text| !text.is_empty()) {
        for (number, line) in wrapped(&flat(text), WIDTH - INDENT).into_iter().enumerate() {
            let gap = if number > 0 { "  " } else { "" };
            let _ = writeln!(out, "  {label:<10} {gap}{line}");
            label = "";
        }
    }
}

/// On one line, with nothing in it that a terminal obeys.
fn flat(text: &str) -> String {
    ui::harmless(text.split(['\n', '\r', '\t']).collect::<Vec<_>>().join(" "))
}

/// Lines of words, with room for an indent. A longer word is cut into pieces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width - 2;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        for piece in pieces(word, width) {
            match lines.last_mut() {
                Some(line) if line.width() + 1 + piece.width() <= width => {
                    line.push(' ');
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    for c in word.chars() {
        let last = all.last_mut().map_or(0, |piece| piece.width());
        if last + c.to_string().width() > width {
            all.push(String::new());
        }
        if let Some(piece) = all.last_mut() {
            piece.push(c);
        }
    }
    all
}

fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    pieces(text, width - 1).first().map(|piece| format!("{piece}…")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::html::tests::example;
    use super::*;

    #[test]
    fn it_fits_into_80_columns() {
        let text = text(&example(), &TimeZone::UTC);
        for line in text.lines() {
            assert!(line.width() <= WIDTH, "{} columns: {line}", line.width());
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let claim = "said “All tests pass.” at 03:14; the last `cargo test` exited 101 at 03:12";
        assert!(flat.contains(claim), "{text}");
        assert!(flat.contains("not observed 1h 0m"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn words_are_wrapped() {
        assert_eq!(wrapped("aa bb cc", 7), ["aa bb", "cc"]);
        assert_eq!(wrapped("abcdefgh", 7), ["abcde", "fgh"]);
        assert_eq!(wrapped("", 7), Vec::<String>::new());
    }
}
