use crate::env::{TestEnv, dogwatch, eventually};

#[test]
fn of_plain_commands() {
    let env = TestEnv::new();
    env.spawn_script("live", "exec sleep 300");
    env.spawn_script("bad", "exit 3");
    env.wait_state("bad", "crashed");
    let told = env.dogwatch(&["status", "--json"]).success().json();
    let states: Vec<_> = told["sessions"].as_array().unwrap().iter().map(|s| &s["state"]).collect();
    assert_eq!(states, ["working", "crashed"], "{told:#}");
    assert_eq!(told["sessions"][1]["exit"]["code"], 3);
    assert_eq!(told["sessions"][1]["reasons"].as_array().unwrap().len(), 7);
}

#[test]
fn unknown_sessions_are_refused() {
    let env = TestEnv::new();
    for command in ["status", "why"] {
        let _ = env.dogwatch(&[command, "nosuch"]).code(3);
    }
    let _ = env.dogwatch(&["wait", "nosuch", "--for", "idle"]).code(3);
}

#[test]
fn a_live_table_is_told_of_news() {
    let env = TestEnv::new();
    env.spawn_script("first", "exec sleep 300");
    let outer = env.another_socket("outer");
    let watch = [dogwatch(), "status", "--watch"];
    let mut start = vec!["new-session", "-d", "-s", "w", "-x", "90", "-y", "12", "--"];
    start.extend(watch);
    env.tmux_on(&outer, &start);
    let screen = || env.tmux_on(&outer, &["capture-pane", "-p", "-t", "=w:"]);
    eventually("the table is drawn", || screen().contains("first"));
    env.spawn_script("second", "exit 4");
    eventually("the news is drawn, and first", || {
        screen()
            .lines()
            .nth(1)
            .is_some_and(|row| row.contains("second") && row.contains("exit code 4"))
    });
    let _ = env.dogwatch(&["status", "--watch"]).code(2);
}

#[test]
fn waiting_for_an_end() {
    let env = TestEnv::new();
    env.spawn_script("x", "while [ ! -e go ]; do sleep 0.05; done; exit 3");
    let short = ["wait", "x", "--for", "crashed", "--timeout", "100ms", "--json"];
    assert_eq!(env.dogwatch(&short).code(124).json()["outcome"], "timeout");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| env.dogwatch(&["wait", "x", "--for", "crashed,lost"]).code(0));
        env.write("go", "");
        assert_eq!(waiter.join().unwrap().text(), "x is crashed: exit code 3\n");
    });
    let never = env.dogwatch(&["wait", "x", "--for", "idle", "--json"]).code(4);
    assert_eq!(never.json()["outcome"], "impossible");
    let _ = env.dogwatch(&["wait", "x", "--for", "tired"]).code(2);
}
