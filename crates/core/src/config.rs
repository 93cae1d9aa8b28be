//! The configuration file; `engine/config.rs` reads it. An unknown word is an error with its
//! position: a misspelt setting must not be ignored.

mod heartbeat;
mod limits;
mod mcp;
mod mqtt;
mod notify;

use serde::Deserialize;
use toml::Spanned;

use crate::notify::Rule;
use crate::rules::{self, Pace, RuleTable};
use crate::usage::{BudgetRule, Price, PriceTable};
pub use heartbeat::Heartbeat;
use heartbeat::HeartbeatTable;
pub use limits::LimitsTable;
pub use mcp::McpTable;
pub use mqtt::{Address, FleetTable, MqttTable};
pub use notify::{NotifyTable, Way};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The broker to publish to.
    pub mqtt: Option<MqttTable>,
    /// What other hosts may request.
    pub fleet: FleetTable,
    /// What agents may do by `dogwatch mcp`.
    pub mcp: McpTable,
    /// Notification channels. Without any, the terminal's bell.
    pub notify: Vec<NotifyTable>,
    /// Called at intervals while dogwatch runs, so that a monitor notices when it does not.
    heartbeat: Option<HeartbeatTable>,
    /// What to do about usage limits.
    pub limits: LimitsTable,
    /// Prices of models, over the built-in ones.
    pub price: Vec<Spanned<Price>>,
    /// Worktrees of sessions.
    pub worktree: WorktreeTable,
    /// Rules that answer requests for permission.
    pub rule: Vec<RuleTable>,
    /// How often they may.
    pub rules: Pace,
    /// What to do about sessions that edit the same file.
    pub collisions: CollisionsTable,
    /// What to do about an agent that goes round in circles.
    pub on_loop: OnLoop,
    /// Limits of tokens and dollars.
    pub budget: Vec<Spanned<BudgetRule>>,
}

impl Config {
    pub fn budgets(&self) -> Vec<BudgetRule> {
        self.budget.iter().map(|rule| rule.get_ref().clone()).collect()
    }

    /// The built-in prices with the user's over them.
    pub fn prices(self) -> PriceTable {
        PriceTable::with(self.price.into_iter().map(Spanned::into_inner).collect())
    }

    /// The rules for notifications; they were checked when the file was read.
    pub fn notify_rules(&self) -> Vec<Rule> {
        self.notify.iter().filter_map(|table| table.rule().ok()).collect()
    }

    pub fn heartbeat(&self) -> Option<Heartbeat> {
        self.heartbeat.as_ref()?.read().ok()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeTable {
    /// The folder to make them in; placeholders as in `crate::worktree::names::folder`.
    pub folder: Option<String>,
}

/// `[collisions]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollisionsTable {
    /// dogwatch warns the second agent: it refuses its first write, with the reason.
    pub tell_agent: bool,
}

/// `on_loop`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLoop {
    /// dogwatch notifies the channels that subscribe to it.
    #[default]
    Notify,
    /// Its turn is interrupted as well.
    Interrupt,
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
        if let Err(problem) = notify.rule() {
            return Err(ConfigError::at(text, notify.kind.span().start, problem));
        }
    }
    for rule in &config.budget {
        if let Some(problem) = rule.get_ref().problem() {
            return Err(ConfigError::at(text, rule.span().start, problem));
        }
    }
    for price in &config.price {
        if let Some(problem) = price.get_ref().problem() {
            return Err(ConfigError::at(text, price.span().start, problem));
        }
    }
    if let Some(Err(problem)) = config.heartbeat.as_ref().map(HeartbeatTable::read) {
        let offset = text.find("heartbeat").unwrap_or(0);
        return Err(ConfigError::at(text, offset, problem));
    }
    if let Some(mqtt) = &config.mqtt {
        mqtt.check(text)?;
    }
    config.fleet.check(text)?;
    rules::read(&config.rule, text)?;
    config.mcp.check(text)?;
    config.limits.check(text)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::On;
    use std::time::Duration;

    #[test]
    fn valid_settings_are_read() {
        let text = "[[notify]]\nkind = 'bell'\n\n[[notify]]\nkind = 'webhook'\nurl = 'http://localhost:9/x'\n\
                    token_env = 'T'\non = ['escalation_raised', 'job_failed']\ntimeout = 3\n";
        let rules = parse(text).unwrap().notify_rules();
        assert_eq!(rules[0].on, [On::EscalationRaised]);
        assert_eq!(rules[1].limit, Duration::from_secs(3));
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
