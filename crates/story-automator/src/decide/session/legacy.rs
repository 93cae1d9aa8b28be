//! Sessions that only have a screen: started elsewhere, or typed into a shell.
//!
//! A session whose agent has other sources is not among them. The rows are tried from the top. The caller remembers earlier polls.

use serde::{Deserialize, Serialize};

use super::cues::{self, Todos};
use super::row::{self, Row, State, Tongue};
use super::wait_estimate;

/// Polls for which a session may be silent before that counts.
const GRACE: u32 = 10;

/// What earlier polls found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Polls {
    pub poll_count: u32,
    pub has_ever_been_active: bool,
    pub last_statusline_time: Option<String>,
}

/// The observation.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The screen, without input boxes.
    pub text: &'a str,
    pub dead: bool,
    /// The exit code of a dead pane, if tmux knows it.
    pub exit: Option<i32>,
}

/// The row, and what to remember.
pub fn describe(facts: Facts<'_>, before: &Polls, tongue: Tongue) -> (Row, Polls) {
    let mut polls = before.clone();
    polls.poll_count = polls.poll_count.saturating_add(1);
    let row = match tongue {
        Tongue::Claude => claude(facts, &mut polls),
        Tongue::Codex => codex(facts),
    };
    let clock = cues::clock(facts.text);
    let row = row.unwrap_or_else(|| gated(&polls, clock.as_deref()));
    polls.last_statusline_time = clock.or(polls.last_statusline_time);
    (row, polls)
}

fn claude(facts: Facts<'_>, polls: &mut Polls) -> Option<Row> {
    if let Some(ended) = ended(facts) {
        return Some(ended);
    }
    let todos = cues::todos(facts.text);
    if cues::shows_an_end(facts.text) {
        polls.has_ever_been_active = true;
        return Some(Row { todos, ..Row::plain(State::Completed) });
    }
    if cues::is_busy(facts.text) {
        polls.has_ever_been_active = true;
        let task = cues::label(facts.text).unwrap_or_else(|| Tongue::Claude.working().to_owned());
        let wait = wait_estimate::of(&task, todos);
        return Some(Row { state: State::InProgress, todos, task, wait });
    }
    polls.has_ever_been_active.then(|| Row::plain(State::Completed))
}

fn codex(facts: Facts<'_>) -> Option<Row> {
    let todos = cues::todos(facts.text);
    let completed = |todos: Todos| Some(Row { todos, ..Row::plain(State::Completed) });
    if facts.text.contains("tokens used") {
        return completed(todos.at_least_one());
    }
    if let Some(ended) = ended(facts) {
        return Some(ended);
    }
    if cues::ends_in_a_prompt(facts.text) {
        return completed(todos.at_least_one());
    }
    if todos.total > 0 { completed(todos) } else { None }
}

fn ended(facts: Facts<'_>) -> Option<Row> {
    match (facts.dead, facts.exit) {
        (false, _) => None,
        (true, Some(0)) => {
            let todos = cues::todos(facts.text).at_least_one();
            Some(Row { todos, ..Row::plain(State::Completed) })
        }
        // tmux does not always know the code: then success is not certain.
        (true, code) => {
            let wait = code.and_then(|code| u32::try_from(code).ok()).unwrap_or(1);
            Some(Row { wait, ..Row::plain(State::Crashed) })
        }
    }
}

/// Nothing else decides: time, and the clock of the status line.
fn gated(polls: &Polls, clock: Option<&str>) -> Row {
    let before = polls.last_statusline_time.as_deref();
    let is_alive = polls.poll_count <= GRACE || row::clock_moves(before, clock);
    Row::plain(if is_alive { State::JustStarted } else { State::Stuck })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Facts<'_> {
        Facts { text, dead: false, exit: None }
    }

    fn after(polls: u32) -> Polls {
        Polls { poll_count: polls, ..Polls::default() }
    }

    #[test]
    fn sessions_of_claude() {
        let row = |facts, before: &Polls| describe(facts, before, Tongue::Claude).0.to_string();
        let was_active = Polls { has_ever_been_active: true, ..after(3) };
        let table = [
            (facts("plain text"), after(0), "idle,0,0,,0,just_started"),
            (facts("plain text"), after(9), "idle,0,0,,0,just_started"),
            (facts("plain text"), after(10), "idle,0,0,,0,stuck"),
            (facts("plain text"), was_active, "idle,0,0,,0,completed"),
            (facts("✻ Cooked for 3m 12s"), after(0), "idle,0,0,,0,completed"),
            (facts("Thinking about it"), after(0), "active,0,0,Thinking about it,60,in_progress"),
            (Facts { dead: true, exit: Some(7), ..facts("") }, after(0), "crashed,0,0,,7,crashed"),
            (Facts { dead: true, ..facts("") }, after(0), "crashed,0,0,,1,crashed"),
            (Facts { dead: true, exit: Some(0), ..facts("") }, after(0), "idle,1,1,,0,completed"),
        ];
        for (facts, before, expected) in table {
            assert_eq!(row(facts, &before), expected, "{facts:?} {before:?}");
        }
    }

    #[test]
    fn sessions_of_codex() {
        let row = |facts| describe(facts, &after(0), Tongue::Codex).0.to_string();
        for (facts, expected) in [
            (facts("plain"), "idle,0,0,,0,just_started"),
            (facts("tokens used\n1,234"), "idle,1,1,,0,completed"),
            (facts("user@host:~# \n\n\n"), "idle,1,1,,0,completed"),
            (facts("☒ a\n☐ b"), "idle,1,2,,0,completed"),
        ] {
            assert_eq!(row(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn the_clock_decides_last() {
        let at = |time: &str| format!("proj | ctx(12%) | {time}");
        let (row, polls) = describe(facts(&at("10:00:00")), &after(50), Tongue::Claude);
        assert_eq!(row.state, State::JustStarted, "first sight");
        let (row, polls) = describe(facts(&at("10:00:00")), &polls, Tongue::Claude);
        assert_eq!(row.state, State::Stuck, "unchanged");
        let (row, _) = describe(facts(&at("10:01:00")), &polls, Tongue::Claude);
        assert_eq!(row.state, State::JustStarted, "it moved");
    }
}
