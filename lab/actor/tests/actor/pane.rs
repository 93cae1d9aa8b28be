//! A pane of a tmux server that belongs to one test.

use std::io::Write;
use std::process::{Command, Stdio};

use dogwatch_testkit::{process::is_alive, wait_until};

use crate::script::{ACTOR, Script};

/// Ends its server when it is dropped, and waits for that.
pub(crate) struct Pane<'a> {
    script: &'a Script,
    server: Option<i32>,
}

impl<'a> Pane<'a> {
    /// Plays the script at 80x24. The exit code is left in the file `code`.
    pub(crate) fn play(script: &'a Script) -> Self {
        Self::run(script, &script.path("scenario.toml").display().to_string())
    }

    pub(crate) fn run(script: &'a Script, arguments: &str) -> Self {
        let home = script.path("").display().to_string();
        let line = format!(
            "{ACTOR} {arguments}; echo $? > {home}/code.new; mv {home}/code.new {home}/code; \
             exec sleep 60"
        );
        let mut pane = Self { script, server: None };
        pane.tmux(&["new-session", "-d", "-x", "80", "-y", "24", "-c", &home, &line]);
        pane.server = pane.show("#{pid}").parse().ok();
        assert!(pane.server.is_some(), "the server's process id");
        pane
    }

    pub(crate) fn tmux(&self, words: &[&str]) -> String {
        self.tmux_with(words, b"")
    }

    fn tmux_with(&self, words: &[&str], input: &[u8]) -> String {
        let home = self.script.path("");
        let mut child = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.script.path("socket"))
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("SHELL", "/bin/sh")
            .env("LC_ALL", "C.UTF-8")
            .env("ACTOR_LOG", self.script.path("log"))
            .env("ACTOR_TEST", "ein Wert")
            .env("DOGWATCH_PROMPT_FILE", self.script.path("prompt"))
            .env("DOGWATCH_HOOK_COMMAND", self.hook_command())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tmux runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input).expect("tmux reads");
        drop(stdin);
        let output = child.wait_with_output().expect("tmux ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Collects the payloads, one a line, in the file `hooks`.
    fn hook_command(&self) -> String {
        let script = format!("cat >> '{}'", self.script.path("hooks").display());
        serde_json::to_string(&["sh", "-c", &script]).expect("JSON")
    }

    pub(crate) fn show(&self, format: &str) -> String {
        self.tmux(&["display-message", "-p", format]).trim_end().to_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    pub(crate) fn wait_for_screen(&self, part: &str) -> String {
        wait_until(&format!("{part:?} on\n{}", self.screen()), || {
            Some(self.screen()).filter(|screen| screen.contains(part))
        })
    }

    pub(crate) fn wait_for_format(&self, format: &str, value: &str) {
        wait_until(&format!("{format} = {value}"), || (self.show(format) == value).then_some(()));
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn paste(&self, text: &str) {
        self.tmux_with(&["load-buffer", "-"], text.as_bytes());
        self.tmux(&["paste-buffer", "-p", "-r", "-d"]);
    }

    pub(crate) fn exit_code(&self) -> String {
        self.script.wait_for_file("code").trim_end().to_owned()
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        let Some(server) = self.server else {
            return;
        };
        if is_alive(server) {
            self.tmux(&["kill-server"]);
        }
        wait_until("the end of the tmux server", || (!is_alive(server)).then_some(()));
    }
}
