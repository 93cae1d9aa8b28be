use super::*;

fn last(dialect: Dialect, lines: &[&str]) -> (Option<EdgeKind>, u32) {
    let text: Vec<String> = (0..)
        .zip(lines)
        .map(|(n, line)| format!(r#"{{"timestamp":"2026-11-15T08:00:{n:02}Z",{line}}}"#))
        .collect();
    let turn = fold(dialect, &text.join("\n"));
    (turn.edge.map(|e| e.what), turn.turns_done)
}

#[test]
fn claude_turns() {
    let began = r#""type":"user","origin":{"kind":"human"},"message":{"content":"x"}"#;
    let done = r#""type":"system","subtype":"turn_duration""#;
    let error = r#""type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"text":"429"}]}"#;
    let interrupted = r#""type":"user","interruptedMessageId":"m","message":{"content":[]}"#;
    assert_eq!(last(Dialect::Claude, &[began]), (Some(EdgeKind::Began), 0));
    assert_eq!(last(Dialect::Claude, &[began, done]), (Some(EdgeKind::Done), 1));
    assert_eq!(last(Dialect::Claude, &[began, interrupted]), (Some(EdgeKind::Interrupted), 0));
    let rejected = r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#;
    assert_eq!(
        last(Dialect::Claude, &[began, rejected, done]),
        (Some(EdgeKind::Interrupted), 0),
        "not hidden by the turn's end"
    );
    assert_eq!(
        last(Dialect::Claude, &[began, rejected, done, began, done]),
        (Some(EdgeKind::Done), 1)
    );
    let typed = r#""type":"user","origin":{"kind":"human"},"message":{"content":"[Request interrupted by user]"}"#;
    assert_eq!(last(Dialect::Claude, &[typed]), (Some(EdgeKind::Began), 0));
    let (edge, _) = last(Dialect::Claude, &[began, error, done]);
    assert!(
        matches!(edge, Some(EdgeKind::Failed(f)) if f.is_limit()),
        "not hidden by the turn's end"
    );
    let kind = |more: &str| {
        let line = format!(r#""type":"assistant","isApiErrorMessage":true,{more}"#);
        match last(Dialect::Claude, &[began, &line, done]).0 {
            Some(EdgeKind::Failed(failure)) => failure.kind,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(kind(r#""error":"server_error","apiErrorStatus":529"#), "overloaded");
    assert_eq!(kind(r#""error":"server_error","apiErrorStatus":500"#), "server_error");
    let refused = r#""error":"server_error","apiError":"connection_failed""#;
    assert_eq!(kind(refused), "connection_failed");
    let (edge, _) = last(Dialect::Claude, &[began, error, done, began, done]);
    assert_eq!(edge, Some(EdgeKind::Done), "a later turn counts");
}

#[test]
fn queued_messages() {
    let line = |operation: &&str| {
        format!(
            r#"{{"timestamp":"2026-11-15T08:00:00Z","type":"queue-operation","operation":"{operation}"}}"#
        )
    };
    let after = |operations: &[&str]| {
        let lines: Vec<String> = operations.iter().map(line).collect();
        let turn = fold(Dialect::Claude, &lines.join("\n"));
        (turn.queued, turn.edge.map(|e| e.what))
    };
    assert_eq!(after(&["enqueue", "enqueue"]), (2, None));
    assert_eq!(after(&["enqueue", "dequeue"]), (0, Some(EdgeKind::Began)));
    assert_eq!(after(&["enqueue", "remove", "remove"]), (0, None), "taken into the turn");
    assert_eq!(after(&["enqueue", "enqueue", "popAll", "new"]), (0, None));
}

#[test]
fn codex_turns() {
    let event = |text: &str| format!(r#""type":"event_msg","payload":{text}"#);
    let began = event(r#"{"type":"task_started"}"#);
    let done = event(r#"{"type":"task_complete"}"#);
    let limit = event(
        r#"{"type":"task_complete","error":{"message":"m","codex_error_info":{"x":{"http_status_code":429}}}}"#,
    );
    let full = event(
        r#"{"type":"task_complete","error":{"message":"m","codex_error_info":"context_window_exceeded"}}"#,
    );
    assert_eq!(last(Dialect::Codex, &[&began]).0, Some(EdgeKind::Began));
    assert_eq!(last(Dialect::Codex, &[&began, &done]), (Some(EdgeKind::Done), 1));
    let (edge, _) = last(Dialect::Codex, &[&began, &limit]);
    assert!(matches!(edge, Some(EdgeKind::Failed(f)) if f.is_limit()));
    let (edge, _) = last(Dialect::Codex, &[&began, &full]);
    assert!(matches!(edge, Some(EdgeKind::Failed(f)) if f.kind == "context_window_exceeded"));
    let reply = event(
        r#"{"type":"task_complete","error":{"message":"{\"error\":{\"message\":\"Too big.\",\"type\":\"t\",\"code\":\"context_length_exceeded\"}}","codex_error_info":"other"}}"#,
    );
    let (edge, _) = last(Dialect::Codex, &[&began, &reply]);
    let told = |f: &Failure| f.kind == "context_length_exceeded" && f.text == "Too big.";
    assert!(matches!(&edge, Some(EdgeKind::Failed(f)) if told(f)), "{edge:?}");
}

#[test]
fn out_of_order_and_after_a_clock_was_set_back() {
    let line = |time: &str, what: &str| {
        format!(
            r#"{{"timestamp":"2026-11-15T{time}Z","type":"event_msg","payload":{{"type":"{what}"}}}}"#
        )
    };
    let edge = |lines: &[String]| fold(Dialect::Codex, &lines.join("\n")).edge.map(|e| e.what);
    let done = line("12:00:00", "task_complete");
    let late = line("11:59:59", "task_started");
    assert_eq!(edge(&[done.clone(), late]), Some(EdgeKind::Done), "written late");
    let next = line("11:00:00", "task_started");
    assert_eq!(edge(&[done, next]), Some(EdgeKind::Began), "an hour earlier");
}

#[test]
fn a_failure_has_a_short_text() {
    let long = "é".repeat(1 << 20);
    let error = format!(r#""type":"error","content":"{long}""#);
    let (edge, _) = last(Dialect::Gemini, &[&error]);
    let Some(EdgeKind::Failed(failure)) = edge else { panic!("no failure") };
    assert_eq!(failure.text.chars().count(), MAX_TEXT + 1);
}

#[test]
fn lines_that_are_no_edge_tell_the_time() {
    let line = r#"{"type":"assistant","message":{"timestamp":"2020-01-01T00:00:00Z"},"timestamp":"2026-11-15T08:00:00Z"}"#;
    for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
        let turn = fold(dialect, line);
        assert_eq!((turn.edge, turn.last), (None, "2026-11-15T08:00:00Z".parse().ok()));
    }
    let nested = r#"{"type":"x","snapshot":{"timestamp":"2020-01-01T00:00:00Z"}}"#;
    assert_eq!(fold(Dialect::Claude, nested).last, None);
}

#[test]
fn rubbish_is_passed_over() {
    for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
        let text = "\0\n[[[[\n{\"timestamp\":7}\n{\"timestamp\":\"2026-11-15T08:00:00Z\",\"type\":[]}\n{\"time";
        assert_eq!(fold(dialect, text).edge, None);
    }
}
