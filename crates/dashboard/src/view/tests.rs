//! Whole frames, and that nothing leaves its line.

use crossterm::event::KeyCode;
use dogwatch_protocol::status::Role;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use ratatui::text::Line;

use super::*;
use crate::keys::{Key, press};
use crate::model::sample::{self, id};
use crate::model::{Around, Hit, Page, PageOf, Screen, Tab};

pub(super) fn frame(state: &State) -> String {
    terminal(state).backend().to_string().replace('"', "|")
}

fn terminal(state: &State) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    terminal
        .draw(|frame| {
            draw(state, frame.buffer_mut());
        })
        .unwrap();
    terminal
}

pub(super) fn sample(width: u16, height: u16) -> State {
    let mut state = sample::state((width, height));
    let screen = "Bash command\n\nRemove the scratch directory\n\n\
        rm -rf /home/agent/work/scratch && touch /home/agent/work/perm-ok\n\n\
        Do you want to proceed?\n❯ 1. Yes\n  2. Yes, and don't ask again for these commands\n  4. No";
    let lines = screen.lines().map(|line| Line::from(line.to_owned())).collect();
    state.screen = Some(Screen { session: id("fix-parser"), lines, has_history: false });
    state
}

#[test]
fn at_140_by_40() {
    insta::assert_snapshot!(frame(&sample(140, 40)));
}

#[test]
fn at_80_by_24() {
    insta::assert_snapshot!(frame(&sample(80, 24)));
}

#[test]
fn at_40_by_20() {
    insta::assert_snapshot!(frame(&sample(40, 20)));
}

#[test]
fn at_40_by_10_with_the_preview_open() {
    let mut state = sample(40, 10);
    press(&mut state, Key::plain(KeyCode::Enter));
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn nothing_there_yet() {
    let mut state = State::new(Around {
        here: "/home/ann/p".into(),
        home: Some("/home/ann".into()),
        socket: "/tmp/tmux-1000/default".into(),
        ..Around::default()
    });
    (state.size, state.is_complete, state.panes) = ((80, 8), true, Some(3));
    state.clock = "01:28".to_owned();
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn why_with_what_disagrees() {
    let mut state = sample(120, 24);
    let mut row = state.rows[&id("fix-parser")].clone();
    row.verdict.reasons[2].role = Role::Disagrees;
    row.verdict.reasons[2].said = "working: esc to interrupt".to_owned();
    state.take_in([(row.id.clone(), Some(row))]);
    press(&mut state, Key::char('w'));
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn grouped_by_project_with_marks() {
    let mut state = sample(120, 30);
    press(&mut state, Key::char(' '));
    press(&mut state, Key::char('g'));
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn the_dialog_that_is_answered_is_named() {
    let mut state = sample(80, 24);
    press(&mut state, Key::char('a'));
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn a_message_over_several_lines() {
    let mut state = sample(80, 24);
    press(&mut state, Key::char('m'));
    crate::keys::paste(&mut state, "first line\nsecond line");
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    let cursor = draw(&state, &mut buffer);
    assert_eq!(cursor, Some(Position { x: 13, y: 22 }));
    insta::assert_snapshot!(frame(&state));
}

#[test]
fn the_help_the_form_and_the_palette() {
    let mut state = sample(80, 24);
    press(&mut state, Key::char('?'));
    insta::assert_snapshot!("help", frame(&state));
    press(&mut state, Key::plain(KeyCode::PageDown));
    press(&mut state, Key::plain(KeyCode::PageDown));
    insta::assert_snapshot!("help_at_its_end", frame(&state));
    press(&mut state, Key::char('x'));
    press(&mut state, Key::char('n'));
    insta::assert_snapshot!("new_session", frame(&state));
    press(&mut state, Key::plain(KeyCode::Esc));
    press(&mut state, Key::ctrl('k'));
    for c in "kil".chars() {
        press(&mut state, Key::char(c));
    }
    insta::assert_snapshot!("palette", frame(&state));
    press(&mut state, Key::plain(KeyCode::Esc));
    press(&mut state, Key::char('K'));
    insta::assert_snapshot!("kill", frame(&state));
}

/// Every size from nothing to large, in every mode: no panic, and the last column stays free.
#[test]
fn any_size() {
    for width in (1..=150).step_by(7) {
        for height in 1..=42 {
            for keys in [
                "",
                "w",
                "a",
                "m",
                "?",
                "n",
                "K",
                "/",
                "g",
                "Q",
                "J",
                "\u{b}",
                "\u{b}kil",
                "t",
                "N",
                "\u{b}dogwatch why\n",
                "\u{b}dogwatch why\n\n",
                "  Kx",
                "p",
            ] {
                let mut state = sample(width, height);
                for key in keys.chars() {
                    press(
                        &mut state,
                        match key {
                            '\u{b}' => Key::ctrl('k'),
                            '\n' => Key::plain(KeyCode::Enter),
                            key => Key::char(key),
                        },
                    );
                }
                most_scroll(&state);
                let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                let cursor = draw(&state, &mut buffer);
                for y in 0..height {
                    let last = buffer[(width - 1, y)].symbol();
                    assert_eq!(last, " ", "{width}x{height} {keys:?} {y}");
                }
                if let Some(Position { x, y }) = cursor {
                    assert!(x < width && y < height, "{width}x{height} {keys:?} {x},{y}");
                }
            }
        }
    }
}

#[test]
fn without_colours_nothing_has_a_colour() {
    let mut state = sample(140, 40);
    state.screen.as_mut().unwrap().lines[0] = Line::from("red").style(Color::Red);
    state.around.has_colours = false;
    let terminal = terminal(&state);
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn a_name_cannot_leave_its_place() {
    let mut state = sample(80, 24);
    let mut row = state.rows[&id("build")].clone();
    row.name = "日本語の長い長い長い名前\n\x1b[2J".to_owned();
    row.verdict.status = sample::working("x\x1b]0;title\x07\ny");
    state.take_in([(row.id.clone(), Some(row))]);
    let frame = frame(&state);
    assert!(!frame.contains('\x1b') && !frame.contains('\x07'), "{frame}");
    assert!(frame.contains("日本語"), "{frame}");
}

/// Of 200 rows those around the selected one are in sight.
#[test]
fn the_selected_row_is_always_in_sight() {
    let mut state = sample(80, 24);
    let rows = (0..200).map(|number| {
        let row = sample::row(&format!("s{number:03}"), "claude", sample::idle(), 9000, "p");
        (row.id.clone(), Some(row))
    });
    state.take_in(rows.collect::<Vec<_>>());
    for at in 0..211 {
        state.select_at(at);
        let name = state.selected_row().unwrap().name.clone();
        let frame = frame(&state);
        let row = frame.lines().find(|line| line.contains('▌')).unwrap_or_default();
        assert!(row.contains(&name), "{at} {name}\n{frame}");
    }
}

#[test]
fn a_page_is_scrolled() {
    let mut state = sample(80, 24);
    state.tab = Tab::Diff;
    let lines: Vec<Line<'static>> = (0..100).map(|n| Line::from(format!("line {n}"))).collect();
    state.page = Some(Page { of: PageOf::Tab(id("fix-parser"), Tab::Diff), lines });
    assert!(frame(&state).contains("line 0 "));
    press(&mut state, Key::plain(KeyCode::PageDown));
    let scrolled = frame(&state);
    assert!(!scrolled.contains("line 9 ") && scrolled.contains("line 10 "), "{scrolled}");
}

/// A mouse hits the row that is drawn on its line.
#[test]
fn a_line_belongs_to_the_row_that_is_drawn_there() {
    for size in [(140, 40), (80, 24), (100, 12), (40, 20), (40, 8)] {
        for keys in ["", "G", "g"] {
            let mut state = sample(size.0, size.1);
            for key in keys.chars() {
                press(&mut state, Key::char(key));
            }
            let frame = frame(&state);
            for (y, line) in (0..).zip(frame.lines()) {
                let Hit::Row(hit) = hit(&state, y) else { continue };
                let name = &state.rows[&hit].name;
                let is_second = state.is_small() && !line.contains(name);
                let above = usize::from(y).checked_sub(usize::from(is_second));
                let line = above.and_then(|y| frame.lines().nth(y)).unwrap_or_default();
                assert!(line.contains(name), "{size:?} {keys} {y} {name}\n{frame}");
            }
            let hits = (0..size.1).filter_map(|y| match hit(&state, y) {
                Hit::Row(id) => Some(id),
                _ => None,
            });
            let hits: std::collections::BTreeSet<_> = hits.collect();
            let drawn = |name: &str| {
                frame
                    .lines()
                    .any(|line| line.contains(&format!(" {name} ")) && !line.contains("──"))
            };
            let rows = state.rows.values().filter(|row| drawn(&row.name));
            assert_eq!(hits, rows.map(|row| row.id.clone()).collect(), "{size:?} {keys}\n{frame}");
        }
    }
}

#[test]
fn a_title_is_what_a_session_is_called() {
    let mut state = sample(100, 24);
    let mut row = state.rows[&id("build")].clone();
    row.title = Some("Nightly build".to_owned());
    state.take_in([(row.id.clone(), Some(row))]);
    press(&mut state, Key::char('3'));
    let frame = frame(&state);
    assert!(frame.contains("x Nightly build"), "{frame}");
    assert!(frame.contains("── Nightly build (build) ─"), "{frame}");
}

#[test]
fn runs_jobs_and_messages_as_lines() {
    let text = |lines: Vec<Line<'static>>| {
        lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("runs", text(tables::runs(&sample::runs(), None, sample::at(0))));
    insta::assert_snapshot!("jobs", text(tables::jobs(&sample::jobs(), sample::at(0))));
    insta::assert_snapshot!("messages", text(tables::messages(&sample::sent(), sample::at(0))));
}
