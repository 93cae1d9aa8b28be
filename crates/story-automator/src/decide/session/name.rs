//! The name of a step's session.

use std::path::Path;

use jiff::civil::DateTime;

use dogwatch_core::name::{self, StoryStep};

/// Longest accepted name.
const LONGEST: usize = 160;

/// The name as tmux keeps it: tmux replaces dots.
///
/// An invalid name is returned too; only `spawn` refuses it.
pub fn of_step(project: &Path, step: &StoryStep, now: DateTime) -> String {
    match name::story_name(project, step, now) {
        Ok(name) => name.to_string(),
        Err(_) => name::story_text(project, step, now).replace('.', "-"),
    }
}

/// Whether a text can be a session name.
pub fn is_valid(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=LONGEST).contains(&name.len()) && name.chars().all(is_allowed)
}

/// A story's id as part of a name.
pub fn suffix(story: &str) -> String {
    story.replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps() {
        let now = jiff::civil::date(2026, 11, 15).at(8, 13, 18, 0);
        let step = |step: &str, epic: &str, story: &str, cycle: Option<&str>| StoryStep {
            step: step.into(),
            epic: epic.into(),
            story: story.into(),
            cycle: cycle.map(Into::into),
        };
        let of = |at: &StoryStep| of_step(Path::new("/srv/demo-app"), at, now);
        for (at, expected) in [
            (step("dev", "6", "6.2", None), "sa-demoapp-261115-081318-e6-s6-2-dev"),
            (step("dev", "1.5", "1.5.2", None), "sa-demoapp-261115-081318-e1-5-s1-5-2-dev"),
            (step("review", "6", "6.2", Some("3")), "sa-demoapp-261115-081318-e6-s6-2-review-r3"),
            (step("retro", "", "1", None), "sa-demoapp-261115-081318-e-s1-retro"),
            (step("a b", "1", "1.1", None), "sa-demoapp-261115-081318-e1-s1-1-a b"),
        ] {
            assert_eq!(of(&at), expected);
        }
    }

    #[test]
    fn valid_and_invalid_names() {
        for good in ["a", "sa-x.1_2", &"x".repeat(160)] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "=a", "a:", &"x".repeat(161)] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
