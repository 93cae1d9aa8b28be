use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::{CommandOutput, TestEnv, eventually, story};

/// A git repository with a workflow in it.
#[derive(Debug)]
pub struct Project {
    pub env: TestEnv,
}

impl Project {
    pub fn new(workflow: &str) -> Self {
        let env = TestEnv::new();
        let project = Self { env };
        fs::create_dir(project.notes()).unwrap();
        project.env.write("flow.toml", story::with_notes(workflow, &project.notes()));
        for args in story::FIRST_COMMIT {
            project.git(args);
        }
        project
    }

    /// Where scripts record what they did; not in the repository.
    pub fn notes(&self) -> PathBuf {
        self.env.root().join("notes")
    }

    pub fn noted(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.notes().join(name)).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = self.env.foreign("git");
        command.args(args);
        self.env.run(&mut command).success().text().trim().to_owned()
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        let mut all = vec!["story", "run", "--workflow", "flow.toml"];
        all.extend(args);
        self.env.dogwatch(&all)
    }

    /// Starts a run and does not wait for it.
    pub fn begin(&self, args: &[&str]) -> Child {
        let mut all = vec!["story", "run", "--workflow", "flow.toml"];
        all.extend(args);
        self.start(&all)
    }

    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.env.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub fn facts(&self) -> Vec<Value> {
        let said = self.env.dogwatch(&["story", "log", "--json"]).success().text();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn report(&self) -> Value {
        self.env.dogwatch(&["story", "report", "--json"]).success().json()
    }

    /// Subjects of the commits, oldest first.
    pub fn commits(&self) -> Vec<String> {
        let said = self.git(&["log", "--reverse", "--format=%s"]);
        said.lines().map(ToOwned::to_owned).collect()
    }

    /// Waits for a question and answers it as another person.
    pub fn answer(&self, option: &str) -> Value {
        let mut open = Value::Null;
        eventually("a question", || {
            open = self.env.dogwatch(&["escalations", "ls", "--json"]).success().json();
            open["escalations"].as_array().is_some_and(|all| !all.is_empty())
        });
        let one = open["escalations"][0].clone();
        let number = one["number"].to_string();
        let _ =
            self.env.dogwatch(&["escalations", "answer", &number, "--option", option]).success();
        one
    }
}
