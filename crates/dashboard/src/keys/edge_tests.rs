//! Drafts, commands, labels and looks: what must not be lost or mixed up.

use crossterm::event::KeyCode;

use super::tests::{ENTER, ESC, change, names, selected, state, typed};
use super::*;
use crate::model::sample::{self, id};
use crate::model::{Entry, Group, Notice, Page, PageOf, Printed, Question, View};

fn line(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A title is for the selected session, whatever is marked; and what begins with `-` is no option.
#[test]
fn a_title_is_for_one_session() {
    for (given, want) in [
        ("Nnew name", line(&["rename", "build", "--", "new name"])),
        ("N--clear", line(&["rename", "build", "--", "--clear"])),
    ] {
        let mut state = state();
        typed(&mut state, "  ");
        typed(&mut state, given);
        assert_eq!(press(&mut state, ENTER), [Intent::Run(vec![want])]);
    }
    let mut state = state();
    typed(&mut state, "t-x --y");
    let want = line(&["tag", "add", "fix-parser", "--", "-x", "--y"]);
    assert_eq!(press(&mut state, ENTER), [Intent::Run(vec![want])]);
}

#[test]
fn a_message_that_was_not_sent_is_kept() {
    let text = |state: &State| match &state.mode {
        Mode::Message { editor, .. } => editor.text(),
        other => panic!("{other:?}"),
    };
    for close in [ESC, Key::ctrl('c')] {
        let mut state = state();
        typed(&mut state, "mhello");
        press(&mut state, close);
        typed(&mut state, "jm");
        assert_eq!(text(&state), "", "to another");
        press(&mut state, ESC);
        typed(&mut state, "km");
        assert_eq!(text(&state), "hello");
        typed(&mut state, "!");
        let to = vec![(id("fix-parser"), "fix-parser".to_owned())];
        let send = Intent::Send { to, text: "hello!".to_owned() };
        assert_eq!(press(&mut state, ENTER), [send]);
        typed(&mut state, "m");
        assert_eq!(text(&state), "", "it was sent");
    }
    // One that was emptied is not kept, and one for several is for them.
    let mut state = state();
    typed(&mut state, "mx");
    press(&mut state, ESC);
    typed(&mut state, "m");
    press(&mut state, Key::plain(KeyCode::Backspace));
    press(&mut state, ESC);
    assert!(state.drafts.is_empty());
    typed(&mut state, "  mboth");
    press(&mut state, ESC);
    typed(&mut state, "m");
    assert_eq!(text(&state), "both");
}

fn printed(number: u64, text: &str) -> Printed {
    Printed {
        number,
        title: "dogwatch ls".to_owned(),
        lines: vec![text.to_owned().into()],
        end: Notice { text: text.to_owned(), is_error: false },
    }
}

/// Opens a command line by the palette, and runs it.
fn command(state: &mut State, line: &str) -> Vec<Intent> {
    press(state, Key::ctrl('k'));
    typed(state, "dogwatch why");
    press(state, ENTER);
    press(state, Key::ctrl('u'));
    typed(state, line);
    press(state, ENTER)
}

#[test]
fn a_command_that_runs_is_cancelled_before_its_view_closes() {
    let mut state = state();
    assert_eq!(command(&mut state, "wait a"), [Intent::Show(line(&["wait", "a"]))]);
    assert_eq!(press(&mut state, ESC), [Intent::Cancel]);
    assert_eq!(state.view, Some(View::Output), "what it printed is still to come");
    state.take_output(printed(state.output.number, "cancelled"));
    assert!(state.page.is_some());
    assert_eq!(press(&mut state, ESC), []);
    assert_eq!(state.view, None);
    // One that does not end is left to itself.
    command(&mut state, "wait b");
    assert_eq!(press(&mut state, ESC), [Intent::Cancel]);
    assert_eq!((press(&mut state, ESC), state.view), (vec![], None));
}

#[test]
fn what_a_command_printed_is_shown_or_said() {
    let mut state = state();
    command(&mut state, "ls");
    let first = state.output.number;
    state.take_output(printed(first, "a row"));
    assert!(state.page.is_some() && state.notice.is_none());
    // It is not read again: the command would run again.
    assert_eq!(press(&mut state, Key::char('r')), []);
    assert!(state.page.is_some());
    // The view of another command does not show it.
    command(&mut state, "ls");
    state.take_output(printed(first, "late"));
    assert!(state.page.is_none() && state.output.is_running);
    assert_eq!(state.notice.as_ref().unwrap().text, "dogwatch ls: late");
    // Nor is it lost if the view is closed.
    press(&mut state, Key::char('J'));
    state.take_output(printed(state.output.number, "done"));
    assert_eq!(state.notice.as_ref().unwrap().text, "dogwatch ls: done");
    assert!(!state.output.is_running);
}

#[test]
fn a_session_on_a_command_line() {
    let prefilled = |state: &mut State, query: &str| {
        press(state, Key::ctrl('k'));
        typed(state, query);
        press(state, ENTER);
        match &state.mode {
            Mode::Command { line } => line.clone(),
            other => panic!("{other:?}"),
        }
    };
    let mut state = state();
    state.around.commands.push(("tag".to_owned(), "Tag sessions".to_owned()));
    assert_eq!(prefilled(&mut state, "dogwatch tag"), "tag add fix-parser ");
    for (name, want) in [
        ("my agent", "why fix-parser "),
        ("it's", "why fix-parser "),
        ("-x", "why fix-parser "),
        ("build", "why fix-parser "),
        ("other", "why other "),
    ] {
        press(&mut state, ESC);
        change(&mut state, "fix-parser", |row| row.name = name.to_owned());
        assert_eq!(prefilled(&mut state, "dogwatch why"), want, "{name}: its id, or its name");
    }
}

#[test]
fn the_palette_finds_a_session_by_its_title() {
    let mut state = state();
    change(&mut state, "e2e", |row| row.title = Some("Nightly shift".to_owned()));
    typed(&mut state, "5");
    press(&mut state, Key::ctrl('k'));
    typed(&mut state, "go nightly");
    // The cursor leaves a session whose turn finished: it was looked at.
    assert_eq!(press(&mut state, ENTER), [Intent::Looked(id("lint"))]);
    assert_eq!(selected(&state), "e2e");
}

#[test]
fn moving_while_a_filter_is_typed_looks_at_what_is_left() {
    let mut state = state();
    typed(&mut state, "5/");
    assert_eq!(press(&mut state, Key::plain(KeyCode::Down)), [Intent::Looked(id("lint"))]);
    assert_eq!(selected(&state), "migrate");
    press(&mut state, Key::plain(KeyCode::Up));
    assert_eq!((selected(&state), &state.mode), ("lint", &Mode::Filter));
}

#[test]
fn a_preview_that_was_opened_in_a_small_terminal_is_forgotten_in_a_large_one() {
    let mut state = state();
    state.size = (40, 20);
    press(&mut state, ENTER);
    assert!(state.is_preview_alone());
    state.size = (140, 40);
    assert_eq!(press(&mut state, Key::char('q')), [Intent::Quit]);
}

#[test]
fn the_selected_question_is_followed() {
    let question = |number| Question {
        number,
        headline: String::new(),
        text: Vec::new(),
        options: Vec::new(),
        raised: sample::at(0),
    };
    let mut state = state();
    press(&mut state, Key::char('Q'));
    state.take_questions([1, 2, 3].map(question).to_vec());
    press(&mut state, Key::char('j'));
    state.scroll = 2;
    state.take_questions([0, 1, 2, 3].map(question).to_vec());
    assert_eq!((state.question_at, state.scroll), (2, 2), "still the one with number 2");
    press(&mut state, Key::char('a'));
    assert_eq!(state.mode, Mode::Question { number: 2 });
    press(&mut state, ESC);
    press(&mut state, Key::char('j'));
    assert_eq!((state.question_at, state.scroll), (3, 0), "another one begins at its top");
    state.scroll = 2;
    state.take_questions([7].map(question).to_vec());
    assert_eq!((state.question_at, state.scroll), (0, 0));
}

#[test]
fn a_look_of_another_dashboard_counts() {
    let mut state = state();
    assert_eq!(names(&state)[4], "lint");
    state.take_looks([(id("lint"), sample::at(1))].into());
    assert_eq!(names(&state)[4], "migrate");
    // One of our own that is not recorded yet is not forgotten.
    state.take_looks([(id("lint"), sample::at(900))].into());
    assert_eq!(names(&state)[4], "migrate");
}

#[test]
fn groups_of_roles_and_hosts() {
    let mut state = state();
    for (name, role) in [("build", "tester"), ("docs", "writer"), ("lint", "tester")] {
        change(&mut state, name, |row| row.role = Some(role.to_owned()));
    }
    let groups = |state: &State| -> Vec<(String, usize)> {
        let heads = state.entries.iter().filter_map(|entry| match entry {
            Entry::Group { title, count } => Some((title.clone(), *count)),
            Entry::Row(_) => None,
        });
        heads.collect()
    };
    typed(&mut state, "ggg");
    assert_eq!(state.group, Group::Role);
    let want = [("no role", 8), ("tester", 2), ("writer", 1)];
    assert_eq!(groups(&state), want.map(|(title, count)| (title.to_owned(), count)));
    typed(&mut state, "gg");
    assert_eq!(groups(&state), [("here".to_owned(), 11)], "fleet has the other hosts");
}

/// A page that is late belongs to what was open then.
#[test]
fn reading_again_keeps_the_place() {
    let mut state = state();
    press(&mut state, Key::char('J'));
    state.page = Some(Page { of: PageOf::View(View::Jobs), lines: Vec::new() });
    state.scroll = 3;
    assert_eq!(press(&mut state, Key::char('r')), [Intent::Reload]);
    assert_eq!((state.page.is_none(), state.scroll), (true, 3));
}
