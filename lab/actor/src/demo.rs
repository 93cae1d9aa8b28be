//! The scenarios that are built in, for `dogwatch demo`.

/// Works for about six seconds, fires the hooks of a whole turn and exits with 0.
pub const WORKER: &str = include_str!("../scenarios/demo-worker.toml");

/// Works for about two seconds, then asks for permission and waits for `1` or `2`.
pub const ASKER: &str = include_str!("../scenarios/demo-asker.toml");

/// Works for about three seconds, then fails and exits with 3.
pub const FAILER: &str = include_str!("../scenarios/demo-failer.toml");

/// Each built-in scenario by the name that `actor --demo` takes.
pub const ALL: [(&str, &str); 3] = [("worker", WORKER), ("asker", ASKER), ("failer", FAILER)];

/// The text of a built-in scenario.
pub fn by_name(name: &str) -> Option<&'static str> {
    ALL.iter().find_map(|(known, text)| (*known == name).then_some(*text))
}
