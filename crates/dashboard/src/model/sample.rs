//! The sessions of the frames in the documentation, for tests.

use std::path::PathBuf;

use dogwatch_core::delivery::{Outcome, Proof};
use dogwatch_core::job::JobState;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::record::Exit;
use dogwatch_protocol::run::{self, Report, Spent, StepLine, Try};
use dogwatch_protocol::status::{Basis, Need, Reason, Role, Source, Status, Verdict};
use dogwatch_store::Job;
use jiff::{SignedDuration, Timestamp};

use super::{Around, Row, Sent, State};
use crate::view::tables::Run;

pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn at(seconds_ago: i64) -> Timestamp {
    Timestamp::from_second(NOW).unwrap() - SignedDuration::from_secs(seconds_ago)
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::from(name.to_owned())
}

pub(crate) fn row(name: &str, agent: &str, status: Status, age: i64, folder: &str) -> Row {
    let verdict =
        Verdict { status, basis: Basis::Asserted, since: Some(at(age)), reasons: Vec::new() };
    Row {
        id: id(name),
        name: name.to_owned(),
        title: None,
        agent: agent.to_owned(),
        verdict,
        notes: Vec::new(),
        numbers: Vec::new(),
        folder: PathBuf::from(format!("/home/ann/{folder}")),
        project: PathBuf::from(format!("/home/ann/{folder}")),
        tags: Vec::new(),
        role: None,
        story: None,
        run: None,
        created: at(100_000),
        has_pane: true,
        is_managed: true,
        is_attached: false,
    }
}

pub(crate) fn waiting(need: Need, question: &str, options: &[&str], dialog: &str) -> Status {
    Status::Waiting {
        r#for: need,
        question: Some(question.to_owned()),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        dialog: Some(dialog.to_owned()),
    }
}

pub(crate) fn idle() -> Status {
    Status::Idle { after_turn: true, interrupted: false, background: 0, draft: None }
}

pub(crate) fn working(task: &str) -> Status {
    Status::working(Some(task.to_owned()))
}

fn inferred(mut row: Row) -> Row {
    row.verdict.basis = Basis::Inferred;
    row
}

fn reason(source: Source, said: &str, role: Role) -> Reason {
    Reason { source, said: said.to_owned(), at: Some(at(240)), role }
}

/// The frame of the documentation.
pub(crate) fn state(size: (u16, u16)) -> State {
    let yes_no = ["Yes", "Yes, and don't ask again for these commands", "No"];
    let rm = "rm -rf scratch && touch perm-ok";
    let mut fix =
        row("fix-parser", "claude", waiting(Need::Permission, rm, &yes_no, "d1"), 240, "p/parser");
    fix.numbers = vec![1, 2, 4];
    fix.verdict.reasons = vec![
        reason(Source::OwnWord, "waiting: permission", Role::Decided),
        reason(Source::Hook, "asked for permission", Role::Heard),
        reason(Source::Screen, "a dialog: Do you want to proceed?", Role::Heard),
    ];
    let database = "Which database should I use?";
    let limited = Status::Limited { until: Some("02:10".to_owned()), text: "limit".to_owned() };
    let unknown = Status::Unknown { missing: "screen is not one we know".to_owned() };
    let crashed = Status::Crashed { exit: Some(Exit::Code(2)) };
    let rows = [
        fix,
        inferred(row(
            "db-choice",
            "claude",
            waiting(Need::Question, database, &["SQLite", "Postgres"], "d2"),
            31,
            "p/api",
        )),
        row("build", "command", crashed, 540, "p"),
        row("docs", "codex", limited, 720, "p/docs"),
        row("lint", "claude", idle(), 40, "p/lint"),
        row("migrate", "claude", working("Doing: Write the parser"), 180, "p/api"),
        inferred(row("e2e", "gemini", working("Running tests"), 55, "p/e2e")),
        row("refactor", "codex", working("Editing judge.rs"), 1080, "p/core"),
        row("bench", "claude", working("thinking"), 2, "p/bench"),
        row("notes", "claude", idle(), 7200, "p/notes"),
        inferred(row("old-box", "opencode", unknown, 60, "p/x")),
    ];
    let mut state = State::new(Around {
        home: Some(PathBuf::from("/home/ann")),
        here: PathBuf::from("/home/ann/p"),
        project: PathBuf::from("/home/ann/p/api"),
        host: "here".to_owned(),
        socket: PathBuf::from("/tmp/tmux-1000/default"),
        agents: ["claude", "codex", "gemini"].map(ToOwned::to_owned).to_vec(),
        commands: vec![
            ("kill".to_owned(), "End a session".to_owned()),
            ("why".to_owned(), "Explain a status".to_owned()),
            ("attach".to_owned(), "Attach".to_owned()),
        ],
        has_colours: true,
    });
    state.size = size;
    state.now = at(0);
    state.clock = "01:28".to_owned();
    state.is_complete = true;
    state.panes = Some(12);
    state.looked_at.insert(id("notes"), at(10));
    let created = (0..).map(|number| at(100_000 - number));
    let rows = rows.into_iter().zip(created).map(|(row, created)| {
        let row = Row { created, ..row };
        (row.id.clone(), Some(row))
    });
    state.take_in(rows.collect::<Vec<_>>());
    state
}

fn step(label: &str, state: &'static str, attempts: u32) -> StepLine {
    let attempt = |n| Try {
        n,
        agent: "claude".to_owned(),
        session: None,
        output: None,
        begun: at(500),
        over: None,
        result: "running",
        why: String::new(),
        spent: Spent::default(),
    };
    StepLine {
        step: label.to_owned(),
        label: label.to_owned(),
        state,
        why: if state == "asked" { "the tests fail".to_owned() } else { String::new() },
        seconds: 60,
        attempts: (1..=attempts).map(attempt).collect(),
        spent: Spent::default(),
    }
}

fn story(name: &str, state: &'static str, steps: Vec<StepLine>) -> run::Line {
    let (title, spent) = (String::new(), Spent::default());
    run::Line {
        name: name.to_owned(),
        title,
        state,
        why: None,
        begun: None,
        over: None,
        steps,
        spent,
    }
}

/// A run with three stories, and one that this version cannot read.
pub(crate) fn runs() -> Vec<Run> {
    let report = Report {
        run: "r1".to_owned(),
        workflow: "bmad".to_owned(),
        standing: "going",
        why: None,
        begun: at(7200),
        last: at(60),
        seconds: 7140,
        items: vec![
            story("1.1", "done", vec![step("create", "done", 1), step("dev", "done", 2)]),
            story("1.2", "in-progress", vec![step("create", "done", 1), step("dev", "asked", 3)]),
            story("1.3", "waiting", vec![step("create", "waiting", 0), step("dev", "waiting", 0)]),
        ],
        groups: vec![story("1", "waiting", vec![step("retrospective", "waiting", 0)])],
        questions: Vec::new(),
        attempts: 7,
        retries: 3,
        spent: Spent::default(),
    };
    let run = Run {
        id: "r1".to_owned(),
        project: PathBuf::from("/home/ann/p/api"),
        begun: at(7200),
        standing: "running".to_owned(),
        questions: 1,
        report: Some(report),
    };
    let (id, standing) = ("r0".to_owned(), "unreadable".to_owned());
    let old = Run { id, standing, questions: 0, report: None, ..run.clone() };
    vec![run, old]
}

pub(crate) fn jobs() -> Vec<(Option<String>, Job)> {
    let job = |prompt: &str, state: JobState, ended: Option<i64>| Job {
        id: "j".into(),
        session: id("gone"),
        prompt: prompt.to_owned(),
        submitted: at(100),
        state,
        delivered: Some(at(99)),
        running: Some(at(98)),
        ended: ended.map(at),
        waiting: None,
        cancelled_by: None,
    };
    let failed = JobState::Failed { because: "the agent crashed".to_owned(), result: None };
    vec![
        (None, job("old work", failed, Some(60))),
        (Some("lint".to_owned()), job("fix it\nnow", JobState::Running, None)),
    ]
}

pub(crate) fn sent() -> Vec<Sent> {
    let sent = |outcome: Option<Outcome>, staged: Option<i64>| Sent {
        to: "lint".to_owned(),
        text: "first\nsecond".to_owned(),
        posted: at(50),
        staged: staged.map(at),
        submitted: staged.map(at),
        done: outcome.is_some().then(|| at(48)),
        outcome,
    };
    let proof = Proof::Transcript;
    vec![
        sent(Some(Outcome::Delivered { proof, while_working: false }), Some(49)),
        sent(Some(Outcome::Refused { because: "a dialog is open".to_owned() }), None),
        sent(None, Some(49)),
        sent(None, None),
    ]
}
