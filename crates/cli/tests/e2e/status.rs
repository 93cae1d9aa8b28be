use dogwatch_testkit::{Spawned, TestEnv, dogwatch, eventually, process};
use rustix::process::Signal;

#[test]
fn of_plain_commands() {
    let env = TestEnv::new();
    env.spawn_script("live", "exec sleep 300");
    env.spawn_script("bad", "exit 3");
    env.wait_state("bad", "crashed");
    let told = env.dogwatch(&["status", "--json"]).success().json();
    let states: Vec<_> = told["sessions"].as_array().unwrap().iter().map(|s| &s["state"]).collect();
    assert_eq!(states, ["crashed", "working"], "trouble comes first: {told:#}");
    assert_eq!(told["sessions"][0]["exit"]["code"], 3);
    assert_eq!(told["sessions"][0]["reasons"].as_array().unwrap().len(), 7);
}

/// Stopped by the kernel, a command waits for a person.
fn stop(env: &TestEnv, session: &Spawned) {
    process::signal(session.pid, Signal::STOP);
    let status = || env.dogwatch(&["why", &session.name, "--json"]).success().json();
    eventually("it is seen stopped", || status()["state"] == "waiting");
}

/// `wait` has watched the screen come to rest, another process has not: both must say the same.
#[test]
fn a_process_that_comes_later_knows_how_long_the_screen_has_been_still() {
    let env = TestEnv::new();
    // Prints for longer than it takes to start following it, so that the last change is seen by `wait` alone.
    let script = "for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.3; done; printf 'Proceed? [y/N] '; read answer";
    env.spawn_script("asks", script);
    let _ = env.dogwatch(&["wait", "asks", "--for", "waiting", "--timeout", "60s"]).success();
    let told = env.dogwatch(&["status", "asks", "--json"]).success().json();
    assert_eq!(told["sessions"][0]["state"], "waiting", "{told:#}");
}

#[test]
fn sessions_that_wait_are_listed_first_and_filtered() {
    let env = TestEnv::new();
    env.spawn_script("works", "exec sleep 300");
    env.spawn_script("bad", "exit 3");
    env.wait_state("bad", "crashed");
    let waits = env.spawn_script("waits", "exec sleep 300");
    stop(&env, &waits);
    let names = |more: &[&str]| -> Vec<String> {
        let told = env.dogwatch(&[&["status", "--json"], more].concat()).success().json();
        let names = told["sessions"].as_array().unwrap().iter();
        names.map(|session| session["name"].as_str().unwrap().to_owned()).collect()
    };
    let here = env.work().display().to_string();
    let other = env.home().display().to_string();
    let table: [(&[&str], &[&str]); 8] = [
        (&[], &["waits", "bad", "works"]),
        (&["works", "waits"], &["works", "waits"]),
        (&["--waiting"], &["waits"]),
        (&["--state", "crashed,working"], &["bad", "works"]),
        (&["--agent", "claude"], &[]),
        (&["--agent", "command", "--state", "crashed"], &["bad"]),
        (&["--project", &here], &["waits", "bad", "works"]),
        (&["--project", &other], &[]),
    ];
    for (args, want) in table {
        assert_eq!(names(args), want, "{args:?}");
    }
    let _ = env.dogwatch(&["status", "--state", "tired"]).code(2);
    assert!(
        env.dogwatch(&["status", "--agent", "claude"])
            .success()
            .stderr
            .contains("no session matches")
    );
}

#[test]
fn waiting_for_the_first_of_several() {
    let env = TestEnv::new();
    for name in ["a", "b", "c"] {
        env.spawn_script(name, &format!("while [ ! -e go-{name} ]; do sleep 0.05; done; exit 3"));
    }
    let any = ["wait", "--any", "--for", "crashed", "--timeout", "30s"];
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| env.dogwatch(&any).code(0));
        env.write("go-b", "");
        assert_eq!(waiter.join().unwrap().text(), "b is crashed: exit code 3\n");
    });
    let two = ["wait", "a", "b", "c", "--count", "2", "--for", "crashed", "--json"];
    let short = [&two[..], &["--timeout", "100ms"]].concat();
    assert_eq!(env.dogwatch(&short).code(124).json()["outcome"], "timeout");
    env.write("go-a", "");
    let reached = env.dogwatch(&two).code(0).json();
    assert_eq!(reached["reached"].as_array().unwrap().len(), 2, "{reached:#}");
    assert_eq!(reached["sessions"].as_array().unwrap().len(), 3);
    let four = ["wait", "a", "b", "c", "--count", "4", "--for", "crashed"];
    let _ = env.dogwatch(&four).code(4);
    for wrong in
        [&["wait", "--for", "idle"][..], &["wait", "a", "--any", "--count", "1", "--for", "idle"]]
    {
        let _ = env.dogwatch(wrong).code(2);
    }
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

/// What needs a person stays in sight, the others are counted, and the terminal is as it was afterwards.
#[test]
fn a_live_table_in_a_small_terminal() {
    let env = TestEnv::new();
    for n in 0..8 {
        env.spawn_script(&format!("worker-{n}"), "exec sleep 300");
    }
    env.spawn_script("broken", "exit 4");
    let outer = env.another_socket("outer");
    let line =
        format!("trap : INT; echo before; '{}' status --watch; echo code $?; exec cat", dogwatch());
    env.tmux_on(&outer, &["new-session", "-d", "-s", "w", "-x", "60", "-y", "9", &line]);
    let screen = || env.tmux_on(&outer, &["capture-pane", "-p", "-t", "=w:"]);
    let is_alternate =
        || env.tmux_on(&outer, &["display-message", "-p", "-t", "=w:", "#{alternate_on}"]);
    eventually("the table fits", || {
        let text = screen();
        let rows: Vec<&str> = text.lines().collect();
        rows.get(1).is_some_and(|row| row.starts_with("broken"))
            && text.contains("more: ")
            && text.contains(" working")
            && text.contains("Ctrl-C to exit")
    });
    assert_eq!(is_alternate(), "1");
    env.tmux_on(&outer, &["send-keys", "-t", "=w:", "C-c"]);
    eventually("it is as it was", || screen().contains("before") && screen().contains("code 0"));
    assert_eq!(is_alternate(), "0");
}

/// At 80 columns and fewer, no name, state or diagnosis is cut.
#[test]
fn tables_fit_a_narrow_terminal() {
    let env = TestEnv::new();
    let name = "sa-customers-261115-121134-e1-s1-2-dev";
    env.spawn_script(name, "exit 3");
    env.wait_state(name, "crashed");
    for (width, command) in [
        ("80", "ls"),
        ("40", "ls"),
        ("80", "status"),
        ("40", "status"),
        ("60", "doctor"),
        ("60", "agents"),
    ] {
        let outer = env.another_socket(&format!("{command}{width}"));
        let line = format!("'{}' {command}; echo code $?; exec cat", dogwatch());
        env.tmux_on(&outer, &["new-session", "-d", "-x", width, "-y", "80", &line]);
        let screen = || env.tmux_on(&outer, &["capture-pane", "-p"]);
        eventually("it is done", || screen().contains("code "));
        let text = screen();
        if ["ls", "status"].contains(&command) {
            assert!(text.contains(name) && text.contains("crashed"), "{command} {width}\n{text}");
        }
        if command == "status" {
            assert!(text.contains("exit code 3"), "{text}");
        }
        if command == "doctor" {
            assert!(!text.contains('…'), "{text}");
        }
        env.tmux_on(&outer, &["kill-server"]);
    }
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
