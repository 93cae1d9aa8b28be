//! Parses the time at which a limit ends from an agent's message.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, Zoned};

/// A time of day that passed less than this long ago is not tomorrow's.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(15);
/// The wait in that case.
const SOON: SignedDuration = SignedDuration::from_secs(30);

/// The time meant by `3pm`, `10:05 PM`, `in 2h 5m`, `90 seconds` or a full timestamp; the next one after `now`.
pub fn moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('.');
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let lower = text.to_ascii_lowercase();
    clock(&lower, now).or_else(|| {
        let length = length(&lower)?;
        now.timestamp().checked_add(length).ok()
    })
}

/// `3pm`, `3:05 pm`, `15:05`; a number alone is not a time of day.
fn clock(text: &str, now: &Zoned) -> Option<Timestamp> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[start..];
    let (hour, rest) = number(rest)?;
    let (minute, rest, has_minutes) = match rest.strip_prefix(':').and_then(number) {
        Some((minute, rest)) => (minute, rest, true),
        None => (0, rest, false),
    };
    let rest = rest.trim_start();
    let hour = match (rest.get(..2), has_minutes) {
        (Some("am"), _) if (1..=12).contains(&hour) => hour % 12,
        (Some("pm"), _) if (1..=12).contains(&hour) => hour % 12 + 12,
        (_, true) => hour,
        _ => return None,
    };
    let time = Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()?;
    let zone = if text.contains("utc") { jiff::tz::TimeZone::UTC } else { now.time_zone().clone() };
    let today = now.with_time_zone(zone.clone()).date();
    let of = |date: jiff::civil::Date| date.to_datetime(time).to_zoned(zone.clone()).ok();
    let at = of(today)?.timestamp();
    if at > now.timestamp() {
        return Some(at);
    }
    // Agents round to minutes, and the message may be read just after its time.
    if now.timestamp().duration_since(at) < JUST_PASSED {
        return now.timestamp().checked_add(SOON).ok();
    }
    Some(of(today.tomorrow().ok()?)?.timestamp())
}

/// `2h 5m`, `3 minutes`, `1 day`.
fn length(text: &str) -> Option<SignedDuration> {
    let mut sum = 0_i64;
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (count, after) = number(&rest[at..])?;
        let after = after.trim_start();
        let unit = match after.bytes().next() {
            Some(b's') => 1,
            Some(b'm') => 60,
            Some(b'h') => 3600,
            Some(b'd') => 86400,
            _ => return None,
        };
        sum = sum.checked_add(count.checked_mul(unit)?)?;
        found = true;
        rest = after;
    }
    found.then(|| SignedDuration::from_secs(sum))
}

fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_parsed() {
        let now: Zoned = "2026-11-15T10:00:00+00:00[UTC]".parse().unwrap();
        for (text, want) in [
            ("3pm", Some("2026-11-15T15:00:00Z")),
            ("9am (Europe/Berlin)", Some("2026-11-16T09:00:00Z")),
            ("12 AM", Some("2026-11-16T00:00:00Z")),
            ("10:05 PM.", Some("2026-11-15T22:05:00Z")),
            ("09:30", Some("2026-11-16T09:30:00Z")),
            ("2h 5m", Some("2026-11-15T12:05:00Z")),
            ("3 minutes", Some("2026-11-15T10:03:00Z")),
            ("90 seconds", Some("2026-11-15T10:01:30Z")),
            ("1 day 2 hours", Some("2026-11-16T12:00:00Z")),
            ("2026-11-15T11:00:00Z", Some("2026-11-15T11:00:00Z")),
            ("10:00 AM", Some("2026-11-15T10:00:30Z")),
            ("9:50 AM", Some("2026-11-15T10:00:30Z")),
            ("9:40 AM", Some("2026-11-16T09:40:00Z")),
            ("soon", None),
            ("17", None),
            ("25:99", None),
            ("99999999999999999999h", None),
        ] {
            let want: Option<Timestamp> = want.map(|want| want.parse().unwrap());
            assert_eq!(moment(text, &now), want, "{text}");
        }
    }
}
