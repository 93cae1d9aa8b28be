//! The part of Markdown that the session file needs: headings, sections and tables. All other lines stay exactly as
//! they are.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

/// A heading outside of code blocks and comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub line: usize,
    pub level: usize,
    pub text: String,
}

pub(super) fn headings(lines: &[String]) -> Vec<Heading> {
    let mut outside = Outside::default();
    let mut found = Vec::new();
    for (line, text) in lines.iter().enumerate() {
        if outside.is_plain(text)
            && let Some((level, text)) = heading(text)
        {
            found.push(Heading { line, level, text: text.to_owned() });
        }
    }
    found
}

/// The lines below a heading, up to the next one of the same or a higher level.
pub(super) fn section(headings: &[Heading], at: usize, end: usize) -> Range<usize> {
    let heading = &headings[at];
    let next = headings[at + 1..].iter().find(|other| other.level <= heading.level);
    heading.line + 1..next.map_or(end, |next| next.line)
}

/// Level and text of a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start();
    let level = rest.len() - rest.trim_start_matches('#').len();
    let text = &rest[level..];
    let is_one =
        indent < 4 && (1..=6).contains(&level) && text.starts_with([' ', '\t', '\r', '\n']);
    let text = text.trim();
    let bare = text.trim_end_matches('#');
    let text = if bare.is_empty() || bare.ends_with(' ') { bare.trim_end() } else { text };
    is_one.then_some((level, text))
}

/// Letters and digits of a text in lower case, to compare titles however they are written.
pub(super) fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Distinguishes plain text from code blocks and comments, line by line.
#[derive(Debug, Default)]
pub(super) struct Outside {
    fence: Option<(char, usize)>,
    comment: bool,
}

impl Outside {
    /// Whether a line is plain text; must be called for every line in order.
    pub(super) fn is_plain(&mut self, line: &str) -> bool {
        if self.comment {
            self.comment = !line.contains("-->");
            return false;
        }
        let mark = fence(line);
        match (self.fence, mark) {
            (Some((char, length)), Some((other, longer, rest))) => {
                if char == other && longer >= length && rest.trim().is_empty() {
                    self.fence = None;
                }
                false
            }
            (Some(_), None) => false,
            (None, Some((char, length, _))) => {
                self.fence = Some((char, length));
                false
            }
            (None, None) => {
                let opened = line.rfind("<!--");
                self.comment = opened.is_some_and(|at| !line[at..].contains("-->"));
                !self.comment && !line.trim_start().starts_with("<!--")
            }
        }
    }

    /// Whether the last line was in an open code block or comment.
    pub(super) fn is_inside(&self) -> bool {
        self.comment || self.fence.is_some()
    }

    /// The line that would close the open code block at the end of the text.
    pub(super) fn closing(&self) -> Option<String> {
        self.fence.map(|(char, length)| char.to_string().repeat(length))
    }
}

fn fence(line: &str) -> Option<(char, usize, &str)> {
    let rest = line.trim_start();
    let char = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let after = rest.trim_start_matches(char);
    let length = rest.len() - after.len();
    let is_one = length >= 3 && !(char == '`' && after.contains('`'));
    is_one.then_some((char, length, after))
}

/// A table: the position of its rows and the names of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// Keys of the column titles.
    pub columns: Vec<String>,
    /// The width of each column in the header.
    pub widths: Vec<usize>,
    pub rows: Range<usize>,
}

impl Table {
    /// The first table among some lines.
    pub(super) fn find(lines: &[String], within: Range<usize>) -> Option<Self> {
        let mut outside = Outside::default();
        let plain: Vec<bool> = lines[within.clone()].iter().map(|l| outside.is_plain(l)).collect();
        let is_row = |at: usize| plain[at - within.start] && !cells(&lines[at]).is_empty();
        let header = within.clone().find(|&at| {
            at + 1 < within.end && is_row(at) && is_row(at + 1) && is_rule(&lines[at + 1])
        })?;
        let titles = cells(&lines[header]);
        let end = (header + 2..within.end).find(|&at| !is_row(at)).unwrap_or(within.end);
        Some(Self {
            columns: titles.iter().map(|cell| key(&lines[header][cell.clone()])).collect(),
            widths: titles.iter().map(|cell| lines[header][cell.clone()].width()).collect(),
            rows: header + 2..end,
        })
    }

    /// The position of the first of these columns that exists.
    pub(super) fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.columns.iter().position(|column| column == name))
    }

    /// The row with another text in one cell.
    pub(super) fn with_cell(&self, line: &str, column: usize, text: &str) -> String {
        with_cell(line, column, text, self.widths.get(column).copied().unwrap_or(0))
    }

    /// A new row with these texts, padded like the header.
    pub(super) fn row(&self, texts: &[String]) -> String {
        let mut row = String::from("|");
        for (at, width) in self.widths.iter().enumerate() {
            row.push_str(&fitted(&escaped(texts.get(at).map_or("", String::as_str)), *width));
            row.push('|');
        }
        row
    }
}

/// The positions of a row's cells; empty if the line is not a row.
fn cells(line: &str) -> Vec<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let end = line.trim_end().len();
    let mut pipes = Vec::new();
    let mut is_escaped = false;
    for (at, c) in line.char_indices().skip_while(|(at, _)| *at < start) {
        if c == '|' && !is_escaped && at < end {
            pipes.push(at);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    if pipes.is_empty() {
        return Vec::new();
    }
    let mut edges: Vec<usize> = pipes.iter().copied().map(|at| at + 1).collect();
    let mut ends = pipes.clone();
    if pipes.first() == Some(&start) {
        ends.remove(0);
    } else {
        edges.insert(0, start);
    }
    if edges.last() == Some(&end) {
        edges.pop();
    } else {
        ends.push(end);
    }
    edges.into_iter().zip(ends).map(|(from, to)| from..to.max(from)).collect()
}

fn is_rule(line: &str) -> bool {
    cells(line).into_iter().all(|cell| {
        let text = line[cell].trim();
        let dashes = text.trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.chars().all(|c| c == '-')
    })
}

/// The text of a cell.
pub(super) fn cell(line: &str, column: usize) -> String {
    let text = cells(line).get(column).map_or("", |cell| line[cell.clone()].trim());
    text.replace("\\|", "|")
}

/// The line with another text in a cell, and everything around it unchanged. The cell keeps its width if the text fits, up to
/// that of its title.
fn with_cell(line: &str, column: usize, text: &str, title: usize) -> String {
    let all = cells(line);
    let text = escaped(text);
    let Some(cell) = all.get(column) else {
        // A row with missing cells: add them.
        let end = line.trim_end().len();
        let bar = if line[..end].ends_with('|') { "" } else { " |" };
        let blank = "  |".repeat(column - all.len());
        return format!("{}{bar}{blank} {text} |{}", &line[..end], &line[end..]);
    };
    let old = &line[cell.clone()];
    if old.trim() == text {
        return line.to_owned();
    }
    let fitted = fitted(&text, old.width().min(title));
    format!("{}{fitted}{}", &line[..cell.start], &line[cell.end..])
}

fn fitted(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text.width() + 2);
    format!(" {text}{} ", " ".repeat(blanks))
}

/// Escapes a text so that it stays in one cell.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('|', "\\|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_inclusive('\n').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn headings_are_told_from_lookalikes() {
        let text = "# A\n```\n# no\n```\n<!-- x\n# no\n-->\n## B ##\n    # no\n#no\n~~~~ sh\n# no\n~~~\n# no\n~~~~\n<!-- one line --> \n### C# \r\n";
        let found: Vec<(usize, String)> =
            headings(&lines(text)).into_iter().map(|h| (h.level, h.text)).collect();
        assert_eq!(found, [(1, "A".to_owned()), (2, "B".to_owned()), (3, "C#".to_owned())]);
    }

    #[test]
    fn tables_in_any_style() {
        for text in [
            "| Pane | Role |\n| --- | --- |\n| %1 | dev |\n\nx | y\n",
            "|Pane|Role|\n|:-:|--:|\n|%1|dev|\n",
            "Pane | Role\n--- | ---\n%1 | dev\n",
            "text\n\n   |  Pane   |Role|\r\n|---|---|\r\n|   %1|  dev  |\r\n",
            "```\n| a | b |\n|---|---|\n```\n| Pane | Role\n|---|---|\n| %1 | dev\n",
        ] {
            let lines = lines(text);
            let table = Table::find(&lines, 0..lines.len()).unwrap();
            assert_eq!(table.columns, ["pane", "role"], "{text:?}");
            let rows: Vec<_> =
                table.rows.clone().map(|at| (cell(&lines[at], 0), cell(&lines[at], 1))).collect();
            assert_eq!(rows, [("%1".to_owned(), "dev".to_owned())], "{text:?}");
        }
    }

    #[test]
    fn only_one_cell_changes() {
        let table = [
            ("| a   | b |\n", 0, "xyz", "| xyz | b |\n"),
            ("| a        | b |\n", 0, "xyz", "| xyz    | b |\n"),
            ("| a   | b |\n", 0, "wxyz", "| wxyz | b |\n"),
            ("| abc | b |\r\n", 0, "x", "| x   | b |\r\n"),
            ("|a|b|", 1, "x", "|a| x |"),
            ("  a | b", 1, "c", "  a | c "),
            ("| a |\n", 2, "x", "| a |  | x |\n"),
            ("| a \\| b | c |\n", 1, "d|e", "| a \\| b | d\\|e |\n"),
            ("| a |\n", 0, "x\ny", "| x y |\n"),
            ("|  a  |\n", 0, "a", "|  a  |\n"),
            ("| 日本 | b |\n", 0, "%1", "| %1   | b |\n"),
        ];
        for (line, column, text, expected) in table {
            assert_eq!(with_cell(line, column, text, 8), expected, "{line:?}");
        }
        assert_eq!(cell("| a \\| b | c |\n", 0), "a | b");
    }
}
