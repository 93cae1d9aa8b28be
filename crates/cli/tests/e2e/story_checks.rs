//! What is known about a run before it begins, and after it was given up.

use std::fs;

use dogwatch_testkit::{Project, eventually};
use serde_json::Value;

const FAILS: &str = r#"
name = "fails"
items = ["a", "b"]
[[step]]
id = "work"
run = ["sh", "-c", "echo draft of {item} > {item}.txt; echo x >> README; exit 3"]
verify = [{ kind = "session_exit" }]
[step.retry.crash]
times = 0
[[step]]
id = "commit"
commit = "work: {item}"
"#;

fn open(project: &Project) -> Vec<Value> {
    let said = project.env.dogwatch(&["escalations", "ls", "--json"]).success().json();
    said["escalations"].as_array().unwrap().clone()
}

#[test]
fn an_aborted_run_leaves_no_question() {
    let project = Project::new(FAILS);
    let _ = project.run(&["--no-wait"]).code(4);
    assert_eq!(open(&project).len(), 1);
    let number = open(&project)[0]["number"].to_string();
    let _ = project.env.dogwatch(&["story", "abort"]).success();
    assert_eq!(open(&project), Vec::<Value>::new());
    let late = project.env.dogwatch(&["escalations", "answer", &number, "--option", "1"]).code(4);
    assert!(late.stderr.contains("the run was aborted"), "{late}");
    // And while it is carried out by another process.
    let mut run = project.begin(&["--allow-dirty"]);
    eventually("a question", || open(&project).len() == 1);
    let _ = project.env.dogwatch(&["story", "abort"]).success();
    assert_eq!(open(&project), Vec::<Value>::new());
    assert_eq!(run.wait().unwrap().code(), Some(1));
    assert_eq!(open(&project), Vec::<Value>::new());
}

#[test]
fn a_skipped_item_leaves_no_uncommitted_files() {
    let project = Project::new(FAILS);
    fs::write(project.env.work().join("README"), "read me\n").unwrap();
    project.git(&["add", "README"]);
    project.git(&["commit", "-q", "-m", "readme"]);
    project.env.write("mine", "a draft of my own");
    let mut run = project.begin(&["--allow-dirty"]);
    let _ = project.answer("skip_story");
    eventually("the second item", || {
        open(&project).first().is_some_and(|one| one["situation"]["story"] == "b")
    });
    let there = project.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(there, "M README\n?? b.txt\n?? mine", "nothing of a, all of b");
    let _ = project.answer("skip_story");
    assert!(run.wait().unwrap().success());
    assert_eq!(project.git(&["status", "--porcelain"]), "?? mine");
    let run = project.report()["run"].as_str().unwrap().to_owned();
    for item in ["a", "b"] {
        let kept = project.git(&["show", &format!("dogwatch/{run}/{item}:{item}.txt")]);
        assert_eq!(kept, format!("draft of {item}"));
    }
    let log = project.env.dogwatch(&["story", "log"]).success().text();
    assert!(log.contains("2 changed files are on branch dogwatch/"), "{log}");
}

#[test]
fn a_skipped_item_in_a_worktree_keeps_its_branch_alone() {
    let project = Project::new(FAILS);
    let mut run = project.begin(&["--max-parallel", "2"]);
    for _ in 0..2 {
        let _ = project.answer("skip_story");
    }
    assert!(run.wait().unwrap().success());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    let run = project.report()["run"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["show", &format!("dogwatch/{run}/b:b.txt")]), "draft of b");
}

#[test]
fn validate_finds_all_that_run_would_refuse() {
    let project = Project::new(
        "name = \"x\"\n[[step]]\nid = \"a\"\nagent = \"claude\"\nprompt = \"p\"\nverify = [{ kind = \"files\", glob = \"x\" }]\n[[step]]\nid = \"commit\"\ncommit = \"c\"\n",
    );
    project.env.write("draft", "mine");
    let args = ["story", "validate", "--workflow", "flow.toml", "--json"];
    let said = project.env.dogwatch(&args).code(1).json();
    let issues = said["issues"].to_string();
    assert!(issues.contains("claude") && issues.contains("draft"), "{issues}");
    let _ = project.run(&[]).code(7);
    // claude is there now, and was never started.
    project.env.add_profile("claude", "trust = 'claude'\n[launch]\nask = []", "exit 0");
    fs::remove_file(project.env.work().join("draft")).unwrap();
    let said = project.env.dogwatch(&args).code(1).json();
    assert!(said["issues"].to_string().contains("does not trust"), "{said}");
    let refused = project.run(&["--json"]).code(4);
    assert_eq!(refused.json()["error"]["code"], "not_trusted", "{refused}");
    let trusted = serde_json::json!({
        "projects": { project.env.work().display().to_string(): { "hasTrustDialogAccepted": true } }
    });
    fs::write(project.env.home().join(".claude.json"), trusted.to_string()).unwrap();
    let said = project.env.dogwatch(&args).code(1).json();
    assert!(said["issues"].to_string().contains("bypasses permissions"), "{said}");
    let mut asking = args.to_vec();
    asking.extend(["--permissions", "ask"]);
    let _ = project.env.dogwatch(&asking).success();
    let settings = project.env.home().join(".claude");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("settings.json"), r#"{"skipDangerousModePermissionPrompt":true}"#)
        .unwrap();
    let said = project.env.dogwatch(&args).success().json();
    assert_eq!(said, serde_json::json!({ "ok": true, "issues": [] }));
}

#[test]
fn permissions_are_said_and_an_agent_without_the_level_is_refused() {
    let project = Project::new(
        "name = \"x\"\n[[step]]\nid = \"a\"\nagent = \"fake\"\nprompt = \"p\"\nverify = [{ kind = \"files\", glob = \"x\" }]\n",
    );
    project.env.add_profile("fake", "", "touch x");
    let plan = |more: &[&str]| {
        let mut args = vec!["story", "plan", "--workflow", "flow.toml"];
        args.extend(more);
        project.env.dogwatch(&args)
    };
    let said = plan(&[]).success().text();
    assert!(said.contains("permissions: bypass: agents run commands"), "{said}");
    assert_eq!(plan(&["--json"]).success().json()["permissions"], "bypass");
    let refused = project.run(&["--permissions", "ask", "--json"]).code(2);
    assert_eq!(refused.json()["error"]["code"], "no_such_permissions", "{refused}");
    let _ = project.run(&["--permissions", "sometimes"]).code(2);
    let said = project.run(&["--allow-dirty"]).success().text();
    assert!(said.contains("permissions: bypass"), "{said}");
    let runs = project.env.dogwatch(&["story", "ls", "--json"]).success().json();
    let run = &runs["runs"][0];
    assert_eq!(
        (&run["standing"], &run["items_done"], &run["permissions"], &run["attended"]),
        (&"complete".into(), &1.into(), &"bypass".into(), &false.into()),
        "{runs}"
    );
    let listed = project.env.dogwatch(&["story", "ls", "--all"]).success().text();
    assert!(listed.contains("complete") && listed.contains("1/1"), "{listed}");
}
