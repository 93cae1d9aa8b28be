//! The six columns of a status: `status,todos_done,todos_total,active_task,wait_estimate,session_state`.
//!
//! The mapping of dogwatch's states:
//!
//! | dogwatch | status | session_state | active_task | wait |
//! | --- | --- | --- | --- | --- |
//! | starting, idle before any turn | idle | just_started | `launching …` | 15 |
//! | working | active | in_progress | its task | by the task |
//! | waiting | active | in_progress | the question | 15 |
//! | limited | active | in_progress | the limit | by the task |
//! | idle after a turn, error, exited | idle | completed | | 0 |
//! | crashed | crashed | crashed | | the exit code |
//! | stuck, unknown | idle | stuck | | 0 |
//! | lost | not_found | not_found | | 0 |
//!
//! A status line with a moving clock overrules `stuck`: the program that draws it is alive.

use std::fmt;

use super::cues::{self, Todos};
use super::wait_estimate;
use dogwatch_core::status::Status;

/// The state that callers act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    JustStarted,
    InProgress,
    Completed,
    Crashed,
    Stuck,
    NotFound,
    Error,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JustStarted => "just_started",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Crashed => "crashed",
            Self::Stuck => "stuck",
            Self::NotFound => "not_found",
            Self::Error => "error",
        }
    }

    fn status(self) -> &'static str {
        match self {
            Self::InProgress => "active",
            Self::JustStarted | Self::Completed | Self::Stuck => "idle",
            Self::Crashed | Self::NotFound | Self::Error => self.as_str(),
        }
    }
}

/// One status, printed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    pub todos: Todos,
    /// The current task, or the path of the output.
    pub task: String,
    pub wait: u32,
}

impl Row {
    pub fn plain(state: State) -> Self {
        Self { state, todos: Todos::default(), task: String::new(), wait: 0 }
    }

    /// The status is not available.
    pub fn error(why: &str) -> Self {
        Self { task: cues::as_label(why), wait: 30, ..Self::plain(State::Error) }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, todos: Todos { done, total }, task, wait } = self;
        let (status, state, task) = (state.status(), state.as_str(), field(task));
        write!(f, "{status},{done},{total},{task},{wait},{state}")
    }
}

/// A text as one column. The original never quotes; we quote only what would be read as several columns.
pub fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Whose wording is used where nothing else is known: that of the called command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tongue {
    Claude,
    Codex,
}

impl Tongue {
    pub fn working(self) -> &'static str {
        match self {
            Self::Claude => "Claude working",
            Self::Codex => "Codex working",
        }
    }

    fn launching(self) -> &'static str {
        match self {
            Self::Claude => "launching claude",
            Self::Codex => "launching codex",
        }
    }
}

/// What is visible of a session.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Its screen, without input boxes.
    pub text: &'a str,
    /// The agent's own list, if it shows one.
    pub todos: Option<Todos>,
    /// Whether tmux still has its pane; a session with a pane always has a task text.
    pub has_pane: bool,
    /// Not an agent with other sources: only the screen shows whether it has ended.
    pub is_plain: bool,
    /// Whether the clock of its status line shows that it is alive.
    pub clock_moves: bool,
    pub tongue: Tongue,
}

/// A status as six columns.
pub fn of(status: &Status, shown: Shown<'_>) -> Row {
    let todos = shown.todos.unwrap_or_else(|| cues::todos(shown.text));
    let row = |state| Row { todos, ..Row::plain(state) };
    let in_progress = |task: String| {
        let wait = wait_estimate::of(&task, todos);
        Row { task, wait, ..row(State::InProgress) }
    };
    let completed = || {
        let has_words = shown.has_pane || !shown.text.trim().is_empty();
        Row { todos: if has_words { todos.at_least_one() } else { todos }, ..row(State::Completed) }
    };
    let starting =
        || Row { task: shown.tongue.launching().to_owned(), wait: 15, ..row(State::JustStarted) };
    match status {
        Status::Starting | Status::Idle { after_turn: false, .. } => starting(),
        Status::Working { .. } if shown.is_plain && has_ended(shown.text) => completed(),
        Status::Working { task, .. } => {
            let text = task.as_deref().map(cues::as_label).filter(|task| !task.is_empty());
            let label = text.or_else(|| cues::label(shown.text));
            in_progress(label.unwrap_or_else(|| shown.tongue.working().to_owned()))
        }
        Status::Waiting { question, .. } => {
            let question = question.as_deref().map(cues::as_label).filter(|text| !text.is_empty());
            let task = question.unwrap_or_else(|| "waiting for an answer".to_owned());
            // Visible boxes belong to the question then.
            Row { task, wait: 15, ..Row::plain(State::InProgress) }
        }
        Status::Limited { until, text } => {
            let until = until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default();
            in_progress(cues::as_label(&format!("limited{until}: {text}")))
        }
        Status::Idle { after_turn: true, .. } | Status::Error { .. } | Status::Exited => {
            completed()
        }
        Status::Crashed { exit } => {
            let code = exit.map_or(0, |exit| u32::from(exit.status())).max(1);
            Row { wait: code, ..row(State::Crashed) }
        }
        Status::Stopped { .. } => of(&status.without_stopped(), shown),
        Status::Stuck { .. } | Status::Unknown { .. } if shown.clock_moves => starting(),
        Status::Stuck { .. } | Status::Unknown { .. } => row(State::Stuck),
        Status::Lost { .. } => Row::plain(State::NotFound),
    }
}

fn has_ended(text: &str) -> bool {
    cues::shows_an_end(text) && cues::shows_a_prompt(text)
}

/// Whether the status line's clock proves life, from the time seen before and the one seen now. The first one seen
/// counts as life.
pub fn clock_moves(before: Option<&str>, now: Option<&str>) -> bool {
    now.is_some() && before != now
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::record::{Cause, Exit};
    use dogwatch_core::screen::Need;

    fn stopped(signal: i32, cause: Cause) -> Status {
        Status::Stopped { exit: Some(Exit::Signal(signal)), cause: Some(cause), by: None }
    }

    fn shown(text: &str) -> Shown<'_> {
        let tongue = Tongue::Claude;
        Shown { text, todos: None, has_pane: true, is_plain: false, clock_moves: false, tongue }
    }

    fn idle(after_turn: bool) -> Status {
        Status::Idle { after_turn, interrupted: false, background: 0, draft: None }
    }

    #[test]
    fn every_state_as_six_columns() {
        let silent_since = "2026-11-15T08:00:00Z".parse().unwrap();
        let working = |task: Option<&str>| Status::working(task.map(Into::into));
        let waiting = |question: Option<&str>| Status::Waiting {
            r#for: Need::Permission,
            question: question.map(Into::into),
            options: vec![],
            dialog: None,
        };
        let table = [
            (Status::Starting, "", "idle,0,0,launching claude,15,just_started"),
            (working(None), "", "active,0,0,Claude working,60,in_progress"),
            (working(None), "Working on a menu", "active,0,0,Working on a menu,15,in_progress"),
            (
                working(None),
                "⏵⏵ bypass on · ← for agents",
                "active,0,0,Claude working,60,in_progress",
            ),
            (working(Some("Bash: a, b")), "☒ x\n☐ y", "active,1,2,Bash: a  b,60,in_progress"),
            (waiting(Some("May I, please?")), "", "active,0,0,May I  please?,15,in_progress"),
            (waiting(None), "", "active,0,0,waiting for an answer,15,in_progress"),
            (
                Status::Limited { until: Some("5pm".into()), text: "used up".into() },
                "",
                "active,0,0,limited until 5pm: used up,60,in_progress",
            ),
            (idle(false), "", "idle,0,0,launching claude,15,just_started"),
            (idle(true), "", "idle,1,1,,0,completed"),
            (idle(true), "☒ a\n☒ b\n☐ c", "idle,2,3,,0,completed"),
            (Status::Error { kind: "api".into(), text: "500".into() }, "", "idle,1,1,,0,completed"),
            (Status::Exited, "", "idle,1,1,,0,completed"),
            (Status::Crashed { exit: Some(Exit::Code(7)) }, "", "crashed,0,0,,7,crashed"),
            (Status::Crashed { exit: Some(Exit::Signal(15)) }, "", "crashed,0,0,,143,crashed"),
            (Status::Crashed { exit: Some(Exit::Code(0)) }, "", "crashed,0,0,,1,crashed"),
            (Status::Crashed { exit: None }, "", "crashed,0,0,,1,crashed"),
            (stopped(15, Cause::Request), "", "crashed,0,0,,143,crashed"),
            (stopped(1, Cause::Hangup), "", "crashed,0,0,,129,crashed"),
            (
                Status::Stopped { exit: Some(Exit::Code(0)), cause: Some(Cause::Hangup), by: None },
                "",
                "crashed,0,0,,1,crashed",
            ),
            (Status::Stuck { silent_since }, "", "idle,0,0,,0,stuck"),
            (Status::Unknown { missing: "x".into() }, "", "idle,0,0,,0,stuck"),
            (Status::Lost { last_seen: None, server_died: None }, "", "not_found,0,0,,0,not_found"),
        ];
        for (status, text, expected) in table {
            assert_eq!(of(&status, shown(text)).to_string(), expected, "{status:?}");
        }
    }

    #[test]
    fn a_session_that_ended_silently_without_a_pane_has_no_todos() {
        let gone = Shown { has_pane: false, ..shown("") };
        assert_eq!(of(&Status::Exited, gone).todos, Todos::default());
    }

    #[test]
    fn a_moving_clock_overrules_every_sign_of_death() {
        let unknown = Status::Unknown { missing: "x".into() };
        let moving = Shown { clock_moves: true, ..shown("") };
        assert_eq!(of(&unknown, moving).state, State::JustStarted);
        for (before, now, expected) in [
            (Some("10:00:00"), Some("10:01:00"), true),
            (Some("10:00:00"), Some("10:00:00"), false),
            (None, Some("10:00:00"), true),
            (None, None, false),
            (Some("10:00:00"), None, false),
        ] {
            assert_eq!(clock_moves(before, now), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_plain_command_has_ended_when_its_screen_shows_it() {
        let working = Status::working(None);
        let plain = |text| of(&working, Shown { is_plain: true, ..shown(text) }).state;
        assert_eq!(plain("✻ Cooked for 45s\n\n❯ \n\n\n"), State::Completed);
        assert_eq!(plain("✻ Cooked for 45s\n"), State::InProgress, "no prompt");
        assert_eq!(plain("Tested for 3m 12s\nCoverage 85%\nstill busy\n"), State::InProgress);
        let asked = of(&working, shown("✻ Cooked for 45s\n\n❯ \n")).state;
        assert_eq!(asked, State::InProgress, "an agent that was asked knows better");
    }

    #[test]
    fn there_are_always_six_columns() {
        let row = Row { task: "/a,b/\"c\".txt".into(), ..Row::plain(State::Completed) };
        assert_eq!(row.to_string(), "idle,0,0,\"/a,b/\"\"c\"\".txt\",0,completed");
        assert_eq!(Row::error("no, not now").to_string(), "error,0,0,no  not now,30,error");
    }
}
