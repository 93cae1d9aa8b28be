//! Whether a review is complete, by the review contract.

use serde_json::{Map, Value};

use crate::policy::fault::PolicyFault;

const SPRINT: &str = "sprint-status.yaml";
const STORY_FILE: &str = "story-file";

/// The values that count as done, and the sources in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    done: Vec<String>,
    sources: Vec<String>,
    tells_of_sprint: bool,
}

impl Contract {
    /// From a contract file, overridden by the policy.
    pub fn read(
        mut contract: Map<String, Value>,
        given: Map<String, Value>,
    ) -> Result<Self, PolicyFault> {
        contract.extend(given);
        let list = |key: &'static str, fallback: &[&str]| list(&contract, key, fallback);
        let done = list("doneValues", &["done"])?;
        let sources = list("sourceOrder", &[SPRINT, STORY_FILE])?;
        let unknown: Vec<&str> = sources
            .iter()
            .map(String::as_str)
            .filter(|source| ![SPRINT, STORY_FILE].contains(source))
            .collect();
        if !unknown.is_empty() {
            let fault = format!("contains unknown sources: {}", unknown.join(", "));
            return Err(PolicyFault::Review { key: "sourceOrder", fault });
        }
        let key = "syncSprintStatus";
        let tells_of_sprint = match contract.get(key) {
            None => true,
            Some(Value::Bool(tells)) => *tells,
            Some(_) => {
                return Err(PolicyFault::Review { key, fault: "must be a boolean".to_owned() });
            }
        };
        Ok(Self { done, sources, tells_of_sprint })
    }

    fn is_done(&self, status: &str) -> bool {
        self.done.iter().any(|done| done.eq_ignore_ascii_case(status.trim()))
    }

    /// The first source that says done, if one does.
    pub fn judge(&self, seen: &Seen) -> Outcome {
        let says = |source: &String| {
            self.is_done(if source == SPRINT { &seen.sprint } else { &seen.story_file })
        };
        match self.sources.iter().find(|source| says(source)) {
            None => Outcome::NotComplete,
            Some(source) => Outcome::Complete {
                source: source.clone(),
                sprint_lags: self.tells_of_sprint
                    && source == STORY_FILE
                    && !self.is_done(&seen.sprint),
            },
        }
    }
}

/// Keys of a contract that a policy may override.
pub const KEYS: [&str; 5] =
    ["doneValues", "sourceOrder", "inProgressValues", "blockingSeverity", "syncSprintStatus"];

/// What the two sources say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `unknown` without a sprint file, `not_found` without a row.
    pub sprint: String,
    /// `unknown` if it has no status.
    pub story_file: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// `sprint_lags`: the story's file is ahead of the sprint status.
    Complete {
        source: String,
        sprint_lags: bool,
    },
    NotComplete,
}

fn list(
    contract: &Map<String, Value>,
    key: &'static str,
    fallback: &[&str],
) -> Result<Vec<String>, PolicyFault> {
    let fault = |fault: &str| PolicyFault::Review { key, fault: fault.to_owned() };
    let Some(given) = contract.get(key) else {
        return Ok(fallback.iter().map(|value| (*value).to_owned()).collect());
    };
    let items = given.as_array().ok_or_else(|| fault("must be a string array"))?;
    let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let items = items.ok_or_else(|| fault("must be a string array"))?;
    let items: Vec<String> =
        items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
    if items.is_empty() { Err(fault("must not be empty")) } else { Ok(items) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn contract(given: Value) -> Result<Contract, String> {
        let bundled: Value =
            serde_json::from_str(include_str!("../../data/review-contract.json")).unwrap();
        let given = given.as_object().unwrap().clone();
        Contract::read(bundled.as_object().unwrap().clone(), given)
            .map_err(|fault| fault.to_string())
    }

    fn outcome(given: Value, sprint: &str, story_file: &str) -> Outcome {
        let seen = Seen { sprint: sprint.to_owned(), story_file: story_file.to_owned() };
        contract(given).unwrap().judge(&seen)
    }

    fn complete(source: &str, sprint_lags: bool) -> Outcome {
        Outcome::Complete { source: source.to_owned(), sprint_lags }
    }

    #[test]
    fn either_source_can_say_done() {
        assert_eq!(outcome(json!({}), "Done", "unknown"), complete(SPRINT, false));
        assert_eq!(outcome(json!({}), "review", "done"), complete(STORY_FILE, true));
        assert_eq!(outcome(json!({}), "review", "review"), Outcome::NotComplete);
        assert_eq!(
            outcome(json!({"syncSprintStatus": false}), "review", "done"),
            complete(STORY_FILE, false)
        );
        assert_eq!(
            outcome(json!({"doneValues": ["REVIEW"]}), "review", "done"),
            complete(SPRINT, false)
        );
        assert_eq!(
            outcome(json!({"sourceOrder": ["story-file"]}), "done", "done"),
            complete(STORY_FILE, false)
        );
    }

    #[test]
    fn invalid_contracts_are_refused() {
        let table = [
            (json!({"doneValues": []}), "review contract doneValues must not be empty"),
            (json!({"doneValues": [" "]}), "review contract doneValues must not be empty"),
            (json!({"doneValues": "done"}), "review contract doneValues must be a string array"),
            (
                json!({"sourceOrder": ["zap"]}),
                "review contract sourceOrder contains unknown sources: zap",
            ),
            (
                json!({"syncSprintStatus": "x"}),
                "review contract syncSprintStatus must be a boolean",
            ),
        ];
        for (given, words) in table {
            assert_eq!(contract(given).unwrap_err(), words);
        }
    }
}
