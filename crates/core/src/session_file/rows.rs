//! The two tables: the agents, and the lifecycle of their panes.

use super::boxes::{self, Boxes};
use super::markdown::{self, Table};
use super::{FileProblem, SessionFile};

const AGENTS: &str = "Active Agents";
const PANES: &str = "Pane Lifecycle";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentRow {
    pub pane: String,
    /// tmux's session and window.
    pub session: String,
    pub window: String,
    pub role: String,
    pub status: String,
    pub cwd: String,
    pub name: String,
    /// Who chose the name.
    pub name_source: String,
    pub conversation: String,
}

/// The lifecycle of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRow {
    pub pane: String,
    pub status: PaneStatus,
    pub boxes: Boxes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneStatus {
    Active,
    ReadyToClose,
    Closed,
    /// A person's own word.
    Other(String),
}

impl PaneStatus {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Active => "active",
            Self::ReadyToClose => "ready-to-close",
            Self::Closed => "closed",
            Self::Other(word) => word,
        }
    }

    fn of(text: &str) -> Self {
        match markdown::key(text).as_str() {
            "active" => Self::Active,
            "readytoclose" => Self::ReadyToClose,
            "closed" => Self::Closed,
            _ => Self::Other(text.to_owned()),
        }
    }
}

/// Our column titles and widths, and the keys of titles that a person may use for them.
const AGENT_COLUMNS: [(&str, usize, &[&str]); 9] = [
    ("Pane", 4, PANE),
    ("Session", 10, &["session", "tmuxsession", "sessionname"]),
    ("Window", 6, &["window", "windowid", "tmuxwindow"]),
    ("Role", 11, &["role"]),
    ("Status", 8, STATUS),
    ("CWD", 24, &["cwd", "folder", "projectroot", "directory"]),
    ("Name", 17, &["name", "agentname"]),
    ("Name Source", 11, &["namesource"]),
    ("Conversation ID", 36, &["conversationid", "conversation", "sessionid", "claudesessionid"]),
];
const PANE: &[&str] = &["pane", "paneid", "tmuxpane"];
const STATUS: &[&str] = &["status", "state"];

impl AgentRow {
    fn texts(&self) -> [&str; 9] {
        [
            &self.pane,
            &self.session,
            &self.window,
            &self.role,
            &self.status,
            &self.cwd,
            &self.name,
            &self.name_source,
            &self.conversation,
        ]
    }

    fn of(mut text: impl FnMut(usize) -> String) -> Self {
        Self {
            pane: text(0),
            session: text(1),
            window: text(2),
            role: text(3),
            status: text(4),
            cwd: text(5),
            name: text(6),
            name_source: text(7),
            conversation: text(8),
        }
    }
}

impl SessionFile {
    /// All agents, in the order of the file.
    pub fn agents(&self) -> Vec<AgentRow> {
        let Some(table) = self.table(AGENTS) else { return Vec::new() };
        let columns = AGENT_COLUMNS.map(|(_, _, names)| table.column(names));
        let read = |at: usize| {
            AgentRow::of(|column| {
                columns[column].map_or_else(String::new, |c| markdown::cell(&self.lines[at], c))
            })
        };
        table.rows.map(read).filter(|row| !row.pane.is_empty()).collect()
    }

    /// The agent in a pane: the last row with that pane.
    pub fn agent(&self, pane: &str) -> Option<AgentRow> {
        self.agents().into_iter().rfind(|row| row.pane == pane)
    }

    /// Writes an agent into its row, or into a new one if there is none or its last one is closed. Empty texts change nothing.
    pub fn put_agent(&mut self, row: &AgentRow) -> Result<(), FileProblem> {
        let table = self.agent_table();
        let at = self.row_of(&table, AGENTS, &row.pane)?;
        let columns = AGENT_COLUMNS.map(|(_, _, names)| table.column(names));
        let texts = columns.into_iter().zip(row.texts());
        match at.filter(|at| !self.is_closed(&table, *at)) {
            Some(at) => {
                for (column, text) in texts {
                    if let Some(column) = column.filter(|_| !text.is_empty()) {
                        self.lines[at] = table.with_cell(&self.lines[at], column, text);
                    }
                }
            }
            None => self.add_row(&table, texts),
        }
        Ok(())
    }

    pub fn panes(&self) -> Vec<PaneRow> {
        let Some(table) = self.table(PANES) else { return Vec::new() };
        let (Some(pane), status) = (table.column(PANE), table.column(STATUS)) else {
            return Vec::new();
        };
        let read = |at: usize| {
            let line = &self.lines[at];
            PaneRow {
                pane: markdown::cell(line, pane),
                status: PaneStatus::of(
                    &status.map_or_else(String::new, |c| markdown::cell(line, c)),
                ),
                boxes: Boxes::of(self.ticks(&table, at)),
            }
        };
        table.rows.clone().map(read).filter(|row| !row.pane.is_empty()).collect()
    }

    /// The lifecycle of a pane: the last row with that number.
    pub fn pane(&self, pane: &str) -> Option<PaneRow> {
        self.panes().into_iter().rfind(|row| row.pane == pane)
    }

    /// Writes a pane's lifecycle into its row, or into a new one if there is none or its last one is closed.
    pub fn put_pane(&mut self, row: &PaneRow) -> Result<(), FileProblem> {
        let table = self.pane_table();
        let at = self.row_of(&table, PANES, &row.pane)?;
        if at.is_none_or(|at| self.is_closed(&table, at)) {
            let texts = [(table.column(PANE), row.pane.as_str())];
            self.add_row(&table, texts);
        }
        // Find the table again: it may have one more row now.
        let table = self.pane_table();
        let Some(at) = self.row_of(&table, PANES, &row.pane)? else { return Ok(()) };
        if let Some(status) = table.column(STATUS) {
            self.lines[at] = table.with_cell(&self.lines[at], status, row.status.as_str());
        }
        self.tick(&table, at, row.boxes.values());
        Ok(())
    }

    pub(super) fn agent_table(&mut self) -> Table {
        self.table_or_new(AGENTS, &AGENT_COLUMNS.map(|(title, width, _)| (title, width)))
    }

    pub(super) fn pane_table(&mut self) -> Table {
        let [a, b, c, d] = boxes::TITLES;
        self.table_or_new(PANES, &[("Pane", 4), ("Status", 14), (a, 0), (b, 0), (c, 0), (d, 0)])
    }

    fn table(&self, title: &str) -> Option<Table> {
        Table::find(&self.lines, self.section(title)?)
    }

    /// The table under a title; created if missing, in that section or in a new one.
    fn table_or_new(&mut self, title: &str, columns: &[(&str, usize)]) -> Table {
        if let Some(table) = self.table(title) {
            return table;
        }
        let titles: Vec<String> =
            columns.iter().map(|(title, width)| format!("{title:<width$}")).collect();
        let header = format!("| {} |", titles.join(" | "));
        let rules: Vec<String> = titles.iter().map(|title| "-".repeat(title.len())).collect();
        let rule = format!("| {} |", rules.join(" | "));
        match self.section(title) {
            Some(section) => {
                self.insert(section.start, [String::new(), header, rule]);
            }
            None => self.append_section(title, &[header, rule]),
        }
        // It was just created; if it were not found, an empty one changes nothing.
        self.table(title).unwrap_or(Table { columns: Vec::new(), widths: Vec::new(), rows: 0..0 })
    }

    fn row_of(
        &self,
        table: &Table,
        section: &'static str,
        pane: &str,
    ) -> Result<Option<usize>, FileProblem> {
        let column = table.column(PANE).ok_or(FileProblem::NoPaneColumn { section })?;
        Ok(table.rows.clone().rfind(|at| markdown::cell(&self.lines[*at], column) == pane))
    }

    fn is_closed(&self, table: &Table, at: usize) -> bool {
        let status = table.column(STATUS).map(|column| markdown::cell(&self.lines[at], column));
        status.is_some_and(|status| PaneStatus::of(&status) == PaneStatus::Closed)
    }

    fn add_row<'t>(
        &mut self,
        table: &Table,
        texts: impl IntoIterator<Item = (Option<usize>, &'t str)>,
    ) {
        let mut row = vec![String::new(); table.columns.len()];
        for (column, text) in texts {
            if let Some(cell) = column.and_then(|column| row.get_mut(column)) {
                text.clone_into(cell);
            }
        }
        self.insert(table.rows.end, [table.row(&row)]);
    }

    fn ticks(&self, table: &Table, at: usize) -> [bool; 4] {
        let line = &self.lines[at];
        let all = self
            .cell_with_all(table, at)
            .and_then(|c| boxes::in_one_cell(&markdown::cell(line, c)));
        all.unwrap_or_else(|| {
            boxes::KEYS.map(|names| {
                table.column(names).is_some_and(|c| boxes::is_ticked(&markdown::cell(line, c)))
            })
        })
    }

    fn tick(&mut self, table: &Table, at: usize, values: [bool; 4]) {
        if let Some(column) = self.cell_with_all(table, at) {
            let text = markdown::cell(&self.lines[at], column);
            let text = if text.is_empty() { boxes::all_in_one_cell() } else { text };
            let text = boxes::set_in_one_cell(&text, values);
            self.lines[at] = table.with_cell(&self.lines[at], column, &text);
            return;
        }
        for (names, value) in boxes::KEYS.into_iter().zip(values) {
            if let Some(column) = table.column(names) {
                let text = boxes::set(&markdown::cell(&self.lines[at], column), value);
                self.lines[at] = table.with_cell(&self.lines[at], column, &text);
            }
        }
    }

    /// The cell with all boxes, in tables without a column for each.
    fn cell_with_all(&self, table: &Table, at: usize) -> Option<usize> {
        if boxes::KEYS.iter().any(|names| table.column(names).is_some()) {
            return None;
        }
        let has_all =
            |c: &usize| boxes::in_one_cell(&markdown::cell(&self.lines[at], *c)).is_some();
        (0..table.columns.len()).find(has_all).or_else(|| table.column(&boxes::ALL_IN_ONE))
    }
}
