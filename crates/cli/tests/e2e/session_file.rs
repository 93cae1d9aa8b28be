//! The session file: true, readable, and shared with people who edit it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dogwatch_testkit::TestEnv;
use serde_json::Value;

use crate::panes::Panes as _;

/// Commands of `session` and `task`.
trait Tasks {
    fn session_file(&self) -> PathBuf;
    fn add_task(&self, role: &str, text: &str) -> String;
    fn claim(&self, pane: &str) -> Value;
    fn complete(&self, pane: &str) -> Value;
    /// Tasks with their status and pane.
    fn tasks(&self) -> Vec<String>;
    fn complete_as(&self, pane: &str, role: &str);
}

impl Tasks for TestEnv {
    fn session_file(&self) -> PathBuf {
        let folder = self.work().join(".agents/orchestration");
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "md"));
        files.pop().unwrap()
    }

    fn add_task(&self, role: &str, text: &str) -> String {
        let added = self.dogwatch(&["task", "add", "--role", role, text]).success();
        added.text().trim().to_owned()
    }

    fn claim(&self, pane: &str) -> Value {
        let output = self.dogwatch(&["agent", "claim", "--pane", pane, "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output}"))
    }

    fn complete(&self, pane: &str) -> Value {
        let words = ["agent", "complete", "--pane", pane, "--result", "pass", "--json"];
        self.dogwatch(&words).success().json()
    }

    fn tasks(&self) -> Vec<String> {
        let listed = self.dogwatch(&["task", "list", "--json"]).success().json();
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let all = listed["tasks"].as_array().unwrap().iter();
        all.map(|t| format!("{} {} {}", word(&t["task"]), word(&t["status"]), word(&t["pane"])))
            .collect()
    }

    fn complete_as(&self, pane: &str, role: &str) {
        let words = ["agent", "complete", "--pane", pane, "--role", role, "--result", "pass"];
        let _ = self.dogwatch(&words).success();
    }
}

#[test]
fn a_task_from_beginning_to_end() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.dogwatch(&["task", "list"]).code(3), @r"
    ------- stderr -------
    error: no session file in $WORK
    hint: create one with a first task: dogwatch task add --role dev 'Write the parser'
    [exit code: 3]
    ");
    assert_eq!(env.add_task("dev", "Write the parser.\n\n## With a title of its own"), "TASK-001");
    assert_eq!(env.add_task("qa", "Break it."), "TASK-002");
    env.open_window(200, 50);
    env.member("dev", "%0");
    insta::assert_snapshot!(env.dogwatch(&["agent", "register", "--pane", "%1"]).success(), @r"
    registered: %1 dev in $WORK/.agents/orchestration/session-$STAMP.md
    TASK-001 · in-progress · dev

    Write the parser.

    ## With a title of its own
    ");
    insta::assert_snapshot!(env.dogwatch(&["agent", "complete", "--pane", "%1", "--result", "pass, all green"]).success(), @r"
    TASK-001: done, result: pass, all green; the spawner is not an agent; the result is in the session file
    no more tasks; this pane is ready to close, do nothing further
    ");
    insta::assert_snapshot!(env.dogwatch(&["agent", "complete", "--result", "pass", "--pane", "%1"]).code(3), @r"
    ------- stderr -------
    error: %1 has no task in progress
    hint: `dogwatch task list` lists assignments
    [exit code: 3]
    ");
    insta::assert_snapshot!(env.dogwatch(&["task", "list"]).success(), @r"
    TASK      STATUS   ROLE  PANE  RESULT           TEXT
    TASK-001  done     dev   %1    pass, all green  Write the parser.
    TASK-002  pending  qa                           Break it.
    ");
    let text = fs::read_to_string(env.session_file()).unwrap();
    assert!(
        text.contains(
            "### TASK-001 · done · dev\n\n- Pane: %1\n- Result: pass, all green\n\nWrite"
        ),
        "{text}"
    );
    assert!(text.contains("\n\\## With a title"), "{text}");
}

#[test]
fn two_at_once_never_get_the_same_task() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.member("dev", "%0");
    env.member("dev", "%0");
    for round in 1..=50 {
        let task = env.add_task("dev", "It.");
        let [one, two] = std::thread::scope(|scope| {
            let claims = ["%1", "%2"].map(|pane| {
                scope.spawn({
                    let env = &env;
                    move || env.claim(pane)
                })
            });
            claims.map(|claim| claim.join().unwrap())
        });
        let got = |claim: &Value| claim["outcome"] == "claimed";
        assert!(got(&one) ^ got(&two), "round {round}: {one} {two}");
        let winner = if got(&one) { "%1" } else { "%2" };
        let done = env.complete(winner);
        assert_eq!(done["task"], task.as_str(), "round {round}");
    }
    assert!(env.tasks().iter().all(|task| task.contains(" done ")), "{:?}", env.tasks());
}

/// As an editor does it: read, change a little, save. Half of them write in place, half of them rename.
#[test]
fn what_a_person_saves_is_never_lost() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.member("dev", "%0");
    for _ in 0..15 {
        env.add_task("dev", "It.");
    }
    let file = env.session_file();
    let stop = AtomicBool::new(false);
    let saved = std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            let mut saved = 0;
            while !stop.load(Ordering::Relaxed) {
                saved += 1;
                let text = fs::read_to_string(&file).unwrap();
                let text =
                    text.replacen("\n## Active", &format!("\nNote {saved}.\n\n## Active"), 1);
                if saved % 2 == 0 {
                    let new = file.with_extension("swp");
                    fs::write(&new, text).unwrap();
                    fs::rename(&new, &file).unwrap();
                } else {
                    fs::write(&file, text).unwrap();
                }
                // sleep: the pace of a person who saves.
                std::thread::sleep(Duration::from_millis(400));
            }
            saved
        });
        let work = || {
            for _ in 0..15 {
                let register = env.dogwatch(&["agent", "register", "--pane", "%1"]);
                let complete =
                    env.dogwatch(&["agent", "complete", "--result", "pass", "--pane", "%1"]);
                if register.code != Some(0) || complete.code != Some(0) {
                    let text = fs::read_to_string(&file).unwrap_or_default();
                    return Err(format!("{register}{complete}{text}"));
                }
            }
            Ok(())
        };
        let worked = work();
        stop.store(true, Ordering::Relaxed);
        let saved = person.join().unwrap();
        worked.unwrap();
        saved
    });
    let text = fs::read_to_string(&file).unwrap();
    for note in 1..=saved {
        assert!(
            text.contains(&format!("\nNote {note}.\n")),
            "of {saved} saves, {note} was lost:\n{text}"
        );
    }
    assert!(saved > 3, "{saved}");
}

/// Somebody has the file open, and saves an old text over what was done meanwhile.
#[test]
fn an_old_text_that_is_saved_gives_no_task_out_twice() {
    let env = TestEnv::new();
    env.open_window(200, 50);
    env.member("dev", "%0");
    env.member("dev", "%0");
    env.add_task("dev", "One.");
    env.add_task("dev", "Two.");
    let old = fs::read_to_string(env.session_file()).unwrap();
    assert_eq!(env.claim("%1")["task"]["task"], "TASK-001");
    fs::write(env.session_file(), &old).unwrap();
    assert_eq!(env.tasks(), ["TASK-001 pending -", "TASK-002 pending -"]);
    assert_eq!(env.claim("%2")["task"]["task"], "TASK-002", "the first one is not free");
    fs::write(env.session_file(), &old).unwrap();
    let again = env.claim("%1");
    assert_eq!((&again["outcome"], &again["task"]["task"]), (&"had".into(), &"TASK-001".into()));
    fs::write(env.session_file(), &old).unwrap();
    assert_eq!(env.complete("%1")["task"], "TASK-001");
    env.tmux(&["kill-pane", "-t", "%2"]);
    assert_eq!(env.claim("%1")["task"]["task"], "TASK-002", "whoever was at it is gone");
}

#[test]
fn where_it_is() {
    let env = TestEnv::new();
    let added = |variables: &[(&str, &str)], words: &[&str]| {
        let mut command = env.command(&["task", "add", "--role", "dev", "It.", "--json"]);
        command.args(words).envs(variables.iter().copied());
        let said = env.run(&mut command).success().json();
        let file = PathBuf::from(said["session_file"].as_str().unwrap());
        file.strip_prefix(env.work()).unwrap().to_string_lossy().into_owned()
    };
    assert_eq!(
        added(&[("BMAD_SESSION_ID", "s1")], &[]),
        "_bmad-output/sessions/s1/agent-sessions.md"
    );
    let own = added(&[], &[]);
    assert!(own.starts_with(".agents/orchestration/session-"), "{own}");
    assert_eq!(added(&[], &[]), own, "the same again");
    assert_eq!(
        added(&[("DOGWATCH_SESSION_FILE", "mine.md"), ("BMAD_SESSION_ID", "s1")], &[]),
        "mine.md"
    );
    assert_eq!(
        added(&[("DOGWATCH_SESSION_FILE", "mine.md")], &["--session-file", "other.md"]),
        "other.md"
    );
    let mut bad = env.command(&["task", "list"]);
    let output = env.run(bad.env("BMAD_SESSION_ID", "../up")).code(2);
    assert!(output.to_string().contains("is not a valid folder name"), "{output}");
}

#[test]
fn a_file_that_cannot_be_used_is_left_as_it_is() {
    let env = TestEnv::new();
    let file = env.write("mine.md", "# x\n\n```\nnever closed\n");
    let words = ["task", "add", "--role", "dev", "It.", "--session-file", "mine.md"];
    insta::assert_snapshot!(env.dogwatch(&words).code(6), @r"
    ------- stderr -------
    error: cannot use the session file $WORK/mine.md: line 3: a code block or comment is never closed
    hint: the file was not changed; correct it and run the command again
    [exit code: 6]
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# x\n\n```\nnever closed\n");
    env.write("mine.md", b"a\xffb");
    let output = env.dogwatch(&words).code(6);
    assert!(output.to_string().contains("not valid UTF-8"), "{output}");
    env.write("mine.md", "## Active Agents\n\n| Who |\n| --- |\n| me |\n");
    env.open_window(200, 50);
    let words = ["agent", "register", "--pane", "%0", "--role", "dev", "--session-file", "mine.md"];
    let output = env.dogwatch(&words).code(6);
    assert!(output.to_string().contains("has no column \"Pane\""), "{output}");
}

#[test]
fn who_calls_must_be_in_a_pane() {
    let env = TestEnv::new();
    env.add_task("dev", "It.");
    let said = |words: &[&str], code: i32| env.dogwatch(words).code(code).to_string();
    assert!(said(&["agent", "register"], 2).contains("not inside tmux"));
    env.open_window(200, 50);
    assert!(said(&["agent", "register", "--pane", "%0"], 2).contains("the role is unknown"));
    assert!(said(&["agent", "register", "--pane", "%9", "--role", "dev"], 3).contains("no pane"));
    assert!(
        said(&["agent", "complete", "--result", "pass", "--pane", "%0", "--role", "dev"], 3)
            .contains("no task")
    );
    assert!(
        said(
            &[
                "agent", "complete", "--result", "pass", "--pane", "%0", "--role", "dev", "--task",
                "TASK-7"
            ],
            3
        )
        .contains("no task TASK-007")
    );
    let claimed = env
        .dogwatch(&["agent", "claim", "--pane", "%0", "--role", "DEV", "--json"])
        .success()
        .json();
    assert_eq!(claimed["outcome"], "claimed");
    let none = env.dogwatch(&["agent", "claim", "--pane", "%0", "--role", "qa"]).success();
    assert!(none.text().contains("TASK-001"), "it is at that one still");
    env.complete_as("%0", "dev");
    let _ = env.dogwatch(&["agent", "claim", "--pane", "%0", "--role", "dev"]).code(1);
}
