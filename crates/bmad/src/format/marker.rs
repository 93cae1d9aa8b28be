//! The marker of an active run: its remaining stories and its last heartbeat.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Seconds without a heartbeat after which a run counts as gone.
pub const STALE_AFTER: i64 = 1800;

/// A marker, with any unknown fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Marker {
    fields: Map<String, Value>,
}

/// The content of a new marker.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewMarker<'a> {
    pub epic: &'a str,
    pub story: &'a str,
    pub remaining: i64,
    pub state_file: &'a str,
    pub project_slug: &'a str,
    pub pid: i64,
    pub heartbeat: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    Live,
    Stale,
    /// It has no valid time.
    Unknown,
}

impl Marker {
    pub fn new(new: NewMarker<'_>, now: &str) -> Self {
        let fields: [(&str, Value); 8] = [
            ("epic", new.epic.into()),
            ("currentStory", new.story.into()),
            ("storiesRemaining", new.remaining.into()),
            ("stateFile", new.state_file.into()),
            ("createdAt", now.into()),
            ("heartbeat", new.heartbeat.unwrap_or(now).into()),
            ("pid", new.pid.into()),
            ("projectSlug", new.project_slug.into()),
        ];
        Self { fields: fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect() }
    }

    /// `None` if the text is not a marker.
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        value.as_object().map(|fields| Self { fields: fields.clone() })
    }

    pub fn text(&self) -> String {
        format!("{:#}\n", Value::Object(self.fields.clone()))
    }

    pub fn set_heartbeat(&mut self, now: &str) {
        self.fields.insert("heartbeat".to_owned(), Value::from(now));
    }

    pub fn state_file(&self) -> &str {
        self.fields.get("stateFile").and_then(Value::as_str).unwrap_or_default()
    }

    /// Remaining stories; 0 if it is not a number.
    pub fn remaining(&self) -> i64 {
        match self.fields.get("storiesRemaining") {
            Some(Value::String(text)) => text.trim().parse().unwrap_or(0),
            #[expect(clippy::cast_possible_truncation, reason = "a count of stories")]
            Some(value) => value.as_f64().map_or(0, |number| number.ceil() as i64),
            None => 0,
        }
    }

    pub fn age(&self, now: Timestamp) -> Age {
        // The latest counts: a new marker can have an old heartbeat, and the reverse.
        let times = ["heartbeat", "createdAt", "startedAt"];
        let given = times.iter().filter_map(|key| self.fields.get(*key)?.as_str());
        match given.filter_map(|text| text.trim().parse::<Timestamp>().ok()).max() {
            Some(then) if now.as_second() - then.as_second() > STALE_AFTER => Age::Stale,
            Some(_) => Age::Live,
            None => Age::Unknown,
        }
    }
}

/// Whether an agent that wants to stop must continue, and for how many stories.
pub fn must_go_on(marker: &Marker, now: Timestamp) -> Option<i64> {
    let remaining = marker.remaining();
    (remaining > 0 && marker.age(now) != Age::Stale).then_some(remaining)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: &str = "2026-01-01T12:00:00Z";

    fn marker(fields: &Value) -> Marker {
        Marker::read(&fields.to_string()).unwrap()
    }

    #[test]
    fn a_new_marker_is_written() {
        let new = NewMarker { epic: "1", remaining: 3, ..NewMarker::default() };
        let mut made = Marker::new(new, NOW);
        assert!(made.text().starts_with(
            "{\n  \"epic\": \"1\",\n  \"currentStory\": \"\",\n  \"storiesRemaining\": 3,"
        ));
        made.set_heartbeat("later");
        assert!(made.text().contains("\"heartbeat\": \"later\",\n  \"pid\": 0,"));
        assert_eq!(Marker::read("[]"), None);
        assert_eq!(Marker::read("{oops"), None);
    }

    #[test]
    fn an_agent_must_continue_while_stories_remain() {
        let now: Timestamp = NOW.parse().unwrap();
        let table = [
            (json!({"storiesRemaining": 2, "heartbeat": "2026-01-01T11:30:00Z"}), Some(2)),
            (json!({"storiesRemaining": 2, "heartbeat": "2026-01-01T11:29:59Z"}), None),
            (json!({"storiesRemaining": 2, "createdAt": "2026-01-01T01:00:00Z"}), None),
            (
                json!({"storiesRemaining": 2, "heartbeat": "", "startedAt": "2026-01-01T11:59:00Z"}),
                Some(2),
            ),
            (json!({"storiesRemaining": 2, "heartbeat": "soon"}), Some(2)),
            (
                json!({"storiesRemaining": 2, "heartbeat": "2026-01-01T01:00:00Z", "createdAt": "2026-01-01T11:59:00Z"}),
                Some(2),
            ),
            (
                json!({"storiesRemaining": 2, "heartbeat": "2026-01-01T11:59:00Z", "createdAt": "2026-01-01T01:00:00Z"}),
                Some(2),
            ),
            (
                json!({"storiesRemaining": 2, "heartbeat": "soon", "createdAt": "2026-01-01T01:00:00Z"}),
                None,
            ),
            (json!({"storiesRemaining": "2"}), Some(2)),
            (json!({"storiesRemaining": "many"}), None),
            (json!({"storiesRemaining": true}), None),
            (json!({"storiesRemaining": -1}), None),
            (json!({"storiesRemaining": 0}), None),
            (json!({}), None),
        ];
        for (fields, stories) in table {
            assert_eq!(must_go_on(&marker(&fields), now), stories, "{fields}");
        }
    }
}
