//! The `agentConfig` block of a state document: the agents of tasks.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const LEVELS: [&str; 3] = ["low", "medium", "high"];

/// The block, from any form that a configuration may have: the short names, a `retro` or the levels at the
/// top.
pub fn render(config: &Value) -> String {
    let given = |long: &str, short: &str| config.get(long).or_else(|| config.get(short));
    let mut block = String::from("agentConfig:\n");
    let primary = given("defaultPrimary", "primary").and_then(Value::as_str).unwrap_or("auto");
    let _ = writeln!(block, "  defaultPrimary: {}", quoted(primary));
    let fallback = given("defaultFallback", "fallback");
    let _ = writeln!(block, "  defaultFallback: {}", off_or_name(fallback));
    if let Some(model) = given("defaultModel", "model").map(model).filter(|model| !model.is_empty())
    {
        let _ = writeln!(block, "  defaultModel: {}", quoted(&model));
    }

    let mut tasks = object(config.get("perTask"));
    if let Some(retro) = config.get("retro").filter(|_| !tasks.contains_key("retro")) {
        tasks.insert("retro".to_owned(), retro.clone());
    }
    push_tasks(&mut block, "  perTask:\n", 4, &tasks);

    let levels = if config.get("complexityOverrides").is_some() {
        object(config.get("complexityOverrides"))
    } else {
        let given = LEVELS.iter().filter_map(|level| Some((*level, config.get(*level)?)));
        given.map(|(level, tasks)| (level.to_owned(), tasks.clone())).collect()
    };
    let levels = sorted(&levels).into_iter().filter(|(_, tasks)| !sorted(tasks).is_empty());
    let levels: Vec<(&str, &Map<String, Value>)> = levels.collect();
    if !levels.is_empty() {
        block.push_str("  complexityOverrides:\n");
    }
    for (level, tasks) in levels {
        push_tasks(&mut block, &format!("    {level}:\n"), 6, tasks);
    }
    block
}

/// The entries with content, by name.
fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Map<String, Value>)> {
    let entries = map.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_object()?)));
    let mut entries: Vec<_> = entries
        .filter(|(name, entry)| !entry.is_empty() && !name.contains(['\n', '\r', ':']))
        .collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
}

fn push_tasks(block: &mut String, heading: &str, indent: usize, tasks: &Map<String, Value>) {
    let tasks = sorted(tasks);
    if tasks.is_empty() {
        return;
    }
    block.push_str(heading);
    let indent = " ".repeat(indent);
    for (task, agent) in tasks {
        let _ = writeln!(block, "{indent}{task}:");
        if let Some(primary) = agent.get("primary").and_then(Value::as_str) {
            let _ = writeln!(block, "{indent}  primary: {}", quoted(primary));
        }
        if let Some(fallback) = agent.get("fallback") {
            let _ = writeln!(block, "{indent}  fallback: {}", off_or_name(Some(fallback)));
        }
        if let Some(given) = agent.get("model") {
            let _ = writeln!(block, "{indent}  model: {}", quoted(&model(given)));
        }
    }
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `false`, or the name of an agent.
fn off_or_name(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).map_or_else(|| "false".to_owned(), quoted)
}

/// Words for "the agent's default" become empty.
fn model(value: &Value) -> String {
    match value.as_str().map(str::trim) {
        Some("" | "false" | "none" | "null" | "auto" | "default") | None => String::new(),
        Some(model) => model.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_becomes_the_same_block() {
        let long = json!({
            "defaultPrimary": "codex", "defaultFallback": "claude",
            "perTask": {"review": {"primary": "claude", "fallback": false, "model": "auto"}, "retro": {"primary": "claude"}, "dev": {}},
            "complexityOverrides": {"high": {"dev": {"primary": "claude", "model": "opus"}}, "low": {}},
        });
        let block = "agentConfig:\n  defaultPrimary: \"codex\"\n  defaultFallback: \"claude\"\n  perTask:\n    retro:\n      primary: \"claude\"\n    review:\n      primary: \"claude\"\n      fallback: false\n      model: \"\"\n  complexityOverrides:\n    high:\n      dev:\n        primary: \"claude\"\n        model: \"opus\"\n";
        assert_eq!(render(&long), block);
        let short = json!({
            "primary": "codex", "fallback": "claude", "retro": {"primary": "claude"},
            "perTask": {"review": {"primary": "claude", "fallback": false, "model": ""}},
            "high": {"dev": {"primary": "claude", "model": "opus"}},
        });
        assert_eq!(render(&short), block);
        assert_eq!(
            render(&json!({})),
            "agentConfig:\n  defaultPrimary: \"auto\"\n  defaultFallback: false\n"
        );
    }
}
