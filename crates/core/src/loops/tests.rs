use std::fs;
use std::path::PathBuf;

use dogwatch_protocol::status::LoopKind;
use proptest::prelude::*;

use super::find::{AFTER_CHANGES, FAILURES, POLLS, REPEATS, UNDOS};
use super::*;

/// Transcripts of real agents against the model double (`lab/scenarios/loops.toml`), without what is not read: those named
/// `loop` end in one, those named `fine` have none at any time. gemini 0.61.0 stops by itself before it makes the same call a
/// fifth time.
fn recordings() -> Vec<(String, Dialect, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/loops");
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let dialect = match name.split('-').next().unwrap() {
                "claude" => Dialect::Claude,
                "codex" => Dialect::Codex,
                _ => Dialect::Gemini,
            };
            (name, dialect, fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn recorded_loops_are_found() {
    let mut seen = 0;
    for (name, dialect, text) in recordings() {
        let Some((_, what)) = name.split_once("-loop-") else { continue };
        seen += 1;
        let mut loops = Loops::default();
        loops.fold(dialect, &text);
        let found = loops.found().unwrap_or_else(|| panic!("{name}: {loops:#?}"));
        let kind = match what {
            "test" | "look" => LoopKind::Repeat,
            "two" | "three" => LoopKind::Cycle,
            _ => LoopKind::Undo,
        };
        assert_eq!(found.kind, kind, "{name}: {found}");
        let least = match what {
            "test" | "look" => 7,
            "two" | "three" => 4,
            "rewrite" => 5,
            _ => 6,
        };
        assert!(found.times >= least, "{name}: {found}");
        assert!(found.evidence.iter().all(|call| call.at >= found.since), "{name}: {found:?}");
    }
    assert!(seen >= 18, "{seen}");
}

#[test]
fn there_is_none_in_other_recordings() {
    let mut seen = 0;
    for (name, dialect, text) in recordings() {
        if !name.contains("-fine-") {
            continue;
        }
        seen += 1;
        let mut loops = Loops::default();
        for (number, line) in text.lines().enumerate() {
            loops.fold(dialect, line);
            assert_eq!(loops.found(), None, "{name}, line {number}");
        }
        assert!(!name.contains("sample") || text.lines().count() > 10, "{name}");
    }
    assert!(seen >= 13, "{seen}");
}

/// A call with its result, as claude writes them.
#[derive(Debug, Clone)]
struct Call {
    tool: &'static str,
    input: String,
    result: String,
    failed: bool,
}

fn bash(command: &str, result: &str, failed: bool) -> Call {
    let input = format!(r#"{{"command":"{command}"}}"#);
    Call { tool: "Bash", input, result: result.to_owned(), failed }
}

fn read(path: &str) -> Call {
    let input = format!(r#"{{"file_path":"{path}"}}"#);
    Call { tool: "Read", input, result: format!("content of {path}"), failed: false }
}

fn edit(old: &str, new: &str) -> Call {
    let input = format!(r#"{{"file_path":"a.rs","old_string":"{old}","new_string":"{new}"}}"#);
    Call { tool: "Edit", input, result: "updated".to_owned(), failed: false }
}

fn lines(number: usize, call: &Call) -> String {
    let Call { tool, input, result, failed } = call;
    let time =
        jiff::Timestamp::from_second(1_794_700_000 + i64::try_from(number).unwrap()).unwrap();
    format!(
        r#"{{"type":"assistant","timestamp":"{time}","message":{{"content":[{{"type":"tool_use","id":"t{number}","name":"{tool}","input":{input}}}]}}}}
{{"type":"user","timestamp":"{time}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"{result}","is_error":{failed}}}]}}}}
"#
    )
}

fn text(calls: &[Call]) -> String {
    calls.iter().enumerate().map(|(number, call)| lines(number, call)).collect()
}

fn found(calls: &[Call]) -> Option<String> {
    let mut loops = Loops::default();
    loops.fold(Dialect::Claude, &text(calls));
    loops.found().map(|found| found.to_string())
}

fn times(call: &Call, times: usize) -> Vec<Call> {
    vec![call.clone(); times]
}

#[test]
fn the_same_call_with_the_same_result() {
    let test = bash("cargo test", "1 failed", true);
    let said = found(&times(&test, 7));
    assert_eq!(said.as_deref(), Some("looping: Bash cargo test ×7, same result"));
    assert!(found(&times(&test, FAILURES)).is_some());
    assert_eq!(found(&times(&test, FAILURES - 1)), None);
    let look = bash("cat a.txt", "a", false);
    assert!(found(&times(&look, REPEATS)).is_some());
    assert_eq!(found(&times(&look, REPEATS - 1)), None);
    assert_eq!(found(&times(&read("a.rs"), 2)), None);
}

#[test]
fn another_result_begins_anew() {
    let failed = |n: usize| bash("cargo test", &format!("{n} failed"), true);
    let mut calls = times(&failed(2), 4);
    calls.extend(times(&failed(1), 4));
    assert_eq!(found(&calls), None);
    let durations: Vec<Call> = (0..7)
        .map(|n| bash("cargo test", &format!("1 failed; finished in {n}.{n}3s"), true))
        .collect();
    assert!(found(&durations).is_some(), "only the time differs");
}

#[test]
fn checks_between_changes() {
    let change = |n: usize| edit(&format!("old {n}"), &format!("new {n}"));
    let between = |check: Call, times: usize| -> Vec<Call> {
        (0..times).flat_map(|n| [change(n), check.clone()]).collect()
    };
    let fine = bash("cargo check", "Finished", false);
    assert_eq!(found(&between(fine, 15)), None, "it works, and goes on");
    let fails = bash("cargo test", "1 failed", true);
    assert_eq!(found(&between(fails.clone(), AFTER_CHANGES - 1)), None);
    assert!(found(&between(fails, AFTER_CHANGES)).is_some(), "no change helps");
}

#[test]
fn waiting_is_no_loop() {
    let waits = bash("sleep 30 && gh run view 1", "in progress", false);
    assert_eq!(found(&times(&waits, 60)), None);
    let output = Call { tool: "BashOutput", input: r#"{"bash_id":"1"}"#.into(), ..read("") };
    assert_eq!(found(&times(&output, 60)), None);
    let polls = bash("curl -s localhost:3000", "refused", true);
    assert_eq!(found(&times(&polls, POLLS - 1)), None);
    assert!(found(&times(&polls, POLLS)).is_some());
    let both: Vec<Call> = (0..20).flat_map(|_| [waits.clone(), read("log")]).collect();
    assert_eq!(found(&both[..REPEATS * 2 - 2]), None);
}

#[test]
fn cycles() {
    let (one, two) = (read("a.rs"), bash("make", "error", true));
    let round = [one.clone(), two.clone()];
    let rounds = |n: usize| round.iter().cloned().cycle().take(2 * n).collect::<Vec<_>>();
    assert_eq!(found(&rounds(3)), None);
    assert!(found(&rounds(4)).unwrap().ends_with("×4, same results"));
    let three = [one, two, read("b.rs")];
    let calls: Vec<Call> = three.iter().cloned().cycle().take(9).collect();
    let said = found(&calls).unwrap();
    assert!(said.ends_with("×3, same results"), "{said}");
    let turned: Vec<Call> = three.iter().cloned().cycle().skip(1).take(9).collect();
    assert_eq!(found(&turned), Some(said), "wherever it begins");
}

#[test]
fn edits_that_undo_each_other() {
    let toggles = |n: usize| -> Vec<Call> {
        [edit("on", "off"), edit("off", "on")].into_iter().cycle().take(n).collect()
    };
    assert_eq!(found(&toggles(UNDOS - 1)), None, "tried, and taken back");
    assert_eq!(found(&toggles(6)).as_deref(), Some("looping: Edit a.rs ×6, undoing each other"));
    let mut other = toggles(4);
    other.push(edit("x", "y"));
    other.push(edit("on", "off"));
    assert_eq!(found(&other), None, "something else was done to the file");
}

#[test]
fn it_is_over_when_the_agent_goes_on_or_is_told_to() {
    let mut calls = times(&bash("cargo test", "1 failed", true), 7);
    calls.extend([read("a"), read("b")]);
    assert!(found(&calls).is_some(), "it may only have looked");
    calls.push(read("c"));
    assert_eq!(found(&calls), None);
    let mut looks = times(&bash("cat a", "a", false), 7);
    looks.push(bash("make", "done", false));
    assert_eq!(found(&looks), None, "something new was done");
    let mut loops = Loops::default();
    loops.fold(Dialect::Claude, &text(&times(&read("a"), 9)));
    assert!(loops.found().is_some());
    loops.fold(
        Dialect::Claude,
        r#"{"type":"user","timestamp":"2026-11-16T12:00:00Z","message":{"content":"try again"}}"#,
    );
    assert_eq!(loops.found(), None);
}

#[test]
fn subagents_and_lists_of_things_to_do_do_not_count() {
    let side = text(&times(&read("a"), 9))
        .replace(r#""type":"assistant","#, r#""isSidechain":true,"type":"assistant","#);
    let mut loops = Loops::default();
    loops.fold(Dialect::Claude, &side);
    assert_eq!(loops.found(), None);
    let todo = Call { tool: "TodoWrite", input: "{}".into(), ..read("") };
    assert_eq!(found(&times(&todo, 20)), None);
}

#[test]
fn rubbish_is_passed_over() {
    for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
        let mut loops = Loops::default();
        loops.fold(dialect, "\0[[[[{\n\n{\"type\":\"user\"}\nnull\n{\"tool_use\" \"user\"\n{\"payload\":{\"type\":\"function_call\",\"call_id\":7}}");
        assert_eq!(loops.found(), None);
    }
}

/// Calls that all differ.
fn distinct() -> impl Strategy<Value = Vec<Call>> {
    let some = |n: usize, kind: u8, failed: bool| match kind {
        0 => read(&format!("file{n}")),
        1 => edit(&format!("old{n}"), &format!("new{n}")),
        _ => bash(&format!("run number-{n}"), "the same result", failed),
    };
    let kinds = prop::collection::vec((0_u8..4, any::<bool>()), 1..60);
    kinds.prop_map(move |kinds| {
        kinds.into_iter().enumerate().map(|(n, (kind, failed))| some(n, kind, failed)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn calls_that_differ_are_no_loop(calls in distinct().prop_shuffle()) {
        prop_assert_eq!(found(&calls), None);
    }

    /// Whatever is looked at, changed or run in between, a call that fails the same way all the time is found.
    #[test]
    fn repeats_are_found(calls in distinct(), places in prop::collection::vec(any::<prop::sample::Index>(), AFTER_CHANGES)) {
        let mut calls: Vec<Call> = calls.into_iter().take(40).collect();
        for place in places {
            calls.insert(place.index(calls.len() + 1), bash("cargo test", "1 failed", true));
        }
        calls.push(bash("cargo test", "1 failed", true));
        prop_assert!(found(&calls).is_some());
    }

    /// It makes no difference in which pieces a transcript is read.
    #[test]
    fn followed_or_read_at_once(calls in distinct(), again in 0_usize..8) {
        let mut calls = calls;
        calls.extend(times(&bash("make", "error", true), again));
        let all = text(&calls);
        let mut followed = Loops::default();
        for line in all.lines() {
            followed.fold(Dialect::Claude, line);
        }
        prop_assert_eq!(followed.found().map(|f| f.to_string()), found(&calls));
    }
}
