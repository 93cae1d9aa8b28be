//! What the keys do to sessions.

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};
use rustix::process::Signal;

use super::terminal::Terminal;

#[test]
fn attaching_from_outside_returns_to_the_same_row() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "echo welcome aboard; exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
    terminal.shows("2 working");
    terminal.keys(&["j"]);
    terminal.selects("two");
    terminal.keys(&["Enter"]);
    eventually("it is attached", || env.seen("two")["attached"] == true);
    terminal.until("the session has the terminal", |screen| !screen.contains("NAME"));
    env.tmux(&["detach-client", "-s", "=two:"]);
    terminal.shows("NAME");
    terminal.selects("two");
    terminal.keys(&["q"]);
    terminal.is_restored();
}

#[test]
fn within_the_same_tmux_the_client_moves() {
    let env = TestEnv::new();
    env.spawn_script("one", "echo welcome aboard; exec sleep 300");
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "100", "-y", "30", "env PS1='$ ' sh"]);
    let terminal = Terminal::open(&env, "outer", (100, 30));
    terminal.run(&format!("env -u TMUX tmux -S {} attach -t =mine:", env.socket().display()));
    let on_display = || {
        let clients = env.tmux(&["list-clients", "-F", "#{session_name}"]);
        clients.lines().filter(|name| !name.starts_with("_dogwatch")).collect::<String>()
    };
    eventually("the terminal is attached", || on_display() == "mine");
    terminal.run(&format!("{} top", dogwatch()));
    terminal.selects("one");
    terminal.keys(&["Enter"]);
    eventually("it has moved", || on_display() == "one");
    terminal.shows("welcome aboard");
    // The dashboard goes on behind it.
    env.tmux(&["switch-client", "-t", "=mine:"]);
    terminal.selects("one");
}

#[test]
fn a_session_is_killed_by_its_name() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
    terminal.selects("one");
    terminal.run("Ktwo");
    terminal.shows("not killed: type one");
    terminal.keys(&["C-u"]);
    terminal.run("one");
    terminal.shows("killed one");
    terminal.until("it is gone", |screen| !screen.contains("1 * one"));
    assert_eq!(env.seen("two")["state"], "running");
    // A new one by the form.
    env.add_profile("helper", "", "echo at your service; exec sleep 300");
    terminal.keys(&["q"]);
    // What is typed before the shell is back is lost.
    terminal.is_restored();
    terminal.run(&format!("clear; {}", dogwatch()));
    terminal.selects("two");
    terminal.write("n");
    terminal.shows("new session");
    terminal.keys(&["Down", "C-u"]);
    terminal.write("help");
    terminal.keys(&["Tab"]);
    terminal.shows("agent     helper");
    terminal.keys(&["Down", "Down"]);
    terminal.run("made-here");
    eventually("it was started", || env.seen("made-here")["state"] == "running");
    terminal.shows("made-here");
}

const DIALOG: &str =
    include_str!("../../../../core/testdata/screens/codex/0.166.0/permission_exec.txt");

/// An agent that asks for permission, asks for something else once the file `go` is there, and keeps every key that it gets.
fn asks_twice(env: &TestEnv) {
    env.write("first.txt", DIALOG.trim_end());
    let other = DIALOG.replace("touch", "rm -rf");
    assert_ne!(other, DIALOG);
    env.write("second.txt", other.trim_end());
    let work = env.work().display();
    let script = format!(
        "cd '{work}'; stty raw -echo; show() {{ printf '\\033[H\\033[2J'; sed 's/$/\\r/' \"$1\"; }}\n\
         show first.txt; (while [ ! -e go ]; do sleep 0.02; done; show second.txt; touch shown) &\n\
         exec cat > received"
    );
    env.add_profile("codex", "", &script);
    env.spawn(&["codex", "--name", "asker"]);
}

fn received(env: &TestEnv) -> Vec<u8> {
    std::fs::read(env.work().join("received")).unwrap()
}

#[test]
fn a_dialog_that_changes_before_the_digit_is_not_answered() {
    let env = TestEnv::new();
    asks_twice(&env);
    let terminal = Terminal::top(&env, (120, 40));
    terminal.shows("1 need you");
    terminal.keys(&["a"]);
    terminal.shows("answer asker");
    env.write("go", "");
    terminal.shows("the dialog has changed; nothing was answered");
    terminal.shows("rm -rf");
    // The digit alone does nothing; what is on display now can be answered.
    terminal.keys(&["1"]);
    terminal.until("the list is back", |screen| !screen.contains("answer asker"));
    assert!(received(&env).is_empty());
    terminal.keys(&["a"]);
    terminal.shows("answer asker");
    terminal.keys(&["1"]);
    eventually("the second one is answered", || !received(&env).is_empty());
}

/// The key is pressed while the dashboard cannot know of the change yet.
#[test]
fn a_dialog_that_changes_between_the_frame_and_the_key_is_not_answered() {
    let env = TestEnv::new();
    asks_twice(&env);
    let terminal = Terminal::open(&env, "outer", (120, 40));
    // Below a shell that does not notice that it is stopped.
    terminal.run(&format!("sh -c '{}; true'", dogwatch()));
    terminal.shows("1 need you");
    terminal.keys(&["a"]);
    terminal.shows("answer asker");
    let dashboard = process::children(terminal.pid())[0];
    process::signal(dashboard, Signal::STOP);
    env.write("go", "");
    eventually("the other dialog is shown", || env.work().join("shown").exists());
    terminal.keys(&["1"]);
    process::signal(dashboard, Signal::CONT);
    terminal.until("it is refused", |screen| {
        screen.contains("has changed") || screen.contains("not answered")
    });
    terminal.shows("rm -rf");
    assert!(received(&env).is_empty());
    terminal.keys(&["q"]);
    terminal.is_restored();
}

/// What was seen with real agents: Alt-Enter in the form was taken for Esc and Enter, so that the dashboard attached and the text that
/// followed answered a dialog. And Esc and a key that are read together, as terminals send Alt.
#[test]
fn alt_chords_reach_no_agent() {
    let env = TestEnv::new();
    asks_twice(&env);
    let takes_prompt = "[launch]\nprompt = ['@prompt@']\n";
    let tell = format!("printf %s \"$1\" > '{}/told'; exec sleep 300", env.work().display());
    env.add_profile("helper", takes_prompt, &tell);
    let terminal = Terminal::top(&env, (120, 40));
    let alt = |key: char| {
        let key = format!("{:x}", u32::from(key));
        terminal.keys(&["-H", "1b", &key]);
    };
    terminal.shows("1 need you");
    terminal.selects("asker");
    for key in ['a', '1', 'm', 'K', 'n', '\r'] {
        alt(key);
    }
    // Alt-Up of terminals that put an Esc before the bytes of Up: its last letter archives.
    terminal.keys(&["-H", "1b", "1b", "5b", "41"]);
    // The form keeps what is written, and its prompt has lines.
    terminal.write("nlook at this");
    alt('\r');
    terminal.write("1. read the code");
    terminal.shows("look at this↵1. read the code");
    for key in ['x', '1', '\u{7f}'] {
        alt(key);
    }
    terminal.keys(&["Down", "C-u"]);
    terminal.run("helper");
    terminal.shows("Enter again to go on");
    terminal.keys(&["Enter"]);
    terminal.shows("spawn: ");
    // A message that Esc and a letter were to leave is not sent by the next Enter.
    terminal.selects("asker");
    terminal.write("mwords");
    terminal.shows("message to asker");
    alt('1');
    terminal.keys(&["Enter"]);
    terminal.shows("Enter again to go on");
    terminal.keys(&["Escape"]);
    terminal.until("it is closed", |screen| !screen.contains("message to asker"));
    // Nor does a digit answer that came with an Esc, or after one that may have been pressed.
    terminal.keys(&["a"]);
    terminal.shows("answer asker");
    alt('1');
    terminal.keys(&["1"]);
    terminal.shows("1 again to go on");
    assert!(received(&env).is_empty(), "{:?}", received(&env));
    terminal.keys(&["1"]);
    eventually("it is answered", || !received(&env).is_empty());
    eventually("the other one has its prompt", || {
        let told = std::fs::read_to_string(env.work().join("told")).unwrap_or_default();
        told == "look at this\n1. read the code"
    });
}

#[test]
fn several_at_once_by_marks() {
    let env = TestEnv::new();
    for name in ["one", "two", "three"] {
        env.spawn_script(name, "exec sleep 300");
    }
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("one");
    terminal.keys(&["Space", "Space"]);
    terminal.selects("three");
    terminal.shows("2 marked");
    terminal.run("tnight shift");
    terminal.shows("2 done; tag: ");
    for (name, tags) in [("one", 2), ("two", 2), ("three", 0)] {
        assert_eq!(env.seen(name)["tags"].as_array().map_or(0, Vec::len), tags, "{name}");
    }
    // Groups by tag show them as they are now.
    terminal.keys(&["g", "g"]);
    terminal.shows("── night, shift 2");
    terminal.keys(&["g", "g", "g", "g"]);
    // A title is what the list shows from then on.
    terminal.run("NThe last one");
    terminal.selects("The last one");
    terminal.shows("The last one (three)");
    // Several are killed by their number, and archived one by one.
    terminal.keys(&["1", "Space", "Space"]);
    terminal.run("K2");
    terminal.shows("killed one, two");
    for name in ["one", "two"] {
        assert_ne!(env.seen(name)["state"], "running");
    }
    terminal.keys(&["A"]);
    terminal.shows("three");
    terminal.shows("is running");
}

/// One that cannot be killed does not keep the others alive, and each is reported.
#[test]
fn what_can_be_killed_of_the_marked_is_killed() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let terminal = Terminal::open(&env, "outer", (140, 30));
    terminal.run(&format!("sh -c '{}; true'", dogwatch()));
    terminal.selects("one");
    terminal.keys(&["Space", "Space"]);
    terminal.shows("2 marked");
    terminal.write("K2");
    terminal.shows("Type 2, then Enter: 2");
    let dashboard = process::children(terminal.pid())[0];
    process::signal(dashboard, Signal::STOP);
    // It goes away entirely before Enter is read.
    let _ = env.dogwatch(&["kill", "one", "--now"]).success();
    let _ = env.dogwatch(&["gc", "--older-than", "0s"]).success();
    terminal.keys(&["Enter"]);
    process::signal(dashboard, Signal::CONT);
    terminal.shows("killed two");
    terminal.shows("one: ");
    assert_ne!(env.seen("two")["state"], "running");
}

#[test]
fn ended_sessions_are_archived() {
    let env = TestEnv::new();
    env.spawn_script("fails", "exit 3");
    env.spawn_script("stays", "exec sleep 300");
    env.wait_state("fails", "crashed");
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("fails");
    terminal.keys(&["A"]);
    terminal.shows("archive: fails: archived");
    terminal.selects("stays");
    terminal.until("its row is gone", |screen| !screen.contains("exit code 3"));
    // Several by marks, one of which runs.
    for name in ["first", "second"] {
        env.spawn_script(name, "exit 4");
        env.wait_state(name, "crashed");
    }
    terminal.until("both are listed", |screen| screen.matches("exit code 4").count() == 2);
    terminal.keys(&["1", "Space", "Space", "Space", "A"]);
    terminal.shows("session stays is running");
    terminal.until("their rows are gone", |screen| !screen.contains("exit code 4"));
    terminal.selects("stays");
    for name in ["first", "second"] {
        let archived = env.dogwatch(&["ls", "--archived", "--json"]).success().json().to_string();
        assert!(archived.contains(&format!("\"{name}\"")), "{archived}");
    }
}

#[test]
fn a_message_that_failed_can_be_sent_again() {
    let env = TestEnv::new();
    env.spawn_script("gone", "exit 3");
    env.wait_state("gone", "crashed");
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("gone");
    terminal.write("m");
    terminal.shows("message to gone");
    terminal.run("a long explanation");
    terminal.until("it is refused", |screen| {
        let last = screen.trim_end().lines().last().unwrap_or_default().to_owned();
        last.contains("gone") && !last.contains("sending")
    });
    terminal.write("m");
    terminal.shows("a long explanation");
}

/// A session that takes its time to end: quitting waits for it, and says so.
#[test]
fn quitting_does_not_cut_a_kill_short() {
    let env = TestEnv::new();
    let (asked, go) = (env.work().join("asked"), env.work().join("go"));
    let script = format!(
        "trap 'touch {}; while [ ! -e {} ]; do sleep 0.02; done; exit 0' TERM HUP; while :; do sleep 0.05; done",
        asked.display(),
        go.display()
    );
    env.spawn_script("slow", &script);
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("slow");
    terminal.run("Kslow");
    terminal.keys(&["q"]);
    terminal.shows("quits after killing slow; q again quits at once");
    // Another key goes on.
    terminal.keys(&["w"]);
    terminal.shows("SOURCE");
    terminal.keys(&["w", "q"]);
    terminal.shows("quits after killing slow");
    eventually("it was asked to end", || asked.exists());
    std::fs::write(&go, "").unwrap();
    terminal.is_restored();
    assert_ne!(env.seen("slow")["state"], "running");
}

/// A command of the palette runs as long as it takes; Esc ends it, and so does quitting, the second time.
#[test]
fn a_command_of_the_palette_is_cancelled() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("one");
    let wait = || {
        terminal.keys(&["C-k"]);
        terminal.write("dogwatch wait");
        terminal.keys(&["Enter"]);
        terminal.shows("dogwatch wait one");
        terminal.run("--for idle");
        terminal.shows("Esc cancels it");
    };
    let waits = || {
        let all = process::children(terminal.pid());
        all.into_iter().filter(|pid| process::command_line(*pid).contains("wait")).count()
    };
    wait();
    eventually("it runs", || waits() == 1);
    terminal.keys(&["Escape"]);
    terminal.shows("cancelled");
    assert_eq!(waits(), 0);
    terminal.keys(&["Escape"]);
    terminal.selects("one");
    // Left to itself in another view, it says how it ended.
    wait();
    terminal.keys(&["J"]);
    terminal.shows("no jobs");
    let _ = env.dogwatch(&["kill", "one", "--now"]).success();
    terminal.shows("dogwatch wait one --for idle: exit code 4");
    terminal.keys(&["Escape"]);
    env.spawn_script("one", "exec sleep 300");
    terminal.selects("one");
    wait();
    eventually("it runs", || waits() == 1);
    terminal.keys(&["J"]);
    terminal.shows("no jobs");
    terminal.keys(&["Escape"]);
    terminal.selects("one");
    terminal.keys(&["q"]);
    terminal.shows("dogwatch wait one --for idle is running; q again stops it and quits");
    assert_eq!(waits(), 1);
    terminal.keys(&["q"]);
    terminal.is_restored();
}

#[test]
fn everything_by_the_palette() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let terminal = Terminal::top(&env, (120, 30));
    terminal.keys(&["C-k"]);
    terminal.write("go two");
    terminal.shows("go to two");
    terminal.keys(&["Enter"]);
    terminal.selects("two");
    // A command of the command line, with the selected session filled in.
    terminal.keys(&["C-k"]);
    terminal.write("dogwatch capture");
    terminal.keys(&["Enter"]);
    terminal.shows("dogwatch capture two");
    terminal.keys(&["C-u"]);
    terminal.run("ls");
    terminal.shows("── dogwatch ls ─");
    terminal.shows("NAME");
    terminal.keys(&["Escape"]);
    terminal.selects("two");
    terminal.keys(&["C-k"]);
    terminal.write("usage: tokens");
    terminal.keys(&["Enter"]);
    terminal.shows("── usage ─");
}

#[test]
fn the_form_completes_folders() {
    let env = TestEnv::new();
    env.add_profile("helper", "", "pwd; exec sleep 300");
    std::fs::create_dir_all(env.work().join("deep/down here")).unwrap();
    let terminal = Terminal::top(&env, (120, 30));
    terminal.shows("No agents here yet.");
    terminal.write("n");
    terminal.shows("new session");
    terminal.keys(&["Down", "C-u"]);
    terminal.write("helper");
    terminal.keys(&["Down", "C-u"]);
    terminal.write(&format!("{}/de", env.work().display()));
    terminal.keys(&["Tab"]);
    terminal.shows("deep/");
    terminal.keys(&["Tab"]);
    terminal.shows("down here/");
    terminal.keys(&["Down"]);
    terminal.run("deeply");
    terminal.shows("spawn: ");
    terminal.selects("deeply");
    terminal.shows("deep/down here");
    assert_eq!(env.seen("deeply")["cwd"], env.work().join("deep/down here").to_str().unwrap());
}

#[test]
fn a_mouse_selects_and_scrolls_if_it_is_asked_for() {
    let env = TestEnv::new();
    env.spawn_script("one", "for i in $(seq 1 200); do echo line-$i; done; exec sleep 300");
    env.spawn_script("two", "exec sleep 300");
    let terminal = Terminal::open(&env, "outer", (120, 30));
    let asked = || terminal.tmux(&["display-message", "-p", "-t", "=outer:", "#{mouse_any_flag}"]);
    terminal.run(dogwatch());
    terminal.selects("one");
    assert_eq!(asked(), "0", "not unless it is asked for");
    terminal.keys(&["q"]);
    terminal.is_restored();
    terminal.run(&format!("{} top --mouse", dogwatch()));
    terminal.selects("one");
    terminal.shows("line-200");
    // A click on the second row; the wheel over the preview of the first one.
    terminal.write("\x1b[<0;10;5M\x1b[<0;10;5m");
    terminal.selects("two");
    terminal.write("\x1b[<64;10;5M");
    terminal.selects("one");
    terminal.shows("line-200");
    terminal.write("\x1b[<64;10;20M");
    terminal.shows("scrolled, Esc returns");
    terminal.until("the end is out of sight", |screen| !screen.contains("line-200"));
    terminal.keys(&["Escape"]);
    terminal.shows("line-200");
    terminal.keys(&["q"]);
    terminal.is_restored();
    assert_eq!(asked(), "0");
}
