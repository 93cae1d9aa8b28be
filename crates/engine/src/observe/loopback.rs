//! Questions to a program that listens on loopback.
//!
//! Not by ureq, which asks one thing after the other: see docs/architecture.md for what that costs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Status and body of an answer.
pub type Answered = (u16, Vec<u8>);

/// Longest body that is read.
const MOST_BYTES: usize = 1024 * 1024;
/// Longest head, and how many lines it may have.
const MOST_HEAD: usize = 64 * 1024;
const MOST_LINES: usize = 64;

/// Asks for several things at once; `None` for one that was not answered in time, or in no way that makes sense. All are
/// asked before any answer is read: a busy program answers them in one go.
pub fn get<const N: usize>(
    port: u16,
    paths: [&str; N],
    login: Option<(&str, &str)>,
    deadline: Instant,
) -> [Option<Answered>; N] {
    let asked = paths.map(|path| ask(port, path, login, deadline));
    asked.map(|stream| listen(stream?, deadline))
}

fn ask(port: u16, path: &str, login: Option<(&str, &str)>, deadline: Instant) -> Option<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream =
        TcpStream::connect_timeout(&address, left(deadline)?).logged("connect to an agent")?;
    stream.set_write_timeout(left(deadline)).logged("ask an agent")?;
    stream.write_all(request(path, login).as_bytes()).logged("ask an agent")?;
    Some(stream)
}

fn listen(mut stream: TcpStream, deadline: Instant) -> Option<Answered> {
    let mut bytes = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        stream.set_read_timeout(Some(left(deadline)?)).logged("read the answer of an agent")?;
        let length = stream.read(&mut part).logged("read the answer of an agent")?;
        bytes.extend_from_slice(&part[..length]);
        match answer(&bytes, length == 0) {
            Answer::Whole(answered) => return Some(answered),
            Answer::Partly => {}
            Answer::Strange => return None,
        }
    }
}

fn request(path: &str, login: Option<(&str, &str)>) -> String {
    let login = login.map_or_else(String::new, |(user, password)| {
        let word = BASE64_STANDARD.encode(format!("{user}:{password}"));
        format!("Authorization: Basic {word}\r\n")
    });
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n{login}\r\n"
    )
}

/// What came back, as far as it was read.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// More must be read.
    Partly,
    Whole(Answered),
    /// No answer to such a question.
    Strange,
}

/// Reads an answer; `ended` says that nothing more will come.
fn answer(bytes: &[u8], ended: bool) -> Answer {
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut head = httparse::Response::new(&mut lines);
    let (body, status) = match (head.parse(bytes), head.code) {
        (Ok(httparse::Status::Complete(length)), Some(status)) => (&bytes[length..], status),
        (Ok(httparse::Status::Partial), _) if !ended && bytes.len() <= MOST_HEAD => {
            return Answer::Partly;
        }
        _ => return Answer::Strange,
    };
    let named = |name: &str| head.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name));
    // Answers to such questions come in one piece.
    if named("transfer-encoding").is_some() || body.len() > 2 * MOST_BYTES {
        return Answer::Strange;
    }
    let length = named("content-length").map(|line| {
        std::str::from_utf8(line.value).ok().and_then(|text| text.trim().parse::<usize>().ok())
    });
    match length {
        Some(Some(length)) if length <= MOST_BYTES => match body.get(..length) {
            Some(body) => Answer::Whole((status, body.to_vec())),
            None if ended => Answer::Strange,
            None => Answer::Partly,
        },
        Some(_) => Answer::Strange,
        None if ended => Answer::Whole((status, body.to_vec())),
        None if body.len() > MOST_BYTES => Answer::Strange,
        None => Answer::Partly,
    }
}

fn left(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that answers each connection with the next of these, and tells what it was asked.
    fn server(answers: Vec<&'static str>) -> (u16, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let length = stream.read(&mut bytes).unwrap();
                asked.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
                let _ = stream.write_all(answer.as_bytes());
            }
            asked
        };
        (port, thread::spawn(serve))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn a_question_and_its_answer() {
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        ];
        let (port, asked) = server(answers.into());
        let [first, second] = get(port, ["/x", "/y"], Some(("u", "p")), soon());
        assert_eq!((first, second), (Some((200, b"{}".to_vec())), Some((401, vec![]))));
        let asked = asked.join().unwrap();
        assert!(asked[0].starts_with("GET /x HTTP/1.1\r\n"), "{asked:?}");
        assert!(asked[1].starts_with("GET /y HTTP/1.1\r\n"), "{asked:?}");
    }

    #[test]
    fn no_answer_is_not_waited_for() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let begun = Instant::now();
        assert_eq!(get(port, ["/x"], None, begun + Duration::from_millis(50)), [None]);
        assert!(begun.elapsed() < Duration::from_secs(10));
        drop(listener);
        assert_eq!(get(port, ["/x"], None, soon()), [None], "nobody listens");
        let (port, asked) = server(vec!["no such protocol\r\n\r\n"]);
        assert_eq!(get(port, ["/x"], None, soon()), [None]);
        drop(asked.join());
    }

    #[test]
    fn a_question() {
        assert_eq!(
            request("/x", Some(("Aladdin", "open sesame"))),
            "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n\
             Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"
        );
        assert!(!request("/x", None).contains("Authorization"));
    }

    #[test]
    fn answers() {
        let whole = |status, body: &'static str| Answer::Whole((status, body.as_bytes().to_vec()));
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, whole(200, "{}")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more", false, whole(200, "{}")),
            ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", false, whole(401, "")),
            ("HTTP/1.0 200 OK\r\n\r\n[]", true, whole(200, "[]")),
            ("HTTP/1.0 200 OK\r\n\r\n[]", false, Answer::Partly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", false, Answer::Partly),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", true, Answer::Strange),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", false, Answer::Strange),
            ("HTTP/1.1 200", false, Answer::Partly),
            ("", true, Answer::Strange),
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", true, Answer::Strange),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, Answer::Strange),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", false, Answer::Strange),
        ];
        for (bytes, ended, expected) in table {
            assert_eq!(answer(bytes.as_bytes(), ended), expected, "{bytes:?} {ended}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MOST_HEAD));
        assert_eq!(answer(endless.as_bytes(), false), Answer::Strange);
        let much = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MOST_BYTES + 1));
        assert_eq!(answer(much.as_bytes(), false), Answer::Strange);
    }
}
