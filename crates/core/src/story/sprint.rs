//! Where each story stands: `sprint-status.yaml`, which agents write and we only read.
//!
//! It is read as YAML, whatever its sections are called; a value with a `status` inside stands for that
//! status. What is no YAML (a tab, a key twice) is read line by line, so that a slip of an agent
//! does not make every story unknown.

use super::front_matter::unquoted;
use super::keys::{self, KnownEpics, StoryId};
use super::yaml::{self, Yaml};

/// The section that BMAD writes; its rows count before those of others.
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

    /// The row that a text means: itself, a key of that story, or the story's bare id or prefix.
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

    /// The stories of an epic, in their order in the file, one row each.
    pub fn stories_of(&self, epic: &str, known: &KnownEpics) -> Vec<(StoryId, &Row)> {
        let mut stories: Vec<(StoryId, bool, &Row)> = Vec::new();
        for row in &self.rows {
            let Some(meant) = keys::read(&row.key, known).filter(|meant| meant.id.epic == epic)
            else {
                continue;
            };
            match stories.iter_mut().find(|(id, _, _)| *id == meant.id) {
                None => stories.push((meant.id, meant.is_key, row)),
                Some(seen) if (meant.is_key, row.in_section) > (seen.1, seen.2.in_section) => {
                    seen.1 = meant.is_key;
                    seen.2 = row;
                }
                Some(_) => {}
            }
        }
        stories.into_iter().map(|(id, _, row)| (id, row)).collect()
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
        }
        assert_eq!(find(USUAL, "9.9"), None);
        assert_eq!(find(USUAL, "2.1"), None);
    }

    #[test]
    fn what_people_write_in_yaml() {
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
        }
        assert_eq!(find("1.10: done\n1.1: review\n", "1.10").unwrap().1, "done");
    }

    #[test]
    fn a_file_that_is_no_yaml_is_read_by_lines() {
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
        let bare = Sprint::read("1.1: done\n1-1-a: review\n1-1: done\n");
        let rows = bare.stories_of("1", &KnownEpics::default());
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].1.key, "1-1-a");
    }
}
