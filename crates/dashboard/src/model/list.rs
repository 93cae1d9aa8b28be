//! The queue: order, groups, filter, and a selection that follows its session.

use dogwatch_core::attention::queue_order;
use dogwatch_protocol::id::SessionId;

use super::{Row, State, short_path};

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Group { title: String, count: usize },
    Row(SessionId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// What needs a person first.
    #[default]
    Need,
    Name,
    /// The newest change first.
    Change,
}

impl Sort {
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Need => Self::Name,
            Self::Name => Self::Change,
            Self::Change => Self::Need,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Need => "what needs you first",
            Self::Name => "by name",
            Self::Change => "newest change first",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Group {
    #[default]
    None,
    Project,
    Tag,
    Role,
    Run,
    Host,
}

impl Group {
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::None => Self::Project,
            Self::Project => Self::Tag,
            Self::Tag => Self::Role,
            Self::Role => Self::Run,
            Self::Run => Self::Host,
            Self::Host => Self::None,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::None => "no groups",
            Self::Project => "grouped by project",
            Self::Tag => "grouped by tag",
            Self::Role => "grouped by role",
            Self::Run => "grouped by run",
            Self::Host => "grouped by host",
        }
    }
}

impl State {
    /// Puts the rows in order again. The selection stays on its session; if that is gone, it goes to the one in its place.
    pub fn arrange(&mut self) {
        let words: Vec<String> =
            self.filter.to_lowercase().split_whitespace().map(ToOwned::to_owned).collect();
        let mut rows: Vec<&Row> =
            self.rows.values().filter(|row| self.is_wanted(row, &words)).collect();
        match self.sort {
            Sort::Need => {
                rows.sort_by_key(|row| {
                    queue_order(self.place(row), row.verdict.since, row.created)
                });
            }
            Sort::Name => rows.sort_by_cached_key(|row| row.called()),
            Sort::Change => rows.sort_by_key(|row| std::cmp::Reverse(row.verdict.since)),
        }
        let entries = self.grouped(&rows);
        self.entries = entries;
        let ids = self.listed();
        let at = ids.iter().position(|id| Some(*id) == self.selected.as_ref());
        let at = at.or_else(|| {
            let last = ids.len().checked_sub(1)?;
            Some(if self.selected.is_some() { self.last_index.min(last) } else { 0 })
        });
        let selected = at.map(|at| ids[at].clone());
        self.last_index = at.unwrap_or(0);
        if selected != self.selected {
            self.selected = selected;
            self.rest_preview();
        }
    }

    fn is_wanted(&self, row: &Row, words: &[String]) -> bool {
        if self.only_project && row.project != self.around.project {
            return false;
        }
        if words.is_empty() {
            return true;
        }
        let haystack = row.haystack(self.around.home.as_deref());
        words.iter().all(|word| haystack.contains(word))
    }

    fn grouped(&self, rows: &[&Row]) -> Vec<Entry> {
        if self.group == Group::None {
            return rows.iter().map(|row| Entry::Row(row.id.clone())).collect();
        }
        // Groups come in the order of their first row.
        let mut groups: Vec<(String, Vec<SessionId>)> = Vec::new();
        for row in rows {
            let title = self.group_of(row);
            match groups.iter_mut().find(|(known, _)| *known == title) {
                Some((_, ids)) => ids.push(row.id.clone()),
                None => groups.push((title, vec![row.id.clone()])),
            }
        }
        let entries = groups.into_iter().flat_map(|(title, ids)| {
            let head = Entry::Group { title, count: ids.len() };
            std::iter::once(head).chain(ids.into_iter().map(Entry::Row))
        });
        entries.collect()
    }

    fn group_of(&self, row: &Row) -> String {
        let home = self.around.home.as_deref();
        let or_none =
            |text: Option<String>, what: &str| text.unwrap_or_else(|| format!("no {what}"));
        match self.group {
            Group::None => String::new(),
            Group::Project => short_path(&row.project, home),
            Group::Tag => or_none((!row.tags.is_empty()).then(|| row.tags.join(", ")), "tag"),
            Group::Role => or_none(row.role.clone(), "role"),
            Group::Run => or_none(row.run.as_ref().map(|run| format!("run {run}")), "run"),
            Group::Host => self.around.host.clone(),
        }
    }

    /// The sessions of the list, from top to bottom.
    pub fn listed(&self) -> Vec<&SessionId> {
        let ids = self.entries.iter().filter_map(|entry| match entry {
            Entry::Row(id) => Some(id),
            Entry::Group { .. } => None,
        });
        ids.collect()
    }

    /// The position of the selected session among the listed ones.
    pub fn index(&self) -> Option<usize> {
        self.listed().iter().position(|id| Some(*id) == self.selected.as_ref())
    }

    /// Selects the session at that position; the one that was selected before, if it is another.
    pub fn select_at(&mut self, at: usize) -> Option<SessionId> {
        let id = (*self.listed().get(at)?).clone();
        self.last_index = at;
        self.select(id)
    }

    pub fn select(&mut self, id: SessionId) -> Option<SessionId> {
        if self.selected.as_ref() == Some(&id) {
            return None;
        }
        let before = self.selected.replace(id);
        self.last_index = self.index().unwrap_or(0);
        self.rest_preview();
        before
    }

    /// The next session after the selected one that needs a person, going round.
    pub fn next_in_need(&self, backwards: bool) -> Option<SessionId> {
        let ids = self.listed();
        let count = ids.len();
        let here = self.index().unwrap_or(0);
        let needs =
            |id: &SessionId| self.rows.get(id).is_some_and(|row| self.place(row).needs_you());
        (1..=count)
            .map(
                |step| {
                    if backwards { (here + count - step) % count } else { (here + step) % count }
                },
            )
            .map(|at| ids[at])
            .find(|id| needs(id))
            .cloned()
    }

    /// The preview as it is when a session is selected.
    pub fn rest_preview(&mut self) {
        self.scroll = 0;
        self.page = None;
    }
}
