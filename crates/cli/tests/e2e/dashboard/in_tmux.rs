//! Inside tmux: popup, sidebar, status line, options of panes, plugin.

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};
use rustix::process::Signal;

use super::terminal::Terminal;

const PLUGIN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/tmux-plugin/dogwatch.tmux");

#[test]
fn a_status_line_is_kept_current_and_cleared() {
    let env = TestEnv::new();
    let _ = env.dogwatch(&["popup"]).code(2);
    let one = env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exit 3");
    env.wait_state("two", "crashed");
    assert_eq!(env.dogwatch(&["tmux-status"]).success().text().trim(), "*1 x1");
    let mut follower = env.command(&["tmux-status", "--follow"]).spawn().unwrap();
    let option = |name: &str| env.tmux(&["show-options", "-gqv", name]);
    eventually("the option is set", || option("@dogwatch_status") == "*1 x1");
    let state = || env.tmux(&["show-options", "-pqv", "-t", &one.pane, "@dogwatch_state"]);
    eventually("the pane has its state", || state() == "working");
    env.spawn_script("three", "exec sleep 300");
    eventually("it is current", || option("@dogwatch_status") == "*2 x1");
    // Who asks gets what the follower shows, without looking again.
    eventually("so is the command", || {
        env.dogwatch(&["tmux-status"]).success().text().trim() == "*2 x1"
    });
    process::signal(i32::try_from(follower.id()).unwrap(), Signal::TERM);
    assert!(follower.wait().unwrap().success());
    eventually("both are removed", || option("@dogwatch_status").is_empty() && state().is_empty());
    env.spawn_script("four", "exec sleep 300");
    let alone = env.dogwatch(&["tmux-status"]).success().text();
    assert_eq!(alone.trim(), "*3 x1", "without a follower it looks itself");
}

/// A tmux that does not answer for a while does not end it; an error of its own does, and leaves nothing behind.
#[test]
fn a_status_line_survives_a_tmux_that_hangs() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let mut follower = env.command(&["tmux-status", "--follow"]).spawn().unwrap();
    let status = || env.tmux(&["show-options", "-gqv", "@dogwatch_status"]);
    eventually("the option is set", || status() == "*1");
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    // One that has to ask tmux waits in vain, and so does the supervisor meanwhile.
    let _ = env.dogwatch(&["status", "--all"]);
    process::signal(server, Signal::CONT);
    assert!(follower.try_wait().unwrap().is_none(), "it goes on");
    env.spawn_script("two", "exec sleep 300");
    eventually("it is current", || status() == "*2");
    let database = env.state_dir().join("dogwatch.db");
    let aside = env.state_dir().join("aside.db");
    std::fs::rename(&database, &aside).unwrap();
    assert!(!follower.wait().unwrap().success());
    eventually("the option is removed", || status().is_empty());
    let _ = std::fs::remove_file(&database);
    std::fs::rename(&aside, &database).unwrap();
}

/// One that failed and was started again under its name is counted once, as the dashboard lists it.
#[test]
fn a_session_that_was_started_again_counts_once() {
    let env = TestEnv::new();
    env.spawn_script("other", "exec sleep 300");
    let again = env.work().join("again");
    let script = format!("[ -e '{0}' ] && exec sleep 300; touch '{0}'; exit 3", again.display());
    env.add_profile("helper", "", &script);
    env.spawn(&["helper", "--name", "worker"]);
    env.wait_state("worker", "crashed");
    let status = || env.dogwatch(&["tmux-status"]).success().text().trim().to_owned();
    assert!(status().contains("x1"), "{}", status());
    let mut close = env.tmux_command(&env.socket(), &["kill-session", "-t", "=worker:"]);
    close.output().unwrap();
    env.spawn(&["helper", "--name", "worker"]);
    eventually("the new one counts", || !status().contains('x'));
    let mut follower = env.command(&["tmux-status", "--follow"]).spawn().unwrap();
    let option = || env.tmux(&["show-options", "-gqv", "@dogwatch_status"]);
    eventually("the option is set", || !option().is_empty());
    assert!(!option().contains('x'), "{}", option());
    process::signal(i32::try_from(follower.id()).unwrap(), Signal::TERM);
    assert!(follower.wait().unwrap().success());
}

#[test]
fn the_plugin_binds_only_what_it_is_asked_to() {
    let env = TestEnv::new();
    env.tmux(&["new-session", "-d", "-s", "mine", "cat"]);
    let bound = || env.tmux(&["list-keys"]).lines().filter(|line| line.contains("popup")).count();
    let before = bound();
    env.tmux(&["run-shell", PLUGIN]);
    assert_eq!(bound(), before);
    env.tmux(&["set-option", "-g", "@dogwatch_popup_key", "g"]);
    env.tmux(&["run-shell", PLUGIN]);
    assert_eq!(bound(), before + 1);
    let key = env.tmux(&["list-keys", "-T", "prefix", "g"]);
    assert!(key.contains("dogwatch popup"), "{key}");
}

#[test]
fn a_sidebar_goes_along() {
    let env = TestEnv::new();
    env.spawn_script("one", "echo welcome aboard; exec sleep 300");
    let terminal = attached(&env, (120, 30));
    terminal.run(&format!("{} sidebar", dogwatch()));
    terminal.shows("⏎ attach");
    terminal.keys(&["Enter"]);
    terminal.shows("welcome aboard");
    terminal.shows("⏎ attach");
    let panes = env.tmux(&["list-panes", "-t", "=one:", "-F", "#{pane_width}"]);
    assert_eq!(panes.lines().next(), Some("40"), "{panes}");
    assert_eq!(panes.lines().count(), 2);
}

/// A shell in session `mine` of the agents' own tmux server, shown by a client in the outer terminal.
fn attached(env: &TestEnv, size: (u16, u16)) -> Terminal<'_> {
    let shell = "exec env PS1='$ ' sh";
    let (width, height) = (size.0.to_string(), size.1.to_string());
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", &width, "-y", &height, shell]);
    let terminal = Terminal::open(env, "outer", (size.0, size.1 + 1));
    terminal.run(&format!("env -u TMUX tmux -S {} attach -t =mine:", env.socket().display()));
    eventually("the terminal is attached", || shown(env) == "mine");
    terminal
}

/// The session that the client shows.
fn shown(env: &TestEnv) -> String {
    let clients = env.tmux(&["list-clients", "-F", "#{client_control_mode} #{session_name}"]);
    clients.lines().filter_map(|line| line.strip_prefix("0 ")).collect()
}

#[test]
fn a_popup_closes_when_a_session_is_attached() {
    let env = TestEnv::new();
    env.spawn_script("one", "echo welcome aboard; exec sleep 300");
    let terminal = attached(&env, (120, 30));
    let keys = || env.tmux(&["list-keys"]);
    let before = keys();
    terminal.run(&format!("{} popup", dogwatch()));
    terminal.shows("q quit");
    assert_eq!(keys(), before, "it binds nothing");
    terminal.keys(&["q"]);
    terminal.until("it is closed", |screen| !screen.contains("q quit") && !screen.contains('│'));
    terminal.run(&format!("clear; {} top", dogwatch()));
    terminal.shows("q quit");
    assert_eq!(keys(), before, "nor does it in a pane");
    terminal.keys(&["q"]);
    terminal.until("it is closed", |screen| !screen.contains("q quit"));
    assert_eq!(keys(), before);
    terminal.run(&format!("clear; {} popup --width 80%", dogwatch()));
    terminal.shows("q quit");
    terminal.until("the session is listed", |screen| screen.contains("▌1 * one"));
    terminal.keys(&["Enter"]);
    eventually("the client has moved", || shown(&env) == "one");
    terminal.until("the popup is closed", |screen| {
        screen.contains("welcome aboard") && !screen.contains("q quit")
    });
}

/// The plugin's key opens the popup on the client whose key it was, and only there.
#[test]
fn a_popup_by_the_plugins_key() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = attached(&env, (120, 30));
    let other = Terminal::open(&env, "other", (120, 31));
    other.run(&format!("env -u TMUX tmux -S {} attach -t =one:", env.socket().display()));
    eventually("both are attached", || shown(&env).len() == "mineone".len());
    env.tmux(&["set-option", "-g", "@dogwatch_popup_key", "g"]);
    env.tmux(&["set-option", "-g", "@dogwatch_program", &program(&env)]);
    env.tmux(&["run-shell", PLUGIN]);
    terminal.keys(&["C-b", "g"]);
    terminal.shows("q quit");
    assert!(!other.screen().contains("q quit"), "{}", other.screen());
    terminal.keys(&["q"]);
    terminal.until("it is closed", |screen| !screen.contains("q quit"));
    other.keys(&["C-b", "g"]);
    other.shows("q quit");
    assert!(!terminal.screen().contains("q quit"), "{}", terminal.screen());
}

/// The command line of a dogwatch that uses this environment's state.
fn program(env: &TestEnv) -> String {
    let (socket, state) = (env.socket(), env.state_dir().to_owned());
    format!("{} --socket {} --state-dir {}", dogwatch(), socket.display(), state.display())
}

#[test]
fn one_follower_is_enough_and_ends_with_its_server() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.tmux(&["set-option", "-g", "@dogwatch_follow", "on"]);
    env.tmux(&["set-option", "-g", "@dogwatch_program", &program(&env)]);
    for _ in 0..3 {
        env.tmux(&["run-shell", PLUGIN]);
    }
    let status = || env.tmux(&["show-options", "-gqv", "@dogwatch_status"]);
    eventually("the status is set", || status() == "*1");
    let more = env.dogwatch(&["tmux-status", "--follow"]).success();
    assert!(more.to_string().contains("another process"), "{more}");
    let server = env.server_pid();
    let followers = || {
        let all = process::children(server);
        let is_one = |pid: &i32| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("--follow")
        };
        all.into_iter().filter(is_one).collect::<Vec<_>>()
    };
    eventually("one is left", || followers().len() == 1);
    let follower = followers()[0];
    process::signal(server, Signal::KILL);
    eventually("it ends", || !std::path::Path::new(&format!("/proc/{follower}")).exists());
}

/// What an agent asks is in the options of its pane, without anything that a status line would take as a format.
#[test]
fn the_options_of_a_pane_follow_its_agent() {
    let env = TestEnv::new();
    let dialog =
        include_str!("../../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");
    env.write("dialog.txt", dialog.trim_end());
    let file = env.work().join("dialog.txt");
    env.add_profile("codex", "", &format!("stty -echo; cat '{}'; exec sleep 300", file.display()));
    let asks = env.spawn(&["codex", "--name", "asks"]);
    let ends = env.spawn_script("ends", "read line; exit 3");
    let option = |pane: &str, name: &str| {
        let output = env.tmux_command(&env.socket(), &["show-options", "-pqv", "-t", pane, name]);
        let mut output = output;
        String::from_utf8(output.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let mut watch = env.command(&["watch"]);
    let mut watch = watch.stdout(std::process::Stdio::null()).spawn().unwrap();
    eventually("its state is there", || option(&asks.pane, "@dogwatch_state") == "waiting");
    let detail = option(&asks.pane, "@dogwatch_detail");
    assert!(detail.starts_with("permission: ") && !detail.contains('#'), "{detail}");
    eventually("the other's too", || option(&ends.pane, "@dogwatch_state") == "working");
    // Formats of tmux have them.
    let format = "#{pane_id} #{@dogwatch_state}";
    let listed = env.tmux(&["list-panes", "-a", "-F", format]);
    assert!(listed.contains(&format!("{} waiting", asks.pane)), "{listed}");
    process::signal(i32::try_from(watch.id()).unwrap(), Signal::KILL);
    watch.wait().unwrap();
    // Nothing that a killed watch asked for stays.
    eventually("it is removed", || option(&asks.pane, "@dogwatch_state").is_empty());
    let mut next = env.command(&["watch"]);
    let mut next = next.stdout(std::process::Stdio::null()).spawn().unwrap();
    env.keys(&ends, &["Enter"]);
    eventually("it is current again", || {
        matches!(option(&ends.pane, "@dogwatch_state").as_str(), "crashed" | "")
    });
    process::signal(i32::try_from(next.id()).unwrap(), Signal::TERM);
    next.wait().unwrap();
    eventually("it is removed", || option(&asks.pane, "@dogwatch_state").is_empty());
}
