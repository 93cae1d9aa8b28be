//! Several commands in one `tmux` process: the words to pass, and whose output is whose.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::nonce::nonce;
use crate::{Command, Reply};

/// A chain ready to be run, more than once if need be.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) words: Vec<OsString>,
    pub(crate) stdin: Option<Vec<u8>>,
    /// Whether its first act is a new session, which may start a server.
    pub(crate) creates: bool,
    shown: Vec<String>,
    mark: Option<String>,
}

impl Chain {
    pub(crate) fn new(commands: &[Command]) -> Self {
        // A mark after every command tells both where its output ends and how far the chain got.
        let marked = commands.len() > 1 && !commands.iter().any(takes_stdout_over);
        let mark = marked.then(nonce);
        let mut words = Vec::new();
        for (at, command) in commands.iter().enumerate() {
            if at > 0 {
                words.push(";".into());
                if let Some(mark) = &mark {
                    words.extend(["display-message", "-p", mark, ";"].map(OsString::from));
                }
            }
            words.extend(command.words().map(argv_word));
        }
        Self {
            words,
            stdin: commands.iter().find_map(Command::stdin_bytes).map(<[u8]>::to_vec),
            creates: commands.first().is_some_and(|command| command.name() == "new-session"),
            shown: commands.iter().map(Command::to_string).collect(),
            mark,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.len()
    }

    /// The text of the command at `index`, or of the whole chain where that is unknown.
    pub(crate) fn shown(&self, index: Option<usize>) -> String {
        index
            .and_then(|index| self.shown.get(index))
            .map_or_else(|| self.shown.join(" ; "), Clone::clone)
    }

    /// The command that was under way when this output ended.
    pub(crate) fn last_reached(&self, pieces: &[Reply]) -> Option<usize> {
        (self.mark.is_some() || self.len() == 1).then(|| pieces.len().saturating_sub(1))
    }

    /// One reply for every command that was reached; the last of them may be incomplete.
    pub(crate) fn split(&self, stdout: Vec<u8>) -> Vec<Reply> {
        let Some(mark) = &self.mark else {
            return self.unmarked(stdout);
        };
        let mut pieces = vec![Vec::new()];
        for line in stdout.split_inclusive(|&byte| byte == b'\n') {
            if line.strip_suffix(b"\n") == Some(mark.as_bytes()) {
                pieces.push(Vec::new());
            } else if let Some(piece) = pieces.last_mut() {
                piece.extend_from_slice(line);
            }
        }
        pieces.into_iter().map(Reply).collect()
    }

    /// Without marks only the last command is taken to print.
    fn unmarked(&self, stdout: Vec<u8>) -> Vec<Reply> {
        let mut replies = vec![Reply::default(); self.len()];
        if let Some(last) = replies.last_mut() {
            *last = Reply(stdout);
        }
        replies
    }
}

/// These write the client's stdout as a file of their own; after or before any printing command
/// tmux 3.3a answers `-: Bad file descriptor`.
fn takes_stdout_over(command: &Command) -> bool {
    matches!(command.name(), "show-buffer" | "save-buffer")
}

/// tmux takes a `;` at the end of any argv word as a separator unless a backslash precedes it.
fn argv_word(word: &OsStr) -> OsString {
    match word.as_bytes().strip_suffix(b";") {
        Some(start) => OsString::from_vec([start, b"\\;"].concat()),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_last_semicolon_is_escaped() {
        for (word, escaped) in [
            ("a;b", "a;b"),
            (";", "\\;"),
            ("a;", "a\\;"),
            ("a\\;", "a\\\\;"),
            (";;", ";\\;"),
            ("", ""),
        ] {
            assert_eq!(argv_word(OsStr::new(word)), escaped, "{word}");
        }
    }

    #[test]
    fn one_command_has_no_mark() {
        let chain = Chain::new(&[Command::new("list-sessions")]);
        assert_eq!(chain.words, ["list-sessions"]);
        assert_eq!(chain.split(vec![b'a']), [Reply(vec![b'a'])]);
    }

    #[test]
    fn output_is_split_at_the_marks() {
        let print = |text: &str| Command::new("display-message").flag('p').arg(text);
        let chain = Chain::new(&[print("a"), print("b"), print("c")]);
        let mark = chain.mark.clone().unwrap();
        let pieces = chain.split(format!("a\nx{mark}\n{mark}\n{mark}\nc\n").into_bytes());
        let texts: Vec<_> = pieces.iter().map(Reply::text).collect();
        assert_eq!(texts, [format!("a\nx{mark}\n").as_str(), "", "c\n"]);

        let aborted = chain.split(format!("a\n{mark}\n").into_bytes());
        assert_eq!(chain.last_reached(&aborted), Some(1));
        assert_eq!(chain.shown(Some(1)), "display-message -p -- b");
    }
}
