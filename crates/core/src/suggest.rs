//! Typing errors: where they are, and what was probably meant.

pub use strsim::levenshtein as distance;

/// Line and column, counted from 1, of a byte.
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The word that was probably meant: near enough for its length.
pub fn nearest<'w>(written: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let near = known.into_iter().map(|word| (distance(written, word), word)).min()?;
    let most = (written.chars().count() / 3).clamp(1, 3);
    Some(near.1).filter(|_| near.0 <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        let known = ["api", "api-tests", "build"];
        for (written, want) in [
            ("apii", Some("api")),
            ("biuld", None),
            ("api-test", Some("api-tests")),
            ("buidl", None),
            ("buil", Some("build")),
            ("nobody", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), want, "{written}");
        }
    }

    #[test]
    fn places_and_distances() {
        for (at, want) in [(0, (1, 1)), (2, (1, 2)), (4, (2, 1)), (6, (2, 3)), (99, (2, 3))] {
            assert_eq!(place("éa\nbc", at), want, "{at}");
        }
        for (one, other, want) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("monitor-sesion", "monitor-session", 1),
            ("é", "e", 1),
        ] {
            assert_eq!((distance(one, other), distance(other, one)), (want, want), "{one} {other}");
        }
    }
}
