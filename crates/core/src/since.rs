//! The beginning of a period, as people write it.

use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, SpanRelativeTo, Timestamp, Zoned};

/// The forms that are understood, for people.
pub const FORMS: &str = "18:00, 2h, 3d, 2026-11-15, 2026-11-15T18:00 or 2026-11-15T18:00:00Z";

/// `18:00` is the last time it was that late; `2h` is two hours ago; else a date, or a date and time, here or in UTC.
pub fn parse(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let zone = now.time_zone();
    let is_time = text.len() <= 8 && text.contains(':');
    let clock = if text.find(':') == Some(1) { format!("0{text}") } else { text.to_owned() };
    if let Some(time) = is_time.then(|| clock.parse::<Time>().ok()).flatten() {
        let today = now.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
        if today.timestamp() <= now.timestamp() {
            return Some(today.timestamp());
        }
        let yesterday = now.date().yesterday().ok()?;
        return Some(yesterday.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp());
    }
    if text.len() >= 10 {
        let text = text.replacen(' ', "T", 1);
        let local = text.parse::<DateTime>().ok().filter(|_| text.contains('T'));
        let local = local.or_else(|| text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)));
        if let Some(local) = local {
            return Some(local.to_zoned(zone.clone()).ok()?.timestamp());
        }
    }
    let span: Span = text.parse().ok()?;
    let ago = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (!ago.is_negative()).then(|| now.timestamp().checked_sub(ago).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let now: Zoned = "2026-11-16T07:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (text, expected) in [
            ("18:00", Some("2026-11-15T17:00:00Z")),
            ("07:00", Some("2026-11-16T06:00:00Z")),
            ("7:30", Some("2026-11-16T06:30:00Z")),
            ("7:31", Some("2026-11-15T06:31:00Z")),
            ("18:00:30", Some("2026-11-15T17:00:30Z")),
            ("2h", Some("2026-11-16T04:30:00Z")),
            ("1d 12h", Some("2026-11-14T18:30:00Z")),
            ("90m", Some("2026-11-16T05:00:00Z")),
            ("2026-11-15", Some("2026-11-14T23:00:00Z")),
            ("2026-11-15 18:00", Some("2026-11-15T17:00:00Z")),
            ("2026-11-15T18:00", Some("2026-11-15T17:00:00Z")),
            ("2026-11-15T18:00:00Z", Some("2026-11-15T18:00:00Z")),
            ("yesterday", None),
            ("2026-13-01", None),
            ("7d", Some("2026-11-09T06:30:00Z")),
            ("-2h", None),
            ("25:00", None),
            ("", None),
        ] {
            let expected: Option<Timestamp> = expected.map(|at| at.parse().unwrap());
            assert_eq!(parse(text, &now), expected, "{text}");
        }
    }
}
