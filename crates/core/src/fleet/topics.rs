//! MQTT topics: one prefix, one branch per host.

use crate::event::Subject;

/// Why a text cannot be part of a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    #[error("must not be empty")]
    Empty,
    #[error("contains {0:?}, which has a special meaning in a topic")]
    Forbidden(char),
    #[error("must not begin with '$', which is reserved for brokers")]
    Dollar,
}

/// The topics of one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    prefix: String,
}

/// What a topic is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place<'t> {
    Status {
        host: &'t str,
    },
    State {
        host: &'t str,
        session: &'t str,
    },
    /// An event of a session or of the host itself.
    Event {
        host: &'t str,
    },
    Request {
        host: &'t str,
        verb: &'t str,
    },
}

impl Default for Topics {
    fn default() -> Self {
        Self { prefix: Self::PREFIX.to_owned() }
    }
}

impl Topics {
    /// The default prefix.
    pub const PREFIX: &str = "dogwatch";

    /// A prefix may have several levels, each without wildcards.
    pub fn new(prefix: &str) -> Result<Self, TopicError> {
        if prefix.starts_with('$') {
            return Err(TopicError::Dollar);
        }
        prefix.split('/').try_for_each(Self::check_level)?;
        Ok(Self { prefix: prefix.to_owned() })
    }

    /// Whether a text can be one level of a topic, as a host's name must be.
    pub fn check_level(level: &str) -> Result<(), TopicError> {
        if level.is_empty() {
            return Err(TopicError::Empty);
        }
        match level.chars().find(|c| matches!(c, '/' | '+' | '#') || c.is_control()) {
            Some(found) => Err(TopicError::Forbidden(found)),
            None => Ok(()),
        }
    }

    /// A topic below that of a host.
    pub fn below_host(&self, host: &str, topic: &str) -> String {
        format!("{}/{host}/{topic}", self.prefix)
    }

    pub fn status(&self, host: &str) -> String {
        format!("{}/{host}/status", self.prefix)
    }

    pub fn state(&self, host: &str, session: &str) -> String {
        format!("{}/{host}/session/{session}/state", self.prefix)
    }

    /// The topic of an event: on the branch of its session, or of the host.
    pub fn event(&self, host: &str, subject: Option<&Subject>) -> String {
        match subject.map(session_level) {
            Some(session) => format!("{}/{host}/session/{session}/event", self.prefix),
            None => format!("{}/{host}/event", self.prefix),
        }
    }

    pub fn request(&self, host: &str, verb: &str) -> String {
        format!("{}/{host}/request/{verb}", self.prefix)
    }

    /// The topic for replies. Hosts reply nowhere else, so that a request cannot make them publish to other topics.
    pub fn reply(&self, asker: &str) -> String {
        format!("{}/reply/{asker}", self.prefix)
    }

    pub fn is_reply(&self, topic: &str) -> bool {
        let rest = topic.strip_prefix(&self.prefix).and_then(|t| t.strip_prefix("/reply/"));
        rest.is_some_and(|asker| asker.split('/').all(|level| Self::check_level(level).is_ok()))
    }

    pub fn read<'t>(&self, topic: &'t str) -> Option<Place<'t>> {
        let rest = topic.strip_prefix(&self.prefix)?.strip_prefix('/')?;
        let levels: Vec<&str> = rest.split('/').collect();
        match levels[..] {
            [host, "status"] => Some(Place::Status { host }),
            [host, "session", session, "state"] => Some(Place::State { host, session }),
            [host, "event"] | [host, "session", _, "event"] => Some(Place::Event { host }),
            [host, "request", verb] => Some(Place::Request { host, verb }),
            _ => None,
        }
    }
}

/// A session's level in a topic: the name of a managed session, which is unique on the host. An unmanaged one has the name of
/// its tmux session, which several panes share, so its pane number is added; names of managed sessions have no dots.
pub fn session_level(subject: &Subject) -> String {
    let level = match subject.id.strip_prefix('%') {
        Some(rest) => {
            format!("{}.{}", subject.name, rest.split('-').next().unwrap_or_default())
        }
        None => subject.name.clone(),
    };
    let encode = |c: char| match c {
        '/' | '+' | '#' | '%' => format!("%{:02X}", u32::from(c)),
        c if c.is_control() => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    level.chars().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(id: &str, name: &str) -> Subject {
        Subject { id: id.into(), name: name.into(), agent: "claude".into() }
    }

    #[test]
    fn topics_are_written_and_read_back() {
        let topics = Topics::new("team/dogwatch").unwrap();
        let of = subject("01", "fix");
        let table = [
            (topics.status("box"), Place::Status { host: "box" }),
            (topics.state("box", "fix"), Place::State { host: "box", session: "fix" }),
            (topics.event("box", Some(&of)), Place::Event { host: "box" }),
            (topics.event("box", None), Place::Event { host: "box" }),
            (topics.request("box", "send"), Place::Request { host: "box", verb: "send" }),
        ];
        for (topic, place) in table {
            assert_eq!(topics.read(&topic), Some(place), "{topic}");
        }
        for other in ["team/dogwatch", "team/dogwatch/", "other/box/status", "team/dogwatch/a/b"] {
            assert_eq!(topics.read(other), None, "{other}");
        }
        assert!(topics.is_reply(&topics.reply("a-1")));
        for other in ["team/dogwatch/box/request/kill", "team/dogwatch/reply/", "x/reply/a"] {
            assert!(!topics.is_reply(other), "{other}");
        }
    }

    #[test]
    fn invalid_levels_are_refused() {
        assert_eq!(Topics::new(""), Err(TopicError::Empty));
        assert_eq!(Topics::new("a//b"), Err(TopicError::Empty));
        assert_eq!(Topics::new("a/+"), Err(TopicError::Forbidden('+')));
        assert_eq!(Topics::new("$SYS/x"), Err(TopicError::Dollar));
        assert_eq!(Topics::check_level("a/b"), Err(TopicError::Forbidden('/')));
        assert_eq!(Topics::check_level("büro-3"), Ok(()));
    }

    #[test]
    fn the_level_of_a_session_is_unique() {
        assert_eq!(session_level(&subject("01", "fix")), "fix");
        assert_eq!(session_level(&subject("%4-7-9", "mine")), "mine.4");
        assert_eq!(session_level(&subject("%4-7-9", "a/b #1+%")), "a%2Fb %231%2B%25.4");
    }
}
