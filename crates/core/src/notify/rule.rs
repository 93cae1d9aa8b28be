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

    /// Whether it can be for this occasion, whatever the dialog is.
    fn may_want(self, occasion: Occasion) -> bool {
        let asked = [None, Some(WaitFor::Question)];
        asked.into_iter().any(|dialog| {
            self.wants(&Facts { occasion, about: None, dialog, hold: Duration::ZERO })
        })
    }
}

/// What is known of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub occasion: Occasion,
    pub about: Option<About>,
    pub dialog: Option<WaitFor>,
    /// How long it must hold before dogwatch notifies.
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
    /// A client is attached to the session.
    Session,
    /// A client is attached to any session of its tmux server.
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

    /// When an event that happened then is due.
    fn due(&self, facts: &Facts, at: Timestamp, zone: &TimeZone) -> Timestamp {
        let wait = SignedDuration::try_from(self.after.max(facts.hold)).unwrap_or_default();
        self.not_quiet(at.checked_add(wait).unwrap_or(at), zone)
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

/// When a channel that failed may be tried again: as soon as one of the rules that may have sent it is not quiet.
pub fn next_try(
    rules: &[Rule],
    channel: &str,
    occasion: Occasion,
    at: Timestamp,
    zone: &TimeZone,
) -> Timestamp {
    let of_channel = |rule: &&Rule| {
        rule.channel_id() == channel && rule.on.iter().any(|on| on.may_want(occasion))
    };
    let times = rules.iter().filter(of_channel).map(|rule| rule.not_quiet(at, zone));
    times.min().unwrap_or(at)
}

/// When an event is due on a channel by a rule that does not ask who is attached.
pub fn due_regardless(
    rules: &[Rule],
    channel: &str,
    facts: &Facts,
    at: Timestamp,
    zone: &TimeZone,
) -> Option<Timestamp> {
    let fits = |rule: &&Rule| {
        rule.channel_id() == channel
            && rule.unless_attached.is_none()
            && rule.on.iter().any(|on| on.may_want(facts.occasion))
            && rule.filter.lets_pass(facts)
    };
    rules.iter().filter(fits).map(|rule| rule.due(facts, at, zone)).min()
}

/// Where and when an event is sent: to each channel once, by the rule that is due first.
pub fn plan(rules: &[Rule], facts: &Facts, at: Timestamp, zone: &TimeZone) -> Vec<Planned> {
    let mut all: Vec<Planned> = Vec::new();
    for rule in rules.iter().filter(|rule| rule.wants(facts)) {
        let due = rule.due(facts, at, zone);
        let one = Planned {
            channel: rule.channel_id(),
            label: rule.label(),
            due,
            is_deferred: due > at,
            batch: rule.batch,
            unless_attached: rule.unless_attached,
        };
        match all.iter_mut().find(|known| known.channel == one.channel) {
            // Of two at the same time, the one that does not ask who is attached. A later one of that kind is not lost: see
            // `due_regardless`.
            Some(known) => {
                let rank = |one: &Planned| (one.due, one.unless_attached.is_some());
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
