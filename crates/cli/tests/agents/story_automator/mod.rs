//! The drop-in with the real agents: started by a command text, as the published tool's workflows do it.

mod judged;
mod reading;
mod real_run;
mod stop_hook;

use dogwatch_testkit::CommandOutput;

use crate::lab::Lab;

impl Lab {
    /// A call of the drop-in.
    pub(crate) fn helper(&self, args: &[&str]) -> CommandOutput {
        let words: Vec<&str> = ["story-automator"].iter().chain(args).copied().collect();
        self.dogwatch(&words)
    }

    /// Starts a step's session and returns its name.
    pub(crate) fn spawn_step(&self, step: &str, command: &str) -> String {
        let agent = self.agent.name();
        let call =
            ["tmux-wrapper", "spawn", step, "1", "1.2", "--agent", agent, "--command", command];
        self.helper(&call).success().text().trim().to_owned()
    }

    /// The status as six columns.
    pub(crate) fn row(&self, session: &str) -> String {
        self.helper(&["tmux-status-check", session]).success().text().trim().to_owned()
    }

    fn monitor(&self, session: &str, more: &[&str]) -> serde_json::Value {
        let call: Vec<&str> = ["monitor-session", session, "--json", "--timeout", "1"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        self.helper(&call).success().json()
    }
}
