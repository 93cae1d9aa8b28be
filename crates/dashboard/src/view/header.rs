//! The first line: how many need you, and what is shown.

use dogwatch_core::attention::Place;

use super::{Canvas, style};
use crate::model::{State, short_path};
use crate::text;

/// From so many columns on it has a line below it.
const WIDE: usize = 99;

/// How many lines it has.
pub(super) fn height(state: &State) -> u16 {
    if usize::from(state.size.0.saturating_sub(1)) >= WIDE { 2 } else { 1 }
}

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>) {
    let columns = canvas.columns();
    let [need, failed, limited, working, idle] = state.counts();
    let is_wide = columns >= WIDE;
    let is_small = state.is_small();
    let mut parts = vec![
        (need, "need you", Place::Answer),
        (failed, "failed", Place::Trouble),
        (limited, "limited", Place::Limit),
        (working, if is_small { "work" } else { "working" }, Place::Working),
        (idle, "idle", Place::Idle),
    ];
    if !is_wide {
        parts.retain(|(_, _, place)| *place != Place::Limit);
    }
    if is_small {
        parts.retain(|(_, _, place)| *place != Place::Idle);
    }
    let clock = text::width(&state.clock);
    let end = columns.saturating_sub(clock);
    // What hides sessions, or what an action is about, is always in sight.
    let narrow = if is_wide { String::new() } else { narrow_scope(state, columns) };
    let end_of_counts = end.saturating_sub(match text::width(&narrow) {
        0 => 0,
        width => width + 2,
    });
    let mut x = 1;
    if !is_small {
        x = canvas.put(x, 0, "dogwatch", style::bold());
        x += if is_wide { 3 } else { 2 };
    }
    let mut is_first = true;
    for (count, word, place) in parts.into_iter().filter(|(count, ..)| *count > 0) {
        let part = format!("{count} {word}");
        let gap = if is_small && !is_first { " · " } else { "" };
        if x + text::width(gap) + text::width(&part) > end_of_counts.saturating_sub(1) {
            break;
        }
        x = canvas.put(x, 0, gap, style::dim());
        x = canvas.put(x, 0, &part, style::of(place));
        if !is_small {
            x += if is_wide { 3 } else { 2 };
        }
        is_first = false;
    }
    canvas.put(end, 0, &state.clock, style::dim());
    if !is_wide {
        canvas.put(end_of_counts, 0, &narrow, style::bold());
        return;
    }
    let scope = scope(state);
    let at = end.saturating_sub(text::width(&scope) + 4);
    if at > x {
        canvas.put(at, 0, &scope, style::dim());
    }
    canvas.put(0, 1, " ", style::plain());
    canvas.rule(1, 1, style::dim());
}

/// `/parser  this project  2 marked`, as far as it fits beside the counts.
fn narrow_scope(state: &State, columns: usize) -> String {
    let project = state.only_project.then(|| "this project".to_owned());
    let marked =
        Some(state.marked.len()).filter(|count| *count > 0).map(|count| format!("{count} marked"));
    let filter = (!state.filter.is_empty()).then(|| format!("/{}", text::one_line(&state.filter)));
    let parts: Vec<String> = [marked, project, filter].into_iter().flatten().collect();
    text::cut(&parts.join("  "), columns / 2)
}

/// Which sessions are listed.
fn scope(state: &State) -> String {
    let home = state.around.home.as_deref();
    let here = short_path(&state.around.here, home);
    let scope = if state.only_project { "this project" } else { "all projects" };
    let filter = match state.filter.as_str() {
        "" => String::new(),
        filter => format!("  /{}", text::one_line(filter)),
    };
    let marked = match state.marked.len() {
        0 => String::new(),
        count => format!("  {count} marked"),
    };
    format!("{here}  {scope}{filter}{marked}")
}
