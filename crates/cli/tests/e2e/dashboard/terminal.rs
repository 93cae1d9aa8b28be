//! A real terminal: a pane of another tmux server.

use std::path::PathBuf;

use dogwatch_testkit::{TestEnv, dogwatch, eventually_or};

/// A terminal of some size with a shell in it.
pub(super) struct Terminal<'a> {
    env: &'a TestEnv,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    pub(super) fn open(env: &'a TestEnv, name: &str, size: (u16, u16)) -> Self {
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
    pub(super) fn top(env: &'a TestEnv, size: (u16, u16)) -> Self {
        let terminal = Self::open(env, "outer", size);
        terminal.run(dogwatch());
        terminal.shows("? keys");
        terminal
    }

    pub(super) fn tmux(&self, args: &[&str]) -> String {
        self.env.tmux_on(&self.socket, args)
    }

    pub(super) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "=outer:"], keys].concat());
    }

    pub(super) fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "=outer:", "-l", "--", text]);
    }

    pub(super) fn run(&self, line: &str) {
        self.write(line);
        self.keys(&["Enter"]);
    }

    pub(super) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "=outer:"])
    }

    #[track_caller]
    pub(super) fn shows(&self, text: &str) {
        self.until(&format!("it shows {text:?}"), |screen| screen.contains(text));
    }

    #[track_caller]
    pub(super) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        eventually_or(what, || {
            let screen = self.screen();
            if is_so(&screen) { Ok(()) } else { Err(format!("\n{screen}")) }
        });
    }

    pub(super) fn selected(&self) -> String {
        let screen = self.screen();
        screen.lines().find(|line| line.starts_with('▌')).unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub(super) fn selects(&self, name: &str) {
        eventually_or(&format!("{name} is selected"), || {
            if self.selected().contains(name) { Ok(()) } else { Err(self.screen()) }
        });
    }

    pub(super) fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-t", "=outer:", "-x", &width, "-y", &height]);
    }

    /// The process in the foreground of the terminal.
    pub(super) fn pid(&self) -> i32 {
        let shell: i32 =
            self.tmux(&["display-message", "-p", "-t", "=outer:", "#{pane_pid}"]).parse().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        children.unwrap().split_whitespace().last().unwrap().parse().unwrap()
    }

    /// The shell has its terminal back as it was.
    #[track_caller]
    pub(super) fn is_restored(&self) {
        self.until("the shell is back", |screen| screen.trim_end().ends_with('$'));
        self.run("clear; echo sane-$(stty -a | tr ' ' '\\n' | grep -cx -e echo -e icanon -e isig)");
        self.shows("sane-3");
        let flags = "#{alternate_on} #{cursor_flag} #{bracketed_paste_flag}";
        let told = self.tmux(&["display-message", "-p", "-t", "=outer:", flags]);
        assert!(told.starts_with("0 1"), "{told}");
    }
}
