//! A shell command taken apart as far as it takes to see which programs run, and whose exit code is left at the end.
//! What is inside of `$(…)`, backticks and quotes is a word; here-documents are left out.

/// What follows a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    And,
    Or,
    /// `;`, or the end of a line.
    Next,
    /// `&`
    Background,
    End,
}

/// Programs joined by pipes, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pipeline {
    /// The words of each program, without redirections.
    pub(super) stages: Vec<Vec<String>>,
    pub(super) then: Then,
}

/// `None` if a quote is not closed.
pub(super) fn pipelines(text: &str) -> Option<Vec<Pipeline>> {
    Reader { rest: text.chars().collect(), at: 0, here: Vec::new() }.read()
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    /// Ends of here-documents that begin on the next line.
    here: Vec<String>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn read(mut self) -> Option<Vec<Pipeline>> {
        let mut found = Vec::new();
        let mut stages: Vec<Vec<String>> = vec![Vec::new()];
        let mut close = |stages: &mut Vec<Vec<String>>, then| {
            let stages = std::mem::replace(stages, vec![Vec::new()]);
            let stages: Vec<_> = stages.into_iter().filter(|words| !words.is_empty()).collect();
            if !stages.is_empty() {
                found.push(Pipeline { stages, then });
            }
        };
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('&', Some('&')) => {
                    self.at += 2;
                    close(&mut stages, Then::And);
                }
                ('|', Some('|')) => {
                    self.at += 2;
                    close(&mut stages, Then::Or);
                }
                ('&', Some('>')) | ('(' | ')', _) => self.at += 1,
                ('|', next) => {
                    self.at += if next == Some('&') { 2 } else { 1 };
                    stages.push(Vec::new());
                }
                ('&', _) => {
                    self.at += 1;
                    close(&mut stages, Then::Background);
                }
                ('\n', _) => {
                    self.at += 1;
                    close(&mut stages, Then::Next);
                    self.skip_here_documents();
                }
                (';', _) => {
                    self.at += 1;
                    close(&mut stages, Then::Next);
                }
                ('>' | '<', _) => self.redirection()?,
                ('#', _) if self.at == 0 || is_blank(self.rest[self.at - 1]) => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ('\\', Some('\n')) => self.at += 2,
                _ if is_blank(c) => self.at += 1,
                _ => {
                    let word = self.word()?;
                    let is_number = word.bytes().all(|b| b.is_ascii_digit());
                    let is_descriptor = is_number && matches!(self.peek(0), Some('>' | '<'));
                    let is_brace = word == "{" || word == "}";
                    if !is_descriptor && !is_brace {
                        stages.last_mut()?.push(word);
                    }
                }
            }
        }
        close(&mut stages, Then::End);
        Some(found)
    }

    /// `> file`, `2>&1`, `<<EOF`: without its target.
    fn redirection(&mut self) -> Option<()> {
        let is_here = self.peek(0) == Some('<') && self.peek(1) == Some('<');
        let is_string = is_here && self.peek(2) == Some('<');
        while matches!(self.peek(0), Some('>' | '<' | '&' | '-')) {
            self.at += 1;
        }
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        if self.peek(0).is_some_and(|c| !"\n;|()".contains(c)) {
            let target = self.word()?;
            if is_here && !is_string {
                self.here.push(target);
            }
        }
        Some(())
    }

    fn skip_here_documents(&mut self) {
        for end in std::mem::take(&mut self.here) {
            loop {
                let line: String =
                    self.rest[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.rest.len());
                if line.trim_start_matches('\t') == end || self.at >= self.rest.len() {
                    break;
                }
            }
        }
    }

    /// A word, without its quotes.
    fn word(&mut self) -> Option<String> {
        let mut word = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                '\'' => {
                    self.at += 1;
                    self.until('\'', false, &mut word)?;
                }
                '"' => {
                    self.at += 1;
                    self.until('"', true, &mut word)?;
                }
                '`' => {
                    self.at += 1;
                    word.push('`');
                    self.until('`', true, &mut word)?;
                    word.push('`');
                }
                '$' if self.peek(1) == Some('(') => self.substitution(&mut word)?,
                '\\' => {
                    word.extend(self.peek(1));
                    self.at += 2;
                }
                _ if is_blank(c) || "\n;|&<>()".contains(c) => break,
                _ => {
                    word.push(c);
                    self.at += 1;
                }
            }
        }
        Some(word)
    }

    fn until(&mut self, end: char, escapes: bool, word: &mut String) -> Option<()> {
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            if c == end {
                return Some(());
            }
            if escapes && c == '\\' && self.peek(0).is_some_and(|next| "\"\\$`\n".contains(next)) {
                word.extend(self.peek(0).filter(|next| *next != '\n'));
                self.at += 1;
            } else {
                word.push(c);
            }
        }
    }

    fn substitution(&mut self, word: &mut String) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            word.push(c);
            match c {
                '(' => depth += 1,
                ')' if depth == 1 => return Some(()),
                ')' => depth -= 1,
                _ => {}
            }
        }
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || c == '\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let Some(all) = pipelines(text) else { return "?".to_owned() };
        let one = |p: &Pipeline| {
            let stages: Vec<String> = p.stages.iter().map(|words| words.join(" ")).collect();
            let then = match p.then {
                Then::And => " &&",
                Then::Or => " ||",
                Then::Next => " ;",
                Then::Background => " &",
                Then::End => "",
            };
            format!("{}{then}", stages.join(" | "))
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commands_taken_apart() {
        for (text, expected) in [
            ("cargo test", "cargo test"),
            ("cd 'a b' && make test 2>&1 | tail -5", "cd a b && make test | tail -5"),
            ("a; b\nc & d || e", "a ; b ; c & d || e"),
            ("echo 'cargo test; x' \"a && b\"", "echo cargo test; x a && b"),
            ("x=$(cargo test; true) y", "x=$(cargo test; true) y"),
            ("(cd x && make)", "cd x && make"),
            ("a > out.txt 2>&1; b < in >>c", "a ; b"),
            ("a &> out; b", "a ; b"),
            ("cat <<'EOF' > f\ncargo test\nEOF\nls", "cat ; ls"),
            ("cat <<-EOF\n\tx\n\tEOF\nls", "cat ; ls"),
            ("cat <<EOF\nnever closed", "cat ;"),
            ("ls # cargo test", "ls"),
            ("a \\\n  b", "a b"),
            ("{ a; b; }", "a ; b ;"),
            ("echo 'open", "?"),
            ("echo $(open", "?"),
            ("", ""),
            ("| | ;;", ""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n]{0,60}|\\PC{0,30}") {
            let _ = pipelines(&text);
        }
    }
}
