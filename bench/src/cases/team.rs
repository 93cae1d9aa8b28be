use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model_double::homes::{Agent, Place};
use model_double::{ModelDouble, Scenario, agents};

use crate::child;
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Target};
use crate::world::World;

const SPAWN: &str = "dogwatch pane spawn, with its task";
/// How often a bare pane is looked at.
const PACE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_mins(1);
/// A small scenario: the agent answers and stops.
const SCENARIO: &str = "default = [\"Done.\"]\n";

/// A whole `pane spawn` of the real Claude Code (started, at its prompt, coloured, named, marked, arranged, and told its task with proof) against
/// the same program in a bare split until its prompt can be seen. Nothing if it is not installed.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Option<Group>, Error> {
    let Some(program) = agents::pinned("claude").and_then(|pinned| pinned.installed()) else {
        return Ok(None);
    };
    let scenario = Scenario::parse("bench", SCENARIO).map_err(|error| wrong(&error.to_string()))?;
    let double = ModelDouble::start(scenario).map_err(Error::io("start the model double"))?;
    let project = world.path().join("project");
    std::fs::create_dir_all(project.join(".git")).map_err(Error::io("make a project"))?;
    let (home, url) = (world.home(), double.url());
    let place = Place { home: &home, project: &project, url: &url };
    let environment = Agent::Claude.write_home(place).map_err(|error| wrong(&error.to_string()))?;
    let words = [
        "new-session",
        "-d",
        "-s",
        "team",
        "-x",
        "200",
        "-y",
        "50",
        "-P",
        "-F",
        "#{pane_id}",
        "cat",
    ];
    let master = child::run(&mut world.tmux(words))?.success()?.text();
    let team = Team { world, program, project, environment, master };
    let contestants = vec![
        Contestant::new("claude in a bare split, to its prompt", || team.bare()),
        Contestant::new(SPAWN, || team.ours()),
    ];
    Ok(Some(Group {
        title: "pane spawn".into(),
        runners: race(world, contestants, rounds)?,
        targets: vec![Target { runner: SPAWN, goal: Goal::Longer(1000.0) }],
    }))
}

struct Team<'w> {
    world: &'w World,
    program: PathBuf,
    project: PathBuf,
    environment: BTreeMap<String, String>,
    master: String,
}

impl Team<'_> {
    fn bare(&self) -> Result<Duration, Error> {
        let mut words = vec!["split-window".to_owned(), "-h".into(), "-d".into(), "-t".into()];
        words.push(self.master.clone());
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
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err(wrong("claude never showed its prompt"));
            }
            thread::sleep(PACE);
        }
        let took = begun.elapsed();
        child::run(&mut self.world.tmux(["kill-pane", "-t", &pane]))?.success()?;
        Ok(took)
    }

    fn ours(&self) -> Result<Duration, Error> {
        let words = [
            "pane",
            "spawn",
            "--role",
            "dev",
            "--master",
            &self.master,
            "--unattended",
            "--task",
            "It.",
            "claude",
        ];
        let made = child::run(&mut self.dogwatch(&words))?.success()?;
        let pane = made.text();
        child::run(&mut self.dogwatch(&["pane", "close", "--force", pane.as_str()]))?.success()?;
        Ok(made.took)
    }

    fn dogwatch(&self, words: &[&str]) -> Command {
        let mut command = self.world.dogwatch(words);
        command.envs(&self.environment).current_dir(&self.project);
        command
    }
}

fn wrong(found: &str) -> Error {
    Error::Wrong { what: "the agent", found: found.to_owned() }
}
