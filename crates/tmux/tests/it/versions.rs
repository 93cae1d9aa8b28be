//! Bugs that only some tmux versions have; `just tmux-matrix` runs these on all of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_testkit::{PrivateTmux, name, new_session, print};
use dogwatch_tmux::control::Control;
use dogwatch_tmux::{CaptureOptions, Command, Error, PaneId, RowQuery, fitting};

/// 3.2a dereferences a null pointer when a format names the window activity of a missing pane, and the server crashes with all
/// sessions (`display-message -p -t %99 '#{window_activity}'`).
#[test]
fn asking_for_a_pane_that_is_gone_ends_nothing() {
    let tmux = PrivateTmux::running();
    let pid = tmux.server_pid();
    let gone = PaneId(99);
    let query = RowQuery::new();
    let all = "#{window_activity} #{session_activity} #{session_attached} #{window_id}";
    for command in [query.face_command(gone), Command::about_pane(gone, all)] {
        let error = tmux.server.run_one(command.clone()).unwrap_err();
        assert!(matches!(&error, Error::NotFound { target } if target.contains("%99")), "{error}");
        let (control, _notes) = Control::open(&tmux.server).unwrap();
        let error = control.request_one(command).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }
    assert_eq!(tmux.server_pid(), pid);
}

/// In a window with several panes, only the requested one is reported.
#[test]
fn a_pane_is_asked_for_alone() {
    let tmux = PrivateTmux::running();
    let first = tmux.server.panes().unwrap()[0].pane_id;
    let split = Command::new("split-window").flag('d').target(first).arg("cat");
    tmux.server.run_one(split).unwrap();
    let panes = tmux.server.panes().unwrap();
    assert_eq!(panes.len(), 2);
    for pane in panes {
        let query = RowQuery::new();
        let reply = tmux.server.run_one(query.face_command(pane.pane_id)).unwrap();
        let faces = query.parse_faces(&reply).unwrap();
        assert_eq!(faces.iter().map(|face| face.row.pane_id).collect::<Vec<_>>(), [pane.pane_id]);
    }
}

/// 3.7 refuses more than 1,000 words in one command line.
#[test]
fn long_chains_are_done_in_parts() {
    let tmux = PrivateTmux::running();
    let texts: Vec<String> = (0..600).map(|n| format!("text {n}")).collect();
    let commands: Vec<Command> = texts.iter().map(|text| print(text)).collect();
    let replies = tmux.server.run(&commands).unwrap();
    let said: Vec<_> = replies.iter().map(|reply| reply.first_line().into_owned()).collect();
    assert_eq!(said, texts);

    let pane = tmux.server.panes().unwrap()[0].pane_id;
    let captured = tmux.server.capture_many(&[pane; 700], CaptureOptions::default()).unwrap();
    assert_eq!(captured.len(), 700);
    assert!(captured.iter().all(Result::is_ok));

    // The first error ends it, in whichever part it is.
    let mut broken = commands.clone();
    broken.insert(400, Command::new("kill-session").target(&name("nobody")));
    assert!(matches!(tmux.server.run(&broken), Err(Error::NotFound { .. })));
    // A chain that cannot be split is refused on every version, before anything is executed.
    let whole: Vec<Command> = texts.iter().map(|text| print(text).runs_on()).collect();
    let error = tmux.server.run(&whole).unwrap_err();
    assert!(matches!(error, Error::CommandTooLong { .. }), "{error}");
    // As many as `fitting` says do fit.
    for commands in [&commands, &whole] {
        let part = &commands[..fitting(commands)];
        assert!(tmux.server.start(part).unwrap().finish().is_ok());
    }
}

/// Up to 3.6, the server crashes when it notifies a control client that is still connecting (tmux/tmux#4980). dogwatch's own
/// changes of sessions wait for that.
#[test]
fn clients_connect_while_sessions_come_and_go() {
    const TIME: Duration = Duration::from_secs(4);
    let tmux = PrivateTmux::running();
    let pid = tmux.server_pid();
    let server = &tmux.server;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for hand in 0..2 {
            let stop = &stop;
            scope.spawn(move || {
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let session = format!("s{hand}-{round}");
                    let pane = tmux_pane(server.run_one(new_session(&session).arg("cat")).unwrap());
                    server.run_one(Command::new("rename-window").target(pane).arg("x")).unwrap();
                    server.run_one(Command::new("set-buffer").arg("text")).unwrap();
                    server.run_one(Command::new("kill-session").target(&name(&session))).unwrap();
                }
            });
        }
        for _ in 0..2 {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let (control, _notes) = Control::open(server).unwrap();
                    assert_eq!(control.request_one(print("a")).unwrap().first_line(), "a");
                }
            });
        }
        let begun = Instant::now();
        while begun.elapsed() < TIME && tmux.server_pid() == pid {
            // sleep: the test is about what happens during this time.
            thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(tmux.server_pid(), pid, "the server has ended");
}

fn tmux_pane(reply: dogwatch_tmux::Reply) -> PaneId {
    reply.first_line().parse().unwrap()
}
