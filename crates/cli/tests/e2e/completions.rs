//! Completions in real shells: an interactive one in a tmux pane where that is needed.

use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_testkit::{TestEnv, dogwatch, eventually, eventually_or, skip};

fn path() -> String {
    let folder = Path::new(dogwatch()).parent().unwrap().display().to_string();
    format!("{folder}:{}", std::env::var("PATH").unwrap())
}

/// What an interactive shell shows after `dogwatch kill ` and Tab.
fn completes_in_a_pane(shell: &[&str], load: &str) {
    if !skip::has_program(shell[0], None) {
        return;
    }
    let env = TestEnv::new();
    env.spawn_script("living-one", "exec sleep 300");
    env.spawn_script("ended-one", "exit 0");
    env.wait_state("ended-one", "exited");
    let script = env.dogwatch(&["completions", shell[0]]).success().text();
    env.write("script", script);
    let mut words = vec!["new-session", "-d", "-s", "shell", "-x", "100", "-y", "30"];
    let variables = [
        format!("DOGWATCH_STATE_DIR={}", env.state_dir().display()),
        format!("DOGWATCH_TMUX={}", env.socket().display()),
        "PS1=ready> ".to_owned(),
    ];
    for variable in &variables {
        words.extend(["-e", variable]);
    }
    let folder = env.work().display().to_string();
    words.extend(["-c", &folder]);
    words.extend(shell);
    env.tmux(&words);
    let screen = || env.tmux(&["capture-pane", "-p", "-t", "=shell:"]);
    let keys = |keys: &[&str]| env.tmux(&[&["send-keys", "-t", "=shell:"], keys].concat());
    eventually("a prompt", || screen().contains("ready>"));
    // tmux takes PATH from the client that makes the session, whatever `-e` says.
    env.write("path", format!("PATH='{}'", path()));
    keys(&["-l", ". ./path; "]);
    keys(&["-l", load]);
    keys(&["Enter"]);
    eventually("it is loaded", || screen().contains("loaded-here"));
    keys(&["-l", "dogwatch kill liv"]);
    keys(&["Tab"]);
    let shows = |text: &str| {
        let screen = screen();
        if screen.contains(text) { Ok(()) } else { Err(screen) }
    };
    eventually_or("the living session", || shows("dogwatch kill living-one"));
    keys(&["-l", "end"]);
    keys(&["Tab"]);
    keys(&["-l", "X"]);
    eventually_or("nothing for the ended one", || shows("dogwatch kill living-one endX"));
    // Nothing was done.
    assert_eq!(env.seen("living-one")["state"], "running");
}

#[test]
fn bash_completes_a_living_session() {
    completes_in_a_pane(&["bash", "--norc"], "source ./script; printf 'loaded-%s\\n' here");
}

#[test]
fn zsh_completes_a_living_session() {
    completes_in_a_pane(
        &["zsh", "-f"],
        "autoload -U compinit; compinit -D -u; source ./script; printf 'loaded-%s\\n' here",
    );
}

/// As `./install` puts it: a function in a folder of `fpath`.
#[test]
fn zsh_completes_with_an_autoloaded_function() {
    completes_in_a_pane(
        &["zsh", "-f"],
        "mkdir -p f; cp script f/_dogwatch; fpath=($PWD/f $fpath); autoload -U compinit; compinit -D -u; printf 'loaded-%s\\n' here",
    );
}

#[test]
fn fish_lists_living_sessions_with_their_agents() {
    if !skip::has_program("fish", None) {
        return;
    }
    let env = TestEnv::new();
    env.spawn_script("living-one", "exec sleep 300");
    let script = env.dogwatch(&["completions", "fish"]).success().text();
    env.write("script", script);
    let mut fish = env.foreign("fish");
    fish.args(["-c", "source ./script; complete -C 'dogwatch kill '"]).env("PATH", path());
    fish.env("DOGWATCH_STATE_DIR", env.state_dir()).env("DOGWATCH_TMUX", env.socket());
    let said = env.run(fish.current_dir(env.work())).success().text();
    assert!(said.starts_with("living-one\tcommand\n"), "{said}");
}

/// The words of a command line, as the scripts pass them.
fn candidates(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let mut command = env.command(&[&["--", "dogwatch"], words].concat());
    let output = env.run(command.env("DOGWATCH_COMPLETE", "fish")).success().text();
    output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn what_is_offered_for_each_kind_of_argument() {
    let env = TestEnv::new();
    env.spawn_script("living-one", "exec sleep 300");
    env.spawn_script("ended-one", "exit 0");
    env.wait_state("ended-one", "exited");
    let raise = ["escalations", "raise", "unexpected", "what now?"];
    let _ = env.dogwatch(&raise).success();
    env.add_profile("mine", "", "exit 0");
    let first = |words: &[&str], n: usize| {
        let mut all = candidates(&env, words);
        all.truncate(n);
        all
    };
    assert_eq!(first(&["capture", ""], 2), ["living-one", "ended-one"]);
    assert_eq!(first(&["send", ""], 1), ["living-one"]);
    assert_eq!(first(&["escalations", "answer", ""], 1), ["1"]);
    assert_eq!(candidates(&env, &["wait", "living-one", "--for", "wa"]), ["waiting"]);
    assert_eq!(candidates(&env, &["spawn", "mi"]), ["mine"]);
    assert_eq!(candidates(&env, &["task", "add", "--role", "tech"]), ["tech-writer"]);
    assert_eq!(candidates(&env, &["bug"]), ["bug-report"]);
    let (socket, dir) = (env.another_socket("other"), env.state_dir().display().to_string());
    let socket = socket.display().to_string();
    assert!(candidates(&env, &["--socket", &socket, "kill", "liv"]).is_empty());
    assert_eq!(candidates(&env, &["--state-dir", &dir, "kill", "liv"]), ["living-one"]);
}

#[test]
fn completing_creates_nothing_and_is_quick() {
    let env = TestEnv::new();
    let none = env.root().join("nowhere");
    let dir = none.display().to_string();
    assert!(candidates(&env, &["--state-dir", &dir, "kill", "x"]).is_empty());
    assert!(!none.exists());
    env.spawn_script("living-one", "exec sleep 300");
    let begun = Instant::now();
    assert_eq!(candidates(&env, &["kill", "liv"]), ["living-one"]);
    // Without optimisation and on a loaded machine; a released binary takes a few milliseconds.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn the_variable_alone_changes_nothing() {
    let env = TestEnv::new();
    let mut command = env.command(&["ls", "--json"]);
    let said = env.run(command.env("DOGWATCH_COMPLETE", "bash")).success().json();
    assert!(said["sessions"].is_array(), "{said}");
}

#[test]
fn man_pages_for_every_command() {
    let env = TestEnv::new();
    let written = env.dogwatch(&["man", "man1"]).success().text();
    assert!(written.lines().count() > 60, "{written}");
    let page = std::fs::read_to_string(env.work().join("man1/dogwatch-kill.1")).unwrap();
    for part in [".TH dogwatch-kill 1", "End a session", ".SH EXAMPLES", "dogwatch kill build"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let hidden = ["judge", "run", "deliver", "lab"];
    assert!(hidden.iter().all(|name| !written.contains(&format!("dogwatch-{name}.1"))));
}
