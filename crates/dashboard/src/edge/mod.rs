//! The edges: terminal, watcher, actions, signals; and the loop that holds them together. One thread draws; it waits for keys and for
//! the reports of the others, and never for tmux or the disk.

mod actions;
mod ansi;
mod feed;
mod inbox;
mod pages;
mod paint;
mod signals;
mod terminal;

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyEventKind};
use dogwatch_base::log::Logged as _;
use dogwatch_engine::actions::attach;
use dogwatch_engine::observe::{agents, status};
use dogwatch_engine::watch::Followed;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_tmux::{Command, PaneId};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};

use crate::keys::{self, Intent, Key};
use crate::model::{Around, Field, Mode, PageOf, Screen, State, Tab, View};
use crate::view;
use actions::Actions;
use feed::Feed;
use inbox::{Inbox, Panes, Trouble};
use terminal::Terminal;

/// How long the first frame waits for the first look.
const FIRST_LOOK: Duration = Duration::from_millis(80);
/// Lines of history that can be scrolled through.
const HISTORY: u32 = 2000;
/// A view that is open is read again this often.
const VIEW_ROUND: Duration = Duration::from_secs(3);
/// A tab of a session that moves is read again this often at most.
const TAB_ROUND: Duration = Duration::from_secs(1);
/// A diff asks git.
const DIFF_ROUND: Duration = Duration::from_secs(5);
/// Ages below a minute tick by the second, others by the minute.
const TICK: Duration = Duration::from_secs(1);
const SLOW_TICK: Duration = Duration::from_secs(10);

/// What the command line knows.
#[derive(Debug, Clone)]
pub struct Options {
    /// The tmux server that this process runs in.
    pub around: Option<PathBuf>,
    pub here: PathBuf,
    pub project: PathBuf,
    pub only_project: bool,
    /// The commands of the command line with their help texts, for the palette.
    pub commands: Vec<(String, String)>,
    pub has_colours: bool,
    /// A filter to begin with.
    pub filter: String,
    /// End after attaching: in a popup, which would stay over the session.
    pub is_popup: bool,
    /// Our own pane, if it moves along to the session that is attached.
    pub sidebar: Option<PaneId>,
}

/// Shows the dashboard until the user quits.
pub fn run(context: &Context, options: Options) -> Result<(), Error> {
    let inbox = Inbox::new().map_err(Error::io("make a pipe"))?;
    let feed = Feed::start(context, &inbox)?;
    let _alive = signals::listen(&inbox)?;
    let terminal = Terminal::open().map_err(Error::io("draw on the terminal"))?;
    let around = Around {
        home: context.home.clone(),
        here: options.here.clone(),
        project: options.project.clone(),
        host: context.host.clone(),
        socket: context.socket.clone(),
        agents: agents::names(context),
        commands: options.commands.clone(),
        has_colours: options.has_colours,
    };
    let mut state = State::new(around);
    state.only_project = options.only_project;
    state.is_sidebar = options.sidebar.is_some();
    state.filter.clone_from(&options.filter);
    let actions = Actions { context: context.clone(), inbox: inbox.clone() };
    let dashboard = Dashboard {
        options,
        inbox,
        feed: Some(feed),
        terminal,
        state,
        actions,
        loaded: None,
        is_dirty: true,
        is_over: false,
        begun: Instant::now(),
    };
    dashboard.run().map_err(Error::io("draw on the terminal"))
}

struct Dashboard {
    options: Options,
    inbox: Inbox,
    feed: Option<Feed>,
    terminal: Terminal,
    state: State,
    actions: Actions,
    /// The page that was last asked for, and when.
    loaded: Option<(PageOf, Instant)>,
    is_dirty: bool,
    is_over: bool,
    begun: Instant,
}

impl Dashboard {
    fn run(mut self) -> io::Result<()> {
        self.wait_for_first_look();
        let mut last_tick = Instant::now();
        while !self.is_over {
            self.follow();
            if std::mem::take(&mut self.is_dirty) {
                self.draw()?;
            }
            let tick = self.tick();
            let left = tick.saturating_sub(last_tick.elapsed());
            let has_input = wait(&self.inbox, left);
            if has_input {
                self.read_keys()?;
            }
            self.take_reports();
            if last_tick.elapsed() >= tick {
                last_tick = Instant::now();
                self.is_dirty = true;
            }
        }
        Terminal::leave();
        // The terminal is free before the control connection is closed.
        drop(self.feed.take());
        Ok(())
    }

    /// With sessions in the first frame it does not jump.
    fn wait_for_first_look(&mut self) {
        while !self.state.is_complete && !self.is_over {
            let left = FIRST_LOOK.saturating_sub(self.begun.elapsed());
            if left.is_zero() {
                return;
            }
            if wait(&self.inbox, left) {
                return;
            }
            self.take_reports();
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let state = &mut self.state;
        state.now = Timestamp::now();
        state.clock = Zoned::new(state.now, TimeZone::system()).strftime("%H:%M").to_string();
        state.size = Terminal::size();
        let mut next = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
        let cursor = view::draw(state, &mut next);
        self.terminal.show(next, cursor)
    }

    /// When the next age changes.
    fn tick(&self) -> Duration {
        let now = Timestamp::now();
        let is_young = |since: Timestamp| now.duration_since(since).as_secs() < 60;
        let mut since = self.state.rows.values().filter_map(|row| row.verdict.since);
        if since.any(is_young) || self.state.view.is_some() { TICK } else { SLOW_TICK }
    }

    fn read_keys(&mut self) -> io::Result<()> {
        while event::poll(Duration::ZERO)? {
            let intents = match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    keys::press(&mut self.state, Key::from(key))
                }
                Event::Paste(text) => {
                    keys::paste(&mut self.state, &text);
                    vec![]
                }
                _ => vec![],
            };
            self.is_dirty = true;
            for intent in intents {
                self.act(intent)?;
            }
        }
        Ok(())
    }

    fn take_reports(&mut self) {
        let pending = self.inbox.take();
        let state = &mut self.state;
        if let Some(looked_at) = pending.looked_at {
            state.looked_at = looked_at;
        }
        if let Some(Panes(panes)) = pending.panes {
            self.is_dirty |= state.panes != panes;
            state.panes = panes;
        }
        if let Some(Trouble(trouble)) = pending.trouble {
            self.is_dirty |= state.trouble != trouble;
            state.trouble = trouble;
        }
        self.is_dirty |= pending.is_complete && !state.is_complete;
        state.is_complete |= pending.is_complete;
        if !pending.rows.is_empty() {
            self.is_dirty = true;
            state.take_in(pending.rows);
        }
        if let Some((followed, screen)) = pending.screen {
            self.is_dirty = true;
            state.screen = Some(Screen { session: followed.session, lines: ansi::lines(&screen) });
        }
        if let Some(notice) = pending.notice {
            self.is_dirty = true;
            state.notice = Some(notice);
        }
        if let Some(questions) = pending.questions {
            self.is_dirty = true;
            state.question_at = state.question_at.min(questions.len().saturating_sub(1));
            state.questions = questions;
        }
        if let Some(page) = pending.page
            && Some(&page.of) == wanted_page(state).as_ref()
        {
            self.is_dirty |= state.page.as_ref() != Some(&page);
            state.page = Some(page);
        }
        if let (Some(folder), Mode::New(form)) = (pending.folder, &mut state.mode) {
            self.is_dirty = true;
            if form.field() == Field::Folder {
                form.values[form.at] = folder;
            }
        }
        for signal in pending.signals {
            self.signalled(signal);
        }
    }

    fn signalled(&mut self, signal: i32) {
        match signal {
            // crossterm has noted it too, and reports it before a key that comes with it; that key would wait for the next one.
            SIGWINCH => {
                self.is_dirty = true;
                self.read_keys().logged("read keys");
            }
            SIGTSTP => self.suspend(),
            // Somebody else may have used the terminal while we were stopped.
            SIGCONT => self.redraw(),
            signal if signals::ends(signal) => self.is_over = true,
            _ => {}
        }
    }

    fn redraw(&mut self) {
        self.terminal.forget();
        self.is_dirty = true;
    }

    /// Stops as a shell's job does, and takes the terminal back afterwards.
    fn suspend(&mut self) {
        Terminal::leave();
        kill_process(getpid(), Signal::STOP).logged("stop the dashboard");
        self.terminal.enter().logged("take the terminal");
        self.is_dirty = true;
    }

    /// Tells the feed which screen to follow, and reads the page that is open.
    fn follow(&mut self) {
        let state = &self.state;
        let shows_screen = state.view.is_none()
            && state.tab == Tab::Screen
            && (!state.is_small() || state.is_open);
        let followed = state
            .selected
            .clone()
            .filter(|_| shows_screen)
            .map(|session| Followed { session, history: (state.scroll > 0).then_some(HISTORY) });
        if let Some(feed) = &self.feed {
            feed.follow(followed);
        }
        let Some(wanted) = wanted_page(state) else {
            self.loaded = None;
            return;
        };
        let round = match state.tab {
            _ if state.view.is_some() => VIEW_ROUND,
            Tab::Diff => DIFF_ROUND,
            _ => TAB_ROUND,
        };
        let is_due = match &self.loaded {
            Some((of, at)) if *of == wanted => {
                // A tab is read again when its session moves, a view by the clock.
                let is_live = state.view.is_some() || self.is_dirty;
                is_live && at.elapsed() >= round
            }
            _ => true,
        };
        if is_due && !matches!(wanted, PageOf::View(View::Output)) {
            self.loaded = Some((wanted.clone(), Instant::now()));
            self.actions.start(move |actions| actions.load(wanted));
        }
    }

    fn act(&mut self, intent: Intent) -> io::Result<()> {
        match intent {
            Intent::Quit => self.is_over = true,
            Intent::Suspend => self.suspend(),
            Intent::Redraw => self.redraw(),
            Intent::Reload => self.loaded = None,
            Intent::Attach(session) => self.attach(&session)?,
            Intent::Looked(session) => {
                self.state.looked_at.insert(session.clone(), Timestamp::now());
                self.state.arrange();
                self.actions.start(move |actions| actions.looked(&session));
            }
            Intent::Answer { session, name, choice, dialog } => {
                self.actions.start(move |actions| actions.answer(&session, &name, choice, &dialog));
            }
            Intent::AnswerQuestion { number, option } => {
                self.loaded = None;
                self.actions.start(move |actions| {
                    actions.answer_question(number, option);
                    actions.load(PageOf::View(View::Questions));
                });
            }
            Intent::Send { to, text } => {
                self.actions.start(move |actions| actions.send(&to, &text));
            }
            Intent::Kill(sessions) => {
                self.state.say("killing …");
                self.actions.start(move |actions| actions.kill(&sessions));
            }
            Intent::Run { words, shows } => {
                self.actions.start(move |actions| actions.run(&words, shows));
            }
            Intent::CompleteFolder => {
                if let Mode::New(form) = &self.state.mode {
                    let typed = form.value(Field::Folder).to_owned();
                    self.actions.start(move |actions| actions.complete_folder(&typed));
                }
            }
        }
        Ok(())
    }

    /// Within the session's own tmux server the client moves there, and this dashboard stays where it is. Elsewhere tmux gets the
    /// terminal, until its user detaches.
    fn attach(&mut self, session: &SessionId) -> io::Result<()> {
        let context = &self.actions.context;
        let way = status::shown(context, session).and_then(|seen| {
            let message =
                ("#{prefix} L returns to dogwatch", "#{prefix} d detaches and returns to dogwatch");
            attach::way(context, &seen, self.options.around.as_deref(), Some(message))
        });
        let mut way = match way {
            Ok(way) => way,
            Err(error) => {
                self.state.complain(error.to_string());
                return Ok(());
            }
        };
        let failed = if way.is_switch {
            self.move_beside(session);
            way.tmux.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let status = way.tmux.status();
            self.is_over |= self.options.is_popup && status.as_ref().is_ok_and(ExitStatus::success);
            status
        } else {
            if let Some(feed) = &self.feed {
                feed.follow(None);
            }
            Terminal::leave();
            let status = way.tmux.status();
            self.terminal.enter()?;
            status
        };
        match failed {
            Ok(status) if status.success() => {
                self.state.looked_at.insert(session.clone(), Timestamp::now());
                self.state.arrange();
                let session = session.clone();
                self.actions.start(move |actions| actions.looked(&session));
            }
            Ok(_) => self.state.complain("tmux could not attach to it"),
            Err(error) => self.state.complain(format!("start tmux: {error}")),
        }
        self.is_dirty = true;
        Ok(())
    }
}

impl Dashboard {
    /// A sidebar goes along to the window of the session.
    fn move_beside(&self, session: &SessionId) {
        let context = &self.actions.context;
        let seen = status::shown(context, session).logged("look at a session");
        let (Some(me), Some(pane)) = (self.options.sidebar, seen.and_then(|seen| seen.pane_id()))
        else {
            return;
        };
        let windows = context.tmux.panes().logged("ask tmux").unwrap_or_default();
        let window_of =
            |pane| windows.iter().find(|row| row.pane_id == pane).map(|row| row.window_id);
        if window_of(me) != window_of(pane) {
            let columns = Terminal::size().0.to_string();
            let join = Command::new("join-pane")
                .flag('h')
                .flag('b')
                .flag('d')
                .flag('f')
                .option('l', columns)
                .option('s', me.to_string())
                .target(pane);
            context.tmux.run_one(join).logged("move the sidebar");
        }
    }
}

/// The page that is on display.
fn wanted_page(state: &State) -> Option<PageOf> {
    if let Some(view) = state.view {
        return Some(PageOf::View(view));
    }
    match state.tab {
        Tab::Screen | Tab::Why => None,
        tab => Some(PageOf::Tab(state.selected.clone()?, tab)),
    }
}

/// Waits for a key or a report; whether there is input. A terminal that is gone counts as input: reading it fails.
fn wait(inbox: &Inbox, at_most: Duration) -> bool {
    let stdin = rustix::stdio::stdin();
    let inbox = inbox.fd();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&inbox, PollFlags::IN)];
    let timeout = Timespec::try_from(at_most).ok();
    // A signal ends the wait early, and is reported by its own thread.
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => !fds[0].revents().is_empty(),
        Err(_) => false,
    }
}
