//! When a session's runner starts a process that reads the session: soon after a hook, when its screen is at rest, otherwise rarely. An
//! idle session costs nothing.

use std::time::Duration;

/// A hook's signal is followed by what the screen shows.
const AFTER_NEWS: Duration = Duration::from_millis(100);
/// Least time between two looks because of hooks.
const BETWEEN_NEWS: Duration = Duration::from_millis(500);
/// A screen without output for so long is at rest.
const REST: Duration = Duration::from_millis(300);
/// Least time between two looks at a session that works.
const BETWEEN: Duration = Duration::from_secs(2);
/// Time between two looks at a screen that never rests.
const RESTLESS: Duration = Duration::from_secs(20);
/// Looks at a busy session whose screen is at rest, after the first one: its status may change by time alone.
const AGAIN: [Duration; 4] = [
    Duration::from_millis(800),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// A look that failed is repeated so often: what it failed at, such as a full disk, may be over.
const FAILED: Duration = Duration::from_mins(1);

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// The status may change without output: it works, starts, or is unknown.
    pub is_busy: bool,
    /// Something is due after this time.
    pub next: Option<Duration>,
    /// The number of an event that was sent but could not be recorded, so that not every look sends it.
    pub told: Option<u64>,
}

impl Looked {
    /// As one line: `busy 5000 -`, `rest - 17`.
    pub fn line(self) -> String {
        let word = if self.is_busy { "busy" } else { "rest" };
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let next = or_dash(self.next.map(|next| next.as_millis().to_string()));
        format!("{word} {next} {}", or_dash(self.told.map(|told| told.to_string())))
    }

    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let is_busy = words.next()? == "busy";
        let mut number = || match words.next()? {
            "-" => Some(None),
            number => number.parse::<u64>().ok().map(Some),
        };
        let (next, told) = (number()?.map(Duration::from_millis), number()?);
        Some(Self { is_busy, next, told })
    }
}

/// The memory between looks. Times are since any fixed start.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    looked: Option<Duration>,
    is_busy: bool,
    /// How many looks there were since the last movement.
    again: usize,
    next: Option<Duration>,
    news: Option<Duration>,
    /// The first and the last output since the last look.
    moved: Option<(Duration, Duration)>,
}

impl Pace {
    /// A hook or a record brought news.
    pub fn told(&mut self, now: Duration) {
        self.news.get_or_insert(now);
        self.again = 0;
    }

    /// The screen changed.
    pub fn moved(&mut self, now: Duration) {
        let first = self.moved.map_or(now, |(first, _)| first);
        self.moved = Some((first, now));
        self.again = 0;
    }

    /// A look ended; `None` if it failed.
    pub fn looked(&mut self, now: Duration, found: Option<Looked>) {
        let found = found.unwrap_or(Looked { is_busy: true, next: Some(FAILED), told: None });
        if self.moved.is_none() && self.news.is_none() {
            self.again += 1;
        }
        *self = Self {
            looked: Some(now),
            is_busy: found.is_busy,
            again: self.again,
            next: found.next.map(|next| now + next),
            ..Self::default()
        };
    }

    /// When to look next; `None` if nothing but a change is worth a look.
    pub fn due(&self) -> Option<Duration> {
        let after = |gap: Duration| self.looked.map_or(Duration::ZERO, |looked| looked + gap);
        let news = self.news.map(|news| (news + AFTER_NEWS).max(after(BETWEEN_NEWS)));
        let moved = self.moved.map(|(first, last)| {
            let gap = if self.is_busy { BETWEEN } else { REST };
            (last + REST).min(first + RESTLESS).max(after(gap))
        });
        let still_busy = self.is_busy && self.moved.is_none() && self.news.is_none();
        let again = still_busy.then(|| AGAIN.get(self.again)).flatten().map(|gap| after(*gap));
        [news, moved, again, self.next].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const REST_STATE: Looked = Looked { is_busy: false, next: None, told: None };
    const BUSY: Looked = Looked { is_busy: true, next: None, told: None };

    #[test]
    fn an_idle_session_is_left_alone() {
        let mut pace = Pace::default();
        assert_eq!(pace.due(), None);
        pace.moved(ms(100));
        pace.moved(ms(200));
        assert_eq!(pace.due(), Some(ms(500)), "when it has come to rest");
        pace.looked(ms(500), Some(REST_STATE));
        assert_eq!(pace.due(), None);
    }

    #[test]
    fn a_busy_session_at_rest_gets_a_few_looks() {
        let mut pace = Pace::default();
        pace.moved(ms(0));
        let mut looks = Vec::new();
        while let Some(due) = pace.due() {
            looks.push(due);
            pace.looked(due, Some(BUSY));
        }
        let gaps: Vec<_> = looks.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        assert_eq!(gaps, AGAIN);
    }

    #[test]
    fn movement_and_hooks_do_not_cause_a_look_each() {
        let mut pace = Pace::default();
        pace.looked(ms(0), Some(BUSY));
        pace.moved(ms(100));
        assert_eq!(pace.due(), Some(ms(2000)));
        pace.told(ms(150));
        assert_eq!(pace.due(), Some(ms(500)), "a hook sooner");
        pace.looked(ms(1000), Some(BUSY));
        for tick in 0..1000 {
            pace.moved(ms(1000 + tick * 100));
        }
        assert_eq!(pace.due(), Some(ms(21_000)), "one that never rests");
        pace.looked(ms(21_000), Some(REST_STATE));
        pace.told(ms(30_000));
        assert_eq!(pace.due(), Some(ms(30_100)));
    }

    #[test]
    fn what_is_due_later() {
        let mut pace = Pace::default();
        pace.looked(ms(1000), Some(Looked { next: Some(ms(5000)), ..REST_STATE }));
        assert_eq!(pace.due(), Some(ms(6000)));
        pace.looked(ms(6000), None);
        assert!(pace.due().is_some(), "a look that failed is repeated");
    }

    #[test]
    fn failed_looks_do_not_end() {
        let mut pace = Pace::default();
        let mut now = ms(0);
        for _ in 0..20 {
            pace.looked(now, None);
            let due = pace.due().unwrap();
            assert!(due > now && due <= now + FAILED);
            now = due;
        }
        pace.looked(now, None);
        assert_eq!(pace.due(), Some(now + FAILED));
        pace.looked(now, Some(REST_STATE));
        assert_eq!(pace.due(), None, "one that went well");
    }

    #[test]
    fn a_look_in_one_line() {
        for looked in [BUSY, REST_STATE, Looked { next: Some(ms(1500)), told: Some(7), ..BUSY }] {
            assert_eq!(Looked::parse(&looked.line()), Some(looked));
        }
        assert_eq!(Looked::parse("what"), None);
        assert_eq!(Looked::parse("busy soon -"), None);
        assert_eq!(Looked::parse("busy 5"), None);
    }
}
