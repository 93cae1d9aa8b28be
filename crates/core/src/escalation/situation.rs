//! The text of a question.

use std::fmt::Write;

use super::{Situation, choices};

/// The whole text, with the numbered options and where to look.
pub fn text(situation: &Situation) -> String {
    let (about, title) = (situation.about(), situation.trigger.title());
    let gap = if about.is_empty() { "" } else { ": " };
    let mut text = format!("DECISION NEEDED: {about}{gap}{title}\n");
    let mut line = |name: &str, value: &str| {
        let indented = value.trim_end().replace('\n', "\n            ");
        let _ = writeln!(text, "  {name:<8}  {indented}");
    };
    line("problem", &situation.problem);
    for (name, value) in [("run", &situation.run), ("session", &situation.session)] {
        if let Some(value) = value {
            line(name, value);
        }
    }
    for fact in &situation.facts {
        line(&fact.name, &fact.value);
    }
    if let Some(session) = &situation.session {
        line("look", &format!("dogwatch capture {session}"));
    }
    text.push('\n');
    for (number, choice) in (1..).zip(choices(situation)) {
        let _ = writeln!(text, "  {number}  {}", choice.label);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escalation::{Fact, Trigger};

    #[test]
    fn the_text_has_what_happened_and_the_options() {
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
            text(&situation),
            "DECISION NEEDED: story 1.2, review: the review found problems in every cycle\n\
             \x20 problem   5 cycles, 2 findings left\n            parser.rs:41\n\
             \x20 run       epic-1\n  session   sa-x\n\
             \x20 cycle 1   claude found 3, fixed 1\n  cycle 2   found 2\n\
             \x20 look      dogwatch capture sa-x\n\n\
             \x20 1  Run the step again\n  2  Run the step again with another agent\n\
             \x20 3  Accept the story as is and continue\n  4  Skip the story\n  5  Pause the run\n"
        );
        assert_eq!(situation.headline(), "story 1.2, review: 5 cycles, 2 findings left");
    }

    #[test]
    fn a_situation_is_stored_and_read_again() {
        let kept = r#"{"trigger":"commit_failed","problem":"p","of the future":1}"#;
        let read: Situation = serde_json::from_str(kept).unwrap();
        assert_eq!(read, Situation::new(Trigger::CommitFailed, "p"));
        let headline = Situation { session: Some("s".into()), ..read }.headline();
        assert_eq!(headline, "s: p");
        let long = Situation::new(Trigger::CommitFailed, format!("\n{}", "é".repeat(300)));
        assert_eq!(long.headline().chars().count(), 201);
        assert_eq!(Situation::new(Trigger::Budget, " \n").headline(), "the budget is used up");
    }
}
