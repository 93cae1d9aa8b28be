//! Names of a story: id `1.2`, prefix `1-2`, key `1-2-password-reset`. An epic may have a name
//! instead of a number: `login.3`, `login-3`, `login-3-second-factor`.

use std::collections::{HashMap, HashSet};
use std::fmt;

/// Longest key, which is also a file name. Limits the work on long texts.
const LONGEST: usize = 255;

/// One story. Its parts are kept as written: `01.02` stays `01.02`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoryId {
    pub epic: String,
    pub number: String,
}

impl StoryId {
    fn new(epic: &str, number: &str) -> Self {
        Self { epic: epic.to_owned(), number: number.to_owned() }
    }

    pub fn prefix(&self) -> String {
        format!("{}-{}", self.epic, self.number)
    }

    /// For sorting within an epic; a number that is too large comes last.
    pub fn place(&self) -> u64 {
        self.number.parse().unwrap_or(u64::MAX)
    }
}

impl fmt::Display for StoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epic, self.number)
    }
}

/// The story that a text names, and whether it was a whole key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant {
    pub id: StoryId,
    pub is_key: bool,
}

/// The named epics of the project: they decide how `plan-7-8-part-two` is read.
#[derive(Debug, Clone, Default)]
pub struct KnownEpics {
    /// Epics with a file.
    of_files: HashSet<String>,
    /// Epics with two or more stories in the sprint status.
    of_rows: HashSet<String>,
}

impl KnownEpics {
    /// From the stems of `epic-*.md` files and the keys in the sprint status.
    pub fn new<'a>(
        epic_files: impl IntoIterator<Item = String>,
        keys: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut known = Self::default();
        for stem in epic_files {
            let Some(name) = stem.strip_prefix("epic-").filter(|name| name.len() <= LONGEST) else {
                continue;
            };
            // `epic-plan-7-launch` is the file of an epic `plan-7`, of one `plan`, or of itself.
            let dashes = name.match_indices('-').map(|(at, _)| at);
            known.of_files.extend(dashes.chain([name.len()]).map(|end| name[..end].to_owned()));
        }
        let mut first_number: HashMap<&str, &str> = HashMap::new();
        for key in keys.into_iter().filter(|key| key.len() <= LONGEST) {
            for (dash, _) in key.match_indices('-') {
                let number = key[dash + 1..].split('-').next().filter(|part| is_number(part));
                let (Some(number), epic) = (number, &key[..dash]) else { continue };
                if *first_number.entry(epic).or_insert(number) != number {
                    known.of_rows.insert(epic.to_owned());
                }
            }
        }
        known
    }

    fn has(&self, epic: &str) -> bool {
        self.of_files.contains(epic) || self.of_rows.contains(epic)
    }
}

/// The story that a text names, if any.
pub fn read(text: &str, known: &KnownEpics) -> Option<Meant> {
    if text.is_empty()
        || text.len() > LONGEST
        || text.chars().any(|letter| letter.is_control() || letter == '/')
    {
        return None;
    }
    if let Some((epic, number)) = text.rsplit_once('.')
        && is_epic(epic)
        && is_number(number)
    {
        return Some(Meant { id: StoryId::new(epic, number), is_key: false });
    }
    let parts: Vec<&str> = text.split('-').collect();
    let at = number_at(&parts, known)?;
    let epic = parts[..at].join("-");
    let is_key = at + 1 < parts.len();
    if !is_epic(&epic) || (is_key && parts[at + 1..].join("-").is_empty()) {
        return None;
    }
    Some(Meant { id: StoryId::new(&epic, parts[at]), is_key })
}

/// Which of the parts between dashes is the story's number.
fn number_at(parts: &[&str], known: &KnownEpics) -> Option<usize> {
    if is_number(parts[0]) {
        return (parts.len() > 1 && is_number(parts[1])).then_some(1);
    }
    let last = parts.len() - 1;
    if last > 0 && is_number(parts[last]) {
        return Some(last);
    }
    let numbers: Vec<usize> = (1..last).filter(|&at| is_number(parts[at])).collect();
    let first = *numbers.first()?;
    if numbers.len() == 1 {
        return Some(first);
    }
    if let Some(&at) = numbers.iter().rev().find(|&&at| known.has(&parts[..at].join("-"))) {
        return Some(at);
    }
    let next_to_first = numbers.contains(&(first + 1));
    let belongs_to_epic = next_to_first && like_a_year(parts[first], parts[first + 1]);
    Some(if belongs_to_epic { first + 1 } else { first })
}

/// `release-2024-12-login` is the twelfth story of `release-2024`; `release-2024-01-login` looks like a date.
fn like_a_year(first: &str, second: &str) -> bool {
    let count = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    let many = first.len() == 4 && second.len() >= 3;
    let two = count(first) >= 1000 && second.len() == 2 && count(second) >= 10;
    many || two
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number, or a name. `epic` is not one: `epic-1` and `epic-1-retrospective` are rows of an epic.
fn is_epic(text: &str) -> bool {
    is_number(text) || (is_name(text) && text != "epic" && !text.starts_with("epic-"))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The key of a story: of its file (names without `.md`, sorted), else of its row, else its prefix.
pub fn key_of<'a>(
    id: &StoryId,
    file_stems: impl IntoIterator<Item = &'a str>,
    row_keys: impl IntoIterator<Item = &'a str>,
    known: &KnownEpics,
) -> String {
    let start = format!("{}-", id.prefix());
    let is_ours = |key: &&str| {
        key.starts_with(&start) && read(key, known).is_some_and(|meant| meant.id == *id)
    };
    file_stems
        .into_iter()
        .find(is_ours)
        .or_else(|| row_keys.into_iter().find(is_ours))
        .map_or_else(|| id.prefix(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str, known: &KnownEpics) -> Option<(String, String, bool)> {
        read(text, known).map(|meant| (meant.id.to_string(), meant.id.prefix(), meant.is_key))
    }

    #[test]
    fn all_forms_of_a_name_are_read() {
        let none = KnownEpics::default();
        for (text, id, prefix, is_key) in [
            ("1.2", "1.2", "1-2", false),
            ("1-2", "1.2", "1-2", false),
            ("01.02", "01.02", "01-02", false),
            ("1-2-password-reset", "1.2", "1-2", true),
            ("1-2-3", "1.2", "1-2", true),
            ("login.3", "login.3", "login-3", false),
            ("multi-leg-3", "multi-leg.3", "multi-leg-3", false),
            ("auth-2-oauth-flow", "auth.2", "auth-2", true),
            ("release-2024-12-login", "release-2024.12", "release-2024-12", true),
            ("release-2024-01-login", "release.2024", "release-2024", true),
            ("release-2024-100-login", "release-2024.100", "release-2024-100", true),
            ("plan-7-8-part-two", "plan.7", "plan-7", true),
        ] {
            assert_eq!(meant(text, &none), Some((id.into(), prefix.into(), is_key)), "{text}");
        }
        for text in [
            "",
            "story",
            "1",
            "1.",
            ".1",
            "1.2.3",
            "1-",
            "1-2-",
            "1-x",
            "x.y",
            "epic-1",
            "epic-1-retrospective",
            "1-2-a/../b",
            "-1-2",
            "1.2a",
            "1_2",
            " 1.2 ",
        ] {
            assert_eq!(meant(text, &none), None, "{text}");
        }
    }

    #[test]
    fn known_epics_decide_ambiguous_names() {
        let rows = |keys: &[&str]| KnownEpics::new(vec![], keys.iter().copied());
        let two = rows(&["plan-7-1-a", "plan-7-2-b"]);
        assert_eq!(meant("plan-7-8-part-two", &two).unwrap().0, "plan-7.8");
        let one = rows(&["plan-7-1-a", "plan-7-1-b"]);
        assert_eq!(meant("plan-7-8-part-two", &one).unwrap().0, "plan.7");
        let file = KnownEpics::new(vec!["epic-plan-7-launch".into()], vec![]);
        assert_eq!(meant("plan-7-8-part-two", &file).unwrap().0, "plan-7.8");
    }

    #[test]
    fn a_file_names_the_key_before_a_row_does() {
        let none = KnownEpics::default();
        let id = read("1.2", &none).unwrap().id;
        let key = |stems: &[&str], rows: &[&str]| {
            key_of(&id, stems.iter().copied(), rows.iter().copied(), &none)
        };
        assert_eq!(key(&["1-2-from-file"], &["1-2-row"]), "1-2-from-file");
        assert_eq!(key(&["1-20-other", "1-2"], &["1-2-row"]), "1-2-row");
        assert_eq!(key(&[], &["1-20-x"]), "1-2");
    }
}
