//! Estimates the work on a story: points for topics in its text, and for its size.

use std::sync::LazyLock;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::epic_file::Parts;

/// The built-in rules. They match whole words: `sse` is not found in `assess`.
static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a test reads the built-in file")]
    let value: Value =
        toml::from_str(include_str!("../../data/complexity.toml")).expect("invariant: it is TOML");
    #[expect(clippy::expect_used, reason = "a test reads the built-in file")]
    Rules::new(&value).expect("invariant: its patterns are right")
});

/// Default limits: up to 3 points are low, up to 7 medium.
const LOW_MAX: i64 = 3;
const MEDIUM_MAX: i64 = 7;

#[derive(Debug, Clone)]
pub struct Rules {
    low_max: i64,
    medium_max: i64,
    structure: Map<String, Value>,
    cues: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    label: String,
    pattern: Regex,
    score: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Complexity {
    pub score: i64,
    pub level: &'static str,
    pub reasons: Vec<String>,
}

/// Why a file of rules is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("not an object")]
    NoObject,
    #[error("rule {rule}: {pattern}: {fault}")]
    Pattern { rule: String, pattern: String, fault: String },
}

impl Rules {
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    pub fn new(file: &Value) -> Result<Self, RulesError> {
        let file = file.as_object().ok_or(RulesError::NoObject)?;
        let threshold = |name: &str| file.get("thresholds")?.get(name).map(whole);
        let rules = file.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Ok(Self {
            low_max: threshold("low_max").unwrap_or(LOW_MAX),
            medium_max: threshold("medium_max").unwrap_or(MEDIUM_MAX),
            structure: file
                .get("structural_rules")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            cues: rules.iter().filter_map(|one| rule(one).transpose()).collect::<Result<_, _>>()?,
        })
    }

    pub fn judge(&self, title: &str, parts: &Parts) -> Complexity {
        let text = format!("{title} {} {}", parts.description, parts.criteria.join(" "));
        let mut score = 0;
        let mut reasons = Vec::new();
        for rule in self.cues.iter().filter(|rule| rule.pattern.is_match(&text)) {
            score += rule.score;
            reasons.push(rule.label.clone());
        }
        let size = |name: &str| self.structure.get(name).map_or(0, whole);
        // A limit of 0 is no limit.
        let above = |count: usize, name: &str| {
            let limit = size(name);
            limit > 0 && i64::try_from(count).unwrap_or(i64::MAX) > limit
        };
        let criteria = parts.criteria.len();
        if above(criteria, "ac_count_high") {
            score += size("ac_count_high_score");
            reasons.push(format!("High AC count ({criteria})"));
        } else if above(criteria, "ac_count_medium") {
            score += size("ac_count_medium_score");
            reasons.push(format!("Elevated AC count ({criteria})"));
        }
        if size("dependency_score") != 0 && says_something(&parts.dependencies) {
            score += size("dependency_score");
            reasons.push("Has explicit dependencies".to_owned());
        }
        let words = text.split_whitespace().count();
        if above(words, "large_story_word_threshold") {
            score += size("large_story_score");
            reasons.push(format!("Large story ({words} words)"));
        }
        let level = match score {
            score if score <= self.low_max => "Low",
            score if score <= self.medium_max => "Medium",
            _ => "High",
        };
        Complexity { score, level, reasons }
    }
}

/// `None` for a rule without patterns.
fn rule(rule: &Value) -> Result<Option<Rule>, RulesError> {
    let text = |name: &str| rule.get(name).and_then(Value::as_str);
    let label = text("label").or_else(|| text("id")).unwrap_or_default().to_owned();
    let pattern = text("pattern").unwrap_or_default();
    let fault = |fault: String| RulesError::Pattern {
        rule: text("id").unwrap_or(&label).to_owned(),
        pattern: pattern.to_owned(),
        fault,
    };
    if pattern.is_empty() {
        return Ok(None);
    }
    let regex = RegexBuilder::new(pattern).case_insensitive(true).build();
    Ok(Some(Rule {
        pattern: regex.map_err(|error| fault(error.to_string()))?,
        score: rule.get("score").map_or(0, whole),
        label,
    }))
}

/// A number in any notation, without its fraction.
fn whole(value: &Value) -> i64 {
    match value {
        Value::Number(number) => number.as_i64().unwrap_or_else(|| {
            #[expect(clippy::cast_possible_truncation, reason = "meant, and points are small")]
            number.as_f64().map_or(0, |number| number as i64)
        }),
        Value::String(text) => text.trim().parse().unwrap_or(0),
        _ => 0,
    }
}

/// `none`, `None (standalone)` and `N/A` mean no dependencies.
fn says_something(dependencies: &str) -> bool {
    let first = dependencies.split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches([',', '.', ';']).to_lowercase();
    !matches!(first.as_str(), "" | "none" | "n/a" | "-" | "–" | "—")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(description: &str, criteria: usize, dependencies: &str) -> Parts {
        Parts {
            description: description.to_owned(),
            criteria: (0..criteria).map(|number| format!("- {number}")).collect(),
            dependencies: dependencies.to_owned(),
        }
    }

    #[test]
    fn a_file_of_rules_is_applied() {
        let rules = serde_json::json!({
            "thresholds": {"low_max": 1, "medium_max": 3},
            "structural_rules": {"ac_count_medium": 1, "ac_count_high": 2, "ac_count_medium_score": 1,
                "ac_count_high_score": 2, "dependency_score": 1, "large_story_word_threshold": 0},
            "rules": [{"label": "Sends mail", "pattern": "mail|smtp", "score": 1},
                {"id": "simple", "pattern": "shows name", "score": "-1"}],
        });
        let rules = Rules::new(&rules).unwrap();
        for (description, criteria, dependencies, score, level, reasons) in [
            (
                "a Mail",
                3,
                "1.1",
                4,
                "High",
                &["Sends mail", "High AC count (3)", "Has explicit dependencies"][..],
            ),
            ("x", 2, "None (standalone)", 1, "Low", &["Elevated AC count (2)"]),
            ("shows name", 0, "n/a", -1, "Low", &["simple"]),
            ("mail", 0, "1-2", 2, "Medium", &["Sends mail", "Has explicit dependencies"]),
        ] {
            let found = rules.judge("t", &parts(description, criteria, dependencies));
            assert_eq!((found.score, found.level), (score, level), "{description}");
            assert_eq!(found.reasons, reasons, "{description}");
        }
    }

    #[test]
    fn missing_rules_have_defaults_and_invalid_ones_are_reported() {
        let judge =
            |file: Value| Rules::new(&file).map(|rules| rules.judge("x", &parts("x", 20, "1.1")));
        let found =
            judge(serde_json::json!({"rules": [{"label": "x", "pattern": "x", "score": 2.9}]}))
                .unwrap();
        assert_eq!((found.score, found.level), (2, "Low"));
        assert_eq!(judge(serde_json::json!([])), Err(RulesError::NoObject));
        let broken = serde_json::json!({"rules": [{"id": "a", "pattern": "("}]});
        assert!(matches!(judge(broken), Err(RulesError::Pattern { .. })));
        let idle =
            serde_json::json!({"rules": [{"id": "a", "pattern": "", "score": 5}, {"score": 5}]});
        assert_eq!(judge(idle).unwrap().score, 0);
    }

    #[test]
    fn the_built_in_rules_match_whole_words() {
        let judge = |title: &str, text: &str| Rules::built_in().judge(title, &parts(text, 0, ""));
        let plain = judge("Assess variables", "Rewrite one paragraph about a safeguard.");
        assert_eq!((plain.score, plain.reasons.len()), (0, 0), "{plain:?}");
        let heavy = judge(
            "Stripe webhooks",
            "Receive webhooks of the Stripe API and migrate the database schema in one transaction, with OAuth login.",
        );
        assert_eq!(heavy.level, "High", "{heavy:?}");
        let light = judge("Fix typo", "Correct a typo in the README, documentation only.");
        assert_eq!(light.level, "Low");
        assert!(light.score < 0, "{light:?}");
    }

    #[test]
    fn the_built_in_rules_have_not_changed() {
        let file: Value = toml::from_str(include_str!("../../data/complexity.toml")).unwrap();
        let rules = file["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 38);
        let of_score = |score: i64| rules.iter().filter(|rule| rule["score"] == score).count();
        assert_eq!([2, 1, -1, -2].map(of_score), [13, 20, 4, 1]);
    }
}
