use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use dogwatch_core::exit_code;
use dogwatch_core::label::one_line;
use dogwatch_engine::actions::search::{self, Answer, Hit, MARKS, Progress, Request};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::search::{FoundIn, IndexState, SearchHit, SearchResults, SearchSession};
use jiff::Timestamp;

use crate::args::Search;
use crate::{environment, ui};

/// How often progress is printed.
const PACE: Duration = Duration::from_secs(1);

pub(crate) fn search(context: &Context, args: &Search) -> Result<u8, Error> {
    let now = Timestamp::now();
    let request = Request {
        text: args.text.join(" "),
        limit: args.limit.into(),
        agents: args.agents.clone(),
        project: args.project.as_deref().map(environment::project_given).transpose()?,
        since: args.since,
        patience: (!args.index).then_some(args.wait),
    };
    let mut last = Instant::now();
    let answer = search::search(context, &request, &mut |progress| {
        if last.elapsed() >= PACE {
            last = Instant::now();
            ui::talk(format_args!("indexing: {}", counts(progress)));
        }
    })?;
    if ui::prints_json() {
        ui::json(&shape(&answer));
    } else {
        show(&answer, args, now);
    }
    let found_nothing = answer.hits.is_empty() && !args.text.is_empty();
    Ok(if found_nothing { exit_code::FAILED } else { exit_code::OK })
}

fn show(answer: &Answer, args: &Search, now: Timestamp) {
    for hit in &answer.hits {
        show_hit(hit, now);
    }
    if answer.is_more {
        ui::talk("there are more; --limit N shows them");
    }
    let progress = &answer.progress;
    if answer.hits.is_empty() && !args.text.is_empty() {
        ui::talk("nothing found");
    }
    if progress.is_busy {
        ui::talk("note: another process is adding to the index; new conversations may be missing");
    } else if progress.left() > 0 {
        let megabytes = progress.bytes_left() / 1_000_000;
        ui::talk(format_args!(
            "note: {} conversations ({megabytes} MB) are not in the index yet; search again, or add all: dogwatch search --index",
            progress.left()
        ));
    } else if args.index {
        let seconds = progress.took.as_secs_f64();
        ui::talk(format_args!("indexed {} in {seconds:.1} s", counts(progress)));
    }
}

fn counts(progress: &Progress) -> String {
    format!(
        "{} of {} conversations, {} of {} MB",
        progress.done,
        progress.sources,
        progress.bytes_done / 1_000_000,
        progress.bytes / 1_000_000
    )
}

fn show_hit(hit: &Hit, now: Timestamp) {
    let shape = shape_hit(hit);
    let bold = Style::new().bold();
    let name = shape.session.as_ref().map_or("-", |session| session.name.as_str());
    let age = shape.at.map(|at| ui::age(at, now)).unwrap_or_default();
    let title = ui::harmless(shape.title.clone().unwrap_or_default());
    let agent = &shape.agent;
    let heading = format!("{bold}{name}{bold:#}  {agent}  {age}  {title}");
    ui::line(heading.trim_end());
    let more = match shape.matches {
        0 | 1 => String::new(),
        matches => format!(" (and {} more)", matches - 1),
    };
    let said = shape.found_in.as_str();
    ui::line(format_args!("  {said}: {}{more}", marked(&hit.found.snippet)));
    if let Some(open) = &shape.open {
        ui::line(format_args!("  {}", ui::harmless(command(open))));
    }
}

/// A snippet for people: matches stand out by colour, or between marks where there is none.
fn marked(snippet: &str) -> String {
    let paint = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    let (before, after) = if std::io::stdout().is_terminal() {
        (format!("{paint}"), format!("{paint:#}"))
    } else {
        ("«".to_owned(), "»".to_owned())
    };
    let mut out = String::new();
    for (text, is_match) in parts(snippet) {
        let text = ui::harmless(text);
        let (before, after) = if is_match { (&*before, &*after) } else { ("", "") };
        out.extend([before, &text, after]);
    }
    out
}

/// A snippet in one line, in parts, each with whether it is a match.
fn parts(snippet: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, part) in snippet.split(MARKS.0).enumerate() {
        let (matched, rest) =
            if at == 0 { ("", part) } else { part.split_once(MARKS.1).unwrap_or(("", part)) };
        found.push((flat(matched), true));
        found.push((flat(rest), false));
    }
    found.retain(|(text, _)| !text.is_empty());
    found
}

/// In one line, with a blank at its ends where there was any.
fn flat(text: &str) -> String {
    let line = one_line(text);
    let blank = |is: bool| if is { " " } else { "" };
    let has = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let (before, after) = (has(text.chars().next()), has(text.chars().next_back()));
    if line.is_empty() {
        blank(before).to_owned()
    } else {
        format!("{}{line}{}", blank(before), blank(after))
    }
}

/// Words of a command as a shell takes them.
fn command(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn shape(answer: &Answer) -> SearchResults {
    let progress = &answer.progress;
    SearchResults {
        hits: answer.hits.iter().map(shape_hit).collect(),
        more: answer.is_more,
        index: IndexState {
            added: progress.done,
            missing: progress.left(),
            missing_bytes: progress.bytes_left(),
            busy: progress.is_busy,
        },
    }
}

fn shape_hit(hit: &Hit) -> SearchHit {
    let source = &hit.found.source;
    let session = hit.session.as_ref();
    let (mut snippet, mut marks, mut length) = (String::new(), Vec::new(), 0);
    for (text, is_match) in parts(&hit.found.snippet) {
        let end = length + text.chars().count();
        if is_match {
            marks.push([length, end]);
        }
        length = end;
        snippet.push_str(&text);
    }
    SearchHit {
        session: session.map(|session| SearchSession {
            id: session.id.clone(),
            name: session.name.clone(),
            running: !session.is_over(),
            archived: session.archived,
        }),
        agent: source.agent.clone(),
        conversation: source.conversation.clone(),
        title: session
            .and_then(|session| session.title.clone())
            .or_else(|| source.title.clone().filter(|_| !source.path.starts_with("session:"))),
        cwd: source.cwd.clone(),
        found_in: FoundIn::new(&hit.found.said),
        at: hit.found.at.and_then(|at| Timestamp::from_millisecond(at).ok()),
        matches: hit.found.matches,
        snippet,
        marks,
        open: hit.open.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_in_parts() {
        let snippet = "…the \u{2}limiter\u{3}\n\tcounts \u{2}keys\u{3}";
        let text: Vec<(String, bool)> = parts(snippet);
        let text: Vec<(&str, bool)> = text.iter().map(|(text, is)| (text.as_str(), *is)).collect();
        assert_eq!(
            text,
            [("…the ", false), ("limiter", true), (" counts ", false), ("keys", true)]
        );
        assert_eq!(parts("no \u{3} match \u{2}"), [("no match ".to_owned(), false)]);
    }

    #[test]
    fn a_command_can_be_pasted() {
        let words = ["dogwatch", "spawn", "--cwd", "/a b/it's"].map(str::to_owned);
        assert_eq!(command(&words), r"dogwatch spawn --cwd '/a b/it'\''s'");
    }
}
