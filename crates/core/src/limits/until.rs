//! Parses the time at which a limit ends from an agent's message.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// A time of day that passed less than this long ago is not tomorrow's.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(15);
/// The wait in that case.
const SOON: SignedDuration = SignedDuration::from_secs(30);
/// A date without a year that lies further back than this is next year's.
const LAST_YEAR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A number with at least so many digits counts seconds since 1970.
const EPOCH_DIGITS: usize = 10;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The time meant by `3pm`, `10:05 PM`, `Nov 20, 3pm (Europe/Berlin)`, `in 2h 5m`, `90 seconds`, seconds since 1970 or a full
/// timestamp; the next one after `now`.
pub fn moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('.');
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if text.len() >= EPOCH_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Timestamp::from_second(text.parse().ok()?).ok();
    }
    let now = &zone(text).map_or_else(|| now.clone(), |zone| now.with_time_zone(zone));
    let lower = text.to_ascii_lowercase();
    if let Some((date, rest)) = date(&lower, now) {
        return on(date, time(rest), now);
    }
    next(&lower, now).or_else(|| {
        let length = length(&lower)?;
        now.timestamp().checked_add(length).ok()
    })
}

/// The zone that a text names: `3pm (Europe/Berlin)`. One that is not known is as good as none: agents show local times.
fn zone(text: &str) -> Option<TimeZone> {
    if text.to_ascii_lowercase().contains("utc") {
        return Some(TimeZone::UTC);
    }
    let (_, rest) = text.split_once('(')?;
    TimeZone::get(rest.split(')').next()?.trim()).ok()
}

/// `Nov 20`, `Nov 20th, 2026`, and the text after it.
fn date<'t>(text: &'t str, now: &Zoned) -> Option<(Date, &'t str)> {
    let (start, month) = (1..).zip(MONTHS).find_map(|(month, name): (i8, &str)| {
        let start = text.find(name)?;
        let is_word = !text[..start].ends_with(|c: char| c.is_ascii_alphabetic());
        is_word.then_some((start, month))
    })?;
    let rest = text[start..].trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '.');
    let (day, rest) = number(rest.trim_start())?;
    let rest = ["st", "nd", "rd", "th"].iter().find_map(|th| rest.strip_prefix(th)).unwrap_or(rest);
    let after = rest.trim_start_matches([',', ' ']);
    let year = number(after).filter(|(year, _)| (2000..3000).contains(year));
    let day = i8::try_from(day).ok()?;
    if let Some((year, rest)) = year {
        return Some((Date::new(i16::try_from(year).ok()?, month, day).ok()?, rest));
    }
    let date = Date::new(now.year(), month, day).ok()?;
    let begins = date.to_zoned(now.time_zone().clone()).ok()?.timestamp();
    let is_past = now.timestamp().duration_since(begins) > LAST_YEAR;
    let date = if is_past { Date::new(now.year() + 1, month, day).ok()? } else { date };
    Some((date, rest))
}

/// That day at that time, or when it begins.
fn on(date: Date, time: Option<Time>, now: &Zoned) -> Option<Timestamp> {
    let at = date.to_datetime(time.unwrap_or_default());
    Some(at.to_zoned(now.time_zone().clone()).ok()?.timestamp())
}

/// `3pm`, `3:05 pm`, `15:05`; a number alone is not a time of day.
fn time(text: &str) -> Option<Time> {
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
    Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()
}

/// The next time that a clock shows this.
fn next(text: &str, now: &Zoned) -> Option<Timestamp> {
    let time = time(text)?;
    let at = on(now.date(), Some(time), now)?;
    if at > now.timestamp() {
        return Some(at);
    }
    // Agents round to minutes, and the message may be read just after its time.
    if now.timestamp().duration_since(at) < JUST_PASSED {
        return now.timestamp().checked_add(SOON).ok();
    }
    on(now.date().tomorrow().ok()?, Some(time), now)
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
            ("9am (Europe/Berlin)", Some("2026-11-16T08:00:00Z")),
            ("9am (Nowhere/Else)", Some("2026-11-16T09:00:00Z")),
            ("2:30am (UTC)", Some("2026-11-16T02:30:00Z")),
            ("Nov 20, 3pm (Europe/Berlin)", Some("2026-11-20T14:00:00Z")),
            ("Nov 20 at 3pm", Some("2026-11-20T15:00:00Z")),
            ("Nov 20th, 2026 10:05 PM", Some("2026-11-20T22:05:00Z")),
            ("Jan 2, 8am", Some("2027-01-02T08:00:00Z")),
            ("Nov 14", Some("2026-11-14T00:00:00Z")),
            ("Nov 31, 3pm", None),
            ("1794741600", Some("2026-11-15T11:20:00Z")),
            ("3 days 2 hours 5 minutes", Some("2026-11-18T12:05:00Z")),
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
