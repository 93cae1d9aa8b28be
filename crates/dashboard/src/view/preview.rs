//! The lower part: the selected session's screen, or another tab; and the views that take the whole room.

use dogwatch_protocol::status::{Role, Status};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::text::Line;

use super::{Canvas, style};
use crate::model::{PageOf, Row, State, Tab, View, short_path};
use crate::text;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let Some(row) = state.selected_row() else { return };
    title(state, canvas, row, area.y);
    let room = Rect { y: area.y + 1, height: area.height - 1, ..area };
    match state.tab {
        Tab::Screen => screen(state, canvas, row, room),
        Tab::Why => lines(canvas, room, &why(state, row), state.scroll, false),
        tab => {
            let of = PageOf::Tab(row.id.clone(), tab);
            let at_end = matches!(tab, Tab::Conversation | Tab::Events);
            page(state, canvas, room, &of, at_end);
        }
    }
}

/// ` ── fix-parser ─ waiting 4m ─ asserted by: hook ───`
fn title(state: &State, canvas: &mut Canvas<'_>, row: &Row, y: u16) {
    let place = state.place(row);
    let age = row.verdict.since.map(|since| text::age(since, state.now)).unwrap_or_default();
    let mut x = canvas.put(1, y, "── ", style::dim());
    x = canvas.put(x, y, &row.called(), style::bold());
    if row.title.is_some() {
        x = canvas.put(x, y, &format!(" ({})", text::one_line(&row.name)), style::plain());
    }
    x = canvas.put(x, y, " ─ ", style::dim());
    let status = format!("{} {age}", row.status().as_str());
    x = canvas.put(x, y, status.trim_end(), style::of(place));
    x = canvas.put(x, y, " ─ ", style::dim());
    let evidence =
        if canvas.columns() >= 99 { row.evidence() } else { row.verdict.basis.as_str().to_owned() };
    x = canvas.put(x, y, &evidence, style::plain());
    if state.tab != Tab::Screen {
        x = canvas.put(x, y, " ─ ", style::dim());
        x = canvas.put(x, y, state.tab.title(), style::bold());
    }
    if state.scroll > 0 {
        x = canvas.put(x, y, " ─ ", style::dim());
        x = canvas.put(x, y, "scrolled, Esc returns", style::plain());
    }
    canvas.rule(x + 1, y, style::dim());
}

fn screen(state: &State, canvas: &mut Canvas<'_>, row: &Row, area: Rect) {
    let Some(screen) = state.screen.as_ref().filter(|screen| screen.session == row.id) else {
        return;
    };
    if screen.lines.is_empty() {
        let words = if row.has_pane { "the screen is empty" } else { "no screen was kept" };
        canvas.put(2, area.y, words, style::dim());
        return;
    }
    lines(canvas, area, &screen.lines, state.scroll, true);
}

/// Lines from the beginning, or up to the end.
fn lines(
    canvas: &mut Canvas<'_>,
    area: Rect,
    lines: &[Line<'static>],
    scroll: usize,
    at_end: bool,
) {
    let room = usize::from(area.height);
    let most = lines.len().saturating_sub(room);
    let first = if at_end { most.saturating_sub(scroll) } else { scroll.min(most) };
    for (line, y) in lines.iter().skip(first).take(room).zip(area.y..) {
        canvas.line(2, y, line);
    }
}

/// How many lines the lower part or the view has; `None` while they are not read.
pub(super) fn count(state: &State) -> Option<usize> {
    let row = state.selected_row();
    let of = match (state.view, state.tab) {
        (Some(view), _) => PageOf::View(view),
        (None, Tab::Why) => return row.map(|row| why(state, row).len()),
        (None, Tab::Screen) => {
            let screen = state.screen.as_ref().filter(|screen| screen.has_history)?;
            return (Some(&screen.session) == state.selected.as_ref())
                .then_some(screen.lines.len());
        }
        (None, tab) => PageOf::Tab(row?.id.clone(), tab),
    };
    state.page.as_ref().filter(|page| page.of == of).map(|page| page.lines.len())
}

fn page(state: &State, canvas: &mut Canvas<'_>, area: Rect, of: &PageOf, at_end: bool) {
    match state.page.as_ref().filter(|page| page.of == *of) {
        None => {
            let words = match of {
                PageOf::View(View::Output) if state.output.is_running => {
                    "running …; Esc cancels it"
                }
                _ => "reading …",
            };
            canvas.put(2, area.y, words, style::dim());
        }
        Some(page) if page.lines.is_empty() => {
            canvas.put(2, area.y, "nothing there", style::dim());
        }
        Some(page) => lines(canvas, area, &page.lines, state.scroll, at_end),
    }
}

/// What each source says, and its part in the verdict.
pub(crate) fn why(state: &State, row: &Row) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let what = row.what(state.is_seen(row));
    let gap = if what.is_empty() { "" } else { ": " };
    let (word, basis) = (row.status().as_str(), row.verdict.basis.as_str());
    out.push(Line::from(format!("{word}{gap}{what} ({basis})")));
    for (number, option) in row.options() {
        out.push(Line::from(format!("  {number}. {}", text::one_line(&option))));
    }
    out.push(Line::styled(
        format!("{} {} {} SAID", text::fit("SOURCE", 11), text::fit("", 9), text::fit("AGE", 4)),
        style::dim(),
    ));
    for reason in &row.verdict.reasons {
        let (role, style) = match reason.role {
            Role::Decided => ("decided", style::plain().fg(Color::Green)),
            Role::Disagrees => ("disagrees", style::plain().fg(Color::Yellow)),
            Role::Heard => ("", style::plain()),
        };
        let age = reason.at.map(|at| text::age(at, state.now)).unwrap_or_default();
        let source = reason.source.as_str().replace('_', " ");
        out.push(Line::from(vec![
            format!("{} ", text::fit(&source, 11)).into(),
            ratatui::text::Span::styled(text::fit(role, 10), style),
            format!("{} {}", text::right(&age, 4), text::one_line(&reason.said)).into(),
        ]));
    }
    if let Status::Working { looping: Some(looping), .. } = row.status() {
        out.push(Line::from(text::one_line(&looping.to_string())));
        for call in &looping.evidence {
            let failed = if call.failed { "  failed" } else { "" };
            let line = format!("  {} {}{failed}", text::age(call.at, state.now), call.call);
            out.push(Line::from(text::one_line(&line)));
        }
    }
    out.extend(row.notes.iter().map(|note| Line::from(format!("note: {}", text::one_line(note)))));
    out
}

/// A view that takes the whole room.
pub(super) fn view(state: &State, view: View, canvas: &mut Canvas<'_>, area: Rect) {
    let title = if view == View::Output { state.output.title.as_str() } else { view.title() };
    view_title(canvas, area.y, title);
    let room = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    page(state, canvas, room, &PageOf::View(view), false);
}

fn view_title(canvas: &mut Canvas<'_>, y: u16, title: &str) {
    let x = canvas.put(1, y, "── ", style::dim());
    let x = canvas.put(x, y, &text::one_line(title), style::bold());
    canvas.rule(x + 1, y, style::dim());
}

/// Open questions, the selected one with its text and options.
pub(super) fn questions(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    view_title(canvas, area.y, "questions");
    let mut y = area.y + 1;
    let is_read = state.page.as_ref().is_some_and(|page| page.of == PageOf::View(View::Questions));
    if state.questions.is_empty() {
        let words = if is_read { "no open questions" } else { "reading …" };
        canvas.put(2, y, words, style::dim());
        return;
    }
    let most = listed_questions(area);
    let first = (state.question_at + 1).saturating_sub(most);
    for (at, question) in state.questions.iter().enumerate().skip(first).take(most) {
        if at == state.question_at {
            canvas.put(0, y, "▌", style::bold());
        }
        let age = text::right(&text::age(question.raised, state.now), 4);
        let line =
            format!("{:>3} ! {age}  {}", question.number, text::one_line(&question.headline));
        canvas.put(1, y, &line, style::plain());
        y += 1;
    }
    let Some(question) = state.questions.get(state.question_at) else { return };
    view_title(canvas, y, &format!("question {}", question.number));
    y += 1;
    for line in question.text.iter().skip(state.scroll) {
        if y >= area.bottom() {
            return;
        }
        canvas.put(2, y, &text::one_line(line), style::plain());
        y += 1;
    }
}

/// How many questions are listed above the text of the selected one.
fn listed_questions(area: Rect) -> usize {
    usize::from(area.height / 3).max(3)
}

/// How far the text of the selected question can be scrolled.
pub(super) fn most_of_question(state: &State, area: Rect) -> usize {
    let above = 2 + state.questions.len().min(listed_questions(area));
    let room = usize::from(area.height).saturating_sub(above).max(1);
    let lines = state.questions.get(state.question_at).map_or(0, |question| question.text.len());
    lines.saturating_sub(room)
}

/// Nothing there yet.
pub(super) fn empty(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if let Some(trouble) = &state.trouble {
        canvas.put(1, area.y, &text::one_line(trouble), style::error());
        return;
    }
    if !state.is_complete {
        canvas.put(1, area.y, "Reading sessions …", style::dim());
        return;
    }
    let socket = short_path(&state.around.socket, None);
    let looked = match state.panes {
        None => format!("Looked at: tmux server {socket}, not running"),
        Some(1) => format!("Looked at: tmux server {socket}, 1 pane, no agent"),
        Some(panes) => format!("Looked at: tmux server {socket}, {panes} panes, no agent"),
    };
    let lines = [
        (1, "No agents here yet.".to_owned(), style::bold()),
        (3, "n   start one        dogwatch spawn claude 'your task'".to_owned(), style::plain()),
        (
            3,
            "Agents that you start yourself in tmux appear here by themselves.".to_owned(),
            style::plain(),
        ),
        (3, looked, style::dim()),
    ];
    for ((x, line, style), y) in lines.into_iter().zip(area.y..area.bottom()) {
        canvas.put(x, y, &line, style);
    }
}
