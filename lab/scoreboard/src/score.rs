//! Counting.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use dogwatch_core::screen::{Reading, State};

use crate::corpus::{Corpus, Input, Recording};

/// Right answers out of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub right: usize,
    pub all: usize,
}

impl Tally {
    fn count(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let permille = (self.right * 1000).checked_div(self.all).unwrap_or(0);
        write!(f, "{:>3} of {:>3}  {:>3}.{} %", self.right, self.all, permille / 10, permille % 10)
    }
}

/// All screens of a corpus, read in one way.
#[derive(Debug)]
pub struct Score<'a> {
    pub input: Input,
    readings: Vec<(&'a Recording, Reading)>,
}

impl<'a> Score<'a> {
    pub fn of(corpus: &'a Corpus, input: Input) -> Self {
        let readings =
            corpus.recordings.iter().map(|recording| (recording, recording.read(input))).collect();
        Self { input, readings }
    }

    pub fn total(&self) -> Tally {
        self.tally(|_| true, Recording::is_right)
    }

    /// With labels taken to the letter: `limited` is wrong where a label says `error`.
    pub fn total_by_label(&self) -> Tally {
        self.tally(|_| true, Recording::is_right_by_label)
    }

    /// Panes that were alive: of dead ones the exit record tells, not the screen.
    pub fn alive(&self) -> Tally {
        self.tally(|recording| !recording.facts.pane_dead, Recording::is_right)
    }

    /// As the judge sees it: a dead pane is known to be dead.
    pub fn with_pane_facts(&self) -> Tally {
        self.tally(
            |_| true,
            |recording, reading| {
                let truth = recording.truth().state;
                let dead = recording.facts.pane_dead && matches!(truth, "exited" | "crashed");
                dead || recording.is_right(reading)
            },
        )
    }

    fn tally(
        &self,
        of: impl Fn(&Recording) -> bool,
        right: impl Fn(&Recording, &Reading) -> bool,
    ) -> Tally {
        let mut tally = Tally::default();
        for (recording, reading) in self.readings.iter().filter(|(recording, _)| of(recording)) {
            tally.count(right(recording, reading));
        }
        tally
    }

    /// Screens of agents at rest, waiting or failed that were called working: the worst mistake.
    pub fn falsely_working(&self) -> Vec<&'a Recording> {
        let rests = ["idle", "waiting", "limited", "error"];
        self.readings
            .iter()
            .filter(|(recording, reading)| {
                rests.contains(&recording.truth().state) && reading.state == State::Working
            })
            .map(|(recording, _)| *recording)
            .collect()
    }

    pub fn misses(&self) -> impl Iterator<Item = &(&'a Recording, Reading)> {
        self.readings.iter().filter(|(recording, reading)| !recording.is_right(reading))
    }

    /// The tables, as text.
    pub fn report(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        writeln!(text, "{}", self.total())?;
        writeln!(text, "  labels to the letter   {}", self.total_by_label())?;
        writeln!(text, "  live panes only        {}", self.alive())?;
        writeln!(text, "  dead panes known dead  {}", self.with_pane_facts())?;
        self.by_agent_and_state(&mut text)?;
        self.confusion(&mut text)?;
        for (recording, reading) in self.misses() {
            let because = reading.reasons.first().map_or("no rule", |reason| reason.rule.as_str());
            let (name, truth) = (recording.short_name(), &recording.facts.truth);
            writeln!(text, "  miss: {name}: {truth} read as {} ({because})", said(reading))?;
        }
        Ok(text)
    }

    fn by_agent_and_state(&self, text: &mut String) -> fmt::Result {
        let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
        for (recording, reading) in &self.readings {
            let (agent, state) = (recording.facts.agent.as_str(), recording.truth().state);
            let right = recording.is_right(reading);
            tallies.entry((agent, "")).or_default().count(right);
            tallies.entry((agent, state)).or_default().count(right);
        }
        for ((agent, state), tally) in tallies {
            let name = if state.is_empty() { agent.to_owned() } else { format!("  {state}") };
            writeln!(text, "  {name:<12} {tally}")?;
        }
        Ok(())
    }

    fn confusion(&self, text: &mut String) -> fmt::Result {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (recording, reading) in &self.readings {
            let row = counts.entry(recording.truth().state).or_default();
            *row.entry(reading.state.as_str()).or_default() += 1;
        }
        writeln!(text, "  truth read as:")?;
        for (truth, row) in counts {
            let cells: Vec<_> = row.iter().map(|(word, count)| format!("{word} {count}")).collect();
            writeln!(text, "  {truth:<12} {}", cells.join(", "))?;
        }
        Ok(())
    }
}

fn said(reading: &Reading) -> String {
    match &reading.state {
        State::Waiting { need } => format!("waiting({})", need.as_str()),
        state => state.as_str().to_owned(),
    }
}
