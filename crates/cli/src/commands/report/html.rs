//! The report as one page: no script, no request, everything escaped.

use std::fmt::{Display, Write as _};

use dogwatch_core::terminal;
use dogwatch_protocol::report::{
    ClaimVerdict, Happened, Question, Report, ReportedRun, RunKind, RunResult, SessionReport,
    Source, Span, SpanState,
};
use jiff::tz::TimeZone;

use super::words::{self, Clock};

const STYLE: &str = include_str!("page.css");
/// Nothing is loaded, and nothing runs, whatever a text contains.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub(super) fn page(report: &Report, zone: &TimeZone) -> String {
    let clock = Clock { zone, until: report.until };
    let seconds = report.until.duration_since(report.since).as_secs();
    let (since, until) = (clock.time(report.since), clock.time(report.until));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"referrer\" content=\"no-referrer\"><meta name=\"robots\" content=\"noindex\">\
         <title>Report {since} – {until}</title><style>{STYLE}</style></head><body>\
         <header><h1>Report</h1><p class=\"dim\">{since} – {until} ({}), {}</p></header><main>",
        words::duration(seconds),
        words::counted(report.sessions.len(), "session"),
    );
    let files = files(report);
    for (number, one) in report.sessions.iter().enumerate() {
        Writer { out: &mut out, clock: &clock, number, files: &files }.session(one);
    }
    out.push_str("</main>");
    records(&mut out, &files);
    out.push_str("</body></html>\n");
    out
}

/// A text inside of HTML, or of an attribute in double quotes. What is not seen is shown as a dot.
fn escaped(text: impl Display) -> String {
    let text = text.to_string();
    let mut out = String::with_capacity(text.len());
    for c in terminal::harmless(&text).chars() {
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

/// The words of a source. That of a transcript leads to its file, which is named once, at the end of the page: a title is not to be
/// read on a phone.
fn source(files: &[&str], source: &Source) -> String {
    let words = escaped(words::source(source));
    let place = match source {
        Source::Transcript { file, .. } => files.iter().position(|known| known == file),
        Source::Journal { .. } | Source::Git { .. } => None,
    };
    match (place, source) {
        (Some(number), _) => {
            format!("<a class=\"src\" href=\"#file-{number}\">{words} of file {}</a>", number + 1)
        }
        (None, Source::Git { commit }) => {
            format!("<span class=\"src\">commit {}</span>", escaped(commit))
        }
        (None, Source::Journal { .. }) => {
            format!("<a class=\"src\" href=\"#journal\">{words}</a>")
        }
        (None, Source::Transcript { file, line }) => {
            format!("<span class=\"src\">{}:{line}</span>", escaped(file))
        }
    }
}

/// The transcripts that the page names, in the order of their first mention.
fn files(report: &Report) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for one in &report.sessions {
        let turns = one.turns.iter().flatten().map(|turn| &turn.source);
        let sources = turns
            .chain(one.files.iter().map(|file| &file.source))
            .chain(one.runs.iter().map(|run| &run.source))
            .chain(one.claims.iter().flat_map(|claim| [&claim.source, &claim.run.source]))
            .chain(one.questions.iter().map(|question| &question.source))
            .chain(one.timeline.iter().filter_map(|span| span.source.as_ref()))
            .chain(&one.usage_sources);
        for source in sources {
            if let Source::Transcript { file, .. } = source
                && !all.contains(&file.as_str())
            {
                all.push(file);
            }
        }
    }
    all
}

/// Where sources are, for people who want to look.
fn records(out: &mut String, files: &[&str]) {
    out.push_str("<footer id=\"records\"><h2>Records</h2><ul class=\"list\">");
    out.push_str("<li id=\"journal\">journal N: <code>dogwatch events --json</code>, the entry with that number</li>");
    for (number, file) in files.iter().enumerate() {
        let _ = write!(
            out,
            "<li id=\"file-{number}\">file {}: <code>{}</code></li>",
            number + 1,
            escaped(file)
        );
    }
    out.push_str("</ul></footer>");
}

fn class(state: SpanState) -> String {
    words::state(state).replace(' ', "_")
}

struct Writer<'a> {
    out: &'a mut String,
    clock: &'a Clock<'a>,
    number: usize,
    files: &'a [&'a str],
}

impl Writer<'_> {
    fn put(&mut self, text: impl Display) {
        let _ = write!(self.out, "{text}");
    }

    fn source(&self, source: &Source) -> String {
        self::source(self.files, source)
    }

    /// The name of a place on the page.
    fn place(&self, what: &str) -> String {
        format!("{what}-{}", self.number)
    }

    fn session(&mut self, one: &SessionReport) {
        self.put(format_args!("<section id=\"{}\">", self.place("session")));
        let title = one.title.as_ref().map(|title| format!(" · {}", escaped(title)));
        self.put(format_args!("<h2>{}{}</h2>", escaped(&one.name), title.unwrap_or_default()));
        let folder = one.folder.as_ref().map(|folder| format!(" · {}", escaped(folder)));
        let begun = one.begun.map(|at| format!(" · since {}", self.clock.time(at)));
        let ended = one.ended.map(|at| format!(" · ended {}", self.clock.time(at)));
        self.put(format_args!(
            "<p class=\"dim\">{}{}{}{}</p>",
            escaped(&one.agent),
            folder.unwrap_or_default(),
            begun.unwrap_or_default(),
            ended.unwrap_or_default()
        ));
        self.claims(one);
        self.numbers(one);
        self.timeline(one);
        self.runs(one);
        self.questions(&one.questions);
        for (label, what, list) in [
            ("Limits", "limits", &one.limits),
            ("Loops", "loops", &one.loops),
            ("Collisions", "collisions", &one.collisions),
            ("Done by dogwatch", "actions", &one.actions),
        ] {
            self.happened(label, what, list);
        }
        self.commits(one);
        self.files(one);
        self.happened("Turns", "turns", one.turns.as_deref().unwrap_or_default());
        for note in &one.notes {
            self.put(format_args!("<p class=\"dim\">{}</p>", escaped(note)));
        }
        self.put("</section>");
    }

    fn claims(&mut self, one: &SessionReport) {
        if one.claims.is_empty() {
            return;
        }
        self.put(format_args!(
            "<h3 id=\"{}\">What it said</h3><ul class=\"list\">",
            self.place("claims")
        ));
        // What is not true comes first.
        let order = |verdict| match verdict {
            ClaimVerdict::Contradicted => 0,
            ClaimVerdict::Unproven => 1,
            ClaimVerdict::Holds => 2,
        };
        let mut claims: Vec<_> = one.claims.iter().collect();
        claims.sort_by_key(|claim| order(claim.verdict));
        for claim in claims {
            let word = words::verdict(claim.verdict);
            let text = escaped(self.clock.claim(claim));
            let (said, run) = (self.source(&claim.source), self.source(&claim.run.source));
            self.put(format_args!(
                "<li><span class=\"tag {word}\">{word}</span> {text} {said} · {run}</li>"
            ));
        }
        self.put("</ul>");
    }

    fn numbers(&mut self, one: &SessionReport) {
        self.put("<ul class=\"numbers\">");
        let tests: Vec<&ReportedRun> = of_kind(one, RunKind::Test);
        let builds: Vec<&ReportedRun> = of_kind(one, RunKind::Build);
        let own = one.commits.iter().filter(|commit| commit.by_agent != Some(false)).count();
        let count = |list: usize| list.to_string();
        let shown = [
            ("turns", one.turns.as_ref().map(|turns| turns.len().to_string()), "turns".to_owned()),
            ("commits", Some(count(own)), "commits".to_owned()),
            (
                "files",
                one.turns.as_ref().map(|_| count(one.files.len())),
                "files edited".to_owned(),
            ),
            ("runs", Some(count(tests.len())), format!("test runs {}", words::runs(&tests))),
            ("runs", Some(count(builds.len())), format!("builds {}", words::runs(&builds))),
            ("questions", Some(count(one.questions.len())), "questions".to_owned()),
            ("limits", Some(count(one.limits.len())), "limits".to_owned()),
            ("loops", Some(count(one.loops.len())), "loops".to_owned()),
            ("collisions", Some(count(one.collisions.len())), "collisions".to_owned()),
            ("actions", Some(count(one.actions.len())), "done by dogwatch".to_owned()),
        ];
        for (what, number, label) in shown {
            let label = escaped(label.trim());
            match number.as_deref() {
                None => self.put(format_args!("<li><b>–</b> {label}: not known</li>")),
                Some("0") => self.put(format_args!("<li><b>0</b> {label}</li>")),
                Some(number) => {
                    let place = self.place(what);
                    self.put(format_args!(
                        "<li><b><a href=\"#{place}\">{number}</a></b> {label}</li>"
                    ));
                }
            }
        }
        if let Some(used) = &one.usage {
            let sources = one.usage_sources.iter().map(|source| self.source(source));
            let sources = sources.collect::<Vec<_>>().join(", ");
            let cost = escaped(words::cost(used));
            self.put(format_args!("<li><b>{cost}</b> cost, in {sources}</li>"));
        }
        self.put("</ul>");
    }

    fn timeline(&mut self, one: &SessionReport) {
        let (Some(first), Some(last)) = (one.timeline.first(), one.timeline.last()) else { return };
        let whole = last.to.duration_since(first.from).as_secs().max(1);
        self.put("<div class=\"bar\" role=\"img\" aria-label=\"Timeline\">");
        for span in &one.timeline {
            let seconds = span.to.duration_since(span.from).as_secs();
            // Hundredths of a percent, without a fraction that depends on a locale.
            let share = seconds.saturating_mul(10_000) / whole;
            let title = escaped(self.span_words(span));
            self.put(format_args!(
                "<i class=\"{}\" style=\"flex:{share}\" title=\"{title}\"></i>",
                class(span.state)
            ));
        }
        let ends = (self.clock.time(first.from), self.clock.time(last.to));
        self.put(format_args!(
            "</div><div class=\"ends\"><span>{}</span><span>{}</span></div>",
            ends.0, ends.1
        ));
        self.put("<ul class=\"key\">");
        for (state, seconds) in words::times(&one.time) {
            let (class, word) = (class(state), words::state(state));
            let place = self.place("timeline");
            self.put(format_args!(
                "<li><i class=\"{class}\"></i>{word} <a href=\"#{place}\">{}</a></li>",
                words::duration(seconds)
            ));
        }
        self.put(format_args!(
            "</ul><details id=\"{}\"><summary>Timeline, {}</summary><ul class=\"list\">",
            self.place("timeline"),
            words::counted(one.timeline.len(), "span")
        ));
        for span in &one.timeline {
            let text = escaped(self.span_words(span));
            let source = span.source.as_ref().map(|source| self.source(source)).unwrap_or_default();
            self.put(format_args!("<li>{text} {source}</li>"));
        }
        self.put("</ul></details>");
    }

    fn span_words(&self, span: &Span) -> String {
        let seconds = span.to.duration_since(span.from).as_secs();
        let (from, to) = (self.clock.time(span.from), self.clock.time(span.to));
        format!("{} {from}–{to}, {}", words::state(span.state), words::duration(seconds))
    }

    fn runs(&mut self, one: &SessionReport) {
        if one.runs.is_empty() {
            return;
        }
        let place = self.place("runs");
        self.put(format_args!("<h3 id=\"{place}\">Tests and builds</h3><ul class=\"list\">"));
        for run in &one.runs {
            let class = match run.result {
                RunResult::Passed => "passed",
                RunResult::Failed => "failed",
                RunResult::Hidden => "hidden",
                RunResult::NotRecorded => "not_recorded",
            };
            let at = run.at.map(|at| self.clock.time(at)).unwrap_or_default();
            let (command, result) = (escaped(&run.command), escaped(words::result(run)));
            let source = self.source(&run.source);
            self.put(format_args!(
                "<li>{at} <code>{command}</code> <span class=\"{class}\">{result}</span> {source}</li>"
            ));
        }
        self.put("</ul>");
    }

    fn questions(&mut self, questions: &[Question]) {
        if questions.is_empty() {
            return;
        }
        let place = self.place("questions");
        self.put(format_args!("<h3 id=\"{place}\">Questions</h3><ul class=\"list\">"));
        for question in questions {
            let by = question.by.as_ref().map(|by| format!(" by {by}"));
            let by = by.unwrap_or_else(|| "; who is not recorded".to_owned());
            let answer = match question.answered {
                Some(at) => format!("answered {}{by}", self.clock.time(at)),
                None => "no answer was observed".to_owned(),
            };
            let (about, text) = (escaped(&question.about), escaped(&question.text));
            let (at, answer) = (self.clock.time(question.at), escaped(answer));
            let asked = self.source(&question.source);
            let other = question.answer_source.as_ref().filter(|one| **one != question.source);
            let answered = other.map(|source| self.source(source)).unwrap_or_default();
            self.put(format_args!(
                "<li>{at} <span class=\"dim\">{about}</span> {text} → {answer} {asked} {answered}</li>"
            ));
        }
        self.put("</ul>");
    }

    fn happened(&mut self, label: &str, what: &str, list: &[Happened]) {
        if list.is_empty() {
            return;
        }
        let place = self.place(what);
        self.put(format_args!(
            "<details id=\"{place}\"{}><summary>{label}, {}</summary><ul class=\"list\">",
            if what == "turns" { "" } else { " open" },
            list.len()
        ));
        for one in list {
            let (at, text) = (self.clock.time(one.at), escaped(&one.text));
            let source = self.source(&one.source);
            self.put(format_args!("<li>{at} {text} {source}</li>"));
        }
        self.put("</ul></details>");
    }

    fn commits(&mut self, one: &SessionReport) {
        if one.commits.is_empty() {
            return;
        }
        let place = self.place("commits");
        self.put(format_args!("<details open id=\"{place}\"><summary>Commits in its folder, {}</summary><ul class=\"list\">", one.commits.len()));
        for commit in &one.commits {
            let by = match commit.by_agent {
                Some(true) => "",
                Some(false) => " <span class=\"dim\">not by this session</span>",
                None => " <span class=\"dim\">by whom is not known</span>",
            };
            let (at, files) = (self.clock.time(commit.at), words::counted(commit.files, "file"));
            let (subject, source) = (escaped(&commit.subject), self.source(&commit.source));
            self.put(format_args!("<li>{at} {subject}, {files}{by} {source}</li>"));
        }
        self.put("</ul></details>");
    }

    fn files(&mut self, one: &SessionReport) {
        if one.files.is_empty() {
            return;
        }
        let place = self.place("files");
        self.put(format_args!(
            "<details id=\"{place}\"><summary>Files edited, {}</summary><ul class=\"list\">",
            one.files.len()
        ));
        for file in &one.files {
            let (path, edits) = (escaped(&file.path), words::counted(file.edits, "edit"));
            let source = self.source(&file.source);
            self.put(format_args!("<li><code>{path}</code> {edits} {source}</li>"));
        }
        self.put("</ul></details>");
    }
}

fn of_kind(one: &SessionReport, kind: RunKind) -> Vec<&ReportedRun> {
    one.runs.iter().filter(|run| run.kind == kind).collect()
}

#[cfg(test)]
pub(super) mod tests;
