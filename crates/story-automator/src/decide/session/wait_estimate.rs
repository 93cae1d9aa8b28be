//! How long a caller may sleep before the next call, by the session's task.

use super::cues::Todos;

const BY_LABEL: [(&[&str], u32); 4] = [
    (&["loading", "reading", "searching", "parsing", "launching", "starting"], 30),
    (&["presenting", "waiting", "menu", "select", "choose"], 15),
    (&["running tests", "testing", "building", "compiling", "installing"], 120),
    (&["writing", "editing", "updating", "creating", "fixing"], 60),
];

/// In seconds.
pub fn of(label: &str, todos: Todos) -> u32 {
    let label = label.to_lowercase();
    let by_label = BY_LABEL.iter().find(|(words, _)| words.iter().any(|word| label.contains(word)));
    match by_label {
        Some((_, seconds)) => *seconds,
        None if todos.total == 0 => 60,
        None => match todos.done * 100 / todos.total {
            ..25 => 90,
            25..50 => 75,
            50..75 => 60,
            75.. => 30,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_by_task() {
        for (label, done, total, expected) in [
            ("Reading files", 0, 0, 30),
            ("launching claude", 0, 0, 30),
            ("Working on a menu", 0, 0, 15),
            ("Running tests", 2, 3, 120),
            ("Working: updating x", 0, 0, 60),
            ("Starting to write", 0, 0, 30),
            ("Claude working", 1, 5, 90),
            ("Claude working", 1, 4, 75),
            ("Claude working", 1, 2, 60),
            ("Claude working", 3, 4, 30),
            ("Claude working", 0, 0, 60),
        ] {
            assert_eq!(of(label, Todos { done, total }), expected, "{label} {done}/{total}");
        }
    }
}
