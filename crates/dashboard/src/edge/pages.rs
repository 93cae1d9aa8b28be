//! Pages that are read when they are opened: conversation, events, diff, and the other views.

use dogwatch_core::event::{Event, kind};
use dogwatch_engine::actions::escalation;
use dogwatch_engine::observe::events::{Journal, Query};
use dogwatch_engine::observe::{capture, snapshot, status};
use dogwatch_engine::{Error, environment};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::Escalation;
use jiff::tz::TimeZone;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use super::actions::Actions;
use crate::model::{Page, PageOf, Question, Tab, View};
use crate::text::one_line;

/// Events that are shown of a session.
const EVENTS: u32 = 300;

impl Actions {
    /// Reads a page and reports it.
    pub(super) fn load(&self, of: PageOf) {
        let lines = match &of {
            PageOf::Tab(session, Tab::Conversation) => self.conversation(session),
            PageOf::Tab(session, Tab::Events) => self.events(session),
            PageOf::Tab(session, Tab::Diff) => self.diff(session),
            PageOf::View(View::Questions) => self.questions(),
            PageOf::View(View::Runs) => self.output(&["story", "ls"], plain),
            PageOf::View(View::Jobs) => self.output(&["job", "ls"], plain),
            PageOf::View(View::Messages) => self.output(&["messages"], plain),
            PageOf::View(View::Fleet) => self.output(&["fleet"], plain),
            PageOf::View(View::Usage) => self.output(&["usage"], plain),
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

    /// The files that changed, then the changes.
    fn diff(&self, session: &SessionId) -> Result<Vec<Line<'static>>, Error> {
        let mut lines = self.output(&["diff", session, "--stat"], plain)?;
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(self.output(&["diff", session], diff_line)?);
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

    /// What a command of ours prints.
    fn output(
        &self,
        words: &[&str],
        line: fn(&str) -> Line<'static>,
    ) -> Result<Vec<Line<'static>>, Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ended = self.command(&words)?;
        let mut lines: Vec<Line<'static>> = ended.stdout.text().lines().map(line).collect();
        let said = ended.stderr.text();
        if ended.is_fine() {
            lines.extend(said.lines().map(plain));
        } else {
            lines.extend(said.lines().map(error_line));
        }
        Ok(lines)
    }
}

/// The output of a command.
pub(super) fn text(text: &str) -> Vec<Line<'static>> {
    text.lines().map(plain).collect()
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
