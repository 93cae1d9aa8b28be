//! What lies over the frame while something is asked, and the last line.

use dogwatch_protocol::status::Status;
use ratatui::layout::{Position, Rect};

use super::{Canvas, is_typing, style};
use crate::keys::confirmation;
use crate::keys::palette;
use crate::model::{Editor, Field, Mode, State, View};
use crate::text;

/// Where the lines of a box begin.
const BOX: usize = 2;
/// Columns of a form's labels.
const LABEL: usize = 11;

/// Draws what is open over the middle of the frame.
pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    match &state.mode {
        Mode::Help { scroll } => help(canvas, area, *scroll),
        Mode::Palette { query, at } => open_palette(state, canvas, area, query, *at),
        Mode::Message { editor, .. } => {
            let hidden = text::hidden(column(editor), canvas.columns().saturating_sub(BOX));
            let lines: Vec<String> =
                editor.lines().map(|line| text::from_column(&text::typed(&line), hidden)).collect();
            bottom_box(canvas, area, &message_title(state), &lines, editor.cursor().0);
        }
        Mode::New(form) => {
            let lines: Vec<String> = Field::ALL
                .iter()
                .zip(&form.values)
                .enumerate()
                .map(|(at, (field, value))| {
                    let here = if at == form.at { "▌" } else { " " };
                    let hint = if at == form.at && value.is_empty() { field.hint() } else { "" };
                    let value = in_form(value);
                    let room = canvas.columns().saturating_sub(BOX + LABEL);
                    let is_here = at == form.at;
                    let hidden = if is_here { text::hidden(text::width(&value), room) } else { 0 };
                    let value = text::from_column(&value, hidden);
                    format!("{here}{} {value}{hint}", text::fit(field.title(), LABEL - 2))
                })
                .collect();
            bottom_box(canvas, area, "new session", &lines, form.at);
        }
        Mode::Answer { name, options, .. } => {
            let lines: Vec<String> = options
                .iter()
                .map(|(number, text)| format!("{number}  {}", text::one_line(text)))
                .collect();
            bottom_box(canvas, area, &format!("answer {}", text::one_line(name)), &lines, 0);
        }
        Mode::Queue
        | Mode::Filter
        | Mode::Question { .. }
        | Mode::Kill { .. }
        | Mode::Word { .. }
        | Mode::Command { .. } => {}
    }
}

/// A value of the form on its line, with a sign for the end of a line of the prompt.
fn in_form(value: &str) -> String {
    text::typed(&value.replace('\n', "↵"))
}

fn message_title(state: &State) -> String {
    let Mode::Message { to, .. } = &state.mode else { return String::new() };
    let names: Vec<&str> = to.iter().map(|(_, name)| name.as_str()).collect();
    format!("message to {}", text::one_line(&names.join(", ")))
}

/// How many lines a box has room for, below its title.
fn box_room(area: Rect) -> usize {
    let most = usize::from(area.height.saturating_sub(1)).max(1);
    usize::from(area.height / 2).max(3).min(most)
}

/// The column of the cursor in its line.
fn column(editor: &Editor) -> usize {
    let (row, column) = editor.cursor();
    let line: String = editor.lines().nth(row).unwrap_or_default().chars().take(column).collect();
    text::width(&text::typed(&line))
}

/// A box at the bottom of the frame, in which line `at` is in sight.
fn bottom_box(canvas: &mut Canvas<'_>, area: Rect, title: &str, lines: &[String], at: usize) {
    let room = box_room(area);
    let shown = lines.len().clamp(1, room);
    let first = first_line(lines.len(), room, at);
    let height = u16::try_from(shown + 1).unwrap_or(area.height).min(area.height);
    let top = area.bottom() - height;
    for y in top..area.bottom() {
        canvas.blank(y);
    }
    let x = canvas.put(1, top, "── ", style::dim());
    let x = canvas.put(x, top, title, style::bold());
    canvas.rule(x + 1, top, style::dim());
    for (line, y) in lines.iter().skip(first).take(room).zip(top + 1..area.bottom()) {
        canvas.put(BOX, y, line, style::plain());
    }
}

fn first_line(count: usize, room: usize, at: usize) -> usize {
    (at + 1).saturating_sub(room).min(count.saturating_sub(room))
}

/// All keys in one column, or in two where they fit so; what is not in sight is scrolled to.
fn help(canvas: &mut Canvas<'_>, area: Rect, scroll: usize) {
    for y in area.y..area.bottom() {
        canvas.blank(y);
    }
    let lines = palette::help();
    let signs =
        "! waits for you  x failed  % limited  + new  * works  . idle  ? unknown  ~ inferred";
    let room = usize::from(area.height).saturating_sub(1);
    let is_wide = lines.len() > room && canvas.columns() >= 99;
    let per_column = if is_wide { lines.len().div_ceil(2) } else { lines.len() };
    let first = scroll.min(per_column.saturating_sub(room));
    let half = canvas.columns() / 2;
    for (at, (key, does)) in lines.iter().enumerate() {
        let (column, row) = (at / per_column, at % per_column);
        let Some(row) = row.checked_sub(first).filter(|row| *row < room) else { continue };
        let x = 2 + column * half;
        let y = area.y + u16::try_from(row).unwrap_or(0);
        let end = if column == 0 && is_wide { half } else { canvas.columns() };
        canvas.put(x, y, key, style::bold());
        canvas.put_within(x + 11, y, does, end, style::plain());
    }
    let below = per_column.saturating_sub(first + room);
    let more = if below > 0 { format!("… {below} more below; ") } else { String::new() };
    let last = area.bottom().saturating_sub(1).max(area.y);
    canvas.put(2, last, &format!("{more}{signs}"), style::dim());
}

fn open_palette(state: &State, canvas: &mut Canvas<'_>, area: Rect, query: &str, at: usize) {
    let found = palette::choices(state, query);
    let room = usize::from(area.height).saturating_sub(1).min(12);
    let height = u16::try_from(room + 1).unwrap_or(area.height);
    for y in area.y..area.y + height {
        canvas.blank(y);
    }
    let x = canvas.put(1, area.y, "> ", style::bold());
    let query = text::typed(query);
    let hidden = text::hidden(text::width(&query), canvas.columns().saturating_sub(x));
    canvas.put(x, area.y, &text::from_column(&query, hidden), style::plain());
    let first = first_line(found.len(), room, at);
    for (index, (choice, y)) in found.iter().skip(first).take(room).zip(area.y + 1..).enumerate() {
        let is_chosen = index + first == at;
        let mark = if is_chosen { "▌" } else { " " };
        canvas.put(0, y, mark, style::bold());
        let words = if is_chosen { style::bold() } else { style::plain() };
        canvas.put(2, y, &text::fit(&text::one_line(&choice.hint), 9), style::dim());
        canvas.put(12, y, &text::one_line(&choice.title), words);
    }
}

/// The last line: what is asked, what happened, or the keys; and where the cursor is.
pub(super) fn last_line(state: &State, canvas: &mut Canvas<'_>, y: u16) -> Option<Position> {
    // What is drawn above may not fit.
    canvas.blank(y);
    let prompt = prompt(state, canvas.columns());
    if let Some((question, typed)) =
        prompt.filter(|_| is_typing(&state.mode) && state.notice.is_none())
    {
        let x = canvas.put(1, y, &question, style::bold()) + 1;
        let typed = text::typed(&typed);
        let hidden = text::hidden(text::width(&typed), canvas.columns().saturating_sub(x));
        canvas.put(x, y, &text::from_column(&typed, hidden), style::plain());
        let at = (x + text::width(&typed) - hidden).min(canvas.columns());
        return Some(position(at, y));
    }
    match (&state.notice, &state.trouble) {
        (Some(notice), _) => {
            let style = if notice.is_error { style::error() } else { style::bold() };
            canvas.put(1, y, &text::one_line(&notice.text), style);
        }
        // What is listed may be out of date.
        (None, Some(trouble)) if state.mode == Mode::Queue && !state.rows.is_empty() => {
            canvas.put(1, y, &text::one_line(trouble), style::error());
        }
        (None, _) => keys(state, canvas, y),
    }
    cursor(state, canvas, y)
}

fn position(x: usize, y: u16) -> Position {
    Position { x: u16::try_from(x).unwrap_or(u16::MAX), y }
}

/// Where the cursor is in a box.
fn cursor(state: &State, canvas: &Canvas<'_>, bottom: u16) -> Option<Position> {
    let top = if canvas.columns() >= 99 { 2 } else { 1 };
    let area = Rect { y: top, height: bottom.saturating_sub(top), ..canvas.area() };
    if area.height == 0 {
        return None;
    }
    let room = box_room(area);
    let in_box = |count: usize, at: usize| {
        let shown = count.clamp(1, room);
        let line = at - first_line(count, room, at);
        bottom.saturating_sub(u16::try_from(shown - line.min(shown - 1)).unwrap_or(1))
    };
    // Where the cursor is on a line that begins there.
    let x = |first: usize, typed: usize| {
        let room = canvas.columns().saturating_sub(first);
        (first + typed - text::hidden(typed, room)).min(canvas.columns())
    };
    match &state.mode {
        Mode::Message { editor, .. } => {
            let at = x(BOX, column(editor));
            Some(position(at, in_box(editor.count(), editor.cursor().0)))
        }
        Mode::New(form) => {
            let typed = text::width(&in_form(&form.values[form.at]));
            Some(position(x(BOX + LABEL, typed), in_box(Field::ALL.len(), form.at)))
        }
        Mode::Palette { query, .. } => Some(position(x(3, text::width(&text::typed(query))), top)),
        _ => None,
    }
}

/// The first text that leaves room for what is typed; else the last one.
fn shortest<const N: usize>(texts: [String; N], room: usize) -> String {
    let mut texts = texts.into_iter().map(|text| text::one_line(&text)).peekable();
    while let Some(text) = texts.next() {
        if text::width(&text) <= room || texts.peek().is_none() {
            return text;
        }
    }
    String::new()
}

/// A question on the last line, and what was typed so far.
fn prompt(state: &State, columns: usize) -> Option<(String, String)> {
    match &state.mode {
        Mode::Filter => Some(("/".to_owned(), state.filter.clone())),
        Mode::Kill { sessions, typed } => {
            let wanted = confirmation(sessions);
            // What is typed is as long as what is wanted.
            let room = columns.saturating_sub(text::width(&wanted) + 3);
            let question = match sessions.as_slice() {
                [_] => {
                    let whole = format!("kill {wanted}? Type its name, then Enter:");
                    [whole, format!("type {wanted} to kill:"), "kill:".to_owned()]
                }
                several => {
                    let names: Vec<&str> = several.iter().map(|(_, name)| name.as_str()).collect();
                    let names = text::cut(&names.join(", "), 40);
                    let whole =
                        format!("kill {wanted} sessions ({names})? Type {wanted}, then Enter:");
                    [whole, format!("type {wanted} to kill {wanted}:"), "kill:".to_owned()]
                }
            };
            Some((shortest(question, room), typed.clone()))
        }
        Mode::Word { command, typed, .. } => {
            let what = if *command == "tag" { "tag:" } else { "new name:" };
            Some((what.to_owned(), typed.clone()))
        }
        Mode::Command { line } => Some(("dogwatch".to_owned(), line.clone())),
        _ => None,
    }
}

/// The keys that make sense now.
fn keys(state: &State, canvas: &mut Canvas<'_>, y: u16) {
    let is_wide = canvas.columns() >= 99;
    let is_waiting =
        state.selected_row().is_some_and(|row| matches!(row.status(), Status::Waiting { .. }));
    let list: Vec<(&str, &str)> = match &state.mode {
        Mode::Answer { .. } => vec![("1–9", "answer"), ("Esc", "cancel")],
        Mode::Question { .. } => vec![("1–9", "choose an option"), ("Esc", "cancel")],
        Mode::Message { .. } => {
            vec![("Enter", "send"), ("Alt-Enter", "new line"), ("Esc", "cancel")]
        }
        Mode::New(form) if form.field() == Field::Prompt => {
            let new_line = ("Alt-Enter", "new line");
            vec![("Enter", "start"), new_line, ("↑ ↓", "field"), ("Esc", "cancel")]
        }
        Mode::New(_) => {
            vec![("Enter", "start"), ("↑ ↓", "field"), ("Tab", "complete"), ("Esc", "cancel")]
        }
        Mode::Palette { .. } => vec![("Enter", "choose"), ("↑ ↓", "move"), ("Esc", "cancel")],
        Mode::Help { .. } => vec![("j k", "scroll"), ("any other key", "back")],
        _ => match state.view {
            Some(View::Questions) => {
                vec![("a", "answer"), ("j k", "move"), ("r", "read again"), ("Esc", "back")]
            }
            Some(View::Output) if state.output.is_running => {
                vec![("Esc", "cancel"), ("?", "keys")]
            }
            Some(View::Output) => vec![("j k", "scroll"), ("Esc", "back"), ("?", "keys")],
            Some(_) => vec![("j k", "scroll"), ("r", "read again"), ("Esc", "back"), ("?", "keys")],
            None if state.rows.is_empty() => vec![("n", "new"), ("?", "keys"), ("q", "quit")],
            None if state.is_preview_alone() => {
                vec![("a", "answer"), ("⏎", "attach"), ("Esc", "back")]
            }
            None if state.is_sidebar && state.is_small() => {
                vec![("a", "answer"), ("⏎", "attach"), ("?", "keys")]
            }
            None if state.is_small() => vec![("a", "answer"), ("⏎", "open"), ("?", "keys")],
            None if is_wide => vec![
                ("a", "answer"),
                ("Enter", "attach"),
                ("m", "message"),
                ("w", "why"),
                ("d", "diff"),
                ("/", "filter"),
                ("n", "new"),
                ("K", "kill"),
                ("?", "keys"),
                ("q", "quit"),
            ],
            None => vec![
                ("a", "answer"),
                ("Enter", "attach"),
                ("m", "message"),
                ("w", "why"),
                ("?", "keys"),
                ("q", "quit"),
            ],
        },
    };
    let in_queue = state.mode == Mode::Queue && state.view.is_none();
    let mut x = 1;
    for (key, does) in list {
        if key == "a" && in_queue && !is_waiting {
            continue;
        }
        if x + text::width(key) + 1 + text::width(does) > canvas.columns() {
            break;
        }
        x = canvas.put(x, y, key, style::bold());
        x = canvas.put(x + 1, y, does, style::dim());
        x += if is_wide { 3 } else { 2 };
    }
}
