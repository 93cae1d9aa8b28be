//! The windows in which an agent's account counts use, as the agent reports them.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub use dogwatch_protocol::limits::LimitWindow;

/// Longest end of a transcript that is searched.
pub const TAIL: u64 = 256 * 1024;

/// What Claude Code hands to a statusline: `rate_limits.five_hour`, `rate_limits.seven_day`.
pub fn of_statusline(payload: &Value, seen: Timestamp) -> Vec<LimitWindow> {
    let window = |(key, name): (&str, &str)| {
        let of = payload["rate_limits"].get(key)?;
        Some(LimitWindow {
            window: name.to_owned(),
            used_percent: of["used_percentage"].as_f64(),
            resets: of["resets_at"].as_i64().and_then(|at| Timestamp::from_second(at).ok()),
            seen,
        })
    };
    [("five_hour", "5-hour"), ("seven_day", "weekly")].into_iter().filter_map(window).collect()
}

/// The newest that Codex wrote into its transcript, with the count of tokens.
pub fn of_codex(transcript: &str) -> Vec<LimitWindow> {
    let line =
        transcript.lines().rev().filter(|line| line.contains("\"rate_limits\"")).find_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            line["payload"]["rate_limits"].is_object().then_some(line)
        });
    let Some(line) = line else { return Vec::new() };
    let seen: Timestamp =
        line["timestamp"].as_str().and_then(|at| at.parse().ok()).unwrap_or_default();
    let window = |key: &str| {
        let of = line["payload"]["rate_limits"].get(key)?;
        let used_percent = Some(of["used_percent"].as_f64()?);
        let after = || {
            let seconds = of["resets_in_seconds"].as_i64()?;
            seen.checked_add(SignedDuration::from_secs(seconds)).ok()
        };
        let at = of["resets_at"].as_i64().and_then(|at| Timestamp::from_second(at).ok());
        let window = length(of["window_minutes"].as_i64().unwrap_or_default());
        Some(LimitWindow { window, used_percent, resets: at.or_else(after), seen })
    };
    ["primary", "secondary"].into_iter().filter_map(window).collect()
}

/// `5-hour`, `weekly`, `90-minute`. Codex rounds some of them.
fn length(minutes: i64) -> String {
    const DAY: i64 = 24 * 60;
    match minutes {
        ..=0 => "unknown".to_owned(),
        _ if (minutes - 7 * DAY).abs() < 60 => "weekly".to_owned(),
        _ if (minutes - DAY).abs() < 30 => "daily".to_owned(),
        _ if minutes % 60 == 0 || minutes % 60 == 59 => format!("{}-hour", (minutes + 1) / 60),
        _ => format!("{minutes}-minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn windows_that_agents_report() {
        let now: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let payload = json!({ "rate_limits": {
            "five_hour": { "used_percentage": 93.5, "resets_at": 1_794_830_400 },
            "seven_day": { "used_percentage": 12 },
        } });
        let found = of_statusline(&payload, now);
        assert_eq!((found[0].window.as_str(), found[0].used_percent), ("5-hour", Some(93.5)));
        assert_eq!(found[0].resets, Some("2026-11-16T12:00:00Z".parse().unwrap()));
        assert_eq!((found[1].window.as_str(), found[1].resets), ("weekly", None));
        assert!(of_statusline(&json!({ "model": {} }), now).is_empty());

        let old = json!({ "timestamp": "2026-11-16T09:00:00Z", "payload": { "type": "token_count", "rate_limits": {
            "primary": { "used_percent": 40.0, "window_minutes": 299, "resets_in_seconds": 60 },
            "secondary": { "used_percent": 7.0, "window_minutes": 10080, "resets_at": 1_794_830_400 } } } });
        let text = format!(
            "{{}}\n{old}\n{{\"payload\":{{\"rate_limits\":null}}}}\nhalf a \"rate_limits\""
        );
        let found = of_codex(&text);
        assert_eq!((found[0].window.as_str(), found[1].window.as_str()), ("5-hour", "weekly"));
        assert_eq!(found[0].resets, Some("2026-11-16T09:01:00Z".parse().unwrap()));
        assert!(of_codex("").is_empty());
    }
}
