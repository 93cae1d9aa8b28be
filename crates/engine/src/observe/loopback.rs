//! Questions to a program that listens on loopback. Written by hand, because a GET is all that is asked, and an HTTP
//! client would be the largest thing in the binary.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dogwatch_core::http::{self, Answer, MAX_ANSWER};

/// Status and body of an answer.
pub type Answered = (u16, Vec<u8>);

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
    let mut stream = TcpStream::connect_timeout(&address, left(deadline)?).ok()?;
    stream.set_write_timeout(left(deadline)).ok()?;
    stream.write_all(http::request(path, login).as_bytes()).ok()?;
    Some(stream)
}

fn listen(mut stream: TcpStream, deadline: Instant) -> Option<Answered> {
    let mut bytes = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        stream.set_read_timeout(Some(left(deadline)?)).ok()?;
        let length = stream.read(&mut part).ok()?;
        bytes.extend_from_slice(&part[..length]);
        match http::answer(&bytes, length == 0) {
            Answer::Whole { status, body } => return Some((status, body.to_vec())),
            Answer::Partly if bytes.len() <= 2 * MAX_ANSWER => {}
            Answer::Partly | Answer::Strange => return None,
        }
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
}
