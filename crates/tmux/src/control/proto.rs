//! Parses tmux's side of the protocol: bytes to events. Pure.

use super::Note;
use crate::Reply;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// The end of a command. `ours` distinguishes a command of this client from one that a hook ran.
    Reply {
        ours: bool,
        ok: bool,
        body: Reply,
    },
    Note(Note),
    /// The client is being closed, with tmux's reason if there is one.
    Exit {
        reason: String,
    },
}

/// Cuts a stream of bytes into events, however the bytes arrive.
#[derive(Debug, Default)]
pub(super) struct Parser {
    partial: Vec<u8>,
    block: Option<Block>,
}

/// A reply in progress. Its text can contain any line, even `%end 1 2 1`, so only the guard that
/// opened it closes it; tmux never puts a notification inside.
#[derive(Debug)]
struct Block {
    /// `time number flags` as received.
    guard: Vec<u8>,
    body: Vec<u8>,
}

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                None => self.partial.extend_from_slice(piece),
                Some(end) if self.partial.is_empty() => events.extend(self.line(end)),
                Some(end) => {
                    let mut line = std::mem::take(&mut self.partial);
                    line.extend_from_slice(end);
                    events.extend(self.line(&line));
                }
            }
        }
        events
    }

    fn line(&mut self, line: &[u8]) -> Option<Event> {
        if let Some(block) = self.block.take() {
            return self.block_line(block, line);
        }
        if let Some(guard) = line.strip_prefix(b"%begin ") {
            self.block = Some(Block { guard: guard.to_vec(), body: Vec::new() });
            return None;
        }
        if let Some(reason) = line.strip_prefix(b"%exit") {
            let reason = String::from_utf8_lossy(reason).trim().to_owned();
            return Some(Event::Exit { reason });
        }
        Some(Event::Note(Note::parse(line)))
    }

    fn block_line(&mut self, mut block: Block, line: &[u8]) -> Option<Event> {
        let closes = |word: &[u8]| line.strip_prefix(word) == Some(&block.guard);
        let (ended, failed) = (closes(b"%end "), closes(b"%error "));
        if ended || failed {
            // The lowest bit of the flags: the command came from this client's input.
            let ours = block.guard.last().is_some_and(|digit| digit % 2 == 1);
            return Some(Event::Reply { ours, ok: ended, body: Reply(block.body) });
        }
        block.body.extend_from_slice(line);
        block.body.push(b'\n');
        self.block = Some(block);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply(ours: bool, ok: bool, body: &[u8]) -> Event {
        Event::Reply { ours, ok, body: Reply(body.to_vec()) }
    }

    const TALK: &[u8] = b"%begin 17 267 0\n%end 17 267 0\n%sessions-changed\n\
        %begin 17 268 1\nhello\n\n%end 17 268 0\n%end 1 2 1\n%exit\n\xff\xfe\n%end 17 268 1\n\
        %begin 17 269 1\ncan't find pane: %9\n%error 17 269 1\n%exit detached\n";

    fn talk() -> Vec<Event> {
        vec![
            reply(false, true, b""),
            Event::Note(Note::SessionsChanged),
            reply(true, true, b"hello\n\n%end 17 268 0\n%end 1 2 1\n%exit\n\xff\xfe\n"),
            reply(true, false, b"can't find pane: %9\n"),
            Event::Exit { reason: "detached".into() },
        ]
    }

    #[test]
    fn a_conversation_is_parsed() {
        assert_eq!(Parser::default().push(TALK), talk());
    }

    proptest! {
        #[test]
        fn fragmentation_does_not_matter(cuts in prop::collection::vec(0..TALK.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.extend([0, TALK.len()]);
            cuts.sort_unstable();
            let mut parser = Parser::default();
            let events: Vec<_> =
                cuts.windows(2).flat_map(|pair| parser.push(&TALK[pair[0]..pair[1]])).collect();
            prop_assert_eq!(events, talk());
        }

        #[test]
        fn any_bytes_are_accepted(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            Parser::default().push(&bytes);
        }

        #[test]
        fn any_text_comes_back_from_a_block(lines in prop::collection::vec("[^\n]*", 0..8)) {
            let body: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let talk = format!("%begin 5 6 1\n{body}%end 5 6 1\n");
            // A line that guesses the guard would close the block; tmux's numbers are not guessed.
            prop_assume!(!body.contains("5 6 1"));
            prop_assert_eq!(Parser::default().push(talk.as_bytes()), [reply(true, true, body.as_bytes())]);
        }
    }
}
