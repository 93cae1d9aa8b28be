//! The output.

use std::fmt;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::timing::{Summary, milliseconds};

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) groups: Vec<Group>,
    pub(crate) costs: Vec<Cost>,
}

/// A resource other than time.
#[derive(Debug)]
pub(crate) struct Cost {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) limit: Option<Limit>,
}

/// The target, at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) f64);

/// Ways to do one job, timed in turn. The first is the baseline.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) runners: Vec<Runner>,
    pub(crate) targets: Vec<Target>,
}

/// One way, and the times it took.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) name: String,
    pub(crate) summary: Summary,
}

/// The target for the runner of that name.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) runner: &'static str,
    pub(crate) goal: Goal,
}

/// Goals are about medians, unless they say otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// At most this many times as long as the baseline.
    Ratio(f64),
    /// At least this many times as fast as the baseline.
    Speedup(f64),
    Milliseconds(f64),
    /// At most this many milliseconds longer than the baseline.
    Longer(f64),
    /// Ninety-nine of a hundred take at most so many milliseconds.
    P99(f64),
}

impl Goal {
    fn is_met(self, summary: &Summary, baseline: f64) -> bool {
        let [median, p99] = [summary.median, summary.p99].map(milliseconds);
        match self {
            Self::Ratio(most) => median <= baseline * most,
            Self::Speedup(least) => median * least <= baseline,
            Self::Milliseconds(most) => median <= most,
            Self::Longer(most) => median <= baseline + most,
            Self::P99(most) => p99 <= most,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(most) => write!(f, "≤ {most}× baseline"),
            Self::Speedup(least) => write!(f, "≥ {least}× faster"),
            Self::Milliseconds(most) => write!(f, "≤ {most} ms"),
            Self::Longer(most) => write!(f, "≤ baseline + {most} ms"),
            Self::P99(most) => write!(f, "p99 ≤ {most} ms"),
        }
    }
}

impl Group {
    fn baseline(&self) -> f64 {
        self.runners.first().map_or(f64::NAN, |runner| milliseconds(runner.summary.median))
    }

    fn goal_of(&self, runner: &Runner) -> Option<Goal> {
        self.targets.iter().find(|target| target.runner == runner.name).map(|target| target.goal)
    }
}

impl Report {
    pub(crate) fn print(&self, as_json: bool) {
        let text = if as_json { format!("{:#}\n", self.to_json()) } else { self.to_string() };
        // If the output is closed, there is no one to report to.
        let _ = io::stdout().write_all(text.as_bytes());
    }

    fn to_json(&self) -> Value {
        json!({
            "machine": self.machine,
            "groups": self.groups.iter().map(group_to_json).collect::<Vec<_>>(),
            "costs": self.costs.iter().map(cost_to_json).collect::<Vec<_>>(),
        })
    }
}

fn cost_to_json(cost: &Cost) -> Value {
    let Cost { what, value, unit, limit } = cost;
    json!({
        "what": what,
        "value": value,
        "unit": unit,
        "limit": limit.map(|limit| limit.0),
        "met": limit.map(|limit| *value <= limit.0),
    })
}

fn group_to_json(group: &Group) -> Value {
    let baseline = group.baseline();
    let runner = |runner: &Runner| {
        let median = milliseconds(runner.summary.median);
        let goal = group.goal_of(runner);
        json!({
            "name": runner.name,
            "rounds": runner.summary.rounds,
            "best_ms": milliseconds(runner.summary.best),
            "median_ms": median,
            "p95_ms": milliseconds(runner.summary.p95),
            "p99_ms": milliseconds(runner.summary.p99),
            "ratio": median / baseline,
            "target": goal.map(|goal| goal.to_string()),
            "met": goal.map(|goal| goal.is_met(&runner.summary, baseline)),
        })
    };
    json!({
        "title": group.title,
        "runners": group.runners.iter().map(runner).collect::<Vec<_>>(),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { system, processor, cores, tmux, dogwatch, load } = &self.machine;
        writeln!(f, "{dogwatch}, {tmux}, {system}, {cores} × {processor}, load {load}")?;
        self.groups.iter().try_for_each(|group| write!(f, "{group}"))?;
        if !self.costs.is_empty() {
            writeln!(f, "\ncost")?;
        }
        self.costs.iter().try_for_each(|cost| write!(f, "{cost}"))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, unit, limit } = self;
        write!(f, "  {what:<40} {value:>8.2} {unit}")?;
        match limit {
            Some(Limit(most)) if value <= most => writeln!(f, "  ≤ {most}: met"),
            Some(Limit(most)) => writeln!(f, "  ≤ {most}: NOT met"),
            None => writeln!(f),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.runners.first().map_or(0, |runner| runner.summary.rounds);
        writeln!(f, "\n{} ({rounds} rounds, ms)", self.title)?;
        writeln!(
            f,
            "  {:<36} {:>8} {:>8} {:>8} {:>8} {:>7}  target",
            "", "median", "p95", "p99", "best", "ratio"
        )?;
        let baseline = self.baseline();
        for runner in &self.runners {
            let Summary { best, median, p95, p99, .. } = runner.summary;
            let [best, median, p95, p99] = [best, median, p95, p99].map(milliseconds);
            let ratio = shown(median / baseline);
            write!(f, "  {:<36} {median:>8.2} {p95:>8.2} {p99:>8.2} ", runner.name)?;
            write!(f, "{best:>8.2} {ratio:>7}")?;
            match self.goal_of(runner) {
                Some(goal) if goal.is_met(&runner.summary, baseline) => {
                    writeln!(f, "  {goal}: met")?;
                }
                Some(goal) => writeln!(f, "  {goal}: NOT met")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// `×1.66` for what takes longer than the baseline, `÷65.4` for what is many times as fast.
fn shown(ratio: f64) -> String {
    if ratio < 0.5 { format!("÷{:.1}", 1.0 / ratio) } else { format!("×{ratio:.2}") }
}

/// Prints a message that is not a result.
pub(crate) fn mention(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

pub(crate) fn complain(error: &dyn std::error::Error) {
    let _ = writeln!(io::stderr(), "error: {error}");
}
