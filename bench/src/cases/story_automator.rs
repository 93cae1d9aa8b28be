//! The drop-in compared with the helper that it replaces, the published package in the laboratory's cache.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use model_double::agents;

use crate::child::{self, Guard};
use crate::error::Error;
use crate::race::{Contestant, race};
use crate::report::{Goal, Group, Runner, Target};
use crate::timing::Summary;
use crate::world::World;

/// The drop-in.
const OURS: &str = "dogwatch as story-automator";
const THEIRS: &str = "story-automator 1.15.0";
const BARE: &str = "the same, without its script";
const SLEEP: &str = "exec sleep 100000";
/// Time for a started process to check for the first time; no event reports it.
const SETTLE: Duration = Duration::from_secs(1);
/// Longer than the original sleeps between two checks.
const PATIENCE: Duration = Duration::from_mins(3);

/// Empty if the package or Python is not installed.
pub(crate) fn measure(world: &World, rounds: usize) -> Result<Vec<Group>, Error> {
    let Some(bench) = Bench::make(world)? else { return Ok(Vec::new()) };
    let sessions = (bench.spawn(Tool::Theirs, SLEEP)?, bench.spawn(Tool::Ours, SLEEP)?);
    let all = |words: &dyn Fn(&str) -> Vec<String>| {
        let (theirs, ours) = (words(&sessions.0), words(&sessions.1));
        vec![(Tool::Theirs, theirs.clone()), (Tool::Ours, ours), (Tool::Bare, theirs)]
    };
    let ask = |words: &[&str]| {
        all(&|session| {
            let fill = |word: &&str| if *word == "@" { session } else { word }.to_owned();
            words.iter().map(fill).collect()
        })
    };
    let mut groups = Vec::new();
    for (title, words, goal) in [
        ("tmux-status-check", &["tmux-status-check", "@"][..], Some(20.0)),
        ("tmux-wrapper list", &["tmux-wrapper", "list"], Some(20.0)),
        ("tmux-wrapper list --project-only", &["tmux-wrapper", "list", "--project-only"], None),
        ("codex-status-check", &["codex-status-check", "@"], None),
    ] {
        let contestants = ask(words).into_iter().map(|(tool, words)| {
            let mut command = bench.command(tool, &words);
            Contestant::new(tool.name(), move || Ok(child::run(&mut command)?.success()?.took))
        });
        groups.push(group(title, race(world, contestants.collect(), rounds)?, goal));
    }
    let spawned = [Tool::Theirs, Tool::Ours].map(|tool| {
        let bench = &bench;
        Contestant::new(tool.name(), move || bench.spawn_and_kill(tool))
    });
    let spawned = race(world, spawned.into(), rounds.div_ceil(4))?;
    groups.push(group("tmux-wrapper spawn", spawned, Some(8.0)));
    groups.push(bench.latency(rounds.div_ceil(10))?);
    for (tool, session) in [(Tool::Theirs, &sessions.0), (Tool::Ours, &sessions.1)] {
        bench.kill(tool, session)?;
    }
    bench.end();
    Ok(groups)
}

fn group(title: &str, runners: Vec<Runner>, faster: Option<f64>) -> Group {
    let target = |least| Target { runner: OURS, goal: Goal::Speedup(least) };
    let targets = faster.map(target).into_iter().collect();
    Group { title: format!("drop-in: {title}"), runners, targets }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    /// As installed and called: by its script.
    Theirs,
    Ours,
    /// Its interpreter alone.
    Bare,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Theirs => THEIRS,
            Self::Ours => OURS,
            Self::Bare => BARE,
        }
    }
}

struct Bench<'w> {
    world: &'w World,
    python: PathBuf,
    skill: PathBuf,
    link: PathBuf,
    project: PathBuf,
}

impl<'w> Bench<'w> {
    fn make(world: &'w World) -> Result<Option<Self>, Error> {
        let Some(program) = agents::pinned("story-automator").and_then(|p| p.installed()) else {
            return Ok(None);
        };
        let modules =
            program.parent().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        let skill = modules.join("bmad-story-automator/skills/bmad-story-automator");
        let ask = ["-c", "import sys; print(sys.executable)"];
        let python = child::run(world.command("python3").args(ask));
        let Ok(Ok(python)) = python.map(child::Done::success) else { return Ok(None) };
        let project = world.path().join("demo-app");
        let bin = world.path().join("link");
        for folder in [&project, &bin, &world.path().join("theirs")] {
            fs::create_dir_all(folder).map_err(Error::io("make a folder"))?;
        }
        let link = bin.join("story-automator");
        symlink(world.program(), &link).map_err(Error::io("make a link"))?;
        let python = PathBuf::from(python.text());
        // The interpreter itself, not a wrapper on the path.
        fs::create_dir_all(world.programs()).map_err(Error::io("make a folder"))?;
        symlink(&python, world.programs().join("python3")).map_err(Error::io("make a link"))?;
        Ok(Some(Self { world, python, skill, link, project }))
    }

    fn command<W: AsRef<OsStr>>(&self, tool: Tool, words: &[W]) -> Command {
        let mut command = match tool {
            Tool::Theirs => self.world.command(self.skill.join("scripts/story-automator")),
            Tool::Ours => self.world.command(&self.link),
            Tool::Bare => self.world.command(&self.python),
        };
        if tool == Tool::Bare {
            command.env("PYTHONPATH", self.skill.join("src")).args(["-m", "story_automator"]);
        }
        if tool != Tool::Ours {
            // It can use no other server than this one.
            command.env("TMUX_TMPDIR", self.world.path().join("theirs"));
        }
        command.args(words).env("TMPDIR", self.world.path()).current_dir(&self.project);
        command
    }

    fn spawn(&self, tool: Tool, command: &str) -> Result<String, Error> {
        let words = ["tmux-wrapper", "spawn", "dev", "1", "1.2", "--command", command];
        Ok(child::run(&mut self.command(tool, &words))?.success()?.text())
    }

    fn kill(&self, tool: Tool, session: &str) -> Result<(), Error> {
        let words = ["tmux-wrapper", "kill", session];
        child::run(&mut self.command(tool, &words))?.success().map(drop)
    }

    /// The kill is not timed. The original assigns names by the second: a different cycle keeps them apart.
    fn spawn_and_kill(&self, tool: Tool) -> Result<Duration, Error> {
        let words = ["tmux-wrapper", "spawn", "auto", "1", "1.2", "--command", SLEEP];
        let made = child::run(&mut self.command(tool, &words))?.success()?;
        self.kill(tool, &made.text())?;
        Ok(made.took)
    }

    /// From the end of the child until `monitor-session` has returned. The original is measured once: it takes a minute.
    fn latency(&self, rounds: usize) -> Result<Group, Error> {
        let mut runners = Vec::new();
        for (tool, rounds) in [(Tool::Theirs, 1), (Tool::Ours, rounds)] {
            let times =
                (0..rounds).map(|_| self.told_after(tool)).collect::<Result<Vec<_>, _>>()?;
            let summary = Summary::of(times);
            runners.extend(summary.map(|summary| Runner { name: tool.name().to_owned(), summary }));
        }
        let target = Target { runner: OURS, goal: Goal::P99(300.0) };
        let title = "drop-in: monitor-session, from the child's end".to_owned();
        Ok(Group { title, runners, targets: vec![target] })
    }

    fn told_after(&self, tool: Tool) -> Result<Duration, Error> {
        self.world.go_on()?;
        let gate = self.project.join("gate");
        let _ = fs::remove_file(&gate);
        child::run(self.world.command("mkfifo").arg(&gate))?.success()?;
        let session = self.spawn(tool, "read -r word < gate")?;
        // sleep: until it has started: then the original checks once a minute.
        thread::sleep(SETTLE);
        let words = ["monitor-session", session.as_str(), "--initial-wait", "0"];
        let mut monitor = Guard(child::start(self.command(tool, &words).stdout(Stdio::null()))?);
        // sleep: the monitor prints nothing before it waits.
        thread::sleep(SETTLE);
        let begun = Instant::now();
        fs::write(&gate, "go\n").map_err(Error::io("open the gate"))?;
        while monitor.0.try_wait().map_err(Error::io("wait for the monitor"))?.is_none() {
            if begun.elapsed() > PATIENCE {
                let command = "monitor-session".to_owned();
                return Err(Error::TooLong { command, after: PATIENCE });
            }
            // sleep: poll interval.
            thread::sleep(Duration::from_millis(1));
        }
        let took = begun.elapsed();
        self.kill(tool, &session)?;
        Ok(took)
    }

    /// Its server is separate.
    fn end(&self) {
        let mut kill = self.world.command("tmux");
        kill.env("TMUX_TMPDIR", self.world.path().join("theirs")).env_remove("TMUX");
        let _ = child::run(kill.arg("kill-server").stderr(Stdio::null()));
    }
}
