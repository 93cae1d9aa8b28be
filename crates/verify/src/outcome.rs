//! What the plays found, put together.

use std::time::Duration;

use dogwatch_core::status::Source;
use dogwatch_protocol::verification::{Grade, Latency, Situation, SourceRecord};
use serde::{Deserialize, Serialize};

use crate::plays::PLAYS;

/// What the laboratory hands back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) situations: Vec<Situation>,
    pub(crate) sources: Vec<SourceRecord>,
    pub(crate) turn_end: Option<Latency>,
}

#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// With the source that decided.
    pub(crate) situations: Vec<(Situation, Option<Source>)>,
    pub(crate) latencies: Vec<Duration>,
}

impl Findings {
    pub(crate) fn extend(&mut self, other: Self) {
        self.situations.extend(other.situations);
        self.latencies.extend(other.latencies);
    }

    pub(crate) fn outcome(mut self) -> Outcome {
        // Plays end in any order.
        self.situations.sort_by_key(|(situation, _)| place(situation));
        let sources = sources(&self.situations);
        let situations = self.situations.into_iter().map(|(situation, _)| situation).collect();
        Outcome { situations, sources, turn_end: latency(self.latencies) }
    }
}

/// Where a situation stands in the list of plays.
fn place(situation: &Situation) -> usize {
    let all = PLAYS.iter().flat_map(|play| play.situations.iter().map(|name| (play.start, *name)));
    let mut all = all.enumerate();
    let found = all.find(|(_, (start, name))| *start == situation.start && *name == situation.name);
    found.map_or(usize::MAX, |(index, _)| index)
}

fn sources(found: &[(Situation, Option<Source>)]) -> Vec<SourceRecord> {
    let mut records: Vec<SourceRecord> = Vec::new();
    for (situation, source) in found {
        let Some(name) = source.map(Source::as_str) else { continue };
        let at = records.iter().position(|record| record.source == name).unwrap_or_else(|| {
            records.push(SourceRecord { source: name.to_owned(), right: 0, wrong: 0, lies: 0 });
            records.len() - 1
        });
        match situation.grade {
            Grade::Right | Grade::Detail => records[at].right += 1,
            Grade::Wrong => records[at].wrong += 1,
            Grade::Lie => records[at].lies += 1,
            Grade::NotKnown | Grade::NotPlayed | Grade::NotApplicable => {}
        }
    }
    records.sort_by(|a, b| a.source.cmp(&b.source));
    records
}

fn latency(mut times: Vec<Duration>) -> Option<Latency> {
    times.sort();
    let at = |percent: usize| {
        let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(index).map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    };
    Some(Latency { samples: u32::try_from(times.len()).ok()?, p50: at(50)?, p99: at(99)? })
}

#[cfg(test)]
mod tests {
    use dogwatch_protocol::verification::Start;

    use super::*;

    fn situation(name: &str, start: Start, grade: Grade) -> Situation {
        Situation {
            name: name.to_owned(),
            start,
            grade,
            truth: String::new(),
            said: None,
            basis: None,
            source: None,
            settled_ms: None,
            note: None,
        }
    }

    #[test]
    fn a_source_is_held_to_what_it_decided() {
        let found = [
            (situation("fresh", Start::Spawned, Grade::Right), Some(Source::Hook)),
            (situation("draft", Start::Spawned, Grade::Detail), Some(Source::Hook)),
            (situation("finished", Start::Spawned, Grade::Lie), Some(Source::Transcript)),
            (situation("exit", Start::Spawned, Grade::Wrong), Some(Source::Screen)),
            (situation("429", Start::Spawned, Grade::NotKnown), Some(Source::Screen)),
            (situation("500", Start::Spawned, Grade::NotPlayed), None),
        ];
        let told: Vec<_> = sources(&found)
            .into_iter()
            .map(|record| (record.source, record.right, record.wrong, record.lies))
            .collect();
        let wanted = [("hook", 2, 0, 0), ("screen", 0, 1, 0), ("transcript", 0, 0, 1)];
        assert_eq!(told, wanted.map(|(name, a, b, c)| (name.to_owned(), a, b, c)));
    }

    #[test]
    fn situations_come_in_the_order_of_the_plays() {
        let names =
            [("kill_9", Start::Spawned), ("fresh", Start::ByHand), ("fresh", Start::Spawned)];
        let situations = names
            .map(|(name, start)| (situation(name, start, Grade::Right), None))
            .into_iter()
            .collect();
        let sorted = Findings { situations, latencies: Vec::new() }.outcome().situations;
        let told: Vec<_> = sorted.iter().map(|one| (one.name.as_str(), one.start)).collect();
        let wanted =
            [("fresh", Start::Spawned), ("fresh", Start::ByHand), ("kill_9", Start::Spawned)];
        assert_eq!(told, wanted);
    }

    #[test]
    fn percentiles() {
        let times = |all: &[u64]| all.iter().map(|ms| Duration::from_millis(*ms)).collect();
        assert_eq!(latency(Vec::new()), None);
        let one = latency(times(&[7]));
        assert_eq!(one, Some(Latency { samples: 1, p50: 7, p99: 7 }));
        let ten = latency(times(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]));
        assert_eq!(ten, Some(Latency { samples: 10, p50: 5, p99: 10 }));
    }
}
