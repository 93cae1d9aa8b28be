//! Bytes from a terminal, decoded into keys.

use std::mem;

const ESCAPE: u8 = 0x1b;
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What a person, or tmux for them, did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Escape,
    /// Control and a letter, in lower case.
    Ctrl(char),
    /// A key that sends an escape sequence.
    Special(&'static str),
    /// The text of a bracketed paste, with line ends as `\n`.
    Paste(String),
    /// Bytes that mean nothing here.
    Unknown,
}

impl Key {
    /// The name by which a scenario calls this key.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Char(c) => c.to_string(),
            Self::Enter => "enter".to_owned(),
            Self::Tab => "tab".to_owned(),
            Self::Backspace => "backspace".to_owned(),
            Self::Escape => "escape".to_owned(),
            Self::Ctrl(letter) => format!("ctrl-{letter}"),
            Self::Special(name) => (*name).to_owned(),
            Self::Paste(_) => "paste".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// Decodes a stream of bytes that comes in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// The keys that are complete with these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut used = 0;
        while let Some((key, length)) = first_key(&self.pending[used..]) {
            keys.push(key);
            used += length;
        }
        self.pending.drain(..used);
        keys
    }

    /// Whether a lone Escape may stand at the front, which only the lack of more bytes can tell
    /// from the start of a sequence.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.pending.first() == Some(&ESCAPE) && !self.pending.starts_with(PASTE_START)
    }

    /// Decides, once no more bytes have come for a while, that an ambiguous Escape was the key.
    pub(crate) fn settle(&mut self) -> Vec<Key> {
        if !self.is_ambiguous() {
            return Vec::new();
        }
        let rest = mem::take(&mut self.pending);
        let mut keys = vec![Key::Escape];
        keys.extend(self.feed(&rest[1..]));
        keys
    }
}

/// The first key and its length, or `None` while it is incomplete.
fn first_key(bytes: &[u8]) -> Option<(Key, usize)> {
    let key = match *bytes.first()? {
        ESCAPE => return escape_key(bytes),
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x08 | 0x7f => Key::Backspace,
        0 => Key::Ctrl(' '),
        control @ 0x01..0x20 => Key::Ctrl(char::from(control | 0x60)),
        _ => return char_key(bytes),
    };
    Some((key, 1))
}

fn escape_key(bytes: &[u8]) -> Option<(Key, usize)> {
    if let Some(paste) = bytes.strip_prefix(PASTE_START) {
        let end = find(paste, PASTE_END)?;
        let text = String::from_utf8_lossy(&paste[..end]);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        return Some((Key::Paste(text), PASTE_START.len() + end + PASTE_END.len()));
    }
    match *bytes.get(1)? {
        b'[' => {
            let end = 2 + bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((special(&bytes[2..=end]), end + 1))
        }
        b'O' => bytes.get(2..3).map(|last| (special(last), 3)),
        _ => Some((Key::Escape, 1)),
    }
}

fn special(sequence: &[u8]) -> Key {
    let name = match sequence {
        b"A" => "up",
        b"B" => "down",
        b"C" => "right",
        b"D" => "left",
        b"H" | b"1~" => "home",
        b"F" | b"4~" => "end",
        b"3~" => "delete",
        b"5~" => "page-up",
        b"6~" => "page-down",
        b"Z" => "shift-tab",
        b"I" => "focus-in",
        b"O" => "focus-out",
        _ => return Key::Unknown,
    };
    Key::Special(name)
}

fn char_key(bytes: &[u8]) -> Option<(Key, usize)> {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => return error.error_len().map(|length| (Key::Unknown, length)),
    };
    valid.chars().next().map(|c| (Key::Char(c), c.len_utf8()))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keys: &[Key]) -> String {
        keys.iter().map(Key::name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_by_name() {
        let cases: [(&[u8], &str); 12] = [
            (b"", ""),
            (b"y1", "y 1"),
            ("é✔🦀".as_bytes(), "é ✔ 🦀"),
            (b"\r\n", "enter enter"),
            (b"\x7f\x08\t", "backspace backspace tab"),
            (b"\x03\x15\x00", "ctrl-c ctrl-u ctrl- "),
            (b"\x1b[A\x1bOB\x1b[3~", "up down delete"),
            (b"\x1b[1;5C", "unknown"),
            (b"\x1bx", "escape x"),
            (b"\xffa", "unknown a"),
            (b"\x1b", ""),
            (b"\x1b[20", ""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(names(&Decoder::default().feed(bytes)), expected, "{bytes:?}");
        }
    }

    #[test]
    fn any_split_gives_the_same_keys() {
        let bytes = "a✔\x1b[200~zwei\r\nZeilen\r🦀 \x03\x1b[201~\x1b[Aß\r".as_bytes();
        let whole = Decoder::default().feed(bytes);
        assert_eq!(whole[2], Key::Paste("zwei\nZeilen\n🦀 \x03".to_owned()));
        assert_eq!(names(&whole), "a ✔ paste up ß enter");
        for size in 1..bytes.len() {
            let mut decoder = Decoder::default();
            let keys: Vec<Key> = bytes.chunks(size).flat_map(|chunk| decoder.feed(chunk)).collect();
            assert_eq!(keys, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn only_a_lone_escape_settles() {
        let cases: [(&[u8], &str); 4] = [
            (b"\x1b", "escape"),
            (b"\x1b[1", "escape [ 1"),
            (b"\x1b[200~half", ""),
            (b"\xe2\x9c", ""),
        ];
        for (bytes, expected) in cases {
            let mut decoder = Decoder::default();
            assert_eq!(decoder.feed(bytes), []);
            assert_eq!(names(&decoder.settle()), expected, "{bytes:?}");
        }
    }
}
