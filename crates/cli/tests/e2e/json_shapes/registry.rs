//! The registry: created, adopted, compared, deleted, resumed.

use std::fs;

use dogwatch_testkit::{TestEnv, eventually};

use crate::registry::Registry as _;

#[test]
fn the_registry() {
    let env = TestEnv::with_claude();
    shape!("ls_none", env.roll(&["registry", "--json"]).success());
    shape!("create", env.roll(&["create", "claude", "--role", "writer", "--json"]).success());
    let name = "work-creator-claude";
    env.wait_screen(name, "ready");
    env.say(name, "hello");
    env.by_hand("other-creator-claude");
    shape!("ls", env.roll(&["registry", "ls", "--json"]).success());
    shape!(
        "adopt",
        env.roll(&[
            "adopt",
            "other-creator-claude",
            "--workspace",
            "other",
            "--role",
            "writer",
            "--json"
        ])
        .success()
    );
    shape!("on_roll", env.roll(&["adopt", "other-creator-claude", "--json"]).code(4));
    shape!("reconcile_dry_run", env.roll(&["reconcile", "--dry-run", "--json"]).success());
    env.by_hand("third-creator-claude");
    env.let_settle();
    eventually("the third is seen", || {
        let pass = env.roll(&["reconcile", "--dry-run", "--json"]).success().json();
        pass["drifts"].as_array().is_some_and(|all| !all.is_empty())
    });
    env.tmux(&["kill-session", "-t", "=other-creator-claude"]);
    shape!("reconcile", env.roll(&["reconcile", "--once", "--emit-diff"]).success());
    shape!("reconcile_standing", env.roll(&["reconcile", "--once", "--json"]).success());
    shape!("ls_with_drift", env.roll(&["registry", "--json"]).success());
    shape!("delete", env.roll(&["delete", name, "--json"]).success());
    shape!("not_on_roll", env.roll(&["delete", "nobody-creator-claude", "--json"]).code(3));
    shape!("resume", env.roll(&["resume", name, "--json"]).success());
    shape!(
        "resume_refused",
        env.roll(&["resume", name, "nobody-creator-claude", "--json"]).code(4)
    );
    shape!(
        "delete_purged",
        env.roll(&["delete", name, "--purge-conversation", "--json"]).success()
    );
    shape!("ls_at_the_end", env.roll(&["registry", "--json"]).success());
    fs::write(env.registry_path(), "sessions: [").unwrap();
    shape!("ls_unreadable", env.roll(&["registry", "--json"]).code(6));
}
