//! What each session is doing: one look at everything, judged.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use dogwatch_base::log::{Logged as _, decided};
use dogwatch_core::event::Subject;
use dogwatch_core::profile::Profile;
use dogwatch_core::startup::Reduced;
use dogwatch_core::status::trust::unless_distrusted;
use dogwatch_core::status::{Reason, Status, Verdict, judge};
use dogwatch_protocol::id::SessionId;
use dogwatch_store::{KeptState, Session, Store, Which};
use dogwatch_tmux::{PaneFace, PaneId, SessionName};
use jiff::Timestamp;

use crate::error::SessionError;
use crate::observe::agents::Profiles;
use crate::observe::changes::Interest;
use crate::observe::details::Details;
use crate::observe::evidence::{Gatherer, Memory, PaneSight};
use crate::observe::snapshot::{self, SessionSnapshot};
use crate::observe::tmux_snapshot::{Asked, TmuxSnapshot};
use crate::observe::verifications::Trust;
use crate::observe::{background, interests, limits, unmanaged};
use crate::{Context, Error};

/// What else to know of a session.
fn notes(context: &Context, seen: &SessionSnapshot) -> Vec<String> {
    let is_running = seen.is_ours() && !seen.life.state.is_over();
    let reduced = is_running.then(|| context.state.session(&seen.session.id).reduced()).flatten();
    reduced.iter().map(Reduced::note).collect()
}

/// A session and the verdict on it.
#[derive(Debug, Clone)]
pub struct SessionStatus {
    pub seen: SessionSnapshot,
    pub verdict: Verdict,
    /// What else to know of it, for people.
    pub notes: Vec<String>,
}

/// Who bears a name.
#[derive(Debug)]
pub enum Named {
    Session(Box<SessionStatus>, Option<TmuxSnapshot>),
    /// A tmux session that is not ours, and without any agent that is known.
    Stranger(Box<PaneFace>, TmuxSnapshot),
    Nobody,
}

/// All sessions of the context's server that were not put away, and the agents that others started there.
pub fn all(context: &Context, now: Timestamp) -> Result<Vec<SessionStatus>, Error> {
    StatusReader::new(context)?.all(now)
}

/// What bears a name, and a reader for further looks. tmux is queried first: it takes longest.
pub fn named<'c>(
    context: &'c Context,
    name: &str,
    now: Timestamp,
) -> Result<(StatusReader<'c>, Named), Error> {
    let asked = ask_named(context, name);
    let mut reader = StatusReader::new(context)?;
    let named = reader.named_among(name, asked, now)?;
    Ok((reader, named))
}

/// A name that tmux would not take is asked for otherwise.
fn ask_named(context: &Context, name: &str) -> Option<Result<Asked, dogwatch_tmux::Error>> {
    let name = SessionName::new(name.replace('.', "-")).ok()?;
    Some(TmuxSnapshot::ask_session(&context.tmux, &name))
}

/// The status of the session with this name, id or pane: one in the background too.
pub fn one(context: &Context, target: &str, now: Timestamp) -> Result<SessionStatus, Error> {
    let mut found = StatusReader::new(context)?.many(&[target], now)?;
    let missing = || SessionError::NoSuchSession { target: target.to_owned(), near: None };
    found.pop().ok_or_else(|| missing().into())
}

/// The same for who only looks at what it shows: a living agent that others started is found too.
pub fn shown(context: &Context, target: &str) -> Result<SessionSnapshot, Error> {
    match snapshot::find(context, target) {
        Err(Error::Session(SessionError::NotOurs { .. } | SessionError::NoSuchSession { .. })) => {
            Ok(StatusReader::new(context)?.one(target, Timestamp::now())?.seen)
        }
        found => found,
    }
}

/// Reads the status of sessions, once or repeatedly. What was found out before is not found out again, but every
/// verdict is made from all the evidence there is at that moment.
#[derive(Debug)]
pub struct StatusReader<'c> {
    context: &'c Context,
    pub(crate) store: Store,
    memories: HashMap<SessionId, Memory>,
    profiles: Profiles,
    trust: Trust,
    /// Of sessions that have ended nothing is read but how they did.
    is_brief: bool,
    /// What is shown beside the verdicts, if that is wanted.
    details: Option<Details>,
}

impl<'c> StatusReader<'c> {
    pub fn new(context: &'c Context) -> Result<Self, Error> {
        let (memories, profiles) = (HashMap::new(), Profiles::default());
        let (store, trust) = (context.store()?, Trust::default());
        Ok(Self { context, store, memories, profiles, trust, is_brief: false, details: None })
    }

    /// One that reads of ended sessions only how they did, as lists show them.
    #[must_use]
    pub(crate) fn in_brief(mut self) -> Self {
        self.is_brief = true;
        self
    }

    /// Reads what [`StatusReader::details`] returns while tmux answers, which takes longer.
    #[must_use]
    pub fn with_details(mut self) -> Self {
        self.details = Some(Details::default());
        self
    }

    /// What these sessions are about, and what they have used.
    pub fn details(&mut self, judged: &[SessionStatus], now: Timestamp) -> Details {
        let mut details = self.details.take().unwrap_or_default();
        let sessions: Vec<&Session> = judged.iter().map(|one| &one.seen.session).collect();
        details.complete(self.context, self, &sessions, now);
        details
    }

    pub(crate) fn profile(&mut self, agent: &str) -> Option<Arc<Profile>> {
        self.profiles.of(self.context, agent)
    }

    pub fn all(&mut self, now: Timestamp) -> Result<Vec<SessionStatus>, Error> {
        self.all_of(Which::current(now), now)
    }

    /// How many ended sessions are not among these.
    pub fn left_out(&self, judged: &[SessionStatus]) -> Result<usize, Error> {
        let shown = judged.iter().map(|one| &one.seen.session);
        snapshot::count_left_out(self.context, &self.store, shown)
    }

    /// The same, of sessions that left the lists too.
    pub fn all_of(&mut self, which: Which, now: Timestamp) -> Result<Vec<SessionStatus>, Error> {
        let context = self.context;
        let sessions = self.store.sessions(&context.socket, which)?;
        let others = |sights: Option<&TmuxSnapshot>, ours: &[Session]| {
            let mut found = in_panes(context, sights, ours);
            let others = background::sessions(context, ours.iter().chain(&found));
            found.extend(others);
            found
        };
        // Of thousands that ended, only how they did is of interest.
        self.is_brief = true;
        Ok(self.look(sessions, None, others, now)?.0)
    }

    /// The transcript of a session that was judged, as far as it is known.
    pub fn transcript(&self, session: &Session) -> Option<PathBuf> {
        self.memories.get(&session.id)?.transcript(self.context, session)
    }

    pub fn one(&mut self, target: &str, now: Timestamp) -> Result<SessionStatus, Error> {
        Ok(self.one_and_its_sight(target, now)?.0)
    }

    /// The sessions meant by names, ids or panes, in their order; an error if one of them is not there.
    pub fn many(&mut self, targets: &[&str], now: Timestamp) -> Result<Vec<SessionStatus>, Error> {
        self.each(targets, now)?.into_iter().collect()
    }

    /// The same, each found or not. tmux is asked once, however many they are.
    pub fn each(
        &mut self,
        targets: &[&str],
        now: Timestamp,
    ) -> Result<Vec<Result<SessionStatus, Error>>, Error> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let context = self.context;
        let mut meant: Vec<Vec<SessionId>> = Vec::new();
        let mut sessions: Vec<Session> = Vec::new();
        for target in targets {
            let found = snapshot::candidates(context, &self.store, target)?;
            meant.push(found.iter().map(|session| session.id.clone()).collect());
            for session in found {
                if sessions.iter().all(|known| known.id != session.id) {
                    sessions.push(session);
                }
            }
        }
        let unknown: Vec<&str> = targets
            .iter()
            .zip(&meant)
            .filter(|(_, ids)| ids.is_empty())
            .map(|(target, _)| *target)
            .collect();
        let others = |sights: Option<&TmuxSnapshot>, ours: &[Session]| {
            if unknown.is_empty() {
                return Vec::new();
            }
            let mut found = in_panes(context, sights, ours);
            found.extend(background::sessions(context, ours.iter()));
            found.retain(|one| unknown.iter().any(|target| unmanaged::is_meant(one, target)));
            found
        };
        let (judged, _) = self.look(sessions, None, others, now)?;
        let of = |(target, ids): (&&str, &Vec<SessionId>)| {
            let is_meant = |one: &&SessionStatus| {
                let session = &one.seen.session;
                ids.contains(&session.id)
                    || (ids.is_empty() && unmanaged::is_meant(session, target))
            };
            let found = judged.iter().filter(is_meant).cloned().collect();
            snapshot::meant(context, found, |one: &SessionStatus| &one.seen, target)
        };
        Ok(targets.iter().zip(&meant).map(of).collect())
    }

    /// What bears this name, and what tmux showed. A tmux session without an agent is no session of ours, but it
    /// exists.
    pub fn named(&mut self, name: &str, now: Timestamp) -> Result<Named, Error> {
        self.named_among(name, ask_named(self.context, name), now)
    }

    fn named_among(
        &mut self,
        name: &str,
        asked: Option<Result<Asked, dogwatch_tmux::Error>>,
        now: Timestamp,
    ) -> Result<Named, Error> {
        let context = self.context;
        // Dots become dashes in our names, and in those that others give to tmux something else.
        let (dashed, by_tmux) = (name.replace('.', "-"), name.replace('.', "_"));
        let is_meant = |name: &str| name == dashed || name == by_tmux;
        let mut sessions = self.store.named(&context.socket, &dashed)?;
        sessions.retain(|session| !session.archived);
        let others = |sights: Option<&TmuxSnapshot>, ours: &[Session]| {
            let mut found = if ours.is_empty() { in_panes(context, sights, ours) } else { vec![] };
            found.retain(|session| is_meant(&session.name));
            found
        };
        let (mut judged, sights) = self.look(sessions, asked, others, now)?;
        let at = judged.iter().position(|one| !one.seen.life.state.is_over()).unwrap_or(0);
        let is_over = judged.get(at).is_none_or(|one| one.seen.life.state.is_over());
        let stranger = sights.as_ref().filter(|_| is_over).and_then(|sights| {
            let is_ours = |face: &PaneFace| {
                judged.iter().any(|one| one.seen.pane_id() == Some(face.row.pane_id))
            };
            let face = sights.faces.iter().find(|face| is_meant(&face.row.session_name))?;
            (!is_ours(face)).then(|| face.clone())
        });
        Ok(match (stranger, sights) {
            (Some(face), Some(sights)) => Named::Stranger(Box::new(face), sights),
            (_, sights) if at < judged.len() => {
                Named::Session(Box::new(judged.swap_remove(at)), sights)
            }
            _ => Named::Nobody,
        })
    }

    /// The session with what tmux showed when it was judged. One in the background is not found: nothing can be typed
    /// into it.
    pub(crate) fn one_and_its_sight(
        &mut self,
        target: &str,
        now: Timestamp,
    ) -> Result<(SessionStatus, Option<TmuxSnapshot>), Error> {
        let context = self.context;
        let sessions = snapshot::candidates(context, &self.store, target)?;
        let others = |sights: Option<&TmuxSnapshot>, ours: &[Session]| {
            let mut found = if ours.is_empty() { in_panes(context, sights, ours) } else { vec![] };
            found.retain(|session| unmanaged::is_meant(session, target));
            found
        };
        let (judged, sights) = self.look(sessions, None, others, now)?;
        Ok((snapshot::meant(context, judged, |one| &one.seen, target)?, sights))
    }

    fn look(
        &mut self,
        mut sessions: Vec<Session>,
        asked: Option<Result<Asked, dogwatch_tmux::Error>>,
        others: impl FnOnce(Option<&TmuxSnapshot>, &[Session]) -> Vec<Session>,
        now: Timestamp,
    ) -> Result<(Vec<SessionStatus>, Option<TmuxSnapshot>), Error> {
        let server = &self.context.tmux;
        for session in &mut sessions {
            snapshot::complete(self.context, &mut self.store, session);
        }
        let wanted = panes(&sessions);
        let was_asked_before = asked.is_some();
        // Everything else is read while tmux answers.
        let asked = asked.unwrap_or_else(|| TmuxSnapshot::ask(server, &wanted));
        self.listen_ahead(&mut sessions, now);
        self.read_details_ahead(&sessions, now);
        let mut sights = asked.and_then(Asked::finish);
        // What is not there was perhaps made since.
        let lacks = |pane: &PaneId| sights.as_ref().map_or(true, |sights| !sights.has(*pane));
        if was_asked_before && wanted.iter().any(lacks) {
            sights = TmuxSnapshot::ask(server, &wanted).and_then(Asked::finish);
        }
        match &mut sights {
            Ok(sights) => {
                captured(sights.capture(server, &wanted))?;
                let found = others(Some(sights), &sessions);
                captured(sights.capture(server, &panes(&found)))?;
                sessions.extend(found);
            }
            Err(error) if error.is_no_server() => sessions.extend(others(None, &sessions)),
            Err(_) => {}
        }
        snapshot::must_be_asked(&sessions, sights.as_ref().err())?;
        let judged = self.judge(sessions, sights.as_ref(), now)?;
        Ok((judged, sights.logged("ask tmux")))
    }

    /// Reads what does not come from tmux, for the next verdict.
    pub(crate) fn listen_ahead(&mut self, sessions: &mut [Session], now: Timestamp) {
        unmanaged::inside(self.context, sessions.iter_mut());
        let Self { context, store, memories, profiles, is_brief, .. } = self;
        store.take_in_spool();
        let (is_brief, looks) = (*is_brief, vec![]);
        let mut gatherer = Gatherer { context, store, profiles, now, looks, is_brief };
        store.in_one_view(|| {
            for session in &*sessions {
                let memory = memories.entry(session.id.clone()).or_default();
                gatherer.listen_ahead(memory, session);
            }
        });
    }

    fn read_details_ahead(&mut self, sessions: &[Session], now: Timestamp) {
        let Some(mut details) = self.details.take() else { return };
        // Which conversation of opencode is whose depends on agents that are not found yet.
        let known: Vec<&Session> = sessions.iter().filter(|s| s.agent != "opencode").collect();
        details.complete(self.context, self, &known, now);
        self.details = Some(details);
    }

    /// Judges sessions by what tmux shows, or by its failure to show anything.
    pub(crate) fn judge(
        &mut self,
        mut sessions: Vec<Session>,
        sights: Result<&TmuxSnapshot, &dogwatch_tmux::Error>,
        now: Timestamp,
    ) -> Result<Vec<SessionStatus>, Error> {
        let list = sights.map(|sights| &sights.list);
        for session in sessions.iter_mut().filter(|session| !session.origin.is_managed()) {
            let labels = self.store.labels(&session.id).logged("read labels").unwrap_or_default();
            (session.title, session.tags) = (labels.title, labels.tags);
        }
        // Who was listened to was looked into before.
        let is_new = |s: &&mut Session| !self.memories.get(&s.id).is_some_and(Memory::is_ahead);
        unmanaged::inside(self.context, sessions.iter_mut().filter(is_new));
        let seen = snapshot::join(self.context, &mut self.store, sessions, list)?;
        let Self { context, store, memories, profiles, trust, is_brief, .. } = self;
        store.take_in_spool();
        let (is_brief, looks) = (*is_brief, vec![]);
        let mut gatherer = Gatherer { context, store, profiles, now, looks, is_brief };
        let mut news = Vec::new();
        let sights = sights.map_or_else(|_| vec![None; seen.len()], |sights| sights.of_all(&seen));
        let judged = store.in_one_view(|| {
            let judge = |(seen, sight): (SessionSnapshot, Option<PaneSight>)| {
                let memory = memories.entry(seen.session.id.clone()).or_default();
                let (evidence, before) = gatherer.gather(memory, &seen, sight);
                let mut verdict = judge(&evidence);
                if !verdict.status.is_over() {
                    verdict = unless_distrusted(verdict, trust.distrusted(context, &seen.session));
                }
                let change = date(before, &seen, &mut verdict, now);
                if change.is_some() {
                    decided(format_args!("status of {}: {}", seen.session.id, Told(&verdict)));
                }
                news.extend(change);
                let mut notes = notes(context, &seen);
                if matches!(verdict.status, Status::Limited { .. }) {
                    notes.extend(limits::note(store, &seen.session.id));
                }
                SessionStatus { seen, verdict, notes }
            };
            seen.into_iter().zip(sights).map(judge).collect()
        });
        let looks = gatherer.looks;
        // A full disk must not suppress the report.
        self.store.keep_looks(&looks).logged("keep what was seen");
        self.store.keep_states(&news).logged("keep states");
        Ok(judged)
    }

    /// What would tell of a change in these, with their ids.
    pub fn interests(&self, judged: &[SessionStatus]) -> BTreeSet<(Interest, SessionId)> {
        let mut all = BTreeSet::new();
        for one in judged.iter().filter(|one| !one.verdict.status.is_over()) {
            let id = &one.seen.session.id;
            let memory = self.memories.get(id);
            let found = interests::of(self.context, &one.seen, memory);
            all.extend(found.into_iter().map(|(interest, _)| (interest, id.clone())));
        }
        all
    }

    pub fn memory(&self, session: &str) -> Option<&Memory> {
        self.memories.get(session)
    }

    pub(crate) fn forget(&mut self, session: &str) {
        self.memories.remove(session);
    }
}

/// Says since when the state holds: where no source says so, the first look that found it does. Returns the state to be
/// written down if it is news.
fn date(
    before: Option<KeptState>,
    seen: &SessionSnapshot,
    verdict: &mut Verdict,
    now: Timestamp,
) -> Option<(Subject, KeptState)> {
    let key = verdict.status.key();
    if let Some(before) = before.filter(|before| before.key == key) {
        verdict.since.get_or_insert(before.since);
        return None;
    }
    let since = verdict.since.unwrap_or(now);
    let status = serde_json::to_value(&verdict.status).logged("write JSON").unwrap_or_default();
    verdict.since.get_or_insert(now);
    Some((seen.subject(), KeptState { key, since, seen: now, status }))
}

/// A verdict and what every source said, in one line.
struct Told<'a>(&'a Verdict);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { status, basis, reasons, .. } = self.0;
        write!(f, "{} ({basis:?})", status.as_str())?;
        for Reason { source, said, at, role } in reasons {
            write!(f, "; {source:?} {role:?}: {said}")?;
            if let Some(at) = at {
                write!(f, " at {at}")?;
            }
        }
        Ok(())
    }
}

/// Without their text less is known of sessions, and that is all; but a tmux that refuses to show it is an error.
fn captured(result: Result<(), dogwatch_tmux::Error>) -> Result<(), Error> {
    match result {
        Err(error) if !error.is_no_server() && !error.is_passing() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Agents that others started in panes, if there is a tmux server.
fn in_panes(context: &Context, sights: Option<&TmuxSnapshot>, ours: &[Session]) -> Vec<Session> {
    sights.map_or_else(Vec::new, |sights| unmanaged::agents(context, sights, ours.iter()))
}

/// Panes whose text is wanted.
fn panes(sessions: &[Session]) -> Vec<PaneId> {
    let living = sessions.iter().filter(|s| s.ended().is_none() && s.started().is_some());
    living.filter_map(|s| s.pane.as_ref()?.parse().ok()).collect()
}
