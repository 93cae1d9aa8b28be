//! Attaching to a session, and coming back.

use std::io;
use std::process::{self, ExitStatus, Stdio};

use dogwatch_base::log::Logged as _;
use dogwatch_engine::actions::attach::{self, From};
use dogwatch_engine::observe::status;
use dogwatch_protocol::id::SessionId;
use dogwatch_tmux::Command;
use jiff::Timestamp;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::Dashboard;
use super::terminal::Terminal;

impl Dashboard {
    /// Within the session's own tmux server the client moves there, and this dashboard stays where it is. Elsewhere tmux gets the
    /// terminal, until its user detaches.
    pub(super) fn attach(&mut self, session: &SessionId) -> io::Result<()> {
        let context = &self.actions.context;
        // A popup is over then, and a sidebar stays in sight.
        let is_left = self.options.popup.is_none() && self.options.sidebar.is_none();
        let message =
            ("#{prefix} L returns to dogwatch", "#{prefix} d detaches and returns to dogwatch");
        let way = status::shown(context, session).and_then(|seen| {
            let (around, client) = (self.options.around.as_deref(), self.options.popup.as_deref());
            attach::way(context, &seen, &From { around, client }, is_left.then_some(message))
        });
        let mut way = match way {
            Ok(way) => way,
            Err(error) => {
                self.state.complain(error.to_string());
                return Ok(());
            }
        };
        let failed = if way.is_switch {
            way.tmux.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let columns = Terminal::size().0;
            let status = way.tmux.status();
            // Afterwards: a window that gets the size of its client takes what it loses from its first pane.
            self.move_beside(session, columns);
            self.is_over |=
                self.options.popup.is_some() && status.as_ref().is_ok_and(ExitStatus::success);
            status
        } else {
            if let Some(feed) = &self.feed {
                feed.follow(None);
            }
            Terminal::leave();
            let status = in_foreground(&mut way.tmux);
            self.terminal.enter()?;
            status
        };
        match failed {
            Ok(status) if status.success() => {
                self.state.looked_at.insert(session.clone(), Timestamp::now());
                self.state.arrange();
                let session = session.clone();
                self.actions.start("noting a look", move |actions| actions.looked(&session));
            }
            Ok(_) => self.state.complain("tmux could not attach to it"),
            Err(error) => self.state.complain(format!("start tmux: {error}")),
        }
        self.is_dirty = true;
        Ok(())
    }

    /// A sidebar goes along to the window of the session.
    fn move_beside(&self, session: &SessionId, columns: u16) {
        let Some(me) = self.options.sidebar else { return };
        let context = &self.actions.context;
        let seen = status::shown(context, session).logged("look at a session");
        let Some(pane) = seen.and_then(|seen| seen.pane_id()) else { return };
        let windows = context.tmux.panes().logged("ask tmux").unwrap_or_default();
        let window_of =
            |pane| windows.iter().find(|row| row.pane_id == pane).map(|row| row.window_id);
        if window_of(me) != window_of(pane) {
            let columns = columns.to_string();
            let join = Command::new("join-pane")
                .flag('h')
                .flag('b')
                .flag('d')
                .flag('f')
                .option('l', &columns)
                .option('s', me.to_string())
                .target(pane);
            let resize = Command::new("resize-pane").option('x', &columns).target(me);
            context.tmux.run(&[join, resize]).logged("move the sidebar");
        }
    }
}

/// Waits for a client of tmux that has the terminal. If its user suspends it, it goes on at once: its parent is no shell that could
/// take the terminal meanwhile.
fn in_foreground(tmux: &mut process::Command) -> io::Result<ExitStatus> {
    let mut child = tmux.spawn()?;
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return child.wait();
    };
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(state)) if state.stopped() => {
                // Takes the report; without `NOWAIT` only that of a stop.
                waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
                kill_process(pid, Signal::CONT)?;
            }
            Err(Errno::INTR) => {}
            _ => return child.wait(),
        }
    }
}
