use std::borrow::Cow;

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

    /// The whole text, with a replacement character for what is not UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The first line, for commands that answer with a single value.
    pub fn first_line(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.lines().next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
