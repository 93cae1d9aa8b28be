use std::borrow::Cow;
use std::io::BufRead;

/// What one command printed: lines, each with its newline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply(pub(crate) Vec<u8>);

impl Reply {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let body = self.0.strip_suffix(b"\n").unwrap_or(&self.0);
        (!self.0.is_empty()).then(|| body.split(|&byte| byte == b'\n')).into_iter().flatten()
    }

    /// Splits into parts of these numbers of lines; `None` if the total differs.
    pub fn split_lines(&self, counts: impl IntoIterator<Item = usize>) -> Option<Vec<Self>> {
        let mut lines = lines(&self.0);
        let mut rest = self.0.as_slice();
        let mut parts = Vec::new();
        for count in counts {
            let length =
                (0..count).map(|_| lines.next().map(<[u8]>::len)).sum::<Option<usize>>()?;
            let (part, after) = rest.split_at(length);
            parts.push(Self(part.to_vec()));
            rest = after;
        }
        rest.is_empty().then_some(parts)
    }

    /// The whole text, with a replacement character for what is not UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The first line, for commands that print a single value.
    pub fn first_line(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.lines().next().unwrap_or_default())
    }
}

/// Lines with their newlines. Captures of many panes are long, and this is faster than byte by byte.
pub(crate) fn lines(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let from = rest;
        let length = rest.skip_until(b'\n').ok().filter(|length| *length > 0)?;
        Some(&from[..length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_replies() {
        let parts = |text: &str, counts: &[usize]| {
            let parts = Reply(text.into()).split_lines(counts.iter().copied())?;
            Some(parts.iter().map(|part| part.text().into_owned()).collect::<Vec<_>>())
        };
        let expected = Some(vec!["a\n\n".to_owned(), String::new(), "b\n".to_owned()]);
        assert_eq!(parts("a\n\nb\n", &[2, 0, 1]), expected);
        assert_eq!(parts("a\n\nb\n", &[2, 2]), None, "too few");
        assert_eq!(parts("a\n\nb\n", &[2]), None, "too many");
        assert_eq!(parts("", &[]), Some(vec![]));
    }

    #[test]
    fn lines_of_replies() {
        let lines = |text: &str| -> Vec<Vec<u8>> {
            Reply(text.into()).lines().map(<[u8]>::to_vec).collect()
        };
        assert!(lines("").is_empty());
        assert_eq!(lines("\n"), [b""]);
        assert_eq!(lines("a\n\nb\n\n"), [&b"a"[..], b"", b"b", b""]);
    }
}
