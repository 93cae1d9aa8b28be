//! The agents of a story's tasks: a default, overridden per task, overridden again by the story's complexity.

use serde_json::{Map, Value};

/// Tasks that the plan of a run has an agent for. A retrospective belongs to an epic and is queried separately.
pub const TASKS: [&str; 4] = ["create", "dev", "auto", "review"];

const LEVELS: [&str; 3] = ["low", "medium", "high"];

/// The agents of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub primary: String,
    pub fallback: Option<String>,
    pub model: Option<String>,
}

impl Choice {
    /// As in a plan: no fallback is `false`, no model is left out.
    pub fn to_json(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("primary".into(), self.primary.as_str().into());
        let fallback = self.fallback.as_deref().map_or(Value::Bool(false), Value::from);
        entry.insert("fallback".into(), fallback);
        if let Some(model) = &self.model {
            entry.insert("model".into(), model.as_str().into());
        }
        Value::Object(entry)
    }

    /// From an entry of a plan.
    pub fn of_entry(entry: &Value, provider: &str) -> Self {
        let mut choice = Self { primary: provider.to_owned(), fallback: None, model: None };
        choice.change(Some(entry), provider);
        choice
    }

    /// Applies an entry.
    fn change(&mut self, entry: Option<&Value>, provider: &str) {
        let Some(entry) = entry.and_then(Value::as_object) else { return };
        if let Some(primary) = entry.get("primary") {
            self.primary = primary_of(primary, provider);
        }
        if let Some(fallback) = entry.get("fallback") {
            self.fallback = fallback_of(fallback);
        }
        if let Some(model) = entry.get("model") {
            self.model = model_of(model);
        }
    }
}

/// The agents of `task` for a story of this level. `provider` is the meaning of `auto`.
pub fn choose(config: &Value, task: &str, level: &str, provider: &str) -> Choice {
    let either = |name: &str, other: &str| config.get(name).or_else(|| config.get(other));
    let mut choice = Choice {
        primary: either("defaultPrimary", "primary")
            .map_or_else(|| provider.to_owned(), |primary| primary_of(primary, provider)),
        fallback: either("defaultFallback", "fallback").and_then(fallback_of),
        model: either("defaultModel", "model").and_then(model_of),
    };
    let of_task = config.get("perTask").and_then(|tasks| tasks.get(task));
    let retro = config.get("retro").filter(|_| task == "retro");
    choice.change(of_task.or(retro), provider);
    let of_level = match config.get("complexityOverrides") {
        Some(overrides) => overrides.get(level),
        None => config.get(level).filter(|_| LEVELS.contains(&level)),
    };
    choice.change(of_level.and_then(|tasks| tasks.get(task)), provider);
    choice
}

fn primary_of(value: &Value, provider: &str) -> String {
    let name = word(value);
    if matches!(name.as_str(), "" | "auto" | "runtime" | "null" | "none" | "false" | "true") {
        provider.to_owned()
    } else {
        name
    }
}

fn fallback_of(value: &Value) -> Option<String> {
    let name = word(value);
    let is_none =
        matches!(name.as_str(), "" | "false" | "true" | "none" | "null" | "auto" | "runtime");
    (!is_none).then_some(name)
}

fn model_of(value: &Value) -> Option<String> {
    let model = value.as_str()?.trim();
    let is_none = matches!(
        model.to_ascii_lowercase().as_str(),
        "" | "false" | "none" | "null" | "auto" | "default"
    );
    (!is_none).then(|| model.to_owned())
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_lowercase(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choice(config: &Value, task: &str, level: &str) -> (String, String, String) {
        let choice = choose(config, task, level, "claude");
        (choice.primary, choice.fallback.unwrap_or_default(), choice.model.unwrap_or_default())
    }

    #[test]
    fn the_level_overrides_the_task_and_that_the_default() {
        let config = json!({
            "defaultPrimary": "Codex", "defaultFallback": "claude", "defaultModel": "gpt-5.5",
            "perTask": {"review": {"primary": "auto", "fallback": false, "model": "none"}, "dev": {"fallback": "none"}},
            "complexityOverrides": {"low": {"dev": {"primary": "claude", "model": "Opus"}}},
        });
        for (task, level, primary, fallback, model) in [
            ("create", "low", "codex", "claude", "gpt-5.5"),
            ("dev", "low", "claude", "", "Opus"),
            ("dev", "high", "codex", "", "gpt-5.5"),
            ("review", "medium", "claude", "", ""),
            ("dev", "weird", "codex", "", "gpt-5.5"),
        ] {
            let expected = (primary.to_owned(), fallback.to_owned(), model.to_owned());
            assert_eq!(choice(&config, task, level), expected, "{task} {level}");
        }
    }

    #[test]
    fn older_forms_are_read() {
        let config = json!({"primary": "claude", "fallback": "codex", "low": {"dev": {"primary": "codex"}},
            "retro": {"primary": "codex", "fallback": true}});
        assert_eq!(choice(&config, "dev", "low").0, "codex");
        assert_eq!(choice(&config, "dev", "high").0, "claude");
        assert_eq!(
            choice(&config, "retro", "medium"),
            ("codex".into(), String::new(), String::new())
        );
        let other = json!({"complexityOverrides": {"huge": {"dev": {"primary": "codex"}}}});
        assert_eq!(choice(&other, "dev", "huge").0, "codex");
        let both = json!({"low": {"dev": {"primary": "x"}}, "complexityOverrides": {}});
        assert_eq!(choice(&both, "dev", "low").0, "claude");
        assert_eq!(
            choice(&json!({}), "dev", "low"),
            ("claude".into(), String::new(), String::new())
        );
    }

    #[test]
    fn entries_of_a_plan_are_read() {
        let entry = json!({"primary": "codex", "fallback": false});
        let choice = Choice::of_entry(&entry, "claude");
        assert_eq!(choice.to_json(), entry);
        let with_model = json!({"primary": "codex", "fallback": "claude", "model": "m"});
        assert_eq!(Choice::of_entry(&with_model, "claude").to_json(), with_model);
    }
}
