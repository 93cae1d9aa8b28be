//! The palette: everything that can be done, found by a few letters.

use crossterm::event::KeyCode;
use dogwatch_protocol::id::SessionId;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Intent, Key, queue, split};
use crate::model::{Mode, Row, State};

/// One entry of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub title: String,
    pub hint: String,
    pub act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The same as this key in the queue.
    Press(Key),
    Select(SessionId),
    /// Begins a command line.
    Type(String),
}

/// What the keys of the queue do, in words; the help shows the same list.
pub const ACTIONS: [(&str, Key, &str); 26] = [
    ("a", Key::char('a'), "answer the dialog that is shown, then a digit"),
    ("Enter", Key::plain(KeyCode::Enter), "attach to the session"),
    ("m", Key::char('m'), "send a message, with proof"),
    ("Tab", Key::plain(KeyCode::Tab), "next session that needs you"),
    ("w", Key::char('w'), "why: the evidence for the status"),
    ("d", Key::char('d'), "diff against its base"),
    ("c", Key::char('c'), "conversation: turns and tool calls"),
    ("e", Key::char('e'), "events of the session"),
    ("/", Key::char('/'), "filter"),
    ("s", Key::char('s'), "order: need, name, newest change"),
    ("g", Key::char('g'), "group: project, tag, role, run, host"),
    ("p", Key::char('p'), "this project only, or all projects"),
    ("space", Key::char(' '), "mark: m, K, R, A, t act on all marked sessions"),
    ("n", Key::char('n'), "new session"),
    ("K", Key::char('K'), "kill, confirmed by name"),
    ("R", Key::char('R'), "resume the conversation"),
    ("t", Key::char('t'), "tag"),
    ("N", Key::char('N'), "rename"),
    ("A", Key::char('A'), "archive"),
    ("Q", Key::char('Q'), "questions to you"),
    ("S", Key::char('S'), "runs of stories"),
    ("J", Key::char('J'), "jobs"),
    ("M", Key::char('M'), "messages and receipts"),
    ("F", Key::char('F'), "fleet: other hosts"),
    ("U", Key::char('U'), "usage: tokens and costs"),
    ("q", Key::char('q'), "quit"),
];

/// The help: keys, and what they do.
pub fn help() -> Vec<(&'static str, &'static str)> {
    let first = [
        ("j k ↑ ↓", "move; the cursor stays on its session"),
        ("1–9", "jump to a row; digits alone never answer"),
        ("PgUp PgDn", "scroll the lower part"),
        ("Ctrl-K", "palette: all of this, sessions, and every command"),
        ("Esc", "one step back"),
    ];
    first.into_iter().chain(ACTIONS.map(|(key, _, does)| (key, does))).collect()
}

/// Commands that take the name of a session first.
const OF_SESSIONS: [&str; 12] = [
    "why", "wait", "capture", "send", "answer", "kill", "diff", "finish", "status", "tag",
    "rename", "attach",
];
/// Commands that need a terminal of their own, or that never end.
const NOT_HERE: [&str; 14] = [
    "attach",
    "next",
    "top",
    "popup",
    "sidebar",
    "watch",
    "demo",
    "relay",
    "broker",
    "monitor",
    "help",
    "completions",
    "man",
    "tmux-status",
];

/// What fits the query, the best first.
pub fn choices(state: &State, query: &str) -> Vec<Choice> {
    let mut all: Vec<Choice> = ACTIONS
        .iter()
        .map(|(name, key, title)| Choice {
            title: (*title).to_owned(),
            hint: (*name).to_owned(),
            act: Act::Press(*key),
        })
        .collect();
    all.extend(state.listed().into_iter().filter_map(|id| state.rows.get(id)).map(|row| Choice {
        title: match &row.title {
            Some(title) => format!("go to {title} ({})", row.name),
            None => format!("go to {}", row.name),
        },
        hint: row.status().as_str().to_owned(),
        act: Act::Select(row.id.clone()),
    }));
    let commands =
        state.around.commands.iter().filter(|(name, _)| !NOT_HERE.contains(&name.as_str()));
    all.extend(commands.map(|(name, about)| Choice {
        title: format!("dogwatch {name}: {about}"),
        hint: "command".to_owned(),
        act: Act::Type(name.clone()),
    }));
    if query.trim().is_empty() {
        return all;
    }
    let pattern = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, usize, Choice)> = all
        .into_iter()
        .enumerate()
        .filter_map(|(at, choice)| {
            let score = pattern.score(Utf32Str::new(&choice.title, &mut buffer), &mut matcher)?;
            Some((score, at, choice))
        })
        .collect();
    scored.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), *at));
    scored.into_iter().map(|(_, _, choice)| choice).collect()
}

pub(super) fn press(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Palette { query, at } = &mut state.mode else { return vec![] };
    match key.code {
        KeyCode::Esc => state.mode = Mode::Queue,
        KeyCode::Up => *at = at.saturating_sub(1),
        KeyCode::Down => *at += 1,
        KeyCode::Char('p') if key.ctrl => *at = at.saturating_sub(1),
        KeyCode::Char('n') if key.ctrl => *at += 1,
        KeyCode::Backspace => {
            query.pop();
            *at = 0;
        }
        KeyCode::Char('u') if key.ctrl => query.clear(),
        KeyCode::Char(c) if !key.ctrl => {
            query.push(c);
            *at = 0;
        }
        KeyCode::Enter => {
            let (query, at) = (query.clone(), *at);
            let mut found = choices(state, &query);
            state.mode = Mode::Queue;
            if found.is_empty() {
                return vec![];
            }
            let at = at.min(found.len() - 1);
            return act(state, found.swap_remove(at).act);
        }
        _ => {}
    }
    if let Mode::Palette { query, at } = &state.mode {
        let (count, at) = (choices(state, query).len(), *at);
        if at >= count.max(1)
            && let Mode::Palette { at, .. } = &mut state.mode
        {
            *at = count.saturating_sub(1);
        }
    }
    vec![]
}

fn act(state: &mut State, act: Act) -> Vec<Intent> {
    match act {
        Act::Press(key) => {
            if !matches!(key.code, KeyCode::Char('Q' | 'S' | 'J' | 'M' | 'F' | 'U')) {
                state.view = None;
            }
            queue::press(state, key)
        }
        Act::Select(id) => {
            state.view = None;
            queue::click(state, id)
        }
        Act::Type(name) => {
            let of_session = OF_SESSIONS.contains(&name.as_str());
            let session = state.selected_row().filter(|_| of_session);
            let session = session.map(|row| format!("{} ", named(state, row))).unwrap_or_default();
            // Tags have commands of their own.
            let verb = if name == "tag" && !session.is_empty() { "add " } else { "" };
            state.mode = Mode::Command { line: format!("{name} {verb}{session}") };
            vec![]
        }
    }
}

/// A session on a command line: its name, or its id where the name means another one too or would be split.
fn named<'s>(state: &State, row: &'s Row) -> &'s str {
    let is_one_word = |name: &str| split(name).is_ok_and(|words| words == [name]);
    let is_other = |other: &&Row| other.name == row.name && other.id != row.id;
    let is_fine = is_one_word(&row.name) && !row.name.starts_with('-');
    if is_fine && !state.rows.values().any(|other| is_other(&other)) {
        &row.name
    } else {
        row.id.as_str()
    }
}
