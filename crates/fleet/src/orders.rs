//! Requests of other hosts: refused, or executed once and answered.

use dogwatch_protocol::event_data::{OrderRefused, RequestRefused, RequestTaken};
use serde::Serialize;
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::event::{VERSION, kind};
use dogwatch_core::fleet::{
    Envelope, Order, OrderError, Reply, ReplyState, Stale, Verb, freshness,
};
use dogwatch_store::{Store, Taken};
use jiff::Timestamp;
use rumqttc::Publish;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::carry_out::carry_out;
use super::publisher::Host;
use dogwatch_engine::Error;
use dogwatch_engine::error::FleetError;

/// Requests in progress at the same time. A message may wait for its agent for minutes.
const MOST_RUNNING: usize = 32;
/// Refusals recorded per hour.
const MOST_NOTED: u32 = 60;
const HOUR: Duration = Duration::from_hours(1);
/// A broker delivers a retained message again at each connection.
const RETAINED: &str = "retained messages are not accepted; publish orders without the retain flag";

/// The reply topic, and the correlation data of the requester.
#[derive(Debug, Clone)]
pub(super) struct ReplyTo {
    pub(super) topic: String,
    pub(super) correlation: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) to: ReplyTo,
}

#[derive(Debug)]
pub(super) struct Orders {
    done: UnboundedSender<Reply>,
    finished: UnboundedReceiver<Reply>,
    /// Requests in progress, with the hosts that wait for the result.
    running: HashMap<String, Vec<ReplyTo>>,
    /// Replies to send when there is a connection.
    answers: Vec<Answer>,
    /// Refusals recorded in this hour.
    noted: u32,
    since: Instant,
}

impl Orders {
    pub(super) fn new() -> Self {
        let (done, finished) = unbounded_channel();
        Self {
            done,
            finished,
            running: HashMap::new(),
            answers: Vec::new(),
            noted: 0,
            since: Instant::now(),
        }
    }

    /// The next finished request.
    pub(super) async fn next(&mut self) -> Reply {
        match self.finished.recv().await {
            Some(reply) => reply,
            // Never happens: `self.done` keeps the channel open.
            None => std::future::pending().await,
        }
    }

    /// Stores the result of a request and queues the replies.
    pub(super) fn keep(&mut self, store: &mut Store, reply: Reply) {
        if reply.state == ReplyState::Refused {
            let (id, because) = (&reply.id, reply.because.as_deref().unwrap_or_default());
            self.note_refusal(
                store,
                &OrderRefused {
                    id: id.clone(),
                    verb: reply.verb.clone(),
                    because: because.to_owned(),
                },
            );
        }
        let text = serde_json::to_string(&reply).logged("write JSON").unwrap_or_default();
        store.answer_request(&reply.id, &text).logged("keep an answer");
        for to in self.running.remove(&reply.id).unwrap_or_default() {
            self.answers.push(Answer { reply: reply.clone(), to });
        }
    }

    pub(super) fn take_answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }

    /// Takes a request and replies immediately, at least that it was accepted.
    /// `objection` is the reason to refuse all requests that come this way.
    pub(super) fn take(
        &mut self,
        host: &Host,
        store: &mut Store,
        verb: &str,
        message: &Publish,
        objection: Option<&str>,
    ) {
        // An empty payload clears the retained message of the topic.
        if message.payload.is_empty() {
            return;
        }
        let to = reply_to(host, message);
        let (id, said) = match Order::envelope(&message.payload) {
            Ok((envelope, value)) => {
                // Of two objections, report the one that the sender can correct.
                let objection = match (message.retain, objection) {
                    (true, _) => Some(RETAINED),
                    (false, objection) => objection,
                };
                let said = match objection {
                    Some(because) => Response::New(ReplyState::Refused, Some(because.to_owned())),
                    None => self.consider(host, store, verb, &envelope, value, to.as_ref()),
                };
                if let Response::New(state @ (ReplyState::Refused | ReplyState::Expired), because) =
                    &said
                    && Self::is_first_refusal(store, verb, &envelope, message.retain)
                {
                    let data = RequestRefused {
                        id: envelope.id.clone(),
                        verb: verb.to_owned(),
                        from: envelope.from.clone(),
                        state: state.as_str().to_owned(),
                        because: because.clone(),
                    };
                    self.note_refusal(store, &data);
                }
                (envelope.id, said)
            }
            Err(problem) => (String::new(), unreadable(&problem)),
        };
        if let Some(to) = to {
            let reply = match said {
                Response::Again(reply) => *reply,
                Response::New(state, because) => reply(host, &id, verb, state, because),
            };
            self.answers.push(Answer { reply, to });
        }
    }

    fn consider(
        &mut self,
        host: &Host,
        store: &mut Store,
        verb: &str,
        envelope: &Envelope,
        value: Value,
        to: Option<&ReplyTo>,
    ) -> Response {
        let says = |state, because: String| Response::New(state, Some(because));
        let Some(known) = Verb::from_word(verb) else {
            let known = Verb::ALL.map(Verb::as_str).join(", ");
            return says(
                ReplyState::Refused,
                format!("unknown verb {verb:?}; known verbs: {known}"),
            );
        };
        if !host.allow.contains(&known.as_str()) {
            return says(ReplyState::Refused, not_allowed(host, verb));
        }
        let order = match Order::read(known, value) {
            Ok(order) => order,
            Err(problem) => return unreadable(&problem),
        };
        let now = Timestamp::now();
        match freshness(envelope, now) {
            Ok(()) => {}
            Err(stale @ Stale::Late) => return says(ReplyState::Expired, stale.to_string()),
            Err(stale) => return says(ReplyState::Refused, stale.to_string()),
        }
        let id = &envelope.id;
        if self.running.len() >= MOST_RUNNING && !self.running.contains_key(id) {
            let because = format!("{MOST_RUNNING} orders are already running");
            return says(ReplyState::Failed, because);
        }
        match store.take_request(id, verb, now) {
            Ok(Taken::New) => {}
            Ok(Taken::Before { reply }) => return self.again(id, reply, to),
            // A request that cannot be recorded could be executed twice.
            Err(error) => return says(ReplyState::Failed, error.to_string()),
        }
        let data =
            RequestTaken { id: id.clone(), verb: verb.to_owned(), from: envelope.from.clone() };
        store.record_event(now, None, kind::REQUEST, &data).logged("write an event");
        self.running.insert(id.clone(), to.cloned().into_iter().collect());
        self.start(host.clone(), order, id.clone());
        Response::New(ReplyState::Accepted, None)
    }

    /// A retained request comes again at each connection; record its refusal once.
    fn is_first_refusal(
        store: &mut Store,
        verb: &str,
        envelope: &Envelope,
        retained: bool,
    ) -> bool {
        if !retained {
            return true;
        }
        let key = format!("retained {}", envelope.id);
        matches!(store.take_request(&key, verb, Timestamp::now()), Ok(Taken::New))
    }

    /// Records a refusal in the journal; limited per hour, so that clients cannot fill it.
    fn note_refusal(&mut self, store: &mut Store, data: &impl Serialize) {
        if self.since.elapsed() > HOUR {
            (self.since, self.noted) = (Instant::now(), 0);
        }
        self.noted += 1;
        if self.noted <= MOST_NOTED {
            store
                .record_event(Timestamp::now(), None, kind::REQUEST_REFUSED, data)
                .logged("write an event");
        }
    }

    /// The request came before.
    fn again(&mut self, id: &str, reply: Option<String>, to: Option<&ReplyTo>) -> Response {
        if let Some(waiting) = self.running.get_mut(id) {
            waiting.extend(to.cloned());
            return Response::New(ReplyState::Accepted, None);
        }
        let because = "the order was started before; its result is unknown".to_owned();
        reply
            .and_then(|text| serde_json::from_str(&text).logged("read JSON"))
            .map_or(Response::New(ReplyState::Unknown, Some(because)), Response::Again)
    }

    /// Executes a request on a thread.
    fn start(&self, host: Host, order: Order, id: String) {
        let done = self.done.clone();
        let verb = order.verb().as_str();
        let failed =
            reply(&host, &id, verb, ReplyState::Failed, Some("cannot start a thread".into()));
        let work = move || {
            let result = carry_out(&host, &order);
            let (state, because) = match &result {
                Ok(_) => (ReplyState::Done, None),
                Err(Error::Fleet(FleetError::OrderRefused { because })) => {
                    (ReplyState::Refused, Some(because.to_string()))
                }
                Err(error) => (ReplyState::Failed, Some(error.to_string())),
            };
            let mut reply = reply(&host, &id, verb, state, because);
            match result {
                Ok((value, exit)) => (reply.result, reply.exit) = (value, Some(exit)),
                Err(error) => {
                    reply.code = Some(error.code().to_owned());
                    reply.exit = Some(error.exit_code());
                }
            }
            let _ = done.send(reply);
        };
        if thread::Builder::new().name("order".to_owned()).spawn(work).is_err() {
            let _ = self.done.send(failed);
        }
    }
}

/// The immediate reply.
enum Response {
    New(ReplyState, Option<String>),
    /// The reply of the first time.
    Again(Box<Reply>),
}

fn unreadable(problem: &OrderError) -> Response {
    Response::New(ReplyState::Failed, Some(format!("invalid request: {problem}")))
}

fn not_allowed(host: &Host, verb: &str) -> String {
    let allowed = if host.allow.is_empty() { "nothing".to_owned() } else { host.allow.join(", ") };
    format!(
        "host {} does not allow `{verb}`; [fleet] allow in its config.toml has {allowed}",
        host.mqtt.host
    )
}

fn reply(host: &Host, id: &str, verb: &str, state: ReplyState, because: Option<String>) -> Reply {
    Reply {
        v: VERSION,
        id: id.to_owned(),
        host: host.mqtt.host.clone(),
        verb: verb.to_owned(),
        state,
        because,
        code: None,
        exit: None,
        result: Value::Null,
    }
}

fn reply_to(host: &Host, message: &Publish) -> Option<ReplyTo> {
    let properties = message.properties.as_ref()?;
    let topic = properties.response_topic.clone()?;
    let correlation = properties.correlation_data.as_ref().map(|data| data.to_vec());
    host.mqtt.topics.is_reply(&topic).then_some(ReplyTo { topic, correlation })
}
