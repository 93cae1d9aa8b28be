use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::drift::session_of;
use super::observed::SeenPane;
use super::{Drift, Edit, Entry, Observed, Registry, TmuxServer, identity, lives};

/// How long a person's change is left alone, whatever is observed.
pub const FRESH: SignedDuration = SignedDuration::from_secs(5);
/// How far in the future a command may announce that it still works on a session. A later time comes from another clock.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

/// Earlier reports and commands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reported {
    /// Keys of drifts that were reported and still exist.
    pub drifts: BTreeSet<String>,
    /// When a person's command last changed a session.
    pub touched: BTreeMap<String, Timestamp>,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub edits: Vec<Edit>,
    /// New drifts.
    pub drifts: Vec<Drift>,
    /// Drifts that were reported before and still exist.
    pub standing: Vec<Drift>,
    /// Keys of reported drifts that no longer exist: if one comes back, it is reported again.
    pub over: BTreeSet<String>,
    /// Number of sessions of the file that were checked.
    pub checked: usize,
    /// A session was skipped because a person had just changed it: check again soon.
    pub held: bool,
}

/// Compares the file with the observation.
pub fn reconcile(
    registry: &Registry,
    observed: &Observed,
    reported: &Reported,
    now: Timestamp,
) -> Outcome {
    if observed.server == TmuxServer::Unreachable {
        return Outcome::default();
    }
    let mut pass = Pass::new(registry, observed, reported, now);
    lives::check(&mut pass);
    lives::register_unknown(&mut pass);
    identity::check(&mut pass);
    pass.outcome()
}

/// A comparison in progress.
pub(super) struct Pass<'a> {
    pub(super) registry: &'a Registry,
    pub(super) observed: &'a Observed,
    pub(super) reported: &'a Reported,
    pub(super) now: Timestamp,
    /// Sessions of the file that can be checked now.
    pub(super) checkable: Vec<(&'a str, &'a Entry)>,
    /// Sessions that were not fully observed: their reported drifts are kept.
    pub(super) unsure: BTreeSet<&'a str>,
    /// The live panes of sessions that the file has as running.
    pub(super) alive: BTreeMap<&'a str, &'a SeenPane>,
    pub(super) edits: Vec<Edit>,
    pub(super) found: Vec<Drift>,
    pub(super) held: bool,
}

impl<'a> Pass<'a> {
    fn new(
        registry: &'a Registry,
        observed: &'a Observed,
        reported: &'a Reported,
        now: Timestamp,
    ) -> Self {
        let mut pass = Self {
            registry,
            observed,
            reported,
            now,
            checkable: Vec::new(),
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
                pass.checkable.push((name, entry));
            }
        }
        pass
    }

    /// Whether a person changed it just now, or after the observation began. Other tools' changes show in the times of the file.
    pub(super) fn is_fresh(&self, name: &str, entry: Option<&Entry>) -> bool {
        let by_command = self.reported.touched.get(name).copied();
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
        let over = self.reported.drifts.iter().filter(is_over).cloned().collect();
        let checked = self.checkable.len();
        let is_old = |drift: &Drift| self.reported.drifts.contains(&drift.key);
        let (standing, drifts) = self.found.into_iter().partition(is_old);
        Outcome { edits: self.edits, drifts, standing, over, checked, held: self.held }
    }
}
