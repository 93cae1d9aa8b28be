//! The double seen from outside, over real sockets.

#![expect(clippy::expect_used, reason = "helpers of tests may fail as tests do")]

mod support;

use std::time::{Duration, Instant};

use model_double::{ModelDouble, Options, Outcome, Request, Scenario};
use serde_json::{Value, json};
use support::{double, get, post, send};

const LIMIT: Duration = Duration::from_secs(10);

fn ask(human: &str) -> Value {
    json!({
        "model": "m", "stream": true, "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": human }],
    })
}

fn whole(human: &str) -> Value {
    let mut body = ask(human);
    body["stream"] = false.into();
    body
}

#[test]
fn streams_and_whole_replies() {
    let double = double("default = ['Hello there.']");
    let mut streamed = post(&double, "/v1/messages?beta=true", &ask("hi"));
    let text = streamed.all();
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(text.contains("event: message_stop"), "{text}");

    let document = post(&double, "/v1/messages", &whole("hi")).json();
    assert_eq!(document["content"][0]["text"], "Hello there.");
}

#[test]
fn every_protocol_answers() {
    let double = double("side = 'from the side'");
    for path in [
        "/v1/messages",
        "/v1/responses",
        "/v1/chat/completions",
        "/v1beta/models/g:generateContent",
    ] {
        let document = post(&double, path, &json!({})).json().to_string();
        assert!(document.contains("from the side"), "{path}: {document}");
    }
}

#[test]
fn a_gate_holds_the_stream_until_it_is_released() {
    let double = double("default = [['before', { gate = 'g' }, 'after']]");
    let mut reply = post(&double, "/v1/messages", &ask("x"));
    reply.until("before");
    let waiting = || get(&double, "/__lab__/gates").json()["waiting"]["g"] == 1;
    let deadline = Instant::now() + LIMIT;
    while !waiting() {
        assert!(Instant::now() < deadline, "nothing waits at the gate");
        std::thread::yield_now();
    }
    assert!(!reply.so_far().contains("after"));
    assert_eq!(double.requests()[0].outcome, Outcome::Open);

    assert_eq!(send(double.address(), "POST", "/__lab__/release/g", "").status(), 200);
    reply.until("message_stop");

    send(double.address(), "POST", "/__lab__/hold/g", "").all();
    assert!(double.gates().open.is_empty());
}

#[test]
fn a_gate_opens_by_itself_when_its_time_is_over() {
    let double = double("default = [[{ gate = { name = 'g', max_s = 0.05 } }, 'after']]");
    post(&double, "/v1/messages", &ask("x")).until("after");
}

#[test]
fn stalls_and_delays_take_their_time() {
    let double = double(
        "default = [[{ text = { text = 'abc', chunk = 1, delay_ms = 40 } }, { stall_s = 0.1 }]]",
    );
    let begin = Instant::now();
    post(&double, "/v1/messages", &ask("x")).all();
    assert!(begin.elapsed() >= Duration::from_millis(220), "{:?}", begin.elapsed());
}

#[test]
fn errors_come_as_http_and_pass_after_their_attempts() {
    let double = double(
        "default = [[{ error = { kind = 'rate_limit', retry_after_s = 7, attempts = 2 } }, 'well']]",
    );
    for _ in 0..2 {
        let mut refused = post(&double, "/v1/messages", &ask("x"));
        assert_eq!(refused.status(), 429);
        assert!(refused.all().contains("retry-after: 7\r\n"));
    }
    assert!(post(&double, "/v1/messages", &ask("x")).all().contains("well"));
    let statuses: Vec<u16> = double.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [429, 429, 200]);
}

#[test]
fn a_cut_stream_is_delivered_up_to_the_cut_and_not_ended() {
    let double = double("default = [['begun', { cut = {} }, 'never']]");
    let mut reply = post(&double, "/v1/messages", &ask("x"));
    let text = reply.all();
    assert!(text.contains("begun") && !text.contains("never"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n"), "the chunked body must stay open: {text}");
    let cut = |requests: &[Request]| requests[0].outcome == Outcome::Cut;
    assert!(double.wait_until(LIMIT, cut).is_some());

    assert!(!post(&double, "/v1/messages", &whole("x")).all().contains("begun"));
}

#[test]
fn an_error_inside_a_stream_is_an_http_error_without_one() {
    let double = double("default = [['begun', { stream_error = 'overloaded' }]]");
    let streamed = post(&double, "/v1/messages", &ask("x")).all().to_owned();
    assert!(streamed.starts_with("HTTP/1.1 200") && streamed.contains("event: error"));
    assert_eq!(post(&double, "/v1/messages", &whole("x")).status(), 529);
}

#[test]
fn a_client_that_hangs_up_is_noted() {
    let double = double("default = [['before', { gate = 'g' }]]");
    let mut reply = post(&double, "/v1/messages", &ask("x"));
    reply.until("before");
    drop(reply);
    let gone = |requests: &[Request]| requests[0].outcome == Outcome::ClientGone;
    assert!(double.wait_until(LIMIT, gone).is_some(), "{:?}", double.requests());
    assert!(double.gates().waiting.is_empty());
}

#[test]
fn requests_are_on_record_without_credentials() {
    let dir = tempfile::tempdir().expect("temp dir");
    let log = dir.path().join("log");
    let options = Options { log: Some(log.clone()), log_bodies: true, ..Default::default() };
    let double = ModelDouble::start_with(Scenario::default(), &options).expect("start");
    post(&double, "/v1/messages?key=secret-in-query", &ask("what is on")).all();
    send(double.address(), "HEAD", "/", "").all();
    assert_eq!(get(&double, "/v1/models").status(), 200);
    assert_eq!(get(&double, "/nowhere").status(), 404);

    let requests = get(&double, "/__lab__/requests").json();
    assert_eq!(requests.as_array().map(Vec::len), Some(4));
    assert_eq!(requests[0]["human"], "what is on");
    assert_eq!(requests[0]["tools"], json!(["Bash"]));
    assert_eq!(requests[0]["body"], ask("what is on"));
    assert_eq!(requests[3]["status"], 404);

    let text = std::fs::read_to_string(&log).expect("log");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    assert!(text.contains("what is on"));
    assert!(!text.contains("secret") && !requests.to_string().contains("secret"), "{text}");
}

#[test]
fn bodies_are_not_kept_unless_wanted() {
    let double = double("");
    post(&double, "/v1/messages", &ask("x")).all();
    assert_eq!(double.requests()[0].body, None);
}

#[test]
fn the_scenario_can_be_replaced() {
    let double = double("default = ['old']");
    let replace = |text: &str| send(double.address(), "POST", "/__lab__/scenario", text);
    let mut bad = replace("default = 3");
    assert_eq!(bad.status(), 400);
    assert!(bad.json()["error"].as_str().expect("error").starts_with("scenario:1:11: "));
    assert!(post(&double, "/v1/messages", &ask("x")).all().contains("old"));

    assert_eq!(replace("default = ['new']").status(), 200);
    assert!(post(&double, "/v1/messages", &ask("x")).all().contains("new"));
}

#[test]
fn tokens_are_counted_and_bad_bodies_refused() {
    let double = double("");
    let counted = post(&double, "/v1/messages/count_tokens", &ask("x")).json();
    assert!(counted["input_tokens"].as_u64().expect("a number") > 10, "{counted}");
    assert_eq!(send(double.address(), "POST", "/v1/messages", "{oops").status(), 400);
    assert_eq!(get(&double, "/__lab__/health").json()["ok"], true);
}

#[test]
fn dropping_the_double_ends_streams_and_frees_the_port() {
    let double = double("default = [['before', { gate = 'g' }]]");
    let address = double.address();
    let mut reply = post(&double, "/v1/messages", &ask("x"));
    reply.until("before");
    drop(double);
    reply.all();
    assert!(std::net::TcpStream::connect(address).is_err());
}
