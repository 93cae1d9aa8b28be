//! The address that is called while dogwatch runs.

use std::time::Duration;

use serde::Deserialize;

use super::notify::Time;

const EVERY: Duration = Duration::from_mins(1);
const LEAST: Duration = Duration::from_secs(1);

/// `heartbeat = "URL"`, or a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a URL, or a table with url and every")]
pub(super) enum HeartbeatTable {
    Url(String),
    Table(Fields),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    url: Option<String>,
    /// The file with the address, if that is a secret. Relative to the configuration file.
    url_file: Option<String>,
    every: Option<Time>,
}

/// Where and how often to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    pub url: crate::notify::Secret,
    pub every: Duration,
}

impl HeartbeatTable {
    pub(super) fn read(&self) -> Result<Heartbeat, String> {
        use crate::notify::Secret;
        let plain = |url: &String| {
            crate::web_address::parse(url).map_err(|problem| format!("heartbeat: {problem}"))?;
            Ok::<_, String>(Secret::Plain(url.clone()))
        };
        let (url, every) = match self {
            Self::Url(url) => (plain(url)?, EVERY),
            Self::Table(Fields { url, url_file, every }) => {
                let url = match (url, url_file) {
                    (Some(url), None) => plain(url)?,
                    (None, Some(file)) => Secret::File(file.clone()),
                    _ => return Err("heartbeat: set url or url_file".to_owned()),
                };
                let every = every.as_ref().map(Time::read).transpose();
                (
                    url,
                    every
                        .map_err(|problem| format!("heartbeat: every: {problem}"))?
                        .unwrap_or(EVERY),
                )
            }
        };
        if every < LEAST {
            return Err("heartbeat: every must be at least 1 second".to_owned());
        }
        Ok(Heartbeat { url, every })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::notify::Secret;

    #[test]
    fn an_address_alone_or_a_table() {
        let read = |text: &str| parse(text).unwrap().heartbeat();
        let plain = || Secret::Plain("https://hc.example.org/x".to_owned());
        let one = read("heartbeat = 'https://hc.example.org/x'");
        assert_eq!(one, Some(Heartbeat { url: plain(), every: EVERY }));
        let table = read("[heartbeat]\nurl = 'https://hc.example.org/x'\nevery = '30s'");
        assert_eq!(table, Some(Heartbeat { url: plain(), every: Duration::from_secs(30) }));
        let hidden = read("heartbeat = { url_file = 'beat', every = 5 }").unwrap();
        assert_eq!(hidden.url, Secret::File("beat".into()));
        assert_eq!(read(""), None);
    }

    #[test]
    fn mistakes() {
        for text in [
            "heartbeat = 'example.org'",
            "heartbeat = 3",
            "[heartbeat]\nevery = 5",
            "[heartbeat]\nurl = 'http://x'\nevery = 0",
            "[heartbeat]\nurl = 'http://x'\nevery = 'often'",
            "[heartbeat]\nurl = 'http://x'\nurls = 'x'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
