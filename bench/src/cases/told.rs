//! Latency: from an agent's action until `watch` has printed it, or `wait` has returned.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_store::{Session, StateDir, Store, Which};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::child::{self, Guard, PATIENCE};
use crate::claude;
use crate::error::Error;
use crate::report::{Goal, Group, Runner, Target};
use crate::timing::Summary;
use crate::world::World;

const BARE: &str = "tmux wait-for, signalled";
const TURN: &str = "turn ends, watch tells";
const WAIT: &str = "turn ends, wait returns";
const SCREEN: &str = "only the screen changes, watch tells";
const KILL: &str = "agent is killed, watch tells";
const WORKING: &str =
    include_str!("../../../crates/core/testdata/screens/codex/0.166.0/working_thinking.txt");
const DONE: &str =
    include_str!("../../../crates/core/testdata/screens/codex/0.166.0/done_turn.txt");
/// Time for a started process to begin to wait; no event reports it.
const SETTLE: Duration = Duration::from_millis(60);

/// Latencies with so many sessions on the server.
pub(crate) fn measure(world: &World, sessions: usize, rounds: usize) -> Result<Group, Error> {
    claude::fill_with_idle(world, sessions - 1)?;
    child::run(&mut world.dogwatch(["spawn", "codex", "--name", "mute"]))?.success()?;
    let all =
        Store::open(&StateDir::open(&world.state())?)?.sessions(&world.socket(), Which::All)?;
    let (mute, agents): (Vec<_>, Vec<_>) = all.into_iter().partition(|s| s.name == "mute");
    let watch = Watch::start(world)?;
    watch.hears_of_all(sessions)?;
    let mut times: [Vec<Duration>; 5] = Default::default();
    for round in 0..rounds {
        world.go_on()?;
        let agent = &agents[round % agents.len()];
        times[0].push(signalled(world)?);
        say(world, agent, "busy", "UserPromptSubmit")?;
        watch.hears(agent, "working")?;
        let begun = Instant::now();
        say(world, agent, "idle", "Stop")?;
        times[1].push(watch.hears(agent, "idle")?.duration_since(begun));
        say(world, agent, "busy", "UserPromptSubmit")?;
        watch.hears(agent, "working")?;
        times[2].push(waited(world, agent)?);
        watch.hears(agent, "idle")?;
        draw(world, &mute[0], WORKING)?;
        watch.hears(&mute[0], "working")?;
        let begun = draw(world, &mute[0], DONE)?;
        times[3].push(watch.hears(&mute[0], "idle")?.duration_since(begun));
    }
    for agent in &agents {
        let begun = Instant::now();
        kill(agent)?;
        times[4].push(watch.hears(agent, "crashed")?.duration_since(begun));
    }
    let runners = [BARE, TURN, WAIT, SCREEN, KILL].into_iter().zip(times);
    Ok(Group {
        title: format!("being told, {sessions} on the server"),
        runners: runners
            .filter_map(|(name, times)| {
                Some(Runner { name: name.to_owned(), summary: Summary::of(times)? })
            })
            .collect(),
        targets: [(TURN, 150.0), (WAIT, 150.0), (KILL, 100.0)]
            .map(|(runner, most)| Target { runner, goal: Goal::P99(most) })
            .into(),
    })
}

/// A `watch --json` under way.
struct Watch {
    _child: Guard,
    lines: Receiver<(Instant, Value)>,
}

impl Watch {
    fn start(world: &World) -> Result<Self, Error> {
        let mut child = child::start(world.dogwatch(["watch", "--json"]).stdout(Stdio::piped()))?;
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let at = Instant::now();
                    let told = serde_json::from_str(&line).unwrap_or_default();
                    if sender.send((at, told)).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { _child: Guard(child), lines })
    }

    fn next(&self) -> Result<(Instant, Value), Error> {
        let command = "dogwatch watch --json".to_owned();
        self.lines.recv_timeout(PATIENCE).map_err(|_| Error::TooLong { command, after: PATIENCE })
    }

    fn hears_of_all(&self, sessions: usize) -> Result<(), Error> {
        let mut seen = 0;
        while seen < sessions {
            seen += usize::from(self.next()?.1["event"] == "seen");
        }
        Ok(())
    }

    /// When it reported that a session is in a state.
    fn hears(&self, session: &Session, state: &str) -> Result<Instant, Error> {
        loop {
            let (at, told) = self.next()?;
            if told["id"] == session.id.as_str() && told["state"] == state {
                return Ok(at);
            }
        }
    }
}

/// As Claude Code does at the start and end of a turn: its state file, and a process for the hook.
pub(super) fn say(world: &World, agent: &Session, status: &str, event: &str) -> Result<(), Error> {
    if let Some(started) = agent.started() {
        let file = json!({
            "pid": started.agent.pid,
            "procStart": started.agent.start.to_string(),
            "status": status,
            "statusUpdatedAt": Timestamp::now().as_millisecond(),
        });
        let path = world.home().join(format!(".claude/sessions/{}.json", started.agent.pid));
        fs::write(path, file.to_string()).map_err(Error::io("write a state file"))?;
    }
    let payload = json!({ "hook_event_name": event }).to_string();
    let mut hook = world.dogwatch(["hook", "claude"]);
    let hook = hook.env("DOGWATCH_SESSION", agent.id.as_str()).stdin(Stdio::piped());
    let mut hook = Guard(child::start(hook)?);
    if let Some(mut stdin) = hook.0.stdin.take() {
        stdin.write_all(payload.as_bytes()).map_err(Error::io("talk to a hook"))?;
    }
    hook.0.wait().map(drop).map_err(Error::io("wait for a hook"))
}

/// The time from the end of the turn to the return of `wait`.
fn waited(world: &World, agent: &Session) -> Result<Duration, Error> {
    let mut wait = world.dogwatch(["wait", agent.name.as_str(), "--for", "idle"]);
    let mut wait = Guard(child::start(wait.stdout(Stdio::null()))?);
    // sleep: the waiting process prints nothing before it waits.
    thread::sleep(SETTLE);
    let begun = Instant::now();
    // In parallel: the hook's own end is not part of the latency.
    thread::scope(|scope| {
        let said = scope.spawn(|| say(world, agent, "idle", "Stop"));
        let ended = wait.0.wait().map_err(Error::io("wait for dogwatch wait"));
        let took = begun.elapsed();
        said.join().unwrap_or(Ok(()))?;
        ended.map(|_| took)
    })
}

/// The same with bare tmux: one process waits for another's signal.
fn signalled(world: &World) -> Result<Duration, Error> {
    let mut wait = Guard(child::start(&mut world.tmux(["wait-for", "told"]))?);
    // sleep: the waiting process prints nothing before it waits.
    thread::sleep(SETTLE);
    let begun = Instant::now();
    let mut signal = Guard(child::start(&mut world.tmux(["wait-for", "-S", "told"]))?);
    wait.0.wait().map_err(Error::io("wait for tmux"))?;
    let took = begun.elapsed();
    signal.0.wait().map_err(Error::io("wait for tmux"))?;
    Ok(took)
}

/// Draws on the pane of a session, as the program in it would.
fn draw(world: &World, session: &Session, screen: &str) -> Result<Instant, Error> {
    let pane = session.pane.clone().unwrap_or_default();
    let ask = ["display-message", "-p", "-t", &pane, "#{pane_tty}"];
    let terminal = child::run(&mut world.tmux(ask))?.success()?.text();
    let open = OpenOptions::new().write(true).open(&terminal);
    let mut terminal = open.map_err(Error::io("open a terminal"))?;
    let text = format!("\x1b[H\x1b[2J{}", screen.trim_end().replace('\n', "\r\n"));
    let begun = Instant::now();
    terminal.write_all(text.as_bytes()).map_err(Error::io("draw on a terminal"))?;
    Ok(begun)
}

fn kill(agent: &Session) -> Result<(), Error> {
    let pid = agent.started().and_then(|started| Pid::from_raw(started.agent.pid));
    let killed = pid.map_or(Ok(()), |pid| kill_process(pid, Signal::KILL));
    killed.map_err(|error| Error::io("kill an agent")(error.into()))
}
