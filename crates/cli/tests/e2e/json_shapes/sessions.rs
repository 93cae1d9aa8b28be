//! Sessions: started, listed, judged, waited for, captured, ended, forgotten.

use dogwatch_testkit::{TestEnv, eventually, process};
use rustix::process::Signal;

use crate::registry::Registry as _;

fn hook(env: &TestEnv, session: &str, payload: &str) {
    let mut command = env.command(&["hook", "claude"]);
    command.env("DOGWATCH_SESSION", session);
    let _ = env.run_with_input(&mut command, payload.as_bytes()).success();
}

#[test]
fn none() {
    let env = TestEnv::new();
    shape!("ls_none", env.dogwatch(&["ls", "--json"]).success());
    shape!("status_none", env.dogwatch(&["status", "--json"]).success());
    shape!("exists_no", env.dogwatch(&["exists", "nobody", "--json"]).code(1));
    shape!("kill_all_none", env.dogwatch(&["kill-all", "--yes", "--json"]).success());
    shape!("gc_none", env.dogwatch(&["gc", "--json"]).success());
    shape!("events_none", env.dogwatch(&["events", "--json"]).success());
}

/// Plain commands, from their start to when they are forgotten.
#[test]
fn of_commands() {
    let env = TestEnv::new();
    let live = env.spawn_script("live", "echo hello; exec sleep 300");
    shape!(
        "spawn",
        env.dogwatch(&["spawn", "--name", "ended", "--json", "--", "sh", "-c", "echo bye; exit 3"])
            .success()
    );
    let story = [
        "spawn", "--step", "review", "--epic", "1", "--story", "1.2", "--cycle", "2", "--json",
        "--", "true",
    ];
    shape!("spawn_story", env.dogwatch(&story).success());
    env.wait_state("ended", "crashed");
    let killed = env.spawn_script("killed", "exec sleep 300");
    process::signal(killed.pid, Signal::KILL);
    env.wait_state("killed", "crashed");
    env.wait_screen("live", "hello");
    eventually("the story's session is over", || {
        let listed = env.dogwatch(&["ls", "--json"]).success().json();
        listed["sessions"][2]["state"] == "exited"
    });
    shape!("ls", env.dogwatch(&["ls", "--json"]).success());
    shape!("ls_all", env.dogwatch(&["ls", "--all", "--project-only", "--json"]).success());
    shape!("status", env.dogwatch(&["status", "--json"]).success());
    shape!("status_named", env.dogwatch(&["status", "live", "ended", "--json"]).success());
    shape!("why_working", env.dogwatch(&["why", "live", "--json"]).success());
    shape!("why_crashed", env.dogwatch(&["why", "ended", "--json"]).success());
    shape!("why_killed_by_signal", env.dogwatch(&["why", "killed", "--json"]).success());
    shape!(
        "wait_happened",
        env.dogwatch(&["wait", "live", "--for", "working", "--json"]).success()
    );
    shape!(
        "wait_timeout",
        env.dogwatch(&["wait", "live", "--for", "idle", "--timeout", "10ms", "--json"]).code(124)
    );
    shape!("wait_impossible", env.dogwatch(&["wait", "ended", "--for", "idle", "--json"]).code(4));
    shape!("capture_pane", env.dogwatch(&["capture", "live", "--json"]).success());
    shape!("capture_kept", env.dogwatch(&["capture", "ended", "--json"]).success());
    shape!("exists_yes", env.dogwatch(&["exists", "live", "--json"]).success());
    shape!(
        "gc_dry_run",
        env.dogwatch(&["gc", "--dry-run", "--older-than", "0s", "--json"]).success()
    );
    shape!("kill", env.dogwatch(&["kill", "live", "ended", "--json"]).success());
    assert!(!process::is_alive(live.pid));
    shape!("ls_put_away", env.dogwatch(&["ls", "--all", "--json"]).success());
    env.spawn_script("last", "exec sleep 300");
    shape!("kill_all", env.dogwatch(&["kill-all", "--yes", "--now", "--json"]).success());
    shape!("gc", env.dogwatch(&["gc", "--older-than", "0s", "--json"]).success());
}

/// States that agents' hooks tell.
#[test]
fn of_hooks() {
    let env = TestEnv::new();
    let one = env.spawn_script("one", "exec sleep 300");
    for (name, state, payload) in [
        ("why_idle", "idle", r#"{"hook_event_name":"Stop"}"#),
        (
            "why_waiting",
            "waiting",
            r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm x"}}"#,
        ),
        (
            "why_working_again",
            "working",
            r#"{"hook_event_name":"UserPromptSubmit","prompt":"go on"}"#,
        ),
        ("why_limited", "limited", r#"{"hook_event_name":"StopFailure","error":"rate_limit"}"#),
        ("why_error", "error", r#"{"hook_event_name":"StopFailure","error":"server_error"}"#),
    ] {
        hook(&env, &one.id, payload);
        let output = env.dogwatch(&["why", "one", "--json"]).success();
        assert_eq!(output.json()["state"], state, "{name}: {output}");
        shape!(name, output);
    }
}

/// An agent that somebody else started.
#[test]
fn unmanaged() {
    let env = TestEnv::with_claude();
    env.by_hand("mine");
    eventually("it is found", || {
        let told = env.dogwatch(&["status", "--json"]).success().json();
        told["sessions"].as_array().is_some_and(|all| !all.is_empty())
    });
    shape!("status_unmanaged", env.dogwatch(&["status", "--json"]).success());
    shape!("why_unmanaged", env.dogwatch(&["why", "mine", "--json"]).success());
    shape!("capture_unmanaged", env.dogwatch(&["capture", "mine", "--json"]).success());
    shape!("kill_unmanaged", env.dogwatch(&["kill", "mine", "--json"]).code(3));
}
