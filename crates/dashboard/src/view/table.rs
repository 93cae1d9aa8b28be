//! The list of sessions.

use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{Basis, Status};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{Canvas, style};
use crate::model::{Entry, Row, State, sign};
use crate::text;

/// Where the columns begin.
struct Columns {
    agent: usize,
    state: usize,
    /// Where ages end.
    age: usize,
    folder: Option<usize>,
    what: usize,
}

const NAME: usize = 5;

impl Columns {
    fn of(state: &State, width: usize) -> Self {
        let longest = state.rows.values().map(|row| text::width(&row.called())).max().unwrap_or(0);
        if width < 99 {
            let name = longest.clamp(10, 14.max(width.saturating_sub(70)).min(24));
            let agent = NAME + name + 2;
            let (state, age) = (agent + 10, agent + 24);
            return Self { agent, state, age, folder: None, what: age + 2 };
        }
        let name = longest.clamp(14, 14 + width.saturating_sub(119).min(16));
        let agent = NAME + name + 1;
        let (state, age) = (agent + 10, agent + 24);
        Self { agent, state, age, folder: Some(age + 4), what: age + 22 }
    }
}

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let columns = Columns::of(state, canvas.columns());
    let head = style::dim();
    let y = area.y;
    canvas.put(4, y, "NAME", head);
    canvas.put(columns.agent, y, "AGENT", head);
    canvas.put(columns.state, y, "STATE", head);
    let age = if columns.folder.is_some() { columns.age - 2 } else { columns.age - 3 };
    canvas.put(age, y, "FOR", head);
    if let Some(folder) = columns.folder {
        canvas.put(folder, y, "FOLDER", head);
    }
    canvas.put(columns.what, y, "WHAT", head);
    let room = usize::from(area.height.saturating_sub(1));
    if state.entries.is_empty() {
        canvas.put(5, y + 1, &nothing_fits(state), style::dim());
        return;
    }
    let window = Window::of(state, room, tall(state));
    for (entry, y) in window.entries.iter().zip(y + 1..) {
        match entry {
            Entry::Group { title, count } => group(canvas, y, title, *count),
            Entry::Row(id) => row(state, canvas, &columns, id, y),
        }
    }
    if let Some(more) = &window.more {
        let y = y + 1 + u16::try_from(window.entries.len()).unwrap_or(u16::MAX);
        canvas.put(3, y, more, style::dim());
    }
}

/// How many lines an entry has: below 60 columns a row that waits has a second one with its question.
fn tall(state: &State) -> impl Fn(&Entry) -> usize {
    let is_small = state.is_small();
    move |entry| match entry {
        Entry::Row(id) if is_small => state.rows.get(id).and_then(Row::question).map_or(1, |_| 2),
        Entry::Row(_) | Entry::Group { .. } => 1,
    }
}

/// The session whose row is on this line.
pub(super) fn row_at(state: &State, area: Rect, y: u16) -> Option<SessionId> {
    let head = u16::from(!state.is_small());
    let height = tall(state);
    let window = Window::of(state, usize::from(area.height.saturating_sub(head)), &height);
    let mut end = usize::from(area.y + head);
    let at = usize::from(y).checked_sub(end).map(|_| usize::from(y))?;
    let entry = window.entries.into_iter().find(|entry| {
        end += height(entry);
        at < end
    });
    match entry? {
        Entry::Row(id) => Some(id),
        Entry::Group { .. } => None,
    }
}

fn nothing_fits(state: &State) -> String {
    if state.filter.is_empty() {
        "no session of this project; p shows all".to_owned()
    } else {
        format!("nothing matches \"{}\"; Esc clears the filter", text::one_line(&state.filter))
    }
}

fn group(canvas: &mut Canvas<'_>, y: u16, title: &str, count: usize) {
    let x = canvas.put(1, y, "── ", style::dim());
    let x = canvas.put(x, y, &text::one_line(title), style::bold());
    canvas.put(x + 1, y, &count.to_string(), style::dim());
}

/// The number by which a row is jumped to.
fn digit(state: &State, id: &SessionId) -> Option<usize> {
    let at = state.listed().iter().position(|listed| *listed == id)?;
    (at < 9).then_some(at + 1)
}

fn row(state: &State, canvas: &mut Canvas<'_>, columns: &Columns, id: &SessionId, y: u16) {
    let Some(row) = state.rows.get(id) else { return };
    let place = state.place(row);
    let is_selected = state.selected.as_ref() == Some(id);
    let emphasis =
        |style: Style| if is_selected { style.add_modifier(Modifier::BOLD) } else { style };
    if is_selected {
        canvas.put(0, y, "▌", style::bold());
    }
    if let Some(digit) = digit(state, id) {
        canvas.put(1, y, &digit.to_string(), style::dim());
    }
    if state.marked.contains(id) {
        canvas.put(2, y, "•", style::bold());
    }
    let colour = style::of(place);
    canvas.put(3, y, &sign(place, row.status()).to_string(), colour);
    let is_quiet = matches!(place, dogwatch_core::attention::Place::Rest);
    let words = if is_quiet { style::dim() } else { style::plain() };
    canvas.put_within(NAME, y, &row.called(), columns.agent - 1, emphasis(words));
    canvas.put_within(columns.agent, y, &text::one_line(&row.agent), columns.state - 2, words);
    inferred(canvas, row, columns.state - 2, y);
    canvas.put_within(columns.state, y, row.status().as_str(), columns.state + 9, colour);
    canvas.put(columns.age - 5, y, &text::right(&age(state, row), 5), words);
    if let Some(folder) = columns.folder {
        let short = row.folder_text(state.around.home.as_deref());
        canvas.put_within(folder, y, &short, columns.what - 1, style::dim());
    }
    canvas.put(columns.what, y, &row.what(state.is_seen(row)), words);
}

/// `~`: inferred, not reported by the agent.
fn inferred(canvas: &mut Canvas<'_>, row: &Row, x: usize, y: u16) {
    let is_unknown = matches!(row.status(), Status::Unknown { .. });
    match row.verdict.basis {
        Basis::Asserted => {}
        Basis::Inferred if is_unknown => {}
        Basis::Inferred | Basis::Stale => {
            canvas.put(x, y, "~", style::dim());
        }
    }
}

fn age(state: &State, row: &Row) -> String {
    row.verdict.since.map(|since| text::age(since, state.now)).unwrap_or_default()
}

/// Below 60 columns. A row that waits has a second line with its question.
pub(super) fn small(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let room = usize::from(area.height);
    if state.entries.is_empty() {
        canvas.put(1, area.y, &nothing_fits(state), style::dim());
        return;
    }
    let height = tall(state);
    let window = Window::of(state, room, &height);
    let mut y = area.y;
    for entry in &window.entries {
        match entry {
            Entry::Group { title, count } => group(canvas, y, title, *count),
            Entry::Row(id) => small_row(state, canvas, id, y),
        }
        y += u16::try_from(height(entry)).unwrap_or(1);
    }
    if let Some(more) = &window.more {
        canvas.put(2, y, more, style::dim());
    }
}

fn small_row(state: &State, canvas: &mut Canvas<'_>, id: &SessionId, y: u16) {
    let Some(row) = state.rows.get(id) else { return };
    let place = state.place(row);
    let is_selected = state.selected.as_ref() == Some(id);
    if is_selected {
        canvas.put(0, y, "▌", style::bold());
    }
    if let Some(digit) = digit(state, id) {
        canvas.put(1, y, &digit.to_string(), style::dim());
    }
    let colour = style::of(place);
    canvas.put(2, y, &sign(place, row.status()).to_string(), colour);
    if state.marked.contains(id) {
        canvas.put(3, y, "•", style::bold());
    }
    let end = canvas.columns();
    let at = end.saturating_sub(12);
    let name = if is_selected { style::bold() } else { style::plain() };
    // In a very narrow terminal the sign alone tells the state.
    let has_state = at >= 16;
    let name_end = if has_state { at - 3 } else { end.saturating_sub(5) };
    canvas.put_within(4, y, &row.called(), name_end, name);
    if has_state {
        inferred(canvas, row, at - 2, y);
        canvas.put_within(at, y, row.status().as_str(), at + 9, colour);
    }
    canvas.put(end.saturating_sub(4), y, &text::right(&age(state, row), 4), style::plain());
    if let Some(question) = row.question() {
        canvas.put(4, y + 1, &question, style::plain());
    }
}

/// The part of the list that is in sight: always with the selected row.
struct Window {
    entries: Vec<Entry>,
    /// What is not in sight.
    more: Option<String>,
}

impl Window {
    fn of(state: &State, room: usize, height: impl Fn(&Entry) -> usize) -> Self {
        let all = &state.entries;
        let total: usize = all.iter().map(&height).sum();
        if total <= room {
            return Self { entries: all.clone(), more: None };
        }
        let room = room.saturating_sub(1).max(1);
        let selected = all
            .iter()
            .position(
                |entry| matches!(entry, Entry::Row(id) if Some(id) == state.selected.as_ref()),
            )
            .unwrap_or(0);
        // From the top if the selected one is in sight then; else it is the last one.
        let mut first = 0;
        let mut used: usize = all[..=selected].iter().map(&height).sum();
        while used > room && first < selected {
            used -= height(&all[first]);
            first += 1;
        }
        let mut end = selected + 1;
        while end < all.len() && used + height(&all[end]) <= room {
            used += height(&all[end]);
            end += 1;
        }
        let hidden = all[..first].iter().chain(&all[end..]);
        let hidden: Vec<&Row> = hidden
            .filter_map(|entry| match entry {
                Entry::Row(id) => state.rows.get(id),
                Entry::Group { .. } => None,
            })
            .collect();
        let more = if state.is_small() {
            format!("… {} more", hidden.len())
        } else {
            format!("… {} more: {}", hidden.len(), counted(&hidden))
        };
        Self { entries: all[first..end].to_vec(), more: Some(more) }
    }
}

/// `1 working, 2 idle`, in the order in which they come.
fn counted(rows: &[&Row]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        let word = row.status().as_str();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    parts.join(", ")
}
