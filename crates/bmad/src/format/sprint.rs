//! The status of each story in `sprint-status.yaml`, which agents write and we only read.
//!
//! It is read as YAML, whatever its sections are called; a value with a `status` inside has that
//! status. A file that is not YAML (a tab, a duplicate key) is read line by line, so that a typing error
//! does not make every story unknown.

use std::collections::HashMap;

use super::front_matter::unquoted;
use super::keys::{self, KnownEpics, StoryId};
use super::yaml::{self, Yaml};

/// The section that BMAD writes; its rows take precedence.
const SECTION: &str = "development_status";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: String,
    /// The first word of the value.
    pub status: String,
    in_section: bool,
}

impl Row {
    pub fn is_done(&self) -> bool {
        self.status == "done"
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sprint {
    rows: Vec<Row>,
}

impl Sprint {
    pub fn read(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let rows = match yaml::read(text) {
            Some(yaml @ Yaml::Map(_)) => {
                let mut rows = Vec::new();
                flatten(&yaml, false, &mut rows);
                rows
            }
            _ => text.lines().filter_map(row_of_line).collect(),
        };
        Self { rows }
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.key.as_str())
    }

    /// The row that a text names: itself, a key of that story, or the story's id or prefix.
    pub fn find(&self, asked: &str, known: &KnownEpics) -> Option<&Row> {
        let meant = keys::read(asked, known);
        let rank = |row: &Row| -> Option<(u8, bool)> {
            let kind = if row.key == asked {
                if meant.as_ref().is_some_and(|meant| meant.is_key) { 5 } else { 3 }
            } else {
                let id = &meant.as_ref()?.id;
                let of_row = keys::read(&row.key, known).filter(|of_row| of_row.id == *id)?;
                if of_row.is_key { 4 } else { 2 }
            };
            Some((kind, row.in_section))
        };
        let ranked = self.rows.iter().filter_map(|row| Some((rank(row)?, row)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, row)| row)
    }

    /// The stories of an epic, in the order of the file, one row each.
    pub fn stories_of(&self, epic: &str, known: &KnownEpics) -> Vec<(StoryId, &Row)> {
        self.stories_where(known, |id| id.epic == epic)
    }

    /// All stories, by epic in the order of the file, one row each.
    pub fn stories(&self, known: &KnownEpics) -> Vec<(StoryId, &Row)> {
        let mut stories = self.stories_where(known, |_| true);
        let mut places: HashMap<String, usize> = HashMap::new();
        for (id, _) in &stories {
            let next = places.len();
            places.entry(id.epic.clone()).or_insert(next);
        }
        stories.sort_by_key(|(id, _)| places.get(&id.epic).copied());
        stories
    }

    fn stories_where(
        &self,
        known: &KnownEpics,
        is_meant: impl Fn(&StoryId) -> bool,
    ) -> Vec<(StoryId, &Row)> {
        let mut stories: Vec<(StoryId, bool, &Row)> = Vec::new();
        let mut places: HashMap<StoryId, usize> = HashMap::new();
        for row in &self.rows {
            let Some(meant) = keys::read(&row.key, known).filter(|meant| is_meant(&meant.id))
            else {
                continue;
            };
            match places.get(&meant.id) {
                None => {
                    places.insert(meant.id.clone(), stories.len());
                    stories.push((meant.id, meant.is_key, row));
                }
                Some(&place) => {
                    let seen = &mut stories[place];
                    if (meant.is_key, row.in_section) > (seen.1, seen.2.in_section) {
                        seen.1 = meant.is_key;
                        seen.2 = row;
                    }
                }
            }
        }
        stories.into_iter().map(|(id, _, row)| (id, row)).collect()
    }

    /// Finds many rows as [`Sprint::find`] does, without reading all of them each time.
    pub fn finder<'a>(&'a self, known: &'a KnownEpics) -> Finder<'a> {
        let mut finder = Finder { known, by_key: HashMap::new(), by_id: HashMap::new() };
        for row in &self.rows {
            let seen = finder.by_key.entry(row.key.as_str()).or_insert(row);
            if row.in_section >= seen.in_section {
                *seen = row;
            }
            if let Some(meant) = keys::read(&row.key, known) {
                let seen = finder.by_id.entry(meant.id).or_insert((meant.is_key, row));
                if (meant.is_key, row.in_section) >= (seen.0, seen.1.in_section) {
                    *seen = (meant.is_key, row);
                }
            }
        }
        finder
    }
}

/// Rows by key and by story.
#[derive(Debug)]
pub struct Finder<'a> {
    known: &'a KnownEpics,
    by_key: HashMap<&'a str, &'a Row>,
    /// The best row of each story, and whether its key is a whole one.
    by_id: HashMap<StoryId, (bool, &'a Row)>,
}

impl<'a> Finder<'a> {
    pub fn find(&self, asked: &str) -> Option<&'a Row> {
        let meant = keys::read(asked, self.known);
        let by_key = self.by_key.get(asked).copied();
        let by_id = meant.as_ref().and_then(|meant| self.by_id.get(&meant.id).copied());
        let asks_for_key = meant.is_some_and(|meant| meant.is_key);
        match (by_key, by_id) {
            (Some(_), Some((true, row))) if !asks_for_key => Some(row),
            (Some(row), _) => Some(row),
            (None, by_id) => by_id.map(|(_, row)| row),
        }
    }
}

fn flatten(yaml: &Yaml, in_section: bool, rows: &mut Vec<Row>) {
    match yaml {
        Yaml::Scalar(_) => {}
        Yaml::List(items) => items.iter().for_each(|item| flatten(item, in_section, rows)),
        Yaml::Map(entries) => {
            for (key, value) in entries {
                if let Some(status) = value.scalar().or_else(|| value.get("status")?.scalar()) {
                    rows.push(row(key, status, in_section));
                } else {
                    flatten(value, in_section || key == SECTION, rows);
                }
            }
        }
    }
}

fn row(key: &str, value: &str, in_section: bool) -> Row {
    let status = value.split_whitespace().next().unwrap_or_default();
    Row { key: key.to_owned(), status: status.to_owned(), in_section }
}

fn row_of_line(line: &str) -> Option<Row> {
    let line = line.trim();
    let (key, value) = line.split_once(':').filter(|_| !line.starts_with('#'))?;
    let value = value.trim();
    let value = if value.starts_with('#') { "" } else { value };
    Some(row(unquoted(key.trim()), unquoted(value.split_whitespace().next().unwrap_or("")), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "# sprint status\ndevelopment_status:\n  epic-1: in-progress\n  1-1-user-login: done\n  1-2-password-reset: review\n  1-3-profile-page: ready-for-dev   # next up\n  epic-1-retrospective: optional\n  10-1-billing: backlog\n";

    fn find(text: &str, asked: &str) -> Option<(String, String)> {
        let sprint = Sprint::read(text);
        let row = sprint.find(asked, &KnownEpics::default())?;
        Some((row.key.clone(), row.status.clone()))
    }

    /// Finds a row through the index.
    fn found(text: &str, asked: &str) -> Option<(String, String)> {
        let (sprint, known) = (Sprint::read(text), KnownEpics::default());
        let row = sprint.finder(&known).find(asked)?;
        Some((row.key.clone(), row.status.clone()))
    }

    #[test]
    fn rows_are_found_by_every_name() {
        for (asked, key, status) in [
            ("1.2", "1-2-password-reset", "review"),
            ("1-3", "1-3-profile-page", "ready-for-dev"),
            ("1-1-user-login", "1-1-user-login", "done"),
            ("1-1-other-name", "1-1-user-login", "done"),
            ("epic-1", "epic-1", "in-progress"),
            ("epic-1-retrospective", "epic-1-retrospective", "optional"),
        ] {
            assert_eq!(find(USUAL, asked), Some((key.into(), status.into())), "{asked}");
            assert_eq!(found(USUAL, asked), Some((key.into(), status.into())), "{asked}");
        }
        assert_eq!(find(USUAL, "9.9"), None);
        assert_eq!(find(USUAL, "2.1"), None);
    }

    #[test]
    fn yaml_as_people_write_it() {
        for (text, status) in [
            ("1-1-a: \"done\"\n", "done"),
            ("'1-1-a': 'done' # yes\n", "done"),
            ("development_status: {1-1-a: done, 1-2-b: review}\n", "done"),
            ("1-1-a:\n  status: done\n  owner: x\n", "done"),
            ("1-1-a:\n", ""),
            ("1-1-a: done\nold:\n  1-1-a: review\n", "review"),
            ("development_status:\n  1-1-a: done\nold:\n  1-1-a: review\n", "done"),
            ("1-1-a: done (by hand)\n", "done"),
            ("stories:\n  - 1-1-a: done\n", "done"),
        ] {
            assert_eq!(find(text, "1.1"), Some(("1-1-a".into(), status.into())), "{text}");
            for asked in ["1.1", "1-1", "1-1-a", "1-1-b", "x", ""] {
                assert_eq!(found(text, asked), find(text, asked), "{text} {asked}");
            }
        }
        assert_eq!(find("1.10: done\n1.1: review\n", "1.10").unwrap().1, "done");
    }

    #[test]
    fn a_file_that_is_not_yaml_is_read_by_lines() {
        let tab = "development_status:\n\t1-1-a: 'done'\n\t# 1-1-a: no\n\t1-2-b: review # x\n";
        assert_eq!(find(tab, "1.1").unwrap().1, "done");
        let twice = "a:\n  1-1-a: review\n  1-1-a: done\n";
        assert_eq!(find(twice, "1.1").unwrap().1, "done");
    }

    #[test]
    fn an_epic_has_its_own_stories_only() {
        let sprint = Sprint::read(USUAL);
        let keys = |epic: &str| -> Vec<String> {
            let stories = sprint.stories_of(epic, &KnownEpics::default());
            stories.iter().map(|(_, row)| row.key.clone()).collect()
        };
        assert_eq!(keys("1"), ["1-1-user-login", "1-2-password-reset", "1-3-profile-page"]);
        assert_eq!(keys("10"), ["10-1-billing"]);
        assert!(keys("7").is_empty());
        let all = sprint.stories(&KnownEpics::default());
        assert_eq!(all.len(), 4);
        let mixed = Sprint::read("1-1-a: x\n2-1-b: x\n1-2-c: x\n");
        let all = mixed.stories(&KnownEpics::default());
        let ids: Vec<String> = all.iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(ids, ["1.1", "1.2", "2.1"], "epic after epic");
        let twice =
            "1.1: a\n1-1-x: b\n1-1: c\n1-1-y: d\ndevelopment_status:\n  1-1-x: e\n  1.1: f\n";
        for asked in ["1.1", "1-1", "1-1-x", "1-1-y", "1-1-z"] {
            assert_eq!(found(twice, asked), find(twice, asked), "{asked}");
        }
        let bare = Sprint::read("1.1: done\n1-1-a: review\n1-1: done\n");
        let rows = bare.stories_of("1", &KnownEpics::default());
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].1.key, "1-1-a");
    }
}
