//! The thread of a control client: it reads events, and reconnects when the connection is lost.

use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use rustix::event::{PollFd, PollFlags, poll};

use super::Note;
use super::client::Shared;
use super::link::{Heard, Inlet, Link};
use super::pending::Answer;
use super::proto::Event;
use crate::process::timespec;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Without a server, one attempt is a process of about 2 ms.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    pub(super) closing: PipeReader,
    pub(super) notes: Sender<Note>,
}

impl Supervisor {
    pub(super) fn run(self, inlet: Inlet) {
        let mut inlet = Some(inlet);
        while let Some(open) = inlet {
            let lost = self.listen(open);
            self.shared.disconnect();
            let Some(reason) = lost else {
                return;
            };
            self.send(Note::Disconnected { reason });
            inlet = self.reconnect();
            if inlet.is_some() {
                self.send(Note::Reconnected);
            }
        }
    }

    /// Serves one connection to its end: why it was lost, or `None` when the owner closes it.
    fn listen(&self, mut inlet: Inlet) -> Option<String> {
        loop {
            match inlet.next(&self.closing, None) {
                Ok(Heard::Event(Event::Reply { ours: true, ok, body })) => {
                    self.shared.answer(Answer { ok, body });
                }
                // A hook's command.
                Ok(Heard::Event(Event::Reply { ours: false, .. })) => {}
                Ok(Heard::Event(Event::Note(note))) => self.take_note(note),
                Ok(Heard::Event(Event::Exit { reason })) => return self.unless_closing(reason),
                Ok(Heard::End | Heard::Late) => return self.unless_closing(String::new()),
                Ok(Heard::Closing) => return None,
                Err(error) => return self.unless_closing(error.to_string()),
            }
        }
    }

    fn take_note(&self, note: Note) {
        if let Note::SessionChanged { name, .. } = &note
            && !self.shared.is_closing()
        {
            // A failure means that the connection is gone, which the next read reports.
            self.shared.stay_anchored(name).logged("ask tmux");
        }
        self.send(note);
    }

    fn unless_closing(&self, reason: String) -> Option<String> {
        (!self.shared.is_closing()).then_some(reason)
    }

    fn reconnect(&self) -> Option<Inlet> {
        let mut pause = FIRST_PAUSE;
        while self.keeps_open_for(pause) {
            let link = Link::open(&self.shared.server, &self.shared.anchor, &self.closing);
            if let Some(Link { outlet, inlet }) = link.logged("connect to tmux again") {
                self.shared.connect(outlet);
                return Some(inlet);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        None
    }

    /// False as soon as the owner closes.
    fn keeps_open_for(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::from_borrowed_fd(self.closing.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timespec(left))) {
                Ok(0) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// The receiver may be dropped: then the caller does not want notes.
    fn send(&self, note: Note) {
        let _ = self.notes.send(note);
    }
}
