use super::*;

fn read_all(format: Format, text: &str) -> (Batch, State) {
    let (mut batch, mut state) = (Batch::default(), State::default());
    read(format, text.as_bytes(), &mut state, &mut batch);
    (batch, state)
}

fn sum(batch: &Batch) -> [u64; 5] {
    batch.records.iter().fold(Tokens::default(), |sum, r| sum.and(r.tokens)).numbers()
}

const CLAUDE: &str = r#"{"type":"user","timestamp":"2026-11-16T10:00:00Z","message":{"content":"tokens and \"usage\":{ too"}}
{"type":"assistant","timestamp":"2026-11-16T10:00:01.5Z","sessionId":"c1","requestId":"r1","cwd":"/w","message":{"id":"a","model":"claude-opus-5-5","usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}
{"type":"assistant","timestamp":"2026-11-16T10:00:02Z","sessionId":"c1","requestId":"r1","cwd":"/w","message":{"id":"a","model":"claude-opus-5-5","usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}}}}
{"type":"assistant","timestamp":"2026-11-16T10:20:00Z","isSidechain":true,"sessionId":"c1","requestId":"r2","cwd":"/w/sub","message":{"id":"b","model":"claude-haiku-4-5","usage":{"input_tokens":1,"output_tokens":2,"speed":"fast"}}}
{"type":"assistant","timestamp":"2026-11-16T10:20:00Z","sessionId":"c1","message":{"id":"x","model":"<synthetic>","usage":{"input_tokens":9,"output_tokens":9}}}
{"type":"user","timestamp":"2026-11-16T10:20:00Z","sessionId":"c1","toolUseResult":{"usage":{"input_tokens":99}},"message":{"role":"user","content":[]}}
{"type":"assistant","timestamp":"2026-11-16T10:20:00Z","sessionId":"c1","message":{"id":"c","model":null,"usage":{"input_tokens":"#;

#[test]
fn an_answer_of_claude_counts_once() {
    let (batch, state) = read_all(Format::Claude, CLAUDE);
    assert_eq!(sum(&batch), [11, 32, 7, 5, 3]);
    assert_eq!(batch.records.len(), 2);
    assert_eq!((state.conversation.as_str(), state.cwd.as_str()), ("c1", "/w"));
    assert_eq!(batch.models, ["claude-opus-5-5", "claude-haiku-4-5 (fast)"]);
    assert_eq!(batch.threads, [Thread { conversation: "c1".into(), cwd: "/w".into() }]);
    assert_eq!(batch.records.iter().map(|r| r.is_subagent).collect::<Vec<_>>(), [false, true]);
    assert_eq!(batch.records[1].slot - batch.records[0].slot, 1);
    let spaced = CLAUDE.replace("\":", "\" : ");
    assert_eq!(sum(&read_all(Format::Claude, &spaced).0), [11, 32, 7, 5, 3], "not compact");
    // The same lines in another file, as a fork has them.
    let forked = CLAUDE.replace("\"c1\"", "\"c2\"");
    let keys = |batch: &Batch| batch.records.iter().map(|r| r.key).collect::<Vec<_>>();
    assert_eq!(keys(&batch), keys(&read_all(Format::Claude, &forked).0));
}

const META: &str = r#"{"timestamp":"2026-11-16T10:00:00.000Z","type":"session_meta","payload":{"id":"t1","cwd":"/w","source":"cli"}}
{"timestamp":"2026-11-16T10:00:00.000Z","type":"turn_context","payload":{"turn_id":"u1","model":"gpt-5.5","cwd":"/w"}}
"#;

fn total(input: u64, cached: u64, output: u64, last: [u64; 3]) -> String {
    let usage = |[i, c, o]: [u64; 3]| {
        format!(
            r#"{{"input_tokens":{i},"cached_input_tokens":{c},"output_tokens":{o},"reasoning_output_tokens":0,"total_tokens":{}}}"#,
            i + o
        )
    };
    let (total, last) = (usage([input, cached, output]), usage(last));
    format!(
        "{{\"timestamp\":\"2026-11-16T10:00:05.000Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{total},\"last_token_usage\":{last}}}}}}}\n"
    )
}

#[test]
fn totals_of_codex_are_differences() {
    let nothing = "{\"timestamp\":\"2026-11-16T10:00:05.000Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":null}}\n";
    let first = total(9, 4, 1, [9, 4, 1]);
    let second = total(20, 4, 5, [11, 0, 4]);
    let text = [META, nothing, &first, &first, &second, &second].concat();
    let (batch, state) = read_all(Format::Codex, &text);
    assert_eq!(sum(&batch), [16, 5, 4, 0, 0]);
    assert_eq!(batch.records.len(), 2);
    assert_eq!((batch.models[0].as_str(), state.conversation.as_str()), ("gpt-5.5", "t1"));
    // In two parts, as it grows.
    let (mut batch, mut state) = (Batch::default(), State::default());
    for part in [[META, &first].concat(), [&*first, &second].concat()] {
        read(Format::Codex, part.as_bytes(), &mut state, &mut batch);
        let kept = serde_json::to_string(&state).unwrap();
        state = serde_json::from_str(&kept).unwrap();
    }
    assert_eq!(sum(&batch), [16, 5, 4, 0, 0]);
}

#[test]
fn a_fork_of_codex_repeats_its_origin() {
    let first = total(9, 4, 1, [9, 4, 1]);
    let origin = [META, &first].concat();
    let forked = META.replace("\"t1\"", "\"t2\"").replace("10:00:00", "11:00:00");
    let own = r#"{"timestamp":"2026-11-16T11:00:02.000Z","type":"turn_context","payload":{"turn_id":"u2","model":"gpt-6-sol"}}
"#;
    let text = [&*forked, META, &first, own, &total(20, 4, 5, [11, 0, 4])].concat();
    let (origin, fork) = (read_all(Format::Codex, &origin).0, read_all(Format::Codex, &text).0);
    assert_eq!(fork.records.len(), 2);
    assert_eq!(fork.records[0].key, origin.records[0].key);
    assert_eq!(fork.threads[0].conversation, "t2");
    assert_eq!(fork.records[1].tokens.numbers(), [11, 4, 0, 0, 0]);
    assert_eq!(fork.models[1], "gpt-6-sol");
    // The same numbers in another turn are another answer.
    let same = META.replace("\"u1\"", "\"u9\"") + &first;
    assert_ne!(read_all(Format::Codex, &same).0.records[0].key, origin.records[0].key);
}

#[test]
fn records_of_codex_go_before_its_totals() {
    let record = r#"{"timestamp":"2026-11-16T10:00:04.000Z","type":"token_usage_record","payload":{"response_id":"resp_1","usage":{"input_tokens":9,"cached_input_tokens":4,"cache_write_input_tokens":2,"output_tokens":1},"thread_token_usage":{"input_tokens":9,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":1}}}
"#;
    let text = [META, record, &total(9, 4, 1, [9, 4, 1])].concat();
    let (batch, _) = read_all(Format::Codex, &text);
    assert_eq!(sum(&batch), [3, 1, 4, 2, 0]);
    assert_eq!(batch.records.len(), 1);
}

#[test]
fn a_subagent_of_codex_belongs_to_its_parent() {
    let source = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"t0","depth":1}}}"#;
    let text = META.replace(r#""cli""#, source) + &total(9, 4, 1, [9, 4, 1]);
    let (batch, _) = read_all(Format::Codex, &text);
    assert_eq!(batch.threads[0].conversation, "t0");
    assert!(batch.records[0].is_subagent);
    let review = META.replace(r#""cli""#, r#"{"subagent":"review"}"#) + &total(9, 4, 1, [9, 4, 1]);
    let (batch, _) = read_all(Format::Codex, &review);
    assert!(batch.records[0].is_subagent && batch.threads[0].conversation == "t1");
}

#[test]
fn gemini_in_lines_and_as_a_document() {
    let message = r#"{"id":"x","timestamp":"2026-11-16T10:00:00.000Z","type":"gemini","model":"gemini-2.5-pro","tokens":{"input":10,"output":2,"cached":1,"thoughts":3,"tool":4,"total":19}}"#;
    let head = r#"{"sessionId":"s","kind":"main"}"#;
    let set = format!(r#"{{"$set":{{"messages":[{{"id":"u","type":"user"}},{message}]}}}}"#);
    let lines = [head, message, message, &set, r#"{"id":"y","tokens":{"inp"#].join("\n");
    let (batch, _) = read_all(Format::Gemini, &lines);
    assert_eq!(sum(&batch), [13, 5, 1, 0, 0]);
    assert_eq!(batch.threads[0].conversation, "s");
    let document = format!(r#"{{"sessionId":"s","messages":[{message}]}}"#);
    let (again, _) = read_all(Format::GeminiDocument, &document);
    assert_eq!(again.records, batch.records);
}

#[test]
fn opencode_in_files_and_rows() {
    let data = r#"{"id":"m","sessionID":"s","role":"assistant","modelID":"double","path":{"cwd":"/w"},"tokens":{"input":3,"output":2,"reasoning":1,"cache":{"write":5,"read":4}},"time":{"created":1794841829890}}"#;
    let (file, _) = read_all(Format::OpencodeMessage, data);
    assert_eq!(sum(&file), [3, 3, 4, 5, 0]);
    let mut rows = Batch::default();
    let row = OpencodeMessage { id: "m", conversation: "s", is_subagent: false, cwd: "", data };
    add_opencode(&row, &mut rows);
    assert_eq!((rows.records, rows.threads), (file.records, file.threads));
    let user = data.replace("assistant", "user");
    assert!(read_all(Format::OpencodeMessage, &user).0.records.is_empty());
}

#[test]
fn rubbish_counts_nothing() {
    for format in [Format::Claude, Format::Codex, Format::Gemini, Format::GeminiDocument] {
        for text in ["", "\n\n", "null\n{}\n[\"usage\":{]", "\"usage\":{\u{0}\n\"tokens\":{"] {
            assert!(read_all(format, text).0.records.is_empty(), "{format:?} {text:?}");
        }
    }
}

#[test]
fn times_are_read_quickly_and_right() {
    for text in [
        "2026-11-16T15:10:08.456Z",
        "2026-02-28T23:59:59Z",
        "1999-12-31T00:00:00.1Z",
        "2026-11-16T15:10:08+02:00",
    ] {
        let slowly = text.parse::<jiff::Timestamp>().unwrap().as_second();
        assert_eq!(second(text), Some(slowly), "{text}");
    }
    assert_eq!(quick_second(b"2026-11-16T15:10:08.456Z"), second("2026-11-16T15:10:08.456Z"));
    for bad in ["", "soon", "2026-13-16T15:10:08.456Z", "2026-11-16 15:10:08.456"] {
        assert_eq!(second(bad), None, "{bad}");
    }
}

#[test]
fn lines_with_a_word() {
    let text = b"a x:{\nb\nx:1\nc x x : {\nx:\t{";
    let found: Vec<&[u8]> = lines_with(text, b"x").collect();
    assert_eq!(found, [&b"a x:{"[..], b"c x x : {", b"x:\t{"]);
    assert_eq!(lines_with(b"", b"x").count(), 0);
}

#[test]
fn groups_and_their_costs() {
    let prices = PriceTable::with(Vec::new());
    let bucket = |model, is_subagent, input| Bucket {
        thread: 1,
        model,
        slot: 2_000_000,
        is_subagent,
        length: 0,
        messages: 1,
        tokens: Tokens { input, ..Tokens::default() },
    };
    let buckets = [bucket(0, false, 1_000_000), bucket(1, true, 5), bucket(0, false, 500_000)];
    let names = |model: i64| if model == 0 { "claude-opus-4-5" } else { "double" };
    let labels = |bucket: &Bucket| vec![Some(bucket.model.to_string()), None];
    let all = grouped(&buckets, &prices, names, labels);
    let total = all.total.clone().used();
    assert_eq!((total.cost_usd, total.cost_is_lower_bound), (Some(7.5), true));
    assert_eq!(
        (total.unpriced, total.subagents.input, total.messages),
        (vec!["double".into()], 5, 3)
    );
    let of = |label: Option<&str>| all.groups[&label.map(ToOwned::to_owned)].clone().used();
    assert_eq!(of(Some("0")).cost_usd, Some(7.5));
    assert!(!of(Some("0")).cost_is_lower_bound);
    assert_eq!((of(Some("1")).cost_usd, of(Some("1")).cost_is_lower_bound), (None, true));
    assert_eq!(of(None).tokens.input, 1_500_005);
}
