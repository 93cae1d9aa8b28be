//! Sessions that edit the same file, as the hooks of their agents tell it.

use std::fs;
use std::path::{Path, PathBuf};

use dogwatch_testkit::{CommandOutput, Spawned, TestEnv};
use serde_json::{Value, json};

struct Shop {
    env: TestEnv,
}

impl Shop {
    /// A repository with a committed `x.txt`.
    fn new() -> Self {
        let shop = Self { env: TestEnv::new() };
        shop.git(&["init", "-q", "-b", "main"]);
        shop.git(&["config", "user.name", "T"]);
        shop.git(&["config", "user.email", "t@example.invalid"]);
        fs::write(shop.work().join("x.txt"), "one\n").unwrap();
        shop.commit();
        shop
    }

    fn work(&self) -> PathBuf {
        self.env.work().to_owned()
    }

    fn git(&self, args: &[&str]) {
        let mut command = self.env.foreign("git");
        let _ = self.env.run(command.args(args)).success();
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    fn session(&self, name: &str) -> Spawned {
        self.env.spawn_script(name, "exec sleep 600")
    }

    fn tell(&self, session: &Spawned, payload: &Value) -> CommandOutput {
        let mut hook = self.env.command(&["hook", "claude"]);
        hook.env("DOGWATCH_SESSION", &session.id);
        self.env.run_with_input(&mut hook, payload.to_string().as_bytes()).success()
    }

    /// The agent is about to edit a file; returns the hook's output.
    fn begins(&self, session: &Spawned, file: &Path) -> String {
        self.tell(session, &edit("PreToolUse", file)).text()
    }

    fn edits(&self, session: &Spawned, file: &Path) {
        assert_eq!(self.begins(session, file), "");
        fs::write(file, format!("by {}\n", session.name)).unwrap();
        assert_eq!(self.tell(session, &edit("PostToolUse", file)).text(), "");
    }

    fn reported(&self) -> Vec<String> {
        let said = self.env.dogwatch(&["events", "--kind", "collision", "--json"]).success();
        let text = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["data"]["text"].as_str().unwrap().to_owned()
        };
        said.text().lines().map(text).collect()
    }
}

fn edit(event: &str, file: &Path) -> Value {
    json!({
        "hook_event_name": event, "session_id": "c", "cwd": "/", "tool_name": "Edit",
        "tool_input": { "file_path": file, "old_string": "a", "new_string": "b" },
    })
}

#[test]
fn two_sessions_in_one_tree_are_reported_before_the_second_writes_and_once() {
    let shop = Shop::new();
    let (a, b, c) = (shop.session("a"), shop.session("b"), shop.session("c"));
    let x = shop.work().join("x.txt");
    shop.edits(&a, &x);
    shop.edits(&a, &x);
    assert_eq!(shop.reported(), [""; 0]);
    assert_eq!(shop.begins(&b, &x), "");
    assert_eq!(shop.reported(), ["a and b both edit x.txt"]);
    shop.edits(&b, &x);
    shop.edits(&a, &x);
    assert_eq!(shop.reported().len(), 1, "once");
    let status = shop.env.dogwatch(&["status"]).success().text();
    assert!(status.contains("a and b both edit x.txt"), "{status}");
    let status = shop.env.dogwatch(&["status", "a", "--json"]).success().json();
    let shared = &status["sessions"][0]["collisions"][0];
    assert_eq!((&shared["path"], &shared["with"]), (&"x.txt".into(), &"b".into()), "{status:#}");
    // A link to the same file is the same file.
    std::os::unix::fs::symlink(shop.work(), shop.env.root().join("link")).unwrap();
    assert_eq!(shop.begins(&c, &shop.env.root().join("link/x.txt")), "");
    assert_eq!(shop.reported()[1], "a, b and c all edit x.txt");
    let _ = shop.env.dogwatch(&["kill", "b", "c", "--now"]).success();
    let status = shop.env.dogwatch(&["status"]).success().text();
    assert!(!status.contains("both edit"), "one of them is over: {status}");
}

#[test]
fn what_was_committed_undone_or_ended_is_no_collision() {
    let shop = Shop::new();
    let (a, b) = (shop.session("a"), shop.session("b"));
    let work = shop.work();
    shop.edits(&a, &work.join("x.txt"));
    shop.commit();
    assert_eq!(shop.begins(&b, &work.join("x.txt")), "");
    let y = work.join("dir with blank/ÿ*.txt");
    fs::create_dir(y.parent().unwrap()).unwrap();
    shop.edits(&a, &y);
    fs::remove_file(&y).unwrap();
    assert_eq!(shop.begins(&b, &y), "");
    // A call that failed, and one that was never made.
    let mut failed = edit("PostToolUse", &y);
    failed["tool_response"] = json!({ "error": "no" });
    let _ = shop.tell(&a, &failed);
    let z = work.join("z.txt");
    assert_eq!(shop.begins(&a, &z), "");
    assert_eq!(shop.begins(&b, &z), "");
    assert_eq!(shop.begins(&a, &work.join(".git/config")), "");
    shop.edits(&a, &z);
    let _ = shop.env.dogwatch(&["kill", "a", "--now"]).success();
    assert_eq!(shop.begins(&b, &z), "");
    assert_eq!(shop.reported(), [""; 0]);
}

#[test]
fn two_worktrees_of_one_repository() {
    let shop = Shop::new();
    let (a, b) = (shop.session("a"), shop.session("b"));
    let tree = shop.env.root().join("tree");
    shop.git(&["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
    shop.edits(&a, &shop.work().join("x.txt"));
    shop.commit();
    assert_eq!(shop.begins(&b, &tree.join("x.txt")), "");
    assert_eq!(shop.reported(), ["a and b both edit x.txt"], "committed, and not merged");
    // The same change in both is nothing to argue about.
    shop.edits(&a, &shop.work().join("new.txt"));
    fs::copy(shop.work().join("new.txt"), tree.join("new.txt")).unwrap();
    assert_eq!(shop.begins(&b, &tree.join("new.txt")), "");
    assert_eq!(shop.reported().len(), 1);
    // Another repository has files of the same name.
    let other = shop.env.root().join("other");
    shop.git(&["clone", "-q", ".", other.to_str().unwrap()]);
    assert_eq!(shop.begins(&b, &other.join("new.txt")), "");
    assert_eq!(shop.reported().len(), 1);
}

#[test]
fn what_a_shell_command_changed_in_a_worktree_is_seen_when_the_turn_is_over() {
    let shop = Shop::new();
    let tree = |name: &str| {
        let args = ["--worktree", "--name", name, "--", "sh", "-c", "exec sleep 600"];
        let session = shop.env.spawn(&args);
        let seen = shop.env.seen(name);
        (session, PathBuf::from(seen["cwd"].as_str().unwrap()))
    };
    let ((a, of_a), (b, of_b)) = (tree("a"), tree("b"));
    let over = |session: &Spawned| {
        let stop = json!({ "hook_event_name": "Stop", "session_id": "c" });
        assert_eq!(shop.tell(session, &stop).text(), "");
    };
    fs::write(of_a.join("x.txt"), "by a\n").unwrap();
    fs::write(of_b.join("x.txt"), "by b\n").unwrap();
    fs::write(of_b.join("y.txt"), "by b\n").unwrap();
    over(&a);
    assert_eq!(shop.reported(), [""; 0]);
    over(&b);
    over(&b);
    over(&a);
    assert_eq!(shop.reported(), ["a and b both edit x.txt"]);
    // An edit by a tool meets what was found so.
    assert_eq!(shop.begins(&a, &of_a.join("y.txt")), "");
    assert_eq!(shop.reported()[1], "b and a both edit y.txt");
    // Before its next write the hook can warn the agent; after the end of its turn it could not.
    let folder = shop.env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[collisions]\ntell_agent = true\n").unwrap();
    assert!(shop.begins(&b, &of_b.join("x.txt")).contains("session a"));
    assert_eq!(shop.begins(&b, &of_b.join("x.txt")), "", "once");
    assert_eq!(shop.begins(&a, &of_a.join("x.txt")), "", "the other was");
}

#[test]
fn outside_of_git_the_agent_and_people_are_warned() {
    let env = TestEnv::new();
    let shop = Shop { env };
    let folder = shop.env.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).unwrap();
    let told = shop.env.root().join("told");
    let notify = format!(
        "[collisions]\ntell_agent = true\n[[notify]]\nkind = \"command\"\non = [\"collision\"]\ncommand = [\"sh\", \"-c\", 'cat >> \"{}\"; echo >> \"{}\"']\n",
        told.display(),
        told.display()
    );
    fs::write(folder.join("config.toml"), notify).unwrap();
    let (a, b) = (shop.session("a"), shop.session("b"));
    let x = shop.work().join("x.txt");
    shop.edits(&a, &x);
    let said: Value = serde_json::from_str(&shop.begins(&b, &x)).unwrap();
    let output = &said["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny", "{said:#}");
    let reason = output["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("session a") && reason.contains("x.txt"), "{reason}");
    assert_eq!(shop.begins(&b, &x), "", "the second try goes through");
    let events = shop.env.dogwatch(&["events", "--kind", "collision", "--json"]).success().text();
    assert!(events.contains("\"held\":true"), "{events}");
    dogwatch_testkit::eventually("a notification arrives", || {
        fs::read_to_string(&told).is_ok_and(|text| text.ends_with('\n'))
    });
    let text = fs::read_to_string(&told).unwrap();
    let notice: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(notice["title"].as_str().unwrap().starts_with("a and b both edit "), "{notice:#}");
    assert_eq!(notice["occasion"], "collision");
    let _ = shop.env.dogwatch(&["rules", "pause"]).success();
    let y = shop.work().join("y.txt");
    shop.edits(&a, &y);
    assert_eq!(shop.begins(&b, &y), "", "paused");
}
