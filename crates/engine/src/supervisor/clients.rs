//! The programs at the supervisor's socket: what they ask is answered from what the supervisor sees, and who follows is told of changes.

mod ended;
mod known;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dogwatch_base::log::{Logged as _, decided};
use dogwatch_core::mcp::Verb;
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::stream::{
    self, Ask, Follow, NO_SERVER, NeedsYou, Outcome, Reply, Request, SessionRow, Snapshot,
    StatusLine, TmuxServer,
};
use dogwatch_protocol::supervisor::{Health, LastError};
use dogwatch_store::Store;
use dogwatch_tmux::PaneId;
use jiff::Timestamp;
use serde::Serialize;

use super::requests::Requests;
use crate::actions::{attach, permitted, shutdown};
use crate::observe::asker::{self, Asker};
use crate::observe::changes::Waker;
use crate::observe::snapshot;
use crate::observe::status::SessionStatus;
use crate::observe::{listing, processes, unmanaged};
use crate::socket::server::{Event, GuestId, Server};
use crate::watch::{Change, Watcher};
use crate::{Context, Error};
use ended::Ended;
use known::Known;

/// How many changes are known to who comes back.
const MOST_TOLD: usize = 1000;
/// How many errors are kept.
const MOST_ERRORS: usize = 10;

#[derive(Debug)]
pub(super) struct Clients {
    /// Without a socket, every command looks by itself.
    server: Option<Server>,
    called: Arc<AtomicBool>,
    followers: BTreeMap<(GuestId, u64), Follower>,
    /// What they asked to be done.
    requests: Requests,
    told: Told,
    ended: Ended,
    known: Known,
    /// What was last said of it to who follows rows.
    tmux: TmuxServer,
    /// What went wrong lately.
    errors: VecDeque<LastError>,
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
struct From {
    guest: GuestId,
    id: u64,
    /// The process that connected.
    process: Option<i32>,
}

/// A request to hear of changes.
#[derive(Debug)]
struct Follower {
    /// These sessions; `None` for all.
    only: Option<BTreeSet<SessionId>>,
    wants: Follow,
}

impl Follower {
    fn hears_of(&self, session: &SessionId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(session))
    }
}

/// What was told lately, by number.
#[derive(Debug)]
struct Told {
    /// Names this supervisor and no other.
    origin: String,
    last: u64,
    lines: VecDeque<Line>,
}

#[derive(Debug)]
struct Line {
    number: u64,
    session: SessionId,
    /// The JSON object.
    text: String,
}

impl Clients {
    /// The waker wakes whoever waits for events; [`Clients::is_called`] says that there are some.
    pub(super) fn start(context: &Context, waker: Waker) -> Self {
        let called = Arc::new(AtomicBool::new(false));
        let server = Server::start(context, move || waker.wake(), Arc::clone(&called));
        let server = server.logged("open the socket");
        let me = processes::myself().logged("look at a process");
        let origin = me.map(|me| format!("{}.{}", me.pid, me.start)).unwrap_or_default();
        let told = Told { origin, last: 0, lines: VecDeque::new() };
        let (followers, errors) = (BTreeMap::new(), VecDeque::new());
        let (requests, ended) = (Requests::default(), Ended::default());
        let known = Known::default();
        let tmux = TmuxServer::default();
        Self { server, called, followers, requests, told, ended, known, tmux, errors }
    }

    pub(super) fn is_called(&self) -> bool {
        self.called.load(Ordering::Acquire)
    }

    pub(super) fn has_any(&self) -> bool {
        self.count() > 0
    }

    pub(super) fn count(&self) -> usize {
        self.server.as_ref().map_or(0, Server::guests)
    }

    /// Keeps what went wrong, for who asks.
    pub(super) fn note(&mut self, errors: Vec<LastError>) {
        self.errors.extend(errors);
        let too_many = self.errors.len().saturating_sub(MOST_ERRORS);
        self.errors.drain(..too_many);
    }

    /// Answers what was asked since the last call.
    pub(super) fn attend(&mut self, context: &Context, watcher: &mut Watcher<'_>) {
        self.called.store(false, Ordering::Release);
        let Some(server) = &self.server else { return };
        let events = server.take();
        if events.is_empty() {
            return;
        }
        // Once for all that ask at the same time.
        let caught_up = if events.iter().any(|event| matches!(event, Event::Asked(..))) {
            watcher.catch_up()
        } else {
            Ok(())
        };
        let as_of = Timestamp::now();
        // What was found is told before the answers, which have it.
        let found = watcher.take_found();
        self.tell(&found);
        for event in events {
            match event {
                Event::Left(guest) => {
                    self.followers.retain(|(of, _), _| *of != guest);
                    self.requests.forget(guest);
                }
                Event::Asked(guest, process, Request { id, ask }) => {
                    let from = From { guest, id, process };
                    let line = match &caught_up {
                        Ok(()) => self.reply(context, watcher, from, ask, as_of),
                        Err(error) => Err(refused(error)),
                    };
                    let line =
                        line.unwrap_or_else(|error| text(Some(id), Outcome::<()>::Error(error)));
                    let is_last = !self.followers.contains_key(&(guest, id));
                    self.send(guest, line, is_last);
                }
            }
        }
    }

    /// Answers those whose outcome is known now.
    pub(super) fn answer_settled(&mut self, store: &Store) {
        if self.requests.is_empty() {
            return;
        }
        for (guest, id, line) in self.requests.answers(store) {
            let line = line.unwrap_or_else(|error| text(Some(id), Outcome::<()>::Error(error)));
            self.send(guest, line, true);
        }
    }

    fn send(&self, guest: GuestId, mut line: String, is_last: bool) {
        // Who comes back and has missed nothing is told nothing.
        if line.is_empty() {
            return;
        }
        line.push('\n');
        if let Some(server) = &self.server {
            server.send(guest, Arc::from(line.into_bytes()), is_last);
        }
    }

    /// Tells who follows.
    pub(super) fn tell(&mut self, changes: &[Change]) {
        for change in changes {
            let id = &change.status.seen.session.id;
            let number = self.told.last + 1;
            let line = stream::Change { cursor: self.told.cursor(number), line: change.line() };
            // Types of the protocol have no keys but texts.
            let Some(text) = serde_json::to_string(&line).logged("write JSON") else { continue };
            self.told.last = number;
            for ((guest, request), follower) in &self.followers {
                if follower.hears_of(id) {
                    self.send(*guest, told(*request, &text), false);
                }
            }
            self.told.lines.push_back(Line { number, session: id.clone(), text });
            if self.told.lines.len() > MOST_TOLD {
                self.told.lines.pop_front();
            }
        }
    }

    fn reply(
        &mut self,
        context: &Context,
        watcher: &mut Watcher<'_>,
        from: From,
        ask: Ask,
        as_of: Timestamp,
    ) -> Result<String, ErrorDetail> {
        decided(format_args!("a program asks: {ask:?}"));
        let From { guest, id, process } = from;
        let failed = |error: Error| refused(&error);
        Ok(match ask {
            Ask::Status { sessions } if sessions.is_empty() => {
                let mut judged = self.ended.listed(context, watcher, as_of).map_err(failed)?;
                snapshot::hide_superseded(&mut judged, |one| &one.seen);
                let left_out = watcher.parts().0.left_out(&judged).map_err(failed)?;
                let details = self.known.details(context, watcher, &judged, as_of);
                let reader = watcher.parts().0;
                answer(
                    id,
                    &listing::statuses_with(context, reader, &judged, details, left_out, as_of)
                        .map_err(failed)?,
                )
            }
            Ask::Status { sessions } => {
                let judged = named(context, watcher, &sessions)?;
                let reader = watcher.parts().0;
                answer(id, &listing::statuses(context, reader, &judged, 0, as_of).map_err(failed)?)
            }
            Ask::Why { session } => {
                let mut judged = named(context, watcher, &[session])?;
                let one = judged.pop().ok_or_else(look_yourself)?;
                answer(id, &listing::explained(&one, as_of))
            }
            Ask::Ls => {
                let mut seen: Vec<_> = watcher
                    .statuses()
                    .filter(|one| one.seen.is_ours())
                    .map(|one| one.seen.clone())
                    .collect();
                let store = watcher.store();
                let all = seen.iter().map(|one| &one.session);
                let mut left_out = snapshot::count_left_out(context, store, all).map_err(failed)?;
                left_out += snapshot::hide_superseded(&mut seen, |one| one);
                answer(id, &listing::sessions(&seen, left_out, as_of))
            }
            Ask::TmuxStatus => {
                let judged: Vec<SessionStatus> = watcher.statuses().cloned().collect();
                let is_shown =
                    |one: &SessionStatus| one.seen.pane.is_some_and(|pane| pane.attached > 0);
                let store = watcher.store();
                let text = listing::in_short(Some(store), judged.iter().collect(), is_shown);
                answer(id, &StatusLine { text })
            }
            Ask::Next { pane } => {
                let here: Option<PaneId> = pane.as_deref().and_then(|pane| pane.parse().ok());
                let session = needs_you(watcher.statuses(), here);
                answer(id, &NeedsYou { session })
            }
            Ask::Health => {
                let errors = self.errors.iter().cloned().collect();
                answer(id, &Health { clients: self.count().saturating_sub(1), errors })
            }
            Ask::Leave { agents } => answer(id, &shutdown::leave(context, &agents)),
            Ask::Send { ref session, .. }
            | Ask::Answer { ref session, .. }
            | Ask::Interrupt { ref session, .. } => {
                let meant = named(context, watcher, std::slice::from_ref(session))?.pop();
                let judged = meant.ok_or_else(look_yourself)?;
                let by_agent = process.is_some_and(|pid| asker::of(context, pid) != Asker::Person);
                if by_agent {
                    permitted::to(context, verb(&ask), &judged).map_err(failed)?;
                }
                let (session, store) = (judged.seen.session, &mut watcher.parts().0.store);
                let (requests, guest) = (&mut self.requests, (guest, id));
                requests.post(context, store, guest, session, &ask, by_agent).map_err(failed)?;
                // The answer comes with the outcome.
                String::new()
            }
            Ask::Follow(follow) => {
                let only = if follow.sessions.is_empty() {
                    None
                } else {
                    let mut only = BTreeSet::new();
                    for target in &follow.sessions {
                        only.insert(followed(context, watcher, target)?);
                    }
                    Some(only)
                };
                self.follow(watcher, (guest, id), Follower { only, wants: follow }, as_of)
            }
        })
    }

    /// The first line for a new follower.
    fn follow(
        &mut self,
        watcher: &Watcher<'_>,
        (guest, id): (GuestId, u64),
        follower: Follower,
        as_of: Timestamp,
    ) -> String {
        let after = follower.wants.after.as_deref();
        // Of details only what is there now is known.
        let since = after.filter(|_| !follower.wants.rows);
        let first = if let Some(lines) = since.and_then(|cursor| self.told.since(cursor)) {
            let lines = lines.filter(|line| follower.hears_of(&line.session));
            let lines: Vec<String> = lines.map(|line| told(id, &line.text)).collect();
            lines.join("\n")
        } else {
            let mut all: Vec<SessionStatus> = watcher.statuses().cloned().collect();
            if follower.only.is_none() {
                snapshot::hide_superseded(&mut all, |one| &one.seen);
            }
            all.retain(|one| follower.hears_of(&one.seen.session.id));
            let sessions = all.iter().map(listing::report).collect();
            let shown = all.iter().filter(|_| follower.wants.rows);
            let rows = shown.map(|one| row(watcher, one)).collect();
            let cursor = self.told.cursor(self.told.last);
            let tmux = follower.wants.rows.then(|| tmux(watcher));
            let all = Snapshot { cursor, as_of, sessions, rows, tmux };
            text(Some(id), Outcome::<()>::Snapshot(all))
        };
        self.followers.insert((guest, id), follower);
        first
    }

    /// What somebody wants done as long as it listens.
    pub(super) fn wants(&self, what: impl Fn(&Follow) -> bool) -> bool {
        self.followers.values().any(|follower| what(&follower.wants))
    }

    /// Sends rows to who follows them.
    pub(super) fn tell_rows(&mut self, watcher: &Watcher<'_>, touched: &BTreeSet<SessionId>) {
        self.known.forget(touched);
        if !self.wants(|follow| follow.rows) {
            return;
        }
        let server = tmux(watcher);
        if std::mem::replace(&mut self.tmux, server) != server {
            for ((guest, request), _) in self.followers.iter().filter(|(_, one)| one.wants.rows) {
                self.send(*guest, text(Some(*request), Outcome::<()>::Tmux(server)), false);
            }
        }
        for one in touched.iter().filter_map(|id| watcher.status(id)) {
            // Types of the protocol have no keys but texts.
            let text = serde_json::to_string(&row(watcher, one)).logged("write JSON");
            let Some(text) = text else { continue };
            for ((guest, request), follower) in &self.followers {
                if follower.wants.rows && follower.hears_of(&one.seen.session.id) {
                    self.send(*guest, format!(r#"{{"id":{request},"row":{text}}}"#), false);
                }
            }
        }
    }

    /// Ends the requests that end with the tmux server.
    pub(super) fn end_with_server(&mut self) {
        let ends: Vec<(GuestId, u64)> = self
            .followers
            .iter()
            .filter(|(_, follower)| follower.wants.status_line)
            .map(|(id, _)| *id)
            .collect();
        for (guest, id) in ends {
            self.followers.remove(&(guest, id));
            let message = "the tmux server has ended".to_owned();
            let error = ErrorDetail { code: NO_SERVER.to_owned(), message, hint: None };
            self.send(guest, text(Some(id), Outcome::<()>::Error(error)), true);
        }
    }
}

fn tmux(watcher: &Watcher<'_>) -> TmuxServer {
    let panes = watcher.panes().map(|(panes, _)| panes);
    TmuxServer { panes, is_silent: panes.is_none() && watcher.has_server() }
}

/// What an agent needs the right to, which asks for this.
fn verb(ask: &Ask) -> Verb {
    match ask {
        Ask::Answer { .. } => Verb::Answer,
        _ => Verb::Send,
    }
}

fn row(watcher: &Watcher<'_>, one: &SessionStatus) -> SessionRow {
    let session = &one.seen.session;
    let screen = watcher.memory(&session.id).and_then(|memory| memory.screen());
    SessionRow {
        session: listing::report(one),
        numbers: screen.map(|screen| screen.hands.numbers.clone()).unwrap_or_default(),
        has_pane: one.seen.pane.is_some(),
        attached: one.seen.pane.is_some_and(|pane| pane.attached > 0),
        title: session.title.clone(),
        folder: session.cwd.clone(),
        project: session.project.clone(),
        tags: session.tags.clone(),
        role: session.membership.as_ref().map(|membership| membership.role.clone()),
        story: session.story.as_ref().map(|story| story.story.clone()),
        created: session.created,
        conversation: session.conversation.clone(),
    }
}

impl Told {
    fn cursor(&self, number: u64) -> String {
        format!("{}.{number}", self.origin)
    }

    /// What was told after that; `None` if that is not known any more, or another supervisor told it.
    fn since(&self, cursor: &str) -> Option<impl Iterator<Item = &Line>> {
        let (origin, number) = cursor.rsplit_once('.')?;
        let number: u64 = number.parse().ok()?;
        let first = self.lines.front().map_or(self.last + 1, |line| line.number);
        let is_known = origin == self.origin && number <= self.last && number + 1 >= first;
        is_known.then(|| self.lines.iter().filter(move |line| line.number > number))
    }
}

/// The session that `next` goes to.
fn needs_you<'a>(
    all: impl Iterator<Item = &'a SessionStatus>,
    here: Option<PaneId>,
) -> Option<SessionId> {
    let all: Vec<&SessionStatus> = all.collect();
    attach::needs_you(&all, here).map(|one| one.seen.session.id.clone())
}

/// The sessions meant by names, ids or panes, in their order, as they were last seen.
fn named(
    context: &Context,
    watcher: &Watcher<'_>,
    targets: &[String],
) -> Result<Vec<SessionStatus>, ErrorDetail> {
    let mut found = Vec::new();
    for target in targets {
        // Of one that has ended, more is to be read than is kept here.
        let one = known(context, watcher, target)?;
        found.push(one.filter(|one| !one.verdict.status.is_over()).ok_or_else(look_yourself)?);
    }
    Ok(found)
}

/// The session meant by a name, an id or a pane, as it was last seen; `None` of one that has ended and is not listed any more.
fn known(
    context: &Context,
    watcher: &Watcher<'_>,
    target: &str,
) -> Result<Option<SessionStatus>, ErrorDetail> {
    let failed = |error: Error| refused(&error);
    let candidates = snapshot::candidates(context, watcher.store(), target).map_err(failed)?;
    let judged: Vec<SessionStatus> = if candidates.is_empty() {
        let is_meant = |one: &&SessionStatus| {
            !one.seen.is_ours() && unmanaged::is_meant(&one.seen.session, target)
        };
        watcher.statuses().filter(is_meant).cloned().collect()
    } else {
        candidates.iter().filter_map(|one| watcher.status(&one.id).cloned()).collect()
    };
    if judged.is_empty() && !candidates.is_empty() {
        return Ok(None);
    }
    snapshot::meant(context, judged, |one| &one.seen, target).map(Some).map_err(failed)
}

/// The same for who follows it. The launcher of an agent that others started may be out of sight until it has started the agent.
fn followed(
    context: &Context,
    watcher: &Watcher<'_>,
    target: &str,
) -> Result<SessionId, ErrorDetail> {
    match known(context, watcher, target) {
        Ok(found) => Ok(found.ok_or_else(look_yourself)?.seen.session.id),
        Err(error) => {
            let id = SessionId::from(target);
            if unmanaged::lives(id.origin()) { Ok(id) } else { Err(error) }
        }
    }
}

fn told(request: u64, change: &str) -> String {
    format!(r#"{{"id":{request},"change":{change}}}"#)
}

pub(super) fn answer(id: u64, document: &impl Serialize) -> String {
    text(Some(id), Outcome::Answer(document))
}

fn text<T: Serialize>(id: Option<u64>, is: Outcome<T>) -> String {
    // Types of the protocol have no keys but texts.
    serde_json::to_string(&Reply { id, is }).logged("write JSON").unwrap_or_default()
}

pub(super) fn refused(error: &Error) -> ErrorDetail {
    error.into()
}

fn look_yourself() -> ErrorDetail {
    let message = "the supervisor does not watch this session".to_owned();
    ErrorDetail { code: "not_watched".to_owned(), message, hint: None }
}
