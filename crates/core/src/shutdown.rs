//! The steps of ending a session, each taken only if the one before did not suffice.

use std::time::Duration;

use crate::profile::Press;

/// How long the runner gets to end the agent once told: its own graces, the last screen, and the sweep.
const RUNNER_GRACE: Duration = Duration::from_secs(10);
/// How long a process gets to vanish after KILL.
const KILL_GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// The agent's own way out: keys it takes for "leave", and that can approve nothing.
    Keys(Vec<String>),
    /// The runner sends TERM, waits, then KILL, and sweeps what is left.
    TellRunner,
    /// The runner kills everything at once.
    TellRunnerNow,
    /// The runner does not answer or is gone: we kill what carries the session's tag.
    KillFamily,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub how: How,
    /// How long to wait for the end before the next step.
    pub wait: Duration,
}

/// The plan for one session. `own_exit` is the agent's own way out; `now` leaves all politeness out.
pub fn plan(own_exit: &[Press], now: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if now {
        steps.push(Step { how: How::TellRunnerNow, wait: KILL_GRACE });
    } else {
        for press in own_exit {
            for _ in 0..press.times {
                let wait = Duration::from_millis(press.wait_ms);
                steps.push(Step { how: How::Keys(press.keys.clone()), wait });
            }
        }
        steps.push(Step { how: How::TellRunner, wait: RUNNER_GRACE });
        steps.push(Step { how: How::TellRunnerNow, wait: KILL_GRACE });
    }
    steps.push(Step { how: How::KillFamily, wait: KILL_GRACE });
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::builtin;

    fn hows(agent: &str, now: bool) -> Vec<How> {
        plan(&builtin(agent).unwrap().ending, now).into_iter().map(|s| s.how).collect()
    }

    #[test]
    fn politeness_depends_on_the_agent() {
        let claude = hows("claude", false);
        assert_eq!(claude.first(), Some(&How::Keys(vec!["C-c".into()])));
        assert_eq!(
            claude[claude.len() - 3..],
            [How::TellRunner, How::TellRunnerNow, How::KillFamily]
        );
        assert_eq!(hows("command", false)[0], How::TellRunner);
        assert_eq!(hows("claude", true), [How::TellRunnerNow, How::KillFamily]);
    }
}
