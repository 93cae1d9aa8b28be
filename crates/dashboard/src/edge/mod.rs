//! The edges: terminal, watcher, actions, signals; and the loop that holds them together. One thread draws; it waits for keys and for
//! the reports of the others, and never for tmux or the disk.

mod actions;
mod ansi;
mod attach;
mod busy;
mod feed;
mod inbox;
mod pages;
mod paint;
mod quit;
mod signals;
mod terminal;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyEvent, KeyEventKind, MouseButton, MouseEventKind};
use dogwatch_base::log::Logged as _;
use dogwatch_engine::observe::agents;
use dogwatch_engine::watch::Followed;
use dogwatch_engine::{Context, Error};
use dogwatch_protocol::id::SessionId;
use dogwatch_tmux::PaneId;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};

use crate::keys::{self, Intent, Mouse};
use crate::model::{Around, Field, Mode, PageOf, Screen, State, Tab, View};
use crate::view;
use actions::Actions;
use busy::{Busy, Commands};
use feed::Feed;
use inbox::{Inbox, Panes, Trouble};
use quit::Leaving;
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

/// Frames for what others report come at least so far apart; a key is answered at once.
const FRAME: Duration = Duration::from_millis(25);

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
    /// The client of tmux whose popup this is: it ends after attaching, and would stay over the session otherwise.
    pub popup: Option<String>,
    /// Take clicks and the wheel. The terminal then selects no text by itself.
    pub has_mouse: bool,
    /// Our own pane, if it moves along to the session that is attached.
    pub sidebar: Option<PaneId>,
}

/// Shows the dashboard until the user quits.
pub fn run(context: &Context, options: Options) -> Result<(), Error> {
    let inbox = Inbox::new().map_err(Error::io("make a pipe"))?;
    let feed = Feed::start(context, &inbox)?;
    let _alive = signals::listen(&inbox)?;
    let terminal = Terminal::open(options.has_mouse).map_err(Error::io("draw on the terminal"))?;
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
    let actions = Actions {
        context: context.clone(),
        inbox: inbox.clone(),
        busy: Busy::default(),
        commands: Commands::default(),
    };
    let dashboard = Dashboard {
        options,
        inbox,
        feed: Some(feed),
        terminal,
        state,
        actions,
        loaded: None,
        is_dirty: true,
        drawn: None,
        is_over: false,
        leaving: Leaving::No,
        begun: Instant::now(),
    };
    dashboard.run().map_err(Error::io("draw on the terminal"))
}

/// A page that was asked for.
struct Loaded {
    of: PageOf,
    at: Instant,
    is_read: Arc<AtomicBool>,
}

struct Dashboard {
    options: Options,
    inbox: Inbox,
    feed: Option<Feed>,
    terminal: Terminal,
    state: State,
    actions: Actions,
    /// The page that was last asked for.
    loaded: Option<Loaded>,
    is_dirty: bool,
    /// When the last frame was drawn, unless a key was pressed since.
    drawn: Option<Instant>,
    is_over: bool,
    leaving: Leaving,
    begun: Instant,
}

impl Dashboard {
    fn run(mut self) -> io::Result<()> {
        self.wait_for_first_look();
        let mut last_tick = Instant::now();
        while !self.is_over {
            self.follow();
            let is_early =
                self.drawn.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
            if self.is_dirty && is_early.is_zero() && Terminal::is_ours() {
                self.is_dirty = false;
                self.draw()?;
                self.drawn = Some(Instant::now());
            }
            let tick = self.tick();
            let mut left = tick.saturating_sub(last_tick.elapsed());
            if let Some(at_most) = self.leave_if_done() {
                left = left.min(at_most);
            }
            if self.is_over {
                break;
            }
            let has_input =
                wait(&self.inbox, if self.is_dirty { left.min(is_early) } else { left });
            if has_input {
                self.read_keys()?;
            }
            self.take_reports();
            if last_tick.elapsed() >= tick {
                last_tick = Instant::now();
                self.is_dirty = true;
            }
        }
        self.leave();
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
        if let Some(most) = view::most_scroll(state) {
            state.scroll = state.scroll.min(most);
        }
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
        let mut read = Vec::new();
        while event::poll(Duration::ZERO)? {
            read.push(event::read()?);
        }
        let mut pressed = Vec::new();
        for event in read {
            if let Event::Key(key) = event {
                if key.kind != KeyEventKind::Release {
                    pressed.push(key);
                }
                continue;
            }
            self.press(&std::mem::take(&mut pressed))?;
            let intents = match event {
                Event::Paste(text) => {
                    keys::paste(&mut self.state, &text);
                    vec![]
                }
                Event::Mouse(mouse) => {
                    let what = match mouse.kind {
                        MouseEventKind::Down(MouseButton::Left) => Mouse::Click,
                        MouseEventKind::ScrollUp => Mouse::Up,
                        MouseEventKind::ScrollDown => Mouse::Down,
                        _ => continue,
                    };
                    let at = view::hit(&self.state, mouse.row);
                    keys::mouse(&mut self.state, at, what)
                }
                _ => vec![],
            };
            self.act_on(intents)?;
        }
        self.press(&pressed)
    }

    fn press(&mut self, read: &[KeyEvent]) -> io::Result<()> {
        for key in keys::together(read) {
            let intents = keys::press(&mut self.state, key);
            if !intents.contains(&Intent::Quit) {
                self.leaving = Leaving::No;
            }
            self.act_on(intents)?;
        }
        Ok(())
    }

    fn act_on(&mut self, intents: Vec<Intent>) -> io::Result<()> {
        (self.is_dirty, self.drawn) = (true, None);
        intents.into_iter().try_for_each(|intent| self.act(intent))
    }

    fn take_reports(&mut self) {
        let pending = self.inbox.take();
        let state = &mut self.state;
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
        if let Some(looked_at) = pending.looked_at {
            self.is_dirty = true;
            state.take_looks(looked_at);
        }
        if let Some((followed, screen)) = pending.screen {
            self.is_dirty = true;
            let (session, has_history) = (followed.session, followed.history.is_some());
            state.screen = Some(Screen { session, lines: ansi::lines(&screen), has_history });
        }
        if let Some(notice) = pending.notice {
            self.is_dirty = true;
            state.notice = Some(notice);
        }
        if let Some(questions) = pending.questions {
            self.is_dirty = true;
            state.take_questions(questions);
        }
        if let Some(page) = pending.page
            && Some(&page.of) == wanted_page(state).as_ref()
        {
            self.is_dirty |= state.page.as_ref() != Some(&page);
            state.page = Some(page);
        }
        for printed in pending.printed {
            self.is_dirty = true;
            state.take_output(printed);
        }
        for (session, text) in pending.drafts {
            state.drafts.entry(vec![session]).or_insert(text);
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
            // Another program may have used the terminal, or changed it, while we were stopped.
            SIGCONT => self.take_terminal(),
            signal if signals::ends(signal) => self.is_over = true,
            _ => {}
        }
    }

    fn redraw(&mut self) {
        self.terminal.forget();
        self.is_dirty = true;
    }

    fn take_terminal(&mut self) {
        Terminal::leave();
        self.terminal.enter().logged("take the terminal");
        (self.is_dirty, self.drawn) = (true, None);
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
            Some(loaded) if loaded.of == wanted => {
                // A tab is read again when its session moves, a view by the clock; neither before it was read.
                let is_live = state.view.is_some() || self.is_dirty;
                is_live && loaded.at.elapsed() >= round && loaded.is_read.load(Ordering::Acquire)
            }
            _ => true,
        };
        if is_due && !matches!(wanted, PageOf::View(View::Output)) {
            let is_read = Arc::new(AtomicBool::new(false));
            let loaded =
                Loaded { of: wanted.clone(), at: Instant::now(), is_read: is_read.clone() };
            self.loaded = Some(loaded);
            self.actions.aside(move |actions| {
                actions.load(wanted);
                is_read.store(true, Ordering::Release);
            });
        }
    }

    fn act(&mut self, intent: Intent) -> io::Result<()> {
        match intent {
            Intent::Quit => self.quit(),
            Intent::Suspend => self.suspend(),
            Intent::Redraw => self.redraw(),
            Intent::Reload => self.loaded = None,
            Intent::Attach(session) => self.attach(&session)?,
            Intent::Looked(session) => {
                self.state.looked_at.insert(session.clone(), Timestamp::now());
                self.state.arrange();
                self.actions.start("noting a look", move |actions| actions.looked(&session));
            }
            Intent::Answer { session, name, choice, dialog } => {
                let what = format!("answering {name}");
                let answer =
                    move |actions: &Actions| actions.answer(&session, &name, choice, &dialog);
                self.actions.start(what, answer);
            }
            Intent::AnswerQuestion { number, option } => {
                self.loaded = None;
                let what = format!("answering question {number}");
                self.actions.start(what, move |actions| {
                    actions.answer_question(number, option);
                    actions.load(PageOf::View(View::Questions));
                });
            }
            Intent::Send { to, text } => {
                let what = format!("sending to {}", names(&to));
                self.actions.start(what, move |actions| actions.send(&to, &text));
            }
            Intent::Kill(sessions) => {
                self.state.say("killing …");
                let what = format!("killing {}", names(&sessions));
                self.actions.start(what, move |actions| actions.kill(&sessions));
            }
            Intent::Resume(sessions) => {
                self.state.say("resuming …");
                let what = format!("resuming {}", names(&sessions));
                self.actions.start(what, move |actions| actions.resume(&sessions));
            }
            Intent::Run(lines) => {
                let verb = lines.first().and_then(|words| words.first());
                let what = format!("dogwatch {}", verb.map(String::as_str).unwrap_or_default());
                self.actions.start(what, move |actions| actions.run(&lines));
            }
            Intent::Show(words) => {
                let (number, title) = (self.state.output.number, self.state.output.title.clone());
                self.actions.commands.add(number, title.clone());
                self.actions.aside(move |actions| actions.show(number, title, &words));
            }
            Intent::Cancel => self.actions.commands.cancel(self.state.output.number),
            Intent::CompleteFolder => {
                if let Mode::New(form) = &self.state.mode {
                    let typed = form.value(Field::Folder).to_owned();
                    self.actions.aside(move |actions| actions.complete_folder(&typed));
                }
            }
        }
        Ok(())
    }
}

fn names(sessions: &[(SessionId, String)]) -> String {
    let names: Vec<&str> = sessions.iter().map(|(_, name)| name.as_str()).collect();
    names.join(", ")
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
