//! The report of one session, put together from what was read.

use std::collections::{BTreeMap, BTreeSet};

use dogwatch_core::event::kind;
use dogwatch_core::report::account::{
    Account, CheckedClaim, ClaimVerdict as Checked, Mark, RecordedRun, RunResult as Recorded,
};
use dogwatch_core::report::claims::Says as Said;
use dogwatch_core::report::commands::Kind;
use dogwatch_core::status::evidence::EdgeKind;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::report::{
    ClaimVerdict, Commit, EditedFile, Happened, ReportedClaim, ReportedRun, RunKind, RunResult,
    Says, SessionReport, Source,
};
use dogwatch_protocol::usage::Used;
use dogwatch_store::{Entry, Session, Signal};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::commits::Made;
use super::history::{COLLISION, History};
use super::transcript::{Read1, Transcripts};
use super::{Period, questions, times};

/// A commit is made before its call is answered, and times of git are whole seconds.
const AROUND_A_COMMIT: SignedDuration = SignedDuration::from_secs(2);

/// What was read of one session.
#[derive(Debug, Default)]
pub(super) struct Material<'a> {
    pub(super) session: Option<&'a Session>,
    pub(super) history: History,
    pub(super) signals: Vec<Signal>,
    pub(super) read: Transcripts,
    pub(super) commits: Vec<Made>,
    pub(super) ended: Option<Timestamp>,
    pub(super) usage: Option<Used>,
    /// Why no cost is known of any session.
    pub(super) no_usage: Option<String>,
}

pub(super) fn assemble(id: SessionId, material: Material<'_>, period: Period) -> SessionReport {
    let Material { session, history, signals, read, commits, ended, usage, no_usage } = material;
    let begun = session.map(|session| session.created);
    let subject = history.subject.as_ref();
    let name = session.map(|s| s.name.clone()).or(subject.map(|s| s.name.clone()));
    let agent = session.map(|s| s.agent.clone()).or(subject.map(|s| s.agent.clone()));
    let within = Within {
        from: begun.map_or(period.since, |begun| begun.max(period.since)),
        to: ended.map_or(period.until, |ended| ended.min(period.until)),
    };
    let timeline = times::timeline(&history, &signals, &read, within, ended);
    SessionReport {
        id,
        name: name.unwrap_or_default(),
        agent: agent.unwrap_or_default(),
        title: session.and_then(|session| session.title.clone()),
        folder: session.map(|session| session.cwd.to_string_lossy().into_owned()),
        begun,
        ended,
        turns: turns(&read, within),
        commits: commits.into_iter().map(|made| commit(made, &read)).collect(),
        files: files(&read, session, within),
        runs: runs(&read, within),
        claims: claims(&read, within),
        questions: questions::questions(&history, ended),
        limits: states(&history, "limited", |data| text_of(data, &["text", "until"])),
        loops: loops(&history),
        collisions: happened(history.of_kind(COLLISION), |data| {
            text_of(data, &["text", "message", "path", "file"])
        }),
        actions: actions(&history),
        usage_sources: if usage.is_some() { last_lines(&read, within) } else { Vec::new() },
        usage,
        time: times::sums(&timeline),
        timeline,
        notes: notes(session, &history, &read).into_iter().chain(no_usage).collect(),
    }
}

/// The part of the period in which the session was there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Within {
    pub(super) fn has(self, at: Timestamp) -> bool {
        at >= self.from && at <= self.to
    }
}

pub(super) fn line(read: &Read1, line: u64) -> Source {
    Source::Transcript { file: read.path.to_string_lossy().into_owned(), line }
}

fn turns(read: &Transcripts, within: Within) -> Option<Vec<Happened>> {
    if read.all.is_empty() {
        return None;
    }
    let of = |one: &Read1| {
        let began = one.account.edges.iter().filter(|edge| edge.what == EdgeKind::Began);
        let began = began.filter(|edge| within.has(edge.at));
        let turn = |edge: &dogwatch_core::report::account::TurnEdge| Happened {
            at: edge.at,
            text: String::new(),
            source: line(one, edge.line),
        };
        began.map(turn).collect::<Vec<_>>()
    };
    let mut all: Vec<Happened> = read.all.iter().flat_map(of).collect();
    all.sort_by_key(|turn| turn.at);
    // A conversation that is continued in another file has its first turns in both.
    all.dedup_by_key(|turn| turn.at);
    Some(all)
}

fn commit(made: Made, read: &Transcripts) -> Commit {
    let is_around = |(from, to): &(Timestamp, Timestamp)| {
        made.at.duration_since(*from) >= -AROUND_A_COMMIT
            && to.duration_since(made.at) >= -AROUND_A_COMMIT
    };
    let by_agent = || read.all.iter().any(|one| one.account.commits.iter().any(is_around));
    Commit {
        by_agent: (!read.all.is_empty()).then(by_agent),
        source: Source::Git { commit: made.commit.clone() },
        commit: made.commit,
        subject: made.subject,
        at: made.at,
        files: made.files,
    }
}

/// What the files of a conversation have, each once: one that is continued in another file has its beginning in both.
fn once<T, K: Ord>(files: impl Iterator<Item = Vec<T>>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen: BTreeSet<K> = BTreeSet::new();
    let mut all = Vec::new();
    for file in files {
        // Within one file the same may well be twice.
        let keys: Vec<K> = file.iter().map(&key).collect();
        all.extend(file.into_iter().filter(|item| !seen.contains(&key(item))));
        seen.extend(keys);
    }
    all
}

fn edits_in(read: &Read1, within: Within) -> impl Iterator<Item = &Mark> {
    read.account.edits.iter().filter(move |edit| edit.at.is_some_and(|at| within.has(at)))
}

fn files(read: &Transcripts, session: Option<&Session>, within: Within) -> Vec<EditedFile> {
    let of = |one| edits_in(one, within).map(|edit| (one, edit)).collect();
    let edits = once(read.all.iter().map(of), |(_, edit)| (edit.at, &edit.what));
    let folder = session.map(|session| session.cwd.to_string_lossy().into_owned());
    let mut all: BTreeMap<String, EditedFile> = BTreeMap::new();
    for (one, edit) in edits {
        let inside = folder.as_ref().and_then(|folder| {
            edit.what.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned)
        });
        let path = inside.unwrap_or_else(|| edit.what.clone());
        let file = all.entry(path.clone()).or_insert_with(|| EditedFile {
            path,
            edits: 0,
            source: line(one, edit.line),
        });
        file.edits += 1;
        file.source = line(one, edit.line);
    }
    all.into_values().collect()
}

fn runs(read: &Transcripts, within: Within) -> Vec<ReportedRun> {
    let of = |one: &Read1| {
        let is_within =
            |run: &&RecordedRun| run.ended.or(run.called).is_some_and(|at| within.has(at));
        one.account.runs.iter().filter(is_within).map(|run| reported(one, run)).collect::<Vec<_>>()
    };
    let mut all: Vec<ReportedRun> =
        once(read.all.iter().map(of), |run| (run.at, run.command.clone()));
    all.sort_by_key(|run| run.at);
    all
}

fn kind_of(kind: Kind) -> RunKind {
    match kind {
        Kind::Test => RunKind::Test,
        Kind::Build => RunKind::Build,
    }
}

fn reported(read: &Read1, run: &RecordedRun) -> ReportedRun {
    let (result, because) = match run.result {
        Recorded::Passed => (RunResult::Passed, None),
        Recorded::Failed => (RunResult::Failed, None),
        Recorded::Hidden(why) => (RunResult::Hidden, Some(why.as_str().to_owned())),
        Recorded::NotRecorded => (RunResult::NotRecorded, None),
    };
    ReportedRun {
        kind: kind_of(run.run.kind),
        command: run.command.clone(),
        at: run.ended.or(run.called),
        exit: run.exit,
        result,
        because,
        source: line(read, run.result_line.unwrap_or(run.call_line)),
    }
}

fn claims(read: &Transcripts, within: Within) -> Vec<ReportedClaim> {
    let of = |one: &Read1| {
        let is_within = |claim: &&CheckedClaim| claim.at.is_some_and(|at| within.has(at));
        let claims = one.account.claims.iter().filter(is_within);
        claims.map(|claim| reported_claim(one, &one.account, claim)).collect::<Vec<_>>()
    };
    let mut all: Vec<ReportedClaim> =
        once(read.all.iter().map(of), |claim| (claim.at, claim.text.clone()));
    all.sort_by_key(|claim| claim.at);
    all
}

fn reported_claim(read: &Read1, account: &Account, claim: &CheckedClaim) -> ReportedClaim {
    ReportedClaim {
        kind: kind_of(claim.claim.kind),
        says: match claim.claim.says {
            Said::Pass => Says::Pass,
            Said::Fail => Says::Fail,
        },
        text: claim.claim.text.clone(),
        at: claim.at,
        verdict: match claim.verdict {
            Checked::Holds => ClaimVerdict::Holds,
            Checked::Contradicted => ClaimVerdict::Contradicted,
            Checked::Unproven => ClaimVerdict::Unproven,
        },
        run: reported(read, &account.runs[claim.run]),
        edits_since: claim.edits_since,
        source: line(read, claim.line),
    }
}

pub(super) fn journal(entry: &Entry) -> Source {
    Source::Journal { number: entry.number }
}

fn happened<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    text: impl Fn(&Value) -> String,
) -> Vec<Happened> {
    entries
        .map(|entry| Happened {
            at: entry.event.at,
            text: text(&entry.event.data),
            source: journal(entry),
        })
        .collect()
}

/// The texts under these keys.
fn text_of(data: &Value, keys: &[&str]) -> String {
    let texts = keys.iter().filter_map(|key| data[*key].as_str());
    texts.collect::<Vec<_>>().join(", ")
}

/// Entries of the period that say that it was in a state.
fn states(history: &History, state: &str, text: impl Fn(&Value) -> String) -> Vec<Happened> {
    let within = &history.entries[history.before..];
    let of_state =
        |entry: &&Entry| entry.event.kind == kind::STATE && entry.event.data["state"] == state;
    happened(within.iter().filter(of_state), text)
}

fn loops(history: &History) -> Vec<Happened> {
    let within = &history.entries[history.before..];
    let is_loop =
        |entry: &&Entry| entry.event.kind == kind::STATE && entry.event.data["looping"].is_object();
    happened(within.iter().filter(is_loop), |data| {
        let times = data["looping"]["times"].as_u64().unwrap_or_default();
        format!("{} ×{times}", data["looping"]["what"].as_str().unwrap_or_default())
    })
}

/// What dogwatch did by itself.
fn actions(history: &History) -> Vec<Happened> {
    let within = &history.entries[history.before..];
    within.iter().filter_map(action).collect()
}

fn action(entry: &Entry) -> Option<Happened> {
    let data = &entry.event.data;
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let words = match entry.event.kind.as_str() {
        kind::LIMIT => {
            let because = data["because"].as_str().map(|why| format!(": {why}"));
            format!("limit {}{}", text("action").replace('_', " "), because.unwrap_or_default())
        }
        kind::LOOP_INTERRUPTED => {
            let times = data["times"].as_u64().unwrap_or_default();
            format!("interrupted a loop: {} ×{times}", text("what"))
        }
        kind::RULES_ANSWERED => {
            let rules = data["rules"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let rules = rules.collect::<Vec<_>>().join(", ");
            format!("rule {rules}: {} {} {}", text("answer"), text("tool"), text("asks"))
        }
        kind::RULES_HELD => {
            format!("rules did not answer {} {}: {}", text("tool"), text("asks"), text("because"))
        }
        kind::BUDGET if data["is_lifted"] == true => format!("budget of {} lifted", text("name")),
        kind::BUDGET => {
            format!("budget used up: {} of {}", text("used_words"), text("limit_words"))
        }
        _ => return None,
    };
    Some(Happened { at: entry.event.at, text: words, source: journal(entry) })
}

/// The last line of each transcript in the period.
fn last_lines(read: &Transcripts, within: Within) -> Vec<Source> {
    let last = |one: &Read1| {
        let mut times = one.account.times.iter().rev();
        times.find(|(at, _)| within.has(*at)).map(|(_, number)| line(one, *number))
    };
    read.all.iter().filter_map(last).collect()
}

fn notes(session: Option<&Session>, history: &History, read: &Transcripts) -> Vec<String> {
    let mut notes = Vec::new();
    match session {
        None => notes.push("dogwatch did not start it: only what was seen is known".to_owned()),
        Some(session) if session.agent == "command" => {}
        Some(session) if !read.has_dialect => {
            notes.push(format!(
                "dogwatch cannot read transcripts of {}: turns, tests and claims are not known",
                session.agent
            ));
        }
        Some(_) if read.all.is_empty() => {
            notes.push("no transcript was found: turns, tests and claims are not known".to_owned());
        }
        Some(_) => {}
    }
    if read.all.iter().any(|one| one.is_cut) {
        notes.push("the transcript is too long: its beginning was not read".to_owned());
    }
    if history.is_cut {
        notes
            .push("the journal has too many entries of this session: not all were read".to_owned());
    }
    notes
}
