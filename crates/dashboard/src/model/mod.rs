//! What the dashboard shows: rows in their order, the selection, and what is open. No clock, no terminal, no tmux.

mod editor;
mod form;
mod list;
mod receipt;
mod row;
#[cfg(test)]
pub(crate) mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dogwatch_core::attention::Place;
use dogwatch_protocol::id::SessionId;
use jiff::Timestamp;
use ratatui::text::Line;

pub use editor::Editor;
pub use form::{Field, Form};
pub use list::{Entry, Group, Sort};
pub use receipt::Sent;
pub use row::{Row, short_path, sign, what};

/// What the process knows of its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Around {
    pub home: Option<PathBuf>,
    pub here: PathBuf,
    pub project: PathBuf,
    pub host: String,
    pub socket: PathBuf,
    /// Names of the agents that can be started.
    pub agents: Vec<String>,
    /// The commands of the command line, with their help texts.
    pub commands: Vec<(String, String)>,
    pub has_colours: bool,
}

/// What the lower part shows of the selected session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Tab {
    #[default]
    Screen,
    Why,
    Diff,
    Conversation,
    Events,
}

impl Tab {
    pub fn title(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Why => "why",
            Self::Diff => "diff",
            Self::Conversation => "conversation",
            Self::Events => "events",
        }
    }
}

/// A view of its own, in place of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    Questions,
    Runs,
    Jobs,
    Messages,
    Fleet,
    Usage,
    /// The output of a command.
    Output,
}

impl View {
    pub fn title(self) -> &'static str {
        match self {
            Self::Questions => "questions",
            Self::Runs => "runs",
            Self::Jobs => "jobs",
            Self::Messages => "messages",
            Self::Fleet => "fleet",
            Self::Usage => "usage",
            Self::Output => "output",
        }
    }
}

/// What takes the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Queue,
    Filter,
    /// The next digit answers this dialog, and no other.
    Answer {
        session: SessionId,
        name: String,
        dialog: String,
        options: Vec<(usize, String)>,
    },
    /// The next digit answers this question.
    Question {
        number: i64,
    },
    Message {
        to: Vec<(SessionId, String)>,
        editor: Editor,
    },
    Kill {
        sessions: Vec<(SessionId, String)>,
        typed: String,
    },
    New(Form),
    /// A word for the selected sessions: a tag, a new name.
    Word {
        command: &'static str,
        to: Vec<(SessionId, String)>,
        typed: String,
    },
    Palette {
        query: String,
        at: usize,
    },
    /// A command line that is about to run.
    Command {
        line: String,
    },
    Help {
        scroll: usize,
    },
}

/// A place that a mouse points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    Row(SessionId),
    List,
    /// The lower part, or a view.
    Below,
}

/// A line for the person, until the next key or for some seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub is_error: bool,
}

/// Lines that were read for a tab or a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub of: PageOf,
    pub lines: Vec<Line<'static>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageOf {
    Tab(SessionId, Tab),
    View(View),
}

/// The screen of the selected session.
#[derive(Debug, Clone, PartialEq)]
pub struct Screen {
    pub session: SessionId,
    pub lines: Vec<Line<'static>>,
    /// With the lines that have left the screen.
    pub has_history: bool,
}

/// A question to a person that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub number: i64,
    pub headline: String,
    pub text: Vec<String>,
    pub options: Vec<(usize, String)>,
    pub raised: Timestamp,
}

/// Everything that is drawn.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub around: Around,
    pub now: Timestamp,
    /// The time of day, as it is shown.
    pub clock: String,
    pub size: (u16, u16),
    pub rows: BTreeMap<SessionId, Row>,
    pub looked_at: BTreeMap<SessionId, Timestamp>,
    /// How many panes tmux has; `None` without a server.
    pub panes: Option<usize>,
    /// The first look is done.
    pub is_complete: bool,
    /// Why nothing can be seen.
    pub trouble: Option<String>,
    pub entries: Vec<Entry>,
    pub selected: Option<SessionId>,
    /// Where the selected one was, for when it goes away.
    pub(crate) last_index: usize,
    pub marked: BTreeSet<SessionId>,
    pub filter: String,
    pub sort: Sort,
    pub group: Group,
    pub only_project: bool,
    pub tab: Tab,
    pub view: Option<View>,
    /// Lines that the lower part or the view is scrolled from its resting place.
    pub scroll: usize,
    /// Beside an attached session: Enter attaches at once.
    pub is_sidebar: bool,
    /// In a small terminal: the preview takes the place of the list.
    pub is_open: bool,
    pub screen: Option<Screen>,
    pub page: Option<Page>,
    pub questions: Vec<Question>,
    pub question_at: usize,
    pub mode: Mode,
    pub notice: Option<Notice>,
    /// The command whose output the view shows.
    pub output: Output,
    /// An answer was closed because its dialog has changed, and no key was pressed since.
    pub is_refused: bool,
    /// A key with Alt came while something was open, which may have been Esc and a key: what acts is pressed twice.
    pub is_in_doubt: bool,
    /// Messages that were not sent, by those they are for.
    pub drafts: BTreeMap<Vec<SessionId>, String>,
}

/// A command line that was run last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Counts the commands: a result that comes late belongs to another one.
    pub number: u64,
    pub title: String,
    pub is_running: bool,
    /// It was asked to end.
    pub is_cancelled: bool,
}

/// What a command printed, and how it ended in a few words.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    pub number: u64,
    pub title: String,
    pub lines: Vec<Line<'static>>,
    pub end: Notice,
}

impl State {
    pub fn new(around: Around) -> Self {
        Self { around, size: (80, 24), ..Self::default() }
    }

    pub fn is_seen(&self, row: &Row) -> bool {
        row.is_seen(self.looked_at.get(&row.id).copied())
    }

    pub fn place(&self, row: &Row) -> Place {
        Place::of(row.status(), self.is_seen(row))
    }

    pub fn selected_row(&self) -> Option<&Row> {
        self.rows.get(self.selected.as_ref()?)
    }

    /// Below 60 columns: no preview until it is opened.
    pub fn is_small(&self) -> bool {
        self.size.0 < 60
    }

    /// The sessions that an action is about: the marked ones, else the selected one.
    pub fn meant(&self) -> Vec<(SessionId, String)> {
        let named = |row: &Row| (row.id.clone(), row.name.clone());
        if self.marked.is_empty() {
            return self.selected_row().map(named).into_iter().collect();
        }
        self.marked.iter().filter_map(|id| self.rows.get(id)).map(named).collect()
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: false });
    }

    pub fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true });
    }

    /// Takes in rows that changed (`None`: gone).
    pub fn take_in(&mut self, rows: impl IntoIterator<Item = (SessionId, Option<Row>)>) {
        for (id, row) in rows {
            if let Some(row) = row {
                self.close_answer_if_changed(&row);
                self.rows.insert(id, row);
            } else {
                self.rows.remove(&id);
                self.marked.remove(&id);
            }
        }
        self.arrange();
    }

    /// An answer is bound to the dialog that was on display when it was begun.
    fn close_answer_if_changed(&mut self, row: &Row) {
        if let Mode::Answer { session, dialog, .. } = &self.mode
            && *session == row.id
            && row.dialog() != Some(dialog)
        {
            self.mode = Mode::Queue;
            self.is_refused = true;
            self.complain(format!("{}: the dialog has changed; nothing was answered", row.name));
        }
    }

    /// Takes in what a command printed. If its view is not open any more, the last line says how it ended.
    pub fn take_output(&mut self, printed: Printed) {
        let is_last = printed.number == self.output.number;
        if is_last {
            self.output.is_running = false;
        }
        if is_last && self.view == Some(View::Output) {
            self.page = Some(Page { of: PageOf::View(View::Output), lines: printed.lines });
        } else {
            let Notice { text, is_error } = printed.end;
            self.notice = Some(Notice { text: format!("{}: {text}", printed.title), is_error });
        }
    }

    /// Takes in when sessions were looked at. One of our own may not be recorded yet.
    pub fn take_looks(&mut self, looked_at: BTreeMap<SessionId, Timestamp>) {
        for (id, at) in looked_at {
            let known = self.looked_at.entry(id).or_insert(at);
            *known = at.max(*known);
        }
        self.arrange();
    }

    /// Takes in the open questions. The selected one stays selected; if it is gone, the one in its place is.
    pub fn take_questions(&mut self, questions: Vec<Question>) {
        let number = self.questions.get(self.question_at).map(|question| question.number);
        let at = questions.iter().position(|question| Some(question.number) == number);
        let last = questions.len().saturating_sub(1);
        if at.is_none() {
            self.scroll = 0;
        }
        self.question_at = at.unwrap_or_else(|| self.question_at.min(last));
        self.questions = questions;
    }

    /// Keeps the text of a message that was not sent, for the next one to the same sessions.
    pub fn keep_draft(&mut self) {
        let Mode::Message { to, editor } = &self.mode else { return };
        let (to, text) = (ids(to), editor.text());
        if text.trim().is_empty() {
            self.drafts.remove(&to);
        } else {
            self.drafts.insert(to, text);
        }
    }

    /// The preview takes the place of the list.
    pub fn is_preview_alone(&self) -> bool {
        self.is_small() && self.is_open
    }

    /// How many sessions there are of each kind: need you, failed, limited, working, idle.
    pub fn counts(&self) -> [usize; 5] {
        let mut counts = [0; 5];
        for row in self.rows.values() {
            let at = match self.place(row) {
                Place::Answer => 0,
                Place::Trouble => 1,
                Place::Limit => 2,
                Place::Working => 3,
                Place::Unseen | Place::Idle => 4,
                Place::Rest => continue,
            };
            counts[at] += 1;
        }
        counts
    }
}

/// The ids of sessions that an action is about.
pub fn ids(sessions: &[(SessionId, String)]) -> Vec<SessionId> {
    sessions.iter().map(|(id, _)| id.clone()).collect()
}
