//! The sessions of the frames in the documentation, for tests.

use std::path::PathBuf;

use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::record::Exit;
use dogwatch_protocol::status::{Basis, Need, Reason, Role, Source, Status, Verdict};
use jiff::{SignedDuration, Timestamp};

use super::{Around, Row, State};

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
        agent: agent.to_owned(),
        verdict,
        notes: Vec::new(),
        numbers: Vec::new(),
        folder: PathBuf::from(format!("/home/ann/{folder}")),
        project: PathBuf::from(format!("/home/ann/{folder}")),
        tags: Vec::new(),
        role: None,
        story: None,
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
        reason(Source::Hook, "PermissionRequest", Role::Heard),
        reason(Source::Screen, "working", Role::Disagrees),
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
