//! The watcher on a thread of its own. It reports what changed and the screen of the selected session; an idle session costs nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::observe::changes::Waker;
use dogwatch_engine::observe::snapshot;
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_engine::watch::{Followed, Watcher};
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_protocol::status::Status;
use jiff::Timestamp;

use super::inbox::{Inbox, Panes, Trouble};
use crate::model::Row;

/// How long the watcher may wait: details that are no change of status are shown then.
const ROUND: Duration = Duration::from_secs(1);
/// How often looks of others are read.
const LOOKS: Duration = Duration::from_secs(5);
/// Pause before another attempt after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The running feed. Dropping it ends its thread.
#[derive(Debug)]
pub(super) struct Feed {
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Control {
    wanted: Mutex<Wanted>,
    changed: Condvar,
    /// Ends the watcher's wait: something else is wanted.
    poke: AtomicBool,
}

#[derive(Debug, Default)]
struct Wanted {
    followed: Option<Followed>,
    is_over: bool,
    waker: Option<Waker>,
}

impl Feed {
    pub(super) fn start(context: &Context, inbox: &Inbox) -> Result<Self, Error> {
        let control = Arc::new(Control::default());
        let (context, inbox, shared) = (context.clone(), inbox.clone(), Arc::clone(&control));
        let run = move || {
            // It outlives a watcher: sessions that went away meanwhile are missed by the next one.
            let mut posted = Posted::default();
            while !shared.is_over() {
                if let Err(error) = watch(&context, &shared, &inbox, &mut posted) {
                    posted.is_complete = false;
                    let text = format!("error: {error}");
                    inbox.post(|pending| {
                        pending.trouble = Some(Trouble(Some(text)));
                        pending.is_complete = true;
                    });
                    shared.pause();
                }
            }
        };
        let thread = thread::Builder::new().name("feed".to_owned()).spawn(run);
        let thread = thread.map_err(Error::io("start a thread"))?;
        Ok(Self { control, thread: Some(thread) })
    }

    /// Follows the screen of this session from now on.
    pub(super) fn follow(&self, followed: Option<Followed>) {
        let mut wanted = self.control.lock();
        if wanted.followed != followed {
            wanted.followed = followed;
            self.control.wake(&wanted);
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut wanted = self.control.lock();
        wanted.is_over = true;
        self.control.wake(&wanted);
        drop(wanted);
        if let Some(thread) = self.thread.take() {
            // Its control connection to tmux is closed properly.
            let _ = thread.join();
        }
    }
}

impl Control {
    fn lock(&self) -> std::sync::MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn wake(&self, wanted: &Wanted) {
        self.poke.store(true, Ordering::Release);
        self.changed.notify_all();
        if let Some(waker) = &wanted.waker {
            waker.wake();
        }
    }

    fn pause(&self) {
        let wanted = self.lock();
        if !wanted.is_over {
            // Whether it was woken or not, another attempt follows.
            drop(self.changed.wait_timeout(wanted, RETRY));
        }
    }
}

fn watch(
    context: &Context,
    control: &Control,
    inbox: &Inbox,
    posted: &mut Posted,
) -> Result<(), Error> {
    let mut watcher = Watcher::new(context, &[])?;
    watcher.label_panes();
    watcher.report_details();
    control.lock().waker = Some(watcher.waker());
    loop {
        control.poke.store(false, Ordering::Release);
        let followed = {
            let wanted = control.lock();
            if wanted.is_over {
                return Ok(());
            }
            wanted.followed.clone()
        };
        watcher.follow(followed);
        watcher.next(ROUND, &control.poke)?;
        posted.post(context, &mut watcher, inbox);
    }
}

/// What was reported before: only differences are.
#[derive(Debug, Default)]
struct Posted {
    rows: BTreeMap<SessionId, Row>,
    attached: BTreeSet<SessionId>,
    /// The runs that sessions belong to.
    runs: HashMap<String, String>,
    panes: Option<Panes>,
    trouble: Trouble,
    /// The first look of this watcher is reported.
    is_complete: bool,
    looked_at: BTreeMap<SessionId, Timestamp>,
    /// When looks were last read: another dashboard, or a command, may have recorded one.
    looks_read: Option<Instant>,
}

impl Posted {
    fn post(&mut self, context: &Context, watcher: &mut Watcher<'_>, inbox: &Inbox) {
        let mut touched = watcher.take_touched();
        let (panes, attached) = match watcher.panes() {
            Some((panes, attached)) => (Some(panes), attached),
            None => (None, BTreeSet::new()),
        };
        touched.extend(self.attached.symmetric_difference(&attached).cloned());
        self.attached = attached;
        let silent = panes.is_none() && watcher.has_server();
        let trouble = Trouble(silent.then(|| "tmux does not answer".to_owned()));
        let is_new_trouble = trouble != self.trouble;
        self.trouble.clone_from(&trouble);
        let is_first = !std::mem::replace(&mut self.is_complete, true);
        let rows = if touched.is_empty() && !is_first {
            BTreeMap::new()
        } else {
            self.changed(context, watcher, touched)
        };
        let panes = Some(Panes(panes)).filter(|panes| self.panes != Some(*panes));
        self.panes = panes.or(self.panes);
        let screen = watcher.screen();
        let has_rows = !rows.is_empty();
        let looked_at = self.looks(context, has_rows || is_first);
        let has_news = has_rows || is_first || looked_at.is_some();
        if !(has_news || is_new_trouble || panes.is_some() || screen.is_some()) {
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
            if screen.is_some() {
                pending.screen = screen;
            }
        });
    }

    /// The looks, if they are others than before.
    fn looks(&mut self, context: &Context, is_due: bool) -> Option<BTreeMap<SessionId, Timestamp>> {
        let is_old = self.looks_read.is_none_or(|at| at.elapsed() >= LOOKS);
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
        watcher: &Watcher<'_>,
        touched: BTreeSet<SessionId>,
    ) -> BTreeMap<SessionId, Option<Row>> {
        let mut shown: Vec<&SessionStatus> = watcher.statuses().collect();
        snapshot::hide_superseded(&mut shown, |one| &one.seen);
        let shown: BTreeMap<&SessionId, &SessionStatus> =
            shown.into_iter().map(|one| (&one.seen.session.id, one)).collect();
        let mut changed = BTreeMap::new();
        // One that is hidden now may not be touched itself.
        let gone: Vec<SessionId> =
            self.rows.keys().filter(|id| !shown.contains_key(id)).cloned().collect();
        for id in gone {
            self.rows.remove(&id);
            changed.insert(id, None);
        }
        for (id, one) in shown {
            if self.rows.contains_key(id) && !touched.contains(id) {
                continue;
            }
            if one.seen.session.story.is_some() && !self.runs.contains_key(id.as_str()) {
                let store = context.store().logged("open the database");
                let runs = store.and_then(|store| store.runs_of_sessions().logged("read runs"));
                self.runs = runs.unwrap_or_default();
            }
            let run = self.runs.get(id.as_str()).cloned();
            let row = row(one, watcher, run, self.attached.contains(id));
            if self.rows.get(id) != Some(&row) {
                self.rows.insert(id.clone(), row.clone());
                changed.insert(id.clone(), Some(row));
            }
        }
        changed
    }
}

fn row(one: &SessionStatus, watcher: &Watcher<'_>, run: Option<String>, is_attached: bool) -> Row {
    let session = &one.seen.session;
    let screen = watcher.memory(&session.id).and_then(|memory| memory.screen());
    Row {
        id: session.id.clone(),
        name: session.name.clone(),
        title: session.title.clone(),
        agent: session.agent.clone(),
        verdict: one.verdict.clone(),
        notes: one.notes.clone(),
        numbers: screen.map(|screen| screen.hands.numbers.clone()).unwrap_or_default(),
        folder: session.cwd.clone(),
        project: session.project.clone(),
        tags: session.tags.clone(),
        role: session.membership.as_ref().map(|membership| membership.role.clone()),
        story: session.story.as_ref().map(|story| story.story.clone()),
        run,
        created: session.created,
        has_pane: one.seen.pane.is_some(),
        is_managed: one.seen.is_ours(),
        is_attached,
    }
}
