//! Several commands in one `tmux` process: the words to pass, and which output belongs to which command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::nonce::nonce;
use crate::reply::lines;
use crate::{Command, Reply};

/// How many words tmux 3.7 accepts from one process (`command too long`).
pub(crate) const MOST_WORDS: usize = 1000;
/// How many bytes every version accepts, a little less than the 16 kB of one message.
const MOST_BYTES: usize = 16_000;
/// `; display-message -p MARK`
const MARK_WORDS: usize = 4;
const MARK_BYTES: usize = 64;

/// How many of these commands, from the first on, fit into one `tmux` process: at least one, even if tmux would refuse it.
pub fn fitting(commands: &[Command]) -> usize {
    let (mut words, mut bytes) = (0, 0);
    let fits = |command: &Command| {
        // Including the separator before it, and the end of each word.
        words += command.words().count() + 1;
        bytes += command.words().map(|word| word.len() + 2).sum::<usize>() + 2;
        if !command.does_run_on() {
            words += MARK_WORDS;
            bytes += MARK_BYTES;
        }
        words <= MOST_WORDS && bytes <= MOST_BYTES
    };
    commands.iter().map(fits).take_while(|fits| *fits).count().clamp(1, commands.len().max(1))
}

/// Splits into parts for one process each. Commands that share a reply stay together: such a part may be too long, which
/// [`crate::Running::start`] reports.
pub(crate) fn parts(mut commands: &[Command]) -> Vec<&[Command]> {
    let mut parts = Vec::new();
    while !commands.is_empty() {
        let fit = fitting(commands);
        let ends_reply = |at: &usize| *at == commands.len() || !commands[at - 1].does_run_on();
        let end = (1..=fit).rev().find(ends_reply);
        let end = end.or_else(|| (fit..=commands.len()).find(ends_reply));
        let (part, rest) = commands.split_at(end.unwrap_or(commands.len()));
        parts.push(part);
        commands = rest;
    }
    parts
}

/// A chain that can be run, more than once if necessary.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) words: Vec<OsString>,
    pub(crate) stdin: Option<Vec<u8>>,
    /// Whether it begins with a new session, which may start a server.
    pub(crate) creates: bool,
    /// Commands that share a reply are together.
    groups: Vec<Vec<Command>>,
    mark: Option<String>,
}

impl Chain {
    pub(crate) fn new(commands: &[Command]) -> Self {
        let goes_on = |one: &Command, _: &Command| one.does_run_on();
        let groups: Vec<_> = commands.chunk_by(goes_on).map(<[Command]>::to_vec).collect();
        // A mark after every reply shows where it ends and how far the chain got.
        let marked = groups.len() > 1 && !commands.iter().any(takes_stdout_over);
        let mark = marked.then(nonce);
        let mut words: Vec<OsString> = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            if let Some(mark) = mark.as_ref().filter(|_| at > 0) {
                words.extend([";", "display-message", "-p", mark].map(OsString::from));
            }
            for command in group {
                if !words.is_empty() {
                    words.push(";".into());
                }
                words.extend(command.words().map(argv_word));
            }
        }
        Self {
            words,
            stdin: commands.iter().find_map(Command::stdin_bytes).map(<[u8]>::to_vec),
            creates: commands.first().is_some_and(|command| command.name() == "new-session"),
            groups,
            mark,
        }
    }

    /// The number of replies.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether its output may be more than a pipe holds.
    pub(crate) fn prints_much(&self) -> bool {
        const FEW: usize = 8;
        self.groups.iter().any(|group| group.len() > FEW)
    }

    /// The text of the commands of one reply, or of the whole chain where that is unknown.
    pub(crate) fn shown(&self, index: Option<usize>) -> String {
        let group = |group: &Vec<Command>| match group.as_slice() {
            [first, _, ..] => format!("{first} (and {} more)", group.len() - 1),
            commands => commands.first().map(Command::to_string).unwrap_or_default(),
        };
        match index.and_then(|index| self.groups.get(index)) {
            Some(one) => group(one),
            None => self.groups.iter().map(group).collect::<Vec<_>>().join(" ; "),
        }
    }

    /// The reply that was in progress when this output ended.
    pub(crate) fn last_reached(&self, pieces: &[Reply]) -> Option<usize> {
        (self.mark.is_some() || self.len() == 1).then(|| pieces.len().saturating_sub(1))
    }

    /// Every reply that began; the last of them may be incomplete.
    pub(crate) fn split(&self, stdout: Vec<u8>) -> Vec<Reply> {
        let Some(mark) = &self.mark else {
            return self.unmarked(stdout);
        };
        let mut pieces = Vec::with_capacity(self.len());
        let (mut start, mut at) = (0, 0);
        for line in lines(&stdout) {
            if line.strip_suffix(b"\n") == Some(mark.as_bytes()) {
                pieces.push(Reply(stdout[start..at].to_vec()));
                start = at + line.len();
            }
            at += line.len();
        }
        pieces.push(Reply(stdout[start..].to_vec()));
        pieces
    }

    /// Without marks, all output belongs to the last reply.
    fn unmarked(&self, stdout: Vec<u8>) -> Vec<Reply> {
        let mut replies = vec![Reply::default(); self.len()];
        if let Some(last) = replies.last_mut() {
            *last = Reply(stdout);
        }
        replies
    }
}

/// These write the client's stdout as a file; after or before any printing command
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
    fn how_many_commands_fit_into_one_process() {
        let print = || Command::new("display-message").flag('p').arg("x");
        let long = || Command::new("display-message").flag('p').arg("x".repeat(5000));
        let huge = || Command::new("display-message").flag('p').arg("x".repeat(20_000));
        assert_eq!(fitting(&[]), 1);
        assert_eq!(fitting(&[print(), print()]), 2);
        assert_eq!(fitting(&[huge(), print()]), 1, "whether or not tmux takes it");
        assert_eq!(fitting(&[long(), long(), long(), long()]), 3, "by bytes");
        let many = vec![print(); 500];
        let fit = fitting(&many);
        assert!(Chain::new(&many[..fit]).words.len() <= MOST_WORDS);
        assert!(Chain::new(&many[..fit + 2]).words.len() > MOST_WORDS, "no fewer than need be");
        let many = vec![print().runs_on(); 500];
        let fit = fitting(&many);
        assert!(Chain::new(&many[..fit]).words.len() <= MOST_WORDS);
        assert!(fit > 190);
    }

    #[test]
    fn parts_end_where_a_reply_ends() {
        let print = || Command::new("display-message").flag('p').arg("x");
        let lengths =
            |commands: &[Command]| parts(commands).iter().map(|p| p.len()).collect::<Vec<_>>();
        assert!(lengths(&[]).is_empty());
        assert_eq!(lengths(&[print(), print()]), [2]);
        let many = vec![print(); 500];
        let found = lengths(&many);
        assert_eq!(found.iter().sum::<usize>(), 500);
        assert_eq!(found[0], fitting(&many));
        let mut one_reply = vec![print().runs_on(); 500];
        one_reply.push(print());
        let mut all = vec![print(); 3];
        all.extend(one_reply);
        all.push(print());
        assert_eq!(lengths(&all), [3, 501, 1], "too long, but whole");
    }

    #[test]
    fn one_command_has_no_mark() {
        let chain = Chain::new(&[Command::new("list-sessions")]);
        assert_eq!(chain.words, ["list-sessions"]);
        assert_eq!(chain.split(vec![b'a']), [Reply(vec![b'a'])]);
    }

    #[test]
    fn commands_that_share_a_reply_have_no_mark_between() {
        let print = |text: &str| Command::new("display-message").flag('p').arg(text);
        let chain = Chain::new(&[print("a"), print("b").runs_on(), print("c")]);
        let mark = chain.mark.clone().unwrap();
        assert_eq!(chain.words.iter().filter(|word| **word == *mark).count(), 1);
        let pieces = chain.split(format!("a\n{mark}\nb\nc\n").into_bytes());
        assert_eq!(pieces, [Reply(b"a\n".to_vec()), Reply(b"b\nc\n".to_vec())]);
        assert_eq!(chain.shown(Some(1)), "display-message -p -- b (and 1 more)");
        let chain = Chain::new(&[print("b").runs_on(), print("c")]);
        assert_eq!((chain.len(), &chain.mark), (1, &None));
        let printed = b"b\nc\n".to_vec();
        assert_eq!(chain.split(printed.clone()), [Reply(printed)]);
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
