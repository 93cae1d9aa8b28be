//! Quiet hours: what becomes due in them waits for their end.

use jiff::Zoned;
use jiff::civil::{Time, Weekday};

/// Times of the day and days of the week.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quiet(Vec<Part>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// From one time to another, perhaps over midnight.
    Hours(Time, Time),
    Day(Weekday),
}

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// Two quiet times that follow each other are one; more parts than this are not needed to find its end.
const MOST_STEPS: usize = 16;

impl Quiet {
    /// Reads `22:00-07:00` and `sat`.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        words.into_iter().map(part).collect::<Result<_, _>>().map(Self)
    }

    /// When the quiet time that this moment is in ends; `None` if it is not in one.
    pub fn end(&self, now: &Zoned) -> Option<Zoned> {
        let mut end = None;
        for _ in 0..MOST_STEPS {
            let moment = end.as_ref().unwrap_or(now);
            let Some(later) = self.0.iter().find_map(|part| part.end(moment)) else { break };
            end = Some(later);
        }
        end
    }
}

impl Part {
    fn end(self, now: &Zoned) -> Option<Zoned> {
        match self {
            Self::Day(day) => (now.weekday() == day)
                .then(|| now.tomorrow().and_then(|next| next.start_of_day()).ok())
                .flatten(),
            Self::Hours(from, to) => {
                let time = now.time();
                let is_over_midnight = to <= from;
                let is_in = if is_over_midnight {
                    time >= from || time < to
                } else {
                    time >= from && time < to
                };
                if !is_in {
                    return None;
                }
                let day = if is_over_midnight && time >= from {
                    now.date().tomorrow().ok()?
                } else {
                    now.date()
                };
                day.to_datetime(to).to_zoned(now.time_zone().clone()).ok()
            }
        }
    }
}

fn part(word: &str) -> Result<Part, String> {
    let lower = word.trim().to_lowercase();
    if let Some((_, day)) = DAYS.iter().find(|(name, _)| *name == lower) {
        return Ok(Part::Day(*day));
    }
    let time = |text: &str| {
        let (hour, minute) = text.trim().split_once(':')?;
        Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
    };
    let hours = lower.split_once('-').and_then(|(from, to)| Some((time(from)?, time(to)?)));
    match hours {
        Some((from, to)) if from == to => Err(format!("quiet: {word:?} is no time at all")),
        Some((from, to)) => Ok(Part::Hours(from, to)),
        None => Err(format!("quiet: {word:?} is neither of the form 22:00-07:00 nor a day (sat)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_quiet_time() {
        // 2026-11-14 is a Saturday.
        let table: [(&[&str], &str, Option<&str>); 10] = [
            (&["22:00-07:00"], "2026-11-16T21:59", None),
            (&["22:00-07:00"], "2026-11-16T22:00", Some("2026-11-17T07:00")),
            (&["22:00-07:00"], "2026-11-17T06:59", Some("2026-11-17T07:00")),
            (&["22:00-07:00"], "2026-11-17T07:00", None),
            (&["12:00-13:30"], "2026-11-17T13:29", Some("2026-11-17T13:30")),
            (&["12:00-13:30"], "2026-11-17T13:30", None),
            (&["sat", "sun"], "2026-11-14T12:00", Some("2026-11-16T00:00")),
            (&["sat", "sun", "22:00-07:00"], "2026-11-13T23:00", Some("2026-11-16T07:00")),
            (&["Sat"], "2026-11-13T23:59", None),
            (&[], "2026-11-14T12:00", None),
        ];
        for (words, now, want) in table {
            let at = |text: &str| -> Zoned { format!("{text}[Europe/Paris]").parse().unwrap() };
            let quiet = Quiet::parse(words.iter().copied()).unwrap();
            assert_eq!(quiet.end(&at(now)), want.map(at), "{words:?} {now}");
        }
    }

    #[test]
    fn mistakes() {
        for word in ["22-7", "25:00-07:00", "22:00", "weekend", "", "07:00-07:00", "22:00–07:00"]
        {
            assert!(Quiet::parse([word]).is_err(), "{word}");
        }
    }

    #[test]
    fn always_quiet_ends_sometime() {
        let now: Zoned = "2026-11-16T12:00[UTC]".parse().unwrap();
        let quiet = Quiet::parse(["00:00-12:00", "12:00-00:00"]).unwrap();
        assert!(quiet.end(&now).is_some());
    }
}
