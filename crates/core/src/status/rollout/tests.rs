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

/// Those versions write each end down; others do not, or not each.
#[test]
fn versions_that_tell_ends() {
    let folder =
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/versions/transcripts"));
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let dialect = if name.starts_with("claude") { Dialect::Claude } else { Dialect::Codex };
        let turn = fold(dialect, &std::fs::read_to_string(&path).unwrap());
        let tells = dialect == Dialect::Codex && name != "codex-0.80.0";
        assert_eq!(turn.tells_ends, tells, "{name}");
    }
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

/// Transcripts of real agents against the model double. Each message has a tag that says what becomes of its turn; what is
/// told right before the next message is how it ended.
#[test]
fn transcripts_of_many_versions() {
    let folder =
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/versions/transcripts"));
    let mut turns = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let dialect = if name.starts_with("claude") { Dialect::Claude } else { Dialect::Codex };
        let text = std::fs::read_to_string(&path).unwrap();
        let mut turn = Turn::default();
        let (mut asked, mut ended) = (None::<String>, None);
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            // The beginning of the next turn is written before its message.
            if value["payload"]["type"] == "task_started" {
                ended = Some(turn.clone());
            }
            if let Some(message) = message(dialect, &value) {
                let ended = ended.take();
                if let Some(asked) = asked.replace(message) {
                    ends_as_expected(&name, &asked, ended.as_ref().unwrap_or(&turn));
                    turns += 1;
                }
            }
            fold_onto(&mut turn, dialect, line);
        }
        ends_as_expected(&name, &asked.unwrap(), &turn);
    }
    assert!(turns > 60, "{turns} turns");
}

/// A message of the person that has a tag.
fn message(dialect: Dialect, line: &Value) -> Option<String> {
    let content = match dialect {
        Dialect::Codex if line["payload"]["role"] == "user" => &line["payload"]["content"],
        Dialect::Claude if line["type"] == "user" => &line["message"]["content"],
        _ => return None,
    };
    let said = content.as_str().or_else(|| content[0]["text"].as_str())?;
    (said.starts_with('[') && !said.starts_with("[Request")).then(|| said.to_owned())
}

fn ends_as_expected(name: &str, asked: &str, turn: &Turn) {
    let edge = turn.edge.as_ref().unwrap_or_else(|| panic!("{name}: {asked}: nothing"));
    let (tag, more) = asked.trim_start_matches('[').split_once(']').unwrap();
    let failed = |is_limit| match &edge.what {
        EdgeKind::Failed(failure) => failure.is_limit() == is_limit,
        // What these write of a failure.
        EdgeKind::Unanswered => name.starts_with("codex"),
        EdgeKind::Began => name == "codex-0.80.0",
        _ => false,
    };
    let is_right = match (tag, more.trim()) {
        ("429", _) => failed(true),
        // codex knows an overload by the text of its answer, and says that of 503.
        ("529", _) => failed(true) || failed(false),
        ("500" | "401", _) => failed(false),
        // Before the first word nothing is written down of it, in some.
        ("silent-gate", _) => matches!(edge.what, EdgeKind::Interrupted | EdgeKind::Began),
        ("gate", "esc") => edge.what == EdgeKind::Interrupted,
        // 0.80 did not ask.
        ("permission", "again") if name != "codex-0.80.0" => edge.what == EdgeKind::Interrupted,
        _ => edge.what == EdgeKind::Done,
    };
    assert!(is_right, "{name}: {asked}: {edge:?}");
}

#[test]
fn edges_that_follow_from_who_spoke_last() {
    let lines = |lines: &[&str]| {
        let text: Vec<String> = (0..)
            .zip(lines)
            .map(|(n, line)| format!(r#"{{"timestamp":"2026-11-15T08:00:{:02}Z",{line}}}"#, 5 * n))
            .collect();
        let turn = fold(Dialect::Claude, &text.join("\n"));
        turn.edge.map(|edge| (edge.what, edge.told))
    };
    let asked = r#""type":"user","version":"2.1.150","message":{"content":"x"}"#;
    let said = |why: &str| {
        format!(
            r#""type":"assistant","message":{{"stop_reason":{why},"content":[{{"type":"text","text":"y"}}]}}"#
        )
    };
    let (last, more) = (said(r#""end_turn""#), said("null"));
    let called = r#""type":"assistant","message":{"stop_reason":"tool_use","content":[{"type":"tool_use"}]}"#;
    let result = r#""type":"user","message":{"content":[{"type":"tool_result"}]}"#;
    let error = r#""type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"type":"text","text":"429"}]}"#;
    let over = r#""type":"system","subtype":"turn_duration""#;
    let began = Some((EdgeKind::Began, false));
    let done = Some((EdgeKind::Done, false));
    assert_eq!(lines(&[asked]), began);
    assert_eq!(lines(&[asked, &more]), began);
    assert_eq!(lines(&[asked, called, result]), began);
    assert_eq!(lines(&[asked, called, result, &last]), done);
    assert_eq!(lines(&[asked, &last, called]), began, "it was not the last");
    assert_eq!(lines(&[asked, &last, over]), Some((EdgeKind::Done, true)));
    assert_eq!(lines(&[asked, error, over, asked]), began, "a failure ends with the next turn");
    assert_eq!(lines(&[asked, error, over, &last]), done, "or with any answer");
    let own = [
        r#""type":"user","version":"2.1.150","isMeta":true,"message":{"content":"x"}"#,
        r#""type":"user","version":"2.1.150","isCompactSummary":true,"message":{"content":"x"}"#,
        r#""type":"user","version":"2.1.150","message":{"content":"<local-command-stdout>x"}"#,
        r#""type":"user","version":"2.1.325","message":{"content":"x"}"#,
        r#""type":"assistant","isSidechain":true,"message":{"content":[{"type":"text"}]}"#,
        r#""type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text"}]}"#,
    ];
    for line in own {
        assert_eq!(lines(&[line]), None, "{line}");
    }
}

/// codex compacts, reviews and runs a person's commands in turns that end without an answer.
#[test]
fn turns_that_nobody_asked_for_need_no_answer() {
    let event = |text: &str| format!(r#""type":"event_msg","payload":{text}"#);
    let began = event(r#"{"type":"task_started"}"#);
    let asked = event(r#"{"type":"user_message","message":"x"}"#);
    let said = event(r#"{"type":"agent_message","message":"y"}"#);
    let mute = event(r#"{"type":"task_complete","last_agent_message":null}"#);
    let review = event(r#"{"type":"entered_review_mode"}"#);
    let of = |lines: &[&String]| {
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        last(Dialect::Codex, &lines).0.unwrap()
    };
    assert_eq!(of(&[&began, &asked, &mute]), EdgeKind::Unanswered);
    assert_eq!(of(&[&began, &asked, &said, &mute]), EdgeKind::Unanswered, "broken off");
    assert_eq!(of(&[&began, &mute]), EdgeKind::Done);
    assert_eq!(of(&[&began, &asked, &review, &mute]), EdgeKind::Done);
    assert_eq!(of(&[&began, &asked, &mute, &began, &mute]), EdgeKind::Done);
}

/// A glance finds what the whole line tells, on every line of every recorded transcript, in both dialects.
#[test]
fn a_glance_finds_the_same_as_the_whole_line() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"));
    let mut folders = vec![root.to_owned()];
    let (mut lines, mut glances) = (0, 0);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    lines += 1;
                    glances += usize::from(same_by_both_ways(line));
                }
            }
        }
    }
    assert!(glances * 2 > lines, "{glances} glances at {lines} lines");
    for odd in [
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"user","message":{"content":[]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"user","message":{"content":[{"type":"tool_result","text":"x"}]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"user","origin":{"kind":"human"},"message":{"content":[{"type":"tool_result"}]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"assistant","isSidechain":true,"message":{"content":[{"type":"tool_use"}]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error"}]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"x"}]}}"#,
        r#"{"timestamp":"never","type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"response_item","payload":{"type":"token_count"}}"#,
        r#"{"timestamp":"2026-11-15T08:00:00Z","type":"event_msg"}"#,
    ] {
        same_by_both_ways(odd);
    }
}

/// Whether one of the dialects needed no more than a glance.
fn same_by_both_ways(line: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
    for dialect in [Dialect::Claude, Dialect::Codex] {
        let mut whole = Turn::default();
        fold_line(&mut whole, dialect, &value);
        assert_eq!(fold(dialect, line), whole, "{dialect:?}: {line}");
    }
    claude::glance(line).is_some() || codex::glance(line).is_some()
}
