//! What must be in sight however small the terminal is: what is typed, what hides sessions, and what went wrong.

use crossterm::event::KeyCode;
use ratatui::text::Line;

use super::tests::{frame, sample};
use super::*;
use crate::keys::{Key, paste, press};
use crate::model::sample::id;
use crate::model::{Page, PageOf, Question, Tab};

const ENTER: Key = Key::plain(KeyCode::Enter);

fn typed(state: &mut State, text: &str) {
    for c in text.chars() {
        press(state, if c == '\n' { ENTER } else { Key::char(c) });
    }
}

fn cursor(state: &State) -> Position {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, &mut buffer).unwrap()
}

/// The last word of a long text is in sight, and the cursor is behind it.
#[test]
fn what_is_typed_is_in_sight() {
    for width in [40, 80, 140] {
        for keys in ["m", "n", "/", "t", "K"] {
            let mut state = sample(width, 20);
            typed(&mut state, keys);
            typed(&mut state, &"some words ".repeat(30));
            typed(&mut state, "theend");
            let Position { x, y } = cursor(&state);
            let frame = frame(&state);
            let line = frame.lines().nth(y.into()).unwrap();
            let before: String = line.chars().skip(1).take(x.into()).collect();
            assert!(before.ends_with("theend"), "{width} {keys} {x}\n{frame}");
        }
    }
    // In the middle of the text, too.
    let mut state = sample(40, 20);
    press(&mut state, Key::char('m'));
    paste(&mut state, &format!("{}HERE{}\nshort", "a".repeat(100), "z".repeat(100)));
    press(&mut state, Key::plain(KeyCode::Up));
    for _ in 0..105 {
        press(&mut state, Key::plain(KeyCode::Right));
    }
    let frame = frame(&state);
    assert!(frame.contains("HERE"), "{frame}");
    assert!(frame.contains("…a") && frame.contains("z…"), "{frame}");
}

#[test]
fn blanks_and_tabs_take_their_columns() {
    let mut state = sample(80, 24);
    press(&mut state, Key::char('m'));
    paste(&mut state, "a\tb  c");
    assert_eq!(cursor(&state).x, 2 + 9);
    assert!(frame(&state).contains("a    b  c"));
    typed(&mut state, "\n");
    typed(&mut state, "/a  b ");
    assert_eq!(cursor(&state).x, 3 + 5);
}

#[test]
fn a_kill_in_a_sidebar_shows_what_is_typed() {
    let mut state = sample(40, 20);
    typed(&mut state, "Kfix-parser");
    assert!(frame(&state).contains("type fix-parser to kill: fix-parser"), "{}", frame(&state));
    let mut state = sample(40, 20);
    typed(&mut state, "  K2");
    assert!(frame(&state).contains("type 2 to kill 2: 2"), "{}", frame(&state));
}

#[test]
fn what_hides_sessions_is_in_sight() {
    for size in [(40, 20), (60, 24), (80, 24), (140, 40)] {
        let head = |state: &State| frame(state).lines().next().unwrap().to_owned();
        let mut state = sample(size.0, size.1);
        typed(&mut state, " /codex\n");
        let line = head(&state);
        assert!(line.contains("1 marked") && line.contains("/codex"), "{size:?} {line}");
        assert!(line.contains("2 need you") && line.contains("01:28"), "{size:?} {line}");
        press(&mut state, Key::plain(KeyCode::Esc));
        press(&mut state, Key::plain(KeyCode::Esc));
        typed(&mut state, "p");
        assert!(head(&state).contains("this project"), "{size:?} {}", head(&state));
        typed(&mut state, "p");
        let line = head(&state);
        assert!(!line.contains("this project") && !line.contains('/') || size.0 > 99, "{line}");
    }
}

#[test]
fn trouble_is_in_sight_while_rows_are() {
    let mut state = sample(80, 24);
    state.trouble = Some("error: the database is locked".to_owned());
    let last = |state: &State| frame(state).lines().last().unwrap().to_owned();
    assert!(last(&state).contains("error: the database is locked"));
    press(&mut state, Key::char('K'));
    assert!(last(&state).contains("Type its name"), "what is asked goes first");
    press(&mut state, Key::plain(KeyCode::Esc));
    state.trouble = None;
    assert!(last(&state).contains("? keys"));
}

/// In a terminal with hardly any room, the last line is the last line.
#[test]
fn nothing_shows_through_the_last_line() {
    for (size, keys) in [
        ((80, 4), ""),
        ((20, 3), ""),
        ((80, 3), "K"),
        ((20, 5), "Q"),
        ((80, 5), "n"),
        ((80, 5), "m"),
    ] {
        let mut state = sample(size.0, size.1);
        state.questions = questions();
        typed(&mut state, keys);
        let last = frame(&state).lines().last().unwrap().to_owned();
        for name in ["fix-parser", "db-choice", "build", "waiting", "which"] {
            let is_asked = keys == "K" && name == "fix-parser";
            assert!(is_asked || !last.contains(name), "{size:?} {keys} {last}");
        }
        if keys == "m" || keys == "n" {
            assert!(frame(&state).contains("── "), "its title\n{}", frame(&state));
        }
    }
}

fn questions() -> Vec<Question> {
    let text = (0..50).map(|line| format!("text {line}")).collect::<Vec<_>>();
    let one = |number| Question {
        number,
        headline: format!("which {number}"),
        text: text.clone(),
        options: vec![(1, "yes".to_owned())],
        raised: crate::model::sample::at(60),
    };
    (1..=4).map(one).collect()
}

#[test]
fn nothing_is_scrolled_out_of_sight() {
    let clamp = |state: &mut State| {
        if let Some(most) = most_scroll(state) {
            state.scroll = state.scroll.min(most);
        }
    };
    let page = |state: &mut State, of: PageOf| {
        let lines = (0..100).map(|n| Line::from(format!("line {n}."))).collect();
        state.page = Some(Page { of, lines });
    };
    let down = Key::plain(KeyCode::PageDown);
    let up = Key::plain(KeyCode::PageUp);
    // A page that begins at its top, one that rests at its end, a view, a question.
    let mut diff = sample(80, 24);
    typed(&mut diff, "d");
    page(&mut diff, PageOf::Tab(id("fix-parser"), Tab::Diff));
    let mut events = sample(80, 24);
    typed(&mut events, "e");
    page(&mut events, PageOf::Tab(id("fix-parser"), Tab::Events));
    let mut jobs = sample(80, 24);
    typed(&mut jobs, "J");
    page(&mut jobs, PageOf::View(View::Jobs));
    let mut asked = sample(80, 24);
    typed(&mut asked, "Q");
    asked.take_questions(questions());
    let mut why = sample(40, 8);
    typed(&mut why, "w");
    for (mut state, further, first, last) in [
        (diff, down, "line 0.", "line 99."),
        (events, up, "line 99.", "line 0."),
        (jobs, down, "line 0.", "line 99."),
        (asked, down, "text 0", "text 49"),
        (why, down, "waiting: permission", "screen"),
    ] {
        assert!(frame(&state).contains(first), "{first}\n{}", frame(&state));
        for _ in 0..50 {
            press(&mut state, further);
            clamp(&mut state);
        }
        assert!(frame(&state).contains(last), "{last}\n{}", frame(&state));
        // One page back moves at once.
        let before = frame(&state);
        press(&mut state, if further == down { up } else { down });
        clamp(&mut state);
        assert_ne!(frame(&state), before, "{last}");
    }
    // Before its history is read, a screen's end is not known.
    let mut state = sample(80, 24);
    press(&mut state, up);
    clamp(&mut state);
    assert_eq!(state.scroll, 10);
    state.screen.as_mut().unwrap().has_history = true;
    clamp(&mut state);
    assert_eq!(state.scroll, 0, "it has none");
}
