//! inotify for writes, pidfds for ends, an eventfd for our own threads.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_core::record::ProcessIdent;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Interest;
use crate::observe::processes;

/// A burst of writes is waited out this long, so that one change is not judged five times.
const BURST: Duration = Duration::from_millis(5);

/// How often to check files if the kernel does not report writes.
const PACE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Kernel {
    /// When files were last written to, if the kernel does not tell of them.
    written: BTreeMap<PathBuf, Option<SystemTime>>,
    writes: Option<OwnedFd>,
    /// Watched folders and terminals by the kernel's number.
    places: BTreeMap<i32, PathBuf>,
    /// Those that could not be watched, perhaps because they do not exist yet.
    missing: BTreeSet<PathBuf>,
    /// `None` for a process that has ended: its handle would report for ever.
    ends: BTreeMap<ProcessIdent, Option<OwnedFd>>,
    /// Processes that had ended before they could be watched: the next wait reports them.
    late: BTreeSet<ProcessIdent>,
    bell: Option<Arc<OwnedFd>>,
}

/// Wakes a wait from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Option<Arc<OwnedFd>>);

impl Waker {
    pub fn wake(&self) {
        if let Some(bell) = &self.0 {
            rustix::io::write(bell, &1_u64.to_ne_bytes()).logged("wake a thread");
        }
    }
}

/// What stirred.
#[derive(Debug, Default)]
pub(super) struct Stirred {
    files: BTreeSet<PathBuf>,
    terminals: BTreeSet<PathBuf>,
    ends: BTreeSet<ProcessIdent>,
    /// The kernel lost count: anything may have been written.
    all_writes: bool,
}

impl Stirred {
    pub(super) fn has(&self, interest: &Interest) -> bool {
        match interest {
            Interest::File(path) => self.all_writes || self.files.contains(path),
            Interest::Terminal(path) => self.all_writes || self.terminals.contains(path),
            Interest::End(process) => self.ends.contains(process),
        }
    }
}

impl Kernel {
    pub(super) fn new() -> Self {
        // A user has 128 of these, and they may all be taken: then we poll the files.
        let writes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        Self { writes: writes.logged("watch files"), ..Self::deaf() }
    }

    pub(super) fn deaf() -> Self {
        Self {
            written: BTreeMap::new(),
            writes: None,
            places: BTreeMap::new(),
            missing: BTreeSet::new(),
            ends: BTreeMap::new(),
            late: BTreeSet::new(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .logged("make an event")
                .map(Arc::new),
        }
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(self.bell.clone())
    }

    pub(super) fn set_waker(&mut self, waker: Waker) {
        self.bell = waker.0;
    }

    pub(super) fn is_told(&self) -> bool {
        self.writes.is_some()
    }

    /// Whether everything that was asked for is watched.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    pub(super) fn watch<'a>(&mut self, interests: impl Iterator<Item = &'a Interest>) {
        let (mut places, mut processes) = (BTreeMap::new(), BTreeSet::new());
        let before = std::mem::take(&mut self.written);
        for interest in interests {
            match interest {
                Interest::File(path) => {
                    if self.writes.is_none() {
                        let at = before.get(path).copied().unwrap_or_else(|| written(path));
                        self.written.insert(path.clone(), at);
                    }
                    places.insert(path.parent().unwrap_or(path), folder_kinds());
                }
                Interest::Terminal(path) => {
                    places.insert(path.as_path(), WatchFlags::MODIFY);
                }
                Interest::End(process) => {
                    processes.insert(*process);
                }
            }
        }
        self.watch_places(&places);
        self.ends.retain(|process, _| processes.contains(process));
        for process in processes {
            if !self.ends.contains_key(&process) {
                self.watch_end(process);
            }
        }
    }

    fn watch_end(&mut self, process: ProcessIdent) {
        let pid = Pid::from_raw(process.pid);
        let handle =
            pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).logged("watch a process"));
        // Asked after the handle is held: it may be of another process that was given the same pid.
        let lives = processes::is_alive(process);
        if !lives {
            self.late.insert(process);
        }
        self.ends.insert(process, handle.filter(|_| lives));
    }

    fn watch_places(&mut self, wanted: &BTreeMap<&Path, WatchFlags>) {
        let Some(writes) = &self.writes else { return };
        let unwanted = self.places.iter().filter(|(_, path)| !wanted.contains_key(path.as_path()));
        for number in unwanted.map(|(number, _)| *number).collect::<Vec<_>>() {
            inotify::remove_watch(writes, number).logged("stop watching a file");
            self.places.remove(&number);
        }
        let watched: BTreeSet<PathBuf> = self.places.values().cloned().collect();
        self.missing.clear();
        for (path, kinds) in wanted.iter().filter(|(path, _)| !watched.contains(**path)) {
            match inotify::add_watch(writes, *path, *kinds) {
                Ok(number) => {
                    self.places.insert(number, path.to_path_buf());
                }
                Err(_) => {
                    self.missing.insert(path.to_path_buf());
                }
            }
        }
    }

    pub(super) fn wait(&mut self, at_most: Duration) -> Stirred {
        let at_most = if self.late.is_empty() { at_most } else { Duration::ZERO };
        // Without the kernel's word, whoever waits longer for a file is woken without a reason.
        let at_most = if self.written.is_empty() { at_most } else { at_most.min(PACE) };
        let timeout = Timespec::try_from(at_most).ok();
        let mut fds: Vec<PollFd<'_>> = self
            .writes
            .iter()
            .chain(self.bell.as_deref())
            .chain(self.ends.values().flatten())
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        let ready = poll(&mut fds, timeout.as_ref()).unwrap_or(0);
        let mut stirred = Stirred { ends: std::mem::take(&mut self.late), ..Stirred::default() };
        for (path, at) in &mut self.written {
            let now = written(path);
            if std::mem::replace(at, now) != now {
                stirred.files.insert(path.clone());
            }
        }
        if ready == 0 {
            return stirred;
        }
        if self.has_rung() {
            // Whoever wakes us wants something now.
            if let Some(bell) = &self.bell {
                rustix::io::read(bell, &mut [0_u8; 8]).logged("take note of news");
            }
        } else if !at_most.is_zero() {
            // sleep: see BURST.
            std::thread::sleep(BURST);
        }
        self.take_ends(&mut stirred);
        self.take_writes(&mut stirred);
        stirred
    }

    fn has_rung(&self) -> bool {
        let Some(bell) = &self.bell else { return false };
        let mut fds = [PollFd::new(bell, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap_or(0) > 0
    }

    fn take_ends(&mut self, stirred: &mut Stirred) {
        for (process, handle) in &mut self.ends {
            let Some(open) = handle else { continue };
            let mut fds = [PollFd::new(open, PollFlags::IN)];
            if poll(&mut fds, Some(&Timespec::default())).unwrap_or(0) > 0 {
                *handle = None;
                stirred.ends.insert(*process);
            }
        }
    }

    fn take_writes(&mut self, stirred: &mut Stirred) {
        let Some(writes) = &self.writes else { return };
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut events = inotify::Reader::new(writes, &mut buffer);
        // Ends with an error when there is nothing more to read.
        while let Ok(event) = events.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                stirred.all_writes = true;
            }
            let Some(place) = self.places.get(&event.wd()) else { continue };
            match event.file_name() {
                Some(name) => {
                    stirred.files.insert(place.join(OsStr::from_bytes(name.to_bytes())));
                }
                None => {
                    stirred.terminals.insert(place.clone());
                }
            }
            // The folder or terminal is gone, and its number with it.
            if event.events().contains(ReadFlags::IGNORED)
                && let Some(gone) = self.places.remove(&event.wd())
            {
                self.missing.insert(gone);
            }
        }
    }
}

fn folder_kinds() -> WatchFlags {
    WatchFlags::MODIFY
        | WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::ONLYDIR
}

/// When a file was last written to; `None` if it does not exist.
fn written(path: &Path) -> Option<SystemTime> {
    let meta = std::fs::metadata(path).logged_unless_missing("look at a file")?;
    meta.modified().logged("read when a file was changed")
}
