//! What each key does: a state and a key make the next state, and what is to be done about it.

mod batch;
#[cfg(test)]
mod chord_tests;
#[cfg(test)]
mod edge_tests;
mod editing;
pub mod palette;
mod prompts;
mod queue;
#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dogwatch_protocol::id::SessionId;

use crate::model::{Hit, Mode, State};

pub use batch::together;
pub use prompts::{confirmation, split};

/// A key with what matters of its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    /// With Super, Hyper or Meta, which no key of the dashboard has.
    pub is_strange: bool,
}

impl Key {
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, is_strange: false }
    }

    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    pub const fn ctrl(c: char) -> Self {
        Self { ctrl: true, ..Self::char(c) }
    }

    /// Whether a mode may have a meaning for it. A letter with Ctrl is for the mode to know.
    fn is_known(self) -> bool {
        let is_bare = !self.alt && !self.is_strange;
        match self.code {
            KeyCode::Char(_) => is_bare,
            KeyCode::Enter
            | KeyCode::Esc
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Tab
            | KeyCode::BackTab => is_bare && !self.ctrl,
            _ => false,
        }
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let has = |modifiers| event.modifiers.intersects(modifiers);
        let is_enter = event.code == KeyCode::Enter;
        Self {
            code: event.code,
            ctrl: has(KeyModifiers::CONTROL),
            // Where a terminal reports Shift-Enter at all, it is a new line in every agent.
            alt: has(KeyModifiers::ALT) || is_enter && has(KeyModifiers::SHIFT),
            is_strange: has(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META),
        }
    }
}

/// What a key asks of the edges: tmux, the engine, the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    Quit,
    Suspend,
    Redraw,
    Attach(SessionId),
    /// Choose this option of this dialog, and of no other.
    Answer {
        session: SessionId,
        name: String,
        choice: usize,
        dialog: String,
    },
    AnswerQuestion {
        number: i64,
        option: usize,
    },
    Send {
        to: Vec<(SessionId, String)>,
        text: String,
    },
    Kill(Vec<(SessionId, String)>),
    /// Start these again, in their conversations.
    Resume(Vec<(SessionId, String)>),
    /// Run `dogwatch` with each of these lines of words, one after the other, and say how that went.
    Run(Vec<Vec<String>>),
    /// Run `dogwatch` with these words, and show what it prints.
    Show(Vec<String>),
    /// Ask the command whose output is awaited to end.
    Cancel,
    /// A person has seen this session.
    Looked(SessionId),
    /// Read the page of the open tab or view again.
    Reload,
    /// Complete the folder in the form for a new session.
    CompleteFolder,
}

/// Presses a key.
pub fn press(state: &mut State, key: Key) -> Vec<Intent> {
    if state.mode == Mode::Queue {
        state.is_in_doubt = false;
    }
    let is_new_line = Key { code: KeyCode::Enter, ctrl: false, alt: true, is_strange: false };
    if key == is_new_line && editing::new_line(state) {
        return vec![];
    }
    if !key.is_known() {
        // A terminal sends Alt as an Esc before the key, so an Esc and a key that are read together look the same. If it was Alt,
        // closing would make commands of what is typed next; if it was Esc, what is typed next was not meant for what is open. So
        // nothing changes, and what would act on it must be pressed twice.
        state.is_in_doubt |= key.alt && state.mode != Mode::Queue;
        return vec![];
    }
    if state.is_in_doubt
        && let Some(what) = acts(&state.mode, key)
    {
        state.is_in_doubt = false;
        state.complain(format!(
            "Alt and a key, or Esc and a key, came before: {what} again to go on, Esc to cancel"
        ));
        return vec![];
    }
    // A digit that was meant for a dialog that is gone does nothing else, and why stays in sight.
    if std::mem::take(&mut state.is_refused) && matches!(key.code, KeyCode::Char('0'..='9')) {
        return vec![];
    }
    state.notice = None;
    if key == Key::ctrl('c') {
        if state.mode == Mode::Queue {
            return vec![Intent::Quit];
        }
        state.keep_draft();
        state.mode = Mode::Queue;
        return vec![];
    }
    if key == Key::ctrl('z') {
        return vec![Intent::Suspend];
    }
    if key == Key::ctrl('l') {
        return vec![Intent::Redraw];
    }
    match &state.mode {
        Mode::Queue => queue::press(state, key),
        Mode::Help { .. } => prompts::help(state, key),
        Mode::Filter => editing::filter(state, key),
        Mode::Message { .. } => editing::message(state, key),
        Mode::New(_) => editing::form(state, key),
        Mode::Palette { .. } => palette::press(state, key),
        Mode::Command { .. } => prompts::command(state, key),
        Mode::Answer { .. } => prompts::answer(state, key),
        Mode::Question { .. } => prompts::question(state, key),
        Mode::Kill { .. } => prompts::kill(state, key),
        Mode::Word { .. } => prompts::word(state, key),
    }
}

/// How a key is called that acts on what is open: it sends, starts, kills, runs or answers.
fn acts(mode: &Mode, key: Key) -> Option<String> {
    match (mode, key.code) {
        (
            Mode::Message { .. }
            | Mode::New(_)
            | Mode::Palette { .. }
            | Mode::Command { .. }
            | Mode::Kill { .. }
            | Mode::Word { .. },
            KeyCode::Enter,
        ) => Some("Enter".to_owned()),
        (Mode::Answer { .. } | Mode::Question { .. }, KeyCode::Char(digit @ '0'..='9')) => {
            Some(digit.to_string())
        }
        _ => None,
    }
}

/// What a mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    Click,
    Up,
    Down,
}

/// A click selects a row; the wheel moves in the list and scrolls elsewhere. While something is typed, nothing happens.
pub fn mouse(state: &mut State, at: Hit, what: Mouse) -> Vec<Intent> {
    if state.mode != Mode::Queue {
        return vec![];
    }
    match (what, at) {
        (Mouse::Click, Hit::Row(id)) => queue::click(state, id),
        (Mouse::Click, Hit::List | Hit::Below) => vec![],
        (_, Hit::Below) => queue::scroll(state, queue::WHEEL, what == Mouse::Up),
        (Mouse::Up, Hit::Row(_) | Hit::List) => press(state, Key::plain(KeyCode::Up)),
        (Mouse::Down, Hit::Row(_) | Hit::List) => press(state, Key::plain(KeyCode::Down)),
    }
}

/// Text that was pasted. In the queue it does nothing: its letters are not keys.
pub fn paste(state: &mut State, text: &str) {
    let line: String = text.chars().filter(|c| !c.is_control()).collect();
    match &mut state.mode {
        Mode::Message { editor, .. } => editor.insert(text),
        Mode::Filter => {
            state.filter.push_str(&line);
            state.arrange();
        }
        Mode::New(form) => form.paste(text),
        Mode::Palette { query, .. } => query.push_str(&line),
        Mode::Command { line: typed } | Mode::Word { typed, .. } => typed.push_str(&line),
        // A name that is to be typed is not pasted.
        Mode::Queue
        | Mode::Help { .. }
        | Mode::Answer { .. }
        | Mode::Question { .. }
        | Mode::Kill { .. } => {}
    }
}
