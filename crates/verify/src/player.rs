//! Carries a play out: operates the agent, waits for facts, asks `status`.

mod grading;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::status::Source;
use dogwatch_engine::Error;
use dogwatch_engine::actions::spawn::{self, Place, What};
use dogwatch_engine::observe::processes;
use dogwatch_engine::observe::status::StatusReader;
use dogwatch_protocol::verification::{Situation, Start};
use dogwatch_tmux::{CaptureOptions, Command, Input, PaneId};
use jiff::{Timestamp, Zoned};
use model_double::{Outcome, Question};
use rustix::process::Signal;

use crate::agent::{self, Ways};
use crate::laboratory::Task;
use crate::world::World;

/// How often facts are looked at.
const PACE: Duration = Duration::from_millis(50);
/// How long an agent may take to come to its prompt, to send what it was given, to end.
const START: Duration = Duration::from_secs(40);
const ANSWER: Duration = Duration::from_secs(15);
/// An agent that has called a tool and asks its model nothing for so long waits for a person.
const ASKS: Duration = Duration::from_millis(1500);
/// A model that failed is not tried again after so long.
const GIVES_UP: Duration = Duration::from_millis(2500);
/// How long a play may take.
const PLAY: Duration = Duration::from_mins(2);

/// Why a play does not go on.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) String);

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

pub(crate) type Played = Result<(), Stopped>;

/// How to start the agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Launch {
    pub(crate) prompt: Option<&'static str>,
    pub(crate) unattended: bool,
    pub(crate) with: Vec<agent::Start>,
    pub(crate) args: &'static [&'static str],
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) resume: Option<String>,
}

impl Launch {
    fn words(&self) -> Vec<&'static str> {
        let with = self.with.iter().flat_map(|start| start.args);
        self.args.iter().chain(with).copied().collect()
    }

    fn env(&self) -> Vec<(&'static str, &'static str)> {
        self.with.iter().flat_map(|start| start.env).copied().collect()
    }
}

/// What a play reports, and where.
pub(crate) struct Notes<'a> {
    pub(crate) task: &'a Task,
    pub(crate) play: &'static str,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tell: &'a (dyn Fn(&Situation) + Sync),
}

pub(crate) struct Player<'w> {
    pub(crate) world: &'w World,
    pub(crate) ways: Ways,
    notes: Notes<'w>,
    reader: StatusReader<'w>,
    start: Start,
    target: String,
    pane: Option<PaneId>,
    pid: Option<i32>,
    /// It is expected to run.
    is_needed: bool,
    turn: usize,
    begun: Instant,
    pub(crate) found: Vec<(Situation, Option<Source>)>,
    /// When turns were let end, and states that `watch` reported.
    pub(crate) ends: Vec<Instant>,
    pub(crate) seen: &'w Mutex<Vec<(Instant, &'static str)>>,
}

impl<'w> Player<'w> {
    pub(crate) fn new(
        world: &'w World,
        start: Start,
        notes: Notes<'w>,
        seen: &'w Mutex<Vec<(Instant, &'static str)>>,
    ) -> Result<Self, Error> {
        Ok(Self {
            world,
            ways: agent::ways(world.agent),
            notes,
            reader: StatusReader::new(&world.context)?,
            start,
            target: String::new(),
            pane: None,
            pid: None,
            is_needed: true,
            turn: 0,
            begun: Instant::now(),
            found: Vec::new(),
            ends: Vec::new(),
            seen,
        })
    }

    pub(crate) fn is_thorough(&self) -> bool {
        self.notes.task.all
    }

    // Starting and operating.

    pub(crate) fn launch(&mut self, launch: &Launch) -> Played {
        match self.start {
            Start::Spawned => self.spawn(launch, true),
            Start::Command => self.spawn(launch, false),
            Start::ByHand => self.start_by_hand(launch),
        }
    }

    fn spawn(&mut self, launch: &Launch, is_agent: bool) -> Played {
        let world = self.world;
        let extra = launch.words();
        let what = if is_agent {
            let extra_args = extra.iter().map(Into::into).collect();
            What::Agent { name: world.agent.name().to_owned(), extra_args }
        } else {
            let program = world.program.clone().into_os_string();
            What::Command(std::iter::once(program).chain(extra.iter().map(Into::into)).collect())
        };
        let env = launch.env();
        let cwd = launch.cwd.clone().unwrap_or_else(|| world.work.clone());
        self.turn += 1;
        let request = spawn::Request {
            what,
            prompt: launch.prompt.map(ToOwned::to_owned),
            name: Some(format!("{}-{}", self.notes.play.replace('_', "-"), self.turn)),
            story: None,
            project: cwd.clone(),
            cwd,
            model: None,
            resume: launch.resume.clone(),
            unattended: launch.unattended,
            env: env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            caller_env: world.variables(),
            place: Place::OwnSession,
            tags: Vec::new(),
            membership: None,
            when_limited: Some(dogwatch_core::limits::WhenLimited::Notify),
            subscriber: None,
        };
        let spawned = spawn::spawn(&world.context, &request, &Zoned::now())?;
        self.target = spawned.id.to_string();
        self.pane = Some(spawned.pane);
        self.pid = Some(spawned.started.agent.pid);
        self.is_needed = true;
        Ok(())
    }

    fn start_by_hand(&mut self, launch: &Launch) -> Played {
        let script = self.world.shell_script(&launch.env())?;
        let shell = Command::new("new-session")
            .flag('d')
            .flag('P')
            .option('F', "#{pane_id}")
            .option('s', "mine")
            .option('x', "120")
            .option('y', "40")
            .arg("/bin/sh")
            .arg(script.into_os_string());
        let reply = self.world.context.tmux.run_one(shell).map_err(Error::from)?;
        let pane = reply.first_line().trim().parse::<PaneId>();
        self.pane = pane.ok();
        self.target = self.pane.map(|pane| pane.to_string()).unwrap_or_default();
        let program = self.world.program.display().to_string();
        let words = launch.words().into_iter().map(|word| format!("'{word}'"));
        let line = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
        self.keys(&["-l", &line])?;
        self.keys(&["Enter"])
    }

    pub(crate) fn keys(&self, keys: &[&str]) -> Played {
        let pane = self.pane.ok_or_else(|| Stopped("it has no pane".to_owned()))?;
        let input = match keys {
            ["-l", text] => Input::text(pane, *text),
            keys => Input::keys(pane, keys),
        };
        self.world.context.tmux.type_into(&input).map_err(Error::from)?;
        Ok(())
    }

    pub(crate) fn screen(&self) -> String {
        let Some(pane) = self.pane else { return String::new() };
        let reply = self.world.context.tmux.capture(pane, CaptureOptions::default());
        let reply = reply.logged("read a screen");
        reply.map(|reply| format!("\n{}", reply.text())).unwrap_or_default()
    }

    /// Waits for a fact.
    pub(crate) fn until(
        &self,
        what: &str,
        limit: Duration,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> Played {
        let begun = Instant::now();
        loop {
            self.may_go_on()?;
            if is_so(self) {
                return Ok(());
            }
            if self.is_needed && self.has_ended() {
                return Err(Stopped(format!(
                    "the agent has ended, waiting for {what}; its screen: {}",
                    last_lines(&self.screen())
                )));
            }
            if self.begun.elapsed() > PLAY {
                return Err(Stopped(format!("it takes too long; last: {what}")));
            }
            if begun.elapsed() > limit {
                let (seconds, last) = (limit.as_secs(), last_lines(&self.screen()));
                return Err(Stopped(format!("no {what} within {seconds} s; its screen: {last}")));
            }
            // sleep: screens and files of others; nothing tells when they change.
            std::thread::sleep(PACE);
        }
    }

    fn may_go_on(&self) -> Played {
        if self.notes.stop.load(Ordering::Relaxed) {
            return Err(Stopped("the verification was stopped".to_owned()));
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.pid.is_some_and(|pid| processes::identify(pid).is_none())
    }

    pub(crate) fn pause(&self, time: Duration) -> Played {
        let begun = Instant::now();
        self.until("pause", time + PACE, |_| begun.elapsed() >= time)
    }

    /// Waits until it takes input, and its screen is still.
    pub(crate) fn ready(&self) -> Played {
        let mut last = (String::new(), Instant::now());
        self.until("input box", START, |player| {
            let screen = player.screen();
            // A dialog of its start. A conversation that is continued may quote one.
            let signs = ["❯ 1.", "› 1.", "> 1.", "● 1."];
            let asks = player.turn <= 1 && signs.iter().any(|sign| screen.contains(sign));
            let is_there = !asks && player.ways.ready.iter().any(|sign| screen.contains(sign));
            if screen != last.0 || !is_there {
                last = (screen, Instant::now());
            }
            last.1.elapsed() >= Duration::from_millis(600)
        })
    }

    /// Types a text into the input box.
    pub(crate) fn write(&self, text: &str) -> Played {
        self.keys(&["-l", text])?;
        // A narrow box wraps.
        let start: String = text.chars().take(20).collect();
        self.until("typed text", ANSWER, |player| player.screen().contains(&start))
    }

    /// Asks something, and waits until its model was asked. Returns what tells this turn from others.
    pub(crate) fn say(&mut self, tag: &str) -> Result<String, Stopped> {
        self.turn += 1;
        let mark = format!("turn {}.", self.turn);
        self.write(&format!("{tag} {mark}"))?;
        // Some take what comes right after a paste for a part of it.
        self.pause(Duration::from_millis(150))?;
        let begun = Instant::now();
        let mut pressed = 0;
        self.until("request to the model", ANSWER, |player| {
            // Agents swallow an Enter now and then.
            if begun.elapsed() >= Duration::from_secs(4) * pressed {
                pressed += 1;
                if player.keys(&["Enter"]).is_err() {
                    return false;
                }
            }
            player.asked(&mark).next().is_some()
        })?;
        Ok(mark)
    }

    /// What its model was asked in one turn.
    fn asked(&self, mark: &str) -> impl Iterator<Item = (Question, Outcome, Timestamp)> + use<> {
        let mark = mark.to_owned();
        self.world.double.requests().into_iter().filter_map(move |request| {
            let question = request.question?;
            (!question.side && question.human.contains(&mark)).then_some((
                question,
                request.outcome,
                request.at,
            ))
        })
    }

    /// Waits until the double holds its answer back.
    pub(crate) fn at_gate(&self) -> Played {
        self.at_gate_within(ANSWER)
    }

    pub(crate) fn at_gate_within(&self, limit: Duration) -> Played {
        self.until("answer at the gate", limit, |player| {
            player.world.double.gates().waiting.contains_key("gate")
        })
    }

    /// Lets the answer go on.
    pub(crate) fn release(&mut self) {
        self.ends.push(Instant::now());
        self.world.double.release("gate");
    }

    /// Waits until the last answer of a turn was sent.
    pub(crate) fn sent(&self, mark: &str, steps: usize) -> Played {
        self.sent_within(mark, steps, ANSWER)
    }

    pub(crate) fn sent_within(&self, mark: &str, steps: usize, limit: Duration) -> Played {
        self.until("last answer of the turn", limit, |player| {
            player.asked(mark).any(|(question, outcome, _)| {
                question.step + 1 >= steps && outcome == Outcome::Sent
            })
        })?;
        self.world.double.hold("gate");
        Ok(())
    }

    /// Waits until it has hung up on its model, or says that it was interrupted: older Codex keeps the connection.
    pub(crate) fn hung_up_within(&self, mark: &str, before: usize, limit: Duration) -> bool {
        let is_over = |(_, outcome, _): (Question, Outcome, Timestamp)| outcome != Outcome::Open;
        let has_stopped =
            |player: &Self| player.asked(mark).all(is_over) || player.interruptions() > before;
        self.until("end of the request", limit, has_stopped).is_ok()
    }

    /// How often its screen says that it was interrupted.
    pub(crate) fn interruptions(&self) -> usize {
        self.screen().to_lowercase().matches("interrupted").count()
    }

    /// Whether a text is in the lower half of the screen, where the input box is.
    pub(crate) fn box_has(&self, text: &str) -> bool {
        let screen = self.screen();
        let lines: Vec<&str> = screen.lines().collect();
        let filled = lines.iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
        lines[filled.saturating_sub(5)..=filled.min(lines.len().saturating_sub(1))]
            .iter()
            .any(|line| line.contains(text))
    }

    /// Waits until it has called a tool and does nothing more.
    pub(crate) fn asks(&self, mark: &str) -> Played {
        self.until("tool call", ANSWER, |player| {
            player.asked(mark).any(|(_, outcome, _)| outcome == Outcome::Sent)
        })?;
        self.pause(ASKS)?;
        if self.asked(mark).any(|(question, ..)| question.step > 0) {
            return Err(Stopped("it did not ask before it went on".to_owned()));
        }
        Ok(())
    }

    /// Whether the last request offered one of these tools.
    pub(crate) fn offers(&self, mark: &str, tools: &[&str]) -> bool {
        let last = self.asked(mark).last();
        last.is_some_and(|(question, ..)| {
            question.tools.iter().any(|tool| tools.contains(&tool.as_str()))
        })
    }

    /// Waits until it has given up on a model that fails; false if it still tries.
    pub(crate) fn gave_up(&self, mark: &str) -> Result<bool, Stopped> {
        let mut last = (0, Instant::now());
        let tries_again = |screen: &str| {
            let screen = screen.to_lowercase();
            ["retrying", "reconnecting", "attempt #"].iter().any(|word| screen.contains(word))
        };
        let given_up = self.until("end of the retries", Duration::from_secs(20), |player| {
            let count = player.asked(mark).count();
            if count != last.0 || tries_again(&player.screen()) {
                last = (count, Instant::now());
            }
            last.1.elapsed() >= GIVES_UP
        });
        match given_up {
            Err(_) if tries_again(&self.screen()) => Ok(false),
            Err(stopped) => Err(stopped),
            Ok(()) => Ok(true),
        }
    }

    /// From here on it may end.
    pub(crate) fn may_end(&mut self) {
        self.is_needed = false;
    }

    pub(crate) fn kill_9(&mut self) -> Played {
        self.may_end();
        let pid = self.pid.ok_or_else(|| Stopped("its process is not known".to_owned()))?;
        processes::signal(pid, Signal::KILL);
        self.until("end of the process", ANSWER, |_| processes::identify(pid).is_none())
    }

    pub(crate) fn ended(&self) -> Played {
        self.until("end of the process", ANSWER, Self::has_ended)
    }

    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        self.until("end of the process", limit, Self::has_ended).is_ok()
    }

    /// The conversation to be continued.
    pub(crate) fn conversation(&mut self) -> Option<String> {
        let judged = self.reader.one(&self.target, Timestamp::now()).logged("look at a session")?;
        let home = self.world.context.home.as_deref();
        judged.seen.session.conversation.or_else(|| conversation_below(&home?.join(".codex")))
    }
}

/// The last lines of a screen that say something.
fn last_lines(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines = lines[lines.len().saturating_sub(8)..].iter();
    // Rules and borders say nothing.
    let told = lines.filter(|line| line.chars().any(char::is_alphanumeric));
    let told: Vec<String> = told.map(|line| line.chars().take(80).collect()).collect();
    told.join(" / ")
}

/// The id at the end of the name of the newest conversation file below a folder: in a private home there is no other.
fn conversation_below(folder: &Path) -> Option<String> {
    let mut folders = vec![folder.to_owned()];
    let mut newest: Option<(std::time::SystemTime, String)> = None;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).logged("list a folder");
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(stem) =
                name.strip_suffix(".jsonl").filter(|stem| stem.starts_with("rollout-"))
            else {
                continue;
            };
            let id =
                stem.len().checked_sub(36).and_then(|at| stem.get(at..)).map(ToOwned::to_owned);
            let changed = entry.metadata().and_then(|file| file.modified());
            if let (Some(id), Some(changed)) = (id, changed.logged("look at a file"))
                && newest.as_ref().is_none_or(|(at, _)| *at < changed)
            {
                newest = Some((changed, id));
            }
        }
    }
    newest.map(|(_, id)| id)
}
