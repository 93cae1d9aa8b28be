//! What is never asked of a person.

use super::Trigger;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    /// An optional step that was left out on purpose.
    SkippedOnPurpose,
    Success,
    /// It certainly failed; so many times before this one already.
    Failure {
        before: u32,
    },
    /// Neither can be said.
    Unclear,
}

/// What is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// A line in the log, and on.
    Log,
    GoOn,
    /// Once more, without asking.
    Retry,
    Ask(Trigger),
}

/// Decides whether anybody is asked. `failed` is what a second clear failure of this step means.
pub fn handling(end: StepEnd, failed: Trigger) -> Handling {
    match end {
        StepEnd::SkippedOnPurpose => Handling::Log,
        StepEnd::Success => Handling::GoOn,
        StepEnd::Failure { before: 0 } => Handling::Retry,
        StepEnd::Failure { .. } => Handling::Ask(failed),
        StepEnd::Unclear => Handling::Ask(Trigger::OutputUnclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_without_need() {
        let table = [
            (StepEnd::SkippedOnPurpose, Handling::Log),
            (StepEnd::Success, Handling::GoOn),
            (StepEnd::Failure { before: 0 }, Handling::Retry),
            (StepEnd::Failure { before: 1 }, Handling::Ask(Trigger::DevFailed)),
            (StepEnd::Failure { before: 7 }, Handling::Ask(Trigger::DevFailed)),
            (StepEnd::Unclear, Handling::Ask(Trigger::OutputUnclear)),
        ];
        for (end, expected) in table {
            assert_eq!(handling(end, Trigger::DevFailed), expected, "{end:?}");
        }
    }
}
