use std::time::Duration;

/// Statistics of some timings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) rounds: usize,
    pub(crate) best: Duration,
    pub(crate) median: Duration,
    pub(crate) p95: Duration,
    pub(crate) p99: Duration,
}

impl Summary {
    /// `None` if there are no timings.
    pub(crate) fn of(mut timings: Vec<Duration>) -> Option<Self> {
        timings.sort_unstable();
        Some(Self {
            rounds: timings.len(),
            best: *timings.first()?,
            median: percentile(&timings, 50)?,
            p95: percentile(&timings, 95)?,
            p99: percentile(&timings, 99)?,
        })
    }
}

/// By nearest rank: a time that was really taken, never one in between.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let millis = |numbers: &[u64]| numbers.iter().copied().map(Duration::from_millis).collect();
        let summary = |timings| {
            let Summary { rounds, best, median, p95, p99 } = Summary::of(timings)?;
            Some((rounds, [best, median, p95, p99].map(|time| time.as_millis())))
        };
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(summary(millis(&hundred)), Some((100, [1, 50, 95, 99])));
        assert_eq!(summary(millis(&[7])), Some((1, [7, 7, 7, 7])));
        assert_eq!(summary(vec![]), None);
    }
}
