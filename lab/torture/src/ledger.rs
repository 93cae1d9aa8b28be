//! Records what was requested of dogwatch, and what was done to each session.

use std::collections::BTreeMap;
use std::fs;

use dogwatch_testkit::process;
use serde_json::Value;

use crate::judge::{End, Reported, Truth};
use crate::plan::Role;
use crate::supervisors::Answers;
use crate::world::World;

/// A session, from the start of its `spawn` until its end was found to be reported correctly.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) role: Role,
    pub(crate) truth: Truth,
    pub(crate) id: Option<String>,
    pub(crate) pid: Option<i32>,
    pub(crate) spawning: bool,
    /// No other operation or fault is aimed at it.
    pub(crate) reserved: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) session: String,
    pub(crate) text: String,
    pub(crate) outcome: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    open: BTreeMap<String, Entry>,
    pub(crate) messages: Vec<Message>,
    pub(crate) answers: BTreeMap<String, Answers>,
    to_reserve: Vec<String>,
    pub(crate) spawned: u64,
    pub(crate) judged: u64,
    /// Directories that a killed `spawn` may have left; `gc` removes them after an hour.
    pub(crate) cut_spawns: u64,
}

impl Ledger {
    pub(crate) fn begin(&mut self, name: &str, role: Role) {
        let reserved = self.to_reserve.extract_if(.., |one| one == name).count() > 0;
        let truth = Truth::default();
        let entry = Entry { role, truth, id: None, pid: None, spawning: true, reserved };
        self.open.insert(name.to_owned(), entry);
    }

    /// The session of this name, once it begins, is nobody else's.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.to_reserve.push(name.to_owned());
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.open.get(name)
    }

    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.open.get_mut(name) {
            change(entry);
        }
    }

    /// Something that concerns every session.
    pub(crate) fn change_all(&mut self, mut change: impl FnMut(&mut Entry)) {
        self.open.values_mut().for_each(&mut change);
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    pub(crate) fn close(&mut self, name: &str) {
        if self.open.remove(name).is_some() {
            self.judged += 1;
        }
    }

    /// The `pick`th of the sessions that pass the filter and whose `spawn` has returned.
    pub(crate) fn pick(&self, pick: u64, mut filter: impl FnMut(&Entry) -> bool) -> Option<String> {
        let fit: Vec<&String> = self
            .open
            .iter()
            .filter(|(_, entry)| {
                !entry.spawning
                    && !entry.reserved
                    && entry.truth.promised
                    && !entry.truth.forgotten
                    && filter(entry)
            })
            .map(|(name, _)| name)
            .collect();
        let at = usize::try_from(pick % u64::try_from(fit.len().max(1)).unwrap_or(1)).unwrap_or(0);
        fit.get(at).map(|name| (*name).clone())
    }
}

/// What the actor recorded itself.
pub(crate) fn witness(world: &World, name: &str) -> (usize, Option<End>) {
    let text = fs::read_to_string(world.witness(name)).unwrap_or_default();
    let began = text.lines().filter(|line| *line == "began").count();
    let end = text.lines().rev().find_map(|line| {
        let (kind, number) = line.strip_prefix("end ")?.split_once(' ')?;
        let number = number.parse().ok()?;
        Some(if kind == "code" { End::Code(number) } else { End::Signal(number) })
    });
    (began, end)
}

/// Whether the agent itself is alive: its process, or before that is known any actor of that name.
pub(crate) fn agent_lives(name: &str, pid: Option<i32>, scan: &[(i32, Vec<u8>)]) -> bool {
    let tag = format!("TORTURE_NAME={name}\0");
    match pid {
        Some(pid) => process::is_alive(pid) && process::contains(&process::environment(pid), &tag),
        None => scan.iter().any(|(pid, environment)| {
            process::contains(environment, &tag)
                && process::is_alive(*pid)
                && process::name(*pid) == "actor"
        }),
    }
}

/// Live actors, with their environments.
pub(crate) fn scan() -> Vec<(i32, Vec<u8>)> {
    let pids = process::pids().into_iter().filter(|pid| process::name(*pid) == "actor");
    pids.map(|pid| (pid, process::environment(pid))).collect()
}

/// The report of `ls --all --json` about a session.
pub(crate) fn reported(listed: &Value, name: &str) -> (Reported, Option<i32>) {
    let sessions = listed["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(session) = sessions.iter().rfind(|session| session["name"] == name) else {
        return (Reported::Nothing, None);
    };
    let pid = session["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let end = || {
        let exit = &session["exit"];
        let number = |key: &str| exit[key].as_i64();
        number("code").map(End::Code).or_else(|| number("signal").map(End::Signal))
    };
    let cause = session["cause"].as_str().map(ToOwned::to_owned);
    let reported = match session["state"].as_str().unwrap_or_default() {
        "starting" | "running" | "working" => Reported::Alive,
        "exited" | "crashed" | "stopped" | "killed" => Reported::Over { end: end(), cause },
        // Its server took it down, and its runner still wrote how it ended.
        "lost" if !session["exit"].is_null() => Reported::Over { end: end(), cause },
        "lost" => Reported::Lost,
        other => Reported::Unclear(other.to_owned()),
    };
    (reported, pid)
}
