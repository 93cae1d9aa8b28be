//! A small HTTP client on a plain socket, enough to look at a double from outside.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use model_double::{ModelDouble, Scenario};
use serde_json::Value;

pub(crate) fn double(scenario: &str) -> ModelDouble {
    let scenario = Scenario::parse("test", scenario).expect("valid scenario");
    ModelDouble::start(scenario).expect("double starts")
}

/// A response whose body may still be on its way.
pub(crate) struct Response {
    stream: TcpStream,
    received: String,
    /// The connection has ended.
    ended: bool,
}

pub(crate) fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Response {
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("timeout");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: double\r\nconnection: close\r\n\
         authorization: Bearer secret-in-header\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("send");
    Response { stream, received: String::new(), ended: false }
}

pub(crate) fn post(double: &ModelDouble, path: &str, body: &Value) -> Response {
    send(double.address(), "POST", path, &body.to_string())
}

pub(crate) fn get(double: &ModelDouble, path: &str) -> Response {
    send(double.address(), "GET", path, "")
}

impl Response {
    fn receive(&mut self) {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(n) => self.received += std::str::from_utf8(&buffer[..n]).expect("UTF-8"),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.ended = true,
            Err(error) => panic!("{error}; received so far:\n{}", self.received),
        }
    }

    /// Reads on until a text has come.
    pub(crate) fn until(&mut self, text: &str) -> &str {
        while !self.received.contains(text) {
            assert!(!self.ended, "ended before {text:?}:\n{}", self.received);
            self.receive();
        }
        &self.received
    }

    /// Everything, head and chunk sizes included.
    pub(crate) fn all(&mut self) -> &str {
        while !self.ended {
            self.receive();
        }
        &self.received
    }

    pub(crate) fn so_far(&self) -> &str {
        &self.received
    }

    pub(crate) fn status(&mut self) -> u16 {
        let head = self.until("\r\n\r\n");
        let status = head.split(' ').nth(1).expect("a status");
        status.parse().expect("a number")
    }

    /// The body of a response that is not streamed.
    pub(crate) fn json(&mut self) -> Value {
        let (_, body) = self.all().split_once("\r\n\r\n").expect("a head");
        serde_json::from_str(body).expect(body)
    }
}
