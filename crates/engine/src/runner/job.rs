use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::runner;
use rustix::process::{Pid, Signal, kill_process_group};

use super::kernel;
use super::terminal::Terminal;

/// The agent as the runner's one job: a process group of its own, which has the terminal.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) pid: ChildPid,
    terminal: Option<Terminal>,
}

/// The agent's pid, which is its process group's too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChildPid(Pid);

impl ChildPid {
    pub(super) fn as_raw_pid(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }
}

impl Job {
    /// Executes the program and gives it the terminal. An error means that nothing runs.
    pub(super) fn start(argv: &[OsString], env: &[(OsString, OsString)]) -> io::Result<Self> {
        let (program, rest) =
            argv.split_first().ok_or_else(|| io::Error::other("no command to run"))?;
        let terminal = Terminal::find();
        let mut command = Command::new(program);
        command.args(rest).env_clear().envs(env.iter().map(|(k, v)| (k, v))).process_group(0);
        if let Some((_, cwd)) = env.iter().find(|(key, _)| key == OsStr::new("PWD")) {
            command.current_dir(cwd);
        }
        kernel::stop_for_the_terminal();
        // Returns only after the program was executed, or with the reason why it was not. The child is
        // waited for by the event thread, by pid.
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the kernel gave no pid"))?;
        kernel::take_terminal_freely();
        let mut job = Self { pid: ChildPid(pid), terminal };
        job.put_in_foreground();
        Ok(job)
    }

    /// Gives the terminal to the agent and lets it go on. Also if it was not stopped: it may have
    /// asked for the terminal before it had it.
    pub(super) fn put_in_foreground(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.give(self.pid.0);
        }
        kill_process_group(self.pid.0, Signal::CONT).logged("signal a process group");
    }

    pub(super) fn put_in_background(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.take();
        }
    }

    /// Waits until all that the agent wrote is on the screen.
    pub(super) fn settle(&mut self, at_most: Duration) {
        if let Some(terminal) = &mut self.terminal {
            terminal.settle(at_most);
        }
    }

    /// Signals the agent's process group. One that is stopped is let go on, or it could not react.
    pub(super) fn signal(&self, signal: Signal) {
        kill_process_group(self.pid.0, signal).logged("signal a process group");
        kill_process_group(self.pid.0, Signal::CONT).logged("signal a process group");
    }
}

pub(super) fn kernel_signal(signal: runner::Signal) -> Signal {
    match signal {
        runner::Signal::HangUp => Signal::HUP,
        runner::Signal::Terminate => Signal::TERM,
        runner::Signal::Kill => Signal::KILL,
    }
}
