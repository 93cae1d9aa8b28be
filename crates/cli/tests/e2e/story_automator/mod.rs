//! The drop-in, called as `story-automator`.

mod outputs;
mod runs;
mod sessions;
mod waiting;

use std::process::Command;

use dogwatch_testkit::{CommandOutput, TestEnv};

/// The drop-in's helper program.
pub(super) trait Helper {
    /// A call of the drop-in, not made yet.
    fn helper_command(&self, args: &[&str]) -> Command;
    fn helper(&self, args: &[&str]) -> CommandOutput;
    /// Starts a step's session in the work folder; returns its name.
    fn spawn_step(&self, step: &str, command: &str) -> String;
    /// The status in six columns.
    fn row(&self, session: &str) -> String;
}

impl Helper for TestEnv {
    fn helper_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&["story-automator"]);
        command.args(args).env("TMPDIR", self.root());
        command
    }

    fn helper(&self, args: &[&str]) -> CommandOutput {
        self.run(&mut self.helper_command(args))
    }

    #[track_caller]
    fn spawn_step(&self, step: &str, command: &str) -> String {
        let spawn = ["tmux-wrapper", "spawn", step, "6", "6.2", "--command", command];
        self.helper(&spawn).success().text().trim().to_owned()
    }

    fn row(&self, session: &str) -> String {
        self.helper(&["tmux-status-check", session]).text().trim().to_owned()
    }
}
