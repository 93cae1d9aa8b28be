//! What is listed, and the keys that move in it.

use dogwatch_testkit::{TestEnv, eventually};

use super::terminal::Terminal;

#[test]
fn without_a_terminal_it_prints_what_status_prints() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let status = env.dogwatch(&["status"]).success().text();
    for args in [&[][..], &["top"]] {
        let printed = env.dogwatch::<&str>(args).success().text();
        let words =
            |text: &str| text.split_whitespace().take(8).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&printed), words(&status), "{args:?}");
    }
    let json = env.dogwatch(&["--json"]).success().json();
    assert_eq!(json["sessions"][0]["name"], "one");
}

#[test]
fn the_queue_is_live_and_follows_the_keys() {
    let env = TestEnv::new();
    let go = env.work().join("go");
    env.spawn_script("steady", "printf '\\033[31mred words\\033[0m\\n'; exec sleep 300");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.02; done; exit 3", go.display());
    env.spawn_script("fails", &wait);
    let terminal = Terminal::top(&env, (120, 30));
    terminal.shows("2 working");
    terminal.shows("red words");
    let coloured = terminal.tmux(&["capture-pane", "-p", "-e", "-t", "=outer:"]);
    assert!(coloured.contains("\x1b[31mred words"), "{coloured}");
    // What fails comes to the top; the cursor stays on its session.
    std::fs::write(&go, "").unwrap();
    terminal.shows("exit code 3");
    terminal.until("it is on top", |screen| screen.contains(" 1 x fails"));
    terminal.selects("steady");
    terminal.keys(&["Tab"]);
    terminal.selects("fails");
    terminal.keys(&["w"]);
    terminal.shows("decided");
    terminal.keys(&["e"]);
    terminal.shows("crashed");
    terminal.keys(&["Escape"]);
    terminal.until("the tab is closed", |screen| !screen.contains("─ events"));
    terminal.write("/steady");
    terminal.until("the other is hidden", |screen| !screen.contains("fails"));
    terminal.keys(&["Enter"]);
    terminal.keys(&["Escape"]);
    terminal.shows("fails");
    // New ones appear by themselves.
    env.spawn_script("third", "exec sleep 300");
    terminal.shows("third");
    terminal.keys(&["q"]);
    terminal.is_restored();
    // The supervisor's connection, which nobody needs any more.
    eventually("nothing hidden is left", || {
        !env.tmux(&["list-sessions", "-F", "#{session_name}"]).contains("_dogwatch")
    });
}

#[test]
fn two_hundred_sessions() {
    let env = TestEnv::new();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let env = &env;
            scope.spawn(move || {
                for number in (part..200).step_by(4) {
                    env.spawn_script(&format!("s{number:03}"), "exec sleep 300");
                }
            });
        }
    });
    let terminal = Terminal::top(&env, (140, 40));
    terminal.shows("200 working");
    terminal.shows("more: ");
    // The last one is reached, and its screen shown.
    let is_first = || terminal.selected().starts_with("▌1 *");
    terminal.until("the first row is selected", |_| is_first());
    terminal.keys(&["G"]);
    terminal.until("the last row is selected", |screen| screen.contains('▌') && !is_first());
    terminal.keys(&["Home"]);
    terminal.until("the first row is selected again", |_| is_first());
    terminal.write("/s173");
    terminal.selects("s173");
    terminal.keys(&["Enter"]);
    terminal.keys(&["K"]);
    terminal.run("s173");
    terminal.shows("killed s173");
    terminal.keys(&["Escape"]);
    terminal.shows("199 working");
    terminal.keys(&["q"]);
    terminal.is_restored();
}
