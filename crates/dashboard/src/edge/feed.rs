//! What the supervisor tells, on a thread of its own, and the screen of the selected session, on another one. An idle session costs
//! nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::watch::stream::Stream;
use dogwatch_engine::watch::{Focus, Followed};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::Status;
use dogwatch_protocol::stream::{Follow, SessionRow};
use dogwatch_tmux::PaneId;
use jiff::Timestamp;

use super::inbox::{Inbox, Panes, Trouble};
use crate::model::Row;

/// Longest wait for news: looks of others are read then.
const ROUND: Duration = Duration::from_secs(5);
/// Longest wait for another screen.
const SCREEN: Duration = Duration::from_mins(1);
/// Pause before another attempt after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The running feed. Dropping it ends its threads.
#[derive(Debug)]
pub(super) struct Feed {
    control: Arc<Control>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Control {
    wanted: Mutex<Wanted>,
    changed: Condvar,
    /// Ends the wait for news.
    is_over: AtomicBool,
    /// Ends the wait for another screen: something else is wanted.
    poke: AtomicBool,
}

/// Ends a wait early.
type Wake = Box<dyn Fn() + Send>;

#[derive(Default)]
struct Wanted {
    followed: Option<Followed>,
    /// The panes of sessions that live.
    panes: BTreeMap<SessionId, PaneId>,
    /// The followed screen may have moved.
    has_stirred: bool,
    hears: Option<Wake>,
    looks: Option<Wake>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("followed", &self.followed).finish_non_exhaustive()
    }
}

impl Feed {
    pub(super) fn start(context: &Context, inbox: &Inbox) -> Result<Self, Error> {
        let control = Arc::new(Control::default());
        let mut feed = Self { control: Arc::clone(&control), threads: Vec::new() };
        let (its, to, shared) = (context.clone(), inbox.clone(), Arc::clone(&control));
        feed.run("feed", move || {
            // It outlives a stream: sessions that went away meanwhile are missed by the next one.
            let mut posted = Posted::default();
            while !shared.is_over() {
                if let Err(error) = hear(&its, &shared, &to, &mut posted) {
                    posted.is_complete = false;
                    let text = format!("error: {error}");
                    to.post(|pending| {
                        pending.trouble = Some(Trouble(Some(text)));
                        pending.is_complete = true;
                    });
                    shared.pause();
                }
            }
        })?;
        let (its, to) = (context.clone(), inbox.clone());
        feed.run("screen", move || look(&its, &control, &to))?;
        Ok(feed)
    }

    fn run(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
        self.threads.push(thread.map_err(Error::io("start a thread"))?);
        Ok(())
    }

    /// Follows the screen of this session from now on.
    pub(super) fn follow(&self, followed: Option<Followed>) {
        let mut wanted = self.control.lock();
        if wanted.followed != followed {
            wanted.followed = followed;
            self.control.wake_screen(&wanted);
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.control.is_over.store(true, Ordering::Release);
        let wanted = self.control.lock();
        self.control.wake_screen(&wanted);
        self.control.changed.notify_all();
        wanted.hears.iter().for_each(|wake| wake());
        drop(wanted);
        for thread in self.threads.drain(..) {
            // Its control connection to tmux is closed properly.
            let _ = thread.join();
        }
    }
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn wake_screen(&self, wanted: &Wanted) {
        self.poke.store(true, Ordering::Release);
        wanted.looks.iter().for_each(|wake| wake());
    }

    fn pause(&self) {
        let wanted = self.lock();
        if !self.is_over() {
            // Whether it was woken or not, another attempt follows.
            drop(self.changed.wait_timeout(wanted, RETRY));
        }
    }
}

/// Reports what the supervisor tells.
fn hear(
    context: &Context,
    control: &Control,
    inbox: &Inbox,
    posted: &mut Posted,
) -> Result<(), Error> {
    let follow = Follow { rows: true, labels: true, ..Follow::default() };
    let mut stream = Stream::open(context, &[], follow)?;
    control.lock().hears = Some(Box::new(stream.waker()));
    while !control.is_over() {
        stream.next(ROUND, &control.is_over)?;
        posted.post(context, &mut stream, inbox, control);
    }
    Ok(())
}

/// Reports the screen that is followed.
fn look(context: &Context, control: &Control, inbox: &Inbox) {
    let mut focus = Focus::new(context);
    let waker = focus.waker();
    control.lock().looks = Some(Box::new(move || waker.wake()));
    while !control.is_over() {
        control.poke.store(false, Ordering::Release);
        let mut wanted = control.lock();
        let followed = wanted.followed.clone();
        let pane = followed.as_ref().and_then(|one| wanted.panes.get(&one.session).copied());
        let has_stirred = std::mem::take(&mut wanted.has_stirred);
        drop(wanted);
        focus.follow(followed, pane);
        if has_stirred {
            focus.stir();
        }
        if let Some(screen) = focus.next(SCREEN, &control.poke) {
            inbox.post(|pending| pending.screen = Some(screen));
        }
    }
}

/// What was reported before: only differences are.
#[derive(Debug, Default)]
struct Posted {
    rows: BTreeMap<SessionId, Row>,
    /// The runs that sessions belong to.
    runs: HashMap<String, String>,
    panes: Option<Panes>,
    trouble: Trouble,
    /// The first look of this stream is reported.
    is_complete: bool,
    looked_at: BTreeMap<SessionId, Timestamp>,
    /// When looks were last read: another dashboard, or a command, may have recorded one.
    looks_read: Option<Instant>,
}

impl Posted {
    fn post(
        &mut self,
        context: &Context,
        stream: &mut Stream<'_>,
        inbox: &Inbox,
        control: &Control,
    ) {
        let touched = stream.take_touched();
        let silent = if stream.is_silent() {
            Some("the supervisor does not answer; `dogwatch supervisor restart` replaces it")
        } else {
            stream.tmux().is_silent.then_some("tmux does not answer")
        };
        let trouble = Trouble(silent.map(ToOwned::to_owned));
        let is_new_trouble = trouble != self.trouble;
        self.trouble.clone_from(&trouble);
        if !stream.is_complete() {
            if is_new_trouble {
                inbox.post(|pending| pending.trouble = Some(trouble));
            }
            return;
        }
        let is_first = !std::mem::replace(&mut self.is_complete, true);
        let rows = if touched.is_empty() && !is_first {
            BTreeMap::new()
        } else {
            let is_lost = |row: &SessionRow| !row.has_pane || row.session.verdict.status.is_over();
            let mut wanted = control.lock();
            wanted.panes = stream
                .rows()
                .filter(|row| !is_lost(row))
                .filter_map(|row| {
                    Some((row.session.id.clone(), row.session.pane.as_ref()?.parse().ok()?))
                })
                .collect();
            if wanted.followed.as_ref().is_some_and(|one| touched.contains(&one.session)) {
                wanted.has_stirred = true;
                control.wake_screen(&wanted);
            }
            drop(wanted);
            self.changed(context, stream)
        };
        let panes = Panes(stream.tmux().panes);
        let panes = Some(panes).filter(|panes| self.panes != Some(*panes));
        self.panes = panes.or(self.panes);
        let has_rows = !rows.is_empty();
        let looked_at = self.looks(context, has_rows || is_first);
        let has_news = has_rows || is_first || looked_at.is_some();
        if !(has_news || is_new_trouble || panes.is_some()) {
            return;
        }
        inbox.post(|pending| {
            pending.rows.extend(rows);
            pending.is_complete = true;
            pending.trouble = Some(trouble);
            if panes.is_some() {
                pending.panes = panes;
            }
            if looked_at.is_some() {
                pending.looked_at = looked_at;
            }
        });
    }

    /// The looks, if they are others than before.
    fn looks(&mut self, context: &Context, is_due: bool) -> Option<BTreeMap<SessionId, Timestamp>> {
        let is_old = self.looks_read.is_none_or(|at| at.elapsed() >= ROUND);
        // They matter for turns that finished.
        let is_idle = |row: &Row| matches!(row.verdict.status, Status::Idle { .. });
        let is_due = is_due || (is_old && self.rows.values().any(is_idle));
        if !is_due {
            return None;
        }
        self.looks_read = Some(Instant::now());
        let store = context.store().logged("open the database")?;
        let looked_at = store.looked_at().logged("read looks")?;
        if looked_at == self.looked_at {
            return None;
        }
        self.looked_at.clone_from(&looked_at);
        Some(looked_at)
    }

    /// The rows that look different now; `None` for those that are gone.
    fn changed(
        &mut self,
        context: &Context,
        stream: &Stream<'_>,
    ) -> BTreeMap<SessionId, Option<Row>> {
        let mut shown: Vec<&SessionRow> = stream.rows().collect();
        snapshot::hide_superseded_rows(&mut shown);
        let shown: BTreeMap<&SessionId, &SessionRow> =
            shown.into_iter().map(|one| (&one.session.id, one)).collect();
        let mut changed = BTreeMap::new();
        let gone: Vec<SessionId> =
            self.rows.keys().filter(|id| !shown.contains_key(id)).cloned().collect();
        for id in gone {
            self.rows.remove(&id);
            changed.insert(id, None);
        }
        for (id, one) in shown {
            if one.story.is_some() && !self.runs.contains_key(id.as_str()) {
                let store = context.store().logged("open the database");
                let runs = store.and_then(|store| store.runs_of_sessions().logged("read runs"));
                self.runs = runs.unwrap_or_default();
            }
            let row = row(one, self.runs.get(id.as_str()).cloned());
            if self.rows.get(id) != Some(&row) {
                self.rows.insert(id.clone(), row.clone());
                changed.insert(id.clone(), Some(row));
            }
        }
        changed
    }
}

fn row(one: &SessionRow, run: Option<String>) -> Row {
    let session = &one.session;
    Row {
        id: session.id.clone(),
        name: session.name.clone(),
        title: one.title.clone(),
        agent: session.agent.clone(),
        verdict: session.verdict.clone(),
        notes: session.notes.clone(),
        numbers: one.numbers.clone(),
        folder: one.folder.clone(),
        project: one.project.clone(),
        tags: one.tags.clone(),
        role: one.role.clone(),
        story: one.story.clone(),
        run,
        created: one.created,
        has_pane: one.has_pane,
        is_managed: session.ours,
        is_attached: one.attached,
    }
}
