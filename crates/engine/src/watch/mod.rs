//! Watches sessions and reports every change of status, driven by events.
//!
//! Theory of operation. Each live session has interests (its news file, its agent's state file, its transcript, its terminal, the
//! end of its runner), and the kernel reports which of them changed. One control-mode connection reports panes that come and
//! go, and captures panes. A session with a change becomes due, immediately or a little later ([`pace`]); only due sessions are
//! read and judged again. A slow round finds what no event reports: time itself, agents that were started elsewhere, lost
//! messages.
//!
//! The verdicts come from [`crate::observe::status`] and the same evidence as without a watcher.

mod acting;
mod change;
mod couriers;
mod focus;
pub mod labels;
pub(crate) mod line;
mod listed;
pub(crate) mod news;
mod notifier;
mod pace;
pub mod stream;
pub mod wait;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_core::profile;
use dogwatch_core::status::Status;
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Session, Which};
use dogwatch_tmux::{PaneId, PaneRow};
use jiff::Timestamp;

use crate::observe::changes::{Changes, Interest, Waker};
use crate::observe::evidence::Memory;
use crate::observe::interests::{self, Voice};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::observe::{background, processes, unmanaged};
use crate::{Context, Error};
pub use change::{Change, What};
pub use focus::{Focus, Followed};
use labels::Labels;
use line::{Line, passing};
use listed::Listed;
use notifier::Notifier;
use watched::{Due, Watched, face, is_to_be_reported, pane};

/// How often sessions whose status depends on time are judged again.
const ROUND: Duration = Duration::from_secs(1);
/// How often all panes are listed, for changes that no event reported.
const LONG_ROUND: Duration = Duration::from_secs(5);

/// Panes from which on capturing them takes longer than starting a thread.
const MANY: usize = 32;

/// How long a dialog that is said to be open is looked for on the screen again and again.
const UNDRAWN: Duration = Duration::from_secs(3);

/// The source of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum WakeUp {
    /// Sessions were added or archived.
    Sessions,
    Session(SessionId, Voice),
    /// A notification is to be sent.
    Outbox,
}

/// Watches all sessions of one server.
#[derive(Debug)]
pub struct Watcher<'c> {
    context: &'c Context,
    reader: StatusReader<'c>,
    changes: Changes<WakeUp>,
    line: Line,
    /// The supervisor's watcher records what it sees and notifies people; one in a test only reports.
    notifier: Option<Notifier>,
    /// Sessions whose movements are looked at at once.
    attended: BTreeSet<SessionId>,
    /// A program wants to know at once which panes there are, whether or not an agent runs in one.
    wants_panes: bool,
    watched: BTreeMap<SessionId, Watched>,
    /// Listed, but not judged yet.
    new: BTreeMap<SessionId, Session>,
    snapshot: Result<TmuxSnapshot, dogwatch_tmux::Error>,
    /// Options of panes, if they are to be set.
    labels: Option<Labels>,
    /// What the list of sessions was made of.
    listed: Option<Listed>,
    /// The next turn judges all living sessions again of which something changes unannounced.
    judges_unannounced: bool,
    /// Changes that were found beside a wait, and are reported by the next.
    found: Vec<Change>,
    /// Sessions that were judged or removed since [`Watcher::take_touched`].
    touched: BTreeSet<SessionId>,
    last_round: Instant,
    last_list: Option<Instant>,
    /// Whether tmux answered before: an error on the first call is fatal, later ones may pass.
    has_answered: bool,
}

impl<'c> Watcher<'c> {
    /// Watches all sessions, and neither records nor notifies.
    pub(crate) fn new(context: &'c Context) -> Result<Self, Error> {
        // A missing server may start later; a missing tmux program is an error.
        let found = context.tmux.version()?;
        if !found.is_supported() {
            return Err(dogwatch_tmux::Error::TooOld { found }.into());
        }
        // Hooks and runners write news only if this directory exists.
        context.state.news();
        let changes = Changes::new();
        let line = Line::new(&context.tmux, changes.waker());
        let mut watcher = Self {
            context,
            reader: StatusReader::new(context)?,
            changes,
            line,
            notifier: None,
            attended: BTreeSet::new(),
            wants_panes: false,
            watched: BTreeMap::new(),
            new: BTreeMap::new(),
            snapshot: Err(dogwatch_tmux::Error::NoServer),
            labels: None,
            listed: None,
            judges_unannounced: false,
            found: Vec::new(),
            touched: BTreeSet::new(),
            last_round: Instant::now(),
            last_list: None,
            has_answered: false,
        };
        // Before the first judgement, so that no change after it is missed.
        watcher.listen();
        Ok(watcher)
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.changes.waker()
    }

    /// The last status of each session, in the order of their creation (ids sort by time).
    pub fn statuses(&self) -> impl Iterator<Item = &SessionStatus> {
        self.watched.values().map(|watched| &watched.status)
    }

    /// The last status of one session.
    pub fn status(&self, session: &str) -> Option<&SessionStatus> {
        self.watched.get(session).map(|watched| &watched.status)
    }

    /// What was last read off a session's screen.
    pub fn memory(&self, session: &str) -> Option<&Memory> {
        self.reader.memory(session)
    }

    /// Sessions that were judged again or are gone since the last call, whether their status changed or not.
    pub fn take_touched(&mut self) -> BTreeSet<SessionId> {
        std::mem::take(&mut self.touched)
    }

    /// How many panes tmux has, and which watched sessions a client shows; `None` while tmux does not answer.
    pub fn panes(&self) -> Option<(usize, BTreeSet<SessionId>)> {
        let snapshot = self.snapshot.as_ref().ok()?;
        let shown: BTreeSet<PaneId> = snapshot
            .faces
            .iter()
            .filter(|face| face.row.session_attached > 0)
            .map(|face| face.row.pane_id)
            .collect();
        let is_shown = |watched: &&Watched| {
            watched.status.seen.pane_id().is_some_and(|pane| shown.contains(&pane))
        };
        let ids = self.watched.values().filter(is_shown);
        let ids = ids.map(|watched| watched.status.seen.session.id.clone()).collect();
        Some((snapshot.faces.len(), ids))
    }

    /// Waits at most `at_most` for changes, or until `stop` is set and the waker called. The first call reports every existing
    /// session.
    pub fn next(&mut self, at_most: Duration, stop: &AtomicBool) -> Result<Vec<Change>, Error> {
        self.next_unless(at_most, || stop.load(Ordering::Relaxed))
    }

    /// The same; a wait ends when the waker was called and `stops` says so.
    pub(crate) fn next_unless(
        &mut self,
        at_most: Duration,
        stops: impl Fn() -> bool,
    ) -> Result<Vec<Change>, Error> {
        let until = Instant::now() + at_most;
        loop {
            let mut changes = std::mem::take(&mut self.found);
            changes.extend(self.turn()?);
            let is_touched = self.notifier.is_some() && !self.touched.is_empty();
            let is_news = !changes.is_empty() || is_touched;
            if is_news || Instant::now() >= until || stops() {
                return Ok(changes);
            }
            self.wait(until.min(self.next_look()));
        }
    }

    /// Collects wake-ups until then.
    fn wait(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let stirred = self.changes.wait(left);
        let now = Instant::now();
        for stir in stirred {
            match stir {
                WakeUp::Sessions => self.last_list = None,
                WakeUp::Outbox => self.notifier.iter().for_each(Notifier::flush),
                WakeUp::Session(id, voice) => {
                    let voice = if self.attended.contains(&id) { Voice::Word } else { voice };
                    if let Some(watched) = self.watched.get_mut(&id) {
                        watched.stir(voice, now);
                    }
                }
            }
        }
        if self.line.has_news() {
            self.last_list = None;
        }
    }

    fn next_look(&self) -> Instant {
        let dues = self.watched.values().filter_map(|watched| Some(watched.due?.at));
        dues.chain([self.last_round + ROUND]).min().unwrap_or(self.last_round)
    }

    /// Lists and judges what is due now.
    fn turn(&mut self) -> Result<Vec<Change>, Error> {
        let now = Instant::now();
        let mut changes = Vec::new();
        // What the last turn found; its caller had it first.
        self.update_labels();
        self.reader.store.check_files()?;
        if self.last_list.is_none_or(|at| now.duration_since(at) >= LONG_ROUND) {
            self.last_list = Some(now);
            changes.extend(self.list_sessions(now)?);
        }
        let mut due = self.take_due(now);
        if now.duration_since(self.last_round) >= ROUND {
            self.last_round = now;
            for (id, watched) in &self.watched {
                if pace::is_restless(watched, now) {
                    due.entry(id.clone()).or_insert(None);
                }
            }
        }
        if std::mem::take(&mut self.judges_unannounced) {
            for id in self.unannounced() {
                due.entry(id).or_insert(None);
            }
        }
        changes.extend(self.look(due, now)?);
        Ok(changes)
    }

    /// Lists the sessions and panes that exist.
    fn list_sessions(&mut self, now: Instant) -> Result<Vec<Change>, Error> {
        if self.notifier.is_some() {
            // Plain commands have no screen to be read. A client in the user's server is for agents.
            let is_agent = |one: &Watched| {
                let status = &one.status;
                !status.verdict.status.is_over() && status.seen.session.agent != profile::COMMAND
            };
            self.line.want(self.wants_panes || self.watched.values().any(is_agent));
        }
        // Before all else: what is written or made meanwhile is news to the next look.
        self.listed = self.outline();
        // Before the panes: of a session that is made meanwhile its pane would be missing, as if it were gone.
        let which = Which::current(Timestamp::now());
        let mut listed = self.reader.store.sessions(&self.context.socket, which)?;
        let seen = match self.line.list() {
            Err(error) if !(self.has_answered || error.is_no_server() || error.is_passing()) => {
                return Err(error.into());
            }
            seen => seen.map_err(passing),
        };
        self.has_answered = true;
        let before = std::mem::replace(&mut self.snapshot, seen);
        if let Ok(snapshot) = &self.snapshot {
            listed.extend(unmanaged::agents(self.context, snapshot, listed.iter()));
        }
        listed.extend(background::sessions(self.context, listed.iter()));
        let mut listed: BTreeMap<SessionId, Session> =
            listed.into_iter().map(|session| (session.id.clone(), session)).collect();
        self.add_unseen_ends(&mut listed)?;
        let gone: Vec<SessionId> =
            self.watched.keys().filter(|id| !listed.contains_key(*id)).cloned().collect();
        let gone = gone.into_iter().filter_map(|id| self.remove(&id)).collect();
        let mut relabelled = Vec::new();
        for (id, watched) in &mut self.watched {
            if let Some(session) = listed.remove(id) {
                let known = std::mem::replace(&mut watched.status.seen.session, session);
                if known != watched.status.seen.session {
                    relabelled.push(id.clone());
                }
                if known.server_died != watched.status.seen.session.server_died {
                    // It had ended before that was known, and is judged again.
                    watched.stir(Voice::Word, now);
                }
            }
            if !watched.status.verdict.status.is_over() {
                let (old, new) =
                    (face(watched, before.as_ref()), face(watched, self.snapshot.as_ref()));
                let about = |row: &PaneRow| (row.dead, row.session_attached > 0);
                if old.map(about) != new.map(about) {
                    watched.stir(Voice::Word, now);
                } else if old.map(|row| row.window_activity) != new.map(|row| row.window_activity) {
                    watched.stir(Voice::Output, now);
                }
            }
        }
        for id in relabelled {
            self.touch(id);
        }
        self.new = listed;
        Ok(gone)
    }

    /// Sessions that left the list before their end was seen, as happens when many end together. They stay until it is reported.
    fn add_unseen_ends(&self, listed: &mut BTreeMap<SessionId, Session>) -> Result<(), Error> {
        for (id, watched) in &self.watched {
            let is_unseen =
                !watched.status.verdict.status.is_over() && watched.status.seen.is_ours();
            if is_unseen && !listed.contains_key(id) {
                let kept = self.reader.store.by_id(id)?.filter(is_to_be_reported);
                listed.extend(kept.map(|session| (id.clone(), session)));
            }
        }
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Option<Change> {
        let watched = self.watched.remove(id)?;
        self.touch(watched.status.seen.session.id.clone());
        self.reader.forget(id);
        Some(Change { at: Timestamp::now(), what: What::Gone, status: watched.status })
    }

    fn touch(&mut self, session: SessionId) {
        if let Some(labels) = &mut self.labels {
            labels.touch(&session);
        }
        self.touched.insert(session);
    }

    /// Removes and returns the due sessions, with the source that woke them.
    fn take_due(&mut self, now: Instant) -> BTreeMap<SessionId, Option<Voice>> {
        let mut due = BTreeMap::new();
        for (id, watched) in &mut self.watched {
            if let Some(Due { at, voice, .. }) = watched.due
                && at <= now
            {
                watched.due = None;
                due.insert(id.clone(), Some(voice));
            }
        }
        due
    }

    fn look(
        &mut self,
        due: BTreeMap<SessionId, Option<Voice>>,
        now: Instant,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let mut sessions: Vec<Session> = std::mem::take(&mut self.new).into_values().collect();
        let mut to_see: Vec<PaneId> = sessions.iter().filter_map(pane).collect();
        for (id, voice) in due {
            let Some(session) = self.record(&id, voice)? else {
                changes.extend(self.remove(&id));
                continue;
            };
            if voice.is_some() {
                to_see.extend(pane(&session));
            }
            sessions.push(session);
        }
        if sessions.is_empty() {
            return Ok(changes);
        }
        let time = Timestamp::now();
        self.list_again_for(&sessions);
        self.see(&to_see, &mut sessions, time);
        let statuses = self.reader.judge(sessions, self.snapshot.as_ref(), time)?;
        if self.notifier.is_some() {
            self.settle_jobs(&statuses);
        }
        if let Ok(snapshot) = &mut self.snapshot {
            snapshot.drop_texts();
        }
        if let Some(notifier) = &self.notifier {
            let is_news = |one: &&SessionStatus| {
                let before = self.watched.get(&one.seen.session.id);
                before.is_none_or(|before| before.status.verdict.status != one.verdict.status)
            };
            notifier.show(statuses.iter().filter(is_news).cloned().collect());
        }
        let mut is_same = true;
        for one in statuses {
            let (change, same_interests) = self.take_in(one, time, now);
            changes.extend(change);
            is_same &= same_interests;
        }
        if !is_same {
            self.listen();
        }
        Ok(changes)
    }

    /// Lists the panes again if one is missing: it may have been made since.
    fn list_again_for(&mut self, sessions: &[Session]) {
        let Ok(snapshot) = &self.snapshot else {
            if sessions.iter().any(|one| pane(one).is_some() && one.ended().is_none()) {
                self.snapshot = self.line.list().map_err(passing);
            }
            return;
        };
        let is_missing = |one: &Session| {
            one.ended().is_none() && pane(one).is_some_and(|pane| !snapshot.has(pane))
        };
        if sessions.iter().any(is_missing) {
            self.snapshot = self.line.list().map_err(passing);
        }
    }

    /// The session's current record; `None` if it is gone.
    fn record(&mut self, id: &str, voice: Option<Voice>) -> Result<Option<Session>, Error> {
        let Some(watched) = self.watched.get(id) else { return Ok(None) };
        let known = &watched.status.seen.session;
        if !watched.status.seen.is_ours() {
            if !known.started().is_some_and(|s| processes::is_alive(s.agent)) {
                // Its launcher may start another agent.
                self.last_list = None;
            }
            return Ok(unmanaged::lives(known.origin).then(|| known.clone()));
        }
        match voice {
            Some(Voice::Word) => {
                let is_over = watched.status.verdict.status.is_over();
                let kept = self.reader.store.by_id(id)?;
                Ok(kept.filter(|one| !one.archived || (!is_over && is_to_be_reported(one))))
            }
            _ => Ok(Some(known.clone())),
        }
    }

    /// Captures panes again, and reads everything else meanwhile.
    fn see(&mut self, panes: &[PaneId], sessions: &mut [Session], time: Timestamp) {
        // Without a snapshot, the next listing creates one.
        let Self { snapshot: Ok(snapshot), line, reader, .. } = self else { return };
        let captured = thread::scope(|scope| match panes.len() {
            0 => Ok(()),
            // A thread takes longer to start than tmux to answer.
            1..MANY => line.refresh(snapshot, panes),
            _ => {
                let capture = || line.refresh(snapshot, panes);
                let capture = thread::Builder::new().spawn_scoped(scope, capture);
                reader.listen_ahead(sessions, time);
                let failed = |source: std::io::Error| {
                    let source = source.into();
                    Err(dogwatch_tmux::Error::Io { action: "start a thread", source })
                };
                capture.map_or_else(failed, |capture| {
                    capture.join().unwrap_or(Err(dogwatch_tmux::Error::Disconnected))
                })
            }
        });
        if let Err(error) = captured {
            self.snapshot = Err(passing(error));
        }
    }

    /// Stores a verdict; returns the change, if it is one, and whether the interests stayed the same.
    fn take_in(
        &mut self,
        current: SessionStatus,
        at: Timestamp,
        now: Instant,
    ) -> (Option<Change>, bool) {
        let id = current.seen.session.id.clone();
        let status = &current.verdict.status;
        let interests = if status.is_over() {
            Vec::new()
        } else {
            interests::of(self.context, &current.seen, self.reader.memory(&id))
        };
        let before = self.watched.remove(&id);
        let before = before.as_ref();
        let is_same = before.is_some_and(|b| b.interests == interests);
        let is_news = before.is_none_or(|b| b.status.verdict.status.key() != status.key());
        let what = match before {
            None => What::Seen,
            Some(before) => What::Changed { from: Box::new(before.status.verdict.clone()) },
        };
        let change = is_news.then(|| Change { at, what, status: current.clone() });
        let changed = before.filter(|_| !is_news).map_or(now, |b| b.changed);
        // Agents say that they ask before they have drawn what.
        let is_undrawn = matches!(status, Status::Waiting { dialog: None, .. })
            && now.duration_since(changed) < UNDRAWN;
        let watched = Watched {
            status: current,
            interests,
            looked: now,
            changed,
            told: before.map_or(now, |before| before.told),
            // Events between the reading and the new subscription were missed: read again soon.
            due: if is_same && !is_undrawn {
                before.and_then(|b| b.due)
            } else {
                Some(Due::soon(now))
            },
        };
        self.touch(id.clone());
        self.watched.insert(id, watched);
        (change, is_same)
    }

    /// Subscribes to everything that concerns the current sessions.
    fn listen(&mut self) {
        let listed = (Interest::File(self.context.state.news_of_sessions()), WakeUp::Sessions);
        let sessions = self.watched.iter().flat_map(|(id, watched)| {
            let stir = move |voice: &Voice| WakeUp::Session(id.clone(), *voice);
            watched.interests.iter().map(move |(interest, voice)| (interest.clone(), stir(voice)))
        });
        let outbox = self
            .notifier
            .as_ref()
            .map(|_| (Interest::File(self.context.state.news_of_outbox()), WakeUp::Outbox));
        self.changes.set(sessions.chain([listed]).chain(outbox).collect());
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.remove_labels();
    }
}
