use jiff::SignedDuration;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use crate::limits::WhenLimited;

/// The message to an agent when its limit is over.
const CONTINUE: &str = "Continue where you left off.";
/// Longest message.
const MOST_LETTERS: usize = 2000;

/// `[limits]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsTable {
    /// For sessions that are started without `--when-limited`.
    pub when_limited: WhenLimited,
    /// The message to the agent.
    pub message: Spanned<String>,
    /// How long to wait where the agent gave no time, in seconds; doubled each time.
    pub retry_after: Spanned<u32>,
}

impl Default for LimitsTable {
    fn default() -> Self {
        Self {
            when_limited: WhenLimited::Notify,
            message: Spanned::new(0..0, CONTINUE.to_owned()),
            retry_after: Spanned::new(0..0, 300),
        }
    }
}

impl LimitsTable {
    pub fn retry_after(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(*self.retry_after.get_ref()))
    }

    pub(super) fn check(&self, text: &str) -> Result<(), ConfigError> {
        let message = self.message.get_ref();
        let is_long = message.chars().count() > MOST_LETTERS;
        if message.trim().is_empty() || is_long || message.starts_with(['/', '!', '#']) {
            let problem = format!(
                "message must be a text of at most {MOST_LETTERS} characters, and no command"
            );
            return Err(ConfigError::at(text, self.message.span().start, problem));
        }
        if !(1..=86_400).contains(self.retry_after.get_ref()) {
            let problem = "retry_after must be from 1 to 86400 seconds";
            return Err(ConfigError::at(text, self.retry_after.span().start, problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn off_unless_it_is_turned_on() {
        let config = parse("").unwrap();
        assert_eq!(config.limits.when_limited, WhenLimited::Notify);
        assert_eq!(config.limits.retry_after(), SignedDuration::from_mins(5));
        let text =
            "[limits]\nwhen_limited = 'switch:small'\nmessage = 'Go on.'\nretry_after = 60\n";
        let config = parse(text).unwrap();
        assert_eq!(config.limits.when_limited, WhenLimited::Switch("small".into()));
        assert_eq!(config.limits.message.get_ref(), "Go on.");
    }

    #[test]
    fn problems_have_a_position() {
        for (text, start) in [
            ("[limits]\nwhen_limited = 'later'\n", "line 2, column 16: unknown policy \"later\""),
            ("[limits]\nretry_after = 0\n", "line 2, column 15: retry_after"),
            ("[limits]\nmessage = '/clear'\n", "line 2, column 11: message"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.starts_with(start), "{text:?}: {said}");
        }
    }
}
