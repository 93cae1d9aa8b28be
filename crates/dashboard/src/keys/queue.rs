//! Keys in the queue and in the other views.

use crossterm::event::KeyCode;
use dogwatch_core::attention::Place;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::Status;

use super::{Intent, Key};
use crate::model::{Editor, Form, Mode, State, Tab, View, ids, short_path};

/// Lines of a page.
pub(super) const PAGE: usize = 10;
/// Lines that one step of a wheel scrolls.
pub(super) const WHEEL: usize = 3;

pub(super) fn press(state: &mut State, key: Key) -> Vec<Intent> {
    if key == Key::ctrl('k') {
        state.mode = Mode::Palette { query: String::new(), at: 0 };
        return vec![];
    }
    if key.ctrl {
        return vec![];
    }
    match key.code {
        KeyCode::Char('q') if state.view.is_none() && !state.is_preview_alone() => {
            vec![Intent::Quit]
        }
        KeyCode::Char('q') | KeyCode::Esc => back(state),
        KeyCode::Char('?') => {
            state.mode = Mode::Help { scroll: 0 };
            vec![]
        }
        KeyCode::PageUp => scroll(state, PAGE, true),
        KeyCode::PageDown => scroll(state, PAGE, false),
        KeyCode::Char('Q') => open(state, View::Questions),
        KeyCode::Char('S') => open(state, View::Runs),
        KeyCode::Char('J') => open(state, View::Jobs),
        KeyCode::Char('M') => open(state, View::Messages),
        KeyCode::Char('F') => open(state, View::Fleet),
        KeyCode::Char('U') => open(state, View::Usage),
        // What a command printed is not read again: the command would run again.
        KeyCode::Char('r') if state.view != Some(View::Output) => {
            state.page = None;
            vec![Intent::Reload]
        }
        code => match state.view {
            Some(view) => in_view(state, view, code),
            None => in_queue(state, code),
        },
    }
}

fn in_queue(state: &mut State, code: KeyCode) -> Vec<Intent> {
    match code {
        KeyCode::Char('j') | KeyCode::Down => go(state, |at, last| (at + 1).min(last)),
        KeyCode::Char('k') | KeyCode::Up => go(state, |at, _| at.saturating_sub(1)),
        KeyCode::Home => go(state, |_, _| 0),
        KeyCode::Char('G') | KeyCode::End => go(state, |_, last| last),
        KeyCode::Char(digit @ '1'..='9') => jump(state, digit),
        KeyCode::Tab => next_in_need(state, false),
        KeyCode::BackTab => next_in_need(state, true),
        KeyCode::Enter => enter(state),
        KeyCode::Char('a') => answer(state),
        KeyCode::Char('m') => {
            let to = state.meant();
            if to.is_empty() {
                return none(state);
            }
            let draft = state.drafts.get(&ids(&to)).map(String::as_str);
            state.mode = Mode::Message { editor: Editor::with(draft.unwrap_or_default()), to };
            vec![]
        }
        KeyCode::Char('w') => tab(state, Tab::Why),
        KeyCode::Char('d') => tab(state, Tab::Diff),
        KeyCode::Char('c') => tab(state, Tab::Conversation),
        KeyCode::Char('e') => tab(state, Tab::Events),
        KeyCode::Char('/') => {
            state.mode = Mode::Filter;
            vec![]
        }
        KeyCode::Char('s') => {
            state.sort = state.sort.next();
            state.arrange();
            state.say(format!("order: {}", state.sort.title()));
            vec![]
        }
        KeyCode::Char('g') => {
            state.group = state.group.next();
            state.arrange();
            state.say(state.group.title());
            vec![]
        }
        KeyCode::Char('p') => {
            state.only_project = !state.only_project;
            state.arrange();
            vec![]
        }
        KeyCode::Char(' ') => mark(state),
        KeyCode::Char('n') => {
            let home = state.around.home.clone();
            let folder = short_path(&state.around.here, home.as_deref());
            state.mode = Mode::New(Form::new(&state.around, &folder));
            vec![]
        }
        KeyCode::Char('K') => {
            let sessions = state.meant();
            if sessions.is_empty() {
                return none(state);
            }
            state.mode = Mode::Kill { sessions, typed: String::new() };
            vec![]
        }
        KeyCode::Char('R') => on_meant(state, Intent::Resume),
        KeyCode::Char('A') => on_meant(state, |meant| {
            let words = |(id, _): (SessionId, String)| vec!["archive".to_owned(), id.to_string()];
            Intent::Run(meant.into_iter().map(words).collect())
        }),
        KeyCode::Char('t') => {
            let to = state.meant();
            word(state, "tag", to)
        }
        // A title is for one session.
        KeyCode::Char('N') => {
            let to = state.selected_row().map(|row| (row.id.clone(), row.name.clone()));
            word(state, "rename", to.into_iter().collect())
        }
        _ => vec![],
    }
}

fn in_view(state: &mut State, view: View, code: KeyCode) -> Vec<Intent> {
    if view == View::Questions {
        let last = state.questions.len().saturating_sub(1);
        match code {
            KeyCode::Char('j') | KeyCode::Down => {
                return question(state, (state.question_at + 1).min(last));
            }
            KeyCode::Char('k') | KeyCode::Up => {
                return question(state, state.question_at.saturating_sub(1));
            }
            KeyCode::Char('a') => {
                if let Some(question) = state.questions.get(state.question_at) {
                    state.mode = Mode::Question { number: question.number };
                }
                return vec![];
            }
            _ => {}
        }
    }
    match code {
        KeyCode::Char('j') | KeyCode::Down => scroll(state, 1, false),
        KeyCode::Char('k') | KeyCode::Up => scroll(state, 1, true),
        KeyCode::Home => {
            state.scroll = 0;
            vec![]
        }
        _ => vec![],
    }
}

fn question(state: &mut State, at: usize) -> Vec<Intent> {
    if at != state.question_at {
        (state.question_at, state.scroll) = (at, 0);
    }
    vec![]
}

/// One step back: a command that runs is cancelled, what is open closes, then marks and the filter go.
fn back(state: &mut State) -> Vec<Intent> {
    let output = &mut state.output;
    // A second time it is left to itself.
    if state.view == Some(View::Output) && output.is_running && !output.is_cancelled {
        output.is_cancelled = true;
        let text = format!("cancelling {} …", state.output.title);
        state.say(text);
        return vec![Intent::Cancel];
    }
    if state.view.take().is_some() {
        state.rest_preview();
    } else if state.tab != Tab::Screen {
        state.tab = Tab::Screen;
        state.rest_preview();
    } else if state.scroll > 0 {
        state.scroll = 0;
    } else if state.is_preview_alone() {
        state.is_open = false;
    } else if !state.marked.is_empty() {
        state.marked.clear();
    } else if !state.filter.is_empty() {
        state.filter.clear();
        state.arrange();
    }
    vec![]
}

fn open(state: &mut State, view: View) -> Vec<Intent> {
    state.view = Some(view);
    state.rest_preview();
    vec![]
}

fn none(state: &mut State) -> Vec<Intent> {
    state.complain("no session is selected");
    vec![]
}

/// The preview of the screen and of a conversation rests at its end; everything else at its beginning.
pub(super) fn scroll(state: &mut State, lines: usize, up: bool) -> Vec<Intent> {
    let rests_at_end =
        state.view.is_none() && matches!(state.tab, Tab::Screen | Tab::Conversation | Tab::Events);
    state.scroll =
        if up == rests_at_end { state.scroll + lines } else { state.scroll.saturating_sub(lines) };
    vec![]
}

pub(super) fn go(state: &mut State, to: impl Fn(usize, usize) -> usize) -> Vec<Intent> {
    let Some(last) = state.listed().len().checked_sub(1) else { return vec![] };
    let at = to(state.index().unwrap_or(0), last);
    let left = state.select_at(at);
    looked(state, left)
}

pub(super) fn click(state: &mut State, id: SessionId) -> Vec<Intent> {
    let left = state.select(id);
    looked(state, left)
}

fn jump(state: &mut State, digit: char) -> Vec<Intent> {
    let at = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
    let left = state.select_at(at);
    looked(state, left)
}

fn next_in_need(state: &mut State, backwards: bool) -> Vec<Intent> {
    let Some(id) = state.next_in_need(backwards) else {
        state.say("no session needs you");
        return vec![];
    };
    let left = state.select(id);
    looked(state, left)
}

/// A session counts as looked at once the cursor leaves it: while it is on it, the row stays where it is.
fn looked(state: &State, left: Option<SessionId>) -> Vec<Intent> {
    let is_unseen =
        |id: &SessionId| state.rows.get(id).is_some_and(|row| state.place(row) == Place::Unseen);
    left.filter(is_unseen).map(Intent::Looked).into_iter().collect()
}

fn enter(state: &mut State) -> Vec<Intent> {
    if state.is_small() && !state.is_open && !state.is_sidebar {
        state.is_open = true;
        return vec![];
    }
    let Some(row) = state.selected_row() else { return none(state) };
    if !row.has_pane {
        let text = format!("{} has ended: there is no pane to attach to", row.name);
        state.complain(text);
        return vec![];
    }
    vec![Intent::Attach(row.id.clone())]
}

fn answer(state: &mut State) -> Vec<Intent> {
    let Some(row) = state.selected_row() else { return none(state) };
    let (name, options) = (row.name.clone(), row.options());
    let problem = match (row.status(), row.dialog()) {
        (Status::Waiting { .. }, Some(dialog)) if !options.is_empty() => {
            let (session, dialog) = (row.id.clone(), dialog.to_owned());
            state.mode = Mode::Answer { session, name, dialog, options };
            return vec![];
        }
        (Status::Waiting { .. }, Some(_)) => {
            format!("{name}: this dialog has no options to choose from; Enter attaches")
        }
        (Status::Waiting { .. }, None) => {
            format!("{name}: its dialog is not on the screen yet; Enter attaches")
        }
        (status, _) => format!("{name} is {}: nothing to answer", status.as_str()),
    };
    state.complain(problem);
    vec![]
}

/// Opens a tab; the key of the open one closes it.
fn tab(state: &mut State, tab: Tab) -> Vec<Intent> {
    state.tab = if state.tab == tab { Tab::Screen } else { tab };
    if state.is_small() {
        state.is_open = true;
    }
    state.rest_preview();
    vec![]
}

fn mark(state: &mut State) -> Vec<Intent> {
    let Some(id) = state.selected.clone() else { return vec![] };
    if !state.marked.remove(&id) {
        state.marked.insert(id);
    }
    go(state, |at, last| (at + 1).min(last))
}

/// Does something about the sessions that are meant.
fn on_meant(
    state: &mut State,
    intent: impl FnOnce(Vec<(SessionId, String)>) -> Intent,
) -> Vec<Intent> {
    let meant = state.meant();
    if meant.is_empty() {
        return none(state);
    }
    state.marked.clear();
    vec![intent(meant)]
}

fn word(state: &mut State, command: &'static str, to: Vec<(SessionId, String)>) -> Vec<Intent> {
    if to.is_empty() {
        return none(state);
    }
    state.mode = Mode::Word { command, to, typed: String::new() };
    vec![]
}
