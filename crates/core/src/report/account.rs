//! A transcript folded into what a report tells: turns, runs of tests and builds, claims beside them, edits and commits.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::claims::{self, Claim, Says};
use super::commands::{self, Hidden, Kind, Run};
use super::lines::{self, Call, Item, Outcome};
use crate::status::evidence::{EdgeKind, Turn};
use crate::status::rollout;
use crate::text::shortened;
use crate::transcript::Dialect;

/// More of one kind are counted, and not kept.
const MOST_KEPT: usize = 2_000;
/// Calls without an answer that are remembered.
const MOST_OPEN: usize = 1_000;
/// Times at which something was written, for the timeline.
const MOST_TIMES: usize = 100_000;
/// Longest command that is shown.
const SHOWN: usize = 300;

/// Where something is written: the number of the line, from 1.
pub type Line = u64;

/// A run of tests, or a build, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRun {
    pub run: Run,
    /// The whole command.
    pub command: String,
    pub called: Option<Timestamp>,
    pub call_line: Line,
    pub ended: Option<Timestamp>,
    pub result_line: Option<Line>,
    /// The exit code of the whole command.
    pub exit: Option<i32>,
    pub result: RunResult,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunResult {
    Passed,
    Failed,
    /// The command's exit code does not tell.
    Hidden(Hidden),
    /// No result is recorded: it runs still, was not allowed, or has no exit code.
    NotRecorded,
}

/// A claim beside the last run before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedClaim {
    pub claim: Claim,
    pub at: Option<Timestamp>,
    pub line: Line,
    /// The index of the run that decides.
    pub run: usize,
    pub verdict: ClaimVerdict,
    /// Edits between that run and the claim.
    pub edits_since: usize,
}

/// What the recorded runs say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimVerdict {
    /// The last run says the same.
    Holds,
    /// The last run says the opposite.
    Contradicted,
    /// The last run does not tell, or another one that failed was not run again.
    Unproven,
}

/// A turn of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEdge {
    pub at: Timestamp,
    pub line: Line,
    pub what: EdgeKind,
}

/// An edit, or a command that commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: Option<Timestamp>,
    pub line: Line,
    pub what: String,
}

/// What a transcript tells.
#[derive(Debug, Default)]
pub struct Account {
    turn: Turn,
    pub edges: Vec<TurnEdge>,
    pub runs: Vec<RecordedRun>,
    pub claims: Vec<CheckedClaim>,
    pub edits: Vec<Mark>,
    /// `git commit` calls: when they were called, and answered.
    pub commits: Vec<(Timestamp, Timestamp)>,
    /// When lines were written, in their order.
    pub times: Vec<(Timestamp, Line)>,
    /// Something was too much to keep.
    pub is_cut: bool,
    /// The runs of calls that were not answered yet, by id of the call.
    open: HashMap<String, Open>,
    /// Calls whose process runs in the background, by the process's name.
    background: HashMap<String, String>,
    edits_before: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Open {
    /// Indexes of its runs.
    runs: Vec<usize>,
    commits: Option<Timestamp>,
    /// Files that it edits.
    edits: Vec<String>,
    asks: Option<String>,
}

impl Account {
    /// Takes in the next line.
    pub fn take_in(&mut self, dialect: Dialect, number: Line, text: &str) {
        let Ok(line) = serde_json::from_str::<Value>(text) else { return };
        self.take_in_edge(dialect, number, &line);
        let (at, items) = lines::items(dialect, &line);
        if let Some(at) = at {
            self.keep_time(at, number);
        }
        for item in items {
            match item {
                Item::Said(said) => self.said(at, number, &said),
                Item::Called(call) => self.called(at, number, call),
                Item::Answered { id, outcome } => self.answered(at, number, &id, &outcome),
            }
        }
    }

    fn keep_time(&mut self, at: Timestamp, line: Line) {
        // A line a second is as good as a hundred.
        let is_new =
            self.times.last().is_none_or(|(last, _)| at.duration_since(*last).as_secs() != 0);
        if is_new && self.times.len() < MOST_TIMES {
            self.times.push((at, line));
        }
    }

    fn take_in_edge(&mut self, dialect: Dialect, line: Line, value: &Value) {
        let before = (self.turn.turns_begun, self.turn.edge.clone());
        rollout::fold_line(&mut self.turn, dialect, value);
        let Some(edge) = &self.turn.edge else { return };
        if (self.turn.turns_begun, Some(edge)) == (before.0, before.1.as_ref()) {
            return;
        }
        let edge = TurnEdge { at: edge.at, line, what: edge.what.clone() };
        // An end that was only likely is not the end if the agent goes on: the later one counts.
        let is_later_end = |last: &&mut TurnEdge| last.what.is_end() && edge.what == last.what;
        match self.edges.last_mut().filter(is_later_end) {
            Some(last) => *last = edge,
            None => keep(&mut self.edges, edge, &mut self.is_cut),
        }
    }

    fn called(&mut self, at: Option<Timestamp>, line: Line, call: Call) {
        let mut open = Open { edits: call.edits, asks: call.asks, ..Open::default() };
        if let Some(command) = call.command {
            for run in commands::runs(&command) {
                // gemini writes a call again when it is answered.
                let is_known = self.open.get(&call.id).is_some_and(|known| !known.runs.is_empty());
                if is_known {
                    return;
                }
                if self.runs.len() >= MOST_KEPT {
                    self.is_cut = true;
                    break;
                }
                open.runs.push(self.runs.len());
                self.edits_before.push(self.edits.len());
                self.runs.push(RecordedRun {
                    run,
                    command: shortened(command.trim(), SHOWN),
                    called: at,
                    call_line: line,
                    ended: None,
                    result_line: None,
                    exit: None,
                    result: RunResult::NotRecorded,
                });
            }
            open.commits = at.filter(|_| command.contains("git") && command.contains("commit"));
        }
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        self.open.insert(call.id, open);
    }

    fn answered(&mut self, at: Option<Timestamp>, line: Line, id: &str, outcome: &Outcome) {
        let Some(mut open) = self.open.remove(id) else { return };
        // The answer about a process in the background is that of the call that started it.
        let asks = open.asks.take();
        if let Some(started) = asks.as_ref().and_then(|name| self.background.get(name)) {
            let started = started.clone();
            open = self.open.remove(&started).unwrap_or_default();
        }
        match outcome {
            Outcome::Exit(code) => {
                for index in open.runs {
                    let run = &mut self.runs[index];
                    run.ended = at;
                    run.result_line = Some(line);
                    run.exit = Some(*code);
                    run.result = match run.run.passed(*code) {
                        Ok(true) => RunResult::Passed,
                        Ok(false) => RunResult::Failed,
                        Err(hidden) => RunResult::Hidden(hidden),
                    };
                }
                if let (Some(from), Some(to), 0) = (open.commits, at, code) {
                    keep(&mut self.commits, (from, to), &mut self.is_cut);
                }
            }
            Outcome::Runs(Some(name)) => {
                self.background.insert(name.clone(), id.to_owned());
                self.open.insert(id.to_owned(), open);
                return;
            }
            Outcome::Runs(None) => {
                for index in open.runs {
                    self.runs[index].result = RunResult::Hidden(Hidden::Background);
                }
            }
            // A run that was refused is none.
            Outcome::NotRun => return self.forget_runs(&open.runs),
            Outcome::Failed | Outcome::Unknown => {}
        }
        let has_failed = match outcome {
            Outcome::Failed => true,
            Outcome::Exit(code) => *code != 0,
            _ => false,
        };
        if has_failed {
            return;
        }
        for file in open.edits {
            let mark = Mark { at, line, what: shortened(&file, SHOWN) };
            keep(&mut self.edits, mark, &mut self.is_cut);
        }
    }

    /// Removes runs that did not take place. They are the last ones, or nearly.
    fn forget_runs(&mut self, indexes: &[usize]) {
        let is_last = indexes.first().is_some_and(|first| first + indexes.len() == self.runs.len());
        if is_last {
            self.runs.truncate(self.runs.len() - indexes.len());
            self.edits_before.truncate(self.runs.len());
        }
    }

    fn said(&mut self, at: Option<Timestamp>, line: Line, said: &str) {
        let claims = claims::find(said);
        for claim in &claims {
            let Some((run, verdict)) = self.check(claim, &claims) else { continue };
            let edits_since = self.edits.len() - self.edits_before[run].min(self.edits.len());
            // A message that is written twice is one.
            let is_known =
                |known: &&CheckedClaim| known.claim == *claim && known.run == run && known.at == at;
            if self.claims.iter().rev().take(8).any(|known| is_known(&known)) {
                continue;
            }
            let checked =
                CheckedClaim { claim: claim.clone(), at, line, run, verdict, edits_since };
            keep(&mut self.claims, checked, &mut self.is_cut);
        }
    }

    /// The run that a claim is held against, and the verdict. `None` if no run is recorded, or what was said is not about all of it.
    fn check(&self, claim: &Claim, all: &[Claim]) -> Option<(usize, ClaimVerdict)> {
        let of_kind = |run: &&RecordedRun| run.run.kind == claim.kind;
        let index = self.runs.iter().rposition(|run| of_kind(&run))?;
        let last = &self.runs[index];
        match (claim.says, last.result) {
            (Says::Fail, RunResult::Failed) => Some((index, ClaimVerdict::Holds)),
            (Says::Fail, _) => None,
            // Who says in the same breath that some fail does not say that all pass.
            (Says::Pass, RunResult::Failed) => {
                let is_mixed = all.iter().any(|c| c.kind == claim.kind && c.says == Says::Fail);
                (claim.is_whole && !is_mixed).then_some((index, ClaimVerdict::Contradicted))
            }
            (Says::Pass, RunResult::Passed) => {
                match self.failed_and_not_repeated(index).filter(|_| claim.is_whole) {
                    Some(other) => Some((other, ClaimVerdict::Unproven)),
                    None => Some((index, ClaimVerdict::Holds)),
                }
            }
            (Says::Pass, RunResult::Hidden(_) | RunResult::NotRecorded) => {
                claim.is_whole.then_some((index, ClaimVerdict::Unproven))
            }
        }
    }

    /// A run before a good one that failed, and that the good one does not stand for: of another family, or of more tests.
    fn failed_and_not_repeated(&self, good: usize) -> Option<usize> {
        let last = &self.runs[good].run;
        let kind = last.kind;
        let mut seen: Vec<&str> = Vec::new();
        let mut is_whole_seen = false;
        for (index, run) in self.runs[..=good].iter().enumerate().rev() {
            if run.run.kind != kind || kind == Kind::Build {
                continue;
            }
            let is_failed = run.result == RunResult::Failed;
            let family = run.run.family;
            if family == last.family {
                if is_failed && !run.run.is_narrow && !is_whole_seen {
                    return Some(index);
                }
                is_whole_seen |= !run.run.is_narrow;
            } else if !seen.contains(&family) {
                seen.push(family);
                if is_failed {
                    return Some(index);
                }
            }
        }
        None
    }
}

fn keep<T>(list: &mut Vec<T>, one: T, is_cut: &mut bool) {
    if list.len() < MOST_KEPT {
        list.push(one);
    } else {
        *is_cut = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Tape(Account, Line);

    impl Tape {
        fn new() -> Self {
            Self(Account::default(), 0)
        }

        fn line(&mut self, value: &Value) {
            self.1 += 1;
            let mut value = value.clone();
            value["timestamp"] = json!(format!("2026-11-16T03:{:02}:00Z", self.1));
            self.0.take_in(Dialect::Claude, self.1, &value.to_string());
        }

        fn run(&mut self, command: &str, code: i32) -> &mut Self {
            let id = format!("t{}", self.1);
            self.line(&json!({ "type": "assistant", "message": { "content": [
                { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }] } }));
            let text = if code == 0 { "ok".to_owned() } else { format!("Exit code {code}") };
            self.line(&json!({ "type": "user", "message": { "content": [
                { "type": "tool_result", "tool_use_id": id, "is_error": code != 0, "content": text }] } }));
            self
        }

        fn edit(&mut self) -> &mut Self {
            let id = format!("t{}", self.1);
            self.line(&json!({ "type": "assistant", "message": { "content": [
                { "type": "tool_use", "id": id, "name": "Edit", "input": { "file_path": "a.rs" } }] } }));
            self.line(&json!({ "type": "user", "message": { "content": [
                { "type": "tool_result", "tool_use_id": id, "content": "done" }] } }));
            self
        }

        fn say(&mut self, text: &str) -> &mut Self {
            self.line(&json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } }));
            self
        }

        fn verdicts(&self) -> Vec<ClaimVerdict> {
            self.0.claims.iter().map(|claim| claim.verdict).collect()
        }
    }

    #[test]
    fn a_claim_beside_the_last_run() {
        use ClaimVerdict::{Contradicted, Holds, Unproven};
        let verdicts = |tape: &mut Tape| tape.say("All tests pass.").verdicts();
        assert_eq!(verdicts(&mut Tape::new()), [], "no run");
        assert_eq!(verdicts(Tape::new().run("cargo test", 0)), [Holds]);
        assert_eq!(verdicts(Tape::new().run("cargo test", 101)), [Contradicted]);
        assert_eq!(verdicts(Tape::new().run("cargo test", 101).run("cargo test", 0)), [Holds]);
        assert_eq!(
            verdicts(Tape::new().run("cargo test", 0).run("cargo test", 101)),
            [Contradicted]
        );
        assert_eq!(verdicts(Tape::new().run("cargo test | tail", 0)), [Unproven]);
        assert_eq!(verdicts(Tape::new().run("npm test", 1).run("cargo test", 0)), [Unproven]);
        assert_eq!(verdicts(Tape::new().run("cargo test", 101).run("cargo test a", 0)), [Unproven]);
        assert_eq!(
            verdicts(
                Tape::new().run("cargo test", 101).run("cargo test", 0).run("cargo test a", 0)
            ),
            [Holds]
        );
        assert_eq!(verdicts(Tape::new().run("cargo build", 0)), [], "another kind");
    }

    #[test]
    fn where_it_is_written() {
        let mut tape = Tape::new();
        tape.run("cd x && cargo test", 101).edit().say("Fixed. All tests pass.");
        let claim = &tape.0.claims[0];
        let run = &tape.0.runs[claim.run];
        assert_eq!((run.call_line, run.result_line, run.exit), (1, Some(2), Some(101)));
        assert_eq!((claim.line, claim.edits_since), (5, 1));
        assert_eq!(run.command, "cd x && cargo test");
        assert_eq!(tape.0.edits[0].what, "a.rs");
    }

    #[test]
    fn a_run_in_the_background_of_codex() {
        let mut account = Account::default();
        let mut number = 0;
        let mut line = |payload: Value| {
            number += 1;
            let line = json!({ "timestamp": "2026-11-16T03:00:00Z", "type": "response_item", "payload": payload });
            account.take_in(Dialect::Codex, number, &line.to_string());
        };
        line(json!({ "type": "function_call", "name": "exec_command", "call_id": "a",
            "arguments": "{\"cmd\":\"cargo test\"}" }));
        line(json!({ "type": "function_call_output", "call_id": "a",
            "output": "Wall time: 10\nProcess running with session ID 7\nOutput:\n" }));
        line(json!({ "type": "function_call", "name": "write_stdin", "call_id": "b",
            "arguments": "{\"session_id\":7,\"chars\":\"\"}" }));
        line(json!({ "type": "function_call_output", "call_id": "b",
            "output": "Wall time: 10\nProcess exited with code 101\nOutput:\n" }));
        assert_eq!(account.runs[0].result, RunResult::Failed);
        assert_eq!(account.runs[0].result_line, Some(4));
    }

    #[test]
    fn an_edit_that_failed_is_none() {
        let answer = |id: &str, error: bool, said: &str| {
            [
                json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": id,
                    "name": "Edit", "input": { "file_path": id } }] } }),
                json!({ "type": "user", "message": { "content": [{ "type": "tool_result",
                    "tool_use_id": id, "is_error": error, "content": said }] } }),
            ]
        };
        let mut account = Account::default();
        let lines = [
            answer("a.rs", true, "String to replace not found in file."),
            answer("b.rs", false, "The file b.rs has been updated."),
            answer("c.rs", true, "The user doesn't want to proceed"),
        ];
        for (n, line) in (1..).zip(lines.iter().flatten()) {
            account.take_in(Dialect::Claude, n, &line.to_string());
        }
        let patch = "*** Begin Patch\n*** Update File: d.rs\n*** End Patch";
        for (id, code) in [("d", 1), ("e", 0)] {
            for line in [
                json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": patch }),
                json!({ "type": "custom_tool_call_output", "call_id": id,
                    "output": format!("Exit code: {code}\nWall time: 0\nOutput:\n") }),
            ] {
                let line = json!({ "type": "response_item", "payload": line });
                account.take_in(Dialect::Codex, 9, &line.to_string());
            }
        }
        let edited: Vec<&str> = account.edits.iter().map(|mark| mark.what.as_str()).collect();
        assert_eq!(edited, ["b.rs", "d.rs"]);
    }

    #[test]
    fn rubbish_is_passed_over() {
        let mut account = Account::default();
        for text in ["", "{", "null", "[1]", "{\"type\":7}", "\u{0}"] {
            for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Gemini] {
                account.take_in(dialect, 1, text);
            }
        }
        assert!(account.runs.is_empty() && account.claims.is_empty());
    }
}
