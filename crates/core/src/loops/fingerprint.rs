//! A hash of a text without what differs from one run of the same command to the next: times, durations, process ids,
//! addresses, names of temporary files, colours.
//!
//! Numbers as such stay: `40 passed` and `41 passed` are two results, and so are errors in two lines.

/// FNV-1a. Fingerprints are compared within one process, and printed for people to compare.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(pub(super) u64);

impl Hash {
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}

/// Of the very text.
pub(super) fn exact(text: &str) -> u64 {
    let mut hash = Hash::new();
    hash.bytes(text.as_bytes());
    hash.0
}

/// Of what does not change by itself. The order of lines does: tests run side by side, and what goes to two streams is
/// mixed anew each time.
pub(super) fn of(text: &str) -> u64 {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(0, |sum, line| {
        let mut scan = Scan { bytes: line.as_bytes(), at: 0, hash: Hash::new(), word: (0, 0) };
        scan.run();
        sum.wrapping_add(scan.hash.0)
    })
}

/// Words after which a number is a process, a time or an id made for the occasion.
const BEFORE: [&[u8]; 9] = [
    b"pid",
    b"pgid",
    b"ppid",
    b"process",
    b"duration",
    b"elapsed",
    b"time",
    b"took",
    b"duration_seconds",
];
/// Units that may stand apart from their number, and those that may not.
const APART: [&[u8]; 13] = [
    b"ms",
    b"sec",
    b"secs",
    b"second",
    b"seconds",
    b"min",
    b"mins",
    b"minute",
    b"minutes",
    b"hour",
    b"hours",
    b"ns",
    "µs".as_bytes(),
];
const ATTACHED: [&[u8]; 4] = [b"s", b"m", b"h", b"us"];
/// Folders for what is temporary, and how many names below them are made up.
const TEMPORARY: [(&[u8], usize); 4] =
    [(b"/private/tmp/", 1), (b"/var/folders/", 4), (b"/var/tmp/", 1), (b"/tmp/", 1)];

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    hash: Hash,
    /// Where the last word began and ended.
    word: (usize, usize),
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            if byte == 0x1b {
                self.escape();
            } else if byte.is_ascii_whitespace() {
                self.at += self.run_of(self.at, |b| b.is_ascii_whitespace());
                self.hash.bytes(b" ");
            } else if self.is_boundary() && (self.temporary() || self.unique(byte)) {
                // Left out.
            } else if self.is_boundary() && byte.is_ascii_digit() {
                self.number();
            } else if byte.is_ascii_alphabetic() && self.is_boundary() {
                let length = self.run_of(self.at, |b| b.is_ascii_alphabetic() || b == b'_');
                self.word = (self.at, self.at + length);
                self.keep(length);
            } else {
                self.keep(1);
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn run_of(&self, from: usize, is_in: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.iter().position(|b| !is_in(*b)).unwrap_or(rest.len())
    }

    fn keep(&mut self, length: usize) {
        self.hash.bytes(&self.bytes[self.at..self.at + length]);
        self.at += length;
    }

    fn is_boundary(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| self.bytes[at]);
        before.is_none_or(|b| !b.is_ascii_alphanumeric() && b != b'_')
    }

    /// Colours and the like.
    fn escape(&mut self) {
        self.at += 1;
        if self.peek(0) == Some(b'[') {
            let inside = self.run_of(self.at + 1, |b| !(0x40..=0x7e).contains(&b));
            self.at = (self.at + inside + 2).min(self.bytes.len());
        }
    }

    /// Below a folder for temporary files a name is made up; what is below that may tell something.
    fn temporary(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let Some((folder, names)) = TEMPORARY.iter().find(|(f, _)| rest.starts_with(f)) else {
            return false;
        };
        self.hash.bytes(b"/tmp/");
        self.at += folder.len();
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b) || b >= 0x80;
        for name in 0..*names {
            let slash = usize::from(name > 0 && self.peek(0) == Some(b'/'));
            self.at += slash + self.run_of(self.at + slash, is_name);
        }
        true
    }

    /// Ids and addresses: `0x7ffe…`, UUIDs, `req_…`, and what follows the word `ID`.
    fn unique(&mut self, byte: u8) -> bool {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"0x") {
            self.at += 2 + self.run_of(self.at + 2, |b| b.is_ascii_hexdigit());
            return true;
        }
        if rest.starts_with(b"req_") {
            self.at += self.run_of(self.at, |b| b.is_ascii_alphanumeric() || b == b'_');
            return true;
        }
        let length = self.run_of(self.at, |b| b.is_ascii_hexdigit() || b == b'-');
        let parts = || rest[..length].split(|b| *b == b'-').map(<[u8]>::len);
        let is_uuid = length == 36 && parts().eq([8, 4, 4, 4, 12]);
        let token = self.run_of(self.at, |b| b.is_ascii_alphanumeric());
        let is_named = self.follows(|word| word == b"ID")
            && byte.is_ascii_alphanumeric()
            && (token == length || rest[..token].iter().any(u8::is_ascii_digit));
        let skipped = if is_uuid { length } else { token };
        self.at += if is_uuid || is_named { skipped } else { 0 };
        is_uuid || is_named
    }

    /// Whether the last word is such a one, with nothing but marks in between.
    fn follows(&self, is_it: impl Fn(&[u8]) -> bool) -> bool {
        let (begin, end) = self.word;
        let between = &self.bytes[end..self.at];
        begin < end
            && between.len() <= 3
            && between.iter().all(|b| b" :=#\"'(\t".contains(b))
            && is_it(&self.bytes[begin..end])
    }

    fn number(&mut self) {
        let mut length = self.run_of(self.at, |b| b.is_ascii_digit() || b".:,".contains(&b));
        while length > 1 && b".:,".contains(&self.bytes[self.at + length - 1]) {
            length -= 1;
        }
        if let Some(length) = self.date() {
            self.at += length;
            // The time of day follows.
            self.at += usize::from(self.peek(0) == Some(b'T'));
            self.at += self.run_of(self.at, |b| b.is_ascii_digit() || b":.+Z".contains(&b));
            return;
        }
        let text = &self.bytes[self.at..self.at + length];
        let is_clock =
            is_clock(text) && self.at.checked_sub(1).map(|at| self.bytes[at]) != Some(b':');
        let is_process = self.follows(|word| BEFORE.iter().any(|w| word.eq_ignore_ascii_case(w)));
        // `thread 'main' (4711) panicked`
        let in_brackets = self.bytes[..self.at].ends_with(b"' (");
        // codex counts the tokens of what it shows, times and all.
        let is_count =
            self.follows(|_| true) && self.bytes[..self.word.1].ends_with(b"token count");
        if is_clock || is_process || is_count || in_brackets || self.has_unit(length) {
            self.at += length;
        } else {
            self.keep(length);
        }
    }

    /// `2026-11-16`
    fn date(&self) -> Option<usize> {
        let text = self.bytes.get(self.at..self.at + 10)?;
        let is_date = text.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        is_date.then_some(10)
    }

    fn has_unit(&self, length: usize) -> bool {
        let after = self.at + length;
        let blank = usize::from(self.bytes.get(after) == Some(&b' '));
        let unit = |from: usize| {
            let letters = self.run_of(from, |b| b.is_ascii_alphabetic() || b >= 0x80);
            &self.bytes[from..from + letters]
        };
        let attached = unit(after);
        APART.contains(&unit(after + blank)) || ATTACHED.contains(&attached)
    }
}

/// `11:20:05.123`, `11:20`
fn is_clock(text: &[u8]) -> bool {
    let parts: Vec<&[u8]> = text.split(|b| *b == b':').collect();
    let two = |part: &[u8], below: u8| matches!(part, [a @ b'0'..=b'9', b @ b'0'..=b'9'] if (a - b'0') * 10 + (b - b'0') < below);
    match parts[..] {
        [hour, minute] => two(hour, 24) && two(minute, 60),
        [hour, minute, second] => {
            two(hour, 24) && two(minute, 60) && two(second.get(..2).unwrap_or_default(), 61)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn what_changes_by_itself_is_left_out() {
        for (one, other) in [
            ("finished in 0.23s", "finished in 11.04s"),
            ("took 3 seconds", "took 14 seconds"),
            ("1m 04s", "2m 59s"),
            ("[11:20:05.123] error", "[23:59:59.9] error"),
            ("2026-11-16T11:20:05Z x", "2026-12-01T01:02:03.5Z x"),
            ("-rw-r--r-- 1 a a 5 Nov 16 11:20 f", "-rw-r--r-- 1 a a 5 Nov 16 11:59 f"),
            ("Process Group PGID: 16797", "Process Group PGID: 411"),
            ("pid=12 failed", "pid=345 failed"),
            (
                "Chunk ID: cb7f8a\nWall time: 30.0006 seconds",
                "Chunk ID: 01fe22\nWall time: 0.1 seconds",
            ),
            ("test a ok\ntest b ok", "test b ok\n\ntest a ok"),
            ("Original token count: 12", "Original token count: 13"),
            ("running with session ID 17041", "running with session ID 5"),
            ("thread 'main' (4711) panicked", "thread 'main' (12) panicked"),
            ("at 0x7ffe12", "at 0x55aa"),
            ("/tmp/tmp.aB3/x.rs:3: e", "/tmp/tmp.Zz9/x.rs:3: e"),
            ("/var/folders/a/b/T/c1/x", "/var/folders/q/r/T/s2/x"),
            ("id 0cc0add7-1111-4222-8333-123456789abc", "id 1cc0add7-1111-4222-8333-123456789abd"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a  b\n", "a b "),
            (
                r#"{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.1}}"#,
                r#"{"output":"x","metadata":{"exit_code":1,"duration_seconds":12.7}}"#,
            ),
        ] {
            assert_eq!(of(one), of(other), "{one} / {other}");
        }
    }

    #[test]
    fn what_tells_something_stays() {
        for (one, other) in [
            ("40 passed; 1 failed", "41 passed; 1 failed"),
            ("src/a.rs:12:34: error", "src/a.rs:14:20: error"),
            ("src/a.rs:12: error", "src/a.rs:13: error"),
            ("exit code 1", "exit code 2"),
            ("/tmp/x/a.rs: e", "/tmp/x/b.rs: e"),
            ("line 5", "line 6"),
            ("expected 3 found 4", "expected 3 found 5"),
            ("12 files", "13 files"),
            ("", "x"),
        ] {
            assert_ne!(of(one), of(other), "{one} / {other}");
        }
    }

    #[test]
    fn any_text_can_be_read() {
        for text in [
            "\u{1b}",
            "\u{1b}[",
            "0x",
            "/tmp/",
            "/tmp",
            "12:",
            "2026-11-1",
            "µs",
            "3µs",
            "ID ",
            "9.",
            "1:2:3:4",
            "/var/folders/",
        ] {
            of(text);
        }
    }
}
