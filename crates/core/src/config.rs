//! The configuration file; `engine/config.rs` reads it. An unknown word is an error with its
//! position: a misspelt setting must not be ignored.

mod mqtt;

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::notice::Occasion;
pub use mqtt::{Address, FleetTable, MqttTable};

/// Longest time limit of a channel: the sender waits for it.
const MAX_SECONDS: u64 = 30;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The broker to publish to.
    pub mqtt: Option<MqttTable>,
    /// What other hosts may request.
    pub fleet: FleetTable,
    /// Notification channels. Without any, the terminal's bell.
    pub notify: Vec<Notify>,
}

/// One notification channel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    pub kind: Spanned<Way>,
    /// The occasions to notify of.
    #[serde(default = "raised_only")]
    pub on: Vec<Occasion>,
    /// For a command: its words. The notification is on its standard input.
    #[serde(default)]
    pub command: Vec<String>,
    /// For a webhook.
    pub url: Option<String>,
    /// The variable with the webhook's bearer token.
    pub token_env: Option<String>,
    /// The file with it, readable only for its owner.
    pub token_file: Option<String>,
    /// Time limit in seconds.
    #[serde(default = "five")]
    pub timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Bell,
    Desktop,
    Command,
    Webhook,
}

impl Way {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Desktop => "desktop",
            Self::Command => "command",
            Self::Webhook => "webhook",
        }
    }
}

fn raised_only() -> Vec<Occasion> {
    vec![Occasion::EscalationRaised]
}

fn five() -> u64 {
    5
}

impl Notify {
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// A problem in the configuration file, and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ConfigError {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

impl ConfigError {
    pub fn at(text: &str, offset: usize, problem: impl Into<String>) -> Self {
        let (line, column) = crate::suggest::place(text, offset);
        Self { line, column, problem: problem.into() }
    }
}

/// Reads a configuration file.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    let config: Config = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let is_one_table = text.get(offset..).is_some_and(|rest| rest.starts_with("[notify]"));
        let problem = if is_one_table {
            "write [[notify]]; it is an array of tables"
        } else {
            error.message()
        };
        ConfigError::at(text, offset, problem)
    })?;
    for notify in &config.notify {
        if let Some(problem) = problem(notify) {
            return Err(ConfigError::at(text, notify.kind.span().start, problem));
        }
    }
    if let Some(mqtt) = &config.mqtt {
        mqtt.check(text)?;
    }
    config.fleet.check(text)?;
    Ok(config)
}

/// Settings that contradict each other.
fn problem(notify: &Notify) -> Option<String> {
    let way = *notify.kind.get_ref();
    let word = way.as_str();
    let has_token = notify.token_env.is_some() || notify.token_file.is_some();
    match way {
        Way::Command if notify.command.is_empty() => {
            return Some("kind \"command\" needs command = [\"program\", \"argument\", …]".into());
        }
        Way::Webhook => match notify.url.as_deref() {
            None => return Some("kind \"webhook\" needs url = \"http…\"".into()),
            Some(url) => {
                if let Err(problem) = crate::web_address::parse(url) {
                    return Some(format!("url: {problem}"));
                }
            }
        },
        _ => {}
    }
    if way != Way::Command && !notify.command.is_empty() {
        return Some(format!("kind {word:?} does not take command"));
    }
    if way != Way::Webhook && (notify.url.is_some() || has_token) {
        return Some(format!("kind {word:?} does not take url or token"));
    }
    if notify.token_env.is_some() && notify.token_file.is_some() {
        return Some("set token_env or token_file, not both".into());
    }
    if !(1..=MAX_SECONDS).contains(&notify.timeout) {
        return Some(format!("timeout must be from 1 to {MAX_SECONDS} seconds"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_settings_are_read() {
        let text = "[[notify]]\nkind = 'bell'\n\n[[notify]]\nkind = 'webhook'\nurl = 'http://localhost:9/x'\n\
                    token_env = 'T'\non = ['escalation_raised', 'job_failed']\ntimeout = 3\n";
        let config = parse(text).unwrap();
        assert_eq!(config.notify[0].on, [Occasion::EscalationRaised]);
        assert_eq!(config.notify[1].limit(), Duration::from_secs(3));
        assert!(parse("").unwrap().notify.is_empty());
    }

    #[test]
    fn problems_have_a_position() {
        let said = |text: &str| parse(text).unwrap_err().to_string();
        let table = [
            ("[[notify]]\nkind = 'smoke'\n", "line 2, column 8: "),
            ("[[notify]]\nkind = 'bell'\nloud = true\n", "line 3, column 1: "),
            ("x = ", "line 1, column "),
            ("\n[notify]\nkind = 'bell'\n", "line 2, column 1: write [[notify]]"),
            ("[[notify]]\nkind = 'bell'\non = ['never']\n", "line 3, column 7: "),
            ("[[notify]]\nkind = 'command'\n", "line 2, column 8: kind \"command\" needs"),
            ("[[notify]]\nkind = 'webhook'\n", "line 2, column 8: kind \"webhook\" needs"),
            ("[[notify]]\nkind = 'webhook'\nurl = 'gopher://x'\n", "line 2, column 8: url: "),
            ("[[notify]]\nkind = 'bell'\nurl = 'http://x'\n", "line 2, column 8: kind \"bell\""),
            ("[[notify]]\nkind = 'bell'\ntimeout = 0\n", "line 2, column 8: timeout"),
        ];
        for (text, start) in table {
            assert!(said(text).starts_with(start), "{text:?}: {}", said(text));
        }
    }
}
