//! What is open for each session, and what a look at it allows: keys, messages, limits, loops, callbacks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_core::set_aside::{Kind, Request};
use dogwatch_core::status::Status;
use dogwatch_core::step::{Effect, Open, Seen, step};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::keys::KeyRequest;
use dogwatch_protocol::supervisor::LastError;
use dogwatch_store::{PostedKeys, Store};
use jiff::Timestamp;

use super::errands::Errands;
use super::hands::Hands;

use crate::actions::send::deliver::{Done, InHand};
use crate::actions::{callback, job, keys, limits, looping, send};
use crate::error::{MessageError, SessionError};
use crate::observe::messages::not_delivered;
use crate::observe::status::{SessionStatus, StatusReader};
use crate::observe::unmanaged;
use crate::watch::Watcher;
use crate::{Context, Error};

/// How often a session with something open is looked at, for what no event announces.
const OPEN: Duration = Duration::from_secs(3);
/// The same where only a limit may come. Also how soon a clock that was set, or a machine that slept, is noticed: the kernel counts no time
/// while it sleeps.
const LIMITED: Duration = Duration::from_secs(30);
/// No session is looked at more often because somebody's patience is over.
const LEAST: Duration = Duration::from_millis(50);
/// Callbacks that happen close together are one message: how often it is looked whether it is time.
const CALLBACKS: Duration = Duration::from_millis(500);
/// After a failure, such as a database that is locked: the same session is not tried again before, and later each time.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Desk {
    hands: Hands,
    in_hand: BTreeMap<SessionId, InHand>,
    errands: Errands,
    /// What a message that waits was said to wait for.
    held: BTreeMap<SessionId, String>,
    failing: BTreeMap<SessionId, Failing>,
    /// What went wrong since [`Desk::take_errors`].
    errors: Vec<LastError>,
    /// Sessions that wait to be told of work that they gave away.
    subscribers: BTreeSet<SessionId>,
    callbacks_due: Option<Instant>,
    /// When all sessions with something open were last looked at.
    looked: Option<Instant>,
    has_open: bool,
}

#[derive(Debug, Clone, Copy)]
struct Failing {
    until: Instant,
    pause: Duration,
}

impl Desk {
    pub(super) fn new(hands: Hands) -> Self {
        Self {
            hands,
            in_hand: BTreeMap::new(),
            errands: Errands::default(),
            held: BTreeMap::new(),
            failing: BTreeMap::new(),
            errors: Vec::new(),
            subscribers: BTreeSet::new(),
            callbacks_due: None,
            looked: None,
            has_open: false,
        }
    }

    pub(super) fn take_errors(&mut self) -> Vec<LastError> {
        std::mem::take(&mut self.errors)
    }

    fn note(&mut self, session: &SessionId, error: &Error) {
        let message = format!("{session}: {error}");
        self.errors.push(LastError { at: Timestamp::now(), message });
    }

    /// When something is due that a look at a session would not tell of, at most so long from now.
    pub(super) fn next_due(&self, at_most: Duration) -> Duration {
        let now = Instant::now();
        let callbacks = self.callbacks_due.map(|at| at.saturating_duration_since(now));
        callbacks.map_or(at_most, |left| left.min(at_most))
    }

    /// Whether a message is in an agent's box, or on its way there, or keys are being pressed.
    pub(super) fn has_hands_on(&self) -> bool {
        self.in_hand.values().any(InHand::is_under_way) || self.errands.has_any()
    }

    /// Whether keys are being pressed, or another agent is being started.
    pub(super) fn has_errands(&self) -> bool {
        self.errands.has_any()
    }

    pub(super) fn has_open(&self) -> bool {
        self.has_open || !self.in_hand.is_empty() || self.errands.has_any()
    }

    /// Does for each of these sessions what was seen of it allows.
    pub(super) fn attend(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
        sessions: &BTreeSet<SessionId>,
    ) {
        for id in sessions {
            let now = Instant::now();
            if let Some(failing) = self.failing.get(id).filter(|failing| failing.until > now) {
                // What woke us is looked at then.
                watcher.look_at(id, failing.until);
                continue;
            }
            let attended = match watcher.status(id).cloned() {
                Some(judged) => self.attend_one(context, watcher, &judged),
                None => self.gone(watcher, id),
            };
            match attended {
                Ok(next) => {
                    self.failing.remove(id);
                    if let Some(next) = next {
                        watcher.look_at(id, now + next);
                    }
                }
                Err(error) => {
                    self.note(id, &error);
                    Err::<(), _>(error).logged("serve a session");
                    // How far it had come is in its row, and not all that was decided was done.
                    self.in_hand.remove(id);
                    let before = self.failing.get(id).map_or(LEAST_PAUSE, |one| one.pause * 2);
                    let pause = before.min(LONGEST_PAUSE);
                    self.failing.insert(id.clone(), Failing { until: now + pause, pause });
                    watcher.look_at(id, now + pause);
                }
            }
        }
        let is_due = self.callbacks_due.is_some_and(|at| at <= Instant::now());
        if is_due || (!sessions.is_empty() && !self.subscribers.is_empty()) {
            self.call_back(context, watcher);
        }
        let hands_on = self.in_hand.iter().filter(|(_, one)| one.is_under_way());
        watcher.attend_to(hands_on.map(|(id, _)| id.clone()).collect());
    }

    /// What no event tells: work that was stored while nobody served, or for sessions that are gone.
    pub(super) fn look_around(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
    ) -> Result<(), Error> {
        let here = self.list_open(context, watcher)?;
        if self.looked.is_none_or(|at| at.elapsed() >= OPEN) {
            self.looked = Some(Instant::now());
            for id in here.iter().filter(|id| !self.in_hand.contains_key(*id)) {
                watcher.look_at(id, Instant::now());
            }
        }
        if !self.subscribers.is_empty() && self.callbacks_due.is_none() {
            self.call_back(context, watcher);
        }
        Ok(())
    }

    /// Finds all that is open, and settles what sessions that have ended left behind. Returns the living ones with something open.
    fn list_open(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
    ) -> Result<BTreeSet<SessionId>, Error> {
        let (reader, judged) = watcher.parts();
        let store = &mut reader.store;
        let awaited: BTreeSet<String> = store.awaited()?.into_iter().collect();
        let jobs = store.open_jobs()?;
        let limits = store.open_limits()?;
        let keys = store.open_keys()?;
        self.subscribers = store.callback_subscribers()?.into_iter().collect();
        let is_here = |id: &str| judged(id).is_some_and(|one| !one.verdict.status.is_over());
        let has_left = |id: &str| {
            !is_here(id)
                && store
                    .by_id(id)
                    .is_ok_and(|one| one.is_some_and(|one| one.socket == context.socket))
        };
        let left_messages = awaited.iter().any(|id| has_left(id));
        let left_jobs: BTreeSet<SessionId> =
            jobs.iter().map(|one| one.session.clone()).filter(|id| has_left(id)).collect();
        let here: BTreeSet<SessionId> = awaited
            .iter()
            .map(|id| SessionId::from(id.as_str()))
            .chain(jobs.iter().map(|one| one.session.clone()))
            .chain(keys.iter().cloned())
            .filter(|id| is_here(id))
            .collect();
        // Of sessions that are over or were removed: whoever waits is told so.
        let is_left = |id: &SessionId| {
            let origin = id.origin();
            let is_gone = !origin.is_managed() && !unmanaged::lives(origin);
            !is_here(id) && (is_gone || has_left(id))
        };
        let left_keys: Vec<(SessionId, Option<SessionStatus>)> =
            keys.into_iter().filter(is_left).map(|id| (id.clone(), judged(&id))).collect();
        let is_lost = |id: &SessionId| {
            let origin = id.origin();
            !is_here(id) && !origin.is_managed() && !unmanaged::lives(origin)
        };
        let lost: Vec<SessionId> = awaited
            .iter()
            .map(|id| SessionId::from(id.as_str()))
            .chain(self.in_hand.keys().cloned())
            .filter(is_lost)
            .collect();
        let is_watched: BTreeSet<String> =
            awaited.iter().filter(|id| judged(id).is_some()).cloned().collect();
        self.has_open = !here.is_empty()
            || limits.iter().any(|one| is_here(&one.session))
            || self.subscribers.iter().any(|id| is_here(id))
            || left_messages
            || !left_jobs.is_empty();
        for id in &lost {
            // Its own end proves a command that ends the agent.
            if let Some(one) = self.in_hand.remove(id) {
                one.gone(reader)?;
            }
            let because = not_delivered("its process is gone");
            reader.store.settle_all(id, &because, Timestamp::now())?;
            context.state.tell_news(id);
        }
        for (id, judged) in &left_keys {
            while let Some(posted) = reader.store.next_keys(id)? {
                refuse(context, &mut reader.store, &posted, judged.as_ref())?;
            }
        }
        for id in &left_jobs {
            job::settle_open(context, reader, id).logged("settle a job");
        }
        if left_messages {
            send::settle_left(context, &|id| is_watched.contains(id))?;
        }
        Ok(here)
    }

    /// Does what is next for a session. Returns after which time to look again at the latest.
    fn attend_one(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
        judged: &SessionStatus,
    ) -> Result<Option<Duration>, Error> {
        let now = Timestamp::now();
        let id = &judged.seen.session.id;
        let (reader, _) = watcher.parts();
        let keys = reader.store.next_keys(id)?;
        let (seen, open) = (seen(judged), self.open(id, keys.is_some()));
        let mut next = None;
        for effect in step(seen, open) {
            let within = match effect {
                Effect::PressKeys => keys.iter().try_fold(None, |_, posted| {
                    self.press(context, &mut reader.store, posted, now)
                })?,
                Effect::RefuseKeys => keys.iter().try_fold(None, |_, posted| {
                    refuse(context, &mut reader.store, posted, Some(judged))
                })?,
                Effect::Deliver => {
                    let within = self.deliver(context, reader, judged)?;
                    if self.is_in_box(id) {
                        // Nothing else is typed beside it.
                        return Ok(within);
                    }
                    within
                }
                Effect::FollowLimit => self.follow_limit(context, reader, judged, now)?,
                Effect::InterruptLoop => {
                    if let Some(_on) = self.hands.on(Request::new(Kind::Loop, id)) {
                        looping::step(context, reader, judged, now)?;
                    }
                    None
                }
            };
            next = [next, within].into_iter().flatten().min();
        }
        Ok(next)
    }

    fn open(&self, id: &SessionId, keys: bool) -> Open {
        let (errand, in_box) = (self.errands.has(id), self.is_in_box(id));
        Open { errand, keys, in_box, message: self.in_hand.contains_key(id) }
    }

    fn is_in_box(&self, id: &SessionId) -> bool {
        self.in_hand.get(id).is_some_and(InHand::is_under_way)
    }

    /// Has the keys pressed that were asked for, by a thread.
    fn press(
        &mut self,
        context: &Context,
        store: &mut Store,
        posted: &PostedKeys,
        now: Timestamp,
    ) -> Result<Option<Duration>, Error> {
        let id = &posted.session;
        if keys::is_too_old(posted, now) {
            let name = id.to_string();
            keys::refuse(store, posted, &MessageError::Busy { name }.into())?;
            context.state.tell_news(id);
            return Ok(Some(Duration::ZERO));
        }
        let Some(on) = self.hands.on(Request::new(Kind::Keys, &posted.id)) else {
            keys::refuse(store, posted, &MessageError::SetAside.into())?;
            context.state.tell_news(id);
            return Ok(Some(Duration::ZERO));
        };
        let posted = posted.clone();
        let press = move |context: &Context| {
            let _on = on;
            keys::perform(context, &posted)
        };
        self.errand(context, id, "press keys", press)?;
        Ok(None)
    }

    /// Does something on a thread; the session is looked at again when it is done.
    fn errand(
        &mut self,
        context: &Context,
        session: &SessionId,
        what: &'static str,
        work: impl FnOnce(&Context) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let (state, about) = (context.state.clone(), session.clone());
        let context = context.clone();
        let run = move || {
            work(&context).logged(what);
        };
        let tell = move || state.tell_news(&about);
        self.errands.start(session, run, tell).map_err(Error::io("start a thread"))
    }

    fn follow_limit(
        &mut self,
        context: &Context,
        reader: &mut StatusReader<'_>,
        judged: &SessionStatus,
        now: Timestamp,
    ) -> Result<Option<Duration>, Error> {
        let id = &judged.seen.session.id;
        let Some(on) = self.hands.on(Request::new(Kind::Limit, id)) else { return Ok(None) };
        let limit = limits::step(context, reader, judged, now)?;
        if let Some(start) = limit.start {
            let run = move |context: &Context| {
                let _on = on;
                start.run(context)
            };
            self.errand(context, id, "start another agent", run)?;
        }
        Ok(limit.watching.then(|| {
            let left = limit.look_at.map(|at| at.duration_since(now));
            let left = left.map_or(LIMITED, |left| Duration::try_from(left).unwrap_or_default());
            // The step may have posted a message.
            left.min(LIMITED).max(Duration::from_millis(20))
        }))
    }

    /// Delivers the session's messages, one after the other.
    fn deliver(
        &mut self,
        context: &Context,
        reader: &mut StatusReader<'_>,
        judged: &SessionStatus,
    ) -> Result<Option<Duration>, Error> {
        let id = &judged.seen.session.id;
        let Some(next) = reader.store.next_message(id)? else {
            self.in_hand.remove(id);
            self.held.remove(id);
            return Ok(None);
        };
        if self.in_hand.get(id).is_none_or(|one| one.id() != next.id.as_str()) {
            let begun = InHand::new(reader, next, Timestamp::now())?;
            self.in_hand.insert(id.clone(), begun);
            self.held.remove(id);
        }
        let Some(one) = self.in_hand.get_mut(id) else { return Ok(None) };
        let message = one.id().to_owned();
        let Some(_on) = self.hands.on(Request::new(Kind::Message, &message)) else {
            one.give_up(reader)?;
            self.in_hand.remove(id);
            context.state.tell_news(id);
            return Ok(Some(Duration::ZERO));
        };
        match one.step(context, reader, judged)? {
            Done::Settled => {
                self.in_hand.remove(id);
                context.state.tell_news(id);
                // The next one is not typed by the same look: the agent has something to do now.
                Ok(Some(Duration::ZERO))
            }
            Done::Look { within, held } => {
                if let Some(held) = held
                    && self.held.get(id) != Some(&held)
                {
                    reader.store.hold(&message, &held)?;
                    self.held.insert(id.clone(), held);
                }
                let until = one.until().map(|until| until.duration_since(Timestamp::now()));
                let until = until.map(|left| Duration::try_from(left).unwrap_or_default());
                Ok(Some(until.map_or(within, |until| until.max(LEAST).min(within))))
            }
            Done::Left { because } => {
                reader.store.hold(&message, &because)?;
                reader.store.leave(&message, one.sender())?;
                self.held.insert(id.clone(), because);
                context.state.tell_news(id);
                Ok(Some(OPEN))
            }
        }
    }

    /// A session that has left the lists.
    fn gone(
        &mut self,
        watcher: &mut Watcher<'_>,
        id: &SessionId,
    ) -> Result<Option<Duration>, Error> {
        let origin = id.origin();
        // A pane is gone before its process is: what comes of the message is seen when that has ended.
        if origin.is_managed() || !unmanaged::lives(origin) {
            let one = self.in_hand.remove(id);
            self.held.remove(id);
            if let Some(one) = one.filter(|_| !origin.is_managed()) {
                one.gone(watcher.parts().0)?;
            }
        }
        Ok(None)
    }

    fn call_back(&mut self, context: &Context, watcher: &mut Watcher<'_>) {
        let (reader, judged) = watcher.parts();
        let mut is_any_open = false;
        for subscriber in &self.subscribers {
            // Those of other servers have supervisors of their own.
            if judged(subscriber).is_none() {
                continue;
            }
            let Some(_on) = self.hands.on(Request::new(Kind::Callbacks, subscriber)) else {
                continue;
            };
            let open = callback::attend(context, reader, subscriber, &judged);
            is_any_open |= open.logged("call back").unwrap_or(true);
        }
        self.callbacks_due = is_any_open.then(|| Instant::now() + CALLBACKS);
    }
}

fn seen(judged: &SessionStatus) -> Seen {
    let status = &judged.verdict.status;
    Seen { is_over: status.is_over(), is_asking: matches!(status, Status::Waiting { .. }) }
}

/// Tells whoever asked for keys that the session is over; without a status, it is not even listed any more.
fn refuse(
    context: &Context,
    store: &mut Store,
    posted: &PostedKeys,
    judged: Option<&SessionStatus>,
) -> Result<Option<Duration>, Error> {
    let because = match (judged, &posted.request) {
        (Some(judged), Some(KeyRequest::Answer { .. }) | None) => {
            let (name, state) = (judged.seen.session.name.clone(), judged.verdict.status.as_str());
            MessageError::NoDialog { name, state }.into()
        }
        (Some(judged), Some(KeyRequest::Interrupt)) => {
            let (name, state) = (judged.seen.session.name.clone(), judged.verdict.status.as_str());
            SessionError::IsOver { name, reason: state.to_owned() }.into()
        }
        (None, _) => {
            let known = store.by_id(&posted.session)?;
            let name = known.map_or_else(|| posted.session.to_string(), |one| one.name);
            SessionError::IsOver { name, reason: "it has ended".to_owned() }.into()
        }
    };
    keys::refuse(store, posted, &because)?;
    context.state.tell_news(&posted.session);
    // There may be more of them.
    Ok(Some(Duration::ZERO))
}
