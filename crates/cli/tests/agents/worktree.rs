//! Real agents in a worktree of their own: their work is seen, and goes to the branch that it began at.

use std::fs;
use std::path::{Path, PathBuf};

use model_double::homes::Agent;
use serde_json::Value;

use crate::lab::Lab;

fn git(lab: &Lab, folder: &Path, args: &[&str]) -> String {
    let mut command = lab.env.foreign("git");
    command.args(args).current_dir(folder);
    lab.env.run(&mut command).success().text().trim().to_owned()
}

fn works_in_a_worktree(agent: Agent) {
    let Some(lab) = Lab::new(agent) else { return };
    let work = lab.env.work();
    fs::write(work.join("a"), "one\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "T"],
        &["config", "user.email", "t@example.invalid"],
        &["add", "-A"],
        &["commit", "-q", "-m", "first"],
    ] {
        git(&lab, work, args);
    }
    lab.spawn(&["--worktree", "feature/tool", "--unattended"]);
    let submit = ["job", "submit", "a", "[tool] please", "--wait", "--timeout", "120s", "--json"];
    let job = lab.dogwatch(&submit).json();
    assert_eq!(job["state"], "done", "{job:#}\n{}", lab.env.screen("a"));
    let diff = lab.dogwatch(&["diff", "a", "--json"]).success().json();
    let files = diff["files"].as_array().unwrap();
    let is_mark = |file: &Value| file["path"] == "tool-ran.txt" && file["untracked"] == true;
    assert!(files.iter().any(is_mark), "{diff:#}");
    assert!(!work.join("tool-ran.txt").exists(), "the user's tree is as it was");
    let folder = PathBuf::from(diff["worktree"]["folder"].as_str().unwrap());
    let seen = lab.env.seen("a");
    assert_eq!(seen["cwd"].as_str().unwrap(), folder.to_str().unwrap());
    // Its work is not committed, so it cannot be lost.
    let refused = lab.dogwatch(&["finish", "a", "--squash", "--kill", "--json"]).code(4);
    assert_eq!(refused.json()["error"]["code"], "uncommitted", "{refused}");
    assert_eq!(lab.env.seen("a")["state"], "running", "and it was not ended for nothing");
    git(&lab, &folder, &["add", "-A"]);
    git(&lab, &folder, &["commit", "-q", "-m", "Leave a mark"]);
    let done = lab.dogwatch(&["finish", "a", "--squash", "--kill", "--json"]).success().json();
    assert_eq!((&done["how"], &done["folder_removed"]), (&"squashed".into(), &true.into()));
    assert_eq!(fs::read_to_string(work.join("tool-ran.txt")).unwrap(), "dogwatch-tool-ran\n");
    assert_eq!(git(&lab, work, &["log", "-1", "--format=%s"]), "Leave a mark");
    assert_eq!(git(&lab, work, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn claude_works_in_a_worktree() {
    works_in_a_worktree(Agent::Claude);
}

#[test]
fn codex_works_in_a_worktree() {
    works_in_a_worktree(Agent::Codex);
}
