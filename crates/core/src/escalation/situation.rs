//! What a person is told before they choose.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Dialog, Gravity, Kind, Offer, Trigger, choices};

/// Longest first line of a problem in a headline.
const HEADLINE: usize = 200;

/// What has come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    pub trigger: Trigger,
    /// What went wrong, in a sentence or in the words of whoever failed.
    pub problem: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name or id of the session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Other work cannot be done before this is.
    #[serde(default)]
    pub blocking: bool,
    #[serde(default)]
    pub retries_left: u32,
    /// What else helps to decide, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// What the step is, so that only what can be done about it is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// The dialog that an answer is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
}

/// A name and a value: `cycle 3`, `found 2, fixed 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

impl Situation {
    pub fn new(trigger: Trigger, problem: impl Into<String>) -> Self {
        Self {
            trigger,
            problem: problem.into(),
            run: None,
            story: None,
            step: None,
            session: None,
            blocking: false,
            retries_left: 0,
            facts: Vec::new(),
            offer: None,
            dialog: None,
        }
    }

    pub fn kind(&self) -> Kind {
        let Self { blocking, retries_left, .. } = *self;
        self.trigger.kind(Gravity { blocking, retries_left })
    }

    /// What it is about: the item and the step, or the session.
    pub fn about(&self) -> String {
        let item = self.offer.as_ref().map(|offer| offer.item.clone()).filter(|i| !i.is_empty());
        let item = item.or_else(|| self.story.as_ref().map(|story| format!("story {story}")));
        let of: Vec<String> = item.into_iter().chain(self.step.clone()).collect();
        if of.is_empty() { self.session.clone().unwrap_or_default() } else { of.join(", ") }
    }

    /// One line: of what, and the problem itself; its class only where no more is known.
    pub fn headline(&self) -> String {
        let first = self.problem.lines().map(str::trim).find(|line| !line.is_empty());
        let problem = match first {
            Some(line) if line.chars().count() > HEADLINE => {
                let cut: String = line.chars().take(HEADLINE).collect();
                format!("{cut}…")
            }
            Some(line) => line.to_owned(),
            None => self.trigger.title().to_owned(),
        };
        let about = self.about();
        if about.is_empty() { problem } else { format!("{about}: {problem}") }
    }

    /// All of it, with the numbered options and where to look.
    pub fn text(&self) -> String {
        let (about, title) = (self.about(), self.trigger.title());
        let gap = if about.is_empty() { "" } else { ": " };
        let mut text = format!("DECISION NEEDED: {about}{gap}{title}\n");
        let mut line = |name: &str, value: &str| {
            let indented = value.trim_end().replace('\n', "\n            ");
            let _ = writeln!(text, "  {name:<8}  {indented}");
        };
        line("problem", &self.problem);
        for (name, value) in [("run", &self.run), ("session", &self.session)] {
            if let Some(value) = value {
                line(name, value);
            }
        }
        for fact in &self.facts {
            line(&fact.name, &fact.value);
        }
        if let Some(session) = &self.session {
            line("look", &format!("dogwatch capture {session}"));
        }
        text.push('\n');
        for (number, choice) in (1..).zip(choices(self)) {
            let _ = writeln!(text, "  {number}  {}", choice.label);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_what_happened_and_what_can_be_done() {
        let fact = |name: &str, value: &str| Fact { name: name.into(), value: value.into() };
        let situation = Situation {
            run: Some("epic-1".into()),
            story: Some("1.2".into()),
            step: Some("review".into()),
            session: Some("sa-x".into()),
            facts: vec![fact("cycle 1", "claude found 3, fixed 1"), fact("cycle 2", "found 2")],
            ..Situation::new(Trigger::ReviewLoop, "5 cycles, 2 findings left\nparser.rs:41")
        };
        assert_eq!(
            situation.text(),
            "DECISION NEEDED: story 1.2, review: the review found problems in every cycle\n\
             \x20 problem   5 cycles, 2 findings left\n            parser.rs:41\n\
             \x20 run       epic-1\n  session   sa-x\n\
             \x20 cycle 1   claude found 3, fixed 1\n  cycle 2   found 2\n\
             \x20 look      dogwatch capture sa-x\n\n\
             \x20 1  Run the step again\n  2  Run the step again with another agent\n\
             \x20 3  Take the story as it is and continue\n  4  Skip the story\n  5  Pause the run\n"
        );
        assert_eq!(situation.headline(), "story 1.2, review: 5 cycles, 2 findings left");
    }

    #[test]
    fn kept_and_read_again() {
        let kept = r#"{"trigger":"commit_failed","problem":"p","of the future":1}"#;
        let read: Situation = serde_json::from_str(kept).unwrap();
        assert_eq!(read, Situation::new(Trigger::CommitFailed, "p"));
        let headline = Situation { session: Some("s".into()), ..read }.headline();
        assert_eq!(headline, "s: p");
        let long = Situation::new(Trigger::CommitFailed, format!("\n{}", "é".repeat(300)));
        assert_eq!(long.headline().chars().count(), HEADLINE + 1);
        assert_eq!(Situation::new(Trigger::Budget, " \n").headline(), "the budget is used up");
    }
}
