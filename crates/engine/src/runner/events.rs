//! What can happen to a runner, from three sources, in one queue.
//!
//! The threads that an agent cannot do without are started before it is, so that a machine out of threads means a session
//! that does not start, with the reason, and never one that no thread waits for.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use dogwatch_base::log::Logged as _;
use dogwatch_core::record::Exit;
use dogwatch_core::runner::{Event, Order};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, WaitOptions, WaitStatus, wait};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::job::ChildPid;

#[derive(Debug)]
pub(super) enum Happened {
    Event(Event),
    /// The agent was stopped because it used the terminal before it had it.
    WantsTerminal,
    /// Something that the agent left behind, and that we inherited, has ended.
    ChildGone,
}

/// Turns signals into orders, as long as the process lives.
pub(super) fn listen_for_orders(sender: Sender<Happened>) -> io::Result<()> {
    // INT and TSTP come from the keyboard while the runner itself has the terminal: caught so that
    // they do nothing.
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGQUIT, SIGINT, SIGTSTP])?;
    let listen = move || {
        for signal in signals.forever() {
            let told = |order| Happened::Event(Event::Told(order));
            let happened = match signal {
                SIGHUP => told(Order::HangUp),
                SIGTERM => told(Order::End),
                SIGQUIT => told(Order::Kill),
                _ => continue,
            };
            if sender.send(happened).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("orders".to_owned()).spawn(listen).map(drop)
}

/// The thread that waits for children: for the agent, and once it has ended for all that it left behind.
///
/// In between it rests, because the runner then starts a child of its own, to keep the last screen, whose
/// end is not for this thread to collect.
#[derive(Debug)]
pub(super) struct Waiter {
    next: Sender<Task>,
}

#[derive(Debug)]
enum Task {
    Agent(ChildPid),
    Leftovers,
}

impl Waiter {
    pub(super) fn start(sender: Sender<Happened>) -> io::Result<Self> {
        let (next, tasks) = mpsc::channel();
        let work = move || work(&tasks, &sender);
        thread::Builder::new().name("children".to_owned()).spawn(work)?;
        Ok(Self { next })
    }

    /// Waits for the agent's end, and meanwhile for all that is inherited from it.
    pub(super) fn watch_agent(&self, agent: ChildPid) {
        let _ = self.next.send(Task::Agent(agent));
    }

    /// Waits for all that the agent left behind, until there is nothing left to wait for.
    pub(super) fn watch_leftovers(&self) {
        let _ = self.next.send(Task::Leftovers);
    }
}

fn work(tasks: &Receiver<Task>, sender: &Sender<Happened>) {
    for task in tasks {
        match task {
            Task::Agent(agent) => watch_agent(agent, sender),
            Task::Leftovers => watch_leftovers(sender),
        }
    }
}

fn watch_agent(agent: ChildPid, sender: &Sender<Happened>) {
    loop {
        let happened = match wait(WaitOptions::UNTRACED | WaitOptions::CONTINUED) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == agent.as_raw_pid() => {
                of_the_agent(status)
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => None,
            Err(_) => return,
        };
        let Some(happened) = happened else { continue };
        let is_last = matches!(happened, Happened::Event(Event::Ended(_)));
        if sender.send(happened).is_err() || is_last {
            return;
        }
    }
}

fn watch_leftovers(sender: &Sender<Happened>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if sender.send(Happened::ChildGone).is_err() {
            return;
        }
    }
}

fn of_the_agent(status: WaitStatus) -> Option<Happened> {
    if let Some(signal) = status.stopping_signal() {
        let wants_terminal = [Signal::TTIN, Signal::TTOU].iter().any(|s| s.as_raw() == signal);
        return Some(if wants_terminal {
            Happened::WantsTerminal
        } else {
            Happened::Event(Event::Stopped)
        });
    }
    let event = if status.continued() {
        Event::Continued
    } else if let Some(code) = status.exit_status() {
        Event::Ended(Exit::Code(code))
    } else {
        Event::Ended(Exit::Signal(status.terminating_signal()?))
    };
    Some(Happened::Event(event))
}

/// Reads one line from the terminal while the runner has it. What is typed after it may be for the
/// agent, so nothing more is read before it is clear what the line meant. Dropping it stops the reading.
#[derive(Debug)]
pub(super) struct LineReader {
    /// The reader's end of this pipe hangs up when we drop ours.
    _stop: OwnedFd,
}

impl LineReader {
    pub(super) fn start(sender: Sender<Happened>) -> Option<Self> {
        let (stopped, stop) = rustix::pipe::pipe().logged("make a pipe")?;
        let read = move || {
            if let Some(line) = next_line(&stopped) {
                let _ = sender.send(Happened::Event(Event::Typed(line)));
            }
        };
        thread::Builder::new()
            .name("line".to_owned())
            .spawn(read)
            .logged("start a thread or a program")?;
        Some(Self { _stop: stop })
    }
}

/// The next line, or `None` when reading is to stop. The terminal is in line mode, so what is there
/// to read is a whole line.
fn next_line(stopped: &OwnedFd) -> Option<String> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    if !fds[1].revents().is_empty() {
        return None;
    }
    let mut line = [0; 1024];
    match rustix::io::read(&stdin, &mut line).logged("read from the terminal")? {
        // Ctrl-D: no line, but no reason to stop listening either.
        0 => Some("\u{4}".to_owned()),
        length => Some(String::from_utf8_lossy(&line[..length]).into_owned()),
    }
}
