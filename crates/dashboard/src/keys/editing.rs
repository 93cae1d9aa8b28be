//! Keys while a filter, a message or the form for a new session is written.

use crossterm::event::KeyCode;

use super::prompts::{Edit, edit};
use super::{Intent, Key, queue};
use crate::model::{Field, Mode, State, ids};

/// The list follows while the filter is typed.
pub(super) fn filter(state: &mut State, key: Key) -> Vec<Intent> {
    match key.code {
        KeyCode::Down => return queue::go(state, |at, last| (at + 1).min(last)),
        KeyCode::Up => return queue::go(state, |at, _| at.saturating_sub(1)),
        _ => {}
    }
    match edit(&mut state.filter, key) {
        Edit::Typing => {}
        Edit::Done => state.mode = Mode::Queue,
        Edit::Cancelled => {
            state.filter.clear();
            state.mode = Mode::Queue;
        }
    }
    state.arrange();
    vec![]
}

/// Begins a new line, if text of several lines is being written.
pub(super) fn new_line(state: &mut State) -> bool {
    match &mut state.mode {
        Mode::Message { editor, .. } => editor.insert("\n"),
        Mode::New(form) if form.field() == Field::Prompt => form.new_line(),
        _ => return false,
    }
    state.notice = None;
    true
}

/// Enter sends; Alt-Enter or Ctrl-J begins a new line.
pub(super) fn message(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Message { to, editor } = &mut state.mode else { return vec![] };
    match key.code {
        KeyCode::Esc => {
            state.keep_draft();
            state.mode = Mode::Queue;
        }
        KeyCode::Char('j') if key.ctrl => editor.insert("\n"),
        KeyCode::Enter => {
            let text = editor.text();
            if text.trim().is_empty() {
                state.complain("the message is empty");
                return vec![];
            }
            let to = std::mem::take(to);
            state.mode = Mode::Queue;
            state.drafts.remove(&ids(&to));
            let names: Vec<&str> = to.iter().map(|(_, name)| name.as_str()).collect();
            let sending = format!("sending to {} …", names.join(", "));
            state.say(sending);
            state.marked.clear();
            return vec![Intent::Send { to, text }];
        }
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Up => editor.up(),
        KeyCode::Down => editor.down(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        KeyCode::Tab => editor.insert("\t"),
        KeyCode::Char('w') if key.ctrl => editor.erase_word(),
        KeyCode::Char('u') if key.ctrl => editor.erase_line(),
        KeyCode::Char('a') if key.ctrl => editor.home(),
        KeyCode::Char('e') if key.ctrl => editor.end(),
        KeyCode::Char(c) if !key.ctrl => editor.insert(c.encode_utf8(&mut [0; 4])),
        _ => {}
    }
    vec![]
}

/// Up and Down go between fields, Tab completes, Enter starts the session; Alt-Enter or Ctrl-J begins a new line of the prompt.
pub(super) fn form(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::New(form) = &mut state.mode else { return vec![] };
    match key.code {
        KeyCode::Esc => state.mode = Mode::Queue,
        KeyCode::Up | KeyCode::BackTab => form.move_by(false),
        KeyCode::Down => form.move_by(true),
        KeyCode::Tab => match form.field() {
            Field::Agent => {
                form.complete_agent(&state.around.agents);
            }
            Field::Folder => return vec![Intent::CompleteFolder],
            Field::Name | Field::Worktree | Field::Prompt => form.move_by(true),
        },
        KeyCode::Enter => {
            if form.value(Field::Agent).is_empty() {
                state.complain("which agent?");
                return vec![];
            }
            let words = form.words(state.around.home.as_deref());
            let agent = form.value(Field::Agent).to_owned();
            state.mode = Mode::Queue;
            state.say(format!("starting {agent} …"));
            return vec![Intent::Run(vec![words])];
        }
        KeyCode::Backspace => form.erase(),
        KeyCode::Char('u') if key.ctrl => form.values[form.at].clear(),
        KeyCode::Char('j') if key.ctrl => {
            new_line(state);
        }
        KeyCode::Char(c) if !key.ctrl => form.type_in(c),
        _ => {}
    }
    vec![]
}
