//! Keys that no mode has, and Esc and a key that were read together: nothing may come of them.

use crossterm::event::{KeyEvent, KeyModifiers, MediaKeyCode, ModifierKeyCode};

use super::tests::{ENTER, ESC, selected, state, typed};
use super::*;
use crate::model::sample::id;
use crate::model::{Field, Question, View};

fn event(code: KeyCode, modifiers: KeyModifiers) -> Key {
    Key::from(KeyEvent::new(code, modifiers))
}

/// Every mode, and the list beside each thing that can be open with it, in a large terminal, in a small one and in the sidebar.
fn everywhere() -> Vec<(String, State)> {
    let opened: [(&str, &str); 16] = [
        ("list", ""),
        ("marked", "  "),
        ("tab", "w"),
        ("view", "J"),
        ("questions", "Q"),
        ("filter", "/fix"),
        ("answer", "a"),
        ("question", "Qa"),
        ("message", "mtext"),
        ("kill", "Kfix-parser"),
        ("form, prompt", "nread the code"),
        ("form, agent", "n\nclaude"),
        ("tag", "tnew"),
        ("title", "Nnew"),
        ("palette", "\u{b}kill"),
        ("help", "?"),
    ];
    let mut all = Vec::new();
    for (place, size, is_sidebar) in
        [("", (140, 40), false), (", small", (50, 20), false), (", sidebar", (40, 30), true)]
    {
        for (name, keys) in opened {
            let mut state = state();
            (state.size, state.is_sidebar) = (size, is_sidebar);
            let question = Question {
                number: 1,
                headline: String::new(),
                text: Vec::new(),
                options: vec![(1, "yes".to_owned()), (2, "no".to_owned())],
                raised: state.now,
            };
            state.take_questions(vec![question]);
            for c in keys.chars() {
                let key = match c {
                    '\n' => Key::plain(KeyCode::Down),
                    '\u{b}' => Key::ctrl('k'),
                    c => Key::char(c),
                };
                press(&mut state, key);
            }
            all.push((format!("{name}{place}"), state));
        }
        let mut state = state();
        (state.size, state.is_sidebar) = (size, is_sidebar);
        state.mode = Mode::Command { line: "kill fix-parser".to_owned() };
        all.push((format!("command{place}"), state));
    }
    all
}

/// Chords, and keys of keyboards that have more of them.
fn unknown() -> Vec<Key> {
    let alt = KeyModifiers::ALT;
    let ctrl = KeyModifiers::CONTROL;
    let others = [
        alt,
        alt | ctrl,
        alt | KeyModifiers::SHIFT,
        KeyModifiers::META,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::SUPER | ctrl,
    ];
    let letters = "aqmnKRAQ1249?/ yx[Oé".chars().map(KeyCode::Char);
    let named = [
        KeyCode::Esc,
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
    ];
    let chords = letters.chain(named).flat_map(|code| others.map(|with| event(code, with)));
    // A new line in a prompt, in a test of its own.
    let mut all: Vec<Key> = chords.filter(|key| *key != Key { alt: true, ..ENTER }).collect();
    all.extend(named.map(|code| event(code, ctrl)));
    all.extend("bdgqy123".chars().map(Key::ctrl));
    all.extend((1..=24).map(|n| event(KeyCode::F(n), KeyModifiers::NONE)));
    let more = [
        KeyCode::Insert,
        KeyCode::Null,
        KeyCode::CapsLock,
        KeyCode::ScrollLock,
        KeyCode::NumLock,
        KeyCode::PrintScreen,
        KeyCode::Pause,
        KeyCode::Menu,
        KeyCode::KeypadBegin,
        KeyCode::Media(MediaKeyCode::Play),
        KeyCode::Modifier(ModifierKeyCode::LeftAlt),
    ];
    all.extend(more.map(|code| event(code, KeyModifiers::NONE)));
    all
}

/// Everything but the notice and the doubt.
fn seen(state: &State) -> String {
    let mut state = state.clone();
    (state.notice, state.is_in_doubt) = (None, false);
    format!("{state:?}")
}

#[test]
fn a_key_that_no_mode_has_does_nothing_in_any() {
    for (place, before) in everywhere() {
        for key in unknown() {
            let mut state = before.clone();
            assert_eq!(press(&mut state, key), [], "{place}: {key:?}");
            assert_eq!(seen(&state), seen(&before), "{place}: {key:?}");
        }
        // Nor several of them.
        let mut state = before.clone();
        for key in unknown() {
            assert_eq!(press(&mut state, key), [], "{place}: {key:?}");
        }
        assert_eq!(seen(&state), seen(&before), "{place}");
    }
}

/// What was seen with a real agent: text with Alt-Enter in the form, whose second line approved a dialog.
#[test]
fn alt_enter_is_a_new_line_in_the_prompt_of_the_form() {
    for new_line in [
        event(KeyCode::Enter, KeyModifiers::ALT),
        event(KeyCode::Enter, KeyModifiers::SHIFT),
        Key::ctrl('j'),
    ] {
        let mut state = state();
        typed(&mut state, "nlook at this");
        assert_eq!(press(&mut state, new_line), []);
        assert_eq!(typed(&mut state, "1. read the code"), []);
        let started = press(&mut state, ENTER);
        let [Intent::Run(lines)] = started.as_slice() else { panic!("{started:?}") };
        assert!(lines[0].contains(&"--prompt=look at this\n1. read the code".to_owned()));
        // Only the prompt has lines.
        let mut state = self::state();
        typed(&mut state, "n");
        press(&mut state, Key::plain(KeyCode::Up));
        typed(&mut state, "tree");
        assert_eq!(press(&mut state, new_line), []);
        let Mode::New(form) = &state.mode else { panic!("{:?}", state.mode) };
        assert_eq!((form.field(), form.value(Field::Worktree)), (Field::Worktree, "tree"));
    }
    let mut state = state();
    typed(&mut state, "n");
    paste(&mut state, "one\r\ntwo\n");
    press(&mut state, Key::plain(KeyCode::Up));
    paste(&mut state, "a\nb");
    let Mode::New(form) = &state.mode else { panic!("{:?}", state.mode) };
    assert_eq!((form.value(Field::Prompt), form.value(Field::Worktree)), ("one\ntwo", "a b"));
}

/// If Esc and a key were read as one, what is open was to be closed: what is typed next must not be sent, started or answered by
/// the one key that does so otherwise.
#[test]
fn what_acts_is_pressed_twice_after_a_chord() {
    let chord = Key { alt: true, ..Key::char('j') };
    for (place, before) in everywhere() {
        let action = match before.mode {
            Mode::Queue | Mode::Help { .. } | Mode::Filter => continue,
            Mode::Answer { .. } | Mode::Question { .. } => Key::char('1'),
            _ => ENTER,
        };
        let wanted = press(&mut before.clone(), action);
        let mut state = before.clone();
        press(&mut state, chord);
        assert_eq!(press(&mut state, action), [], "{place}");
        assert_eq!(seen(&state), seen(&before), "{place}");
        let notice = state.notice.clone().unwrap();
        assert!(notice.is_error && notice.text.contains("again to go on"), "{place}: {notice:?}");
        assert_eq!(press(&mut state, action), wanted, "{place}");
        // Esc closes it as ever, and the doubt with it.
        let mut state = before.clone();
        press(&mut state, chord);
        assert_eq!(press(&mut state, ESC), [], "{place}");
        assert_eq!(state.mode, Mode::Queue, "{place}");
        press(&mut state, Key::char('1'));
        assert!(!state.is_in_doubt, "{place}");
    }
    // A message that was left by Esc and a letter at once keeps its text, without the letter.
    let mut state = state();
    typed(&mut state, "mtext");
    press(&mut state, chord);
    press(&mut state, ESC);
    typed(&mut state, "m");
    let to = vec![(id("fix-parser"), "fix-parser".to_owned())];
    let send = Intent::Send { to, text: "text".to_owned() };
    assert_eq!(press(&mut state, ENTER), [send]);
    assert_eq!((selected(&state), state.view), ("fix-parser", None::<View>));
}

#[test]
fn keys_that_were_read_together() {
    let none = KeyModifiers::NONE;
    let read = |text: &str| {
        let code = |c| if c == '\u{1b}' { KeyCode::Esc } else { KeyCode::Char(c) };
        let events: Vec<_> = text.chars().map(|c| KeyEvent::new(code(c), none)).collect();
        together(&events)
    };
    let alt = Key { alt: true, ..Key::plain(KeyCode::Null) };
    for (text, want) in [
        ("\u{1b}[A", vec![alt]),
        ("\u{1b}OAK", vec![alt, Key::char('K')]),
        ("\u{1b}[1;3AK", vec![alt, Key::char('K')]),
        ("\u{1b}[15~", vec![alt]),
        ("\u{1b}[", vec![alt]),
        ("\u{1b}\u{1b}[AK", vec![ESC, alt, Key::char('K')]),
        ("\u{1b}q", vec![ESC, Key::char('q')]),
        ("[A", vec![Key::char('['), Key::char('A')]),
    ] {
        assert_eq!(read(text), want, "{text:?}");
    }
}
