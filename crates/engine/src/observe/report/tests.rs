use dogwatch_core::event::{Event, Subject, VERSION, kind};
use dogwatch_core::mask::Masks;
use dogwatch_core::report::account::Account;
use dogwatch_core::transcript::Dialect;
use dogwatch_protocol::report::{ClaimVerdict, RunResult, Source, SpanState};
use dogwatch_store::Entry;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::assemble::{Material, assemble};
use super::history::History;
use super::transcript::{Read1, Transcripts};
use super::{Period, mask};

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_000 + minute * 60).unwrap()
}

fn entry(number: i64, minute: i64, kind: &str, data: Value) -> Entry {
    let session = Subject { id: "s".into(), name: "api".into(), agent: "claude".into() };
    let event = Event {
        v: VERSION,
        id: String::new(),
        at: at(minute),
        host: String::new(),
        kind: kind.to_owned(),
        session: Some(session),
        data,
    };
    Entry { number, event }
}

fn state(number: i64, minute: i64, data: Value) -> Entry {
    let mut data = data;
    data["since"] = json!(at(minute).to_string());
    entry(number, minute, kind::STATE, data)
}

fn history(entries: Vec<Entry>) -> History {
    let subject = entries.first().and_then(|entry| entry.event.session.clone());
    History { subject, entries, before: 0, is_cut: false }
}

fn transcript(lines: &[Value]) -> Transcripts {
    let mut account = Account::default();
    for (number, line) in lines.iter().enumerate() {
        account.take_in(Dialect::Claude, u64::try_from(number).unwrap() + 1, &line.to_string());
    }
    let path = "/home/ada/.claude/projects/app/1.jsonl".into();
    Transcripts { has_dialect: true, all: vec![Read1 { path, account, is_cut: false }] }
}

fn said(minute: i64, content: Value) -> Value {
    json!({ "timestamp": at(minute).to_string(), "type": "assistant", "message": { "content": [content] } })
}

fn answered(minute: i64, content: Value) -> Value {
    json!({ "timestamp": at(minute).to_string(), "type": "user", "message": { "content": [content] } })
}

const PERIOD: fn() -> Period = || Period { since: at(0), until: at(60) };

#[test]
fn a_claim_beside_the_exit_code() {
    let read = transcript(&[
        json!({ "timestamp": at(1).to_string(), "type": "user", "origin": { "kind": "human" },
            "message": { "content": "fix it" } }),
        said(
            2,
            json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "cargo test" } }),
        ),
        answered(
            3,
            json!({ "type": "tool_result", "tool_use_id": "t", "is_error": true,
            "content": "Exit code 101\nboom" }),
        ),
        said(4, json!({ "type": "text", "text": "Fixed. All tests pass." })),
    ]);
    let report = assemble("s".parse().unwrap(), Material { read, ..Material::default() }, PERIOD());
    assert_eq!(report.turns.unwrap().len(), 1);
    assert_eq!((report.runs[0].exit, report.runs[0].result), (Some(101), RunResult::Failed));
    let claim = &report.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Contradicted);
    let line = |line| Source::Transcript {
        file: "/home/ada/.claude/projects/app/1.jsonl".to_owned(),
        line,
    };
    assert_eq!((&claim.source, &claim.run.source), (&line(4), &line(3)));
    assert_eq!((claim.at, claim.run.at), (Some(at(4)), Some(at(3))));
}

#[test]
fn what_two_files_of_a_conversation_have_counts_once() {
    let call = |id: &str, name: &str, input: Value| {
        said(2, json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
    };
    let result = |id: &str| {
        answered(3, json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" }))
    };
    let lines = [
        call("t", "Bash", json!({ "command": "cargo build && cargo test" })),
        result("t"),
        call("e", "Edit", json!({ "file_path": "/p/a.rs" })),
        result("e"),
        said(4, json!({ "type": "text", "text": "All tests pass." })),
    ];
    let of =
        |read| assemble("s".parse().unwrap(), Material { read, ..Material::default() }, PERIOD());
    let once = of(transcript(&lines));
    let mut read = transcript(&lines);
    read.all.extend(transcript(&lines).all);
    let twice = of(read);
    assert_eq!((once.runs.len(), once.files[0].edits, once.claims.len()), (2, 1, 1));
    assert_eq!((&twice.runs, &twice.files, &twice.claims), (&once.runs, &once.files, &once.claims));
}

#[test]
fn what_dogwatch_did_by_itself() {
    let entries = vec![
        entry(
            1,
            1,
            kind::RULES_ANSWERED,
            json!({ "tool": "Bash", "asks": "make", "answer": "allow", "rules": ["a", "b"], "request": "r" }),
        ),
        entry(
            2,
            2,
            kind::RULES_HELD,
            json!({ "tool": "Bash", "asks": "make", "because": "30 answers within a minute" }),
        ),
        entry(3, 3, kind::LIMIT, json!({ "action": "fell_back", "because": "started x" })),
        entry(4, 4, kind::LOOP_INTERRUPTED, json!({ "what": "cargo test", "times": 9 })),
        entry(
            5,
            5,
            kind::BUDGET,
            json!({ "used_words": "$2.00", "limit_words": "$1", "is_lifted": false }),
        ),
        entry(6, 6, kind::TAGGED, json!({})),
    ];
    let material = Material {
        history: history(entries),
        no_usage: Some("costs are not known: x".to_owned()),
        ..Material::default()
    };
    let report = assemble("s".parse().unwrap(), material, PERIOD());
    let texts: Vec<&str> = report.actions.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "rule a, b: allow Bash make",
            "rules did not answer Bash make: 30 answers within a minute",
            "limit fell back: started x",
            "interrupted a loop: cargo test ×9",
            "budget used up: $2.00 of $1",
        ]
    );
    assert_eq!(report.actions[0].source, Source::Journal { number: 1 });
    assert!(report.notes.contains(&"costs are not known: x".to_owned()), "{:?}", report.notes);
}

#[test]
fn what_is_outside_of_the_period_is_left_out() {
    let read = transcript(&[
        said(
            -9,
            json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "cargo test" } }),
        ),
        answered(-8, json!({ "type": "tool_result", "tool_use_id": "t", "content": "ok" })),
        said(-7, json!({ "type": "text", "text": "All tests pass." })),
        said(5, json!({ "type": "text", "text": "As I said, the tests pass." })),
    ]);
    let report = assemble("s".parse().unwrap(), Material { read, ..Material::default() }, PERIOD());
    assert!(report.runs.is_empty() && report.claims.len() <= 1, "{report:#?}");
}

#[test]
fn questions_and_who_answered() {
    let entries = vec![
        state(1, 1, json!({ "state": "working" })),
        state(
            2,
            5,
            json!({ "state": "waiting", "for": "permission", "question": "Run git push?" }),
        ),
        entry(
            3,
            9,
            kind::ESCALATION_ANSWERED,
            json!({ "number": 1, "outcome": { "how": "answered", "by": "ann" } }),
        ),
        state(4, 10, json!({ "state": "working" })),
        state(5, 20, json!({ "state": "waiting", "for": "question", "question": "Which one?" })),
        state(6, 30, json!({ "state": "limited", "text": "5-hour limit", "until": "3am" })),
        state(7, 40, json!({ "state": "working", "looping": { "what": "Bash make", "times": 7 } })),
    ];
    let material = Material { history: history(entries), ..Material::default() };
    let report = assemble("s".parse().unwrap(), material, PERIOD());
    let questions: Vec<_> = report
        .questions
        .iter()
        .map(|q| (q.about.as_str(), q.text.as_str(), q.by.as_deref(), q.answered))
        .collect();
    assert_eq!(
        questions,
        [
            ("permission", "Run git push?", Some("ann"), Some(at(10))),
            ("question", "Which one?", None, Some(at(30))),
        ]
    );
    assert_eq!(report.questions[0].answer_source, Some(Source::Journal { number: 3 }));
    assert_eq!(report.limits[0].text, "5-hour limit, 3am");
    assert_eq!(report.loops[0].text, "Bash make ×7");
    assert_eq!(report.turns, None, "without a transcript nothing is known of turns");
    assert!(report.time.not_observed > 0, "no watcher ran: {:?}", report.time);
}

/// Whether or not a look found the dialog, a rule answered it.
#[test]
fn what_a_rule_answered_is_one_question() {
    let answered = |number, minute, asks: &str| {
        let data = json!({ "tool": "Bash", "asks": asks, "answer": "allow", "rules": ["tests"] });
        entry(number, minute, kind::RULES_ANSWERED, data)
    };
    let entries = vec![
        state(1, 1, json!({ "state": "working" })),
        answered(2, 5, "make"),
        state(3, 5, json!({ "state": "waiting", "for": "permission", "question": "Proceed?" })),
        state(4, 5, json!({ "state": "working" })),
        answered(5, 9, "make test"),
    ];
    let material = Material { history: history(entries), ..Material::default() };
    let report = assemble("s".parse().unwrap(), material, PERIOD());
    let questions: Vec<_> =
        report.questions.iter().map(|q| (q.text.as_str(), q.by.as_deref())).collect();
    let by = Some("a rule (tests): allow");
    assert_eq!(questions, [("Bash make", by), ("Bash make test", by)]);
}

#[test]
fn a_turn_with_a_dialog_that_was_watched() {
    let read = transcript(&[
        json!({ "timestamp": at(0).to_string(), "type": "user", "origin": { "kind": "human" },
            "message": { "content": "go" } }),
        said(
            1,
            json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls" } }),
        ),
        answered(20, json!({ "type": "tool_result", "tool_use_id": "t", "content": "ok" })),
        said(21, json!({ "type": "text", "text": "Done." })),
        json!({ "timestamp": at(21).to_string(), "type": "system", "subtype": "turn_duration" }),
    ]);
    let entries = vec![state(2, 2, json!({ "state": "waiting", "for": "permission" }))];
    let material = Material { history: history(entries), read, ..Material::default() };
    let report = assemble("s".parse().unwrap(), material, PERIOD());
    let spans: Vec<_> = report
        .timeline
        .iter()
        .map(|span| (span.state, span.to.duration_since(span.from).as_mins()))
        .collect();
    assert_eq!(
        spans,
        [
            (SpanState::Working, 2),
            (SpanState::Waiting, 18),
            (SpanState::Working, 1),
            (SpanState::Idle, 39)
        ],
        "{:#?}",
        report.timeline
    );
}

#[test]
fn secrets_are_masked() {
    let secret = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl";
    let command = format!("API_KEY={secret} cargo test");
    let read = transcript(&[
        said(
            2,
            json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": command } }),
        ),
        answered(3, json!({ "type": "tool_result", "tool_use_id": "t", "content": "ok" })),
        said(4, json!({ "type": "text", "text": format!("All tests pass with {secret}.") })),
    ]);
    let mut report =
        assemble("s".parse().unwrap(), Material { read, ..Material::default() }, PERIOD());
    mask(&mut report, &Masks::outward(Vec::new()));
    let written = serde_json::to_string(&report).unwrap();
    assert!(!written.contains(secret), "{written}");
    assert_eq!(report.runs.len(), 1);
}
