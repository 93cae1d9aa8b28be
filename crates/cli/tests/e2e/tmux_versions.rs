//! Faults that only some versions of tmux have, or that only some users meet; `just tmux-matrix` runs these on every version, as root
//! and as an ordinary user.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use dogwatch_testkit::{TestEnv, eventually, is_root, skip};
use rustix::process::{Pid, Signal, kill_process};

/// A `watch` that is connected to the tmux server.
/// A watch, and an agent beside it, which has the supervisor connect to the server.
fn connected_watch(env: &TestEnv) -> Child {
    super::send::agent_named(env, "agent");
    let mut command = env.command(&["watch"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    env.control_client();
    child
}

fn end(mut child: Child) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    let begun = Instant::now();
    // The library that handles signals loses one that comes in the very moment in which it installs its handler.
    eventually("it has ended", || {
        let is_due = begun.elapsed().as_secs().is_multiple_of(2);
        if is_due && child.try_wait().unwrap().is_none() {
            kill_process(pid, Signal::TERM).unwrap();
        }
        child.try_wait().unwrap().is_some()
    });
}

/// 3.2a gives new windows the size of a control client, 80x24, whatever it is asked for.
#[test]
fn sessions_made_under_a_watch_have_their_size() {
    let env = TestEnv::new();
    env.spawn_script("first", "exec sleep 300");
    let watch = connected_watch(&env);
    let session = env.spawn_script("second", "stty size; exec sleep 300");
    let size = ["list-panes", "-t", &session.pane, "-F", "#{window_width}x#{window_height}"];
    assert_eq!(env.tmux(&size), "200x50");
    env.wait_screen("second", "50 200");
    // It still follows those who attach.
    let option = ["show-options", "-w", "-v", "-t", &session.pane, "window-size"];
    assert_eq!(env.tmux(&option), "");
    end(watch);
}

/// 3.2a ends when it is asked for the window of a pane that is gone, and a watch asks again for panes that stirred.
#[test]
fn panes_that_go_under_a_watch_take_nothing_along() {
    let env = TestEnv::new();
    env.spawn_script("stays", "exec sleep 300");
    let server = env.server_pid();
    let watch = connected_watch(&env);
    for round in 0..6 {
        // It prints until it is gone, so that it is always about to be looked at.
        let name = format!("goes-{round}");
        let session = env.spawn_script(&name, "while :; do echo x; sleep 0.01; done");
        env.tmux(&["kill-pane", "-t", &session.pane]);
    }
    assert_eq!(env.server_pid(), server);
    assert_eq!(env.seen("stays")["state"], "running");
    end(watch);
}

/// Up to 3.6b a control client that connects while sessions come and go ends the server. Here the socket lies directly in the shared
/// temporary folder, which is not the user's own, and two state folders use it.
#[test]
fn supervisors_that_connect_end_no_server() {
    const TIME: Duration = Duration::from_secs(8);
    let env = TestEnv::new();
    let name = format!("dogwatch-test-{}", std::process::id());
    let socket = std::env::temp_dir().canonicalize().unwrap().join(name);
    let tmux = |args: &[&str]| env.tmux_on(&socket, args);
    let run = |args: &[&str], state: &str| {
        let mut command = env.command(args);
        command.env("DOGWATCH_TMUX", &socket).env("DOGWATCH_STATE_DIR", env.root().join(state));
        command
    };
    let spawn = ["spawn", "--name", "stays", "--", "sleep", "300"];
    let _ = env.run(&mut run(&spawn, "one")).success();
    let server = tmux(&["display-message", "-p", "#{pid}"]);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for state in ["one", "two"] {
            let (run, stop) = (&run, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let name = format!("goes-{state}");
                    let spawn = ["spawn", "--name", &name, "--", "sleep", "300"];
                    let _ = run(&spawn, state).output();
                    let _ = run(&["kill", "--now", &name], state).output();
                }
            });
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // The supervisor connects for it, tells it what there is, and leaves.
                    let mut reconcile = run(&["reconcile", "--interval", "1h"], state);
                    let child =
                        reconcile.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                    // sleep: its short life; when it is cut off does not matter.
                    thread::sleep(Duration::from_millis(100));
                    end(child);
                }
            });
        }
        let begun = Instant::now();
        while begun.elapsed() < TIME {
            // sleep: the test is about what happens during this time.
            thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let after = tmux(&["display-message", "-p", "#{pid}"]);
    tmux(&["kill-server"]);
    // Every one of ours took the same lock, and others cannot open it.
    let mut lock = socket.clone().into_os_string();
    lock.push(".dogwatch-lock");
    let meta = fs::metadata(&lock).unwrap();
    fs::remove_file(lock).unwrap();
    let _ = fs::remove_file(&socket);
    assert_eq!(meta.mode() & 0o777, 0o600);
    assert_eq!(after, server, "the server has ended");
}

/// Commands that read, which must not take "not allowed" for "nothing there".
const READING: [&[&str]; 12] = [
    &["ls"],
    &["ls", "--json"],
    &["status"],
    &["status", "x"],
    &["why", "x"],
    &["exists", "x"],
    &["capture", "x"],
    &["wait", "x", "--for", "idle", "--timeout", "1s"],
    &["watch"],
    &["team", "%0"],
    &["pane", "verify", "%0"],
    &["reconcile", "--once"],
];

/// A tmux that says what it says on a socket of another user.
#[test]
fn a_server_of_another_user_is_an_error() {
    let env = TestEnv::new();
    let script = r#"case "$*" in *-V*) echo 'tmux 3.3a'; exit 0 ;; esac
echo "error connecting to $DOGWATCH_TMUX (Permission denied)" >&2; exit 1"#;
    env.write_program("tmux", script);
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", env.root().join("bin").display());
    for args in READING.into_iter().chain([
        &["kill", "x"][..],
        &["kill-all", "--yes"],
        &["gc"],
        &["spawn", "--", "sleep", "1"],
        &["registry", "ls"],
    ]) {
        let mut command = env.command(args);
        let output = env.run(command.env("PATH", &path));
        assert_eq!(output.code, Some(5), "{args:?}: {output}");
        assert!(output.to_string().contains("no permission"), "{args:?}: {output}");
    }
    let mut command = env.command(&["ls", "--json"]);
    let said = env.run(command.env("PATH", &path)).code(5);
    assert_eq!(said.json()["error"]["code"], "tmux_denied");
    let mut command = env.command(&["doctor"]);
    let output = env.run(command.env("PATH", &path));
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.to_string().contains("no permission"), "{output}");
}

/// The same with a real socket that may not be used; root may use all of them.
#[test]
fn a_socket_without_permission_is_an_error() {
    if is_root() {
        skip::skipped(None, "root may use every socket: run this one as another user");
        return;
    }
    let env = TestEnv::new();
    let folder = env.root().join("theirs");
    fs::create_dir(&folder).unwrap();
    let socket = env.another_socket("theirs/s");
    env.tmux_on(&socket, &["new-session", "-d", "cat"]);
    let modes = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    modes(0o000);
    for args in READING {
        let mut command = env.command(args);
        let output = env.run(command.env("DOGWATCH_TMUX", &socket));
        assert_eq!(output.code, Some(5), "{args:?}: {output}");
        assert!(output.to_string().contains("no permission"), "{args:?}: {output}");
    }
    modes(0o700);
}

/// tmux 3.7 refuses long command lines. One that refuses what it is asked is an error, and not a list of unknowns.
#[test]
fn a_refusal_is_told() {
    let env = TestEnv::new();
    env.spawn_script("x", "exec sleep 300");
    let real = std::env::var("PATH").unwrap();
    let script = format!(
        r#"case "$*" in *capture-pane*) echo 'command too long' >&2; exit 1 ;; esac
PATH='{real}' exec tmux "$@""#
    );
    env.write_program("tmux", &script);
    let path = format!("{}:{real}", env.root().join("bin").display());
    for args in [&["status"][..], &["status", "x"], &["why", "x"]] {
        let mut command = env.command(args);
        let output = env.without_supervisor(|| env.run(command.env("PATH", &path)));
        assert_eq!(output.code, Some(5), "{args:?}: {output}");
        assert!(output.to_string().contains("too long for tmux"), "{args:?}: {output}");
    }
}

/// A terminal in another tmux, with a client of our server in it.
fn client(env: &TestEnv, session: &str) -> String {
    let outer = env.another_socket("outer");
    let attach = format!("env -u TMUX tmux -S {} attach -t ={session}:", env.socket().display());
    env.tmux_on(&outer, &["new-session", "-d", "-s", "outer", "-x", "120", "-y", "40", &attach]);
    let clients = || env.tmux(&["list-clients", "-F", "#{client_name} #{client_flags}"]);
    eventually("a client with the focus", || clients().contains("focused"));
    env.tmux(&["list-clients", "-F", "#{client_name}"])
}

/// With `focus-events on`, 3.3 and 3.4 crash when a client comes to a pane whose program asked for focus reports and is gone. All agents
/// ask for them, and one that was killed did not take it back.
#[test]
fn looking_at_agents_that_died_ends_no_server() {
    let env = TestEnv::new();
    let asks = "printf '\\033[?1004h'; exec sleep 300";
    let killed = env.spawn_script("killed", asks);
    let lost = env.spawn_script("lost", asks);
    env.tmux(&["set-option", "-g", "focus-events", "on"]);
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "80", "-y", "24", "env PS1='$ ' sh"]);
    let server = env.server_pid();
    let client = client(&env, "mine");
    let is_dead = |pane: &str| env.tmux(&["list-panes", "-t", pane, "-F", "#{pane_dead}"]) == "1";
    let kill = |pid: i32| kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    // Its runner takes it back, so that a person can look, too.
    kill(killed.pid);
    eventually("killed", || is_dead(&killed.pane));
    let go = |session: &str| {
        env.tmux(&["switch-client", "-c", &client, "-t", &format!("={session}:")]);
        assert_eq!(env.server_pid(), server, "the server has ended at {session}");
    };
    go("killed");
    go("mine");
    // Without a runner, dogwatch does before it puts a client there.
    let runner = env.tmux(&["list-panes", "-t", &lost.pane, "-F", "#{pane_pid}"]);
    kill(runner.parse().unwrap());
    eventually("lost", || is_dead(&lost.pane));
    let pane = env.tmux(&["list-panes", "-t", "=mine:", "-F", "#{pane_id}"]);
    let mut attach = env.command(&["attach", "lost"]);
    attach.env("TMUX", format!("{},1,0", env.socket().display())).env("TMUX_PANE", pane);
    let _ = env.run(&mut attach).success();
    eventually("there", || env.tmux(&["list-clients", "-F", "#{session_name}"]) == "lost");
    go("mine");
}

/// Two senders and a killer at each agent.
#[test]
fn messages_to_agents_that_die_end_no_server() {
    let env = TestEnv::new();
    env.tmux(&["new-session", "-d", "-s", "mine", "cat"]);
    let server = env.server_pid();
    for round in 0..5_u64 {
        let name = format!("a{round}");
        super::send::agent_named(&env, &name);
        let pid = env.seen(&name)["pid"].as_i64().unwrap();
        let send = |text: &str| {
            let args = ["send", &name, text, "--timeout", "5s", "--json"];
            let mut command = env.command(&args);
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
        };
        let senders = [send("one"), send("two")];
        // sleep: the kill has to come while they type; each round a little later.
        thread::sleep(Duration::from_millis(20 + 25 * round));
        kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
        for sender in senders {
            let said = sender.wait_with_output().unwrap();
            assert!(said.status.code().is_some(), "{said:?}");
        }
        assert_eq!(env.server_pid(), server, "the server has ended in round {round}");
    }
}
