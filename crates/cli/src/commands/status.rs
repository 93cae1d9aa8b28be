use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anstyle::AnsiColor;
use dogwatch_core::attention;
use dogwatch_core::exit_code;
pub(super) use dogwatch_core::status::detail;
use dogwatch_core::status::{Basis, Status};
use dogwatch_core::usage::{cost_words, token_words};
use dogwatch_engine::observe::details::Details;
use dogwatch_engine::observe::status::{SessionStatus, StatusReader};
use dogwatch_engine::observe::{self, snapshot};
use dogwatch_engine::watch::Watcher;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{About, StatusReport, StatusRow, Statuses};
use dogwatch_protocol::usage::Used;
use dogwatch_store::{Job, Which};
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
    let now = Timestamp::now();
    let mut reader = StatusReader::new(context)?.with_details();
    let statuses = look(&mut reader, args, now)?;
    let is_list = args.sessions.is_empty() && !args.all && !args.archived && !is_filtered(args);
    let left_out = if is_list { reader.left_out(&statuses)? } else { 0 };
    let jobs = observe::jobs::beside(context, &reader, &statuses)?;
    let Details { mut abouts, mut usages } = reader.details(&statuses, now);
    let collisions = observe::collisions::of_living(&reader, &statuses)?;
    if args.json {
        let with_job = |one: &SessionStatus| {
            let id = &one.seen.session.id;
            let job = jobs.get(id).map(jobs::beside);
            let (about, usage) = (abouts.remove(id).unwrap_or_default(), usages.remove(id));
            let collisions = collisions.of(id);
            StatusRow { session: shape(one), job, about, usage, collisions }
        };
        ui::json(&Statuses { sessions: statuses.iter().map(with_job).collect(), left_out });
        return Ok(exit_code::OK);
    }
    if statuses.is_empty() && left_out == 0 {
        ui::talk(no_sessions(args));
    } else if !statuses.is_empty() {
        ui::line(table(&statuses, &Beside { jobs, abouts, usages }, now));
        if !args.sessions.is_empty() {
            for one in &statuses {
                show_options(one);
            }
        }
    }
    for line in collisions.lines() {
        ui::line(ui::harmless(line));
    }
    ui::talk_of_left_out(left_out);
    Ok(exit_code::OK)
}

fn look(
    reader: &mut StatusReader<'_>,
    args: &StatusArgs,
    now: Timestamp,
) -> Result<Vec<SessionStatus>, Error> {
    let mut statuses = if args.sessions.is_empty() {
        let which = if args.all || args.archived { Which::All } else { Which::current(now) };
        let mut all = reader.all_of(which, now)?;
        if args.archived {
            all.retain(|one| one.seen.session.archived);
        } else if !args.all {
            snapshot::hide_superseded(&mut all, |one| &one.seen);
        }
        all
    } else {
        let targets: Vec<&str> = args.sessions.iter().map(String::as_str).collect();
        reader.many(&targets, now)?
    };
    let filter = Filter::new(args)?;
    statuses.retain(|one| filter.fits(one));
    // Named sessions keep the order of the names.
    if args.sessions.is_empty() {
        sort(&mut statuses);
    }
    Ok(statuses)
}

/// Who needs a person comes first, who has needed one longest at the top.
fn sort(all: &mut [SessionStatus]) {
    all.sort_by_key(|one| attention::order(&one.verdict.status, one.verdict.since));
}

/// Which sessions are shown.
struct Filter {
    states: Vec<String>,
    agents: Vec<String>,
    tags: Vec<String>,
    project: Option<PathBuf>,
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
        Ok(Self { states, agents: args.agents.clone(), tags: args.tags.clone(), project })
    }

    fn fits(&self, one: &SessionStatus) -> bool {
        let is_one_of =
            |list: &[String], word: &str| list.is_empty() || list.iter().any(|w| w == word);
        is_one_of(&self.states, one.verdict.status.as_str())
            && is_one_of(&self.agents, &one.seen.session.agent)
            && self.tags.iter().all(|tag| one.seen.session.tags.contains(tag))
            && self.project.as_ref().is_none_or(|root| snapshot::is_of_project(&one.seen, root))
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
    let mut watcher = Watcher::new(context, &args.sessions)?;
    let stop = interrupt::flag(watcher.waker())?;
    let mut screen = Screen::open().map_err(Error::io("draw on the terminal"))?;
    let filter = Filter::new(args)?;
    while !stop.load(Ordering::Relaxed) {
        // Ages change without an event.
        watcher.next(Duration::from_secs(1), &stop)?;
        let mut statuses: Vec<SessionStatus> = watcher.statuses().cloned().collect();
        statuses.retain(|one| filter.fits(one));
        if args.sessions.is_empty() {
            snapshot::hide_superseded(&mut statuses, |one| &one.seen);
        }
        sort(&mut statuses);
        let now = Timestamp::now();
        let clock = now.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
        let (jobs, Details { abouts, usages }) = (watcher.jobs()?, watcher.details(&statuses, now));
        let (header, rows) = table(&statuses, &Beside { jobs, abouts, usages }, now).blocks();
        let words: Vec<&str> = statuses.iter().map(|one| one.verdict.status.as_str()).collect();
        let footer = format!("{clock}, Ctrl-C to exit");
        let picture = screen::fit(&header, &rows, &words, &footer, Screen::height());
        if screen.draw(&picture).is_err() {
            break;
        }
    }
    Ok(exit_code::OK)
}

/// Prints the numbered options of the open dialog.
pub(super) fn show_options(one: &SessionStatus) {
    let Status::Waiting { options, .. } = &one.verdict.status else { return };
    for (number, option) in (1..).zip(options) {
        ui::line(format_args!("  {number}. {}", ui::harmless(option.clone())));
    }
    if !options.is_empty() {
        ui::line(format_args!("to answer: dogwatch answer {} NUMBER", one.seen.session.name));
    }
}

/// What is known of sessions beside their status.
struct Beside {
    jobs: HashMap<SessionId, Job>,
    abouts: HashMap<SessionId, About>,
    usages: HashMap<SessionId, Used>,
}

/// Columns that say nothing of any session are left out, and so are those that the terminal has no room for.
fn table(statuses: &[SessionStatus], beside: &Beside, now: Timestamp) -> Table {
    let cells: Vec<[Cell; 8]> = statuses.iter().map(|one| beside.cells(one)).collect();
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
    for (one, more) in statuses.iter().zip(cells) {
        let verdict = &one.verdict;
        let mut row: Vec<Cell> = vec![
            one.seen.session.name.as_str().into(),
            one.seen.session.agent.as_str().into(),
            state(&verdict.status),
            verdict.since.map(|at| ui::age(at, now)).unwrap_or_default().into(),
        ];
        row.extend(more.into_iter().zip(&has).filter(|(_, has)| **has).map(|(cell, _)| cell));
        row.push(detail_and_notes(one).into());
        table.row(row);
    }
    table
}

impl Beside {
    fn cells(&self, one: &SessionStatus) -> [Cell; 8] {
        let id = &one.seen.session.id;
        let job = self.jobs.get(id).map(jobs::state).unwrap_or_default();
        let about = self.abouts.get(id).cloned().unwrap_or_default();
        let project = match about.branch {
            Some(branch) => format!("{}@{branch}", about.project_name),
            None => about.project_name,
        };
        let used = self.usages.get(id);
        let left = about.context.and_then(|context| context.left);
        [
            job.into(),
            about.title.unwrap_or_default().into(),
            project.into(),
            left.map(|left| format!("{left}% left")).unwrap_or_default().into(),
            used.map(|used| token_words(used.tokens.total())).unwrap_or_default().into(),
            used.map(cost_words).unwrap_or_default().into(),
            about.tags.join(" ").into(),
            basis(one.verdict.basis),
        ]
    }
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
fn detail_and_notes(one: &SessionStatus) -> String {
    let detail = detail(&one.verdict.status);
    match &one.verdict.status {
        Status::Limited { .. } if !one.notes.is_empty() => {
            format!("{}; {detail}", one.notes.join("; "))
        }
        _ => detail,
    }
}

pub(super) fn shape(one: &SessionStatus) -> StatusReport {
    let session = &one.seen.session;
    StatusReport {
        id: session.id.clone(),
        name: session.name.clone(),
        agent: session.agent.clone(),
        ours: one.seen.is_ours(),
        pane: session.pane.clone(),
        verdict: one.verdict.clone(),
        notes: one.notes.clone(),
    }
}
