use std::fmt::Arguments;

/// Notes what was decided, and on what: what was seen, which rule fits, what is done. Nothing is written down, nor put into words,
/// unless the log wants it.
pub fn decided(what: Arguments<'_>) {
    tracing::debug!(target: "dogwatch::decision", "{what}");
}
