//! Has messages delivered that their senders no longer wait for.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dogwatch_base::log::Logged as _;
use dogwatch_base::program;
use dogwatch_store::StateDir;

/// One that ends badly within this time would do so again.
const SHORT_LIFE: Duration = Duration::from_secs(5);
const MOST_FAILURES: u32 = 3;

/// The process that delivers, one at a time.
#[derive(Debug, Default)]
pub(super) struct Mail {
    deliverer: Option<i32>,
    /// Messages came while it was at it: it may have looked for the last time before.
    again: bool,
    /// The agent has ended, and takes no more.
    closed: bool,
    begun: Option<Instant>,
    /// How often in a row it ended badly, right after its start.
    failures: u32,
}

impl Mail {
    /// A message waits.
    pub(super) fn came(&mut self, state: &StateDir, session: &str) {
        if self.closed {
            return;
        }
        if self.deliverer.is_some() {
            self.again = true;
            return;
        }
        // Out of processes: it stays queued, and the next one that looks tells us again.
        self.deliverer = start(state, session);
        self.begun = Some(Instant::now());
    }

    /// A child of ours has ended.
    pub(super) fn gone(&mut self, pid: i32, well: bool, state: &StateDir, session: &str) {
        if self.deliverer == Some(pid) {
            self.deliverer = None;
            let has_lived = self.begun.is_some_and(|begun| begun.elapsed() > SHORT_LIFE);
            self.failures = if well || has_lived { 0 } else { self.failures + 1 };
            // One that was killed has left something to do.
            let was_killed = !well && self.failures < MOST_FAILURES;
            if std::mem::take(&mut self.again) || was_killed {
                self.came(state, session);
            }
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }
}

/// In a process group of its own, without the terminal: what is typed there is for the agent.
fn start(state: &StateDir, session: &str) -> Option<i32> {
    let tmux = std::env::var("TMUX").ok()?;
    let mut command = Command::new(program::own().logged("find our own program")?);
    command.arg("--state-dir").arg(state.root());
    command.arg("--socket").arg(tmux.split(',').next()?);
    command.args(["deliver", session]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.process_group(0).spawn().logged("start a thread or a program")?;
    // The thread that waits for the agent collects this one too.
    i32::try_from(child.id()).ok()
}
