//! How soon another host knows: from an event until a subscriber of the broker has it, and the cost of the relay while nothing
//! happens. With Mosquitto and its subscriber, if they are installed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_store::{Session, StateDir, Store, Which};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::told::say;
use super::watching::{memory, processor_time};
use crate::child::{self, Guard, PATIENCE};
use crate::claude;
use crate::error::Error;
use crate::report::{Cost, Goal, Group, Limit, Runner, Target};
use crate::timing::Summary;
use crate::world::World;

const BARE: &str = "mosquitto_pub, subscriber has it";
const EVENT: &str = "event is written, subscriber has it";
const TURN: &str = "turn ends, subscriber has it";
/// A session that is new or has just changed is checked each second for a while.
const SETTLE: Duration = Duration::from_secs(16);
const WATCHED: Duration = Duration::from_secs(20);

/// Whether there is anything to measure with.
pub(crate) fn is_possible(world: &World) -> bool {
    ["mosquitto", "mosquitto_pub", "mosquitto_sub"].iter().all(|program| {
        let mut ask = world.command("sh");
        let ask = ask.args(["-c", "PATH=$PATH:/usr/sbin command -v \"$1\"", "sh", program]);
        child::run(ask).and_then(child::Done::success).is_ok()
    })
}

pub(crate) fn measure(
    world: &World,
    sessions: usize,
    rounds: usize,
) -> Result<(Group, Vec<Cost>), Error> {
    claude::fill_with_idle(world, sessions)?;
    let store = || Store::open(&StateDir::open(&world.state())?);
    let agents = store()?.sessions(&world.socket(), Which::All)?;
    let port = free_port()?;
    let _broker = start_broker(world, port)?;
    let sub = Sub::start(world, port)?;
    let relay = Guard(child::start(world.dogwatch(["relay"]).stderr(Stdio::null()))?);
    let mut unheard: BTreeSet<String> =
        agents.iter().map(|a| format!("dogwatch/bench/session/{}/state", a.name)).collect();
    while !unheard.is_empty() {
        sub.hears(|topic, _| unheard.remove(topic))?;
    }
    let mut store = store()?;
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..rounds {
        world.go_on()?;
        times[0].push(bare(world, &sub, port)?);
        times[1].push(event(&mut store, &sub, round)?);
        let agent = &agents[round % agents.len()];
        turn(world, &sub, agent, "busy", "UserPromptSubmit", "working")?;
        times[2].push(turn(world, &sub, agent, "idle", "Stop", "idle")?);
    }
    let runners = [BARE, EVENT, TURN].into_iter().zip(times);
    let group = Group {
        title: format!("telling others by mosquitto, {sessions} sessions"),
        runners: runners
            .filter_map(|(name, times)| {
                Some(Runner { name: name.to_owned(), summary: Summary::of(times)? })
            })
            .collect(),
        targets: [EVENT, TURN].map(|runner| Target { runner, goal: Goal::P99(50.0) }).into(),
    };
    Ok((group, cost(world, &relay, sessions)?))
}

fn cost(world: &World, relay: &Guard, sessions: usize) -> Result<Vec<Cost>, Error> {
    // sleep: what follows is measured at rest.
    thread::sleep(SETTLE);
    let pid = relay.0.id();
    let (begun, before) = (Instant::now(), processor_time(pid)?);
    while begun.elapsed() < WATCHED {
        world.go_on()?;
        // sleep: the time over which costs are measured.
        thread::sleep(Duration::from_millis(100));
    }
    let value = (processor_time(pid)? - before) / begun.elapsed().as_secs_f64() * 100.0;
    let what = format!("relay to mosquitto, {sessions} idle sessions");
    let limit = Some(Limit(0.5));
    let memory = memory(pid)?;
    Ok(vec![
        Cost { what: what.clone(), value, unit: "% of a core", limit },
        Cost { what, value: memory, unit: "MB", limit: None },
    ])
}

pub(crate) fn free_port() -> Result<u16, Error> {
    dogwatch_testkit::free_port().map_err(Error::io("find a free port"))
}

/// Starts a broker and tells dogwatch where it is.
pub(crate) fn start_broker(world: &World, port: u16) -> Result<Guard, Error> {
    let folder = world.home().join(".config/dogwatch");
    fs::create_dir_all(&folder).map_err(Error::io("make a folder"))?;
    let config = format!("[mqtt]\nurl = 'mqtt://127.0.0.1:{port}'\nhost = 'bench'\n");
    fs::write(folder.join("config.toml"), config).map_err(Error::io("write config.toml"))?;
    let file = world.path().join("mosquitto.conf");
    let text = format!("listener {port} 127.0.0.1\nallow_anonymous true\n");
    fs::write(&file, text).map_err(Error::io("write mosquitto.conf"))?;
    let mut command = world.command("sh");
    command.args(["-c", "PATH=$PATH:/usr/sbin exec mosquitto -c \"$1\"", "sh"]).arg(&file);
    let started = Guard(child::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?);
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begun.elapsed() > PATIENCE {
            return Err(Error::TooLong { command: "a broker".to_owned(), after: PATIENCE });
        }
        // sleep: the interval of a poll.
        thread::sleep(Duration::from_millis(10));
    }
    Ok(started)
}

/// A `mosquitto_sub` under way.
struct Sub {
    _child: Guard,
    messages: Receiver<(Instant, String, Value)>,
}

impl Sub {
    fn start(world: &World, port: u16) -> Result<Self, Error> {
        let mut command = world.command("mosquitto_sub");
        let port_text = port.to_string();
        command.args(["-V", "5", "-h", "127.0.0.1", "-p", &port_text, "-q", "1"]);
        command.args(["-t", "dogwatch/#", "-F", "%t %p"]);
        let mut child = child::start(command.stdout(Stdio::piped()))?;
        let (sender, messages) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let at = Instant::now();
                    let (topic, payload) = line.split_once(' ').unwrap_or((&line, ""));
                    let payload = serde_json::from_str(payload).unwrap_or_default();
                    if sender.send((at, topic.to_owned(), payload)).is_err() {
                        return;
                    }
                }
            });
        }
        let sub = Self { _child: Guard(child), messages };
        // It has subscribed when it hears something.
        let begun = Instant::now();
        loop {
            publish(world, port, "dogwatch/knock")?;
            if sub.messages.recv_timeout(Duration::from_millis(50)).is_ok() {
                return Ok(sub);
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::TooLong {
                    command: "mosquitto_sub".to_owned(),
                    after: PATIENCE,
                });
            }
        }
    }

    /// When it heard what is wanted; the rest is passed over.
    fn hears(&self, mut is_wanted: impl FnMut(&str, &Value) -> bool) -> Result<Instant, Error> {
        let command = "mosquitto_sub".to_owned();
        loop {
            let heard = self.messages.recv_timeout(PATIENCE);
            match heard {
                Ok((at, topic, payload)) if is_wanted(&topic, &payload) => return Ok(at),
                Ok(_) => {}
                Err(_) => return Err(Error::TooLong { command, after: PATIENCE }),
            }
        }
    }
}

fn publish(world: &World, port: u16, topic: &str) -> Result<(), Error> {
    let mut command = world.command("mosquitto_pub");
    let port = port.to_string();
    command.args(["-V", "5", "-h", "127.0.0.1", "-p", &port, "-q", "1", "-t", topic, "-m", "{}"]);
    child::run(&mut command)?.success().map(drop)
}

/// What Mosquitto's own publisher takes.
fn bare(world: &World, sub: &Sub, port: u16) -> Result<Duration, Error> {
    let begun = Instant::now();
    publish(world, port, "dogwatch/bare")?;
    Ok(sub.hears(|topic, _| topic == "dogwatch/bare")?.duration_since(begun))
}

/// Some process writes an event down.
fn event(store: &mut Store, sub: &Sub, round: usize) -> Result<Duration, Error> {
    let begun = Instant::now();
    store.record_event(Timestamp::now(), None, "bench", &json!({ "round": round }))?;
    let is_it =
        |_: &str, heard: &Value| heard["kind"] == "bench" && heard["data"]["round"] == round;
    Ok(sub.hears(is_it)?.duration_since(begun))
}

/// An agent begins or ends a turn.
fn turn(
    world: &World,
    sub: &Sub,
    agent: &Session,
    status: &str,
    hook: &str,
    state: &str,
) -> Result<Duration, Error> {
    let begun = Instant::now();
    say(world, agent, status, hook)?;
    let is_it = |_: &str, heard: &Value| {
        heard["kind"] == "state"
            && heard["session"]["id"] == agent.id.as_str()
            && heard["data"]["state"] == state
    };
    Ok(sub.hears(is_it)?.duration_since(begun))
}
