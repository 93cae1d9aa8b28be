//! Standing watch: told of exits, output, hooks and files, and telling of every change of state.
//!
//! Theory of operation. Each living session has interests (its news file, its agent's state file, its transcript, its
//! terminal, its runner's end), and the kernel tells which of them stirred. One control-mode connection tells of panes that
//! come and go, and answers looks at panes. A session that stirred is due for a look, at once or in a moment ([`pace`]);
//! only what is due is looked at and judged again. What nobody tells of (time itself, an agent started by others, a lost
//! message) is found by a slow round.
//!
//! The verdicts are those of [`crate::observe::status`], from the same evidence: watching makes no difference to them.

pub(crate) mod line;
mod pace;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::status::{Role, Source, Verdict};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{Job, Session, Which};
use dogwatch_tmux::{PaneId, PaneRow};
use jiff::Timestamp;

use crate::actions::{job, send};
use crate::observe::changes::{Changes, Interest, Waker};
use crate::observe::interests::{self, Voice};
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::observe::{processes, unmanaged};
use crate::{Context, Error};
use line::Line;

/// How often sessions that may change by time alone are judged again.
const ROUND: Duration = Duration::from_secs(1);
/// How often all panes are listed, for what nobody told of.
const LONG_ROUND: Duration = Duration::from_secs(5);

/// What happened to a session.
#[derive(Debug, Clone)]
pub struct Change {
    pub at: Timestamp,
    pub what: What,
    pub judged: SessionStatus,
}

#[derive(Debug, Clone)]
pub enum What {
    /// It is seen for the first time by this watcher.
    Seen,
    /// It is in another state than before.
    Changed { from: Box<Verdict> },
    /// It was put away, or its agent left a pane that is not ours. The verdict is the last one.
    Gone,
}

/// Who stirred.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Stir {
    /// Sessions were added or put away.
    Sessions,
    Session(SessionId, Voice),
}

/// A watch over all sessions of one server, or over some of them.
#[derive(Debug)]
pub struct Watcher<'c> {
    context: &'c Context,
    reader: StatusReader<'c>,
    changes: Changes<Stir>,
    line: Line,
    /// Only these, by id; without any, whatever there is.
    only: Option<BTreeSet<SessionId>>,
    watched: BTreeMap<SessionId, Watched>,
    /// Who is on the listed, and not looked at yet.
    new: BTreeMap<SessionId, Session>,
    sights: Result<TmuxSnapshot, dogwatch_tmux::Error>,
    last_round: Instant,
    last_list: Option<Instant>,
    /// Whether tmux has been asked before: what it refuses at the start is an error, later it may pass.
    has_answered: bool,
}

#[derive(Debug)]
struct Watched {
    judged: SessionStatus,
    interests: Vec<(Interest, Voice)>,
    looked: Instant,
    changed: Instant,
    due: Option<Due>,
}

#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    voice: Voice,
}

impl<'c> Watcher<'c> {
    /// Watches the sessions that are meant, or all.
    pub fn new(context: &'c Context, targets: &[String]) -> Result<Self, Error> {
        // A server may come; a program that is not there will not.
        let found = context.tmux.version()?;
        if !found.is_supported() {
            return Err(dogwatch_tmux::Error::TooOld { found }.into());
        }
        send::look_after(context)?;
        let mut reader = StatusReader::new(context)?;
        let now = Timestamp::now();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let meant = reader.many(&targets, now)?;
        let ids: BTreeSet<SessionId> = meant.into_iter().map(|one| one.seen.session.id).collect();
        // Whoever has news tells only if somebody listens.
        context.state.news();
        let changes = Changes::new();
        let line = Line::new(&context.tmux, changes.waker());
        let mut watcher = Self {
            context,
            reader,
            changes,
            line,
            only: (!ids.is_empty()).then_some(ids),
            watched: BTreeMap::new(),
            new: BTreeMap::new(),
            sights: Err(dogwatch_tmux::Error::NoServer),
            last_round: Instant::now(),
            last_list: None,
            has_answered: false,
        };
        // Before the first look: what happens from now on is told.
        watcher.listen();
        Ok(watcher)
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> Waker {
        self.changes.waker()
    }

    /// The last verdicts, in the order of the sessions' ids, which is that of their making.
    pub fn judged(&self) -> impl Iterator<Item = &SessionStatus> {
        self.watched.values().map(|watched| &watched.judged)
    }

    /// The newest job of each session.
    pub fn jobs(&self) -> Result<HashMap<SessionId, Job>, Error> {
        let jobs = self.reader.store.last_jobs(self.watched.keys().map(SessionId::as_str))?;
        Ok(jobs.into_iter().map(|job| (job.session.clone(), job)).collect())
    }

    /// Waits for changes, at most so long, or until it is told to stop (and woken). The first call tells of every session
    /// there is.
    pub fn next(&mut self, at_most: Duration, stop: &AtomicBool) -> Result<Vec<Change>, Error> {
        let until = Instant::now() + at_most;
        loop {
            let told = self.turn()?;
            if !told.is_empty() || Instant::now() >= until || stop.load(Ordering::Relaxed) {
                return Ok(told);
            }
            self.wait(until.min(self.next_look()));
        }
    }

    /// Hears what stirred until then.
    fn wait(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let stirred = self.changes.wait(left);
        let now = Instant::now();
        for stir in stirred {
            match stir {
                Stir::Sessions => self.last_list = None,
                Stir::Session(id, voice) => {
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

    /// Does what is to be done now.
    fn turn(&mut self) -> Result<Vec<Change>, Error> {
        let now = Instant::now();
        let mut changes = Vec::new();
        self.reader.store.check_files()?;
        if self.last_list.is_none_or(|at| now.duration_since(at) >= LONG_ROUND) {
            self.last_list = Some(now);
            changes.extend(self.list_sessions(now)?);
        }
        let mut due = self.take_due(now);
        if now.duration_since(self.last_round) >= ROUND {
            self.last_round = now;
            for (id, watched) in &self.watched {
                if pace::is_restless(&watched.judged, watched.changed, now) {
                    due.entry(id.clone()).or_insert(None);
                }
            }
        }
        changes.extend(self.look(due, now)?);
        Ok(changes)
    }

    /// Finds out which sessions and panes there are.
    fn list_sessions(&mut self, now: Instant) -> Result<Vec<Change>, Error> {
        let seen = match self.line.list() {
            Err(error) if !(self.has_answered || error.is_no_server() || error.is_passing()) => {
                return Err(error.into());
            }
            seen => seen.map_err(passing),
        };
        self.has_answered = true;
        let before = std::mem::replace(&mut self.sights, seen);
        let mut listed =
            self.reader.store.sessions(&self.context.socket, Which::current(Timestamp::now()))?;
        if let Ok(sights) = &self.sights {
            listed.extend(unmanaged::agents(self.context, sights, &listed));
        }
        let mut listed: BTreeMap<SessionId, Session> =
            listed.into_iter().map(|session| (session.id.clone(), session)).collect();
        if let Some(only) = &self.only {
            listed.retain(|id, _| only.contains(id));
        }
        self.add_unseen_ends(&mut listed)?;
        let gone: Vec<SessionId> =
            self.watched.keys().filter(|id| !listed.contains_key(*id)).cloned().collect();
        let gone = gone.into_iter().filter_map(|id| self.take_off(&id)).collect();
        for (id, watched) in &mut self.watched {
            if let Some(session) = listed.remove(id) {
                watched.judged.seen.session = session;
            }
            if !watched.judged.verdict.status.is_over() {
                let (old, new) =
                    (face(watched, before.as_ref()), face(watched, self.sights.as_ref()));
                if old.map(|row| row.dead) != new.map(|row| row.dead) {
                    watched.stir(Voice::Word, now);
                } else if old.map(|row| row.window_activity) != new.map(|row| row.window_activity) {
                    watched.stir(Voice::Output, now);
                }
            }
        }
        self.new = listed;
        Ok(gone)
    }

    /// Sessions may leave the lists before their end was seen, where many end at once. They go once it was told.
    fn add_unseen_ends(&self, listed: &mut BTreeMap<SessionId, Session>) -> Result<(), Error> {
        for (id, watched) in &self.watched {
            let is_unseen =
                !watched.judged.verdict.status.is_over() && watched.judged.seen.is_ours();
            if is_unseen && !listed.contains_key(id) {
                let kept = self.reader.store.by_id(id)?.filter(|session| !session.put_away);
                listed.extend(kept.map(|session| (id.clone(), session)));
            }
        }
        Ok(())
    }

    fn take_off(&mut self, id: &str) -> Option<Change> {
        let watched = self.watched.remove(id)?;
        self.reader.forget(id);
        Some(Change { at: Timestamp::now(), what: What::Gone, judged: watched.judged })
    }

    /// Those whose time has come, with the voice that called.
    fn take_due(&mut self, now: Instant) -> BTreeMap<SessionId, Option<Voice>> {
        let mut due = BTreeMap::new();
        for (id, watched) in &mut self.watched {
            if let Some(Due { at, voice }) = watched.due
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
                changes.extend(self.take_off(&id));
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
        self.see(&to_see);
        let time = Timestamp::now();
        let judged = self.reader.judge(sessions, self.sights.as_ref(), time)?;
        self.settle_jobs(&judged);
        if let Ok(sights) = &mut self.sights {
            sights.drop_texts();
        }
        let mut is_same = true;
        for one in judged {
            let (change, same_interests) = self.take_in(one, time, now);
            changes.extend(change);
            is_same &= same_interests;
        }
        if !is_same {
            self.listen();
        }
        Ok(changes)
    }

    /// Writes down how far the jobs of these have come. That must not keep anybody from being told of the rest.
    fn settle_jobs(&mut self, judged: &[SessionStatus]) {
        let over = job::settle_of(self.context, &mut self.reader, judged)
            .logged("settle jobs")
            .unwrap_or_default();
        if !over.is_empty() {
            let context = self.context.clone();
            let over = Arc::new(over);
            let told = Arc::clone(&over);
            // A notification may take its time.
            let tell = move || job::tell_of(&context, &told);
            if thread::Builder::new().name("notify".to_owned()).spawn(tell).is_err() {
                // Late is better than never.
                job::tell_of(self.context, &over);
            }
        }
    }

    /// What is written down of a session now; `None` for one that is gone.
    fn record(&mut self, id: &str, voice: Option<Voice>) -> Result<Option<Session>, Error> {
        let Some(watched) = self.watched.get(id) else { return Ok(None) };
        let known = &watched.judged.seen.session;
        if !watched.judged.seen.is_ours() {
            if !known.started().is_some_and(|s| processes::is_alive(s.agent)) {
                // Its launcher may start another.
                self.last_list = None;
            }
            return Ok(unmanaged::lives(known.origin).then(|| known.clone()));
        }
        match voice {
            Some(Voice::Word) => Ok(self.reader.store.by_id(id)?.filter(|s| !s.put_away)),
            _ => Ok(Some(known.clone())),
        }
    }

    /// Looks at panes.
    fn see(&mut self, panes: &[PaneId]) {
        // Without any sights the next listed brings them.
        if let (Ok(sights), false) = (&mut self.sights, panes.is_empty())
            && let Err(error) = self.line.refresh(sights, panes)
        {
            self.sights = Err(passing(error));
        }
    }

    /// Takes a verdict in: what is new about it, and whether the same things are of interest as before.
    fn take_in(
        &mut self,
        judged: SessionStatus,
        at: Timestamp,
        now: Instant,
    ) -> (Option<Change>, bool) {
        let id = judged.seen.session.id.clone();
        let status = &judged.verdict.status;
        let interests = if status.is_over() {
            Vec::new()
        } else {
            interests::of(self.context, &judged.seen, self.reader.memory(&id))
        };
        let before = self.watched.remove(&id);
        let before = before.as_ref();
        let is_same = before.is_some_and(|b| b.interests == interests);
        let is_news = before.is_none_or(|b| b.judged.verdict.status.key() != status.key());
        let what = match before {
            None => What::Seen,
            Some(before) => What::Changed { from: Box::new(before.judged.verdict.clone()) },
        };
        let change = is_news.then(|| Change { at, what, judged: judged.clone() });
        let watched = Watched {
            judged,
            interests,
            looked: now,
            changed: before.filter(|_| !is_news).map_or(now, |b| b.changed),
            // What happened between the look and the listening nobody tells of.
            due: if is_same { before.and_then(|b| b.due) } else { Some(Due::soon(now)) },
        };
        self.watched.insert(id, watched);
        (change, is_same)
    }

    /// Asks to be told of all that concerns the sessions there are.
    fn listen(&mut self) {
        let listed = (Interest::File(self.context.state.news_of_roll()), Stir::Sessions);
        let sessions = self.watched.iter().flat_map(|(id, watched)| {
            let stir = move |voice: &Voice| Stir::Session(id.clone(), *voice);
            watched.interests.iter().map(move |(interest, voice)| (interest.clone(), stir(voice)))
        });
        self.changes.set(sessions.chain([listed]).collect());
    }
}

impl Due {
    fn soon(now: Instant) -> Self {
        Self { at: now + pace::AFTERWARDS, voice: Voice::Output }
    }
}

impl Watched {
    fn stir(&mut self, voice: Voice, now: Instant) {
        // Whoever has spoken once is expected to speak again.
        let tells = self.judged.verdict.reasons.iter().any(|reason| {
            matches!(reason.source, Source::OwnWord | Source::Hook | Source::Transcript)
                && (reason.at.is_some() || reason.role == Role::Decided)
        });
        let due = Due { at: pace::due(voice, tells, self.looked, now), voice };
        self.due = Some(match self.due {
            Some(before) => Due { at: before.at.min(due.at), voice: before.voice.min(due.voice) },
            None => due,
        });
    }
}

/// A session's pane as it was listed.
fn face<'a>(
    watched: &Watched,
    sights: Result<&'a TmuxSnapshot, &dogwatch_tmux::Error>,
) -> Option<&'a PaneRow> {
    let id = pane(&watched.judged.seen.session)?;
    sights.logged("ask tmux")?.faces.iter().map(|face| &face.row).find(|row| row.pane_id == id)
}

fn pane(session: &Session) -> Option<PaneId> {
    session.pane.as_deref()?.parse().ok()
}

/// An error that a watch outlives: the next round asks again.
fn passing(error: dogwatch_tmux::Error) -> dogwatch_tmux::Error {
    if error.is_no_server() || error.is_passing() {
        return error;
    }
    let source = std::io::Error::other(error.to_string()).into();
    dogwatch_tmux::Error::Io { action: "ask tmux", source }
}
