//! Starting a session fails, or is killed, at each step: an agent that runs is registered with all that belongs to it.

use dogwatch_testkit::{TestEnv, eventually, process};
use rusqlite::Connection;
use rustix::process::Signal;

use crate::worktrees::Repo;

/// An agent whose account has met a limit that holds for an hour, so that prompts wait. It notes that it was started.
fn with_limit(env: &TestEnv) {
    let note = env.work().join("started");
    let account = "[account]\nkeys = ['HELPER_KEY']\nroot = '.helper'\n";
    env.add_profile("helper", account, &format!("touch '{}'; exec sleep 300", note.display()));
    let first = ["helper", "--name", "first", "--when-limited", "wait"];
    env.spawn(&first);
    eventually("it has noted it", || note.exists());
    let _ = env.dogwatch(&["kill", "--now", "first"]).success();
    std::fs::remove_file(note).unwrap();
    let database = database(env);
    let account: String = database
        .query_row("SELECT account FROM limit_policies", [], |row| row.get(0))
        .expect("the policy of the first one");
    let now = jiff::Timestamp::now().as_millisecond();
    let sql = "INSERT INTO limits (session, account, began, until, due, told, text, state) \
               VALUES ('someone', ?1, ?2, ?3, ?3, 1, 'limit', 'armed')";
    database.execute(sql, rusqlite::params![account, now, now + 3_600_000]).unwrap();
}

fn database(env: &TestEnv) -> Connection {
    Connection::open(env.state_dir().join("dogwatch.db")).unwrap()
}

fn count(env: &TestEnv, sql: &str) -> i64 {
    database(env).query_row(sql, [], |row| row.get(0)).unwrap()
}

const SPAWN: [&str; 7] = ["spawn", "helper", "do it", "--when-limited", "wait", "--name", "second"];

#[test]
fn what_cannot_be_recorded_is_found_before_the_agent_runs() {
    for table in ["limit_policies", "messages", "sessions"] {
        for in_worktree in [false, true] {
            let repo = Repo::new();
            with_limit(&repo.env);
            let trigger = format!(
                "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'disk full'); END"
            );
            database(&repo.env).execute(&trigger, []).unwrap();
            let args = [&SPAWN[..], if in_worktree { &["--worktree"] } else { &[] }].concat();
            let output = repo.dogwatch(&args);
            assert_ne!(output.code, Some(0), "{table}: {output}");
            assert!(!repo.env.work().join("started").exists(), "{table}: no agent was started");
            let sessions = count(&repo.env, "SELECT count(*) FROM sessions WHERE name = 'second'");
            assert_eq!(sessions, 0, "{table}");
            assert_eq!(repo.trees(), 1, "{table}: no worktree is left");
            assert_eq!(repo.branches(), "main", "{table}");
            // Nothing of it is in the way of the next one.
            database(&repo.env).execute("DROP TRIGGER t", []).unwrap();
            let _ = repo.dogwatch(&args).success();
            assert_eq!(count(&repo.env, "SELECT count(*) FROM messages WHERE text = 'do it'"), 1);
        }
    }
}

/// Whatever of it is there after the kill, its prompt and its policy are there too.
#[test]
fn killed_at_every_step_the_prompt_is_kept() {
    let mut registered = 0;
    for step in 1..20 {
        let repo = Repo::new();
        with_limit(&repo.env);
        let mut command = repo.command(&SPAWN);
        let died = repo.env.run(command.env("DOGWATCH_TEST_DIE_AT_SPAWN_STEP", step.to_string()));
        let sessions = count(&repo.env, "SELECT count(*) FROM sessions WHERE name = 'second'");
        let with_all = "SELECT count(*) FROM sessions \
                        JOIN limit_policies ON limit_policies.session = sessions.id \
                        JOIN messages ON messages.session = sessions.id WHERE name = 'second'";
        assert_eq!(count(&repo.env, with_all), sessions, "step {step}");
        registered += sessions;
        if died.code.is_some() {
            assert!(step > 3 && registered >= 3, "{step} steps, {registered} registered");
            return;
        }
    }
    panic!("it does not come to an end");
}

/// tmux makes the pane when it goes on, and the runner finds nothing to start.
#[test]
fn tmux_stands_still_while_a_session_is_made() {
    let env = TestEnv::new();
    env.spawn_script("other", "exec sleep 300");
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    let spawned = env.dogwatch(&["spawn", "--name", "x", "--json", "--", "touch", "ran"]);
    process::signal(server, Signal::CONT);
    let spawned = spawned.code(124);
    assert_eq!(spawned.json()["error"]["code"], "not_started", "{spawned}");
    eventually("tmux has done what it was told", || {
        env.tmux(&["list-panes", "-a", "-F", "#{session_name}"]).lines().eq(["other"])
    });
    let listed = env.dogwatch(&["ls", "--all", "--json"]).success().json();
    let is_meant = |row: &&serde_json::Value| row["name"] == "x";
    let seen = listed["sessions"].as_array().unwrap().iter().find(is_meant);
    assert!(seen.is_none(), "{seen:?}");
    assert!(!env.work().join("ran").exists());
}
