//! Answering a dialog: which option is meant, and that the dialog is still the one that was seen.

use std::hash::{Hash, Hasher};

/// The mark by which a dialog is known again: the same question with the same options.
pub fn mark(question: Option<&str>, options: &[String]) -> String {
    // FNV-1a: marks are kept and compared across processes and versions, so no hasher that may change.
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    (question, options).hash(&mut hash);
    format!("{:08x}", hash.finish() >> 32)
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Why no option is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChoice {
    #[error("the open dialog has no options to choose from; use `dogwatch attach`")]
    None,
    #[error("no option {choice:?}; options: {}", listed(.options))]
    NoSuch { choice: String, options: Vec<String> },
    #[error("{choice:?} matches several options: {}", listed(.options))]
    Several { choice: String, options: Vec<String> },
}

fn listed(options: &[String]) -> String {
    let shown: Vec<_> = (1..).zip(options).map(|(n, text)| format!("{n}: {text}")).collect();
    shown.join(", ")
}

/// The option that a person means: by its number, by its text, or by how its text begins.
pub fn choose(options: &[String], choice: &str) -> Result<usize, BadChoice> {
    if options.is_empty() {
        return Err(BadChoice::None);
    }
    let wanted = choice.trim().to_lowercase();
    let by_number = wanted.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(at) = by_number.filter(|at| *at < options.len()) {
        return Ok(at);
    }
    let fits = |fit: fn(&str, &str) -> bool| -> Vec<usize> {
        let all = options.iter().enumerate();
        all.filter(|(_, text)| fit(&text.to_lowercase(), &wanted)).map(|(at, _)| at).collect()
    };
    let unknown = || BadChoice::NoSuch { choice: choice.to_owned(), options: options.to_vec() };
    if wanted.is_empty() {
        return Err(unknown());
    }
    if let [at] = fits(|text, wanted| text == wanted)[..] {
        return Ok(at);
    }
    match fits(|text, wanted| text.starts_with(wanted))[..] {
        [] => Err(unknown()),
        [at] => Ok(at),
        _ => Err(BadChoice::Several { choice: choice.to_owned(), options: options.to_vec() }),
    }
}

/// The key that brings the mark nearer to the option; `None` if it is there.
pub fn key(marked: usize, wanted: usize) -> Option<&'static str> {
    match marked.cmp(&wanted) {
        std::cmp::Ordering::Less => Some("Down"),
        std::cmp::Ordering::Greater => Some("Up"),
        std::cmp::Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<String> {
        let texts =
            ["Yes", "Yes, and don't ask again for: cargo", "No, and tell Claude what to do"];
        texts.map(String::from).into()
    }

    #[test]
    fn what_is_meant() {
        let chosen = |choice: &str| choose(&options(), choice);
        for (choice, at) in [("1", 0), ("3", 2), ("yes", 0), ("YES", 0), ("no", 2), ("Yes, and", 1)]
        {
            assert_eq!(chosen(choice), Ok(at), "{choice}");
        }
        for choice in ["0", "4", "", "maybe", "ye,"] {
            assert!(matches!(chosen(choice), Err(BadChoice::NoSuch { .. })), "{choice}");
        }
        assert!(matches!(chosen("ye"), Err(BadChoice::Several { .. })));
        let said = chosen("4").unwrap_err().to_string();
        assert!(said.contains("1: Yes, 2: Yes, and"), "{said}");
    }

    #[test]
    fn the_same_dialog_is_known_again() {
        let one = mark(Some("Do it?"), &options());
        assert_eq!(one, mark(Some("Do it?"), &options()));
        assert_ne!(one, mark(Some("Do that?"), &options()));
        assert_ne!(one, mark(Some("Do it?"), &options()[..2]));
        assert_eq!(one.len(), 8);
    }

    #[test]
    fn ways_to_an_option() {
        assert_eq!([key(0, 2), key(2, 0), key(1, 1)], [Some("Down"), Some("Up"), None]);
    }
}
