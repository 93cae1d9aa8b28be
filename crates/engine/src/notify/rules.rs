//! What the configuration says of notifications.

use std::time::Duration;

use dogwatch_base::log::LoggedIo as _;
use dogwatch_core::config::Config;
use dogwatch_core::notify::{Channel, Facts, Filter, On, Planned, Quiet, Rule, plan};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{Context, Error, config, environment};

/// Limit for the bell, which needs no network.
const BELL: Duration = Duration::from_secs(2);

/// What the configuration says of notifications. Without any, a question rings the bell.
#[derive(Debug)]
pub struct Rules {
    pub rules: Vec<Rule>,
    /// There is no table.
    pub is_default: bool,
    /// Since when the configuration is as it is; `None` without one.
    pub since: Option<Timestamp>,
    pub(super) zone: TimeZone,
}

impl Rules {
    pub fn read(context: &Context) -> Result<Self, Error> {
        let rules = Self::of(&config::read(context)?);
        let written = context.config.as_deref().and_then(|file| {
            std::fs::metadata(file)
                .and_then(|about| about.modified())
                .logged_unless_missing("look at a file")
        });
        Ok(Self { since: written.and_then(|at| Timestamp::try_from(at).ok()), ..rules })
    }

    pub(super) fn of(config: &Config) -> Self {
        let rules = if config.notify.is_empty() { vec![bell()] } else { config.notify_rules() };
        let is_default = config.notify.is_empty();
        Self { rules, is_default, since: None, zone: environment::local_time().time_zone().clone() }
    }

    pub(super) fn plan(&self, facts: &Facts, at: Timestamp) -> Vec<Planned> {
        plan(&self.rules, facts, at, &self.zone)
    }
}

fn bell() -> Rule {
    Rule {
        name: None,
        channel: Channel::Bell,
        on: vec![On::EscalationRaised],
        filter: Filter::default(),
        after: Duration::ZERO,
        quiet: Quiet::default(),
        unless_attached: None,
        batch: Duration::ZERO,
        limit: BELL,
    }
}
