//! Takes requests, and plays what was chosen for them.

mod play;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::choose::{Attempts, choose};
use crate::control;
use crate::dialect::{self, Dialect};
use crate::facts::Facts;
use crate::gates::Gates;
use crate::log::{EndNote, Journal, Outcome, Question, Request};
use crate::reply::{Answer, Mint, Part, Pause, Refusal, Reply, Tokens};
use crate::scenario::Scenario;

/// Everything the handlers share.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Mutex<Script>,
    run: String,
    pub(crate) gates: Gates,
    pub(crate) journal: Arc<Journal>,
}

#[derive(Debug)]
struct Script {
    scenario: Scenario,
    attempts: Attempts,
    replies: u64,
}

impl Stage {
    pub(crate) fn new(scenario: Scenario, journal: Journal) -> Self {
        Self {
            script: Mutex::new(Script { scenario, attempts: Attempts::default(), replies: 0 }),
            run: format!("{:08x}", RandomState::new().hash_one(std::process::id()) >> 32),
            gates: Gates::new(),
            journal: Arc::new(journal),
        }
    }

    /// Failures that were used up are due again.
    pub(crate) fn replace_scenario(&self, scenario: Scenario) {
        let mut script = self.script();
        script.scenario = scenario;
        script.attempts = Attempts::default();
    }

    fn choose(&self, facts: &Facts) -> (Answer, Mint) {
        let mut script = self.script();
        let Script { scenario, attempts, replies } = &mut *script;
        *replies += 1;
        let answer = choose(scenario, facts, attempts);
        (answer, Mint::new(format!("{}{replies:04}", self.run), unix_time()))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pause(&self, pause: &Pause) {
        match pause {
            // sleep: its scenario says how long it stalls.
            Pause::Stall(time) => tokio::time::sleep(*time).await,
            Pause::Gate(gate) => self.gates.pass(gate).await,
        }
    }
}

fn unix_time() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}

pub(crate) fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .nest("/__lab__", control::routes())
        .fallback(answer)
        .layer(DefaultBodyLimit::disable())
        .with_state(stage)
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    method: Method,
    uri: Uri,
    headers: axum::http::HeaderMap,
    bytes: Bytes,
) -> Response {
    let path = uri.path();
    let call = Call { stage: &stage, method: &method, path };
    if method == Method::HEAD {
        return call.plain(StatusCode::OK, None);
    }
    if method == Method::GET && path.ends_with("/models") {
        let none = json!({ "object": "list", "data": [], "models": [], "has_more": false });
        return call.plain(StatusCode::OK, Some(none));
    }
    if method == Method::POST && path.ends_with("/messages/count_tokens") {
        let tokens = (bytes.len() / 4).max(1);
        return call.plain(StatusCode::OK, Some(json!({ "input_tokens": tokens })));
    }
    let dialect = dialect::at(path).filter(|_| method == Method::POST);
    let Some(dialect) = dialect else {
        let message = format!("the model double has nothing at {method} {path}");
        return call.refuse(StatusCode::NOT_FOUND, &message);
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING) {
        let message = format!("the model double does not read bodies encoded as {encoding:?}");
        return call.refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &message);
    }
    match serde_json::from_slice(&bytes) {
        Ok(body) => call.model(dialect, body).await,
        Err(error) => {
            call.refuse(StatusCode::BAD_REQUEST, &format!("the body is no JSON: {error}"))
        }
    }
}

/// A request under way.
struct Call<'a> {
    stage: &'a Arc<Stage>,
    method: &'a Method,
    path: &'a str,
}

impl Call<'_> {
    fn record(
        &self,
        status: u16,
        question: Option<Question>,
        tokens: Option<Tokens>,
        body: Option<Value>,
    ) -> EndNote {
        self.stage.journal.add(Request {
            number: 0,
            at: Timestamp::now(),
            method: self.method.to_string(),
            path: self.path.to_owned(),
            status,
            outcome: Outcome::Open,
            question,
            tokens,
            body,
        })
    }

    fn plain(&self, status: StatusCode, document: Option<Value>) -> Response {
        self.record(status.as_u16(), None, None, None).ended(Outcome::Sent);
        json_response(status, &[], document)
    }

    fn refuse(&self, status: StatusCode, message: &str) -> Response {
        let error = json!({ "type": "invalid_request_error", "message": message });
        self.plain(status, Some(json!({ "type": "error", "error": error })))
    }

    async fn model(&self, dialect: &'static dyn Dialect, body: Value) -> Response {
        let facts = dialect.facts(self.path, &body);
        let (answer, mut mint) = self.stage.choose(&facts);
        let answer = if facts.streaming { answer } else { settle(answer) };
        let now = mint.now;
        match answer {
            Answer::Refuse { pauses, failure } => {
                let refusal = dialect.refusal(&failure, now);
                let question = question(dialect, facts);
                let mut note = self.record(refusal.status, Some(question), None, Some(body));
                for pause in &pauses {
                    self.stage.pause(pause).await;
                }
                note.ended(Outcome::Sent);
                refused(refusal)
            }
            Answer::Reply(reply) if facts.streaming => {
                let beats = dialect.stream(&facts, &reply, &mut mint);
                let note = self.record(
                    200,
                    Some(question(dialect, facts)),
                    Some(reply.tokens),
                    Some(body),
                );
                play::events(Arc::clone(self.stage), beats, note)
            }
            Answer::Reply(reply) => {
                let document = dialect.whole(&facts, &reply, &mut mint);
                let mut note = self.record(
                    200,
                    Some(question(dialect, facts)),
                    Some(reply.tokens),
                    Some(body),
                );
                for part in &reply.parts {
                    match part {
                        Part::Pause(pause) => self.stage.pause(pause).await,
                        Part::Cut => return play::cut(note),
                        Part::Text(_) | Part::Thinking(_) | Part::Call(_) | Part::Fail(_) => {}
                    }
                }
                note.ended(Outcome::Sent);
                json_response(StatusCode::OK, &[], Some(document))
            }
        }
    }
}

/// Without a stream there is no middle of it: an error there is an error of the whole.
fn settle(answer: Answer) -> Answer {
    let Answer::Reply(Reply { parts, tokens }) = answer else {
        return answer;
    };
    let failure = parts.iter().find_map(|part| match part {
        Part::Fail(failure) => Some(failure.clone()),
        _ => None,
    });
    match failure {
        None => Answer::Reply(Reply { parts, tokens }),
        Some(failure) => Answer::Refuse { pauses: Vec::new(), failure },
    }
}

fn question(dialect: &'static dyn Dialect, facts: Facts) -> Question {
    Question {
        dialect: dialect.name(),
        model: facts.model,
        streaming: facts.streaming,
        side: facts.side,
        conversation: facts.conversation,
        human: facts.thread.human,
        turn: facts.thread.turn,
        step: facts.thread.step,
        tools: facts.tools.into_iter().map(|tool| tool.name).collect(),
    }
}

fn refused(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_response(status, &refusal.headers, Some(refusal.body))
}

fn json_response(
    status: StatusCode,
    headers: &[(&'static str, String)],
    document: Option<Value>,
) -> Response {
    let mut response = Response::new(
        document.map_or_else(Body::empty, |document| Body::from(document.to_string())),
    );
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    for (name, value) in headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(*name, value);
        }
    }
    response
}
