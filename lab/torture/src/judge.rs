//! Compares dogwatch's report about a session with what the session really did. Values in, a complaint out.

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Code(i64),
    Signal(i64),
}

/// dogwatch's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reported {
    /// No such session.
    Nothing,
    Alive,
    Over {
        end: Option<End>,
        cause: Option<String>,
    },
    Lost,
    /// Any other state.
    Unclear(String),
}

/// What is known independently: the actor's own record, the kernel, and what the campaign did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all combine")]
pub(crate) struct Truth {
    /// `spawn` returned success.
    pub(crate) promised: bool,
    /// `spawn` returned an error.
    pub(crate) refused: bool,
    /// `spawn` was killed or stopped, or its server was.
    pub(crate) spawn_disturbed: bool,
    /// How often the actor began.
    pub(crate) began: usize,
    /// What the actor recorded just before it ended itself.
    pub(crate) said_end: Option<End>,
    pub(crate) is_alive: bool,
    pub(crate) agent_killed: bool,
    pub(crate) runner_killed: bool,
    pub(crate) terminal_gone: bool,
    pub(crate) kill_asked: bool,
    /// The state directory was not writable while it lived.
    pub(crate) not_writable: bool,
    /// The database's log was deleted after it was created.
    pub(crate) forgotten: bool,
}

pub(crate) fn complaint(reported: &Reported, truth: &Truth) -> Option<String> {
    if truth.began > 1 {
        return Some(format!("twice: the agent was started {} times", truth.began));
    }
    match reported {
        Reported::Nothing => nothing(truth),
        Reported::Unclear(state) => Some(format!("unclear: it is said to be {state}")),
        Reported::Alive if !truth.is_alive => {
            Some("wrong: said to be alive, and is not".to_owned())
        }
        Reported::Alive => None,
        Reported::Lost => lost(truth),
        Reported::Over { .. } if truth.is_alive => {
            Some("wrong: said to be over, and its agent lives".to_owned())
        }
        Reported::Over { end, cause } => over(*end, cause.as_deref(), truth),
    }
}

fn nothing(truth: &Truth) -> Option<String> {
    if truth.forgotten {
        return None;
    }
    if truth.promised {
        return Some("lost: spawn succeeded, and there is no record".to_owned());
    }
    truth.is_alive.then(|| "lost: an agent runs without a record".to_owned())
}

fn lost(truth: &Truth) -> Option<String> {
    let excused =
        truth.runner_killed || truth.spawn_disturbed || truth.not_writable || truth.forgotten;
    (!excused).then(|| "wrong: said to be lost, and nothing took its runner away".to_owned())
}

fn over(end: Option<End>, cause: Option<&str>, truth: &Truth) -> Option<String> {
    if cause == Some("request") && !truth.kill_asked {
        return Some("wrong: said to be ended on request, and no one asked".to_owned());
    }
    if cause == Some("hangup") && !truth.terminal_gone && !truth.kill_asked && !truth.runner_killed
    {
        return Some("wrong: said to have lost its terminal, and did not".to_owned());
    }
    let Some(end) = end else {
        return Some("wrong: said to be over without how".to_owned());
    };
    if truth.said_end == Some(end) {
        return None;
    }
    let ended_by_us = truth.kill_asked || truth.terminal_gone;
    let possible = match end {
        End::Signal(9) => ended_by_us || truth.agent_killed || truth.runner_killed,
        End::Signal(1 | 2 | 15) => ended_by_us || truth.runner_killed,
        // The actor exits with this on Ctrl-C in raw mode.
        End::Code(130) => ended_by_us,
        // The actor exits with this when its terminal is gone.
        End::Code(74) => truth.terminal_gone || truth.runner_killed,
        // The runner's codes for a failed launch.
        End::Code(126 | 127) => cause == Some("launch") && !truth.promised,
        _ => false,
    };
    (!possible).then(|| format!("wrong: said {end:?}, and the agent wrote {:?}", truth.said_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_with(end: End, cause: &str) -> Reported {
        Reported::Over { end: Some(end), cause: Some(cause.to_owned()) }
    }

    #[test]
    fn wrong_reports_are_detected() {
        let calm = Truth { promised: true, began: 1, ..Truth::default() };
        let ended = Truth { said_end: Some(End::Code(3)), ..calm };
        let cases = [
            (Reported::Nothing, calm, Some("lost: spawn")),
            (Reported::Nothing, Truth { forgotten: true, ..calm }, None),
            (Reported::Nothing, Truth { refused: true, ..Truth::default() }, None),
            (
                Reported::Nothing,
                Truth { is_alive: true, promised: false, ..calm },
                Some("lost: an agent"),
            ),
            (Reported::Alive, calm, Some("wrong: said to be alive")),
            (Reported::Alive, Truth { is_alive: true, ..calm }, None),
            (Reported::Alive, Truth { is_alive: true, began: 2, ..calm }, Some("twice")),
            (over_with(End::Code(3), "itself"), ended, None),
            (over_with(End::Code(0), "itself"), ended, Some("wrong: said Code(0)")),
            (
                over_with(End::Code(3), "itself"),
                Truth { is_alive: true, ..ended },
                Some("wrong: said to be over"),
            ),
            (over_with(End::Code(3), "request"), ended, Some("wrong: said to be ended on request")),
            (over_with(End::Signal(9), "itself"), calm, Some("wrong: said Signal(9)")),
            (over_with(End::Signal(9), "itself"), Truth { agent_killed: true, ..calm }, None),
            (over_with(End::Signal(15), "request"), Truth { kill_asked: true, ..calm }, None),
            (over_with(End::Signal(1), "hangup"), Truth { terminal_gone: true, ..calm }, None),
            (
                over_with(End::Signal(1), "hangup"),
                calm,
                Some("wrong: said to have lost its terminal"),
            ),
            (Reported::Lost, ended, Some("wrong: said to be lost")),
            (Reported::Lost, Truth { runner_killed: true, ..calm }, None),
            (Reported::Unclear("unknown".to_owned()), calm, Some("unclear")),
        ];
        for (reported, truth, wanted) in cases {
            let said = complaint(&reported, &truth);
            let fits = match (&said, wanted) {
                (None, None) => true,
                (Some(said), Some(wanted)) => said.starts_with(wanted),
                _ => false,
            };
            assert!(fits, "{reported:?} {truth:?}: {said:?}");
        }
    }
}
