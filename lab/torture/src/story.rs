//! A run of stories that is killed and resumed until it is done; then its outcome is checked, and the next one begins.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dogwatch_testkit::story;

use crate::run::{self, UnderWay};
use crate::world::World;

/// A run takes seconds; this is for one that faults hit all the time.
const PATIENCE: Duration = Duration::from_mins(5);
/// Pause, so that a driver that ends immediately is not resumed in a tight loop.
const PACE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Stories {
    number: u32,
    child: Option<Child>,
    begun: Option<Instant>,
    resumed_at: Option<Instant>,
    /// Its journal may have lost facts with the database's log.
    pub(crate) forgotten: bool,
    pub(crate) completed: u64,
    pub(crate) resumed: u64,
}

impl Stories {
    fn project(&self, world: &World) -> PathBuf {
        world.path("stories").join(self.number.to_string())
    }

    fn notes(&self, world: &World) -> PathBuf {
        world.path("stories").join(format!("{}-notes", self.number))
    }

    fn command(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.command(args);
        command.current_dir(self.project(world));
        command
    }

    pub(crate) fn pid(&self) -> Option<i32> {
        self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.begun.is_none()
    }

    pub(crate) fn kill(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return false };
        let killed = child.kill().is_ok();
        let _ = child.wait();
        killed
    }

    /// Begins the next run, or resumes this one if its driver has ended. Returns complaints.
    pub(crate) fn keep_up(
        &mut self,
        world: &World,
        commands: &UnderWay,
        begin: bool,
    ) -> Vec<String> {
        let Some(begun) = self.begun else {
            return if begin { self.begin(world) } else { Vec::new() };
        };
        let ended = match self.child.as_mut().map(Child::try_wait) {
            Some(Ok(None)) if begun.elapsed() < PATIENCE => return Vec::new(),
            Some(Ok(None)) => {
                self.kill();
                let said = self.said(world);
                self.begun = None;
                return vec![format!("story: run {} does not come to an end: {said}", self.number)];
            }
            Some(Ok(Some(status))) => Some(status),
            _ => None,
        };
        self.child = None;
        let logs = world.path("logs");
        let status = commands.run(self.command(world, &["story", "status", "--json"]), &logs, None);
        let standing = status.json()["standing"].as_str().unwrap_or_default().to_owned();
        if status.is_ok() && standing == "complete" || ended.is_some_and(|status| status.success())
        {
            return self.finish(world, commands);
        }
        if begun.elapsed() > PATIENCE {
            self.begun = None;
            return vec![format!(
                "story: run {} cannot be resumed: {}",
                self.number, status.stderr
            )];
        }
        if self.resumed_at.is_some_and(|at| at.elapsed() < PACE) {
            return Vec::new();
        }
        self.resumed_at = Some(Instant::now());
        self.resumed += 1;
        // A run that was killed before it was recorded is begun again.
        let args: &[&str] = if status.is_ok() {
            &["story", "resume"]
        } else {
            &["story", "run", "--workflow", "flow.toml"]
        };
        self.start(world, args)
    }

    fn begin(&mut self, world: &World) -> Vec<String> {
        let _ = (fs::remove_dir_all(self.project(world)), fs::remove_dir_all(self.notes(world)));
        self.number += 1;
        self.forgotten = false;
        let (project, notes) = (self.project(world), self.notes(world));
        let flow = story::with_notes(&story::flow("0.3"), &notes);
        let made = fs::create_dir_all(&project)
            .and_then(|()| fs::create_dir_all(&notes))
            .and_then(|()| fs::write(project.join("flow.toml"), flow));
        if let Err(error) = made {
            return vec![format!("story: no project: {error}")];
        }
        for args in story::FIRST_COMMIT {
            if let Err(error) = self.git(world, args) {
                return vec![format!("story: {error}")];
            }
        }
        self.begun = Some(Instant::now());
        self.start(world, &["story", "run", "--workflow", "flow.toml"])
    }

    fn start(&mut self, world: &World, args: &[&str]) -> Vec<String> {
        let log = |kind: &str| world.path("logs").join(format!("story.{kind}"));
        match run::start(self.command(world, args), &log("out"), &log("err")) {
            Ok(child) => {
                self.child = Some(child);
                Vec::new()
            }
            Err(error) => vec![format!("story: cannot be started: {error}")],
        }
    }

    fn git(&self, world: &World, args: &[&str]) -> Result<String, String> {
        let mut command = world.program("git");
        let output = command.args(args).current_dir(self.project(world)).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        if !output.status.success() {
            return Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn said(&self, world: &World) -> String {
        let text = fs::read_to_string(world.path("logs").join("story.err")).unwrap_or_default();
        let log = self.git(world, &["log", "--oneline"]).unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(5).collect();
        format!("{last:?}; commits: {log:?}")
    }

    /// Each step was done once, whatever was killed in between.
    fn finish(&mut self, world: &World, commands: &UnderWay) -> Vec<String> {
        self.begun = None;
        if self.forgotten {
            return Vec::new();
        }
        let mut complaints = Vec::new();
        match self.git(world, &["log", "--reverse", "--format=%s"]) {
            Ok(commits) if commits.lines().eq(story::COMMITS) => {}
            Ok(commits) => complaints.push(format!("twice: a run has the commits {commits:?}")),
            Err(error) => complaints.push(format!("story: {error}")),
        }
        let left = self.git(world, &["status", "--porcelain"]).unwrap_or_default();
        if !left.is_empty() {
            complaints.push(format!("story: uncommitted after a run: {left:?}"));
        }
        let logs = world.path("logs");
        let log = commands.run(self.command(world, &["story", "log", "--json"]), &logs, None);
        let facts = log.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_default());
        complaints.extend(story::done_twice(facts));
        self.completed += 1;
        complaints
    }
}
