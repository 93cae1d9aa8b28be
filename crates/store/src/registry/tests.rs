use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use dogwatch_core::registry::{Drift, Edit, Outcome, Status};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Store;

struct Desk {
    folder: tempfile::TempDir,
    file: RegistryFile,
}

impl Desk {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = RegistryFile::new(folder.path().join("agent-sessions.yaml"));
        if !text.is_empty() {
            fs::write(file.path(), text).unwrap();
            // Set back: an edit waits for a file that was saved just now.
            let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
            fs::File::options()
                .write(true)
                .open(file.path())
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        Self { folder, file }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).unwrap()
    }

    fn edit(&self, edits: &[Edit]) -> Result<bool, StoreError> {
        self.file.edit(|_| Ok::<_, StoreError>((edits.to_vec(), ()))).map(|(written, ())| written)
    }
}

const PERSONS: &str = "\
# My agents. Do not touch the order!
version: 1

defaults: &defaults   # unknown to dogwatch
  colour: blue

sessions:
  # the landing page
  lab-page-creator-claude:   # keep alive
    status: running   # as of Monday
    agent: claude
    cwd: '/home/me/lab page'
    pane: {id: \"%3\", pid: 201132, cmd: claude}  # flow
    claude_session_id_own: null
    agent_identities:
      claude:
        session_id: ~   # not yet
        note: mine
    notes: |
      several lines,
      # and this is no comment
    tags: [a, b]

  other-creator-agy:
    agent: agy
    status: terminated
# the end
";

#[test]
fn a_persons_text_and_comments_are_preserved() {
    let desk = Desk::new(PERSONS);
    let name = "lab-page-creator-claude";
    let edits = [
        Edit::field(name, "status", "terminated"),
        Edit::field(name, "terminated_at", "2026-11-15T10:00:00Z"),
        Edit::field(name, "claude_session_id_own", "b3a7c2f0-1"),
        Edit::field(name, "agent_identities.claude.session_id", "b3a7c2f0-1"),
        Edit::field(name, "pane.pid", 7),
        Edit::field("other-creator-agy", "pane.id", "%9"),
        Edit::entry(
            "new-creator-codex",
            json!({ "agent": "codex", "status": "running", "role": null, "pane": { "id": "%4", "pid": 4 } }),
        ),
    ];
    assert!(desk.edit(&edits).unwrap());
    let want = "\
# My agents. Do not touch the order!
version: 1

defaults: &defaults   # unknown to dogwatch
  colour: blue

sessions:
  # the landing page
  lab-page-creator-claude:   # keep alive
    status: terminated   # as of Monday
    agent: claude
    cwd: '/home/me/lab page'
    pane: {id: \"%3\", pid: 7, cmd: claude}  # flow
    claude_session_id_own: b3a7c2f0-1
    agent_identities:
      claude:
        session_id: b3a7c2f0-1   # not yet
        note: mine
    notes: |
      several lines,
      # and this is no comment
    tags: [a, b]
    terminated_at: 2026-11-15T10:00:00Z

  other-creator-agy:
    agent: agy
    status: terminated
    pane:
      id: \"%9\"
  new-creator-codex:
    agent: codex
    status: running
    role: null
    pane:
      id: \"%4\"
      pid: 4
# the end
";
    assert_eq!(desk.text(), want);
    assert!(!desk.edit(&edits).unwrap(), "nothing is written if nothing changes");
    assert_eq!(desk.file.read().unwrap().sessions[name].status, Status::Terminated);
}

#[test]
fn a_missing_file_is_created() {
    let edits = [Edit::entry("a", json!({ "agent": "claude", "status": "running" }))];
    let tail = "sessions:\n  a:\n    agent: claude\n    status: running\n";
    let table = [
        ("", format!("version: 1\n{tail}")),
        ("# only words", format!("# only words\nversion: 1\n{tail}")),
        ("version: 1\nsessions:\n", format!("version: 1\n{tail}")),
        ("version: 1\n", format!("version: 1\n{tail}")),
    ];
    for (before, want) in table {
        let desk = Desk::new(before);
        assert!(desk.edit(&edits).unwrap());
        assert_eq!(desk.text(), want, "{before:?}");
    }
    for before in [
        "sessions: {}\n",
        "sessions: null # none\n",
        "{version: 1, sessions: {}}\n",
        "---\nsessions: ~\n",
    ] {
        let desk = Desk::new(before);
        assert!(desk.edit(&edits).unwrap(), "{before:?}");
        let read = desk.file.read().unwrap();
        assert_eq!(read.sessions["a"].agent, "claude", "{before:?}: {}", desk.text());
    }
    let desk = Desk::new("");
    assert!(!desk.edit(&[]).unwrap());
    assert!(!desk.file.path().exists(), "nothing to write makes no file");
}

#[test]
fn an_unreadable_file_is_reported_and_left_alone() {
    let deep = "[".repeat(100_000);
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..12 {
        let last = n - 1;
        let many = vec![format!("*a{last}"); 9].join(",");
        writeln!(laughs, "a{n}: &a{n} [{many}]").unwrap();
    }
    let long = format!("# {}\nsessions: {{}}\n", "x".repeat(10_000_000));
    let table: [(&str, &str, &str); 10] = [
        ("sessions:\n  a:\n    status: running\n   bad\n", "line ", "broken indentation"),
        ("sessions:\n  a: {status: running\n", "line ", "an open brace"),
        (
            "sessions:\n  a:\n    agent: x\n  a:\n    agent: y\n",
            "line 4, column 3",
            "a session twice",
        ),
        ("sessions:\n  a:\n    agent: x\n    agent: y\n", "line 4, column 5", "a field twice"),
        ("sessions: [a]\n", "line 1, column 11", "a list"),
        ("sessions:\n  a: 7\n", "line 2, column 6", "no map"),
        ("version: 2\nsessions: {}\n", "version 2", "of the future"),
        (&deep, "line 1", "deep"),
        (&laughs, "", "a bomb"),
        (&long, "10000016 bytes", "long"),
    ];
    for (text, said, case) in table {
        let desk = Desk::new(text);
        let error = desk.edit(&[Edit::field("a", "status", "terminated")]).unwrap_err();
        assert!(matches!(error, StoreError::BadRegistry { .. }), "{case}: {error}");
        assert!(error.to_string().contains(said), "{case}: {error}");
        assert!(error.hint().is_some());
        assert_eq!(desk.text(), text, "{case}");
    }
    let desk = Desk::new("");
    fs::write(desk.file.path(), b"sessions: \xff\n").unwrap();
    assert!(desk.file.read().unwrap_err().to_string().contains("not valid UTF-8"));
    let folder = RegistryFile::new(desk.folder.path().to_owned());
    assert!(folder.read().unwrap_err().to_string().contains("not a regular file"));
}

#[test]
fn a_file_that_cannot_be_edited_is_reported_and_left_alone() {
    let text = "sessions:\n  a: &one\n    status: running\n  b: *one\n";
    let desk = Desk::new(text);
    let error = desk.edit(&[Edit::field("a", "status", "terminated")]).unwrap_err();
    assert!(matches!(error, StoreError::NotEditable { .. }), "{error}");
    assert_eq!(desk.text(), text, "b would have changed with it");
}

#[test]
fn links_and_modes_are_preserved() {
    let desk = Desk::new("sessions: {}\n");
    let link = desk.folder.path().join("link.yaml");
    std::os::unix::fs::symlink(desk.file.path(), &link).unwrap();
    fs::set_permissions(desk.file.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let by_link = RegistryFile::new(link.clone());
    assert_eq!(by_link.key(), desk.file.key());
    by_link
        .edit(|_| Ok::<_, StoreError>((vec![Edit::field("a", "status", "running")], ())))
        .unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(desk.file.path()).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(desk.file.read().unwrap().sessions.len(), 1);
}

#[test]
fn a_thousand_sessions_are_edited() {
    let mut text = "sessions:\n".to_owned();
    for n in 0..1000 {
        writeln!(text, "  s{n}-creator-claude: # {n}\n    agent: claude\n    status: running")
            .unwrap();
    }
    let desk = Desk::new(&text);
    let edits: Vec<Edit> = (0..1000)
        .map(|n| Edit::field(&format!("s{n}-creator-claude"), "status", "terminated"))
        .collect();
    assert!(desk.edit(&edits).unwrap());
    assert_eq!(desk.text(), text.replace("running", "terminated"));
}

#[test]
fn a_drift_is_reported_once_across_restarts_and_again_after_it_was_over() {
    let folder = tempfile::tempdir().unwrap();
    let dir = StateDir::open(&folder.path().join("s")).unwrap();
    let at = Timestamp::from_second(1_794_700_000).unwrap();
    let drift = |key: &str| Drift {
        kind: dogwatch_core::registry::Kind::AgentGone,
        sessions: vec!["a".into()],
        message: "m".into(),
        hint: None,
        before: Value::Null,
        after: Value::Null,
        key: key.into(),
    };
    let reported = |key: &str| {
        let outcome = Outcome { drifts: vec![drift(key)], ..Outcome::default() };
        Store::open(&dir).unwrap().record_drifts("/r", &outcome, at).unwrap().len()
    };
    assert_eq!([reported("k"), reported("k"), reported("l")], [1, 0, 1]);
    let mut store = Store::open(&dir).unwrap();
    assert_eq!(store.reported("/r").unwrap().drifts.len(), 2);
    assert_eq!(store.reported("/other").unwrap().drifts.len(), 0);
    let over = Outcome { over: ["k".to_owned()].into(), ..Outcome::default() };
    store.record_drifts("/r", &over, at).unwrap();
    assert_eq!(reported("k"), 1);
    let events: Vec<String> =
        store.journal("a").unwrap().into_iter().map(|e| e.event.kind).collect();
    assert_eq!(events, ["drift"; 3]);
    store.acted("/r", "a", Act::Resumed, &json!({ "id": "x" }), at).unwrap();
    assert_eq!(store.reported("/r").unwrap().touched["a"], at);
    assert_eq!(store.journal("a").unwrap().pop().unwrap().event.data["id"], "x");
}

/// Texts that are hard to write as YAML.
fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9-]{1,12}",
        prop::sample::select(vec![
            "null",
            "~",
            "true",
            "no",
            "12",
            "0x1f",
            "1e3",
            "- a",
            "a: b",
            "# c",
            "a # c",
            "'q'",
            "\"q\"",
            "[x",
            "{y",
            "*z",
            "&z",
            "!t",
            "%3",
            "@at",
            "`t`",
            "",
            " lead",
            "trail ",
            "a\nb",
            "é ☃",
            "2026-11-15T10:00:00Z",
            "...",
            "---",
            "|",
            ">",
        ])
        .prop_map(ToOwned::to_owned),
        "[ -~]{0,20}",
    ]
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A registry as people write it: a comment on every line, unknown fields.
fn registry() -> impl Strategy<Value = (String, Vec<String>)> {
    let entry = (prop::bool::ANY, prop::bool::ANY, nasty(), 0..3usize);
    prop::collection::vec(entry, 0..6).prop_map(|entries| {
        let mut text =
            "# top\nversion: 1 # v\nmine: [1, two] # unknown\nsessions: # all\n".to_owned();
        let mut comments: Vec<String> =
            ["# top", "# v", "# unknown", "# all"].map(Into::into).into();
        let mut say = |text: &mut String, line: String| {
            let comment = format!("# c{}", comments.len());
            writeln!(text, "{line} {comment}").unwrap();
            comments.push(comment);
        };
        for (n, (flow, gap, own, extra)) in entries.into_iter().enumerate() {
            if gap {
                text.push('\n');
                say(&mut text, String::new());
            }
            say(&mut text, format!("  s{n}:"));
            say(&mut text, "    status: running".into());
            say(&mut text, format!("    own: {}", quoted(&own)));
            if flow {
                say(&mut text, "    pane: {id: '%1', pid: 1, x: [1, {y: z}]}".into());
            } else {
                say(&mut text, "    pane:".into());
                say(&mut text, "      id: '%1'".into());
                say(&mut text, "      more: {a: b}".into());
            }
            for more in 0..extra {
                say(&mut text, format!("    extra{more}:"));
                say(&mut text, "      - one".into());
                say(&mut text, "      - two: 2".into());
            }
        }
        (text, comments)
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = prop_oneof![
        (0..8usize).prop_map(|n| format!("s{n}")),
        nasty().prop_filter("a name", |n| !n.is_empty())
    ];
    let field = prop::sample::select(vec![
        "status",
        "pane.id",
        "pane.pid",
        "agent_identities.claude.session_id",
        "new",
        "own",
    ]);
    let value = prop_oneof![
        nasty().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(Value::Null)
    ];
    prop_oneof![
        4 => (name.clone(), field, value.clone()).prop_map(|(name, field, value)| Edit::field(&name, field, value)),
        1 => (name, value).prop_map(|(name, value)| {
            Edit::entry(&name, json!({ "agent": "claude", "own": value, "pane": { "id": "%1", "pid": 3 } }))
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(192)
    ))]

    /// For any file and edits: exactly the intended change, with every comment preserved; or refused and left alone.
    #[test]
    fn edits_keep_all_else((text, comments) in registry(), edits in prop::collection::vec(edit(), 1..6)) {
        let replaces = edits.iter().any(|edit| edit.path.len() == 2);
        let (before, _) = read::read(Path::new("x"), &text).unwrap();
        let mut meant = before.clone();
        apply(&mut meant, &edits);
        let edited = write::edit(&text, &edits).and_then(|e| write::must_say(&e, &meant).map(|()| e));
        match edited {
            Ok(edited) => {
                // A session that is replaced as a whole loses its own comments.
                if !replaces {
                    for comment in comments {
                        prop_assert!(edited.contains(&comment), "{comment} lost:\n{text}\n{edits:?}\n{edited}");
                    }
                }
                prop_assert!(edited.contains("mine: [1, two] # unknown"));
            }
            Err(what) => prop_assert!(false, "{what}:\n{text}\n{edits:?}"),
        }
    }
}
