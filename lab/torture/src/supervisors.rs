//! Faults of the supervisor itself, while messages, jobs and answers are open: it is killed again and again, stopped, left without a byte of
//! disk, and its program replaced. Whatever was posted is done once, and nothing is set aside.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_testkit::process;
use rustix::process::Signal;
use serde_json::Value;

use crate::deeds;
use crate::dice::Dice;
use crate::disk::Disk;
use crate::ledger::Message;
use crate::plan::Role;
use crate::stage::Stage;

/// How many supervisors are killed in one round.
const KILLS: usize = 25;
/// Agents that get messages and jobs, how many write to each at once, and how many show dialogs.
const AGENTS: usize = 2;
const WRITERS: usize = 2;
/// The number of the first in names, after those of the operations.
const FIRST: usize = 200;
const ASKER: usize = 250;
/// How many dialogs an asker shows, more than can be answered in a round.
pub(crate) const DIALOGS: usize = 400;
/// Far beyond what the next one takes, even if every runner waits before it starts another.
const NEXT: Duration = Duration::from_secs(90);
/// How long what was posted may take afterwards.
const SETTLE: Duration = Duration::from_secs(90);
/// A stopped supervisor must not keep who only reads.
const READ: Duration = Duration::from_secs(20);

/// What is done to the supervisor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble<'a> {
    Kills,
    Stopped,
    Full(&'a Disk),
    Replaced,
}

/// Disturbs the supervisor while it has something to do, and checks what became of it.
pub(crate) fn disturb(stage: &Stage, pick: u64, trouble: Trouble<'_>) -> bool {
    let dice = &mut Dice::of_round(pick, 0);
    let agents: Vec<String> =
        (FIRST..FIRST + AGENTS).filter_map(|number| reserve(stage, number, Role::Agent)).collect();
    let asker = reserve(stage, ASKER, Role::Asker);
    let over = AtomicBool::new(false);
    let traffic = Traffic { stage, over: &over, may_refuse: matches!(trouble, Trouble::Full(_)) };
    let done = std::thread::scope(|scope| {
        for name in &agents {
            for writer in 0..WRITERS {
                let traffic = &traffic;
                scope.spawn(move || traffic.write_to(name, writer));
            }
        }
        if let Some(asker) = &asker {
            scope.spawn(|| traffic.answer(asker));
        }
        let done = match trouble {
            Trouble::Kills => kill(stage, dice),
            Trouble::Stopped => stop(stage, dice),
            Trouble::Full(disk) => fill(stage, dice, disk),
            Trouble::Replaced => replace(stage, dice),
        };
        over.store(true, Ordering::Relaxed);
        done
    });
    for name in &agents {
        settled(stage, name, traffic.may_refuse);
    }
    if let Some(asker) = &asker {
        answered(stage, asker);
    }
    nothing_is_aside(stage);
    for name in agents.iter().chain(&asker) {
        stage.ledger().change(name, |entry| entry.reserved = false);
    }
    done
}

/// Starts an actor that no other operation or fault takes part in.
fn reserve(stage: &Stage, number: usize, role: Role) -> Option<String> {
    let name = deeds::name_of(stage, number);
    // It is reserved from its first moment: no kill may come between.
    stage.ledger().reserve(&name);
    deeds::spawn(stage, number, role, None).is_ok().then_some(name)
}

struct Traffic<'a> {
    stage: &'a Stage,
    over: &'a AtomicBool,
    /// A full disk has no room for what is posted.
    may_refuse: bool,
}

impl Traffic<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.stage.is_interrupted()
    }

    /// Message after message, every third as a job.
    fn write_to(&self, name: &str, writer: usize) {
        let stage = self.stage;
        let mut number = 0;
        while !self.is_over() {
            number += 1;
            let text = format!("post {number} by {writer} of round {}.", stage.round());
            let is_job = number % 3 == 0;
            let args: &[&str] = if is_job {
                &["job", "submit", name, &text, "--timeout", "60s", "--json"]
            } else {
                &["send", name, &text, "--timeout", "60s", "--json"]
            };
            let ended = stage.run(&args[..2].join(" "), stage.world.command(args), None);
            let said = ended.json();
            let outcome = said["outcome"].as_str().map(ToOwned::to_owned);
            if !ended.is_ok() && !self.may_refuse {
                stage.violation(format_args!("{name}: {text:?}: {:?} {}", ended.code, said));
            }
            stage.ledger().messages.push(Message { session: name.to_owned(), text, outcome });
        }
    }

    fn answer(&self, name: &str) {
        let stage = self.stage;
        while !self.is_over() {
            let ended = stage.dogwatch(&["answer", name, "1", "--json"]);
            let said = ended.json();
            let mut ledger = stage.ledger();
            let count = ledger.answers.entry(name.to_owned()).or_default();
            count.asked += 1;
            count.answered += usize::from(said["outcome"] == "answered");
        }
    }
}

/// How often `answer` was called, and how often it said that it had answered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    pub(crate) asked: usize,
    pub(crate) answered: usize,
}

fn file(stage: &Stage, fits: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let folder = fs::read_dir(stage.world.state().join("supervisors")).ok()?;
    let files = folder.flatten().map(|entry| entry.path());
    files
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| fits(&name.to_string_lossy())))
}

/// The supervisor that has the lock, as it says itself.
pub(crate) fn serving(stage: &Stage) -> Option<i32> {
    let path = file(stage, |name| name.ends_with("tmux"))?;
    let said: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let pid = i32::try_from(said["pid"].as_i64()?).ok()?;
    let serves = process::is_alive(pid) && process::command_line(pid).ends_with("supervisor serve");
    serves.then_some(pid)
}

/// Whether the supervisor answers a question at its socket.
fn answers(stage: &Stage) -> bool {
    let ask = || -> std::io::Result<bool> {
        let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let path = file(stage, |name| name.ends_with(".sock")).ok_or_else(none)?;
        let mut stream = BufReader::new(connect(&path)?);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        stream
            .get_mut()
            .write_all(b"{\"hello\":{\"protocol\":1}}\n{\"id\":1,\"ask\":\"health\"}\n")?;
        line.clear();
        stream.read_line(&mut line)?;
        Ok(line.contains("clients"))
    };
    ask().unwrap_or(false)
}

/// A path that is too long for an address is named by its folder's number.
fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let folder = File::open(path.parent().unwrap_or(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stream = UnixStream::connect(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    Ok(stream)
}

fn until(stage: &Stage, at_most: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() > at_most || stage.is_interrupted() {
            return false;
        }
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn kill(stage: &Stage, dice: &mut Dice) -> bool {
    let mut killed = 0;
    for _ in 0..KILLS {
        // Most at once, so that one is hit as it starts; some while it works.
        let pause = dice.weighted(&[(2, 0), (3, 40), (3, 200), (1, 700)]);
        // sleep: the moment of the kill, by the plan.
        std::thread::sleep(Duration::from_millis(dice.below(pause + 1)));
        if !until(stage, NEXT, || serving(stage).is_some()) {
            stage.violation("lost: no supervisor comes");
            return false;
        }
        let Some(before) = serving(stage) else { continue };
        if !process::try_signal(before, Signal::KILL) {
            continue;
        }
        let begun = Instant::now();
        killed += 1;
        if until(stage, NEXT, || serving(stage).is_some_and(|pid| pid != before)) {
            stage.measured("from the kill of a supervisor to the next one", begun.elapsed());
        }
        // Half of them are killed before they have said a word.
        if dice.percent(50) {
            if until(stage, NEXT, || answers(stage)) {
                stage.measured("from the kill of a supervisor to an answer", begun.elapsed());
            } else {
                stage.violation("lost: no supervisor answers");
            }
        }
    }
    stage.checked("supervisors killed", killed);
    killed > 0
}

fn stop(stage: &Stage, dice: &mut Dice) -> bool {
    let Some(pid) = serving(stage) else { return false };
    if !process::try_signal(pid, Signal::STOP) {
        return false;
    }
    let begun = Instant::now();
    for what in ["ls", "status"] {
        let ended = stage.dogwatch(&[what, "--json"]);
        stage.measured("reading beside a stopped supervisor", ended.took);
        if !ended.is_ok() || ended.took > READ {
            stage.violation(format_args!(
                "{what} beside a stopped supervisor: {:?} after {:.1} s: {}",
                ended.code,
                ended.took.as_secs_f64(),
                ended.words()
            ));
        }
    }
    let hold = Duration::from_millis(dice.between(1000, 4000));
    // sleep: the time of the fault, by the plan.
    std::thread::sleep(hold.saturating_sub(begun.elapsed()));
    process::try_signal(pid, Signal::CONT)
}

fn fill(stage: &Stage, dice: &mut Dice, disk: &Disk) -> bool {
    // sleep: the moment of the fault, by the plan.
    std::thread::sleep(Duration::from_millis(dice.between(0, 400)));
    disk.fill();
    // sleep: the time of the fault, by the plan.
    std::thread::sleep(Duration::from_millis(dice.between(200, 1500)));
    // One in two is killed while there is no room for what the next one writes.
    if dice.percent(50)
        && let Some(pid) = serving(stage)
    {
        process::try_signal(pid, Signal::KILL);
        // sleep: the time of the fault, by the plan.
        std::thread::sleep(Duration::from_millis(dice.between(0, 500)));
    }
    disk.make_room();
    true
}

/// What an upgrade does: another file under the same name.
fn replace(stage: &Stage, dice: &mut Dice) -> bool {
    // sleep: the moment of the fault, by the plan.
    std::thread::sleep(Duration::from_millis(dice.between(0, 600)));
    let program = &stage.world.dogwatch;
    let next = program.with_extension("next");
    let replaced = fs::copy(program, &next).and_then(|_| fs::rename(&next, program));
    let Ok(inode) = replaced.and_then(|()| fs::metadata(program)).map(|about| about.ino()) else {
        return false;
    };
    let begun = Instant::now();
    let runs = || {
        let pid = serving(stage)?;
        fs::metadata(format!("/proc/{pid}/exe")).ok().map(|about| about.ino())
    };
    if until(stage, SETTLE, || runs() == Some(inode)) {
        stage.measured("from a new program to its supervisor", begun.elapsed());
    } else {
        stage.violation("lost: no supervisor runs the new program");
    }
    true
}

/// Everything that was posted to an agent is settled, was taken once, and in one piece.
fn settled(stage: &Stage, name: &str, had_no_room: bool) {
    let open = || -> Vec<String> {
        let listed = stage.dogwatch(&["messages", name, "--last", "10000", "--json"]).json();
        let all = listed["messages"].as_array().cloned().unwrap_or_default();
        let open = all.iter().filter(|one| one["outcome"].is_null() || one["outcome"] == "queued");
        open.map(ToString::to_string).collect()
    };
    let mut left = open();
    let begun = Instant::now();
    while !left.is_empty() && begun.elapsed() < SETTLE && !stage.is_interrupted() {
        // sleep: poll interval.
        std::thread::sleep(Duration::from_millis(300));
        left = open();
    }
    for one in left {
        stage.violation(format_args!("lost: {name}: a message is never delivered: {one}"));
    }
    let took = fs::read_to_string(stage.world.witness(name)).unwrap_or_default();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for text in took.lines().filter_map(|line| line.strip_prefix("took ")) {
        *times.entry(text).or_default() += 1;
    }
    let listed = stage.dogwatch(&["messages", name, "--last", "10000", "--json"]).json();
    let all = listed["messages"].as_array().cloned().unwrap_or_default();
    stage.checked("messages beside a supervisor in trouble", all.len());
    for one in &all {
        let text = one["text"].as_str().unwrap_or_default();
        let taken = times.remove(text).unwrap_or(0);
        let is_delivered = one["outcome"] == "delivered";
        if taken > 1 || (is_delivered && taken == 0) {
            stage.violation(format_args!("{name}: taken {taken} times: {one}"));
        } else if !(is_delivered || had_no_room && is_unconfirmed(one)) {
            // Its agent was idle in between all the time: nothing excuses that.
            stage.violation(format_args!("{name}: not delivered, taken {taken} times: {one}"));
        }
    }
    for (text, count) in times {
        stage.violation(format_args!("{name}: took what nobody sent, {count} times: {text:?}"));
    }
}

/// It was submitted, and what would confirm it did not come: there was no room for the hook's signal.
fn is_unconfirmed(message: &Value) -> bool {
    message["outcome"] == "failed" && message["submitted"].is_string()
}

/// Each dialog got one key at most, and each that was said to be answered got one.
fn answered(stage: &Stage, name: &str) {
    let count = stage.ledger().answers.remove(name).unwrap_or_default();
    let took = fs::read_to_string(stage.world.witness(name)).unwrap_or_default();
    let keys = took.lines().filter(|line| line.starts_with("key ")).count();
    stage.checked("answers beside a supervisor in trouble", count.answered);
    if keys > count.asked || keys < count.answered {
        stage.violation(format_args!("{name}: {keys} dialogs got a key: {count:?}"));
    }
}

/// A supervisor that is killed, stopped or out of disk is no reason to give anything up.
fn nothing_is_aside(stage: &Stage) {
    let shown = stage.dogwatch(&["supervisor", "--json"]).json();
    if let Some(aside) = shown["aside"].as_array().filter(|aside| !aside.is_empty()) {
        stage.violation(format_args!("set aside: {aside:?}"));
        // The next round begins anew.
        let _ = stage.dogwatch(&["supervisor", "restart"]);
    }
}
