//! Whether one program, channel or pane that misbehaves delays what is told of other sessions.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::program::{Place, Program};
use super::{all, configure, turn};
use crate::child;
use crate::claude;
use crate::error::Error;
use crate::report::{Cost, Goal, Group, Limit, Runner, Target};
use crate::timing::Summary;
use crate::world::World;

const ALONE: &str = "a hook, until a program has heard";
const SILENT: &str = "with a program that does not read";
const HANGS: &str = "with a webhook that hangs";
const FLOOD: &str = "with a pane that floods";
/// Lines that a program leaves unread.
const UNREAD: usize = 2000;

/// How soon a program hears of a turn's end, alone and beside each of them. Before each, the time alone is measured again.
pub(crate) fn isolation(
    world: &World,
    sessions: usize,
    rounds: usize,
) -> Result<(Group, Vec<Cost>), Error> {
    let hook = Webhook::start()?;
    configure(
        world,
        &format!("[[notify]]\nkind = 'webhook'\nurl = '{}'\non = ['done']\n", hook.url),
    )?;
    claude::fill_with_idle(world, sessions)?;
    let flooded = child::run(&mut world.dogwatch(["spawn", "codex", "--name", "mute"]))?;
    flooded.success()?;
    let (mute, agents): (Vec<_>, Vec<_>) =
        all(world)?.into_iter().partition(|session| session.name == "mute");
    let place = Place::of(world)?;
    let mut program = [Program::follow(&place, false)?];
    let mut next = 0;
    let mut measure = |times: &mut Vec<Duration>| -> Result<(), Error> {
        for _ in 0..rounds {
            next = (next + 1) % agents.len();
            times.push(turn(world, &mut program, &agents[next])?);
        }
        Ok(())
    };
    let (mut alone, mut silent, mut hangs, mut flood) = (vec![], vec![], vec![], vec![]);
    measure(&mut Vec::new())?;
    measure(&mut alone)?;
    let deaf = Program::deaf(&place, UNREAD)?;
    measure(&mut silent)?;
    drop(deaf);
    measure(&mut alone)?;
    hook.hang(true);
    measure(&mut hangs)?;
    let held = hook.held();
    hook.hang(false);
    measure(&mut alone)?;
    let pane = mute[0].pane.clone().unwrap_or_default();
    let ask = ["display-message", "-p", "-t", &pane, "#{pane_tty}"];
    let terminal = child::run(&mut world.tmux(ask))?.success()?.text();
    let (rate, bare) = flooding(&terminal, || {
        measure(&mut flood)?;
        // What tmux itself needs meanwhile.
        let mut bare = world.tmux(["display-message", "-p", "x"]);
        (0..rounds).map(|_| Ok(child::run(&mut bare)?.success()?.took)).collect()
    })?;
    measure(&mut alone)?;
    let all = [(ALONE, alone), (SILENT, silent), (HANGS, hangs), (FLOOD, flood)];
    let runners = all.into_iter().chain([("tmux display-message, meanwhile", bare)]);
    let runners = runners.filter_map(|(name, times)| {
        Some(Runner { name: name.to_owned(), summary: Summary::of(times)? })
    });
    let group = Group {
        title: format!("one that misbehaves, {sessions} sessions"),
        runners: runners.collect(),
        targets: [SILENT, HANGS, FLOOD]
            .map(|runner| Target { runner, goal: Goal::Ratio(2.0) })
            .into(),
    };
    let cost = |what: &str, value: f64, unit: &'static str, limit| Cost {
        what: what.to_owned(),
        value,
        unit,
        limit,
    };
    // What was measured was there: a webhook that had a request, and bytes that flowed.
    if held == 0 {
        return Err(Error::Wrong { what: "a webhook that hangs", found: "no request".to_owned() });
    }
    Ok((group, vec![cost("a pane that floods: read by tmux", rate, "MB/s", None::<Limit>)]))
}

impl Program {
    /// One that asks for much and reads nothing.
    fn deaf(place: &Place, lines: usize) -> Result<Self, Error> {
        let mut program = Self::follow(place, true)?;
        let ask = "{\"id\":2,\"ask\":\"status\"}\n".repeat(lines);
        program.write_until_full(ask.as_bytes()).map_err(Error::io("write to the supervisor"))?;
        Ok(program)
    }
}

/// A webhook on loopback that answers at once, or never.
struct Webhook {
    url: String,
    hangs: Arc<AtomicBool>,
    held: Arc<AtomicU64>,
}

impl Webhook {
    fn start() -> Result<Self, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(Error::io("listen"))?;
        let port = listener.local_addr().map_err(Error::io("listen"))?.port();
        let (hangs, held) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, count) = (Arc::clone(&hangs), Arc::clone(&held));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (hangs, held) = (Arc::clone(&told), Arc::clone(&count));
                thread::spawn(move || answer(stream, &hangs, &held));
            }
        });
        Ok(Self { url: format!("http://127.0.0.1:{port}/"), hangs, held })
    }

    fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Release);
    }

    /// How many requests were left without an answer.
    fn held(&self) -> u64 {
        self.held.load(Ordering::Acquire)
    }
}

fn answer(mut stream: TcpStream, hangs: &AtomicBool, held: &AtomicU64) {
    let _ = stream.read(&mut [0; 16 * 1024]);
    if hangs.load(Ordering::Acquire) {
        held.fetch_add(1, Ordering::AcqRel);
    }
    while hangs.load(Ordering::Acquire) {
        // sleep: poll interval.
        thread::sleep(Duration::from_millis(50));
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

/// Writes to a terminal as fast as tmux reads meanwhile; at how many megabytes a second.
fn flooding<T>(terminal: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<(f64, T), Error> {
    let open = OpenOptions::new().write(true).open(terminal);
    let mut terminal = open.map_err(Error::io("open a terminal"))?;
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let piece = format!("{}\r\n", "flood ".repeat(13)).repeat(400);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) && terminal.write_all(piece.as_bytes()).is_ok() {
                written.fetch_add(piece.len() as u64, Ordering::AcqRel);
            }
        });
        let begun = Instant::now();
        let done = work();
        stop.store(true, Ordering::Release);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let rate = written.load(Ordering::Acquire) as f64 / 1e6 / begun.elapsed().as_secs_f64();
        Ok((rate, done?))
    })
}
