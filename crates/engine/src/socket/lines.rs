//! Bytes that come in pieces, taken apart into lines.

/// The longest line that a program may write.
pub(super) const LONGEST: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// How many bytes at the beginning have been searched for an end of a line.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn has_next(&self) -> bool {
        memchr::memchr(b'\n', &self.bytes).is_some()
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        match pop_line(&mut self.bytes, &mut self.searched) {
            Some(line) if line.len() > LONGEST => Err(TooLong),
            None if self.bytes.len() > LONGEST => Err(TooLong),
            line => Ok(line),
        }
    }
}

/// Takes the first whole line off, without its end. So many bytes at the beginning have been searched for one before.
pub(crate) fn pop_line(bytes: &mut Vec<u8>, searched: &mut usize) -> Option<Vec<u8>> {
    let Some(at) = memchr::memchr(b'\n', &bytes[*searched..]) else {
        *searched = bytes.len();
        return None;
    };
    let end = *searched + at;
    let rest = bytes.split_off(end + 1);
    let mut line = std::mem::replace(bytes, rest);
    line.truncate(end);
    *searched = 0;
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &mut Lines) -> Vec<String> {
        std::iter::from_fn(|| lines.next().unwrap())
            .map(|line| String::from_utf8(line).unwrap())
            .collect()
    }

    #[test]
    fn pieces_become_lines() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in ["a", "bc\nd", "", "e\n\nf\ng", "\n", "rest"] {
            lines.push(piece.as_bytes());
            found.extend(all(&mut lines));
        }
        assert_eq!(found, ["abc", "de", "", "f", "g"]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LONGEST]);
        assert_eq!(lines.next(), Ok(None));
        lines.push(b"\n");
        assert_eq!(lines.next().unwrap().map(|line| line.len()), Some(LONGEST));
        lines.push(&vec![b'x'; LONGEST + 1]);
        assert_eq!(lines.next(), Err(TooLong));
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LONGEST + 1]);
        lines.push(b"\n");
        assert_eq!(lines.next(), Err(TooLong), "also if its end came with it");
    }
}
