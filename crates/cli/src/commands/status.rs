use std::sync::atomic::Ordering;
use std::time::Duration;

use anstyle::AnsiColor;
use dogwatch_core::attention;
use dogwatch_core::exit_code;
pub(super) use dogwatch_core::status::detail;
use dogwatch_core::status::{Basis, Status};
use dogwatch_core::usage::{cost_words, token_words};
use dogwatch_engine::observe::collisions;
use dogwatch_engine::observe::status::StatusReader;
use dogwatch_engine::observe::{listing, snapshot};
use dogwatch_engine::socket::client;
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::status::{StatusReport, StatusRow, Statuses};
use dogwatch_protocol::stream::{Ask, Follow};
use dogwatch_store::Which;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::args::StatusArgs;
use crate::commands::job as jobs;
use crate::screen::{self, Screen};
use crate::table::{Cell, Table};
use crate::usage::UsageError;
use crate::{environment, interrupt, ui};

pub(crate) fn status(context: &Context, args: &StatusArgs) -> Result<u8, Error> {
    if args.watch {
        return watch(context, args);
    }
    let filter = Filter::new(args)?;
    let mut found = look(context, args)?;
    let is_shown = |one: &StatusRow| filter.fits(one);
    let hidden = found.sessions.iter().filter(|one| !is_shown(one));
    let hidden = hidden.filter(|one| one.session.verdict.status.is_over()).count();
    let is_list = args.sessions.is_empty() && !args.all && !args.archived && !is_filtered(args);
    found.left_out = if is_list { found.left_out + hidden } else { 0 };
    found.sessions.retain(is_shown);
    // Named sessions keep the order of the names.
    if args.sessions.is_empty() {
        sort(&mut found.sessions);
    }
    if ui::prints_json() {
        ui::json(&found);
        return Ok(exit_code::OK);
    }
    let Statuses { sessions, left_out, .. } = &found;
    if sessions.is_empty() && *left_out == 0 {
        ui::talk(no_sessions(args));
    } else if !sessions.is_empty() {
        ui::line(table(sessions, Timestamp::now()));
        if !args.sessions.is_empty() {
            for one in sessions {
                show_options(&one.session);
            }
        }
    }
    for line in collisions::lines(sessions) {
        ui::line(ui::harmless(line));
    }
    ui::talk_of_left_out(*left_out);
    Ok(exit_code::OK)
}

/// What the supervisor sees; without one, what this command sees itself.
fn look(context: &Context, args: &StatusArgs) -> Result<Statuses, Error> {
    let is_current = !args.all && !args.archived;
    let sessions = args.sessions.clone();
    if is_current && let Some(found) = client::ask(context, Ask::Status { sessions }) {
        return Ok(found);
    }
    let now = Timestamp::now();
    let mut reader = StatusReader::new(context)?.with_details();
    if !args.sessions.is_empty() {
        let targets: Vec<&str> = args.sessions.iter().map(String::as_str).collect();
        let judged = reader.many(&targets, now)?;
        return listing::statuses(context, &mut reader, &judged, 0, now);
    }
    let mut all = reader.all_of(if is_current { Which::current(now) } else { Which::All }, now)?;
    if args.archived {
        all.retain(|one| one.seen.session.archived);
    } else if is_current {
        snapshot::hide_superseded(&mut all, |one| &one.seen);
    }
    let left_out = if is_current { reader.left_out(&all)? } else { 0 };
    listing::statuses(context, &mut reader, &all, left_out, now)
}

/// Who needs a person comes first, who has needed one longest at the top.
fn sort(all: &mut [StatusRow]) {
    all.sort_by_key(|one| {
        let verdict = &one.session.verdict;
        attention::order(&verdict.status, verdict.since)
    });
}

/// Which sessions are shown.
struct Filter {
    states: Vec<String>,
    agents: Vec<String>,
    tags: Vec<String>,
    project: Option<String>,
}

impl Filter {
    fn new(args: &StatusArgs) -> Result<Self, Error> {
        let states = if args.waiting { vec!["waiting".to_owned()] } else { args.states.clone() };
        known_states(&states)?;
        let project = match &args.project {
            Some(folder) => Some(environment::project_given(folder)?),
            None if args.project_only => Some(environment::project()?),
            None => None,
        };
        let project = project.map(|root| root.to_string_lossy().into_owned());
        Ok(Self { states, agents: args.agents.clone(), tags: args.tags.clone(), project })
    }

    fn fits(&self, one: &StatusRow) -> bool {
        let is_one_of =
            |list: &[String], word: &str| list.is_empty() || list.iter().any(|w| w == word);
        is_one_of(&self.states, one.session.verdict.status.as_str())
            && is_one_of(&self.agents, &one.session.agent)
            && self.tags.iter().all(|tag| one.about.tags.contains(tag))
            && self.project.as_ref().is_none_or(|root| one.about.project == *root)
    }
}

/// Refuses words that are no states.
pub(super) fn known_states(states: &[String]) -> Result<(), UsageError> {
    match states.iter().find(|state| !Status::WORDS.contains(&state.as_str())) {
        Some(unknown) => {
            let known = Status::WORDS.join(", ");
            Err(UsageError::UnknownState { given: unknown.clone(), known })
        }
        None => Ok(()),
    }
}

fn is_filtered(args: &StatusArgs) -> bool {
    args.waiting || ![&args.states, &args.agents, &args.tags].iter().all(|list| list.is_empty())
}

fn no_sessions(args: &StatusArgs) -> &'static str {
    if is_filtered(args) {
        "no session matches"
    } else {
        ui::no_sessions(args.project_only || args.project.is_some())
    }
}

/// Redraws the table on every change, until Ctrl-C.
fn watch(context: &Context, args: &StatusArgs) -> Result<u8, Error> {
    if !ui::stdout_is_terminal() {
        let instead = "dogwatch status --json";
        return Err(UsageError::NeedsTerminal { instead }.into());
    }
    let follow = Follow { rows: true, ..Follow::default() };
    let mut stream = Stream::open(context, &args.sessions, follow)?;
    let stop = interrupt::flag(stream.waker())?;
    let mut screen = Screen::open().map_err(Error::io("draw on the terminal"))?;
    let filter = Filter::new(args)?;
    while !stop.load(Ordering::Relaxed) {
        // Ages change without an event.
        stream.next(Duration::from_secs(1), &stop)?;
        stream.take_touched();
        let mut sessions = look(context, args)?.sessions;
        let now = Timestamp::now();
        let clock = now.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
        sessions.retain(|one| filter.fits(one));
        sort(&mut sessions);
        let (header, rows) = table(&sessions, now).blocks();
        let word = |one: &StatusRow| one.session.verdict.status.as_str();
        let words: Vec<&str> = sessions.iter().map(word).collect();
        let footer = format!("{clock}, Ctrl-C to exit");
        let picture = screen::fit(&header, &rows, &words, &footer, Screen::height());
        if screen.draw(&picture).is_err() {
            break;
        }
    }
    Ok(exit_code::OK)
}

/// Prints the numbered options of the open dialog.
pub(super) fn show_options(one: &StatusReport) {
    let Status::Waiting { options, .. } = &one.verdict.status else { return };
    for (number, option) in (1..).zip(options) {
        ui::line(format_args!("  {number}. {}", ui::harmless(option.clone())));
    }
    if !options.is_empty() {
        ui::line(format_args!("to answer: dogwatch answer {} NUMBER", one.name));
    }
}

/// Columns that say nothing of any session are left out, and so are those that the terminal has no room for.
fn table(sessions: &[StatusRow], now: Timestamp) -> Table {
    let cells: Vec<[Cell; 8]> = sessions.iter().map(beside).collect();
    let optional = ["JOB", "TITLE", "PROJECT", "CONTEXT", "TOKENS", "COST", "TAGS", "BASIS"];
    let has: Vec<bool> =
        (0..optional.len()).map(|at| cells.iter().any(|row| !row[at].is_empty())).collect();
    let mut header = vec!["NAME", "AGENT", "STATE", "FOR"];
    header.extend(optional.iter().zip(&has).filter(|(_, has)| **has).map(|(title, _)| *title));
    header.push("DETAIL");
    let mut table = ui::table(&header).optional(
        &["BASIS", "TAGS"],
        &["AGENT"],
        &["TOKENS", "COST", "PROJECT", "CONTEXT", "TITLE"],
    );
    for (one, more) in sessions.iter().zip(cells) {
        let StatusReport { name, agent, verdict, .. } = &one.session;
        let mut row: Vec<Cell> = vec![
            name.as_str().into(),
            agent.as_str().into(),
            state(&verdict.status),
            verdict.since.map(|at| ui::age(at, now)).unwrap_or_default().into(),
        ];
        row.extend(more.into_iter().zip(&has).filter(|(_, has)| **has).map(|(cell, _)| cell));
        row.push(detail_and_notes(&one.session).into());
        table.row(row);
    }
    table
}

/// What is known of a session beside its status.
fn beside(one: &StatusRow) -> [Cell; 8] {
    let StatusRow { job, about, usage, .. } = one;
    let project = match &about.branch {
        Some(branch) => format!("{}@{branch}", about.project_name),
        None => about.project_name.clone(),
    };
    let left = about.context.and_then(|context| context.left);
    [
        job.as_ref().map(jobs::in_short).unwrap_or_default().into(),
        about.title.clone().unwrap_or_default().into(),
        project.into(),
        left.map(|left| format!("{left}% left")).unwrap_or_default().into(),
        usage.as_ref().map(|used| token_words(used.tokens.total())).unwrap_or_default().into(),
        usage.as_ref().map(cost_words).unwrap_or_default().into(),
        about.tags.join(" ").into(),
        basis(one.session.verdict.basis),
    ]
}

/// The state in its colour: what needs a person stands out.
pub(super) fn state(status: &Status) -> Cell {
    let colour = match status {
        Status::Starting => AnsiColor::Cyan,
        Status::Working { .. } => AnsiColor::Green,
        Status::Waiting { .. } | Status::Limited { .. } => AnsiColor::Yellow,
        Status::Idle { .. } | Status::Exited | Status::Stopped { .. } => AnsiColor::Blue,
        Status::Error { .. }
        | Status::Crashed { .. }
        | Status::Stuck { .. }
        | Status::Lost { .. } => AnsiColor::Red,
        Status::Unknown { .. } => AnsiColor::Magenta,
    };
    Cell::painted(status.as_str(), colour)
}

fn basis(basis: Basis) -> Cell {
    match basis {
        Basis::Asserted => basis.as_str().into(),
        Basis::Inferred | Basis::Stale => Cell::painted(basis.as_str(), AnsiColor::BrightBlack),
    }
}

/// What a limited session does next comes first.
fn detail_and_notes(one: &StatusReport) -> String {
    let detail = detail(&one.verdict.status);
    match &one.verdict.status {
        Status::Limited { .. } if !one.notes.is_empty() => {
            format!("{}; {detail}", one.notes.join("; "))
        }
        _ => detail,
    }
}
