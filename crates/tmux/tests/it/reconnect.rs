//! Effects of users and exiting servers on a control client.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use std::{process, thread};

use dogwatch_testkit::{Exit, PATIENCE, PrivateTmux, eventually, name, print};
use dogwatch_tmux::control::{Control, Note};
use dogwatch_tmux::{ANCHOR_PREFIX, Command, Error, SessionName};
use rustix::process::{Pid, Signal, kill_process};

fn wait_for(notes: &Receiver<Note>, what: &str, wanted: impl Fn(&Note) -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if wanted(&notes.recv_timeout(PATIENCE).unwrap()) {
            return;
        }
    }
    panic!("no note of {what}");
}

fn wait_lost(notes: &Receiver<Note>) {
    wait_for(notes, "disconnection", |note| matches!(note, Note::Disconnected { .. }));
}

fn wait_back(notes: &Receiver<Note>) {
    wait_for(notes, "reconnection", |note| *note == Note::Reconnected);
}

fn kill_9(pid: u32) {
    signal(pid, Signal::KILL);
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn no_server_is_an_error_and_none_is_started() {
    let tmux = PrivateTmux::idle();
    assert!(matches!(Control::open(&tmux.server), Err(Error::NoServer)));
    assert!(!tmux.socket().exists());
    tmux.session("a");
    tmux.kill();
    // A pane's process that was just being started may hold the socket a moment longer.
    eventually("the socket is dead", || {
        let error = Control::open(&tmux.server).unwrap_err();
        assert!(error.is_no_server(), "{error}");
        matches!(error, Error::NoServer)
    });
}

#[test]
fn not_installed() {
    let mut tmux = PrivateTmux::running();
    let program = std::mem::replace(&mut tmux.server.program, "/nonexistent/tmux".into());
    assert!(matches!(Control::open(&tmux.server), Err(Error::NotInstalled { .. })));
    tmux.server.program = program;
}

#[test]
fn a_new_server_on_the_same_socket_is_found() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    let first = control.request_one(print("#{pid}")).unwrap();
    tmux.kill();
    wait_lost(&notes);
    assert!(matches!(control.request_one(print("a")), Err(Error::Disconnected)));
    // It waits, and does not start a server.
    // sleep: long enough for several attempts to connect, none of which may start a server.
    thread::sleep(Duration::from_millis(200));
    assert!(matches!(tmux.server.panes(), Err(Error::NoServer)));

    tmux.session("again");
    wait_back(&notes);
    let second = control.request_one(print("#{pid}")).unwrap();
    assert_ne!(first, second);
    assert_eq!(second.first_line(), tmux.server_pid().unwrap().to_string());
}

#[test]
fn a_detached_client_comes_back() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    for _ in 0..3 {
        tmux.server.run_one(Command::new("detach-client")).unwrap();
        wait_lost(&notes);
        wait_back(&notes);
        let flags = control.request_one(print("#{client_flags}")).unwrap();
        for flag in ["no-output", "ignore-size", "control-mode"] {
            assert!(flags.text().contains(flag), "{}", flags.text());
        }
    }
    drop(control);
    let list = Command::new("list-sessions").option('F', "#{session_name}");
    assert_eq!(tmux.server.run_one(list).unwrap().text(), "main\n");
}

#[test]
fn a_moved_client_goes_back_to_an_anchor() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    let here =
        || control.request_one(print("#{client_session}")).unwrap().first_line().into_owned();
    for _ in 0..3 {
        tmux.server.run_one(Command::new("switch-client").target(&name("main"))).unwrap();
        let moved =
            |note: &Note| matches!(note, Note::SessionChanged { name, .. } if name == "main");
        wait_for(&notes, "the move", moved);
        eventually("it is back", || here().starts_with(ANCHOR_PREFIX));
        eventually("no client is left on main", || {
            tmux.server.panes().unwrap()[0].session_attached == 0
        });
    }
    drop(control);
    let list = Command::new("list-sessions").option('F', "#{session_name}");
    assert_eq!(tmux.server.run_one(list).unwrap().text(), "main\n");
}

#[test]
fn a_killed_anchor_is_replaced() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    let anchor = control.request_one(print("#{client_session}")).unwrap().first_line().into_owned();
    tmux.server.run_one(Command::new("kill-session").target(&name(&anchor))).unwrap();
    wait_lost(&notes);
    wait_back(&notes);
    assert_eq!(control.request_one(print("a")).unwrap().first_line(), "a");
}

#[test]
fn a_request_pending_at_the_servers_death_fails() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    thread::scope(|scope| {
        // The reply to what follows a `wait-for` comes only when the channel is woken.
        let here = Command::new("set-option").flag('g').args(["@here", "yes"]);
        let wait = Command::new("wait-for").arg("never");
        let pending = scope.spawn(|| control.request(&[here, wait, print("a")]));
        eventually("the request is there", || tmux.ask("#{@here}").unwrap() == "yes");
        // An orderly exit would wake the channel first.
        let pid = tmux.server_pid().unwrap();
        let gone = Exit::of(pid);
        kill_9(pid);
        assert!(gone.within(PATIENCE));
        let outcome = pending.join().unwrap();
        assert!(matches!(outcome, Err(Error::Disconnected)), "{outcome:?}");
    });
    wait_lost(&notes);
}

#[test]
fn an_unanswered_request_times_out_and_the_next_gets_its_own_reply() {
    let tmux = PrivateTmux::running();
    let mut server = tmux.server.clone();
    server.deadline = Duration::from_millis(300);
    let (control, _notes) = Control::open(&server).unwrap();
    let wait = Command::new("wait-for").arg("later");
    let outcome = control.request(&[wait, print("late")]);
    assert!(matches!(outcome, Err(Error::Timeout { .. })), "{outcome:?}");
    tmux.server.run_one(Command::new("wait-for").flag('S').arg("later")).unwrap();
    assert_eq!(control.request_one(print("b")).unwrap().first_line(), "b");
}

#[test]
fn a_server_that_hangs_does_not_block_the_caller() {
    let tmux = PrivateTmux::running();
    let mut server = tmux.server.clone();
    server.deadline = Duration::from_millis(300);
    let (control, _notes) = Control::open(&server).unwrap();
    let pid = tmux.server_pid().unwrap();
    signal(pid, Signal::STOP);
    let begun = Instant::now();
    let outcomes = [
        control.request_one(print("a")),
        server.run_one(print("a")),
        // More than the pipe to it can hold.
        control.request_one(Command::new("set-buffer").arg("x".repeat(2_000_000))),
    ];
    drop(control);
    let elapsed = begun.elapsed();
    signal(pid, Signal::CONT);
    let [waited, spawned, stuck] = outcomes;
    assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
    assert!(matches!(spawned, Err(Error::Timeout { .. })), "{spawned:?}");
    assert!(matches!(stuck, Err(Error::Disconnected)), "{stuck:?}");
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}

#[test]
fn closing_without_a_server_does_not_hang() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    tmux.kill();
    wait_lost(&notes);
    let begun = Instant::now();
    drop(control);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(notes.iter().all(|note| note != Note::Reconnected));
}

#[test]
fn closing_during_a_reconnection_leaves_nothing() {
    let tmux = PrivateTmux::running();
    // Few rounds: tmux 3.3a itself crashes now and then when a control client is detached (about one in a few hundred).
    for round in 0..4 {
        let (control, notes) = Control::open(&tmux.server).unwrap();
        tmux.server.run_one(Command::new("detach-client")).unwrap();
        wait_lost(&notes);
        // sleep: spreads the drops over a reconnection.
        thread::sleep(Duration::from_millis(round * 2));
        drop(control);
        let sessions = Command::new("list-sessions").option('F', "#{session_name}");
        assert_eq!(tmux.server.run_one(sessions).unwrap().text(), "main\n", "{round}");
    }
}

#[test]
fn the_anchor_of_a_killed_watcher_is_removed_by_the_next() {
    let tmux = PrivateTmux::running();
    let stale = format!("{ANCHOR_PREFIX}-1-stale");
    tmux.session(&stale);
    let (first, _notes) = Control::open(&tmux.server).unwrap();
    assert!(!tmux.has_session(&stale));
    let (second, _more_notes) = Control::open(&tmux.server).unwrap();
    assert_eq!(first.request_one(print("a")).unwrap().first_line(), "a");
    assert_eq!(second.request_one(print("b")).unwrap().first_line(), "b");
}

/// A watcher that is killed before it has its guard leaves a client that tmux never closes.
#[test]
fn the_client_of_a_killed_watcher_is_ended_by_the_next() {
    let tmux = PrivateTmux::running();
    let mut gone = process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let left = |maker: u32| {
        let name = format!("_dogwatch-{maker}-left");
        let mut client = process::Command::new("tmux");
        client.env_remove("TMUX").args(["-f", "/dev/null", "-S"]).arg(tmux.socket());
        client.args(["-C", "new-session", "-s", &name, "-f", "no-output,ignore-size", "cat"]);
        client.stdin(process::Stdio::piped()).stdout(process::Stdio::null());
        let client = client.spawn().unwrap();
        eventually("it is attached", || {
            let listed = tmux.words(&["list-clients", "-F", "#{session_name}"]).stdout;
            String::from_utf8_lossy(&listed).contains(&name)
        });
        client
    };
    let (mut dead, mut lives) = (left(gone.id()), left(process::id()));
    let (_control, _notes) = Control::open(&tmux.server).unwrap();
    eventually("its client has ended", || dead.try_wait().unwrap().is_some());
    assert!(lives.try_wait().unwrap().is_none(), "of one that lives");
    lives.kill().unwrap();
    lives.wait().unwrap();
}

#[test]
fn a_killed_client_process_is_replaced() {
    let tmux = PrivateTmux::running();
    let (control, notes) = Control::open(&tmux.server).unwrap();
    let pid = control.request_one(print("#{client_pid}")).unwrap().first_line().parse().unwrap();
    kill_9(pid);
    wait_lost(&notes);
    wait_back(&notes);
    assert_eq!(control.request_one(print("a")).unwrap().first_line(), "a");
    drop(control);
    let list = Command::new("list-sessions").option('F', "#{session_name}");
    assert_eq!(tmux.server.run_one(list).unwrap().text(), "main\n");
}

#[test]
fn many_clients_while_sessions_come_and_go() {
    let tmux = PrivateTmux::running();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..6 {
                    let (control, _notes) = Control::open(&tmux.server).unwrap();
                    assert!(!control.panes().unwrap().is_empty());
                }
            });
        }
        for n in 0..2 {
            let server = &tmux.server;
            scope.spawn(move || {
                let name = SessionName::new(format!("guest-{n}")).unwrap();
                for _ in 0..12 {
                    let make = Command::new("new-session").flag('d').option('s', name.as_str());
                    server.run_one(make.arg("cat")).unwrap();
                    server.run_one(Command::new("kill-session").target(&name)).unwrap();
                }
            });
        }
    });
    assert_eq!(tmux.server.panes().unwrap().len(), 1, "the server has outlived them all");
}
