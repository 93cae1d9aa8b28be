//! A session's process and its processor use.

use std::thread;
use std::time::{Duration, Instant};

use crate::decide::session::cues;
use crate::decide::session::row::{State, Tongue};
use dogwatch_core::profile;
use dogwatch_core::status::Status;

use super::Runtime;
use super::look::{self, Asked, Described, Who};
use dogwatch_engine::observe::status::SessionStatus;
use dogwatch_engine::observe::{proc_files, processes};
use dogwatch_engine::{Context, Error};

/// How long to measure. The kernel counts in hundredths of a second.
const MEASURED: Duration = Duration::from_millis(100);
/// From this share of a processor on it counts as alive.
const ALIVE: f64 = 0.1;
/// Limit on the processes of a session that are read.
const MOST_PROCESSES: usize = 256;

/// The answer: `status,cpu,pid,prompt`.
#[derive(Debug, Clone, PartialEq)]
pub struct Heartbeat {
    pub status: &'static str,
    pub cpu: f64,
    pub pid: Option<i32>,
    /// Whether a prompt is shown, or why nothing is known.
    pub prompt: Prompt,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Prompt {
    Shown(bool),
    Error(&'static str),
}

impl Heartbeat {
    pub fn error(why: &'static str) -> Self {
        Self { status: "error", cpu: 0.0, pid: None, prompt: Prompt::Error(why) }
    }
}

/// Checks once, and measures for a moment.
pub fn check(
    context: &Context,
    name: &str,
    agent: Option<&str>,
    runtime: Runtime,
) -> Result<Heartbeat, Error> {
    let asked = Asked { name, tongue: Tongue::Claude, runtime, counts: false };
    let described = look::once(context, asked)?;
    let is_idle = |status: &SessionStatus| matches!(status.verdict.status, Status::Idle { .. });
    let at_prompt = matches!(&described.who, Who::Session(status) if is_idle(status));
    let prompt = Prompt::Shown(at_prompt || cues::shows_a_prompt(&described.text));
    let plain = |status, prompt| Heartbeat { status, cpu: 0.0, pid: None, prompt };
    Ok(match &described.who {
        Who::Missing if runtime == Runtime::Runner => Heartbeat::error("state_missing"),
        Who::Missing => Heartbeat::error("session_not_found"),
        Who::Unmanaged(_) if cues::ends_in_a_prompt(&described.text) => plain("completed", prompt),
        Who::Unmanaged(_) => plain("dead", prompt),
        Who::Session(status) => of_session(&described, status, agent, prompt),
    })
}

fn of_session(
    described: &Described,
    status: &SessionStatus,
    agent: Option<&str>,
    prompt: Prompt,
) -> Heartbeat {
    let SessionStatus { seen, verdict, .. } = status;
    let session = &seen.session;
    let status = &verdict.status.without_stopped();
    let is_another = agent.is_some_and(|agent| agent != session.agent);
    if !seen.is_ours() && is_another && session.agent != profile::COMMAND {
        return Heartbeat { status: "dead", cpu: 0.0, pid: None, prompt };
    }
    let pid = session.started().map(|started| started.agent.pid);
    let over = |status| Heartbeat { status, cpu: 0.0, pid, prompt: prompt.clone() };
    match (status, described.row.state, pid) {
        (Status::Lost { .. }, ..) => Heartbeat::error("session_not_found"),
        (Status::Exited, ..) => over("completed"),
        (Status::Crashed { .. }, ..) => over("dead"),
        (.., None) => over("idle"),
        (.., state, Some(pid)) => {
            let cpu = share(pid);
            let is_at_work =
                matches!(status, Status::Working { .. }) && session.agent != profile::COMMAND;
            let status = match state {
                State::Completed => "completed",
                _ if cpu > ALIVE || is_at_work => "alive",
                _ => "idle",
            };
            Heartbeat { status, cpu, pid: Some(pid), prompt }
        }
    }
}

/// The share of a processor, in percent, that a process and its descendants use now.
fn share(pid: i32) -> f64 {
    let (begun, before) = (Instant::now(), used(pid));
    // sleep: the time over which processor use is measured.
    thread::sleep(MEASURED);
    let ticks = used(pid).saturating_sub(before);
    let per_second = rustix::param::clock_ticks_per_second();
    #[expect(clippy::cast_precision_loss, reason = "some ticks")]
    let seconds = ticks as f64 / per_second as f64;
    100.0 * seconds / begun.elapsed().as_secs_f64()
}

/// Ticks that a process and its descendants have used so far.
fn used(pid: i32) -> u64 {
    let (mut queue, mut looked, mut ticks) = (vec![pid], 0, 0);
    while let Some(pid) = queue.pop() {
        looked += 1;
        if looked > MOST_PROCESSES {
            break;
        }
        ticks += processes::pulse(pid).map_or(0, |pulse| pulse.used);
        queue.extend(proc_files::children(pid));
    }
    ticks
}
