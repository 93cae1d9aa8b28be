//! Just enough of HTTP/1.1 to ask a program on this machine one question: a GET with a password, and its answer.

/// Longest answer that is read.
pub const MAX_ANSWER: usize = 1024 * 1024;

/// The words of a GET.
pub fn request(path: &str, login: Option<(&str, &str)>) -> String {
    let login = login.map(|(user, password)| base64(format!("{user}:{password}").as_bytes()));
    let login = login.map_or_else(String::new, |word| format!("Authorization: Basic {word}\r\n"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n{login}\r\n"
    )
}

/// What came back, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// More must be read.
    Partly,
    Whole {
        status: u16,
        body: &'a [u8],
    },
    /// No answer to such a question.
    Strange,
}

/// Reads an answer; `ended` says that nothing more will come.
pub fn answer(bytes: &[u8], ended: bool) -> Answer<'_> {
    let partly = if ended { Answer::Strange } else { Answer::Partly };
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() > MAX_ANSWER { Answer::Strange } else { partly };
    };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let body = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = status.and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let Some(status) = status else { return Answer::Strange };
    let mut length = None;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<usize>().ok(),
            // Answers to such questions come in one piece.
            "transfer-encoding" => return Answer::Strange,
            _ => {}
        }
    }
    match length {
        Some(length) if length > MAX_ANSWER => Answer::Strange,
        Some(length) => match body.get(..length) {
            Some(body) => Answer::Whole { status, body },
            None => partly,
        },
        None if ended => Answer::Whole { status, body },
        None if body.len() > MAX_ANSWER => Answer::Strange,
        None => Answer::Partly,
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or(0);
            out.push(if at <= three.len() { char::from(LETTERS[index]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_question() {
        assert_eq!(
            request("/x", Some(("Aladdin", "open sesame"))),
            "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n\
             Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"
        );
        assert!(!request("/x", None).contains("Authorization"));
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn answers() {
        let whole = |status, body: &'static str| Answer::Whole { status, body: body.as_bytes() };
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, whole(200, "{}")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more", false, whole(200, "{}")),
            ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", false, whole(401, "")),
            ("HTTP/1.0 200 OK\r\n\r\n[]", true, whole(200, "[]")),
            ("HTTP/1.0 200 OK\r\n\r\n[]", false, Answer::Partly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", false, Answer::Partly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", true, Answer::Strange),
            ("HTTP/1.1 200", false, Answer::Partly),
            ("", true, Answer::Strange),
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", true, Answer::Strange),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, Answer::Strange),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", false, Answer::Strange),
        ];
        for (bytes, ended, expected) in table {
            assert_eq!(answer(bytes.as_bytes(), ended), expected, "{bytes:?} {ended}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_come_back(bytes in prop::collection::vec(any::<u8>(), 0..200), ended in any::<bool>()) {
            let _ = answer(&bytes, ended);
        }
    }
}
