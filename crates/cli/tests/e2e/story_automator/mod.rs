//! The drop-in, called as `story-automator`.

mod outputs;
mod runs;
mod sessions;
mod waiting;

use std::process::Command;

use crate::env::TestEnv;
use crate::output::CommandOutput;

impl TestEnv {
    /// A call of the drop-in, not made yet.
    fn helper_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&["story-automator"]);
        command.args(args).env("TMPDIR", self.root());
        command
    }

    fn helper(&self, args: &[&str]) -> CommandOutput {
        self.run(&mut self.helper_command(args))
    }

    /// Starts a step's session in the work folder; returns its name.
    #[track_caller]
    fn spawn_step(&self, step: &str, command: &str) -> String {
        let spawn = ["tmux-wrapper", "spawn", step, "6", "6.2", "--command", command];
        self.helper(&spawn).success().text().trim().to_owned()
    }

    /// The status in six columns.
    fn row(&self, session: &str) -> String {
        self.helper(&["tmux-status-check", session]).text().trim().to_owned()
    }
}
