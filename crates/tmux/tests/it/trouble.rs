//! Failures and their errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use dogwatch_testkit::{PATIENCE, PrivateTmux, eventually, new_session, print};
use dogwatch_tmux::control::Control;
use dogwatch_tmux::{Command, Error, Server, Socket};
use tempfile::TempDir;

/// A server whose tmux is a script.
fn scripted(script: &str) -> (TempDir, Server) {
    let dir = TempDir::new().unwrap();
    let program = dir.path().join("tmux");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = Server::new(Socket::Path(dir.path().join("s")));
    server.program = program;
    (dir, server)
}

#[test]
fn not_installed() {
    let mut server = Server::new(Socket::Default);
    server.program = "/nonexistent/tmux".into();
    let error = server.run(&[print("a")]).unwrap_err();
    assert!(matches!(error, Error::NotInstalled { .. }), "{error}");
    assert!(error.hint().unwrap().contains("apt install tmux"));
    assert!(matches!(server.version(), Err(Error::NotInstalled { .. })));
}

#[test]
fn too_old() {
    let usage = r#"[ "$1" = -V ] && { echo "tmux 3.1c"; exit 0; }
echo "usage: tmux [-2CluvV] [-c shell-command] [command [flags]]" >&2; exit 1"#;
    let (_dir, server) = scripted(usage);
    let error = server.run(&[print("a")]).unwrap_err();
    let Error::TooOld { found } = &error else { panic!("{error}") };
    assert_eq!(found.to_string(), "3.1c");
    assert!(error.hint().unwrap().contains("3.2"));
    assert!(matches!(Control::open(&server), Err(Error::TooOld { .. })));
}

#[test]
fn a_usage_error_of_a_good_tmux_is_shown_as_it_is() {
    let tmux = PrivateTmux::running();
    let error = tmux.server.run_one(Command::new("list-panes").flag('Z')).unwrap_err();
    let Error::Failed { message, .. } = error else { panic!("{error}") };
    assert!(message.contains('Z') && message.contains("list-panes"), "{message}");
}

#[test]
fn no_server_whether_the_socket_exists_or_not() {
    let tmux = PrivateTmux::running();
    let list = || tmux.server.run_one(Command::new("list-sessions"));
    assert!(list().is_ok());
    tmux.kill();
    assert!(tmux.socket().exists());
    // A pane's process that was just being started may hold the socket a moment longer.
    eventually("the socket is dead", || {
        let error = list().unwrap_err();
        assert!(error.is_no_server(), "{error}");
        matches!(error, Error::NoServer)
    });
    fs::remove_file(tmux.socket()).unwrap();
    let error = list().unwrap_err();
    assert!(matches!(error, Error::NoServer), "{error}");
}

#[test]
fn running_only_starts_nothing() {
    let tmux = PrivateTmux::idle();
    let error = tmux.server.running_only().run_one(new_session("a")).unwrap_err();
    assert!(matches!(error, Error::NoServer), "{error}");
    assert!(!tmux.socket().exists());
}

#[test]
fn a_duplicate_session() {
    let tmux = PrivateTmux::running();
    let error = tmux.server.run_one(new_session("main")).unwrap_err();
    assert!(matches!(&error, Error::DuplicateSession { name } if name == "main"), "{error}");
}

#[test]
fn a_missing_pane() {
    let tmux = PrivateTmux::running();
    let error = tmux
        .server
        .run_one(Command::new("list-panes").target(dogwatch_tmux::PaneId(99)))
        .unwrap_err();
    assert!(matches!(&error, Error::NotFound { target } if target.contains("%99")), "{error}");
}

#[test]
fn a_socket_that_cannot_be_created() {
    let dir = TempDir::new().unwrap();
    let mut server = Server::new(Socket::Path(dir.path().join("missing/s")));
    server.config = Some("/dev/null".into());
    let error = server.run_one(new_session("a")).unwrap_err();
    assert!(
        matches!(&error, Error::Failed { message, .. } if message.contains("missing")),
        "{error}"
    );
}

#[test]
fn a_command_line_that_is_too_long() {
    let tmux = PrivateTmux::running();
    for size in [20_000, 3_000_000] {
        let error = tmux.server.run_one(print(&"x".repeat(size))).unwrap_err();
        assert!(matches!(error, Error::CommandTooLong { .. }), "{size}: {error}");
        assert!(error.to_string().len() < 300);
    }
}

#[test]
fn the_deadline_kills_a_tmux_that_hangs() {
    let (_dir, mut server) = scripted("exec tail -f /dev/null");
    server.deadline = Duration::from_millis(100);
    let begun = Instant::now();
    let error = server.run(&[print("a")]).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(begun.elapsed() < PATIENCE);
}

/// As when a client that connected before the `kill-server` creates a session: it keeps the server, which refuses all clients.
#[test]
fn a_server_that_does_not_exit_is_signalled_again() {
    let tmux = PrivateTmux::running();
    let late = "set-hook -gu session-closed ; new-session -d -s late cat";
    let hook = Command::new("set-hook").flag('g').arg("session-closed").arg(late);
    tmux.server.run_one(hook).unwrap();
    tmux.server.run_one(Command::new("kill-server")).unwrap();
    tmux.session("new");
    let list = Command::new("list-sessions").option('F', "#{session_name}");
    assert_eq!(tmux.server.run_one(list).unwrap().text().trim(), "new");
}

#[test]
fn a_new_session_waits_for_a_server_that_is_exiting() {
    let tmux = PrivateTmux::running();
    for round in 0..5 {
        for at in 0..10 {
            tmux.session(&format!("filler-{at}"));
        }
        tmux.server.run_one(Command::new("kill-server")).unwrap();
        let session = format!("after-{round}");
        tmux.session(&session);
        assert!(tmux.has_session(&session), "{session}");
    }
}
