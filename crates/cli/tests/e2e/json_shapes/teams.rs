//! Teams: panes, tasks, members.

use dogwatch_testkit::TestEnv;

use crate::panes::Panes as _;

#[test]
fn a_team() {
    let env = TestEnv::new();
    shape!(
        "task_add",
        env.dogwatch(&["task", "add", "--role", "dev", "Write the parser.", "--json"]).success()
    );
    let _ = env.dogwatch(&["task", "add", "--role", "dev", "Test it."]).success();
    shape!("task_list_pending", env.dogwatch(&["task", "list", "--json"]).success());
    let master = env.open_window(200, 50);
    let spawn = ["pane", "spawn", "--role", "dev", "--master", &master, "--json", "--", "cat"];
    let spawned = env.dogwatch(&spawn).success();
    let pane = spawned.json()["pane"].as_str().unwrap().to_owned();
    shape!("pane_spawn", spawned);
    let with_task = [
        "pane",
        "spawn",
        "--role",
        "qa",
        "--task",
        "Break it.",
        "--master",
        &master,
        "--json",
        "--",
        "cat",
    ];
    let qa = env.dogwatch(&with_task).success();
    let other = qa.json()["pane"].as_str().unwrap().to_owned();
    shape!("pane_spawn_with_task", qa);
    shape!(
        "agent_register",
        env.dogwatch(&["agent", "register", "--pane", &pane, "--json"]).success()
    );
    shape!(
        "agent_claim_had",
        env.dogwatch(&["agent", "claim", "--pane", &pane, "--json"]).success()
    );
    let complete = ["agent", "complete", "--pane", &pane, "--result", "pass, all green", "--json"];
    shape!("agent_complete", env.dogwatch(&complete).success());
    shape!("team", env.dogwatch(&["team", &master, "--json"]).success());
    shape!("task_list", env.dogwatch(&["task", "list", "--json"]).success());
    let _ = env
        .dogwatch(&["agent", "complete", "--pane", &pane, "--result", "pass", "--json"])
        .success();
    shape!(
        "agent_claim_none",
        env.dogwatch(&["agent", "claim", "--pane", &pane, "--json"]).code(1)
    );
    shape!("pane_verify", env.dogwatch(&["pane", "verify", &pane, "--json"]).success());
    shape!("pane_verify_not", env.dogwatch(&["pane", "verify", "%99", "--json"]).code(1));
    shape!(
        "pane_rebalance",
        env.dogwatch(&["pane", "rebalance", "--master", &master, "--json"]).success()
    );
    shape!("pane_close_refused", env.dogwatch(&["pane", "close", &other, "--json"]).code(4));
    shape!("pane_close", env.dogwatch(&["pane", "close", &pane, "--json"]).success());
    shape!(
        "pane_close_forced",
        env.dogwatch(&["pane", "close", &other, "--force", "--json"]).success()
    );
    shape!("team_closed", env.dogwatch(&["team", &master, "--json"]).success());
}
