//! The configuration of the broker, and of what other hosts may request.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use crate::fleet::{SpawnTerms, Topics, Verb};

/// The broker's address, and our credentials.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqttTable {
    url: Spanned<String>,
    prefix: Option<Spanned<String>>,
    host: Option<Spanned<String>>,
    pub user: Option<String>,
    /// Relative to the configuration file, as is the next.
    pub password_file: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
}

/// What other hosts may request; nothing by default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FleetTable {
    allow: Vec<Spanned<String>>,
    spawn: SpawnTable,
}

/// Where and how agents are started for other hosts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SpawnTable {
    folders: Vec<Spanned<String>>,
    unattended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

impl MqttTable {
    pub(super) fn check(&self, text: &str) -> Result<(), ConfigError> {
        let at = |word: &Spanned<String>, problem: String| {
            Err(ConfigError::at(text, word.span().start, problem))
        };
        if let Err(problem) = Address::parse(self.url.get_ref()) {
            return at(&self.url, problem);
        }
        if let Some(prefix) = &self.prefix
            && let Err(problem) = Topics::new(prefix.get_ref())
        {
            let named = prefix.get_ref();
            return at(prefix, format!("invalid prefix {named:?}: {problem}"));
        }
        if let Some(host) = &self.host {
            let name = host.get_ref();
            if let Err(problem) = Topics::check_level(name) {
                return at(host, format!("invalid host {name:?}: {problem}"));
            }
            // Reserved for replies.
            if name == "reply" {
                return at(host, "the host name \"reply\" is reserved for replies".to_owned());
            }
        }
        Ok(())
    }

    pub fn address(&self) -> Result<Address, String> {
        Address::parse(self.url.get_ref())
    }

    pub fn topics(&self) -> Topics {
        let prefix = self.prefix.as_ref().map_or(Topics::PREFIX, |prefix| prefix.get_ref());
        Topics::new(prefix).unwrap_or_default()
    }

    /// The name of this host in topics, by the machine's name unless it has one of its own.
    pub fn host(&self, machine: &str) -> String {
        match &self.host {
            Some(host) => host.get_ref().clone(),
            None => machine.replace(['/', '+', '#'], "-"),
        }
    }
}

impl FleetTable {
    pub(super) fn check(&self, text: &str) -> Result<(), ConfigError> {
        let is_named = |folder: &&Spanned<String>| {
            let folder = folder.get_ref();
            !folder.starts_with('/') && folder != "~" && !folder.starts_with("~/")
        };
        if let Some(folder) = self.spawn.folders.iter().find(is_named) {
            let problem = format!("{:?} is not an absolute path", folder.get_ref());
            return Err(ConfigError::at(text, folder.span().start, problem));
        }
        let unknown = self.allow.iter().find(|word| Verb::from_word(word.get_ref()).is_none());
        let Some(word) = unknown else { return Ok(()) };
        let known = Verb::ALL.map(Verb::as_str).join(", ");
        let problem = format!("unknown verb {:?}; known verbs: {known}", word.get_ref());
        Err(ConfigError::at(text, word.span().start, problem))
    }

    /// The verbs that are carried out for others.
    pub fn allow(&self) -> Vec<&'static str> {
        let verbs = self.allow.iter().filter_map(|word| Verb::from_word(word.get_ref()));
        verbs.map(Verb::as_str).collect()
    }

    /// Where agents are started for others; `~` is the home folder, and means nothing where there is none.
    pub fn spawn_terms(&self, home: Option<&Path>) -> SpawnTerms {
        let folder = |folder: &Spanned<String>| match folder.get_ref().strip_prefix('~') {
            Some(rest) => home.map(|home| home.join(rest.trim_start_matches('/'))),
            None => Some(PathBuf::from(folder.get_ref())),
        };
        let folders = self.spawn.folders.iter().filter_map(folder).collect();
        SpawnTerms { folders, unattended: self.spawn.unattended }
    }
}

impl Address {
    fn parse(url: &str) -> Result<Self, String> {
        let (tls, rest) = match url.split_once("://") {
            Some(("mqtt", rest)) => (false, rest),
            Some(("mqtts", rest)) => (true, rest),
            _ => {
                return Err(format!(
                    "{url:?} is not of the form mqtt://HOST:PORT or mqtts://HOST:PORT"
                ));
            }
        };
        if rest.contains('@') {
            return Err("the url must not contain user or password; use `user`, and `password_file` or DOGWATCH_MQTT_PASSWORD".to_owned());
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').filter(|port| !port.is_empty())),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() || host.contains('/') {
            return Err(format!("{url:?} has no host"));
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| format!("{port:?} is not a port"))?,
            None if tls => 8883,
            None => 1883,
        };
        Ok(Self { host: host.to_owned(), port, tls })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_broker_and_what_is_allowed() {
        let text = "[mqtt]\nurl = 'mqtts://[::1]:8884'\nprefix = 'team/x'\nhost = 'desk'\nuser = 'me'\n\
                    [fleet]\nallow = ['kill', 'send']\n[fleet.spawn]\nfolders = ['~/src', '/srv']";
        let config = parse(text).unwrap();
        let terms = config.fleet.spawn_terms(Some(Path::new("/home/me")));
        assert_eq!(terms.folders, [Path::new("/home/me/src"), Path::new("/srv")]);
        assert!(!terms.unattended, "only if it is said");
        assert_eq!(config.fleet.spawn_terms(None).folders, [Path::new("/srv")]);
        assert_eq!(config.fleet.allow(), ["kill", "send"]);
        let mqtt = config.mqtt.unwrap();
        let address = mqtt.address().unwrap();
        assert_eq!(address, Address { host: "::1".into(), port: 8884, tls: true });
        assert_eq!(address.to_string(), "mqtts://[::1]:8884");
        assert_eq!(mqtt.topics().status(&mqtt.host("box")), "team/x/desk/status");
        let plain = parse("[mqtt]\nurl = 'mqtt://broker'").unwrap().mqtt.unwrap();
        assert_eq!(plain.address().unwrap().port, 1883);
        assert_eq!(plain.topics().status(&plain.host("a/b")), "dogwatch/a-b/status");
        assert!(parse("").unwrap().fleet.allow().is_empty(), "nothing unless it is named");
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let table = [
            ("[mqtt]\nurl = ", 2, "string"),
            ("[mqtt]\nurl = 'mqtt://x'\n  prefx = 'y'", 3, "prefx"),
            ("[mqtt]\nurl = 'http://x'", 2, "mqtt://HOST:PORT"),
            ("[mqtt]\nurl = 'mqtt://me:secret@x'", 2, "password_file"),
            ("[mqtt]\nurl = 'mqtt://x:99999'", 2, "99999"),
            ("[mqtt]\nurl = 'mqtt://x'\nprefix = 'a/+'", 3, "'+'"),
            ("[mqtt]\nurl = 'mqtt://x'\nhost = 'a/b'", 3, "'/'"),
            ("[mqtt]\nurl = 'mqtt://x'\nhost = 'reply'", 3, "reply"),
            ("[mqtt]\nprefix = 'x'", 1, "url"),
            ("[fleet]\nallow = ['send',\n  'format']", 3, "format"),
            ("[fleet.spawn]\nfolders = ['/x',\n 'src']", 3, "not an absolute path"),
            ("[fleet.spawn]\nfolder = ['/x']", 2, "folder"),
            ("[mqt]", 1, "mqt"),
        ];
        for (text, line, says) in table {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.problem.contains(says), "{text}: {error}");
            assert!(!error.problem.contains("secret"), "{error}");
        }
    }
}
