//! Answering a dialog: which option is meant, and that the dialog is still the one that was seen.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use crate::status::evidence::{Screen, Shows};

/// The mark by which a dialog is known again: the same question about the same thing, with the same options. Agents ask
/// "Do you want to proceed?" of every command, with the same options: `about` is what the dialog shows above them.
pub fn mark(question: Option<&str>, about: &str, options: &[String]) -> String {
    // FNV-1a: marks are kept and compared across processes and versions, so no hasher that may change.
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    (question, about, options).hash(&mut hash);
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

/// Options by the numbers that they are shown with.
pub type Options = BTreeMap<usize, String>;

/// A dialog as it is on the screen.
#[derive(Debug, Clone)]
pub struct Dialog {
    pub mark: String,
    pub question: Option<String>,
    /// What is asked, as the agent tells it: the screen may not have room for it.
    told: Option<String>,
    /// What it shows above its options.
    about: String,
    /// Those in sight.
    pub options: Options,
    /// The number of the one that Enter would choose.
    pub marked: Option<usize>,
    pub sideways: bool,
    pub is_low: bool,
}

impl Dialog {
    /// The dialog that a screen shows, and what the agent itself tells of it.
    pub fn seen(screen: &Screen, told: Option<String>) -> Option<Self> {
        let Shows::Dialog(_, question) = &screen.shows else { return None };
        let hands = &screen.hands;
        Some(Self {
            mark: mark(question.as_deref(), &hands.about, &screen.options),
            question: question.clone(),
            about: hands.about.clone(),
            told: told.filter(|told| Some(told) != question.as_ref()),
            options: hands.numbers.iter().copied().zip(screen.options.iter().cloned()).collect(),
            marked: hands.marked.and_then(|at| hands.numbers.get(at).copied()),
            sideways: hands.sideways,
            is_low: hands.is_low,
        })
    }

    /// Whether this is the same one, of which perhaps another part is in sight.
    pub fn is_same(&self, other: &Self) -> bool {
        let same_text = |(number, text): (&usize, &String)| {
            other.options.get(number).is_none_or(|known| known == text)
        };
        let is_told = self.told.is_some() && self.told == other.told;
        let is_shown = self.question.is_some() && self.question == other.question;
        let has_same = self.options.iter().any(|(n, text)| other.options.get(n) == Some(text));
        // In a low pane, other parts of it come into sight.
        let is_other = !self.is_low && !other.is_low && self.about != other.about;
        let is_contradicted = is_other || (self.told.is_some() && other.told.is_some() && !is_told);
        !is_contradicted && (is_told || is_shown || has_same) && self.options.iter().all(same_text)
    }

    /// Whether Enter would choose the option that is meant, of the dialog that was first seen.
    pub fn is_ready(&self, first: &Self, wanted: usize) -> bool {
        let text = self.options.get(&wanted);
        self.is_same(first) && self.marked == Some(wanted) && text == first.options.get(&wanted)
    }
}

/// Why no option is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChoice {
    #[error("the open dialog has no options to choose from; use `dogwatch attach`")]
    None,
    #[error("no option {choice:?}; options: {}", listed(.options))]
    NoSuch { choice: String, options: Options },
    #[error("{choice:?} matches several options: {}", listed(.options))]
    Several { choice: String, options: Options },
}

fn listed(options: &Options) -> String {
    let shown: Vec<_> = options.iter().map(|(n, text)| format!("{n}: {text}")).collect();
    shown.join(", ")
}

/// An option that is meant, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// By its number, or its whole text.
    Exactly(usize),
    /// By how its text begins: one that is not in sight may begin the same way.
    ByBeginning(usize),
}

impl Chosen {
    pub fn number(self) -> usize {
        match self {
            Self::Exactly(number) | Self::ByBeginning(number) => number,
        }
    }
}

/// The option that a person means: by its number, by its text, or by how its text begins.
pub fn choose(options: &Options, choice: &str) -> Result<Chosen, BadChoice> {
    if options.is_empty() {
        return Err(BadChoice::None);
    }
    let wanted = choice.trim().to_lowercase();
    let by_number = wanted.parse().ok().filter(|number| options.contains_key(number));
    if let Some(number) = by_number {
        return Ok(Chosen::Exactly(number));
    }
    let fits = |fit: fn(&str, &str) -> bool| -> Vec<usize> {
        let all = options.iter();
        all.filter(|(_, text)| fit(&text.to_lowercase(), &wanted)).map(|(at, _)| *at).collect()
    };
    let unknown = || BadChoice::NoSuch { choice: choice.to_owned(), options: options.clone() };
    if wanted.is_empty() {
        return Err(unknown());
    }
    if let [number] = fits(|text, wanted| text == wanted)[..] {
        return Ok(Chosen::Exactly(number));
    }
    match fits(|text, wanted| text.starts_with(wanted))[..] {
        [] => Err(unknown()),
        [number] => Ok(Chosen::ByBeginning(number)),
        _ => Err(BadChoice::Several { choice: choice.to_owned(), options: options.clone() }),
    }
}

/// The key that brings the mark nearer to the option; `None` if it is there.
pub fn key(marked: usize, wanted: usize, sideways: bool) -> Option<&'static str> {
    match (marked.cmp(&wanted), sideways) {
        (Ordering::Equal, _) => None,
        (Ordering::Less, _) => Some(onward(sideways)),
        (Ordering::Greater, false) => Some("Up"),
        (Ordering::Greater, true) => Some("Left"),
    }
}

/// The key that marks the next option.
pub fn onward(sideways: bool) -> &'static str {
    if sideways { "Right" } else { "Down" }
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
        let all: Options = (1..).zip(options()).collect();
        let chosen = |choice: &str| choose(&all, choice);
        for (choice, number) in [("1", 1), ("3", 3), ("yes", 1), ("YES", 1)] {
            assert_eq!(chosen(choice), Ok(Chosen::Exactly(number)), "{choice}");
        }
        for (choice, number) in [("no", 3), ("Yes, and", 2)] {
            assert_eq!(chosen(choice), Ok(Chosen::ByBeginning(number)), "{choice}");
        }
        for choice in ["0", "4", "", "maybe", "ye,"] {
            assert!(matches!(chosen(choice), Err(BadChoice::NoSuch { .. })), "{choice}");
        }
        assert!(matches!(chosen("ye"), Err(BadChoice::Several { .. })));
        let said = chosen("4").unwrap_err().to_string();
        assert!(said.contains("1: Yes, 2: Yes, and"), "{said}");
    }

    #[test]
    fn numbers_are_those_that_are_shown() {
        let scrolled: Options = [(3, "Yes, always".to_owned()), (4, "No".to_owned())].into();
        assert_eq!(choose(&scrolled, "4"), Ok(Chosen::Exactly(4)));
        assert!(matches!(choose(&scrolled, "2"), Err(BadChoice::NoSuch { .. })));
        assert_eq!(choose(&scrolled, "no").map(Chosen::number), Ok(4));
    }

    #[test]
    fn the_same_dialog_is_known_again() {
        let one = mark(Some("Do it?"), "rm-rfa", &options());
        assert_eq!(one, mark(Some("Do it?"), "rm-rfa", &options()));
        assert_ne!(one, mark(Some("Do it?"), "rm-rfb", &options()));
        assert_ne!(one, mark(Some("Do that?"), "rm-rfa", &options()));
        assert_ne!(one, mark(Some("Do it?"), "rm-rfa", &options()[..2]));
        assert_eq!(one.len(), 8);
    }

    #[test]
    fn ways_to_an_option() {
        assert_eq!(
            [key(1, 3, false), key(3, 1, false), key(2, 2, false)],
            [Some("Down"), Some("Up"), None]
        );
        assert_eq!([key(1, 3, true), key(3, 1, true)], [Some("Right"), Some("Left")]);
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod sequences;
