//! Keys that were read together.

use crossterm::event::{KeyCode, KeyEvent};

use super::Key;

/// Keys from what one read of the terminal brought. Some terminals (PuTTY, rxvt) send Alt-Up as Esc and the bytes of Up, which are
/// read as Esc, `[` and `A`: nobody types these at once, so they are one key with Alt.
pub fn together(read: &[KeyEvent]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = read.iter().map(|event| Key::from(*event)).peekable();
    while let Some(key) = rest.next() {
        let opens = |next: &Key| *next == Key::char('[') || *next == Key::char('O');
        let is_sequence = key == Key::plain(KeyCode::Esc) && rest.peek().is_some_and(opens);
        if !is_sequence {
            keys.push(key);
            continue;
        }
        let is_short = rest.next() == Some(Key::char('O'));
        for next in rest.by_ref() {
            let is_parameter = matches!(next.code, KeyCode::Char('0'..='9' | ';'));
            if is_short || !is_parameter {
                break;
            }
        }
        keys.push(Key { alt: true, ..Key::plain(KeyCode::Null) });
    }
    keys
}
