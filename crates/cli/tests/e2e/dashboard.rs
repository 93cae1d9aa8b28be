//! The dashboard on a real terminal: a pane of another tmux server.

use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, eventually, eventually_or, process};
use rustix::process::Signal;

/// A terminal of some size with a shell in it.
struct Terminal<'a> {
    env: &'a TestEnv,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    fn open(env: &'a TestEnv, name: &str, size: (u16, u16)) -> Self {
        let socket = env.another_socket(name);
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let shell = "exec env PS1='$ ' sh";
        env.tmux_on(
            &socket,
            &["new-session", "-d", "-s", "outer", "-x", &width, "-y", &height, shell],
        );
        Self { env, socket }
    }

    /// With the dashboard open.
    fn top(env: &'a TestEnv, size: (u16, u16)) -> Self {
        let terminal = Self::open(env, "outer", size);
        terminal.run(dogwatch());
        terminal.shows("? keys");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        self.env.tmux_on(&self.socket, args)
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "=outer:"], keys].concat());
    }

    fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "=outer:", "-l", text]);
    }

    fn run(&self, line: &str) {
        self.write(line);
        self.keys(&["Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "=outer:"])
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        self.until(&format!("it shows {text:?}"), |screen| screen.contains(text));
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        eventually_or(what, || {
            let screen = self.screen();
            if is_so(&screen) { Ok(()) } else { Err(format!("\n{screen}")) }
        });
    }

    fn selected(&self) -> String {
        let screen = self.screen();
        screen.lines().find(|line| line.starts_with('▌')).unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn selects(&self, name: &str) {
        eventually_or(&format!("{name} is selected"), || {
            if self.selected().contains(name) { Ok(()) } else { Err(self.screen()) }
        });
    }

    fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-t", "=outer:", "-x", &width, "-y", &height]);
    }

    /// The process in the foreground of the terminal.
    fn pid(&self) -> i32 {
        let shell: i32 =
            self.tmux(&["display-message", "-p", "-t", "=outer:", "#{pane_pid}"]).parse().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        children.unwrap().split_whitespace().last().unwrap().parse().unwrap()
    }

    /// The shell has its terminal back as it was.
    #[track_caller]
    fn is_restored(&self) {
        self.until("the shell is back", |screen| screen.trim_end().ends_with('$'));
        self.run("clear; echo sane-$(stty -a | tr ' ' '\\n' | grep -cx -e echo -e icanon -e isig)");
        self.shows("sane-3");
        let flags = "#{alternate_on} #{cursor_flag} #{bracketed_paste_flag}";
        let told = self.tmux(&["display-message", "-p", "-t", "=outer:", flags]);
        assert!(told.starts_with("0 1"), "{told}");
    }
}

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
    let hidden = env.tmux(&["list-sessions", "-F", "#{session_name}"]);
    assert!(!hidden.contains("_dogwatch"), "{hidden}");
}

#[test]
fn attaching_from_outside_returns_to_the_same_row() {
    let env = TestEnv::new();
    env.spawn_script("one", "exec sleep 300");
    env.spawn_script("two", "echo welcome aboard; exec sleep 300");
    let terminal = Terminal::top(&env, (100, 30));
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
    process::signal(env.server_pid(), Signal::KILL);
    terminal.shows("terminal closed");
    env.spawn_script("two", "echo hello again; exec sleep 300");
    terminal.shows("two");
    terminal.keys(&["j"]);
    terminal.write("/two");
    terminal.shows("hello again");
    terminal.keys(&["Escape"]);
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
    process::signal(i32::try_from(follower.id()).unwrap(), Signal::TERM);
    assert!(follower.wait().unwrap().success());
    assert_eq!((option("@dogwatch_status"), state()), (String::new(), String::new()));
}

#[test]
fn the_plugin_binds_only_what_it_is_asked_to() {
    let env = TestEnv::new();
    env.tmux(&["new-session", "-d", "-s", "mine", "cat"]);
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/tmux-plugin/dogwatch.tmux");
    let bound = || env.tmux(&["list-keys"]).lines().filter(|line| line.contains("popup")).count();
    let before = bound();
    env.tmux(&["run-shell", plugin]);
    assert_eq!(bound(), before);
    env.tmux(&["set-option", "-g", "@dogwatch_popup_key", "g"]);
    env.tmux(&["run-shell", plugin]);
    assert_eq!(bound(), before + 1);
    let key = env.tmux(&["list-keys", "-T", "prefix", "g"]);
    assert!(key.contains("dogwatch popup"), "{key}");
}

#[test]
fn a_sidebar_goes_along() {
    let env = TestEnv::new();
    env.spawn_script("one", "echo welcome aboard; exec sleep 300");
    let shell = "exec env PS1='$ ' sh";
    env.tmux(&["new-session", "-d", "-s", "mine", "-x", "120", "-y", "30", shell]);
    let terminal = Terminal::open(&env, "outer", (120, 31));
    terminal.run(&format!("env -u TMUX tmux -S {} attach -t =mine:", env.socket().display()));
    eventually("the terminal is attached", || env.tmux(&["list-clients"]).contains("mine"));
    terminal.run(&format!("{} sidebar", dogwatch()));
    terminal.shows("⏎ attach");
    terminal.keys(&["Enter"]);
    terminal.shows("welcome aboard");
    terminal.shows("⏎ attach");
    let panes = env.tmux(&["list-panes", "-t", "=one:", "-F", "#{pane_width}"]);
    assert_eq!(panes.lines().next(), Some("40"), "{panes}");
    assert_eq!(panes.lines().count(), 2);
}
