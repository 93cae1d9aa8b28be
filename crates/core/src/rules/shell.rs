//! Reads a command line as a shell would, as far as that is certain from the text alone.
//!
//! This is no shell parser: of everything that depends on more than the text (variables, file name patterns, functions), that can
//! hide a command, or that writes to a file, it says that it is not certain. Crates that parse all of a shell's language
//! would leave that decision to us, node by node, and a node that we forgot would be a hole.

use std::iter::Peekable;
use std::str::Chars;

/// Longer lines are not read.
const MAX_LENGTH: usize = 64 * 1024;
/// The only file that a command may read from or write to without being asked about.
const NULL_DEVICE: &str = "/dev/null";
/// Words that begin something other than a command.
const KEYWORDS: [&str; 20] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// A command and its arguments, quotes removed.
pub type Words = Vec<String>;

/// Why it is not certain what a line runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Uncertain {
    #[error("it is longer than 64 KB")]
    TooLong,
    #[error("it contains a control or invisible character")]
    Invisible,
    #[error("a quote is not closed")]
    OpenQuote,
    #[error("a line ends in a backslash")]
    Continuation,
    #[error("it contains $ or a backquote")]
    Expansion,
    #[error("it contains a file name pattern or braces")]
    Pattern,
    #[error("it contains ~")]
    Home,
    #[error("it reads from or writes to a file")]
    Redirection,
    #[error("it runs something in the background")]
    Background,
    #[error("it contains a subshell")]
    Subshell,
    #[error("it contains a comment")]
    Comment,
    #[error("it sets a variable")]
    Assignment,
    #[error("it contains a shell keyword")]
    Keyword,
    #[error("a command is missing beside an operator")]
    Incomplete,
}

/// All commands that a line runs, whatever joins them (`;`, `&&`, `||`, `|`, a new line).
pub fn commands(line: &str) -> Result<Vec<Words>, Uncertain> {
    if line.len() > MAX_LENGTH {
        return Err(Uncertain::TooLong);
    }
    if line.chars().any(is_invisible) {
        return Err(Uncertain::Invisible);
    }
    let mut reader = Reader {
        rest: line.chars().peekable(),
        commands: vec![],
        words: vec![],
        word: None,
        is_quoted: false,
        wants_command: false,
    };
    while let Some(letter) = reader.rest.next() {
        reader.take(letter)?;
    }
    reader.end_command(false)?;
    if reader.wants_command || reader.commands.is_empty() {
        return Err(Uncertain::Incomplete);
    }
    Ok(reader.commands)
}

/// A person who reads the line does not see it, or sees something else.
fn is_invisible(letter: char) -> bool {
    let is_plain = matches!(letter, ' ' | '\t' | '\n');
    let is_format = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{e0000}'..='\u{e0fff}');
    !is_plain && (letter.is_control() || letter.is_whitespace() || is_format)
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Words>,
    /// Of the command being read.
    words: Words,
    /// The word being read; an empty one in quotes is one too.
    word: Option<String>,
    /// A part of it was in quotes, or behind a backslash.
    is_quoted: bool,
    /// An operator was read that needs a command after it.
    wants_command: bool,
}

impl Reader<'_> {
    fn take(&mut self, letter: char) -> Result<(), Uncertain> {
        let is_first = self.word.is_none();
        match letter {
            ' ' | '\t' => return self.end_word(),
            '\n' => return self.end_command(false),
            ';' if self.rest.peek() == Some(&';') => return Err(Uncertain::Keyword),
            ';' => {
                self.end_command(true)?;
                self.wants_command = false;
            }
            '&' => match self.rest.next() {
                Some('&') => self.end_command(true)?,
                // `&> /dev/null`
                Some('>') => {
                    self.end_word()?;
                    self.redirection()?;
                }
                _ => return Err(Uncertain::Background),
            },
            '|' => {
                if self.rest.next_if_eq(&'|').is_none() && self.rest.peek() == Some(&'&') {
                    return Err(Uncertain::Redirection);
                }
                self.end_command(true)?;
            }
            '>' | '<' => {
                // `2>`: a number right before it is no word.
                let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
                if !self.is_quoted && self.word.as_ref().is_some_and(is_number) {
                    self.word = None;
                }
                self.end_word()?;
                self.redirection()?;
            }
            '(' | ')' => return Err(Uncertain::Subshell),
            '$' | '`' => return Err(Uncertain::Expansion),
            '*' | '?' | '[' | '{' | '}' => return Err(Uncertain::Pattern),
            '~' if is_first
                || self.word.as_ref().is_some_and(|word| word.ends_with(['=', ':'])) =>
            {
                return Err(Uncertain::Home);
            }
            '#' if is_first => return Err(Uncertain::Comment),
            // zsh: the path of a program.
            '=' if is_first => return Err(Uncertain::Expansion),
            '\\' => match self.rest.next() {
                None | Some('\n') => return Err(Uncertain::Continuation),
                Some(letter) => {
                    self.is_quoted = true;
                    self.push(letter);
                }
            },
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            letter => self.push(letter),
        }
        Ok(())
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn single_quoted(&mut self) -> Result<(), Uncertain> {
        self.is_quoted = true;
        self.word.get_or_insert_default();
        loop {
            match self.rest.next() {
                None => return Err(Uncertain::OpenQuote),
                Some('\'') => return Ok(()),
                Some(letter) => self.push(letter),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), Uncertain> {
        self.is_quoted = true;
        self.word.get_or_insert_default();
        loop {
            match self.rest.next() {
                None => return Err(Uncertain::OpenQuote),
                Some('"') => return Ok(()),
                Some('$' | '`') => return Err(Uncertain::Expansion),
                Some('\\') => match self.rest.next() {
                    None => return Err(Uncertain::OpenQuote),
                    Some('\n') => return Err(Uncertain::Continuation),
                    Some(letter @ ('$' | '`' | '"' | '\\')) => self.push(letter),
                    Some(letter) => {
                        self.push('\\');
                        self.push(letter);
                    }
                },
                Some(letter) => self.push(letter),
            }
        }
    }

    /// After `>` or `<`: another descriptor (`2>&1`) or the null device, and nothing else.
    fn redirection(&mut self) -> Result<(), Uncertain> {
        let appends = self.rest.next_if_eq(&'>').is_some();
        let mut target = String::new();
        let is_descriptor = self.rest.next_if_eq(&'&').is_some();
        // zsh: `>>&1` appends to a file of that name.
        if appends && is_descriptor {
            return Err(Uncertain::Redirection);
        }
        if !is_descriptor {
            while self.rest.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        }
        while let Some(letter) =
            self.rest.next_if(|letter| !matches!(letter, ' ' | '\t' | '\n' | ';' | '&' | '|'))
        {
            target.push(letter);
        }
        let is_harmless = if is_descriptor {
            matches!(target.as_str(), "1" | "2")
        } else {
            target == NULL_DEVICE
        };
        if is_harmless { Ok(()) } else { Err(Uncertain::Redirection) }
    }

    fn end_word(&mut self) -> Result<(), Uncertain> {
        self.is_quoted = false;
        let Some(word) = self.word.take() else { return Ok(()) };
        if self.words.is_empty() {
            if is_assignment(&word) {
                return Err(Uncertain::Assignment);
            }
            if KEYWORDS.contains(&word.as_str()) {
                return Err(Uncertain::Keyword);
            }
        }
        self.words.push(word);
        Ok(())
    }

    /// Ends a command; before an operator there must be one.
    fn end_command(&mut self, at_operator: bool) -> Result<(), Uncertain> {
        self.end_word()?;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
            self.wants_command = at_operator;
        } else if at_operator {
            return Err(Uncertain::Incomplete);
        }
        Ok(())
    }
}

/// `NAME=…`, `NAME+=…`: of `NAME[…]=` the bracket has been refused.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::Uncertain::*;
    use super::*;

    #[test]
    fn what_is_certain() {
        let table: [(&str, &[&[&str]]); 15] = [
            ("cargo test", &[&["cargo", "test"]]),
            ("  cargo\ttest  ", &[&["cargo", "test"]]),
            ("git commit -m 'a b; c' \"d e\"", &[&["git", "commit", "-m", "a b; c", "d e"]]),
            (r#"echo "a\"b\\c\d" x\ y"#, &[&["echo", r#"a"b\c\d"#, "x y"]]),
            ("echo ''", &[&["echo", ""]]),
            ("echo a''b\"c\"", &[&["echo", "abc"]]),
            ("a && b || c; d | e", &[&["a"], &["b"], &["c"], &["d"], &["e"]]),
            ("a;", &[&["a"]]),
            ("a\nb\n\n", &[&["a"], &["b"]]),
            ("a &&\n b", &[&["a"], &["b"]]),
            ("cargo test 2>&1 | tail -20", &[&["cargo", "test"], &["tail", "-20"]]),
            ("make >/dev/null 2> /dev/null </dev/null &>/dev/null", &[&["make"]]),
            ("git show HEAD~1 a#b --x=y", &[&["git", "show", "HEAD~1", "a#b", "--x=y"]]),
            ("echo ''2>&1 \\2>&1 '2'>&1", &[&["echo", "2", "2", "2"]]),
            ("echo größe 日本", &[&["echo", "größe", "日本"]]),
        ];
        for (line, want) in table {
            assert_eq!(
                commands(line).as_deref(),
                Ok(&*want
                    .iter()
                    .map(|c| c.iter().map(|w| (*w).to_owned()).collect())
                    .collect::<Vec<Words>>()),
                "{line:?}"
            );
        }
    }

    #[test]
    fn what_is_not_certain() {
        let table = [
            ("echo $(rm -rf /)", Expansion),
            ("echo `rm -rf /`", Expansion),
            ("echo \"$(rm x)\"", Expansion),
            ("echo \"`rm x`\"", Expansion),
            ("echo $HOME", Expansion),
            ("echo $'a'", Expansion),
            ("=ls", Expansion),
            ("rm *.o", Pattern),
            ("rm a?", Pattern),
            ("rm [ab]", Pattern),
            ("rm {a,b}", Pattern),
            ("{ rm x; }", Pattern),
            ("rm ~/x", Home),
            ("cp --to=~/x", Home),
            ("cargo test > out", Redirection),
            ("cargo test >> /dev/sda", Redirection),
            ("cargo test >/dev/null/../sda", Redirection),
            ("cat < secret", Redirection),
            ("cat << END\nEND", Redirection),
            ("a <<< b", Redirection),
            ("a >| b", Redirection),
            ("a >&file", Redirection),
            ("a 2>&-", Redirection),
            ("a >>&1", Redirection),
            ("a |& b", Redirection),
            ("a <(b)", Redirection),
            ("a & rm x", Background),
            ("a &", Background),
            ("(rm x)", Subshell),
            ("f() { rm x; }", Subshell),
            ("a # b", Comment),
            ("#a", Comment),
            ("LD_PRELOAD=x cargo test", Assignment),
            ("A+=x cargo test", Assignment),
            ("'A'=x cargo test", Assignment),
            ("if true", Keyword),
            ("! cargo test", Keyword),
            ("time cargo test", Keyword),
            ("a ;; b", Keyword),
            ("echo 'a", OpenQuote),
            ("echo \"a", OpenQuote),
            ("echo \"a\\", OpenQuote),
            ("echo a\\", Continuation),
            ("cargo te\\\nst", Continuation),
            ("a\rb", Invisible),
            ("a\0b", Invisible),
            ("a\u{a0}b", Invisible),
            ("a\u{202e}b", Invisible),
            ("a\u{200b}b", Invisible),
            ("echo '\u{1b}[8m'", Invisible),
            ("a &&", Incomplete),
            ("&& a", Incomplete),
            ("a | | b", Incomplete),
            (";", Incomplete),
            ("", Incomplete),
            (" \n ", Incomplete),
        ];
        for (line, want) in table {
            assert_eq!(commands(line), Err(want), "{line:?}");
        }
        assert_eq!(commands(&"a".repeat(70_000)), Err(TooLong));
    }
}
