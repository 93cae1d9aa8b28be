use std::fmt;
use std::time::Duration;

use crate::error::Error;
use crate::report::Runner;
use crate::timing::Summary;
use crate::world::World;

/// Rounds before the timed ones: caches, the page cache and the database's log are warm afterwards.
const WARM_UP: usize = 5;

/// One of several ways to do a job. It times itself, so that it can clean up outside the measurement.
pub(crate) struct Contestant<'a> {
    name: String,
    go: Box<dyn FnMut() -> Result<Duration, Error> + 'a>,
}

impl fmt::Debug for Contestant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contestant").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        go: impl FnMut() -> Result<Duration, Error> + 'a,
    ) -> Self {
        Self { name: name.into(), go: Box::new(go) }
    }
}

/// Runs all in turn, `rounds` times. Each round begins with another one, so that
/// none always follows the same predecessor. The first is the baseline.
pub(crate) fn race(
    world: &World,
    contestants: Vec<Contestant<'_>>,
    rounds: usize,
) -> Result<Vec<Runner>, Error> {
    in_turn(contestants, rounds, || world.go_on())
}

fn in_turn(
    mut contestants: Vec<Contestant<'_>>,
    rounds: usize,
    go_on: impl Fn() -> Result<(), Error>,
) -> Result<Vec<Runner>, Error> {
    let count = contestants.len();
    let mut timings = vec![Vec::with_capacity(rounds); count];
    for round in 0..WARM_UP.min(rounds) + rounds {
        for at in (0..count).map(|place| (place + round) % count) {
            go_on()?;
            let time = (contestants[at].go)()?;
            if round >= WARM_UP.min(rounds) {
                timings[at].push(time);
            }
        }
    }
    let named = contestants.into_iter().map(|contestant| contestant.name).zip(timings);
    Ok(named
        .filter_map(|(name, timings)| Some(Runner { name, summary: Summary::of(timings)? }))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn contestants_take_turns_and_the_warm_up_does_not_count() {
        let order = RefCell::new(String::new());
        let contestant = |name: char, millis| {
            let order = &order;
            Contestant::new(name, move || {
                order.borrow_mut().push(name);
                Ok(Duration::from_millis(millis))
            })
        };
        let runners = in_turn(vec![contestant('a', 1), contestant('b', 2)], 2, || Ok(())).unwrap();
        assert_eq!(*order.borrow(), "abbaabba");
        assert_eq!(runners.iter().map(|r| r.summary.rounds).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(runners[1].summary.median, Duration::from_millis(2));
    }
}
