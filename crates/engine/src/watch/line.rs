//! The one connection to the tmux server, opened when there is something to watch and closed when there is not.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_tmux::control::{Control, Note};
use dogwatch_tmux::{PaneId, Server};

use crate::observe::changes::Waker;
use crate::observe::tmux_snapshot::TmuxSnapshot;

/// How long a server that cannot be reached is left alone.
const RETRY: Duration = Duration::from_secs(1);
/// A watcher has others to listen to: a server that hangs must not make it deaf for long.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Line {
    server: Server,
    waker: Waker,
    open: Option<Open>,
    tried: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    control: Control,
    notes: Receiver<Note>,
}

impl Line {
    pub(crate) fn new(server: &Server, waker: Waker) -> Self {
        let mut server = server.running_only();
        server.deadline = server.deadline.min(PATIENCE);
        Self { server, waker, open: None, tried: None }
    }

    /// What tmux has told since the last time, in one word: whether panes may have come or gone.
    pub(crate) fn has_news(&mut self) -> bool {
        let notes = self.open.iter().flat_map(|open| open.notes.try_iter());
        let mut news = false;
        for note in notes {
            news |=
                !matches!(note, Note::Output { .. } | Note::PaneModeChanged(_) | Note::Unknown(_));
        }
        news
    }

    /// All panes, by the connection if there is one or can be, else by a process.
    pub(crate) fn list(&mut self) -> Result<TmuxSnapshot, dogwatch_tmux::Error> {
        self.connect();
        let by_line = self
            .open
            .as_ref()
            .and_then(|open| TmuxSnapshot::by_line(&open.control).logged("ask tmux"));
        let sights = match by_line {
            Some(sights) => sights,
            None => TmuxSnapshot::by_process(&self.server, &[])?,
        };
        if sights.faces.is_empty() {
            // Our own hidden session would keep the server from ending with its last pane.
            self.open = None;
        }
        Ok(sights)
    }

    /// Looks at some panes again.
    pub(crate) fn refresh(
        &mut self,
        sights: &mut TmuxSnapshot,
        panes: &[PaneId],
    ) -> Result<(), dogwatch_tmux::Error> {
        if let Some(open) = &self.open
            && sights.refresh(&open.control, panes).is_ok()
        {
            return Ok(());
        }
        *sights = TmuxSnapshot::by_process(&self.server, panes)?;
        Ok(())
    }

    fn connect(&mut self) {
        let tried_lately = self.tried.is_some_and(|at| at.elapsed() < RETRY);
        if self.open.is_some() || tried_lately {
            return;
        }
        self.tried = Some(Instant::now());
        let Some((control, told)) = Control::open(&self.server).logged("open a control connection")
        else {
            return;
        };
        let (sender, notes) = mpsc::channel();
        let waker = self.waker.clone();
        // Ends with the connection, whose end of the channel it reads from.
        let pass_on = move || {
            for note in told {
                if sender.send(note).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        // Without a thread the panes are read by processes until the next try.
        if thread::Builder::new().name("tmux notes".to_owned()).spawn(pass_on).is_err() {
            return;
        }
        self.open = Some(Open { control, notes });
    }
}
