//! Whether a policy is valid.

use serde_json::{Map, Value};

use crate::policy::fault::PolicyFault;
use crate::policy::{STEPS, VERIFIERS};

const KEYS: [&str; 6] = ["version", "snapshot", "runtime", "workflow", "steps", "test"];
const ASSETS: [&str; 5] = ["skill", "workflow", "instructions", "checklist", "template"];

pub(super) fn check(policy: &Value) -> Result<(), PolicyFault> {
    let policy = policy.as_object().ok_or(PolicyFault::NotAnObject("policy".to_owned()))?;
    let unknown = others(policy, &KEYS);
    if !unknown.is_empty() {
        return Err(PolicyFault::UnknownKeys(unknown));
    }
    for key in ["snapshot", "runtime", "workflow", "steps"] {
        object(policy, key, key)?;
    }
    let parser = object(policy, "runtime", "runtime")?
        .map(|runtime| object(runtime, "parser", "runtime.parser"))
        .transpose()?
        .flatten();
    check_parser(parser)?;
    let steps = object(policy, "steps", "steps")?;
    if let Some(steps) = steps {
        check_steps(steps)?;
    }
    let workflow = object(policy, "workflow", "workflow")?;
    workflow.map_or(Ok(()), |workflow| check_workflow(workflow, steps))
}

fn check_parser(parser: Option<&Map<String, Value>>) -> Result<(), PolicyFault> {
    let given = |key: &str| parser.and_then(|parser| parser.get(key));
    if given("provider").and_then(Value::as_str) != Some("claude") {
        return Err(PolicyFault::ParserProvider);
    }
    if given("model").and_then(Value::as_str).is_none_or(|model| model.trim().is_empty()) {
        return Err(PolicyFault::ParserModel);
    }
    match given("timeoutSeconds").and_then(Value::as_i64) {
        Some(1..) => Ok(()),
        _ => Err(PolicyFault::ParserTimeout),
    }
}

fn check_steps(steps: &Map<String, Value>) -> Result<(), PolicyFault> {
    let unknown = others(steps, &STEPS);
    if !unknown.is_empty() {
        return Err(PolicyFault::UnknownSteps(unknown));
    }
    for (name, step) in steps {
        let step = step.as_object().ok_or_else(|| PolicyFault::StepNotAnObject(name.clone()))?;
        for part in ["assets", "prompt", "parse", "success"] {
            object(step, part, &format!("{name}.{part}"))?;
        }
        let required = step.get("assets").and_then(|assets| assets.get("required"));
        if required.is_some_and(|required| !is_list_of(required, &ASSETS)) {
            return Err(PolicyFault::Required(name.clone()));
        }
        let verifier = step.get("success").and_then(|success| success.get("verifier"));
        let verifier = verifier.and_then(Value::as_str).unwrap_or_default();
        if !VERIFIERS.contains(&verifier) {
            let (step, verifier) = (name.clone(), verifier.to_owned());
            return Err(PolicyFault::Verifier { step, verifier });
        }
    }
    Ok(())
}

fn check_workflow(
    workflow: &Map<String, Value>,
    steps: Option<&Map<String, Value>>,
) -> Result<(), PolicyFault> {
    if let Some(sequence) = workflow.get("sequence") {
        for name in sequence.as_array().ok_or(PolicyFault::Sequence)? {
            let name = name.as_str().ok_or(PolicyFault::Sequence)?;
            if !steps.is_some_and(|steps| steps.contains_key(name)) {
                return Err(PolicyFault::SequenceStep(name.to_owned()));
            }
        }
    }
    if let Some(repeat) = object(workflow, "repeat", "workflow.repeat")?
        && let Some(review) = object(repeat, "review", "workflow.repeat.review")?
    {
        integer(review, "maxCycles", "workflow.repeat.review.maxCycles")?;
    }
    if let Some(crash) = object(workflow, "crash", "workflow.crash")? {
        integer(crash, "maxRetries", "workflow.crash.maxRetries")?;
    }
    Ok(())
}

fn others(map: &Map<String, Value>, known: &[&str]) -> Vec<String> {
    let mut unknown: Vec<String> =
        map.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    unknown.sort();
    unknown
}

fn object<'a>(
    map: &'a Map<String, Value>,
    key: &str,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, PolicyFault> {
    match map.get(key) {
        None => Ok(None),
        Some(Value::Object(found)) => Ok(Some(found)),
        Some(_) => Err(PolicyFault::NotAnObject(name.to_owned())),
    }
}

fn integer(map: &Map<String, Value>, key: &str, name: &str) -> Result<(), PolicyFault> {
    match map.get(key) {
        None => Ok(()),
        Some(value) if value.is_i64() => Ok(()),
        Some(_) => Err(PolicyFault::NotAnInteger(name.to_owned())),
    }
}

fn is_list_of(value: &Value, known: &[&str]) -> bool {
    let known = |item: &Value| item.as_str().is_some_and(|item| known.contains(&item));
    value.as_array().is_some_and(|items| items.iter().all(known))
}
