//! Where things are told: one prefix, one branch a host.

use crate::event::Subject;

/// Why a word cannot be part of a topic.
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
    /// An event, of a session or of the host itself.
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
    /// The prefix where none is set.
    pub const PREFIX: &str = "dogwatch";

    /// A prefix may have several levels, each of them plain.
    pub fn new(prefix: &str) -> Result<Self, TopicError> {
        if prefix.starts_with('$') {
            return Err(TopicError::Dollar);
        }
        prefix.split('/').try_for_each(Self::check_level)?;
        Ok(Self { prefix: prefix.to_owned() })
    }

    /// Whether a word can be one level of a topic, as a host's name must be.
    pub fn check_level(level: &str) -> Result<(), TopicError> {
        if level.is_empty() {
            return Err(TopicError::Empty);
        }
        match level.chars().find(|c| matches!(c, '/' | '+' | '#') || c.is_control()) {
            Some(found) => Err(TopicError::Forbidden(found)),
            None => Ok(()),
        }
    }

    pub fn status(&self, host: &str) -> String {
        format!("{}/{host}/status", self.prefix)
    }

    pub fn state(&self, host: &str, session: &str) -> String {
        format!("{}/{host}/session/{session}/state", self.prefix)
    }

    /// Where an event is told: on the branch of its session, or of the host.
    pub fn event(&self, host: &str, subject: Option<&Subject>) -> String {
        match subject.map(session_level) {
            Some(session) => format!("{}/{host}/session/{session}/event", self.prefix),
            None => format!("{}/{host}/event", self.prefix),
        }
    }

    pub fn request(&self, host: &str, verb: &str) -> String {
        format!("{}/{host}/request/{verb}", self.prefix)
    }

    /// Where answers go. Hosts answer nowhere else, so that a request cannot make them talk to others.
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

/// A session's level in a topic: its name if it is one of ours, which is unique on the host. One that others started has the
/// name of its tmux session, which several panes share, so the number of its pane goes with it; names of ours have no dots.
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
    fn said_and_read_back() {
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
    fn words_that_cannot_be_part_of_a_topic() {
        assert_eq!(Topics::new(""), Err(TopicError::Empty));
        assert_eq!(Topics::new("a//b"), Err(TopicError::Empty));
        assert_eq!(Topics::new("a/+"), Err(TopicError::Forbidden('+')));
        assert_eq!(Topics::new("$SYS/x"), Err(TopicError::Dollar));
        assert_eq!(Topics::check_level("a/b"), Err(TopicError::Forbidden('/')));
        assert_eq!(Topics::check_level("büro-3"), Ok(()));
    }

    #[test]
    fn levels_of_sessions() {
        assert_eq!(session_level(&subject("01", "fix")), "fix");
        assert_eq!(session_level(&subject("%4-7-9", "mine")), "mine.4");
        assert_eq!(session_level(&subject("%4-7-9", "a/b #1+%")), "a%2Fb %231%2B%25.4");
    }
}
