//! Which key does what, as tables.

use crossterm::event::KeyCode;

use super::*;
use crate::model::sample::{self, id};
use crate::model::{Group, Row, Sort, Tab, View};

pub(super) const ENTER: Key = Key::plain(KeyCode::Enter);
pub(super) const ESC: Key = Key::plain(KeyCode::Esc);

pub(super) fn state() -> State {
    sample::state((140, 40))
}

pub(super) fn typed(state: &mut State, text: &str) -> Vec<Intent> {
    text.chars().flat_map(|c| press(state, Key::char(c))).collect()
}

pub(super) fn names(state: &State) -> Vec<&str> {
    state.listed().into_iter().map(|id| state.rows[id].name.as_str()).collect()
}

pub(super) fn selected(state: &State) -> &str {
    state.selected_row().map_or("", |row| row.name.as_str())
}

pub(super) fn change(state: &mut State, name: &str, change: impl FnOnce(&mut Row)) {
    let mut row = state.rows[&id(name)].clone();
    change(&mut row);
    state.take_in([(id(name), Some(row))]);
}

#[test]
fn the_order_of_the_queue() {
    let order = [
        "fix-parser",
        "db-choice",
        "build",
        "docs",
        "lint",
        "migrate",
        "e2e",
        "refactor",
        "bench",
        "notes",
        "old-box",
    ];
    assert_eq!(names(&state()), order);
}

#[test]
fn keys_that_move() {
    let table: [(&[Key], &str); 12] = [
        (&[], "fix-parser"),
        (&[Key::char('j')], "db-choice"),
        (&[Key::plain(KeyCode::Down), Key::plain(KeyCode::Down)], "build"),
        (&[Key::char('j'), Key::char('k')], "fix-parser"),
        (&[Key::char('k')], "fix-parser"),
        (&[Key::char('9')], "bench"),
        (&[Key::char('3'), Key::plain(KeyCode::Up)], "db-choice"),
        (&[Key::char('G')], "old-box"),
        (&[Key::char('G'), Key::plain(KeyCode::Home)], "fix-parser"),
        (&[Key::plain(KeyCode::Tab)], "db-choice"),
        (&[Key::char('3'), Key::plain(KeyCode::Tab)], "fix-parser"),
        (&[Key::plain(KeyCode::BackTab)], "build"),
    ];
    for (keys, want) in table {
        let mut state = state();
        for key in keys {
            press(&mut state, *key);
        }
        assert_eq!(selected(&state), want, "{keys:?}");
    }
}

#[test]
fn a_digit_alone_never_answers() {
    for digit in '1'..='9' {
        let mut state = state();
        let intents = press(&mut state, Key::char(digit));
        assert!(intents.iter().all(|intent| matches!(intent, Intent::Looked(_))), "{intents:?}");
    }
}

#[test]
fn an_answer_is_bound_to_the_dialog_that_was_shown() {
    let mut state = state();
    assert_eq!(press(&mut state, Key::char('a')), []);
    assert_eq!(press(&mut state, Key::char('3')), [], "the dialog has 1, 2 and 4");
    assert!(state.notice.as_ref().unwrap().is_error);
    let answer = Intent::Answer {
        session: id("fix-parser"),
        name: "fix-parser".to_owned(),
        choice: 4,
        dialog: "d1".to_owned(),
    };
    assert_eq!(press(&mut state, Key::char('4')), [answer]);
    assert_eq!(state.mode, Mode::Queue);
}

#[test]
fn a_dialog_that_changed_is_not_answered() {
    let other = |dialog: &str| {
        sample::waiting(
            dogwatch_protocol::status::Need::Permission,
            "rm -rf /",
            &["Yes", "No"],
            dialog,
        )
    };
    for changed in [other("d9"), sample::working("on"), sample::idle()] {
        let mut state = state();
        press(&mut state, Key::char('a'));
        change(&mut state, "fix-parser", |row| row.verdict.status = changed.clone());
        assert_eq!(state.mode, Mode::Queue);
        assert!(state.notice.as_ref().unwrap().text.contains("has changed"));
        // The digit that was on its way does nothing at all, and why stays in sight; the next one is a jump again.
        assert_eq!((press(&mut state, Key::char('2')), selected(&state)), (vec![], "fix-parser"));
        assert!(state.notice.as_ref().unwrap().text.contains("has changed"));
        press(&mut state, Key::char('1'));
        assert_eq!((state.index(), &state.mode), (Some(0), &Mode::Queue));
    }
    // A change elsewhere, or of its age, leaves it open.
    let mut state = state();
    press(&mut state, Key::char('a'));
    change(&mut state, "db-choice", |row| row.verdict.status = sample::idle());
    change(&mut state, "fix-parser", |row| row.verdict.since = Some(sample::at(1)));
    assert!(matches!(state.mode, Mode::Answer { .. }));
}

#[test]
fn any_other_key_closes_an_answer() {
    for key in [ESC, Key::char('x'), Key::char('q'), ENTER, Key::ctrl('c')] {
        let mut state = state();
        press(&mut state, Key::char('a'));
        assert_eq!(press(&mut state, key), [], "{key:?}");
        assert_eq!(state.mode, Mode::Queue, "{key:?}");
    }
}

#[test]
fn nothing_to_answer_is_said() {
    let mut state = state();
    press(&mut state, Key::char('6'));
    assert_eq!(press(&mut state, Key::char('a')), []);
    assert_eq!(state.notice.as_ref().unwrap().text, "migrate is working: nothing to answer");
    change(&mut state, "migrate", |row| {
        row.verdict.status = dogwatch_protocol::status::Status::Waiting {
            r#for: dogwatch_protocol::status::Need::Permission,
            question: None,
            options: vec![],
            dialog: None,
        };
    });
    press(&mut state, Key::char('a'));
    assert!(state.notice.as_ref().unwrap().text.contains("not on the screen"));
}

#[test]
fn the_cursor_follows_the_session() {
    let mut state = state();
    press(&mut state, Key::char('6'));
    change(&mut state, "migrate", |row| {
        row.verdict.status =
            sample::waiting(dogwatch_protocol::status::Need::Question, "?", &[], "d");
        row.verdict.since = Some(sample::at(9000));
    });
    assert_eq!((selected(&state), state.index()), ("migrate", Some(0)));
    press(&mut state, Key::char('s'));
    assert_eq!(selected(&state), "migrate", "in another order");
    // One that goes away leaves its place to the next.
    state.sort = Sort::Need;
    state.arrange();
    state.take_in([(id("migrate"), None)]);
    assert_eq!(selected(&state), "fix-parser");
}

#[test]
fn an_idle_session_is_seen_once_the_cursor_leaves_it() {
    let mut state = state();
    assert_eq!(press(&mut state, Key::char('5')), []);
    assert_eq!(press(&mut state, Key::char('j')), [Intent::Looked(id("lint"))]);
    state.looked_at.insert(id("lint"), sample::at(0));
    state.arrange();
    assert_eq!(names(&state)[8..10], ["lint", "notes"], "among those that were seen");
    press(&mut state, Key::char('9'));
    assert_eq!(press(&mut state, Key::char('j')), [], "once");
    // One that a client shows is seen.
    state.looked_at.clear();
    change(&mut state, "notes", |row| row.is_attached = true);
    assert_eq!(names(&state)[4], "lint");
    assert_eq!(*names(&state).iter().rev().nth(1).unwrap(), "notes");
}

#[test]
fn a_filter_lists_what_has_all_its_words() {
    let table: [(&str, &[&str]); 5] = [
        ("claude wait", &["fix-parser", "db-choice"]),
        ("~/p/api", &["db-choice", "migrate"]),
        ("PARSER", &["fix-parser", "migrate"]),
        ("codex", &["docs", "refactor"]),
        ("no such", &[]),
    ];
    for (filter, want) in table {
        let mut state = state();
        press(&mut state, Key::char('/'));
        typed(&mut state, filter);
        assert_eq!(names(&state), want, "{filter}");
        press(&mut state, ENTER);
        assert_eq!((state.mode.clone(), names(&state)), (Mode::Queue, want.to_vec()));
        press(&mut state, ESC);
        assert_eq!(names(&state).len(), 11, "Esc clears it");
    }
}

#[test]
fn groups_and_orders() {
    let mut state = state();
    press(&mut state, Key::char('g'));
    assert_eq!(state.group, Group::Project);
    assert_eq!(names(&state)[..3], ["fix-parser", "db-choice", "migrate"], "with its project");
    for _ in 0..5 {
        press(&mut state, Key::char('g'));
    }
    assert_eq!(state.group, Group::None);
    press(&mut state, Key::char('s'));
    assert_eq!(names(&state)[..2], ["bench", "build"]);
    press(&mut state, Key::char('s'));
    assert_eq!(names(&state)[..2], ["bench", "db-choice"], "the newest change first");
    state.sort = Sort::Need;
    press(&mut state, Key::char('p'));
    assert_eq!(names(&state), ["db-choice", "migrate"], "this project only");
}

#[test]
fn a_kill_is_confirmed_by_name() {
    let mut state = state();
    press(&mut state, Key::char('K'));
    assert_eq!(press(&mut state, ENTER), []);
    typed(&mut state, "fix");
    assert_eq!(press(&mut state, ENTER), [], "not the whole name");
    typed(&mut state, "-parser");
    let one = vec![(id("fix-parser"), "fix-parser".to_owned())];
    assert_eq!(press(&mut state, ENTER), [Intent::Kill(one)]);
    // Several by their number.
    let mut state = self::state();
    typed(&mut state, "  K");
    typed(&mut state, "fix-parser");
    assert_eq!(press(&mut state, ENTER), []);
    press(&mut state, Key::ctrl('u'));
    typed(&mut state, "2");
    let both = ["db-choice", "fix-parser"].map(|name| (id(name), name.to_owned())).to_vec();
    assert_eq!(press(&mut state, ENTER), [Intent::Kill(both)]);
    assert!(state.marked.is_empty());
}

#[test]
fn a_message_is_sent_as_written() {
    let mut state = state();
    press(&mut state, Key::char('m'));
    typed(&mut state, "hello K");
    press(&mut state, Key { alt: true, ..ENTER });
    typed(&mut state, "2");
    let to = vec![(id("fix-parser"), "fix-parser".to_owned())];
    let want = Intent::Send { to, text: "hello K\n2".to_owned() };
    assert_eq!(press(&mut state, ENTER), [want]);
    press(&mut state, Key::char('m'));
    assert_eq!(press(&mut state, ENTER), [], "an empty one is not");
}

#[test]
fn text_that_is_pasted_into_the_queue_presses_no_keys() {
    let mut state = state();
    paste(&mut state, "a1Kfix-parser\nq");
    assert_eq!(state.mode, Mode::Queue);
    press(&mut state, Key::char('K'));
    paste(&mut state, "fix-parser");
    assert_eq!(press(&mut state, ENTER), [], "the name is typed");
}

#[test]
fn tabs_and_views_open_and_close() {
    let mut state = state();
    for (key, tab) in
        [('w', Tab::Why), ('d', Tab::Diff), ('c', Tab::Conversation), ('e', Tab::Events)]
    {
        press(&mut state, Key::char(key));
        assert_eq!(state.tab, tab);
    }
    press(&mut state, Key::char('e'));
    assert_eq!(state.tab, Tab::Screen, "the same key closes it");
    for (key, view) in [('Q', View::Questions), ('J', View::Jobs), ('F', View::Fleet)] {
        press(&mut state, Key::char(key));
        assert_eq!(state.view, Some(view));
    }
    assert_eq!(press(&mut state, Key::char('q')), [], "back to the queue");
    assert_eq!(state.view, None);
    assert_eq!(press(&mut state, Key::char('q')), [Intent::Quit]);
}

#[test]
fn enter_attaches_and_opens_first_where_there_is_no_preview() {
    let mut state = state();
    assert_eq!(press(&mut state, ENTER), [Intent::Attach(id("fix-parser"))]);
    state.size = (40, 20);
    assert_eq!(press(&mut state, ENTER), []);
    assert!(state.is_open);
    assert_eq!(press(&mut state, ENTER), [Intent::Attach(id("fix-parser"))]);
    press(&mut state, ESC);
    assert!(!state.is_open);
    change(&mut state, "fix-parser", |row| row.has_pane = false);
    state.size = (140, 40);
    assert_eq!(press(&mut state, ENTER), []);
    assert!(state.notice.is_some());
}

#[test]
fn a_new_session_by_form() {
    let mut state = state();
    press(&mut state, Key::char('n'));
    typed(&mut state, "fix it");
    press(&mut state, Key::plain(KeyCode::Down));
    press(&mut state, Key::plain(KeyCode::Tab));
    press(&mut state, Key::plain(KeyCode::Down));
    assert_eq!(press(&mut state, Key::plain(KeyCode::Tab)), [Intent::CompleteFolder]);
    let words =
        ["spawn", "codex", "--cwd=/home/ann/p", "--prompt=fix it"].map(ToOwned::to_owned).to_vec();
    assert_eq!(press(&mut state, ENTER), [Intent::Run(vec![words])]);
}

#[test]
fn the_palette_finds_keys_sessions_and_commands() {
    let open = |query: &str| {
        let mut state = state();
        press(&mut state, Key::ctrl('k'));
        typed(&mut state, query);
        let intents = press(&mut state, ENTER);
        (state, intents)
    };
    let (state, _) = open("go refac");
    assert_eq!(selected(&state), "refactor");
    let (state, _) = open("message, with");
    assert!(matches!(state.mode, Mode::Message { .. }));
    let (mut state, _) = open("dogwatch why");
    assert_eq!(state.mode, Mode::Command { line: "why fix-parser ".to_owned() });
    let words = vec!["why".to_owned(), "fix-parser".to_owned()];
    assert_eq!(press(&mut state, ENTER), [Intent::Show(words)]);
    assert_eq!(state.view, Some(View::Output));
    let (state, intents) = open("zzzzzz");
    assert_eq!((state.mode, intents), (Mode::Queue, vec![]));
}

#[test]
fn words_of_a_command_line() {
    for (line, want) in [
        ("kill a  b", Ok(vec!["kill", "a", "b"])),
        (
            "send a 'two words' \"and \\\"three\\\"\"",
            Ok(vec!["send", "a", "two words", "and \"three\""]),
        ),
        ("x ''", Ok(vec!["x", ""])),
        ("x 'open", Err("a quote is not closed")),
        ("", Ok(vec![])),
    ] {
        let want = want.map(|words| words.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>());
        assert_eq!(split(line), want, "{line}");
    }
}

#[test]
fn ends_and_stops() {
    for (key, want) in [
        (Key::char('q'), Intent::Quit),
        (Key::ctrl('c'), Intent::Quit),
        (Key::ctrl('z'), Intent::Suspend),
        (Key::ctrl('l'), Intent::Redraw),
    ] {
        assert_eq!(press(&mut state(), key), [want]);
    }
    // While something is typed, Ctrl-C only closes it.
    let mut state = state();
    press(&mut state, Key::char('m'));
    assert_eq!(press(&mut state, Key::ctrl('c')), []);
}

#[test]
fn what_is_done_to_marked_sessions() {
    let both = || ["db-choice", "fix-parser"].map(|name| (id(name), name.to_owned())).to_vec();
    let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let archive = vec![line(&["archive", "db-choice"]), line(&["archive", "fix-parser"])];
    let tag = vec![
        line(&["tag", "add", "db-choice", "--", "x", "y"]),
        line(&["tag", "add", "fix-parser", "--", "x", "y"]),
    ];
    for (keys, want) in
        [("R", Intent::Resume(both())), ("A", Intent::Run(archive)), ("tx y\n", Intent::Run(tag))]
    {
        let mut state = state();
        typed(&mut state, "  ");
        let mut intents = Vec::new();
        for c in keys.chars() {
            let key = if c == '\n' { ENTER } else { Key::char(c) };
            intents.extend(press(&mut state, key));
        }
        assert_eq!((intents, state.marked.len()), (vec![want], 0), "{keys}");
    }
}

#[test]
fn the_help_is_scrolled_and_closed() {
    let mut state = state();
    press(&mut state, Key::char('?'));
    press(&mut state, Key::char('j'));
    press(&mut state, Key::plain(KeyCode::PageDown));
    assert_eq!(state.mode, Mode::Help { scroll: 11 });
    press(&mut state, Key::char('k'));
    for _ in 0..20 {
        press(&mut state, Key::plain(KeyCode::PageDown));
    }
    assert_eq!(state.mode, Mode::Help { scroll: palette::help().len() }, "not without end");
    press(&mut state, Key::char('q'));
    assert_eq!(state.mode, Mode::Queue);
}

#[test]
fn what_a_mouse_does() {
    let row = |name: &str| Hit::Row(id(name));
    for (at, what, selects, scroll) in [
        (row("docs"), Mouse::Click, "docs", 0),
        (Hit::List, Mouse::Click, "fix-parser", 0),
        (Hit::Below, Mouse::Click, "fix-parser", 0),
        (row("docs"), Mouse::Down, "db-choice", 0),
        (Hit::List, Mouse::Up, "fix-parser", 0),
        (Hit::Below, Mouse::Up, "fix-parser", 3),
        (Hit::Below, Mouse::Down, "fix-parser", 0),
    ] {
        let mut state = state();
        assert_eq!(mouse(&mut state, at.clone(), what), [], "{at:?} {what:?}");
        assert_eq!((selected(&state), state.scroll), (selects, scroll), "{at:?} {what:?}");
        press(&mut state, Key::char('K'));
        mouse(&mut state, row("notes"), Mouse::Click);
        assert_eq!(selected(&state), selects, "not while something is typed");
    }
}
