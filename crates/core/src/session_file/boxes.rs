//! Check boxes: one in each of four cells, or all four in one cell.

/// The conditions for closing a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boxes {
    pub report_back_sent: bool,
    pub session_id_saved: bool,
    pub task_marked_done: bool,
    pub ready_to_close_set: bool,
}

impl Boxes {
    pub const ALL: Self = Self {
        report_back_sent: true,
        session_id_saved: true,
        task_marked_done: true,
        ready_to_close_set: true,
    };

    pub(super) fn values(self) -> [bool; 4] {
        [
            self.report_back_sent,
            self.session_id_saved,
            self.task_marked_done,
            self.ready_to_close_set,
        ]
    }

    pub(super) fn of(values: [bool; 4]) -> Self {
        let [report_back_sent, session_id_saved, task_marked_done, ready_to_close_set] = values;
        Self { report_back_sent, session_id_saved, task_marked_done, ready_to_close_set }
    }
}

pub(super) const TITLES: [&str; 4] =
    ["Report-back sent", "Session ID saved", "Task marked done", "Ready-to-close set"];
/// Accepted names of each box, as keys: as a column title, or in a cell with all of them.
pub(super) const KEYS: [&[&str]; 4] = [
    &["reportbacksent", "reportback"],
    &["sessionidsaved", "sessionid"],
    &["taskmarkeddone", "taskdone"],
    &["readytocloseset", "readytoclose"],
];

/// Accepted titles of a column for all of them.
pub(super) const ALL_IN_ONE: [&str; 5] =
    ["closedown", "closedownboxes", "closedownchecklist", "checklist", "boxes"];

const TICKED: [&str; 7] = ["☑", "✅", "✓", "✔", "[x]", "[X]", "yes"];
const EMPTY: [&str; 5] = ["☐", "⬜", "[ ]", "[]", "no"];

pub(super) fn is_ticked(text: &str) -> bool {
    TICKED.iter().any(|mark| text.contains(mark))
}

/// A box, ticked or not, in its existing style.
pub(super) fn set(text: &str, ticked: bool) -> String {
    if is_ticked(text) == ticked && !text.trim().is_empty() {
        return text.to_owned();
    }
    let is_ascii = text.contains('[');
    let mark = match (is_ascii, ticked) {
        (true, true) => "[x]",
        (true, false) => "[ ]",
        (false, true) => "☑",
        (false, false) => "☐",
    };
    let old = TICKED.iter().chain(&EMPTY).find(|old| text.contains(**old));
    match old {
        Some(old) => text.replacen(old, mark, 1),
        None if text.trim().is_empty() => mark.to_owned(),
        None => format!("{mark} {}", text.trim_start()),
    }
}

/// Which of the four boxes a text names.
fn which(piece: &str) -> Option<usize> {
    let key = super::markdown::key(piece);
    KEYS.iter().position(|names| names.iter().any(|name| key.contains(name)))
}

const BETWEEN: [char; 4] = ['·', ',', ';', '•'];

/// The boxes in a cell with all of them, such as `☑ report-back sent · ☐ session ID saved`; `None` if it has none.
pub(super) fn in_one_cell(text: &str) -> Option<[bool; 4]> {
    let mut found = None;
    for piece in text.split(BETWEEN) {
        if let Some(at) = which(piece) {
            found.get_or_insert([false; 4])[at] = is_ticked(piece);
        }
    }
    found
}

/// A cell with all of them, none ticked.
pub(super) fn all_in_one_cell() -> String {
    TITLES.map(|title| format!("☐ {}", title.to_lowercase().replace("id", "ID"))).join(" · ")
}

/// The same cell with these boxes.
pub(super) fn set_in_one_cell(text: &str, values: [bool; 4]) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(BETWEEN) {
        let indent = piece.len() - piece.trim_start().len();
        let (before, label) = piece.split_at(indent);
        out.push_str(before);
        match which(piece) {
            Some(at) => out.push_str(&set(label, values[at])),
            None => out.push_str(label),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_ticked_in_their_own_style() {
        let table = [
            ("☐", true, "☑"),
            ("☑", false, "☐"),
            ("[ ]", true, "[x]"),
            ("[X] sent", false, "[ ] sent"),
            ("", true, "☑"),
            ("✅", true, "✅"),
            ("no", true, "☑"),
            ("soon", true, "☑ soon"),
        ];
        for (text, ticked, expected) in table {
            assert_eq!(set(text, ticked), expected, "{text:?}");
            assert_eq!(is_ticked(&set(text, ticked)), ticked);
        }
    }

    #[test]
    fn four_boxes_in_one_cell() {
        let text =
            "☐ report-back sent · ☑ session ID saved · ☐ task marked done · ☐ ready-to-close set";
        assert_eq!(in_one_cell(text), Some([false, true, false, false]));
        assert_eq!(
            set_in_one_cell(text, [true, true, false, true]),
            "☑ report-back sent · ☑ session ID saved · ☐ task marked done · ☑ ready-to-close set"
        );
        assert_eq!(in_one_cell("something else"), None);
    }
}
