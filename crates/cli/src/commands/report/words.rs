//! Words that the table and the page share.

use dogwatch_protocol::report::{
    ClaimVerdict, ReportedClaim, ReportedRun, RunResult, SessionReport, Source, SpanState, Times,
};
use dogwatch_protocol::usage::Used;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Times of a report: with the day where that is not the last one.
pub(super) struct Clock<'a> {
    pub(super) zone: &'a TimeZone,
    pub(super) until: Timestamp,
}

impl Clock<'_> {
    /// `03:14`, or `Sun 23:10` on another day.
    pub(super) fn time(&self, at: Timestamp) -> String {
        let (at, last) = (at.to_zoned(self.zone.clone()), self.until.to_zoned(self.zone.clone()));
        let days = last.date().duration_since(at.date()).as_hours() / 24;
        let form = match days {
            0 => "%H:%M",
            1..=6 => "%a %H:%M",
            _ => "%Y-%m-%d %H:%M",
        };
        at.strftime(form).to_string()
    }

    fn at(&self, at: Option<Timestamp>) -> String {
        at.map(|at| format!(" at {}", self.time(at))).unwrap_or_default()
    }

    /// `said “All tests pass.” at 03:14; the last `cargo test` exited 101 at 03:12`
    pub(super) fn claim(&self, claim: &ReportedClaim) -> String {
        let run = &claim.run;
        let when = self.at(run.at);
        let command = &run.command;
        let against = match (claim.verdict, run.result) {
            (ClaimVerdict::Unproven, RunResult::Failed) => {
                format!("`{command}` {}{when} and was not run again", exit(run))
            }
            (_, RunResult::Hidden) => {
                format!(
                    "the last `{command}`{when}: {}",
                    run.because.as_deref().unwrap_or("hidden")
                )
            }
            (_, RunResult::NotRecorded) => {
                format!("the last `{command}`{when} has no recorded result")
            }
            _ => format!("the last `{command}` {}{when}", exit(run)),
        };
        let edits = match claim.edits_since {
            0 => String::new(),
            1 => "; 1 edit since".to_owned(),
            n => format!("; {n} edits since"),
        };
        format!("said “{}”{}; {against}{edits}", claim.text, self.at(claim.at))
    }
}

/// `exited 101`
pub(super) fn exit(run: &ReportedRun) -> String {
    match run.exit {
        Some(code) => format!("exited {code}"),
        None => "has no recorded exit code".to_owned(),
    }
}

/// `passed`, `failed, exit code 101`, `a pipe hides the exit code`.
pub(super) fn result(run: &ReportedRun) -> String {
    match (run.result, run.exit, &run.because) {
        (RunResult::Passed, ..) => "passed, exit code 0".to_owned(),
        (RunResult::Failed, Some(code), _) => format!("failed, exit code {code}"),
        (RunResult::Hidden, _, Some(because)) => because.clone(),
        (RunResult::Failed | RunResult::Hidden, ..) => "not known".to_owned(),
        (RunResult::NotRecorded, ..) => "no result recorded".to_owned(),
    }
}

pub(super) fn verdict(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::Contradicted => "contradicted",
        ClaimVerdict::Unproven => "unproven",
    }
}

pub(super) fn state(state: SpanState) -> &'static str {
    match state {
        SpanState::Working => "working",
        SpanState::Waiting => "waiting",
        SpanState::Limited => "limited",
        SpanState::Idle => "idle",
        SpanState::Trouble => "trouble",
        SpanState::NotObserved => "not observed",
    }
}

/// The times that are not zero, in words and seconds.
pub(super) fn times(times: &Times) -> Vec<(SpanState, i64)> {
    [
        (SpanState::Working, times.working),
        (SpanState::Waiting, times.waiting),
        (SpanState::Limited, times.limited),
        (SpanState::Idle, times.idle),
        (SpanState::Trouble, times.trouble),
        (SpanState::NotObserved, times.not_observed),
    ]
    .into_iter()
    .filter(|(_, seconds)| *seconds > 0)
    .collect()
}

/// `2h 10m`, `41m`, `12s`.
pub(super) fn duration(seconds: i64) -> String {
    match seconds {
        s if s < 60 => format!("{s}s"),
        s if s < 3600 => format!("{}m", s / 60),
        s => format!("{}h {}m", s / 3600, s % 3600 / 60),
    }
}

/// `journal 812`, `transcript line 1234`, `commit 0123abcd`.
pub(super) fn source(source: &Source) -> String {
    match source {
        Source::Journal { number } => format!("journal {number}"),
        Source::Transcript { line, .. } => format!("transcript line {line}"),
        Source::Git { commit } => format!("commit {}", commit.get(..8).unwrap_or(commit)),
    }
}

/// `$1.23, 45,000 tokens`; with models that have no price, `at least`.
pub(super) fn cost(used: &Used) -> String {
    let tokens = format!("{} tokens", thousands(used.tokens.total()));
    match used.cost_usd {
        Some(cost) if used.cost_is_lower_bound => format!("at least ${cost:.2}, {tokens}"),
        Some(cost) => format!("${cost:.2}, {tokens}"),
        None => format!("{tokens}, no known price"),
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 turn`, `3 turns`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Runs by result: `3 passed, 1 failed`.
pub(super) fn runs(runs: &[&ReportedRun]) -> String {
    let count = |result: RunResult| runs.iter().filter(|run| run.result == result).count();
    let parts = [
        (count(RunResult::Passed), "passed"),
        (count(RunResult::Failed), "failed"),
        (count(RunResult::Hidden), "hidden"),
        (count(RunResult::NotRecorded), "not recorded"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// The commits that count as the session's: its own; of a session without a transcript, all in its folder.
pub(super) fn commits(session: &SessionReport) -> String {
    let own = session.commits.iter().filter(|commit| commit.by_agent == Some(true)).count();
    let others = session.commits.iter().filter(|commit| commit.by_agent == Some(false)).count();
    let unknown = session.commits.len() - own - others;
    match (own, others, unknown) {
        (own, 0, 0) => counted(own, "commit"),
        (own, others, 0) => {
            format!("{} (+{others} by others in its folder)", counted(own, "commit"))
        }
        (_, _, unknown) => format!("{} in its folder", counted(unknown, "commit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn durations_and_times() {
        let shown: Vec<String> = [5, 59, 60, 3599, 3600, 7_870].map(duration).into();
        assert_eq!(shown, ["5s", "59s", "1m", "59m", "1h 0m", "2h 11m"]);
        let zone = TimeZone::UTC;
        let clock = Clock { zone: &zone, until: "2026-11-16T07:00:00Z".parse().unwrap() };
        let time = |at: &str| clock.time(at.parse().unwrap());
        assert_eq!(time("2026-11-16T03:14:59Z"), "03:14");
        assert_eq!(time("2026-11-15T23:10:00Z"), "Sun 23:10");
        assert_eq!(time("2026-11-01T23:10:00Z"), "2026-11-01 23:10");
    }
}
