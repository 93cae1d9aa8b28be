//! Signals, sizes, hostile output, servers that go, and terminals that are slow.

use dogwatch_testkit::{TestEnv, dogwatch, eventually, process};
use rustix::process::Signal;

use super::terminal::Terminal;

#[test]
fn killed_or_stopped_it_gives_the_terminal_back() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        process::signal(terminal.pid(), signal);
        terminal.is_restored();
        terminal.run(&format!("clear; {}", dogwatch()));
        terminal.selects("one");
    }
    terminal.keys(&["C-z"]);
    terminal.is_restored();
    terminal.run("clear; fg");
    terminal.selects("one");
    process::signal(terminal.pid(), Signal::TSTP);
    terminal.is_restored();
    terminal.run("clear; fg");
    terminal.selects("one");
    terminal.keys(&["q"]);
    terminal.is_restored();
}

#[test]
fn any_size_and_back() {
    let env = TestEnv::new();
    for name in ["one", "two", "three"] {
        env.spawn_script(name, "echo hello from me; exec sleep 300");
    }
    let terminal = Terminal::top(&env, (140, 40));
    terminal.shows("3 working");
    terminal.shows("FOLDER");
    terminal.keys(&["j"]);
    terminal.selects("two");
    for (width, height) in [(40, 10), (80, 24), (20, 5), (5, 2), (140, 40)] {
        terminal.resize(width, height);
        let has_redrawn = |screen: &str| match width {
            5 => true,
            20 => screen.contains("two") && !screen.contains("NAME"),
            40 => screen.contains("⏎ open") && !screen.contains("NAME"),
            80 => screen.contains("AGENT") && !screen.contains("FOLDER"),
            _ => screen.contains("FOLDER"),
        };
        terminal.until("it is drawn for its size", has_redrawn);
    }
    terminal.selects("two");
    terminal.shows("hello from me");
    terminal.keys(&["q"]);
    terminal.is_restored();
}

#[test]
fn nothing_of_an_agents_output_reaches_the_terminal_but_colours() {
    let env = TestEnv::new();
    // What tmux keeps of it: wide and combined characters, attributes, and names that look like codes.
    let script = r#"printf '\033]0;evil\007\033[31m日本語 ÀÉ\033[0m e\314\201 \033[5;7mblink\033[0m\n'
printf '\033[?1049h\033[2J\033[H\033[6n\033[c\033P+q544e\033\\\033[8mhidden\033[0m \302\233 2J right-to-left \342\200\256 over\n'
for i in $(seq 1 40); do printf '\360\237\246\200\360\237\221\251\342\200\215\360\237\222\273 %s\t|\n' "$i"; done
exec sleep 300"#;
    env.spawn_script("hostile", script);
    env.spawn_script("calm", "exec sleep 300");
    let terminal = Terminal::open(&env, "outer", (100, 30));
    terminal.tmux(&["set-option", "-g", "set-titles", "on"]);
    let log = env.work().join("bytes");
    terminal.tmux(&["pipe-pane", "-t", "=outer:", &format!("cat > '{}'", log.display())]);
    terminal.run(dogwatch());
    terminal.selects("hostile");
    terminal.until("its screen is shown", |screen| screen.contains("40"));
    terminal.keys(&["q"]);
    terminal.is_restored();
    let bytes = std::fs::read(log).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let begun = text.find("\x1b[?1049h").expect("the alternate screen");
    let ended = text.rfind("\x1b[?1049l").expect("and its end");
    let drawn = &text[begun + 8..ended];
    let mut rest = drawn;
    while let Some(at) = rest.find('\x1b') {
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).expect("a sequence ends");
        let (sequence, kind) = (&rest[..end], &rest[end..=end]);
        let is_ours = match kind {
            // Colours, the cursor, clearing.
            "m" | "H" | "J" => {
                sequence.starts_with('[')
                    && sequence[1..].chars().all(|c| c.is_ascii_digit() || matches!(c, ';' | ':'))
            }
            "h" | "l" => ["[?25", "[?2004"].contains(&sequence),
            _ => false,
        };
        assert!(is_ours, "ESC {sequence}{kind} in {drawn:?}");
    }
    assert!(!drawn.chars().any(|c| c.is_control() && c != '\x1b'), "{drawn:?}");
    assert!(!drawn.contains('\u{202e}') && !drawn.contains('\u{9b}'));
}

#[test]
fn a_server_that_goes_and_comes_back() {
    let env = TestEnv::new();
    let terminal = Terminal::top(&env, (100, 30));
    terminal.shows("No agents here yet.");
    terminal.shows("not running");
    env.spawn_script("one", "exec sleep 300");
    terminal.selects("one");
    // One that hangs for a while is not gone.
    let server = env.server_pid();
    process::signal(server, Signal::STOP);
    terminal.shows("tmux does not answer");
    process::signal(server, Signal::CONT);
    terminal.until("it answers again", |screen| !screen.contains("does not answer"));
    terminal.selects("one");
    process::signal(server, Signal::KILL);
    terminal.shows("the tmux server died");
    env.spawn_script("two", "echo hello again; exec sleep 300");
    terminal.shows("two");
    terminal.keys(&["j"]);
    terminal.write("/two");
    terminal.shows("hello again");
    terminal.keys(&["Escape"]);
    // A key that came together with the Esc would be one with Alt.
    terminal.shows("the tmux server died");
    terminal.keys(&["q"]);
    terminal.is_restored();
}

#[test]
fn two_at_once_and_one_whose_terminal_is_slow() {
    let env = TestEnv::new();
    env.spawn_script("one", "while :; do date; sleep 0.05; done");
    let first = Terminal::top(&env, (100, 30));
    let second = Terminal::open(&env, "second", (80, 24));
    second.run(dogwatch());
    second.selects("one");
    // A terminal that takes nothing for a while holds up neither the other one nor the agent.
    let server: i32 = first.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap();
    process::signal(server, Signal::STOP);
    for number in 0..3 {
        let name = format!("new{number}");
        env.spawn_script(&name, "exec sleep 300");
        second.shows(&name);
    }
    process::signal(server, Signal::CONT);
    first.shows("new2");
    for terminal in [&first, &second] {
        terminal.keys(&["q"]);
        terminal.is_restored();
    }
}

/// Asked to end while its terminal takes nothing, it ends, and the terminal is as it was.
#[test]
fn killed_while_its_terminal_takes_nothing() {
    let env = TestEnv::new();
    // New text all over the screen, as often as frames are drawn.
    let turns = env.work().join("turns");
    let script = format!(
        "i=0; while :; do i=$((i+1000)); seq -s ' ' $i $((i+3000)); echo >> '{}'; sleep 0.02; done",
        turns.display()
    );
    env.spawn_script("one", &script);
    let terminal = Terminal::top(&env, (180, 50));
    terminal.selects("one");
    let pid = terminal.pid();
    let server: i32 = terminal.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap();
    process::signal(server, Signal::STOP);
    // A pty holds 64 kB; a frame of this has 13.
    let turned = || std::fs::metadata(&turns).map_or(0, |file| file.len());
    let begun = turned();
    eventually("dozens of frames were due", || turned() > begun + 150);
    process::signal(pid, Signal::TERM);
    eventually("it has ended", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
    });
    process::signal(server, Signal::CONT);
    terminal.is_restored();
}

/// Stopped and continued from outside, without a word to it.
#[test]
fn stopped_from_outside_it_takes_the_terminal_back() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
    process::signal(terminal.pid(), Signal::STOP);
    terminal.until("the shell has the terminal", |screen| {
        screen.lines().any(|line| line.trim_end().ends_with('$'))
    });
    // Nothing has reset the terminal yet: Enter is no end of a line there.
    terminal.write("stty sane; clear; echo the shell was here");
    terminal.keys(&["C-j"]);
    terminal.shows("the shell was here");
    terminal.run("fg");
    terminal.selects("one");
    terminal.keys(&["w"]);
    terminal.shows("SOURCE");
    terminal.keys(&["w"]);
    terminal.keys(&["q"]);
    terminal.is_restored();
}

/// Puts the database aside, or back.
fn move_database(from: &std::path::Path, to: &std::path::Path) {
    for name in ["dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"] {
        if from.join(name).exists() {
            std::fs::rename(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// An error is in sight although rows are, and sessions that went away meanwhile do not stay in the list.
#[test]
fn a_database_that_is_broken_and_one_that_is_new() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::top(&env, (120, 30));
    terminal.selects("one");
    let aside = env.work().join("aside");
    std::fs::create_dir(&aside).unwrap();
    move_database(env.state_dir(), &aside);
    std::fs::write(env.state_dir().join("dogwatch.db"), "this is no database").unwrap();
    terminal.shows("error: ");
    terminal.selects("one");
    std::fs::remove_file(env.state_dir().join("dogwatch.db")).unwrap();
    move_database(&aside, env.state_dir());
    terminal.until("all is well again", |screen| {
        !screen.contains("error: ") && screen.contains("? keys")
    });
    terminal.selects("one");
    // A new one is made with what still runs.
    move_database(env.state_dir(), &aside);
    let made = env.state_dir().join("dogwatch.db");
    eventually("the new one is there", || made.exists());
    terminal.until("all is well with the new one", |screen| {
        !screen.contains("error: ") && screen.contains("? keys")
    });
    terminal.selects("one");
    terminal.keys(&["q"]);
    terminal.is_restored();
    for name in ["dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm"] {
        let _ = std::fs::remove_file(env.state_dir().join(name));
    }
    move_database(&aside, env.state_dir());
}

/// Whatever the terminal is sent without colours: attributes, and no colour.
#[test]
fn without_colours_none_is_sent() {
    let env = TestEnv::new();
    env.spawn_script(
        "one",
        "printf '\\033[31;42;1mred\\033[38;5;9m words\\033[0m\\n'; exec sleep 300",
    );
    env.spawn_script("fails", "exit 3");
    env.wait_state("fails", "crashed");
    let terminal = Terminal::open(&env, "outer", (120, 30));
    let log = env.work().join("bytes");
    terminal.tmux(&["pipe-pane", "-t", "=outer:", &format!("cat > '{}'", log.display())]);
    terminal.run(&format!("NO_COLOR=1 {}", dogwatch()));
    terminal.shows("exit code 3");
    terminal.write("/one");
    terminal.keys(&["Enter"]);
    terminal.shows("red words");
    terminal.keys(&["w"]);
    terminal.shows("decided");
    terminal.keys(&["d"]);
    terminal.shows("─ diff");
    terminal.keys(&["q"]);
    terminal.is_restored();
    let bytes = std::fs::read(log).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let begun = text.find("\x1b[?1049h").unwrap();
    let ended = text.rfind("\x1b[?1049l").unwrap();
    let mut attributes = 0;
    for part in text[begun..ended].split("\x1b[").skip(1) {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        if &part[end..=end] == "m" {
            attributes += 1;
            let is_colour = |code: &str| code.parse::<u32>().is_ok_and(|code| code >= 30);
            assert!(!part[..end].split([';', ':']).any(is_colour), "{:?}", &part[..=end]);
        }
    }
    assert!(attributes > 5, "bold and dim are left: {attributes}");
}

/// As the leader of its session, as below `ssh -t host dogwatch`, it has no shell that could continue it.
#[test]
fn without_job_control_it_does_not_stop() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::open(&env, "outer", (100, 30));
    let state = env.state_dir().display().to_string();
    let line =
        format!("exec {} --socket {} --state-dir {state} top", dogwatch(), env.socket().display());
    terminal.tmux(&["respawn-pane", "-k", "-t", "=outer:", &line]);
    terminal.selects("one");
    terminal.keys(&["C-z"]);
    terminal.shows("cannot suspend");
    terminal.keys(&["w"]);
    terminal.shows("SOURCE");
}

/// A terminal that nothing has told its size is taken for one of 80 columns and 24 lines.
#[test]
fn a_terminal_without_a_size() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    let terminal = Terminal::open(&env, "outer", (80, 24));
    terminal.run(&format!("stty rows 0 cols 0; {}", dogwatch()));
    terminal.selects("one");
    terminal.keys(&["q"]);
}
