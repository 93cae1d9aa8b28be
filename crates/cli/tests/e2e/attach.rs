//! Attaching needs a terminal: a pane of another tmux server.

use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};
use rustix::process::Signal;

/// A terminal: a tmux server of its own, with a shell in it.
struct Terminal<'a> {
    env: &'a TestEnv,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    fn open(env: &'a TestEnv) -> Self {
        let socket = env.another_socket("outer");
        env.tmux_on(
            &socket,
            &["new-session", "-d", "-s", "outer", "-x", "120", "-y", "40", "env PS1='$ ' sh"],
        );
        Self { env, socket }
    }

    fn run(&self, line: &str) {
        self.env.tmux_on(&self.socket, &["send-keys", "-t", "=outer:", "-l", line]);
        self.env.tmux_on(&self.socket, &["send-keys", "-t", "=outer:", "Enter"]);
    }

    fn shows(&self, text: &str) -> bool {
        self.env.tmux_on(&self.socket, &["capture-pane", "-p", "-t", "=outer:"]).contains(text)
    }
}

#[test]
fn from_a_terminal_within_another_tmux() {
    let env = TestEnv::new();
    env.spawn_script("x", "echo welcome aboard; while read line; do echo \"got $line\"; done");
    let terminal = Terminal::open(&env);
    terminal.run(&format!("{} attach x", dogwatch()));
    eventually("the session is seen", || terminal.shows("welcome aboard"));
    terminal.run("ahoy");
    eventually("typing reaches it", || terminal.shows("got ahoy"));
    assert_eq!(env.seen("x")["attached"], true);
    // The window has taken the terminal's size, but for the status line.
    assert_eq!(env.tmux(&["list-windows", "-a", "-F", "#{window_width}"]), "120");
    env.tmux(&["detach-client", "-s", "=x:"]);
    eventually("the shell is back", || terminal.shows("[detached"));
    assert_eq!(env.seen("x")["state"], "running");
}

/// From inside the same tmux the client goes to the session that needs a person, and then to the next one.
#[test]
fn next_goes_from_one_that_waits_to_the_next() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["next"]).code(3);
    let first = env.spawn_script("first", "echo welcome aboard; exec sleep 300");
    let second = env.spawn_script("second", "exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "80", "-y", "24", "env PS1='$ ' sh"]);
    let _ = env.dogwatch(&["next"]).code(3);
    for session in [&first, &second] {
        process::signal(session.pid, Signal::STOP);
        let waits = || {
            env.dogwatch(&["why", &session.name, "--json"]).success().json()["state"] == "waiting"
        };
        eventually("it waits", waits);
    }
    let terminal = Terminal::open(&env);
    let attach = format!("env -u TMUX tmux -S {} attach -t =mine:", env.socket().display());
    terminal.run(&attach);
    let on_display = || env.tmux(&["list-clients", "-F", "#{session_name}"]);
    eventually("the terminal is attached", || on_display() == "mine");
    terminal.run(&format!("{} next", dogwatch()));
    eventually("it has gone to the one that has waited longest", || on_display() == "first");
    // From a pane of that session, on to the next one, and round.
    for (from, to) in [("first", "second"), ("second", "first")] {
        let pane = env.tmux(&["display-message", "-p", "-t", &format!("={from}:"), "#{pane_id}"]);
        let mut command = env.command(&["attach", "--next"]);
        let around = format!("{},1,0", env.socket().display());
        command.env("TMUX", around).env("TMUX_PANE", pane);
        let _ = env.run(&mut command).success();
        eventually("it has gone on", || on_display() == to);
    }
}

#[test]
fn from_a_terminal_without_tmux_around_it() {
    let env = TestEnv::new();
    env.spawn_script("x", "echo welcome aboard; exec sleep 300");
    let terminal = Terminal::open(&env);
    terminal.run(&format!("env -u TMUX -u TMUX_PANE {} attach x", dogwatch()));
    eventually("the session is seen", || terminal.shows("welcome aboard"));
}

#[test]
fn an_agent_that_somebody_else_started() {
    let env = TestEnv::new();
    let claude = env.write_program("claude", "echo welcome aboard; sleep 300");
    env.tmux(&["new-session", "-d", "-s", "mine", &claude.display().to_string()]);
    eventually("it is known", || env.dogwatch(&["status", "mine"]).code == Some(0));
    let terminal = Terminal::open(&env);
    terminal.run(&format!("env -u TMUX -u TMUX_PANE {} attach mine", dogwatch()));
    eventually("the session is seen", || terminal.shows("welcome aboard"));
}

#[test]
fn within_the_same_server_the_client_moves_over() {
    let env = TestEnv::new();
    env.spawn_script("x", "echo welcome aboard; exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "mine", "env PS1='$ ' sh"]);
    env.tmux(&["new-session", "-d", "-s", "bystander", "echo I stay; exec cat"]);
    let terminal = Terminal::open(&env);
    let attach =
        |name: &str| format!("env -u TMUX tmux -S {} attach -t ={name}:", env.socket().display());
    let other = env.another_socket("other");
    env.tmux_on(&other, &["new-session", "-d", "-s", "outer", &attach("bystander")]);
    terminal.run(&attach("mine"));
    let clients = || env.tmux(&["list-clients", "-F", "#{client_session}"]);
    eventually("both clients are there", || clients().lines().count() == 2);
    terminal.run(&format!("{} attach x", dogwatch()));
    eventually("the client has moved over", || terminal.shows("welcome aboard"));
    // Another person's client is not taken along.
    let mut clients: Vec<String> = clients().lines().map(ToOwned::to_owned).collect();
    clients.sort();
    assert_eq!(clients, ["bystander", "x"]);
}

#[test]
fn without_a_terminal_or_session() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["attach", "nosuch"]).code(3);
    env.spawn_script("x", "exec sleep 300");
    let output = env.dogwatch(&["attach", "x"]);
    assert_ne!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("terminal"), "{output}");
    let _ = env.dogwatch(&["kill", "x"]).success();
    let output = env.dogwatch(&["attach", "x"]).code(4);
    assert!(output.stderr.starts_with("error: session x has ended: "), "{output}");
    assert!(output.stderr.contains("hint: to see its last screen: dogwatch capture x"), "{output}");
}
