//! Waiting until sessions reach a state, as the supervisor tells of them.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dogwatch_core::attention::{Progress, Quorum, Standing};
use dogwatch_core::status::{Basis, Verdict};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{StatusReport, WatchEvent, WatchLine};
use dogwatch_protocol::stream::Follow;

use super::stream::Stream;
use crate::error::SessionError;
use crate::{Context, Error};

/// Longest wait for news, so that an agent that stays out of sight is noticed.
const ROUND: Duration = Duration::from_secs(5);
/// How long an agent that dogwatch did not start may be out of sight: its launcher may be starting it.
const OUT_OF_SIGHT: Duration = Duration::from_secs(10);

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    /// As many sessions as were asked for have reached one of the states. All sessions of the wait, and which of them did.
    Happened(Vec<StatusReport>, Vec<SessionId>),
    /// Too many sessions ended in other states; the first of them.
    Impossible(Box<StatusReport>),
    TimedOut(Vec<StatusReport>),
}

/// Which sessions are waited for.
#[derive(Debug, Clone, Copy)]
pub enum Targets<'a> {
    /// By name, id or pane.
    Named(&'a [String]),
    /// All that are listed, those that are started meanwhile too.
    Listed,
}

/// Waits until as many of the sessions as `quorum` says are in one of `states`, by their words.
pub fn wait(
    context: &Context,
    targets: Targets<'_>,
    states: &[String],
    quorum: Quorum,
    at_most: Option<Duration>,
) -> Result<Waited, Error> {
    let begun = Instant::now();
    let names = match targets {
        Targets::Named(names) => names,
        Targets::Listed => &[],
    };
    let mut stream = Stream::open(context, names, Follow::default())?;
    let mut followed = Followed::new(stream.named());
    let never = AtomicBool::new(false);
    loop {
        let left = at_most.map(|limit| limit.saturating_sub(begun.elapsed()));
        let lines = stream.next(left.map_or(ROUND, |left| left.min(ROUND)), &never)?;
        for line in lines {
            followed.take(line, Instant::now());
        }
        let is_over = at_most.is_some_and(|limit| begun.elapsed() >= limit);
        // Before that, it is not known what there is; what this process saw itself is as good once time is over.
        if stream.is_complete() || is_over {
            followed.check(Instant::now())?;
            if let Some(waited) = followed.waited(states, quorum) {
                return Ok(waited);
            }
        }
        if is_over {
            return Ok(Waited::TimedOut(followed.all().cloned().collect()));
        }
    }
}

/// The sessions of a wait. They are followed by id, so that a new session of the same name is not taken for the one that was meant.
#[derive(Debug)]
struct Followed {
    /// In the order of their names; without any, all that are listed count.
    ids: Vec<SessionId>,
    last: BTreeMap<SessionId, StatusReport>,
    /// Agents that were there and are not now.
    gone: BTreeMap<SessionId, Instant>,
}

impl Followed {
    fn new(named: &[StatusReport]) -> Self {
        let ids = named.iter().map(|one| one.id.clone()).collect();
        let last = named.iter().map(|one| (one.id.clone(), one.clone())).collect();
        Self { ids, last, gone: BTreeMap::new() }
    }

    fn take(&mut self, line: WatchLine, now: Instant) {
        let id = line.session.id.clone();
        if !self.ids.is_empty() && !self.ids.contains(&id) {
            return;
        }
        match line.event {
            WatchEvent::Gone if self.ids.is_empty() => drop(self.last.remove(&id)),
            // One that was put away is what it was at its end.
            WatchEvent::Gone if line.session.verdict.status.is_over() => {
                self.last.insert(id, line.session);
            }
            WatchEvent::Gone => drop(self.gone.entry(id).or_insert(now)),
            WatchEvent::Seen | WatchEvent::Changed => {
                self.gone.remove(&id);
                self.last.insert(id, line.session);
            }
        }
    }

    /// An agent that is gone for good is none that could be waited for.
    fn check(&self, now: Instant) -> Result<(), Error> {
        let is_lost = |id: &SessionId, since: Instant| {
            !crate::observe::unmanaged::lives(id.origin())
                || now.duration_since(since) >= OUT_OF_SIGHT
        };
        match self.gone.iter().find(|(id, since)| is_lost(id, **since)) {
            Some((id, _)) => {
                let target = id.to_string();
                Err(SessionError::NoSuchSession { target, near: None }.into())
            }
            None => Ok(()),
        }
    }

    fn all(&self) -> impl Iterator<Item = &StatusReport> {
        let named = self.ids.iter().filter_map(|id| self.last.get(id));
        let listed = self.last.values().filter(|_| self.ids.is_empty());
        named.chain(listed)
    }

    /// How the wait has ended; `None` if it has not.
    fn waited(&self, states: &[String], quorum: Quorum) -> Option<Waited> {
        if !self.gone.is_empty() {
            return None;
        }
        let all: Vec<&StatusReport> = self.all().collect();
        let standings: Vec<Standing> = all.iter().map(|one| standing(one, states)).collect();
        let with = |wanted: Standing| {
            all.iter().zip(&standings).filter(move |(_, found)| **found == wanted)
        };
        match quorum.progress(&standings, self.ids.is_empty()) {
            Progress::NotYet => None,
            Progress::Reached => {
                let reached = with(Standing::Reached).map(|(one, _)| one.id.clone()).collect();
                Some(Waited::Happened(all.iter().map(|&one| one.clone()).collect(), reached))
            }
            Progress::Impossible => {
                let ended = with(Standing::Impossible).map(|(one, _)| *one).next();
                Some(match ended.or(all.first().copied()) {
                    Some(one) => Waited::Impossible(Box::new(one.clone())),
                    None => Waited::TimedOut(Vec::new()),
                })
            }
        }
    }
}

fn standing(one: &StatusReport, states: &[String]) -> Standing {
    let Verdict { status, basis, .. } = &one.verdict;
    // A stale verdict says what was, not what is.
    let is_there = *basis != Basis::Stale && states.iter().any(|state| state == status.as_str());
    match (is_there, status.is_over()) {
        (true, _) => Standing::Reached,
        (false, true) => Standing::Impossible,
        (false, false) => Standing::OnItsWay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dogwatch_core::status::Status;
    use jiff::Timestamp;

    fn line(event: WatchEvent, id: &str, status: Status) -> WatchLine {
        let verdict = Verdict { status, basis: Basis::Asserted, since: None, reasons: Vec::new() };
        let session = StatusReport {
            id: SessionId::from(id),
            name: id.to_owned(),
            agent: "codex".to_owned(),
            ours: true,
            pane: None,
            verdict,
            notes: Vec::new(),
        };
        WatchLine { event, at: Timestamp::UNIX_EPOCH, from: None, session }
    }

    fn seen(id: &str, status: Status) -> WatchLine {
        line(WatchEvent::Seen, id, status)
    }

    fn idle() -> Status {
        Status::Idle { after_turn: false, interrupted: false, background: 0, draft: None }
    }

    /// Ids, states that are waited for, how many, and how it ended: the sessions that reached them, or a word.
    #[test]
    fn a_wait_ends_with_its_quorum() {
        const ANY: Quorum = Quorum::AtLeast(1);
        let lost = || Status::Lost { last_seen: None, server_died: None };
        let there = [seen("a", idle()), seen("b", lost()), seen("c", Status::working(None))];
        let all = ["a", "b", "c"];
        let table: [(&[&str], &str, Quorum, &str); 8] = [
            (&["a"], "idle,error", Quorum::All, "a"),
            (&["a"], "working", Quorum::All, "not yet"),
            (&["b"], "idle", Quorum::All, "impossible: b"),
            (&all, "idle", ANY, "a"),
            (&[], "idle", ANY, "a"),
            (&all, "idle", Quorum::AtLeast(2), "not yet"),
            (&all, "idle", Quorum::AtLeast(3), "impossible: b"),
            (&[], "crashed", ANY, "not yet"),
        ];
        for (names, states, quorum, expected) in table {
            let named: Vec<StatusReport> = there
                .iter()
                .filter(|one| names.contains(&one.session.id.as_str()))
                .map(|one| one.session.clone())
                .collect();
            let mut followed = Followed::new(&named);
            for line in &there {
                followed.take(line.clone(), Instant::now());
            }
            let states: Vec<String> = states.split(',').map(ToOwned::to_owned).collect();
            let found = match followed.waited(&states, quorum) {
                None => "not yet".to_owned(),
                Some(Waited::Happened(_, reached)) => {
                    reached.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                }
                Some(Waited::Impossible(one)) => format!("impossible: {}", one.name),
                Some(Waited::TimedOut(_)) => "timed out".to_owned(),
            };
            assert_eq!(found, expected, "{names:?} {states:?} {quorum:?}");
        }
    }

    #[test]
    fn who_is_put_away_stays_what_it_was() {
        let first = seen("a", Status::working(None));
        let mut followed = Followed::new(std::slice::from_ref(&first.session));
        let lost = Status::Lost { last_seen: None, server_died: None };
        followed.take(line(WatchEvent::Gone, "a", lost), Instant::now());
        assert!(followed.waited(&["lost".to_owned()], Quorum::All).is_some());
        followed.take(seen("b", idle()), Instant::now());
        assert_eq!(followed.all().count(), 1, "another one is none of its business");
    }
}
