//! Whether a rule wants an event, and when it is due.

use std::time::Duration;

use dogwatch_base::glob::Pattern;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::{Channel, Quiet};
use crate::notice::Occasion;
use crate::status::WaitFor;

/// What a rule is for. The names are those of the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    Waiting,
    Done,
    Error,
    Limited,
    Crashed,
    Stuck,
    Looping,
    /// Two sessions edit the same file.
    Collision,
    /// A budget is used up.
    Budget,
    /// A decision is needed: an escalation was raised, or an agent asks a question.
    Question,
    /// A job is done or has failed.
    Job,
    Drift,
    EscalationRaised,
    EscalationAnswered,
    JobDone,
    JobFailed,
}

impl On {
    fn wants(self, facts: &Facts) -> bool {
        let asks = facts.dialog == Some(WaitFor::Question);
        match facts.occasion {
            Occasion::Waiting => self == Self::Waiting || (self == Self::Question && asks),
            Occasion::Done => self == Self::Done,
            Occasion::Error => self == Self::Error,
            Occasion::Limited => self == Self::Limited,
            Occasion::Crashed => self == Self::Crashed,
            Occasion::Stuck => self == Self::Stuck,
            Occasion::Looping => self == Self::Looping,
            Occasion::Collision => self == Self::Collision,
            Occasion::Budget => self == Self::Budget,
            Occasion::EscalationRaised => matches!(self, Self::Question | Self::EscalationRaised),
            Occasion::EscalationAnswered => self == Self::EscalationAnswered,
            Occasion::JobDone => matches!(self, Self::Job | Self::JobDone),
            Occasion::JobFailed => matches!(self, Self::Job | Self::JobFailed),
            Occasion::Drift => self == Self::Drift,
            Occasion::Test | Occasion::Several => false,
        }
    }

    /// Whether it is about what sessions are doing, so that somebody has to look at them.
    pub fn is_about_sessions(self) -> bool {
        !matches!(
            self,
            Self::Job
                | Self::Drift
                | Self::EscalationRaised
                | Self::EscalationAnswered
                | Self::JobDone
                | Self::JobFailed
        )
    }
}

/// What is known of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub occasion: Occasion,
    pub about: Option<About>,
    pub dialog: Option<WaitFor>,
    /// How long it must hold before anybody is told.
    pub hold: Duration,
}

/// The session that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    pub id: String,
    pub name: String,
    pub agent: String,
    /// The directory of its project.
    pub project: String,
    pub tags: Vec<String>,
}

/// Which events a rule is for, beside their occasion. Empty lists let everything pass.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Patterns of a project's directory, or of its last part.
    pub project: Vec<String>,
    pub tag: Vec<String>,
    pub agent: Vec<String>,
    /// Patterns of a session's name, or its id.
    pub session: Vec<String>,
    pub dialog: Vec<WaitFor>,
}

impl Filter {
    fn lets_pass(&self, facts: &Facts) -> bool {
        let nobody = About::default();
        let about = facts.about.as_ref().unwrap_or(&nobody);
        let folder = about.project.rsplit('/').next().unwrap_or_default();
        let tags: Vec<&str> = about.tags.iter().map(String::as_str).collect();
        fits(&self.project, &[&about.project, folder])
            && fits(&self.tag, &tags)
            && fits(&self.agent, &[&about.agent])
            && fits(&self.session, &[&about.name, &about.id])
            // Of what is no dialog, its kind says nothing.
            && (self.dialog.is_empty()
                || facts.dialog.is_none_or(|dialog| self.dialog.contains(&dialog)))
    }
}

fn fits(patterns: &[String], values: &[&str]) -> bool {
    let fits = |pattern: &String| {
        let text = pattern.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(pattern);
        let pattern = Pattern::new(text);
        values.iter().any(|value| !value.is_empty() && pattern.fits(value))
    };
    patterns.is_empty() || patterns.iter().any(fits)
}

/// When an attached person makes a notification superfluous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnlessAttached {
    /// Somebody is attached to the session.
    Session,
    /// Somebody is attached to any session of its tmux server.
    Server,
}

impl UnlessAttached {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Server => "server",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Session, Self::Server].into_iter().find(|one| one.as_str() == word)
    }
}

/// One `[[notify]]` table.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The name of its channel, if it has one.
    pub name: Option<String>,
    pub channel: Channel,
    pub on: Vec<On>,
    pub filter: Filter,
    pub after: Duration,
    pub quiet: Quiet,
    pub unless_attached: Option<UnlessAttached>,
    /// How long to wait for further notifications that can be sent together.
    pub batch: Duration,
    /// Time limit of one try.
    pub limit: Duration,
}

impl Rule {
    pub fn channel_id(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.channel.id())
    }

    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.channel.label())
    }

    /// Whether the rule wants the event.
    pub fn wants(&self, facts: &Facts) -> bool {
        self.on.iter().any(|on| on.wants(facts)) && self.filter.lets_pass(facts)
    }

    /// Whether somebody has to look at sessions for its sake.
    pub fn is_about_sessions(&self) -> bool {
        self.on.iter().any(|on| on.is_about_sessions())
    }

    /// The first moment from this one on that is not in its quiet hours.
    pub fn not_quiet(&self, at: Timestamp, zone: &TimeZone) -> Timestamp {
        self.quiet.end(&at.to_zoned(zone.clone())).map_or(at, |end| end.timestamp())
    }
}

/// A notification on one channel, not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub channel: String,
    pub label: String,
    /// Not before.
    pub due: Timestamp,
    /// Whether it must still be true when it is due.
    pub is_deferred: bool,
    pub batch: Duration,
    pub unless_attached: Option<UnlessAttached>,
}

/// Where and when an event is told: each channel once, by the rule that is due first.
pub fn plan(rules: &[Rule], facts: &Facts, at: Timestamp, zone: &TimeZone) -> Vec<Planned> {
    let mut all: Vec<Planned> = Vec::new();
    for rule in rules.iter().filter(|rule| rule.wants(facts)) {
        let wait = SignedDuration::try_from(rule.after.max(facts.hold)).unwrap_or_default();
        let due = rule.not_quiet(at.checked_add(wait).unwrap_or(at), zone);
        let one = Planned {
            channel: rule.channel_id(),
            label: rule.label(),
            due,
            is_deferred: due > at,
            batch: rule.batch,
            unless_attached: rule.unless_attached,
        };
        match all.iter_mut().find(|known| known.channel == one.channel) {
            // One that does not ask who is attached goes before one that does.
            Some(known) => {
                let rank = |one: &Planned| (one.unless_attached.is_some(), one.due);
                if rank(&one) < rank(known) {
                    *known = one;
                }
            }
            None => all.push(one),
        }
    }
    all
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
