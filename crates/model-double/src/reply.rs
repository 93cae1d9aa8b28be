//! What the double is going to answer, in terms no protocol owns, and what it puts on the wire.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::scenario::{Failure, Gate, Speech};

/// The decision about one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// An HTTP error, after the pauses.
    Refuse {
        pauses: Vec<Pause>,
        failure: Failure,
    },
    Reply(Reply),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub parts: Vec<Part>,
    pub tokens: Tokens,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(Speech),
    Thinking(Speech),
    Call(ToolCall),
    Pause(Pause),
    Fail(Failure),
    Cut,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Pause {
    Stall(Duration),
    Gate(Gate),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    pub namespace: Option<String>,
    pub input: ToolInput,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    Json(Value),
    Freeform(String),
}

impl ToolCall {
    /// The input as JSON; protocols without free text wrap it.
    pub fn arguments(&self) -> Value {
        match &self.input {
            ToolInput::Json(args) => args.clone(),
            ToolInput::Freeform(text) => serde_json::json!({ "input": text }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    /// Written to the cache; only one protocol tells of it.
    pub written: u64,
}

impl Reply {
    pub fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The whole spoken text, for replies that are not streamed.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(speech) => Some(speech.text.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// One beat of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Beat {
    /// Bytes to send now.
    Frame(String),
    Pause(Pause),
    /// Breaks the connection.
    Cut,
}

/// A streamed reply, written down before it is played.
#[derive(Debug, Default)]
pub struct Score(Vec<Beat>);

impl Score {
    /// A server-sent event with a name.
    pub fn event(&mut self, name: &str, data: &Value) {
        self.0.push(Beat::Frame(format!("event: {name}\ndata: {data}\n\n")));
    }

    /// A server-sent event of data only.
    pub fn data(&mut self, data: impl fmt::Display) {
        self.0.push(Beat::Frame(format!("data: {data}\n\n")));
    }

    pub fn pause(&mut self, pause: &Pause) {
        self.0.push(Beat::Pause(pause.clone()));
    }

    pub fn cut(&mut self) {
        self.0.push(Beat::Cut);
    }

    /// The pause that follows each piece of a speech.
    pub fn rest(&mut self, speech: &Speech) {
        if speech.delay_ms > 0 {
            self.pause(&Pause::Stall(Duration::from_millis(speech.delay_ms)));
        }
    }

    pub fn finish(self) -> Vec<Beat> {
        self.0
    }
}

/// An HTTP error as a protocol puts it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

/// Makes the ids and the time of replies: unlike any other in a run, foreseeable in a test.
#[derive(Debug)]
pub struct Mint {
    run: String,
    count: u64,
    /// Seconds since 1970.
    pub now: u64,
}

impl Mint {
    /// `run` must differ between runs of the double that one conversation can meet.
    pub fn new(run: impl Into<String>, now: u64) -> Self {
        Self { run: run.into(), count: 0, now }
    }

    pub fn id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{}{:04}", self.run, self.count)
    }
}
