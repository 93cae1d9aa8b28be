//! Any list of steps, carried out unattended: what is done, what is tried again, who is asked.

use std::fs;
use std::path::PathBuf;

use dogwatch_testkit::{Project, eventually};
use serde_json::Value;

/// What each attempt at a step came to.
fn results(report: &Value, item: usize, step: &str) -> Vec<String> {
    let steps = report["items"][item]["steps"].as_array().unwrap();
    let step = steps.iter().find(|one| one["step"] == step).unwrap();
    let tries = step["attempts"].as_array().unwrap();
    tries.iter().map(|one| one["result"].as_str().unwrap().to_owned()).collect()
}

const TWO: &str = r#"
name = "two"
items = ["a", "b"]
[[step]]
id = "write"
run = ["sh", "-c", "echo {item} >> $NOTES/written; echo text of {item} > {item}.txt"]
verify = [{ kind = "files", glob = "{item}.txt", count = 1 }]
[[step]]
id = "commit"
commit = "work: {item}"
[[step]]
id = "wrap"
per = "group"
optional = true
run = ["sh", "-c", "cat *.txt > all.md"]
verify = [{ kind = "files", glob = "all.md" }]
[[step]]
id = "wrap-commit"
per = "group"
optional = true
commit = "docs: {group}"
"#;

#[test]
fn steps_of_ones_own() {
    let project = Project::new(TWO);
    let plan = project
        .env
        .dogwatch(&["story", "plan", "--workflow", "flow.toml", "--json"])
        .success()
        .json();
    assert_eq!(plan["items"][1]["id"], "b");
    let said = project.run(&[]).success().text();
    assert!(said.contains("run complete"), "{said}");
    assert_eq!(project.commits(), ["first", "work: a", "work: b", "docs: two"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let report = project.report();
    assert_eq!((&report["standing"], &report["attempts"]), (&"complete".into(), &6.into()));
    assert_eq!(project.noted("written"), ["a", "b"]);
    let page = project.env.root().join("report.html");
    let _ =
        project.env.dogwatch(&["story", "report", "--html", &page.display().to_string()]).success();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("class=lanes") && !page.contains("http"), "{page}");
    let _ = project.env.dogwatch(&["story", "resume"]).code(2);
    let _ = project.env.dogwatch(&["story", "validate"]).success();
}

#[test]
fn a_bad_file_is_refused_before_anything_starts() {
    let project = Project::new("name = \"x\"\n[[step]]\nid = \"a\"\npromt = \"hello\"\n");
    insta::assert_snapshot!(project.run(&[]), @r"
    ------- stderr -------
    error: flow.toml:4:1: unknown field `promt`, expected one of `id`, `label`, `per`, `prompt`, `policy`, `extra`, `run`, `commit`, `agent`, `fallback`, `model`, `verify`, `done_before`, `optional`, `cycles`, `attempts`, `timeout`, `retry`, `defer_on_plateau`, `asks`
    hint: did you mean `prompt`?
    [exit code: 2]
    ");
    let _ = project.env.dogwatch(&["story", "validate", "--workflow", "flow.toml"]).code(2);
    let _ = project.env.dogwatch(&["story", "status"]).code(3);
}

#[test]
fn a_tree_that_is_not_clean_is_said_so() {
    let project = Project::new(TWO);
    project.env.write("draft", "mine");
    let refused = project.run(&[]).code(4);
    assert!(
        refused.stderr.contains("draft") && refused.stderr.contains("--allow-dirty"),
        "{refused}"
    );
    let _ = project.run(&["--allow-dirty"]).success();
    assert_eq!(project.git(&["status", "--porcelain"]), "?? draft");
}

#[test]
fn failures_are_tried_again_and_then_a_person_is_asked() {
    let project = Project::new(
        r#"
name = "hard"
[[step]]
id = "work"
run = ["sh", "-c", "echo x >> $NOTES/tries; test $(wc -l < $NOTES/tries) -ge 3 && echo done > out.txt; exit 0"]
verify = [{ kind = "files", glob = "out.txt" }]
"#,
    );
    let mut run = project.begin(&[]);
    let asked = project.answer("1");
    assert_eq!(asked["situation"]["trigger"], "session_incomplete", "{asked}");
    assert_eq!(asked["situation"]["step"], "work");
    let labels: Vec<&str> =
        asked["options"].as_array().unwrap().iter().map(|o| o["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        [
            "Create out.txt by hand, then continue",
            "Run the step again",
            "Skip item hard",
            "Pause the run"
        ],
        "no sprint status and no other agent where there is none"
    );
    // "By hand", and it was not: asked again.
    let asked = project.answer("retry");
    assert_eq!(asked["kind"], "critical");
    assert!(run.wait().unwrap().success());
    assert_eq!(results(&project.report(), 0, "work"), ["unverified", "unverified", "verified"]);
}

#[test]
fn an_answer_is_waited_for_by_nobody_and_found_later() {
    let project = Project::new(
        r#"
name = "later"
[[step]]
id = "work"
run = ["sh", "-c", "exit 3"]
verify = [{ kind = "session_exit" }]
[step.retry.crash]
times = 0
"#,
    );
    let _ = project.run(&["--no-wait"]).code(4);
    let _ = project.env.dogwatch(&["story", "resume", "--no-wait"]).code(4);
    let asked = project.answer("skip_step");
    assert_eq!(asked["situation"]["trigger"], "unexpected", "{asked}");
    let _ = project.env.dogwatch(&["story", "resume"]).success();
    assert_eq!(results(&project.report(), 0, "work"), ["crash"]);
}

#[test]
fn a_deadline_answers_for_a_person() {
    let project = Project::new(
        "name = \"late\"\n[[step]]\nid = \"work\"\nrun = [\"false\"]\nverify = [{ kind = \"session_exit\" }]\n[step.retry.crash]\ntimes = 0\n",
    );
    let _ = project.run(&["--answer-within", "1s", "--default-option", "2"]).success();
    let report = project.report();
    assert_eq!(
        (&report["questions"][0]["by"], &report["questions"][0]["action"]),
        (&"deadline".into(), &"skip_step".into()),
        "{report}"
    );
}

/// A repository in which no commit is taken.
fn refusing() -> (Project, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new(TWO);
    let hook = project.env.work().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not like this >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    (project, hook)
}

#[test]
fn a_commit_that_was_refused_is_made_after_a_pause() {
    let (project, hook) = refusing();
    let _ = project.run(&["--no-wait"]).code(4);
    let _ = project.answer("pause");
    let _ = project.env.dogwatch(&["story", "resume"]).code(4);
    fs::remove_file(hook).unwrap();
    let _ = project.env.dogwatch(&["story", "resume"]).success();
    let report = project.report();
    assert_eq!(results(&report, 0, "commit").last().map(String::as_str), Some("verified"));
    assert_eq!(project.commits(), ["first", "work: a", "work: b", "docs: two"]);
}

#[test]
fn a_project_in_a_folder_of_a_repository() {
    let project = Project::new(TWO);
    let folder = project.env.work().join("apps/one");
    fs::create_dir_all(&folder).unwrap();
    fs::rename(project.env.work().join("flow.toml"), folder.join("flow.toml")).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "moved"]);
    let args = ["story", "run", "--workflow", "flow.toml", "--max-parallel", "2"];
    let mut command = project.env.command(&args);
    let _ = project.env.run(command.current_dir(&folder).env("PROJECT_ROOT", &folder)).success();
    let known = project.git(&["ls-files", "apps"]);
    assert_eq!(
        known.lines().collect::<Vec<_>>(),
        ["apps/one/a.txt", "apps/one/all.md", "apps/one/b.txt", "apps/one/flow.toml"]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_hook_that_rejects_the_commit() {
    let (project, hook) = refusing();
    let mut run = project.begin(&[]);
    eventually("a question", || {
        !project.env.dogwatch(&["escalations", "ls", "--json"]).json()["escalations"]
            .as_array()
            .unwrap()
            .is_empty()
    });
    fs::remove_file(&hook).unwrap();
    let asked = project.answer("retry");
    assert_eq!(asked["situation"]["trigger"], "commit_failed");
    assert!(asked["situation"]["problem"].as_str().unwrap().contains("not like this"), "{asked}");
    assert!(run.wait().unwrap().success());
    assert_eq!(project.commits().len(), 4);
}

#[test]
fn a_session_that_cannot_be_started() {
    let project = Project::new(
        "name = \"none\"\n[[step]]\nid = \"work\"\nrun = [\"$NOTES/program\"]\nverify = [{ kind = \"session_exit\" }]\n[step.retry.spawn]\ntimes = 1\ndelay = \"0s\"\n",
    );
    let mut run = project.begin(&[]);
    eventually("a question", || {
        !project.env.dogwatch(&["escalations", "ls", "--json"]).json()["escalations"]
            .as_array()
            .unwrap()
            .is_empty()
    });
    let program = project.env.write_program("program", "exit 0");
    fs::rename(program, project.notes().join("program")).unwrap();
    assert_eq!(project.answer("1")["situation"]["trigger"], "spawn_failed");
    assert!(run.wait().unwrap().success());
    assert_eq!(results(&project.report(), 0, "work"), ["spawn", "spawn", "verified"]);
}

#[test]
fn words_that_say_neither() {
    let project = Project::new(
        r#"
name = "words"
items = ["a", "b"]
[[step]]
id = "work"
run = ["sh", "-c", "echo {item} >> $NOTES/{item}; if [ {item} = a ]; then echo 'who knows'; else echo 'RESULT: FAILED it broke'; fi"]
verify = [{ kind = "output", success = '(?m)^RESULT: DONE', failure = '(?m)^RESULT: FAILED' }]
[step.retry.unclear]
times = 0
[step.retry.failed]
times = 0
"#,
    );
    let mut run = project.begin(&[]);
    let asked = project.answer("accept");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["kind"]),
        (&"output_unclear".into(), &"preference".into())
    );
    let asked = project.answer("skip_story");
    assert_eq!(asked["situation"]["trigger"], "dev_failed");
    assert!(asked["situation"]["problem"].as_str().unwrap().contains("it broke"), "{asked}");
    assert!(run.wait().unwrap().success());
    let report = project.report();
    assert_eq!(
        (&report["items"][0]["state"], &report["items"][1]["state"]),
        (&"done".into(), &"dropped".into())
    );
}

#[test]
fn paused_resumed_and_aborted_from_elsewhere() {
    let project = Project::new(
        r#"
name = "slow"
items = ["a", "b"]
[[step]]
id = "work"
run = ["sh", "-c", "echo {item} >> $NOTES/begun; while ! [ -e $NOTES/go-{item} ]; do sleep 0.05; done; touch {item}.txt"]
verify = [{ kind = "files", glob = "{item}.txt" }]
"#,
    );
    let mut run = project.begin(&[]);
    eventually("it begins", || project.noted("begun") == ["a"]);
    let _ = project.run(&[]).code(4);
    let _ = project.env.dogwatch(&["story", "pause"]).success();
    fs::write(project.notes().join("go-a"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(4));
    assert_eq!(
        project.report()["items"][0]["state"],
        "done",
        "what was under way was brought to its end"
    );
    assert_eq!(project.noted("begun"), ["a"]);
    let mut run = project.start(&["story", "resume"]);
    eventually("it goes on", || project.noted("begun") == ["a", "b"]);
    let _ = project.env.dogwatch(&["story", "abort"]).success();
    assert_eq!(run.wait().unwrap().code(), Some(1));
    let listed = project.env.dogwatch(&["ls", "--json"]).success().json();
    assert_eq!(listed["sessions"], Value::Array(vec![]), "its session was ended");
    assert_eq!(project.report()["standing"], "aborted");
}

#[test]
fn side_by_side_in_worktrees_and_a_conflict() {
    let project = Project::new(
        r#"
name = "wide"
items = ["a", "b", "c"]
[[step]]
id = "work"
# None is done before all have begun: one that began after another was merged would not be in its way.
run = ["sh", "-c", "pwd >> $NOTES/places; until [ $(sort -u $NOTES/places | wc -l) -ge 3 ]; do sleep 0.05; done; echo {item} > {item}.txt; if [ {item} != c ]; then echo {item} >> shared.txt; fi"]
timeout = "1m"
verify = [{ kind = "files", glob = "{item}.txt" }]
[[step]]
id = "commit"
commit = "work: {item}"
"#,
    );
    let mut run = project.begin(&["--max-parallel", "3"]);
    let asked = project.answer("one_by_one");
    assert_eq!(
        (&asked["situation"]["trigger"], &asked["kind"]),
        (&"dependency_conflict".into(), &"preference".into())
    );
    assert!(asked["situation"]["problem"].as_str().unwrap().contains("shared.txt"), "{asked}");
    assert!(run.wait().unwrap().success());
    let merges: Vec<String> =
        project.commits().into_iter().filter(|s| s.starts_with("Merge")).collect();
    assert_eq!(merges, ["Merge story a: a", "Merge story b: b", "Merge story c: c"]);
    assert_eq!(fs::read_to_string(project.env.work().join("shared.txt")).unwrap(), "a\nb\n");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.git(&["branch", "--list", "dogwatch/*"]), "");
    let mut places = project.noted("places");
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 3, "{places:?}");
}

/// Worktrees of stories get what the project's settings name, once these are trusted.
#[test]
fn stories_side_by_side_have_what_the_project_needs() {
    let project = Project::new(
        r#"
name = "settings"
items = ["a", "b"]
[[step]]
id = "write"
run = ["sh", "-c", "cat .env setup.txt > {item}.txt"]
verify = [{ kind = "files", glob = "{item}.txt" }]
[[step]]
id = "commit"
commit = "work: {item}"
"#,
    );
    project.env.write(".gitignore", ".env\nsetup.txt\n");
    project.env.write(".dogwatch.toml", "copy = ['.env']\nsetup = 'echo ready > setup.txt'\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "settings"]);
    project.env.write(".env", "KEY=1\n");
    let refused = project.run(&["--max-parallel", "2", "--json"]).code(4);
    assert!(refused.text().contains("settings_not_trusted"), "{refused}");
    let _ = project.env.dogwatch(&["trust"]).success();
    let _ = project.run(&["--max-parallel", "2"]).success();
    for item in ["a.txt", "b.txt"] {
        assert_eq!(fs::read_to_string(project.env.work().join(item)).unwrap(), "KEY=1\nready\n");
    }
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}
