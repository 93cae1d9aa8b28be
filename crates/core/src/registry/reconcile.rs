use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::drift::session_of;
use super::observed::SeenPane;
use super::{Drift, Edit, Entry, Observed, Registry, TmuxServer, identity, lives};

/// How long what a person did is left alone, whatever is seen.
pub const FRESH: SignedDuration = SignedDuration::from_secs(5);
/// How far ahead a command may say that it is still at it. What lies further ahead was written by another clock.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

/// What was said and done before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// Keys of drifts that were told and have not gone away since.
    pub drifts: BTreeSet<String>,
    /// When a person's command last changed a session.
    pub touched: BTreeMap<String, Timestamp>,
}

/// What is to be done about the difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub edits: Vec<Edit>,
    /// What is news.
    pub drifts: Vec<Drift>,
    /// What was told before, and is still so.
    pub standing: Vec<Drift>,
    /// Keys of what was told before, and is no longer so: if it comes back, it is told again.
    pub over: BTreeSet<String>,
    /// How many sessions of the file were looked at.
    pub checked: usize,
    /// Something was left alone because a person had just been at it: it should be looked at again soon.
    pub held: bool,
}

/// Holds the file against what was seen.
pub fn reconcile(registry: &Registry, observed: &Observed, told: &Told, now: Timestamp) -> Outcome {
    if observed.server == TmuxServer::Unreachable {
        return Outcome::default();
    }
    let mut pass = Pass::new(registry, observed, told, now);
    lives::check(&mut pass);
    lives::register_unknown(&mut pass);
    identity::check(&mut pass);
    pass.outcome()
}

/// One comparison under way.
pub(super) struct Pass<'a> {
    pub(super) registry: &'a Registry,
    pub(super) observed: &'a Observed,
    pub(super) told: &'a Told,
    pub(super) now: Timestamp,
    /// Sessions of the file that may be judged now.
    pub(super) judged: Vec<(&'a str, &'a Entry)>,
    /// Of which something could not be seen: what was told of them stays told.
    pub(super) unsure: BTreeSet<&'a str>,
    /// The living panes of sessions that the file has as running.
    pub(super) alive: BTreeMap<&'a str, &'a SeenPane>,
    pub(super) edits: Vec<Edit>,
    pub(super) found: Vec<Drift>,
    pub(super) held: bool,
}

impl<'a> Pass<'a> {
    fn new(registry: &'a Registry, observed: &'a Observed, told: &'a Told, now: Timestamp) -> Self {
        let mut pass = Self {
            registry,
            observed,
            told,
            now,
            judged: Vec::new(),
            unsure: BTreeSet::new(),
            alive: BTreeMap::new(),
            edits: Vec::new(),
            found: Vec::new(),
            held: false,
        };
        for (name, entry) in &registry.sessions {
            let is_elsewhere = |said: &Option<String>, here: &str| {
                said.as_deref().is_some_and(|said| said != here)
            };
            let is_fresh = pass.is_fresh(name, Some(entry));
            pass.held |= is_fresh;
            if is_fresh
                || is_elsewhere(&entry.host, &observed.host)
                || is_elsewhere(&entry.socket, &observed.socket)
            {
                pass.unsure.insert(name);
            } else {
                pass.judged.push((name, entry));
            }
        }
        pass
    }

    /// Whether a person has just changed it, or did so after the look began. Others than us tell by the times in the file.
    pub(super) fn is_fresh(&self, name: &str, entry: Option<&Entry>) -> bool {
        let by_command = self.told.touched.get(name).copied();
        let last = by_command.max(entry.and_then(Entry::last_change));
        last.is_some_and(|last| {
            let age = self.now.duration_since(last);
            age >= -AHEAD && (age < FRESH || last > self.observed.at)
        })
    }

    fn outcome(self) -> Outcome {
        let current: BTreeSet<&String> = self.found.iter().map(|drift| &drift.key).collect();
        let is_over =
            |key: &&String| !current.contains(key) && !self.unsure.contains(session_of(key));
        let over = self.told.drifts.iter().filter(is_over).cloned().collect();
        let checked = self.judged.len();
        let is_old = |drift: &Drift| self.told.drifts.contains(&drift.key);
        let (standing, drifts) = self.found.into_iter().partition(is_old);
        Outcome { edits: self.edits, drifts, standing, over, checked, held: self.held }
    }
}
