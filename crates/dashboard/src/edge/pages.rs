//! Pages that are read when they are opened: conversation, events, diff, and the other views.

use dogwatch_base::program::Ended;
use dogwatch_core::event::{Event, kind};
use dogwatch_core::workflow::{Report, report};
use dogwatch_engine::actions::{diff, escalation};
use dogwatch_engine::error::WorktreeError;
use dogwatch_engine::observe::events::{Journal, Query};
use dogwatch_engine::observe::{capture, jobs, messages, snapshot, status};
use dogwatch_engine::workflow::{self, Listed};
use dogwatch_engine::worktree::Repository;
use dogwatch_engine::worktree::diff::Comparison;
use dogwatch_engine::{Error, environment};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Escalation;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use super::actions::Actions;
use crate::model::{Notice, Page, PageOf, Printed, Question, Sent, Tab, View, short_path};
use crate::text::one_line;
use crate::view::tables::{self, Run};

/// Events that are shown of a session.
const EVENTS: u32 = 300;
/// Jobs and messages that are shown.
const NEWEST: u32 = 100;
/// Runs that are shown of those that are over.
const RUNS: usize = 5;
/// Lines of a diff that are kept.
const MOST_LINES: usize = 20_000;

impl Actions {
    /// Reads a page and reports it.
    pub(super) fn load(&self, of: PageOf) {
        let lines = match &of {
            PageOf::Tab(session, Tab::Conversation) => self.conversation(session),
            PageOf::Tab(session, Tab::Events) => self.events(session),
            PageOf::Tab(session, Tab::Diff) => self.diff(session),
            PageOf::View(View::Questions) => self.questions(),
            PageOf::View(View::Runs) => self.runs(),
            PageOf::View(View::Jobs) => self.jobs(),
            PageOf::View(View::Messages) => self.messages(),
            PageOf::View(View::Fleet) => self.output("fleet"),
            PageOf::View(View::Usage) => self.output("usage"),
            PageOf::Tab(_, Tab::Screen | Tab::Why) | PageOf::View(View::Output) => return,
        };
        let lines = lines.unwrap_or_else(|error| vec![error_line(&error.to_string())]);
        self.inbox.post(|pending| pending.page = Some(Page { of, lines }));
    }

    /// Turns and tool calls, from the transcript.
    fn conversation(&self, session: &SessionId) -> Result<Vec<Line<'static>>, Error> {
        let seen = status::shown(&self.context, session)?;
        let Some(said) = capture::said(&self.context, &seen) else {
            let agent = &seen.session.agent;
            return Ok(vec![Line::from(format!(
                "no transcript: {agent} has written none that is known"
            ))]);
        };
        let lines = said.lines().map(|line| match line.chars().next() {
            Some('>') => Line::styled(harmless(line), Style::new().add_modifier(Modifier::BOLD)),
            Some('*') => Line::styled(harmless(line), Style::new().fg(Color::Cyan)),
            _ => Line::from(harmless(line)),
        });
        Ok(lines.collect())
    }

    /// The files that changed, then the changes: of its worktree against its base, or of its folder against the last commit.
    fn diff(&self, session: &SessionId) -> Result<Vec<Line<'static>>, Error> {
        let (compared, note) = match diff::find(&self.context, session) {
            Ok(worktree) => {
                let against = worktree.target.as_deref().unwrap_or(&worktree.base);
                let note = format!("branch {} against {against}", worktree.branch);
                (diff::compare(&worktree)?, note)
            }
            Err(Error::Worktree(WorktreeError::NoWorktree { .. })) => {
                let folder = status::shown(&self.context, session)?.session.cwd;
                let note = format!(
                    "no worktree of its own: what is not committed in {}",
                    short_path(&folder, self.context.home.as_deref())
                );
                (Comparison::of_tree(&Repository::of(&folder)?.top, "HEAD")?, note)
            }
            Err(error) => return Err(error),
        };
        let text = |options: &[&str]| -> Result<String, Error> {
            Ok(String::from_utf8_lossy(&compared.text(options)?).into_owned())
        };
        let stat = text(&["--stat", "--no-color"])?;
        let mut lines =
            vec![Line::styled(harmless(&note), Style::new().add_modifier(Modifier::DIM))];
        if stat.is_empty() {
            lines.push(Line::from("no changes"));
            return Ok(lines);
        }
        lines.extend(stat.lines().map(plain));
        lines.push(Line::default());
        let changes = text(&["--no-color"])?;
        lines.extend(changes.lines().take(MOST_LINES).map(diff_line));
        if changes.lines().nth(MOST_LINES).is_some() {
            lines.push(Line::from(format!("… cut after {MOST_LINES} lines")));
        }
        Ok(lines)
    }

    fn events(&self, session: &SessionId) -> Result<Vec<Line<'static>>, Error> {
        let id = match snapshot::find(&self.context, session) {
            Ok(seen) => seen.session.id,
            Err(_) => session.clone(),
        };
        let query = Query { session: Some(id.to_string()), last: Some(EVENTS), ..Query::default() };
        let mut journal = Journal::open(&self.context, query, environment::host())?;
        Ok(journal.read()?.iter().map(event_line).collect())
    }

    fn questions(&self) -> Result<Vec<Line<'static>>, Error> {
        let open = escalation::list(&self.context, false)?;
        let questions: Vec<Question> = open.iter().map(question).collect();
        self.inbox.post(|pending| pending.questions = Some(questions));
        Ok(Vec::new())
    }

    /// Unfinished runs of all projects and those that ended last, with stories and steps.
    fn runs(&self) -> Result<Vec<Line<'static>>, Error> {
        let store = self.context.store()?;
        let listed = workflow::list(&self.context, None)?;
        let (open, over): (Vec<Listed>, Vec<Listed>) =
            listed.into_iter().partition(|one| one.kept.over.is_none());
        let mut runs = Vec::new();
        for one in open.into_iter().chain(over.into_iter().take(RUNS)) {
            let facts = store.facts(&one.kept.id, 0)?;
            let report =
                one.run.as_ref().map(|run| report(&one.kept.id, one.kept.begun, run, &facts));
            runs.push(Run {
                id: one.kept.id.to_string(),
                project: one.kept.project.clone(),
                begun: one.kept.begun,
                standing: standing(&one, report.as_ref()).to_owned(),
                questions: one.questions,
                report,
            });
        }
        if runs.is_empty() {
            return Ok(vec![Line::from("no runs of stories; to begin one: dogwatch story run")]);
        }
        Ok(tables::runs(&runs, self.context.home.as_deref(), Timestamp::now()))
    }

    fn jobs(&self) -> Result<Vec<Line<'static>>, Error> {
        let found = jobs::list(&self.context, None, NEWEST)?;
        if found.is_empty() {
            return Ok(vec![Line::from("no jobs; to submit one: dogwatch job submit NAME '…'")]);
        }
        Ok(tables::jobs(&found, Timestamp::now()))
    }

    fn messages(&self) -> Result<Vec<Line<'static>>, Error> {
        let found = messages::list(&self.context, None, NEWEST)?;
        if found.is_empty() {
            return Ok(vec![Line::from("no messages; m sends one to the selected session")]);
        }
        let sent = found.into_iter().map(|(name, message)| {
            Sent::new(name.unwrap_or_else(|| message.session.to_string()), message)
        });
        Ok(tables::messages(&sent.collect::<Vec<_>>(), Timestamp::now()))
    }

    /// What a command of ours prints.
    fn output(&self, command: &str) -> Result<Vec<Line<'static>>, Error> {
        let ended = self.output_of(&[command.to_owned()])?;
        let mut lines: Vec<Line<'static>> = ended.stdout.text().lines().map(plain).collect();
        let said = ended.stderr.text();
        let line = if ended.is_fine() { plain } else { error_line };
        lines.extend(said.lines().map(line));
        Ok(lines)
    }
}

/// How a run stands, in a few words.
fn standing(one: &Listed, report: Option<&Report>) -> &'static str {
    match (report.map(|report| report.standing), one.attended) {
        (None, _) => "unreadable",
        (Some("going"), true) => "running",
        (Some("going"), false) => "unfinished, not running; `dogwatch story resume` continues it",
        (Some(standing), _) => standing,
    }
}

/// What a command printed, and how it ended.
pub(super) fn printed(
    number: u64,
    title: String,
    ended: Result<Ended, Error>,
    is_cancelled: bool,
) -> Printed {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let (text, lines) = (error.to_string(), vec![error_line(&error.to_string())]);
            return Printed { number, title, lines, end: Notice { text, is_error: true } };
        }
    };
    let both = [ended.stdout.text(), ended.stderr.text()].concat();
    let mut lines: Vec<Line<'static>> = both.lines().map(plain).collect();
    let text = match ended.code() {
        _ if is_cancelled => "cancelled".to_owned(),
        Some(0) => both.lines().last().unwrap_or("done").to_owned(),
        code => {
            let code = code.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
            let first = ended.complaint();
            let first = first.lines().next().unwrap_or_default();
            if first.is_empty() || first == code { code } else { format!("{code}: {first}") }
        }
    };
    let is_error = is_cancelled || !ended.is_fine();
    if is_error {
        let end = text.split(": ").next().unwrap_or_default();
        lines.push(error_line(end));
    }
    Printed { number, title, lines, end: Notice { text, is_error } }
}

/// Blanks at the beginning of a line matter: one_line would drop them.
fn harmless(line: &str) -> String {
    dogwatch_core::terminal::harmless(&line.replace('\t', "    ")).into_owned()
}

fn plain(line: &str) -> Line<'static> {
    Line::from(harmless(line))
}

fn error_line(line: &str) -> Line<'static> {
    Line::styled(harmless(line), Style::new().fg(Color::Red))
}

fn diff_line(line: &str) -> Line<'static> {
    let style = match line {
        line if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => {
            Style::new().add_modifier(Modifier::BOLD)
        }
        line if line.starts_with('+') => Style::new().fg(Color::Green),
        line if line.starts_with('-') => Style::new().fg(Color::Red),
        line if line.starts_with("@@") => Style::new().fg(Color::Cyan),
        _ => Style::new(),
    };
    Line::styled(harmless(line), style)
}

fn event_line(event: &Event) -> Line<'static> {
    let time = event.at.to_zoned(TimeZone::system()).strftime("%m-%d %H:%M:%S").to_string();
    let word = |key: &str| event.data.get(key).and_then(|value| value.as_str());
    let more = if event.kind == kind::STATE {
        let from = word("from").map(|from| format!("{from} → ")).unwrap_or_default();
        let more = word("question").or(word("text")).or(word("task")).or(word("missing"));
        let more = more.map(|more| format!(": {more}")).unwrap_or_default();
        format!("{from}{}{more}", word("state").unwrap_or("?"))
    } else {
        let outcome = event.data.get("outcome").and_then(|outcome| outcome.get("outcome"));
        let outcome = outcome.and_then(|outcome| outcome.as_str());
        let words = outcome.or(word("state")).or(word("because")).or(word("message"));
        words.or(word("agent")).unwrap_or_default().to_owned()
    };
    let line = format!("{time}  {:<18} {more}", event.kind);
    Line::from(harmless(line.trim_end()).replace('\n', " "))
}

fn question(one: &Escalation) -> Question {
    let mut text: Vec<String> =
        dogwatch_core::escalation::text(&one.situation).lines().map(ToOwned::to_owned).collect();
    if let (Some(at), Some(option)) = (one.deadline, one.default_option) {
        text.push(String::new());
        text.push(format!("Without an answer, option {option} applies at {at:.0}."));
    }
    let options = (1..).zip(one.options.iter().map(|choice| one_line(&choice.label)));
    Question {
        number: one.number,
        headline: one.situation.headline(),
        text,
        options: options.collect(),
        raised: one.raised,
    }
}
