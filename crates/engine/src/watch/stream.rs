//! Sessions as the supervisor tells of them, for front ends: all that there are first, and each change as it comes.
//!
//! Nothing is looked at here. If the supervisor dies or is replaced, the next one is asked for what was missed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, decided};
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::{StatusReport, WatchEvent, WatchLine};
use dogwatch_protocol::stream::{
    Ask, Change, Follow, Guest, Introduction, Request, SessionRow, Snapshot, TmuxServer,
};
use dogwatch_protocol::stream::{NO_SERVER, VERSIONS};
use dogwatch_store::Store;
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;

use crate::observe::listing;
use crate::observe::status::StatusReader;
use crate::observe::tmux_snapshot::TmuxSnapshot;
use crate::socket::client;
use crate::socket::lines::pop_line;
use crate::{Context, Error, summon};

/// Pauses before the next attempt to reach a supervisor.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long none may be reached before it is asked what tmux says: there is none for a server that may not be used.
const ABSENT: Duration = Duration::from_millis(500);
/// How long one may take to answer before that is said.
const SILENT: Duration = Duration::from_secs(2);
/// How often it is checked that the database is still the same.
const CHECK: Duration = Duration::from_secs(5);
/// Codes of the supervisor's refusals.
const NO_SUCH_SESSION: &str = "no_such_session";
const NOT_WATCHED: &str = "not_watched";
/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// A front end's connection to the supervisor.
#[derive(Debug)]
pub struct Stream<'c> {
    context: &'c Context,
    store: Store,
    checked: Instant,
    follow: Follow,
    link: Option<Link>,
    /// Names the last moment that is known.
    cursor: Option<String>,
    sessions: BTreeMap<SessionId, StatusReport>,
    /// If they are followed.
    rows: BTreeMap<SessionId, SessionRow>,
    tmux: TmuxServer,
    /// Changes that are to be reported.
    found: Vec<WatchLine>,
    /// Sessions whose row was told since [`Stream::take_touched`], or that are gone.
    touched: BTreeSet<SessionId>,
    /// Something else was told.
    has_news: bool,
    bell: Arc<UnixStream>,
    wakes: UnixStream,
    absent: Instant,
    pause: Duration,
    retry: Option<Instant>,
    is_complete: bool,
    says_silent: bool,
    named: Vec<StatusReport>,
    /// Nothing that was named lives.
    has_ended: bool,
}

/// An open connection.
#[derive(Debug)]
struct Link {
    stream: UnixStream,
    read: Vec<u8>,
    searched: usize,
    since: Instant,
    /// It has said what there is.
    has_answered: bool,
}

/// Any line of the supervisor. The types of the protocol are the same; this one is read in one go.
#[derive(Debug, Deserialize)]
struct Line {
    snapshot: Option<Snapshot>,
    change: Option<Box<Change>>,
    row: Option<Box<SessionRow>>,
    tmux: Option<TmuxServer>,
    error: Option<ErrorDetail>,
}

impl<'c> Stream<'c> {
    /// Follows the sessions that are meant by these names, ids or panes, or all.
    pub fn open(context: &'c Context, targets: &[String], follow: Follow) -> Result<Self, Error> {
        // A missing server may start later; a missing tmux program is an error.
        let found = context.tmux.version()?;
        if !found.is_supported() {
            return Err(dogwatch_tmux::Error::TooOld { found }.into());
        }
        let (bell, wakes) = UnixStream::pair().map_err(Error::io("open a socket"))?;
        for end in [&bell, &wakes] {
            end.set_nonblocking(true).map_err(Error::io("open a socket"))?;
        }
        let mut stream = Self {
            context,
            store: context.store()?,
            checked: Instant::now(),
            follow,
            link: None,
            cursor: None,
            sessions: BTreeMap::new(),
            rows: BTreeMap::new(),
            tmux: TmuxServer::default(),
            has_news: false,
            found: Vec::new(),
            touched: BTreeSet::new(),
            bell: Arc::new(bell),
            wakes,
            absent: Instant::now(),
            pause: LEAST_PAUSE,
            retry: None,
            is_complete: false,
            says_silent: false,
            named: Vec::new(),
            has_ended: false,
        };
        if !targets.is_empty() {
            stream.resolve(targets)?;
        }
        Ok(stream)
    }

    /// Finds the sessions that are meant. Of those that have ended the supervisor may not tell: they are what they are now.
    fn resolve(&mut self, targets: &[String]) -> Result<(), Error> {
        let now = Timestamp::now();
        let names: Vec<&str> = targets.iter().map(String::as_str).collect();
        let meant = StatusReader::new(self.context)?.many(&names, now)?;
        let reports: Vec<StatusReport> = meant.iter().map(listing::report).collect();
        let (over, living): (Vec<&StatusReport>, Vec<_>) =
            reports.iter().partition(|one| one.verdict.status.is_over());
        for one in over {
            self.take_in(now, one.clone());
        }
        self.follow.sessions = living.iter().map(|one| one.id.to_string()).collect();
        self.has_ended = living.is_empty();
        self.is_complete |= self.has_ended;
        self.named = reports;
        Ok(())
    }

    /// The sessions that were named, in that order, as they were when the stream was opened.
    pub fn named(&self) -> &[StatusReport] {
        &self.named
    }

    /// Ends a wait early, from another thread.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let bell = Arc::clone(&self.bell);
        move || {
            // Full: it will be woken all the same.
            match (&*bell).write(&[1]) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    Err::<(), _>(error).logged("wake a thread");
                }
                _ => {}
            }
        }
    }

    /// The last status of each session, in the order of their creation (ids sort by time).
    pub fn sessions(&self) -> impl Iterator<Item = &StatusReport> {
        self.sessions.values()
    }

    /// Whether all sessions that there are have been told of.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What is known of a session, if rows are followed.
    pub fn row(&self, session: &SessionId) -> Option<&SessionRow> {
        self.rows.get(session)
    }

    pub fn rows(&self) -> impl Iterator<Item = &SessionRow> {
        self.rows.values()
    }

    /// What is known of the tmux server, if rows are followed.
    pub fn tmux(&self) -> TmuxServer {
        self.tmux
    }

    /// Sessions whose row was told since the last call, or that are gone.
    pub fn take_touched(&mut self) -> BTreeSet<SessionId> {
        std::mem::take(&mut self.touched)
    }

    /// Whether a supervisor is there and does not answer; true once for each time.
    pub fn is_silent(&mut self) -> bool {
        let is_silent = self.link.as_ref().is_some_and(|link| {
            !link.has_answered && link.since.elapsed() >= SILENT && !self.says_silent
        });
        self.says_silent |= is_silent;
        is_silent
    }

    /// Waits at most `at_most` for changes, or until `stop` is set and the waker called. The first ones are of every existing session.
    pub fn next(&mut self, at_most: Duration, stop: &AtomicBool) -> Result<Vec<WatchLine>, Error> {
        let until = Instant::now() + at_most;
        loop {
            if self.checked.elapsed() >= CHECK || self.link.is_none() {
                self.checked = Instant::now();
                self.store.check_files()?;
            }
            self.hear()?;
            let is_news = !(self.found.is_empty() && self.touched.is_empty())
                || std::mem::take(&mut self.has_news);
            if is_news || Instant::now() >= until || stop.load(Ordering::Relaxed) {
                return Ok(std::mem::take(&mut self.found));
            }
            self.wait(until)?;
        }
    }

    /// Takes in all that the supervisor has said, and reaches the next one if it is gone.
    fn hear(&mut self) -> Result<(), Error> {
        if self.has_ended {
            return Ok(());
        }
        if self.link.is_none() && self.retry.is_none_or(|at| at <= Instant::now()) {
            self.connect()?;
        }
        let Some(link) = &mut self.link else { return Ok(()) };
        let is_open = link.read().logged("hear the supervisor").unwrap_or(false);
        while let Some(line) = self.link.as_mut().and_then(Link::line) {
            // A greeting of a newer version may have what is not known here.
            let Some(line) = serde_json::from_slice::<Line>(&line).logged("read JSON") else {
                continue;
            };
            self.take_line(line)?;
        }
        if !is_open {
            self.link = None;
            self.absent = Instant::now();
            self.retry = Some(Instant::now());
        }
        Ok(())
    }

    fn take_line(&mut self, line: Line) -> Result<(), Error> {
        if let Some(error) = line.error {
            if error.code == NO_SERVER {
                return Err(dogwatch_tmux::Error::NoServer.into());
            }
            decided(format_args!("the supervisor refuses: {}", error.message));
            if error.code == NO_SUCH_SESSION {
                return Err(error.into());
            }
            if error.code == NOT_WATCHED {
                // It has ended meanwhile.
                self.link = None;
                let targets = self.follow.sessions.clone();
                return self.resolve(&targets);
            }
            // Such as one of an older version, which replaces itself soon: it is asked again.
            self.link = None;
            self.retry = Some(Instant::now() + LONGEST_PAUSE);
            return Ok(());
        }
        if let Some(snapshot) = line.snapshot {
            self.take_snapshot(snapshot);
        }
        if let Some(change) = line.change {
            let Change { cursor, line } = *change;
            self.cursor = Some(cursor);
            self.take_change(line);
        }
        if let Some(row) = line.row {
            self.take_row(*row);
        }
        if let Some(tmux) = line.tmux {
            (self.tmux, self.has_news) = (tmux, true);
        }
        if self.cursor.is_some()
            && let Some(link) = &mut self.link
        {
            link.has_answered = true;
            self.pause = LEAST_PAUSE;
            self.says_silent = false;
        }
        Ok(())
    }

    /// All that there is. What is other than before has changed meanwhile.
    fn take_snapshot(&mut self, snapshot: Snapshot) {
        let Snapshot { cursor, as_of, sessions, rows, tmux } = snapshot;
        self.cursor = Some(cursor);
        self.is_complete = true;
        let there: BTreeSet<SessionId> = sessions.iter().map(|one| one.id.clone()).collect();
        let is_followed = |id: &SessionId| {
            self.follow.sessions.is_empty() || self.follow.sessions.iter().any(|one| *id == **one)
        };
        // One that was named may have gone out of sight since it was.
        let named = self.named.iter().filter(|one| !self.sessions.contains_key(&one.id));
        let gone: Vec<StatusReport> = self
            .sessions
            .values()
            .chain(named)
            .filter(|one| is_followed(&one.id) && !there.contains(&one.id))
            .cloned()
            .collect();
        for one in gone {
            let from = Some(one.verdict.status.as_str().to_owned());
            self.take_change(WatchLine { event: WatchEvent::Gone, at: as_of, from, session: one });
        }
        for one in sessions {
            self.take_in(as_of, one);
        }
        for row in rows {
            self.take_row(row);
        }
        self.tmux = tmux.unwrap_or_default();
        self.has_news = true;
    }

    fn take_row(&mut self, row: SessionRow) {
        let id = row.session.id.clone();
        self.touched.insert(id.clone());
        self.rows.insert(id, row);
    }

    fn take_in(&mut self, at: Timestamp, session: StatusReport) {
        let before = self.sessions.get(&session.id).map(|one| &one.verdict.status);
        let (event, from) = match before {
            None => (WatchEvent::Seen, None),
            Some(before) if before.key() != session.verdict.status.key() => {
                (WatchEvent::Changed, Some(before.as_str().to_owned()))
            }
            Some(_) => {
                self.sessions.insert(session.id.clone(), session);
                return;
            }
        };
        self.take_change(WatchLine { event, at, from, session });
    }

    fn take_change(&mut self, line: WatchLine) {
        let id = &line.session.id;
        if line.event == WatchEvent::Gone {
            self.sessions.remove(id);
            if self.rows.remove(id).is_some() {
                self.touched.insert(id.clone());
            }
        } else {
            self.sessions.insert(id.clone(), line.session.clone());
        }
        self.found.push(line);
    }

    fn connect(&mut self) -> Result<(), Error> {
        summon::ensure(self.context).logged("start the supervisor");
        let hello = Introduction { hello: Guest { protocol: VERSIONS.to, view: None } };
        let ask = Ask::Follow(Follow { after: self.cursor.clone(), ..self.follow.clone() });
        match client::introduce(self.context, &hello, &Request { id: 1, ask }) {
            Ok(stream) => {
                let (read, searched, since) = (Vec::new(), 0, Instant::now());
                // Who comes back with a cursor and has missed nothing is told nothing.
                let has_answered = self.cursor.is_some();
                self.link = Some(Link { stream, read, searched, since, has_answered });
            }
            Err(error) => {
                self.retry = Some(Instant::now() + self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                if !client::is_absent(&error) {
                    Err::<(), _>(error).logged("reach the supervisor");
                }
                if self.absent.elapsed() >= ABSENT {
                    self.absent = Instant::now();
                    self.check_tmux()?;
                }
            }
        }
        Ok(())
    }

    /// A tmux server that may not be used has no supervisor.
    fn check_tmux(&self) -> Result<(), Error> {
        match TmuxSnapshot::by_process(&self.context.tmux.running_only(), &[]) {
            Err(error) if !(error.is_no_server() || error.is_passing()) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn wait(&mut self, until: Instant) -> Result<(), Error> {
        let now = Instant::now();
        let silent = self.link.as_ref().filter(|link| !link.has_answered && !self.says_silent);
        let silent = silent.map(|link| link.since + SILENT).filter(|at| *at > now);
        let retry = if self.link.is_none() && !self.has_ended { self.retry } else { None };
        let until = [Some(until), retry, silent, Some(self.checked + CHECK)];
        let until = until.into_iter().flatten().min().unwrap_or(now);
        let left = until.saturating_duration_since(now) + Duration::from_millis(1);
        let timeout = Timespec::try_from(left).ok();
        let mut fds = vec![PollFd::new(&self.wakes, PollFlags::IN)];
        fds.extend(self.link.iter().map(|link| PollFd::new(&link.stream, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            polled => polled.map_err(|error| Error::io("wait for the supervisor")(error.into()))?,
        };
        if !fds[0].revents().is_empty() {
            drop(fds);
            // Who rings again after this is heard in the next turn.
            (&self.wakes).read(&mut [0; 256]).logged("take note of news");
        }
        Ok(())
    }
}

impl Link {
    /// Reads what there is; false if nothing more will come.
    fn read(&mut self) -> io::Result<bool> {
        let mut piece = vec![0; PIECE];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        pop_line(&mut self.read, &mut self.searched)
    }
}
