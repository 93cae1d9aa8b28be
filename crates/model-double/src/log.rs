//! The record of what the double was asked, for tests to look at and for people to read.
//!
//! Headers and query strings are never recorded: credentials travel there.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::reply::Tokens;

/// One request to the double; control requests are not counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// From 1, in order of arrival.
    pub number: usize,
    pub at: Timestamp,
    pub method: String,
    pub path: String,
    /// The answer's HTTP status.
    pub status: u16,
    pub outcome: Outcome,
    /// Present when the request asked a model for a reply.
    #[serde(flatten)]
    pub question: Option<Question>,
    /// What the reply said it used; present when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Only when bodies are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

/// What a model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    pub dialect: &'static str,
    pub model: String,
    pub streaming: bool,
    /// A title, a summary and the like; such requests play no rule.
    pub side: bool,
    pub conversation: String,
    pub human: String,
    pub turn: usize,
    pub step: usize,
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer is still on its way.
    Open,
    Sent,
    /// The scenario broke the connection off.
    Cut,
    /// The client hung up first: it was interrupted, or died.
    ClientGone,
}

/// All requests since the start.
#[derive(Debug)]
pub(crate) struct Journal {
    requests: Mutex<Vec<Request>>,
    changed: Condvar,
    file: Option<Mutex<File>>,
    keep_bodies: bool,
}

impl Journal {
    pub(crate) fn new(log: Option<&Path>, keep_bodies: bool) -> std::io::Result<Self> {
        let append = |path| File::options().create(true).append(true).open(path);
        Ok(Self {
            requests: Mutex::default(),
            changed: Condvar::new(),
            file: log.map(append).transpose()?.map(Mutex::new),
            keep_bodies,
        })
    }

    /// Records a request; the note that comes back records how it ended.
    pub(crate) fn add(self: &Arc<Self>, mut request: Request) -> EndNote {
        if !self.keep_bodies {
            request.body = None;
        }
        let mut requests = self.lock();
        request.number = requests.len() + 1;
        let number = request.number;
        self.write_line(&json!({ "event": "request", "request": request }));
        requests.push(request);
        drop(requests);
        self.changed.notify_all();
        EndNote { journal: Arc::clone(self), number, outcome: Outcome::ClientGone }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.lock().clone()
    }

    /// Waits until the requests satisfy a condition; nothing when they do not in time.
    pub(crate) fn wait_until(
        &self,
        limit: Duration,
        condition: impl Fn(&[Request]) -> bool,
    ) -> Option<Vec<Request>> {
        let deadline = Instant::now() + limit;
        let mut requests = self.lock();
        loop {
            if condition(&requests) {
                return Some(requests.clone());
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let (guard, _) =
                self.changed.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner);
            requests = guard;
        }
    }

    fn end(&self, number: usize, outcome: Outcome) {
        let mut requests = self.lock();
        if let Some(request) = requests.get_mut(number - 1) {
            request.outcome = outcome;
        }
        let at = Timestamp::now();
        self.write_line(&json!({ "event": "end", "number": number, "at": at, "outcome": outcome }));
        drop(requests);
        self.changed.notify_all();
    }

    /// A log that cannot be written must not break the reply; the requests stay in memory.
    fn write_line(&self, line: &Value) {
        if let Some(file) = &self.file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writeln!(file, "{line}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says how a request ended. Dropped unsaid, the client has gone: that is how servers learn of it.
#[derive(Debug)]
pub(crate) struct EndNote {
    journal: Arc<Journal>,
    number: usize,
    outcome: Outcome,
}

impl EndNote {
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for EndNote {
    fn drop(&mut self) {
        self.journal.end(self.number, self.outcome);
    }
}
