use serde_json::json;

use super::*;

fn with(over: Value) -> Result<Policy, String> {
    let mut policy = bundled();
    merge(&mut policy, over);
    Policy::new(policy).map_err(|fault| fault.to_string())
}

#[test]
fn the_bundled_policy_is_valid() {
    let policy = with(json!({})).unwrap();
    assert_eq!(policy.sequence(), STEPS);
    assert_eq!((policy.max_review_cycles(), policy.max_crash_retries()), (5, 2));
    for name in policy.steps() {
        let step = policy.step(&name).unwrap();
        assert!(!step.label().is_empty());
        for file in DataFile::ALL {
            let named = step.data_file(file);
            assert!(named.is_empty() || bundled_file(named).is_some(), "{named}");
        }
        assert!(bundled_file(step.data_file(DataFile::Template)).is_some());
        let schema = bundled_file(step.data_file(DataFile::Schema)).unwrap();
        assert!(crate::format::schema::Schema::read(schema).is_some(), "{name}");
    }
}

#[test]
fn maps_are_merged_and_lists_replaced() {
    let mut base = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
    merge(&mut base, json!({"a": {"c": [3]}, "d": {"e": 1}}));
    assert_eq!(base, json!({"a": {"b": 1, "c": [3]}, "d": {"e": 1}}));
}

#[test]
fn invalid_policies_are_refused() {
    let table = [
        (json!({"zap": 1, "abc": 2}), "unknown top-level policy keys: abc, zap"),
        (json!({"steps": []}), "steps must be an object"),
        (json!({"steps": {"zap": {}}}), "unknown step names: zap"),
        (json!({"steps": {"dev": []}}), "step contract must be an object: dev"),
        (json!({"steps": {"dev": {"prompt": []}}}), "dev.prompt must be an object"),
        (
            json!({"steps": {"dev": {"success": {"verifier": "nope"}}}}),
            "invalid verifier for dev: nope",
        ),
        (
            json!({"steps": {"dev": {"assets": {"required": ["zap"]}}}}),
            "invalid required assets for dev",
        ),
        (json!({"workflow": []}), "workflow must be an object"),
        (json!({"workflow": {"sequence": "x"}}), "workflow.sequence must be a string array"),
        (
            json!({"workflow": {"sequence": ["zap"]}}),
            "workflow.sequence references missing step: zap",
        ),
        (
            json!({"workflow": {"repeat": {"review": {"maxCycles": "5"}}}}),
            "workflow.repeat.review.maxCycles must be an integer",
        ),
        (
            json!({"workflow": {"repeat": {"review": {"maxCycles": true}}}}),
            "workflow.repeat.review.maxCycles must be an integer",
        ),
        (
            json!({"workflow": {"crash": {"maxRetries": 1.5}}}),
            "workflow.crash.maxRetries must be an integer",
        ),
        (
            json!({"runtime": {"parser": {"provider": "codex"}}}),
            "runtime.parser.provider must be one of: claude",
        ),
        (json!({"runtime": {"parser": {"model": " "}}}), "runtime.parser.model must be a string"),
        (
            json!({"runtime": {"parser": {"timeoutSeconds": 0}}}),
            "runtime.parser.timeoutSeconds must be a positive integer",
        ),
    ];
    for (over, words) in table {
        assert_eq!(with(over.clone()).unwrap_err(), words, "{over}");
    }
}

#[test]
fn limits_from_the_environment_are_applied() {
    let mut policy = bundled();
    apply_limits(&mut policy, Some(" 7 "), None).unwrap();
    let policy = Policy::new(policy).unwrap();
    assert_eq!((policy.max_review_cycles(), policy.max_crash_retries()), (7, 2));
    let fault = apply_limits(&mut bundled(), None, Some("x")).unwrap_err();
    assert_eq!(fault.to_string(), "MAX_CRASH_RETRIES must be an integer");
}
