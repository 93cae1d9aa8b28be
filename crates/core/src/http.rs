//! Just enough of HTTP/1.1 to ask one question or hand one thing over: a GET with a password, a POST of JSON, and the answer.

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

/// Where something is posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub secure: bool,
    /// As it is looked up: without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// From the first slash on.
    pub path: String,
}

impl Url {
    /// Reads `http://host[:port][/path]` or the same with `https`. Names and passwords are not taken here: they belong
    /// into a header, and would be shown.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err("must begin with http:// or https://".to_owned()),
        };
        if rest.contains(|c: char| c.is_control() || c == ' ' || c == '#') || !rest.is_ascii() {
            return Err("contains characters that are not allowed in a URL".to_owned());
        }
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        if authority.contains('@') {
            return Err("must not contain a password; use token_env or token_file".to_owned());
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let usual = if secure { 443 } else { 80 };
        let port = port
            .map_or(Ok(usual), str::parse)
            .map_err(|_| "the port is not a number".to_owned())?;
        if host.is_empty() {
            return Err("the host is missing".to_owned());
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { secure, host: host.to_owned(), port, path })
    }

    fn authority(&self) -> String {
        let Self { host, port, secure, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let usual = if *secure { 443 } else { 80 };
        if *port == usual { host } else { format!("{host}:{port}") }
    }
}

/// The bytes of a POST of JSON.
pub fn post(url: &Url, token: Option<&str>, body: &str) -> Vec<u8> {
    let token =
        token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nUser-Agent: dogwatch\r\n\
         Content-Length: {}\r\nConnection: close\r\n{token}\r\n{body}",
        url.path,
        url.authority(),
        body.len()
    )
    .into_bytes()
}

/// The status in the first line of an answer, as soon as that line is whole.
pub fn status(bytes: &[u8]) -> Option<u16> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&bytes[..end]).ok()?;
    line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.trim().parse().ok()
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
    fn addresses() {
        let url = |secure, host: &str, port, path: &str| {
            Ok(Url { secure, host: host.into(), port, path: path.into() })
        };
        assert_eq!(Url::parse("http://a.b/c?d=e"), url(false, "a.b", 80, "/c?d=e"));
        assert_eq!(Url::parse("https://a.b"), url(true, "a.b", 443, "/"));
        assert_eq!(Url::parse("http://[::1]:8080?x"), url(false, "::1", 8080, "/?x"));
        for bad in [
            "a.b",
            "ftp://a",
            "http://",
            "http://:80",
            "http://a:x",
            "http://u:p@a",
            "http://a/\r\nX: y",
        ] {
            assert!(Url::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn something_posted() {
        let url = Url::parse("http://[::1]:8080/x").unwrap();
        assert_eq!(
            String::from_utf8(post(&url, Some("t"), "{}")).unwrap(),
            "POST /x HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Type: application/json\r\nUser-Agent: dogwatch\r\n\
             Content-Length: 2\r\nConnection: close\r\nAuthorization: Bearer t\r\n\r\n{}"
        );
        assert_eq!(status(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status(b"HTTP/1.1 204 No"), None);
        assert_eq!(status(b"SSH-2.0\r\n"), None);
    }

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
