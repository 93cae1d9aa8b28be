//! The control connection to the tmux server: open only while there are sessions to watch.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_tmux::control::{Control, Note};
use dogwatch_tmux::{Command, PaneId, Reply, Server};

use super::labels;
use crate::observe::changes::Waker;
use crate::observe::tmux_snapshot::TmuxSnapshot;

/// Pause before another attempt to connect.
const RETRY: Duration = Duration::from_secs(1);
/// Short, because a tmux that hangs blocks the watcher's other sources too.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Line {
    server: Server,
    waker: Waker,
    open: Option<Open>,
    tried: Option<Instant>,
    is_wanted: bool,
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
        Self { server, waker, open: None, tried: None, is_wanted: true }
    }

    /// Whether the connection is worth a client in the user's server. Without it, tmux processes answer.
    pub(crate) fn want(&mut self, wanted: bool) {
        self.is_wanted = wanted;
        if !wanted {
            self.open = None;
        }
    }

    /// Whether tmux reported since the last call that panes may have come or gone.
    pub(crate) fn has_news(&mut self) -> bool {
        let notes = self.open.iter().flat_map(|open| open.notes.try_iter());
        let mut news = false;
        for note in notes {
            news |=
                !matches!(note, Note::Output { .. } | Note::PaneModeChanged(_) | Note::Unknown(_));
        }
        news
    }

    /// Lists all panes over the connection, or with a tmux process if there is no connection.
    pub(crate) fn list(&mut self) -> Result<TmuxSnapshot, dogwatch_tmux::Error> {
        self.connect();
        let by_line = self
            .open
            .as_ref()
            .and_then(|open| TmuxSnapshot::by_line(&open.control, &[]).logged("ask tmux"));
        let snapshot = match by_line {
            Some(snapshot) => snapshot,
            None => TmuxSnapshot::by_process(&self.server, &[])?,
        };
        if snapshot.faces.is_empty() {
            // Our own hidden session would keep the server running after its last pane.
            self.open = None;
        }
        Ok(snapshot)
    }

    /// Which panes there are and who looks at them, in the fewest words: whoever has listed them sees by it whether that still holds. A tenth
    /// of the time of a list (200 panes: 0.3 ms instead of 2.2, of which 0.2 are those of any question). Only over the connection.
    pub(crate) fn outline(&self) -> Option<Reply> {
        let list = Command::new("list-panes").flag('a');
        let list = list.option('F', "#{pane_id} #{pane_dead} #{session_attached}");
        self.open.as_ref()?.control.request_one(list).logged("ask tmux")
    }

    /// Captures these panes again.
    pub(crate) fn refresh(
        &mut self,
        snapshot: &mut TmuxSnapshot,
        panes: &[PaneId],
    ) -> Result<(), dogwatch_tmux::Error> {
        if let Some(open) = &self.open
            && snapshot.refresh(&open.control, panes).is_ok()
        {
            return Ok(());
        }
        *snapshot = TmuxSnapshot::by_process(&self.server, panes)?;
        Ok(())
    }

    /// One command over the connection, or by a process if there is no connection.
    pub(super) fn ask(&mut self, command: Command) -> Option<Reply> {
        let by_line = self.open.as_ref().map(|open| open.control.request_one(command.clone()));
        match by_line {
            Some(Ok(reply)) => Some(reply),
            _ => self.server.run_one(command).logged("ask tmux"),
        }
    }

    /// Several commands whose errors do not matter: a pane may be gone. Whether tmux got them all.
    pub(super) fn tell(&mut self, commands: &[Command]) -> bool {
        if commands.is_empty() {
            return true;
        }
        if let Some(open) = &self.open {
            return open.control.request(commands).logged("ask tmux").is_some();
        }
        match self.server.run(commands) {
            Ok(_) => true,
            Err(error) => {
                // tmux answered, and does not go on after an error: a pane that is gone must not be tried for ever.
                let is_answer = !error.is_passing();
                Err::<(), _>(error).logged("ask tmux");
                is_answer
            }
        }
    }

    /// Panes that still have the labels of a watcher that was killed.
    pub(super) fn left_labels(&mut self) -> Vec<PaneId> {
        let format = format!("#{{pane_id}} #{{{}}}", labels::STATE);
        let list = Command::new("list-panes").flag('a').option('F', format);
        let Some(reply) = self.ask(list) else { return Vec::new() };
        let labelled = |line: &str| {
            let (pane, state) = line.split_once(' ')?;
            (!state.is_empty()).then(|| pane.parse().ok()).flatten()
        };
        reply.text().lines().filter_map(labelled).collect()
    }

    pub(super) fn connect(&mut self) {
        let tried_lately = self.tried.is_some_and(|at| at.elapsed() < RETRY);
        if !self.is_wanted || self.open.is_some() || tried_lately {
            return;
        }
        self.tried = Some(Instant::now());
        let Some((control, told)) = Control::open(&self.server).logged("open a control connection")
        else {
            return;
        };
        let (sender, notes) = mpsc::channel();
        let waker = self.waker.clone();
        // Ends when the connection closes its end of the channel.
        let pass_on = move || {
            for note in told {
                if sender.send(note).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        // Without the thread, tmux processes list the panes until the next attempt.
        if thread::Builder::new().name("tmux notes".to_owned()).spawn(pass_on).is_err() {
            return;
        }
        self.open = Some(Open { control, notes });
    }
}

/// Turns an error of tmux into one that the watcher survives: the next round tries again.
pub(super) fn passing(error: dogwatch_tmux::Error) -> dogwatch_tmux::Error {
    if error.is_no_server() || error.is_passing() {
        return error;
    }
    let source = std::io::Error::other(error.to_string()).into();
    dogwatch_tmux::Error::Io { action: "ask tmux", source }
}
