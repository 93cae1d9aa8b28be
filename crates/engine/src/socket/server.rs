//! The supervisor's end of its socket.
//!
//! One thread accepts, reads and writes; it waits for no program, and a program that does not read is sent away once too much waits for it.
//! Requests are answered by the supervisor's own thread, which is woken for them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::{Logged as _, LoggedIo as _};
use dogwatch_protocol::error::ErrorDetail;
use dogwatch_protocol::stream::{Greeting, Host, Outcome, Reply, Request, VERSIONS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::guest::{Gone, Guest, line};
use super::{Place, new_socket, view};
use crate::Context;

/// How many programs are talked to at a time.
const MOST_GUESTS: usize = 200;
/// How many may wait to be accepted.
const BACKLOG: i32 = 64;
/// How long none is accepted after that failed: there are no files to be had.
const PAUSE: Duration = Duration::from_secs(1);

/// A program at the socket. Never given twice.
pub(crate) type GuestId = u64;

/// What programs want.
#[derive(Debug)]
pub(crate) enum Event {
    /// A request, and the process that connected, as far as the kernel says it.
    Asked(GuestId, Option<i32>, Request),
    Left(GuestId),
}

pub(crate) struct Server {
    shared: Arc<Shared>,
    path: PathBuf,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes the socket's thread.
    bell: UnixStream,
    /// Wakes the supervisor.
    wake: Box<dyn Fn() + Send + Sync>,
    called: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    out: Vec<Out>,
    guests: usize,
}

#[derive(Debug)]
struct Out {
    to: GuestId,
    bytes: Arc<[u8]>,
    /// Nothing more comes of the request.
    is_last: bool,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Listens. Whoever calls has the supervisor's lock, so that what is at the socket's path is left by one that died. `called` is set and
    /// `wake` called when there are events.
    pub(crate) fn start(
        context: &Context,
        wake: impl Fn() + Send + Sync + 'static,
        called: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let place = Place::of(context);
        let (path, unready) = (place.path(), place.unready());
        match fs::remove_file(unready.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = new_socket()?;
        let (address, _folder) = unready.address()?;
        rustix::net::bind(&listener, &address)?;
        // Its folder is for the user alone, too.
        fs::set_permissions(unready.path(), Permissions::from_mode(0o600))?;
        rustix::net::listen(&listener, BACKLOG)?;
        // In the place of what one that died has left.
        fs::rename(unready.path(), &path)?;
        let (bell, wakes) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let shared =
            Arc::new(Shared { state: Mutex::default(), bell, wake: Box::new(wake), called });
        let greeting = Greeting {
            hello: Host {
                protocol: VERSIONS,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: rustix::process::getpid().as_raw_nonzero().get(),
                server: context.socket.clone(),
            },
        };
        let desk = Desk {
            listener,
            wakes,
            shared: Arc::clone(&shared),
            greeting: line(&greeting),
            view: view(context),
            guests: BTreeMap::new(),
            next: 0,
            deaf_until: None,
        };
        thread::Builder::new().name("socket".to_owned()).spawn(move || desk.run())?;
        Ok(Self { shared, path })
    }

    /// What programs have wanted since the last call.
    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.shared.lock().events)
    }

    /// How many programs are connected.
    pub(crate) fn guests(&self) -> usize {
        self.shared.lock().guests
    }

    /// Sends a program a line. Nothing happens if it has left.
    pub(crate) fn send(&self, to: GuestId, bytes: Arc<[u8]>, is_last: bool) {
        self.shared.lock().out.push(Out { to, bytes, is_last });
        // Full: it will be woken all the same.
        if let Err(error) = (&self.shared.bell).write(&[1])
            && error.kind() != io::ErrorKind::WouldBlock
        {
            Err::<(), _>(error).logged("wake a thread");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The lock is still held: nobody else listens there.
        fs::remove_file(&self.path).logged_unless_missing("remove the socket");
    }
}

/// The socket's own thread.
struct Desk {
    listener: OwnedFd,
    wakes: UnixStream,
    shared: Arc<Shared>,
    greeting: Vec<u8>,
    view: String,
    guests: BTreeMap<GuestId, Guest>,
    next: GuestId,
    deaf_until: Option<Instant>,
}

impl Desk {
    fn run(mut self) {
        // Ends with the process.
        loop {
            if let Err(error) = self.turn() {
                Err::<(), _>(error).logged("serve the socket");
                // sleep: what failed would fail again at once
                thread::sleep(PAUSE);
            }
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = Instant::now();
        self.deaf_until = self.deaf_until.filter(|until| *until > now);
        let wakes_at =
            self.guests.values().filter_map(Guest::deadline).chain(self.deaf_until).min();
        let timeout =
            wakes_at.map(|at| at.saturating_duration_since(now) + Duration::from_millis(1));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let listens = if self.deaf_until.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let mut fds = vec![
            PollFd::new(&self.wakes, PollFlags::IN),
            PollFd::from_borrowed_fd(self.listener.as_fd(), listens),
        ];
        fds.extend(self.guests.values().map(|one| PollFd::from_borrowed_fd(one.fd(), one.wants())));
        match poll(&mut fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            polled => polled?,
        };
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        let ids: Vec<GuestId> = self.guests.keys().copied().collect();
        for (id, ready) in ids.into_iter().zip(&ready[2..]) {
            self.attend(id, *ready);
        }
        if !ready[0].is_empty() {
            // Who rings again after this is heard in the next turn.
            let _ = self.wakes.read(&mut [0; 4096]).logged("take note of news");
            self.pass_on();
        }
        if ready[1].contains(PollFlags::IN) {
            self.accept(now);
        }
        let late = |one: &Guest| one.deadline().is_some_and(|at| at <= now);
        let late: Vec<GuestId> =
            self.guests.iter().filter(|(_, one)| late(one)).map(|(id, _)| *id).collect();
        for id in late {
            self.forget(id);
        }
        Ok(())
    }

    fn attend(&mut self, id: GuestId, ready: PollFlags) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        let was_introduced = guest.is_introduced();
        let attended = (|| -> Result<Vec<Request>, Gone> {
            if ready.intersects(PollFlags::ERR | PollFlags::NVAL) {
                return Err(Gone);
            }
            let mut found = Vec::new();
            if ready.contains(PollFlags::OUT) {
                guest.write()?;
                // Lines that waited until it had read its answers.
                found = guest.requests(&self.view);
            }
            if ready.intersects(PollFlags::IN | PollFlags::HUP) {
                found.extend(guest.read(&self.view)?);
                guest.write()?;
            }
            Ok(found)
        })();
        let is_new = guest.is_introduced() && !was_introduced;
        // Who has closed both ways hears no answer; `poll` would report it again and again.
        let has_closed = ready.contains(PollFlags::HUP) && guest.is_done();
        match attended {
            Ok(requests) => self.hand_over(id, requests, is_new),
            Err(Gone) => return self.forget(id),
        }
        if has_closed {
            self.forget(id);
        }
    }

    fn hand_over(&self, id: GuestId, requests: Vec<Request>, is_new: bool) {
        let process = self.guests.get(&id).and_then(Guest::process);
        if requests.is_empty() && !is_new {
            return;
        }
        let mut state = self.shared.lock();
        state.guests += usize::from(is_new);
        state.events.extend(requests.into_iter().map(|request| Event::Asked(id, process, request)));
        drop(state);
        self.call();
    }

    fn call(&self) {
        self.shared.called.store(true, Ordering::Release);
        (self.shared.wake)();
    }

    fn forget(&mut self, id: GuestId) {
        let Some(guest) = self.guests.remove(&id) else { return };
        if guest.is_introduced() {
            let mut state = self.shared.lock();
            state.guests = state.guests.saturating_sub(1);
            state.events.push(Event::Left(id));
            drop(state);
            self.call();
        }
    }

    /// Gives programs what the supervisor has for them.
    fn pass_on(&mut self) {
        let out = std::mem::take(&mut self.shared.lock().out);
        for Out { to, bytes, is_last } in out {
            let Some(guest) = self.guests.get_mut(&to) else { continue };
            match guest.push(&bytes, is_last) {
                Err(Gone) => self.forget(to),
                Ok(()) if is_last => {
                    // Lines that waited because too many were open.
                    let requests = guest.requests(&self.view);
                    self.hand_over(to, requests, false);
                }
                Ok(()) => {}
            }
        }
    }

    fn accept(&mut self, now: Instant) {
        loop {
            let accepted = rustix::net::accept(&self.listener);
            let stream = match accepted {
                Ok(stream) => stream,
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => continue,
                Err(error) => {
                    Err::<(), _>(error).logged("accept a program");
                    self.deaf_until = Some(now + PAUSE);
                    return;
                }
            };
            self.welcome(stream).logged("accept a program");
        }
    }

    fn welcome(&mut self, stream: OwnedFd) -> io::Result<()> {
        rustix::io::fcntl_setfd(&stream, rustix::io::FdFlags::CLOEXEC)?;
        let peer = peer(&stream)?;
        let mut stream = UnixStream::from(stream);
        stream.set_nonblocking(true)?;
        let mut refuse = |code: &str, message: &str| {
            let error = ErrorDetail { code: code.into(), message: message.into(), hint: None };
            // It takes one line, or it is not there any more.
            stream.write_all(&line(&Reply::<()> { id: None, is: Outcome::Error(error) }))
        };
        if !peer.is_same_user {
            return refuse("refused", "this socket is for one user alone");
        }
        if self.guests.len() >= MOST_GUESTS {
            return refuse("too_many", "too many programs are connected");
        }
        let mut guest = Guest::new(stream, peer.process, &self.greeting);
        if guest.write().is_ok() {
            self.next += 1;
            self.guests.insert(self.next, guest);
        }
        Ok(())
    }
}

/// Who is at the other end.
struct Peer {
    is_same_user: bool,
    process: Option<i32>,
}

/// The kernel says it; where it does not, the socket's folder keeps other users away.
fn peer(stream: &OwnedFd) -> io::Result<Peer> {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(stream)?;
        let is_same_user = peer.uid == rustix::process::geteuid();
        Ok(Peer { is_same_user, process: Some(peer.pid.as_raw_nonzero().get()) })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream;
        Ok(Peer { is_same_user: true, process: None })
    }
}
