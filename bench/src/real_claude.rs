//! The real Claude Code with a model double, in a private home.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model_double::homes::{Agent, Place};
use model_double::{ModelDouble, Scenario, agents};

use crate::child;
use crate::error::Error;
use crate::world::World;

/// Poll interval for a bare pane.
const PACE: Duration = Duration::from_millis(10);
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// A small scenario: the agent answers and stops.
const SCENARIO: &str = "default = [\"Done.\"]\n";

pub(crate) struct RealClaude<'w> {
    pub(crate) world: &'w World,
    pub(crate) double: ModelDouble,
    pub(crate) project: PathBuf,
    program: PathBuf,
    environment: BTreeMap<String, String>,
}

impl<'w> RealClaude<'w> {
    /// `None` if it is not installed.
    pub(crate) fn find(world: &'w World) -> Result<Option<Self>, Error> {
        let Some(program) = agents::pinned("claude").and_then(|pinned| pinned.installed()) else {
            return Ok(None);
        };
        let scenario =
            Scenario::parse("bench", SCENARIO).map_err(|error| wrong(&error.to_string()))?;
        let double = ModelDouble::start(scenario).map_err(Error::io("start the model double"))?;
        let project = world.path().join("project");
        fs::create_dir_all(project.join(".git")).map_err(Error::io("make a project"))?;
        let (home, url) = (world.home(), double.url());
        let place = Place { home: &home, project: &project, url: &url };
        let environment =
            Agent::Claude.write_home(place).map_err(|error| wrong(&error.to_string()))?;
        Ok(Some(Self { world, double, project, program, environment }))
    }

    /// Starts it bare with a tmux command that creates a pane, and waits until its prompt is visible. The pane stays.
    pub(crate) fn start_bare(&self, make_pane: &[&str]) -> Result<(String, Duration), Error> {
        let mut words: Vec<String> = make_pane.iter().copied().map(ToOwned::to_owned).collect();
        words.extend(["-c".into(), self.project.display().to_string()]);
        for (key, value) in &self.environment {
            words.extend(["-e".into(), format!("{key}={value}")]);
        }
        words.extend(["-P".into(), "-F".into(), "#{pane_id}".into()]);
        words.extend([self.program.display().to_string(), "--dangerously-skip-permissions".into()]);
        let begun = Instant::now();
        let pane = child::run(&mut self.world.tmux(&words))?.success()?.text();
        loop {
            let screen = child::run(&mut self.world.tmux(["capture-pane", "-p", "-t", &pane]))?;
            if screen.success()?.text().lines().any(|line| line.starts_with('❯')) {
                return Ok((pane, begun.elapsed()));
            }
            if begun.elapsed() > PATIENCE {
                return Err(wrong("claude never showed its prompt"));
            }
            // sleep: poll interval.
            thread::sleep(PACE);
        }
    }

    /// A dogwatch command of a user who has this agent.
    pub(crate) fn dogwatch(&self, words: &[&str]) -> Command {
        let mut command = self.world.dogwatch(words);
        command.envs(&self.environment).current_dir(&self.project);
        command
    }
}

pub(crate) fn wrong(found: &str) -> Error {
    Error::Wrong { what: "the agent", found: found.to_owned() }
}
