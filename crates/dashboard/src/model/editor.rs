//! Text over several lines that is being written.

/// Lines and a cursor, by characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Default for Editor {
    fn default() -> Self {
        Self { lines: vec![Vec::new()], row: 0, column: 0 }
    }
}

impl Editor {
    /// With this text, and the cursor at its end.
    pub fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    pub fn text(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.iter().collect()).collect();
        lines.join("\n")
    }

    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.lines.iter().map(|line| line.iter().collect())
    }

    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Line and column of the cursor.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    pub fn insert(&mut self, text: &str) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            if c == '\n' {
                let rest = self.lines[self.row].split_off(self.column);
                self.lines.insert(self.row + 1, rest);
                self.row += 1;
                self.column = 0;
            } else if !c.is_control() || c == '\t' {
                self.lines[self.row].insert(self.column, c);
                self.column += 1;
            }
        }
    }

    pub fn backspace(&mut self) {
        if self.column > 0 {
            self.column -= 1;
            self.lines[self.row].remove(self.column);
        } else if self.row > 0 {
            let rest = self.lines.remove(self.row);
            self.row -= 1;
            self.column = self.lines[self.row].len();
            self.lines[self.row].extend(rest);
        }
    }

    pub fn delete(&mut self) {
        if self.column < self.lines[self.row].len() {
            self.lines[self.row].remove(self.column);
        } else if self.row + 1 < self.lines.len() {
            let rest = self.lines.remove(self.row + 1);
            self.lines[self.row].extend(rest);
        }
    }

    pub fn left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.lines[self.row].len();
        }
    }

    pub fn right(&mut self) {
        if self.column < self.lines[self.row].len() {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        }
    }

    pub fn up(&mut self) {
        self.row = self.row.saturating_sub(1);
        self.column = self.column.min(self.lines[self.row].len());
    }

    pub fn down(&mut self) {
        self.row = (self.row + 1).min(self.lines.len() - 1);
        self.column = self.column.min(self.lines[self.row].len());
    }

    pub fn home(&mut self) {
        self.column = 0;
    }

    pub fn end(&mut self) {
        self.column = self.lines[self.row].len();
    }

    /// Removes the word before the cursor.
    pub fn erase_word(&mut self) {
        let line = &mut self.lines[self.row];
        let before = &line[..self.column];
        let word = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |at| at + 1);
        let start = before[..word].iter().rposition(|c| c.is_whitespace()).map_or(0, |at| at + 1);
        line.drain(start..self.column);
        self.column = start;
    }

    /// Removes what is before the cursor on its line.
    pub fn erase_line(&mut self) {
        self.lines[self.row].drain(..self.column);
        self.column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_over_several_lines() {
        let mut editor = Editor::default();
        editor.insert("one\r\ntwo words\u{7}");
        assert_eq!((editor.text().as_str(), editor.cursor()), ("one\ntwo words", (1, 9)));
        editor.erase_word();
        assert_eq!(editor.text(), "one\ntwo ");
        editor.home();
        editor.backspace();
        assert_eq!((editor.text().as_str(), editor.cursor()), ("onetwo ", (0, 3)));
        editor.insert("\n");
        editor.up();
        editor.end();
        editor.delete();
        assert_eq!(editor.text(), "onetwo ");
        editor.left();
        editor.right();
        editor.right();
        editor.down();
        editor.erase_line();
        assert_eq!(editor.text(), "wo ");
    }
}
