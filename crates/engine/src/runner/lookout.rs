//! Starts `dogwatch notify follow` when the session may have something to report, if a `[[notify]]` table subscribes to it.
//!
//! The runner itself judges nothing and sends nothing: it waits for hooks, for output on its terminal and for the configuration to
//! change, and starts a short process. While nothing happens, it sleeps.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_base::program;
use dogwatch_core::notify::pace::{Looked, Pace};
use dogwatch_store::StateDir;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::kernel;
use crate::config;
use crate::observe::changes::{Changes, Interest, Waker};

/// Longest sleep, whatever is due: the configuration may be on a file system that tells nothing.
const LONGEST: Duration = Duration::from_mins(2);
/// After so long without anything to do, what was needed for it is given back.
const SETTLED: Duration = Duration::from_secs(5);
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to check files where the kernel does not report writes: those of a session that a table is about, else the
/// configuration.
const EVERY: Duration = Duration::from_millis(500);
const CONFIGURATION_EVERY: Duration = Duration::from_secs(10);
/// Most lookouts that have the kernel tell them. It does so 128 times for all programs of a user, and others need some of them.
const MOST_LISTENING: usize = 32;

/// When a file was last written, and how long it is. Of a terminal, the kernel moves the time every eight seconds.
type Print = Option<(i64, i64, u64)>;

/// Variables that make a process one of the session's own.
const OF_THE_AGENT: [&str; 3] = ["DOGWATCH_FAMILY", "DOGWATCH_SESSION", "AI_AGENT"];

/// The thread that waits for something to tell; it ends with the process, or on request.
#[derive(Debug)]
pub(super) struct Lookout {
    waker: Waker,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: StateDir,
    session: String,
    environment: Vec<(OsString, OsString)>,
    config: Option<PathBuf>,
    is_over: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stirred {
    News,
    Terminal,
    Configuration,
}

impl Lookout {
    /// Starts the thread. Without it, only a watcher sends notifications of this session.
    pub(super) fn start(
        state: &StateDir,
        session: &str,
        environment: &[(OsString, OsString)],
    ) -> Option<Self> {
        let shared = Arc::new(Shared {
            state: state.clone(),
            session: session.to_owned(),
            environment: environment.to_vec(),
            config: configuration(environment),
            is_over: AtomicBool::new(false),
        });
        let changes = Changes::deaf();
        let waker = changes.waker();
        let watched = Arc::clone(&shared);
        let watch = move || watched.watch(changes);
        let thread = thread::Builder::new().name("lookout".to_owned()).spawn(watch);
        thread.logged("start a thread or a program")?;
        Some(Self { waker, shared })
    }

    /// The agent has ended: no more looks.
    pub(super) fn close(&self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// The last look, by a process that outlives this one.
    pub(super) fn look_back(&self) {
        // The configuration may have changed in this moment.
        if !self.shared.wants_sessions() {
            return;
        }
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(None).logged("leave children to others");
        self.shared.start(Stdio::null(), None).logged("start a thread or a program");
    }
}

impl Shared {
    fn watch(&self, mut changes: Changes<Stirred>) {
        self.state.news();
        let mut interests =
            BTreeSet::from([(Interest::File(self.state.news_of(&self.session)), Stirred::News)]);
        interests
            .extend(self.config.clone().map(|file| (Interest::File(file), Stirred::Configuration)));
        if let Some(terminal) = terminal() {
            interests.insert((Interest::Terminal(terminal), Stirred::Terminal));
        }
        let begun = Instant::now();
        let mut pace = Pace::default();
        let (mut told, mut prints) = (None, Vec::new());
        let mut read = self.config_print();
        let mut is_wanted = self.wants_sessions();
        let mut has_worked = true;
        // Whether the kernel tells us, and when to ask for that again.
        let (mut place, mut ask_at) = (None, Duration::ZERO);
        if is_wanted {
            // For news from before this thread listened.
            pace.told(begun.elapsed());
        }
        while !self.is_over.load(Ordering::Relaxed) {
            let mut watched = interests.clone();
            // Output of an agent that no table is about need not wake us.
            watched.retain(|(_, what)| is_wanted || *what == Stirred::Configuration);
            let due = pace.due().filter(|_| is_wanted);
            let left = due.map_or(LONGEST, |due| due.saturating_sub(begun.elapsed())).min(LONGEST);
            let is_settling = has_worked && left > SETTLED;
            let left = if is_settling { SETTLED } else { left };
            if !is_wanted {
                (place, ask_at) = (None, Duration::ZERO);
            } else if place.is_none() && begun.elapsed() >= ask_at {
                place = self.listening_place();
                ask_at = begun.elapsed() + LONGEST;
            }
            changes.listen(place.is_some());
            let stirred = if changes.is_told() {
                changes.set(watched);
                changes.wait(left)
            } else {
                let every = if is_wanted { EVERY } else { CONFIGURATION_EVERY };
                self.look_around(&mut changes, &watched, &mut prints, left.min(every))
            };
            if is_settling && stirred.is_empty() {
                kernel::let_go_of_code();
                has_worked = false;
                continue;
            }
            let now = begun.elapsed();
            for what in &stirred {
                match what {
                    Stirred::News => pace.told(now),
                    Stirred::Terminal => pace.moved(now),
                    Stirred::Configuration => {}
                }
            }
            let may_differ = stirred.contains(&Stirred::Configuration)
                || (stirred.is_empty() && due.is_none() && self.config_print() != read);
            if may_differ {
                has_worked = true;
                read = self.config_print();
                let wants = self.wants_sessions();
                if wants && !is_wanted {
                    pace.told(now);
                }
                is_wanted = wants;
            }
            if is_wanted && pace.due().is_some_and(|due| due <= begun.elapsed()) {
                has_worked = true;
                let found = self.look(told);
                told = found.and_then(|found| found.told);
                pace.looked(begun.elapsed(), found);
            }
            if stirred.contains(&Stirred::Terminal) {
                // sleep: an agent that draws many times a second would wake us as often
                thread::sleep(Duration::from_millis(60));
            }
        }
    }

    /// What has changed since the last time, where the kernel does not report it: polled.
    fn look_around(
        &self,
        changes: &mut Changes<Stirred>,
        watched: &BTreeSet<(Interest, Stirred)>,
        prints: &mut Vec<(Stirred, Print)>,
        at_most: Duration,
    ) -> BTreeSet<Stirred> {
        let until = Instant::now() + at_most;
        while Instant::now() < until && !self.is_over.load(Ordering::Relaxed) {
            changes.wait(until.saturating_duration_since(Instant::now()));
        }
        let print = |(interest, what): &(Interest, Stirred)| match interest {
            Interest::File(path) | Interest::Terminal(path) => Some((*what, print(path))),
            Interest::End(_) => None,
        };
        let now: Vec<_> = watched.iter().filter_map(print).collect();
        let before = std::mem::replace(prints, now);
        let is_new = |one: &&(Stirred, Print)| !before.contains(one);
        prints.iter().filter(is_new).map(|(what, _)| *what).collect()
    }

    /// One of the few places of those whom the kernel tells of files; free again when it is dropped, or its process ends.
    fn listening_place(&self) -> Option<File> {
        let folder = self.state.lookouts();
        let take = |number: usize| {
            let path = folder.join(number.to_string());
            let file =
                File::options().create(true).append(true).open(path).logged("open a file")?;
            file.try_lock().is_ok().then_some(file)
        };
        (0..MOST_LISTENING).find_map(take)
    }

    fn config_print(&self) -> Print {
        print(self.config.as_deref()?)
    }

    fn wants_sessions(&self) -> bool {
        let rules = self.config.as_deref().map(config::read_file);
        let rules = rules.and_then(|read| read.logged("read the configuration"));
        rules.is_some_and(|config| {
            config.notify_rules().iter().any(dogwatch_core::notify::Rule::is_about_sessions)
        })
    }

    /// Starts a process that looks; `None` if that failed.
    fn look(&self, told: Option<u64>) -> Option<Looked> {
        let mut child = self.start(Stdio::piped(), told).logged("start a thread or a program")?;
        let mut out = child.stdout.take()?;
        // The thread that waits for the agent collects the child.
        let deadline = Instant::now() + PATIENCE;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&out, PollFlags::IN)];
            let ready = poll(&mut fds, Timespec::try_from(left).ok().as_ref());
            if !ready.is_ok_and(|count| count > 0) {
                return None;
            }
            let mut part = [0; 64];
            match out.read(&mut part).logged("read what a look found")? {
                0 => break,
                length => line.extend_from_slice(&part[..length]),
            }
        }
        Looked::parse(&String::from_utf8_lossy(&line))
    }

    /// In a process group of its own, without the terminal, and in the environment that the session was started in: there are the
    /// address of the desktop and the tokens of channels.
    fn start(&self, out: Stdio, told: Option<u64>) -> std::io::Result<Child> {
        let tmux = std::env::var("TMUX").unwrap_or_default();
        let socket = tmux.split(',').next().unwrap_or_default();
        let mut command = Command::new(program::own()?);
        command.env_clear().envs(self.environment.iter().map(|(key, value)| (key, value)));
        for name in OF_THE_AGENT {
            command.env_remove(name);
        }
        command.arg("--state-dir").arg(self.state.root());
        command.arg("--socket").arg(socket).args(["notify", "follow", &self.session]);
        if let Some(told) = told {
            command.args(["--told", &told.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        command.process_group(0).spawn()
    }
}

/// The configuration file of whoever started the session.
fn configuration(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let value = |name: &str| {
        let found = environment.iter().find(|(key, _)| key == OsStr::new(name));
        found.map(|(_, value)| Path::new(value)).filter(|value| !value.as_os_str().is_empty())
    };
    let folder = value("XDG_CONFIG_HOME").map(Path::to_owned);
    let folder = folder.or_else(|| value("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("dogwatch/config.toml"))
}

/// Our own terminal, which is the agent's.
fn terminal() -> Option<PathBuf> {
    let name = rustix::termios::ttyname(std::io::stdin(), Vec::new()).logged("name a terminal")?;
    Some(PathBuf::from(OsString::from(name.to_string_lossy().into_owned())))
}

fn print(path: &Path) -> Print {
    let about = std::fs::metadata(path).logged_unless_missing("look at a file")?;
    Some((about.mtime(), about.mtime_nsec(), about.len()))
}
