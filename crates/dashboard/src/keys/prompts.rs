//! Keys while a short answer is asked for on the last line.

use crossterm::event::KeyCode;

use super::queue::PAGE;
use super::{Intent, Key, palette};
use crate::model::{Mode, Output, State, View};

/// A digit answers; every other key closes without an answer, but those that no mode knows.
pub(super) fn answer(state: &mut State, key: Key) -> Vec<Intent> {
    if key.ctrl {
        return vec![];
    }
    let Mode::Answer { session, name, dialog, options } = std::mem::take(&mut state.mode) else {
        return vec![];
    };
    let chosen = digit(key).filter(|digit| options.iter().any(|(number, _)| number == digit));
    match (chosen, digit(key)) {
        (Some(choice), _) => {
            state.say(format!("{name}: answering {choice} …"));
            vec![Intent::Answer { session, name, choice, dialog }]
        }
        (None, Some(digit)) => {
            state.complain(format!("{name}: the dialog has no option {digit}"));
            state.mode = Mode::Answer { session, name, dialog, options };
            vec![]
        }
        (None, None) => vec![],
    }
}

pub(super) fn question(state: &mut State, key: Key) -> Vec<Intent> {
    if key.ctrl {
        return vec![];
    }
    let Mode::Question { number } = std::mem::take(&mut state.mode) else { return vec![] };
    let known = state.questions.iter().find(|question| question.number == number);
    let Some(option) = digit(key) else { return vec![] };
    if known.is_some_and(|one| one.options.iter().any(|(number, _)| *number == option)) {
        return vec![Intent::AnswerQuestion { number, option }];
    }
    state.complain(format!("question {number} has no option {option}"));
    vec![]
}

fn digit(key: Key) -> Option<usize> {
    match key.code {
        KeyCode::Char(c) => c.to_digit(10).filter(|digit| *digit > 0).map(|digit| digit as usize),
        _ => None,
    }
}

/// One session is killed once its name was typed, several once their number was.
pub(super) fn kill(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Kill { sessions, typed } = &mut state.mode else { return vec![] };
    match edit(typed, key) {
        Edit::Typing => vec![],
        Edit::Cancelled => {
            state.mode = Mode::Queue;
            vec![]
        }
        Edit::Done => {
            let wanted = confirmation(sessions);
            if typed.trim() != wanted {
                let text = format!("not killed: type {wanted}");
                state.complain(text);
                return vec![];
            }
            let sessions = std::mem::take(sessions);
            state.mode = Mode::Queue;
            state.marked.clear();
            vec![Intent::Kill(sessions)]
        }
    }
}

/// What must be typed to kill these.
pub fn confirmation<T>(sessions: &[(T, String)]) -> String {
    match sessions {
        [(_, name)] => name.clone(),
        several => several.len().to_string(),
    }
}

pub(super) fn word(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Word { command, to, typed } = &mut state.mode else { return vec![] };
    match edit(typed, key) {
        Edit::Typing => vec![],
        Edit::Cancelled => {
            state.mode = Mode::Queue;
            vec![]
        }
        Edit::Done => {
            // Several tags, or a title of several words.
            let (verb, given): (&[&str], Vec<String>) = match *command {
                "tag" => {
                    (&["tag", "add"], typed.split_whitespace().map(ToOwned::to_owned).collect())
                }
                other => (&[other], [typed.trim().to_owned()].to_vec()),
            };
            let given: Vec<String> = given.into_iter().filter(|word| !word.is_empty()).collect();
            let verb: Vec<String> = verb.iter().map(|word| (*word).to_owned()).collect();
            let lines = to.iter().map(|(id, _)| {
                // What begins with `-` is no option.
                let before = verb.iter().cloned().chain([id.to_string(), "--".to_owned()]);
                before.chain(given.clone()).collect()
            });
            let lines: Vec<Vec<String>> = lines.collect();
            state.mode = Mode::Queue;
            if given.is_empty() {
                return vec![];
            }
            state.marked.clear();
            vec![Intent::Run(lines)]
        }
    }
}

pub(super) fn command(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Command { line } = &mut state.mode else { return vec![] };
    match edit(line, key) {
        Edit::Typing => vec![],
        Edit::Cancelled => {
            state.mode = Mode::Queue;
            vec![]
        }
        Edit::Done => match split(line) {
            Ok(words) if words.is_empty() => {
                state.mode = Mode::Queue;
                vec![]
            }
            Ok(words) => {
                let number = state.output.number + 1;
                let title = format!("dogwatch {}", line.trim());
                state.output = Output { number, title, is_running: true, is_cancelled: false };
                state.mode = Mode::Queue;
                state.view = Some(View::Output);
                state.rest_preview();
                vec![Intent::Show(words)]
            }
            Err(problem) => {
                state.complain(problem);
                vec![]
            }
        },
    }
}

/// The keys that move in the list scroll here; every other one closes it.
pub(super) fn help(state: &mut State, key: Key) -> Vec<Intent> {
    let Mode::Help { scroll } = &mut state.mode else { return vec![] };
    if key.ctrl {
        return vec![];
    }
    match key.code {
        KeyCode::Char('j') | KeyCode::Down => *scroll += 1,
        KeyCode::Char('k') | KeyCode::Up => *scroll = scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => *scroll += PAGE,
        KeyCode::PageUp => *scroll = scroll.saturating_sub(PAGE),
        _ => state.mode = Mode::Queue,
    }
    if let Mode::Help { scroll } = &mut state.mode {
        *scroll = (*scroll).min(palette::help().len());
    }
    vec![]
}

/// Words as a shell splits them, with quotes and backslashes, and nothing else of a shell.
pub fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if open == c => quote = None,
            (None | Some('"'), '\\') => {
                let escaped = chars.next().ok_or("a backslash at the end")?;
                word.get_or_insert_default().push(escaped);
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

pub(super) enum Edit {
    Typing,
    Cancelled,
    Done,
}

/// Edits one line.
pub(super) fn edit(line: &mut String, key: Key) -> Edit {
    match key.code {
        KeyCode::Esc => return Edit::Cancelled,
        KeyCode::Enter => return Edit::Done,
        KeyCode::Backspace => {
            line.pop();
        }
        KeyCode::Char('u') if key.ctrl => line.clear(),
        KeyCode::Char('w') if key.ctrl => {
            let end = line.trim_end().len();
            let start = line[..end].rfind(char::is_whitespace).map_or(0, |at| at + 1);
            line.truncate(start);
        }
        KeyCode::Char(c) if !key.ctrl => line.push(c),
        _ => {}
    }
    Edit::Typing
}
