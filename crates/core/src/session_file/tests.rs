use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn agent(pane: &str, role: &str) -> AgentRow {
    AgentRow {
        pane: pane.into(),
        session: "work".into(),
        window: "@2".into(),
        role: role.into(),
        status: "active".into(),
        cwd: "/home/me/p".into(),
        name: format!("{role}-agent"),
        name_source: "spawner".into(),
        conversation: String::new(),
    }
}

fn no_claims() -> HashSet<TaskId> {
    HashSet::new()
}

fn got(file: &mut SessionFile, pane: &str, role: &str) -> Option<String> {
    match file.claim(pane, role, None, &no_claims()).unwrap() {
        Claimed::Got(task) => Some(format!("got {}", task.id)),
        Claimed::Has(task) => Some(format!("has {}", task.id)),
        Claimed::Nothing => None,
    }
}

#[test]
fn a_member_from_registration_to_close() {
    let mut file = SessionFile::new();
    assert_eq!(file.add_task("dev", "Write the parser.\n\n# With a title\n", 0), TaskId(1));
    assert_eq!(file.add_task("qa", "Break it.", 0), TaskId(2));
    file.begin(&agent("%31", "dev")).unwrap();
    assert_eq!(got(&mut file, "%31", "dev").as_deref(), Some("got TASK-001"));
    assert_eq!(got(&mut file, "%31", "dev").as_deref(), Some("has TASK-001"), "asked again");
    assert_eq!(got(&mut file, "%32", "dev"), None);
    let task = file.task_to_complete("%31", None, None).unwrap();
    assert_eq!((task.id, task.text.as_str()), (TaskId(1), "Write the parser.\n\n# With a title"));
    assert_eq!(
        file.in_the_way("%31"),
        [Missing::ReadyToClose, Missing::ReportBack, Missing::TaskDone, Missing::SessionId]
    );
    file.complete("%31", TaskId(1), "pass | really", "6f1c").unwrap();
    assert_eq!(file.task_to_complete("%31", None, None).unwrap().id, TaskId(1), "not yet told");
    file.reported("%31").unwrap();
    assert!(file.task_to_complete("%31", None, None).is_err());
    file.ready("%31").unwrap();
    assert_eq!(file.in_the_way("%31"), []);
    file.close("%31").unwrap();
    assert_eq!(
        file.render(),
        "\
# Agent sessions

Kept by dogwatch, for people and agents to read. People may edit it at any time; agents call `dogwatch agent` and `dogwatch task`.

## Active Agents

| Pane | Session    | Window | Role        | Status   | CWD                      | Name              | Name Source | Conversation ID                      |
| ---- | ---------- | ------ | ----------- | -------- | ------------------------ | ----------------- | ----------- | ------------------------------------ |
| %31  | work       | @2     | dev         | closed   | /home/me/p               | dev-agent         | spawner     | 6f1c                                 |

## Tasks

### TASK-001 · done · dev

- Pane: %31
- Result: pass | really

Write the parser.

\\# With a title

### TASK-002 · pending · qa

Break it.

## Pane Lifecycle

| Pane | Status         | Report-back sent | Session ID saved | Task marked done | Ready-to-close set |
| ---- | -------------- | ---------------- | ---------------- | ---------------- | ------------------ |
| %31  | closed         | ☑                | ☑                | ☑                | ☑                  |
"
    );
}

/// As a person may keep it: other titles and columns, boxes in one cell, own sections, other line ends.
const BY_HAND: &str = "\u{feff}# Sprint 7\r
\r
Notes: ask Ann | Bob.\r
\r
## Pane lifecycle\r
|Pane ID|Status|Close-down|Remark|\r
|:--|--|--|--|\r
| %4 | active | ☐ report-back sent · ☐ session ID saved · ☐ task marked done · ☐ ready-to-close set | mine |\r
\r
## Backlog, not for agents\r
```markdown\r
### TASK-090 · pending · dev\r
```\r
## Tasks (sprint 7)\r
#### task-8 | In Progress | Dev | the old one\r
* **pane:** %4\r
Do it.\r
#### TASK-12 — dev — pending\r
First.\r
- [ ] and this\r
<!--\r
#### TASK-13 · pending · dev\r
-->\r
#### TASK-014 · blocked · dev\r
#### TASK-009 · PENDING · dev\r
## Active agents\r
| Role | Pane | Claude session ID | Mood |\r
|---|---|---|---|\r
| dev | %4 | | good |\r
## Log\r
- no newline at the end";

#[test]
fn a_file_in_a_persons_own_style_is_edited() {
    let mut file = SessionFile::parse(BY_HAND);
    let tasks: Vec<_> = file.tasks().into_iter().map(|t| (t.id.0, t.status, t.role)).collect();
    let dev = || "dev".to_owned();
    assert_eq!(
        tasks,
        [
            (8, Some(TaskStatus::InProgress), dev()),
            (12, Some(TaskStatus::Pending), dev()),
            (14, None, dev()),
            (9, Some(TaskStatus::Pending), dev()),
        ]
    );
    assert_eq!(file.task(TaskId(12)).unwrap().text.lines().next(), Some("First."));
    file.complete("%4", TaskId(8), "pass", "6f1c").unwrap();
    file.reported("%4").unwrap();
    assert_eq!(got(&mut file, "%4", "dev").as_deref(), Some("got TASK-012"), "as they are ordered");
    assert_eq!(
        file.add_task("qa", "New.", 0),
        TaskId(91),
        "numbers in comments and code are used up"
    );
    let changed = file.render();
    let expected = BY_HAND
        .replace("task-8 | In Progress", "task-8 | done")
        .replace("* **pane:** %4\r\n", "- Pane: %4\r\n- Result: pass\r\n")
        .replace(
            "TASK-12 — dev — pending\r\n",
            "TASK-12 — dev — in-progress\r\n\r\n- Pane: %4\r\n\r\n",
        )
        .replace("☐ session ID", "☑ session ID")
        .replace("| dev | %4 | | good |", "| dev | %4 | 6f1c | good |")
        .replace(
            "#### TASK-009 · PENDING · dev\r\n",
            "#### TASK-009 · PENDING · dev\r\n\r\n### TASK-091 · pending · qa\r\n\r\nNew.\r\n\r\n",
        );
    assert_eq!(changed, expected);
    file.put_pane(&PaneRow {
        pane: "%5".into(),
        status: PaneStatus::Active,
        boxes: Boxes { session_id_saved: true, ..Boxes::default() },
    })
    .unwrap();
    assert!(file.render().contains(
        "| %5    | active | ☐ report-back sent · ☑ session ID saved · ☐ task marked done · ☐ ready-to-close set |      |\r\n"
    ), "{}", file.render());
}

#[test]
fn missing_parts_are_created() {
    for text in ["", "x", "# T\n", "## Tasks\n## Active Agents\ntext\n"] {
        let mut file = SessionFile::parse(text);
        file.begin(&agent("%1", "dev")).unwrap();
        file.add_task("dev", "It.", 41);
        assert_eq!(got(&mut file, "%1", "dev").as_deref(), Some("got TASK-042"), "{text:?}");
        assert_eq!(file.agent("%1"), Some(agent("%1", "dev")), "{text:?}");
        assert_eq!(file.pane("%1").unwrap().status, PaneStatus::Active, "{text:?}");
    }
    let mut file = SessionFile::parse("## Active Agents\n| Who |\n|---|\n");
    assert!(matches!(file.put_agent(&agent("%1", "dev")), Err(FileProblem::NoPaneColumn { .. })));
}

#[test]
fn an_unclosed_code_block_or_comment_is_reported() {
    let problem = |text: &str| SessionFile::parse(text).check().err();
    assert_eq!(problem("a\n```\nb\n```\n<!-- c -->\n"), None);
    assert_eq!(problem("a\n```\nb\n"), Some(FileProblem::Unclosed { line: 2 }));
    assert_eq!(problem("```\n```\nb <!-- c\n## d\n"), Some(FileProblem::Unclosed { line: 3 }));
}

#[test]
fn a_reused_pane_number_is_another_pane() {
    let mut file = SessionFile::new();
    file.add_task("dev", "It.", 0);
    file.begin(&agent("%1", "dev")).unwrap();
    got(&mut file, "%1", "dev");
    file.begin(&agent("%1", "dev")).unwrap();
    assert_eq!(file.agents().len(), 2);
    assert_eq!(file.task(TaskId(1)).unwrap().status, Some(TaskStatus::Pending), "left undone");
    assert_eq!(got(&mut file, "%1", "dev").as_deref(), Some("got TASK-001"));
    let words: Vec<String> =
        file.panes().into_iter().map(|p| p.status.as_str().to_owned()).collect();
    assert_eq!(words, ["closed", "active"]);
}

#[test]
fn tasks_that_others_hold_are_left_alone() {
    let mut file = SessionFile::new();
    file.add_task("dev", "One.", 0);
    file.add_task("dev", "Two.", 0);
    let held: HashSet<TaskId> = [TaskId(1)].into();
    let claimed = file.claim("%2", "dev", None, &held).unwrap();
    assert!(matches!(claimed, Claimed::Got(task) if task.id == TaskId(2)), "saved over, not free");
    let again = file.claim("%1", "dev", Some(TaskId(1)), &no_claims()).unwrap();
    assert!(
        matches!(again, Claimed::Has(task) if task.id == TaskId(1)),
        "its own, lost from the file"
    );
    assert_eq!(file.task(TaskId(1)).unwrap().pane.as_deref(), Some("%1"));
    assert!(matches!(
        file.task_to_complete("%1", Some(TaskId(2)), None),
        Err(NoTask::NotYours { .. })
    ));
    assert!(file.task_to_complete("%1", Some(TaskId(7)), None).is_err());
}

#[test]
fn texts_stay_within_their_task() {
    for text in [
        "## Pane Lifecycle\n| Pane |\n|---|\n",
        "### TASK-666 · pending · dev",
        "```\nunclosed",
        "<!-- unclosed",
        "- Pane: %9\nx",
        "a\r\n# b",
        "~~~~\n```\n# in code\n```",
    ] {
        let mut file = SessionFile::new();
        file.add_task("dev", text, 0);
        file.add_task("dev", "after", 0);
        let tasks = file.tasks();
        assert_eq!(tasks.len(), 2, "{text:?}:\n{}", file.render());
        assert_eq!(tasks[0].pane, None);
        assert_eq!(tasks[1].text, "after");
        let meant = text.replace("\r\n", "\n");
        assert!(tasks[0].text.starts_with(meant.trim_end()), "{text:?}: {:?}", tasks[0].text);
        file.put_pane(&PaneRow {
            pane: "%1".into(),
            status: PaneStatus::Active,
            boxes: Boxes::ALL,
        })
        .unwrap();
        assert_eq!(file.panes().len(), 1, "{text:?}");
    }
}

/// Texts that are full of what the parser looks for.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "# T\n",
        "## Active Agents\n",
        "## Tasks\n",
        "## Pane Lifecycle\n",
        "### TASK-001 · pending · dev\n",
        "### TASK-2 · in-progress · dev\r\n",
        "- Pane: %1\n",
        "- Result: x\n",
        "| Pane | Status |\n",
        "| Pane | Role | Status | Conversation ID |\n",
        "|---|---|---|---|\n",
        "| --- | --- |\n",
        "| %1 | active |\n",
        "| %1 |\n",
        "|",
        "```\n",
        "<!--\n",
        "-->\n",
        "\n",
        "\r\n",
        "text",
        " ",
        "ü|\\|",
        "☐ report-back sent · ☐",
        "#",
        "\\",
        "---\n",
        "> q\n",
        "\u{feff}",
        "TASK-9",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_note_that_occurs_several_times_is_removed() {
    let text = "## Tasks\n\n### TASK-001 · pending · dev\n- Result: x\n- Result: y\n- Result: z\n";
    let mut file = SessionFile::parse(text);
    let id = file.tasks()[0].id;
    file.assign(id, "%1").unwrap();
    let once = file.render();
    assert!(!once.contains("Result:"), "{once}");
    file.assign(id, "%1").unwrap();
    assert_eq!(file.render(), once, "asking again changes nothing");
}

proptest! {
    #[test]
    fn unchanged_is_identical(text in any::<String>(), known in texts()) {
        prop_assert_eq!(SessionFile::parse(&text).render(), text);
        prop_assert_eq!(SessionFile::parse(&known).render(), known);
    }

    /// Lines that an edit does not concern are all kept, in order.
    #[test]
    fn edits_disturb_nothing(text in texts()) {
        let mut file = SessionFile::parse(&text);
        let before = file.lines.clone();
        let registered = file.register(&agent("%1", "dev"));
        file.add_task("dev", "Do it.", 0);
        let claimed = file.claim("%1", "dev", None, &no_claims());
        let is_about = |line: &&String| {
            line.contains("%1") || line.contains("TASK-") || line.contains("Result") || !line.ends_with('\n')
        };
        let mut after = file.lines.iter();
        for line in before.iter().filter(|line| !is_about(line)) {
            prop_assert!(after.any(|kept| kept == line), "{:?} was lost from {:?}", line, text);
        }
        let is_whole = SessionFile::parse(&text).check().is_ok();
        if is_whole && registered.is_ok() && claimed.is_ok() {
            prop_assert!(file.agent("%1").is_some());
            let again = file.claim("%1", "dev", None, &no_claims()).unwrap();
            prop_assert!(matches!(again, Claimed::Has(_)));
            let settled = file.render();
            file.claim("%1", "dev", None, &no_claims()).unwrap();
            prop_assert_eq!(file.render(), settled, "asking again changes nothing");
        }
    }
}
