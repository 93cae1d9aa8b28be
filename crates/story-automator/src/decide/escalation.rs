//! When a run must ask a person.

use serde_json::{Map, Value};

/// The known limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub review_cycles: i64,
    pub crash_retries: i64,
}

/// The answer to a trigger; `context` is a text of `key=number` words.
pub fn answer(trigger: &str, context: &str, limits: Limits) -> Value {
    let count = |key: &str| number(context, key);
    match trigger {
        "review-loop" => {
            let (cycles, most) = (count("cycles"), limits.review_cycles);
            if cycles < most {
                go_on(&[])
            } else {
                ask(format!("Review loop exceeded max cycles ({cycles}/{most})"))
            }
        }
        "session-crash" => {
            let retries = count("retries");
            if retries < limits.crash_retries {
                go_on(&[("action", "retry")])
            } else {
                ask(format!("Session crashed after {retries} retries"))
            }
        }
        "story-validation" => match count("created") {
            1 => go_on(&[]),
            0 => ask("No story file created".to_owned()),
            created => ask(format!("Runaway creation: {created} files")),
        },
        _ => go_on(&[("reason", "Unknown trigger")]),
    }
}

/// The answer where the limits are unknown: ask a person.
pub fn ask(reason: String) -> Value {
    let reason = Value::from(reason);
    Map::from_iter([("escalate".to_owned(), Value::Bool(true)), ("reason".to_owned(), reason)])
        .into()
}

fn go_on(more: &[(&str, &str)]) -> Value {
    let mut answer = Map::from_iter([("escalate".to_owned(), Value::Bool(false))]);
    answer.extend(more.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))));
    Value::Object(answer)
}

/// The digits after `key=`; 0 if there are none, the maximum if there are too many.
fn number(context: &str, key: &str) -> i64 {
    let words = context.split(|letter: char| letter.is_whitespace() || letter == ',');
    let found = words.filter_map(|word| word.split_once('=')).find(|(name, _)| *name == key);
    let digits: String = found
        .map(|(_, value)| value.chars().take_while(char::is_ascii_digit).collect())
        .unwrap_or_default();
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(i64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn triggers_and_limits() {
        let table = [
            ("review-loop", "cycles=4", json!({"escalate": false})),
            (
                "review-loop",
                "a cycles=5 story=1",
                ask("Review loop exceeded max cycles (5/5)".to_owned()),
            ),
            ("review-loop", "", json!({"escalate": false})),
            ("session-crash", "retries=1", json!({"escalate": false, "action": "retry"})),
            ("session-crash", "retries=x", json!({"escalate": false, "action": "retry"})),
            (
                "session-crash",
                "retries=5 story=1.2",
                ask("Session crashed after 5 retries".to_owned()),
            ),
            ("story-validation", "created=1", json!({"escalate": false})),
            ("story-validation", "created=-1", ask("No story file created".to_owned())),
            ("story-validation", "created=4", ask("Runaway creation: 4 files".to_owned())),
            ("meteor", "x=1", json!({"escalate": false, "reason": "Unknown trigger"})),
        ];
        for (trigger, context, answered) in table {
            let limits = Limits { review_cycles: 5, crash_retries: 2 };
            assert_eq!(answer(trigger, context, limits), answered, "{trigger} {context}");
        }
    }
}
