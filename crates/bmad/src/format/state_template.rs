//! A new state document, from a template and the run's configuration.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::agent_block;
use super::fields::head;
use super::front_matter::split;
use super::prompt;

/// What is known when a run begins.
#[derive(Debug, Clone)]
pub struct Begun<'a> {
    pub now: &'a str,
    pub policy_version: i64,
    pub snapshot_file: &'a str,
    pub snapshot_hash: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid_max_parallel")]
pub struct InvalidMaxParallel;

const ROWS: &str = "<!-- Progress rows";

/// Fills the document. Lines that the template does not have are not added; comments after values are replaced with them.
pub fn fill(
    template: &str,
    config: &Map<String, Value>,
    begun: &Begun<'_>,
) -> Result<String, InvalidMaxParallel> {
    let overrides = Overrides::read(config.get("overrides"))?;
    let head = head(template).unwrap_or_default();
    let mut document = String::new();
    let mut in_agents = false;
    let agents = config.get("agentConfig").filter(|agents| agents.is_object());
    let agents = agents.map(agent_block::render);
    for line in head.split_inclusive('\n') {
        // A block ends at an unindented or blank line.
        in_agents = in_agents && line.starts_with([' ', '\t', '#']) && !line.trim().is_empty();
        if in_agents {
            continue;
        }
        let key = line.split(':').next().unwrap_or_default();
        match (value_of(key, config, begun), agents.as_ref()) {
            (_, Some(block)) if key == "agentConfig" => {
                document.push_str(block);
                in_agents = true;
            }
            (Some(value), _) => {
                let _ = writeln!(document, "{key}: {}", json_line(&value));
            }
            _ if key == "  skipAutomate" => {
                let _ = writeln!(document, "{key}: {}", overrides.skip_automate);
            }
            _ if key == "  maxParallel" => {
                let _ = writeln!(document, "{key}: {}", overrides.max_parallel);
            }
            _ => document.push_str(line),
        }
    }
    fill_body(&mut document, split(template).1, config, begun, &overrides);
    Ok(document)
}

fn value_of(key: &str, config: &Map<String, Value>, begun: &Begun<'_>) -> Option<Value> {
    let given = |fallback: Value| Some(config.get(key).cloned().unwrap_or(fallback));
    match key {
        "epic" | "epicName" | "aiCommand" | "customInstructions" | "agentsFile"
        | "complexityFile" => given(Value::from("")),
        "storyRange" | "stepsCompleted" => given(Value::Array(Vec::new())),
        "status" => given(Value::from("READY")),
        "currentStory" | "currentStep" => given(Value::Null),
        "lastUpdated" | "createdAt" => Some(Value::from(begun.now)),
        "policyVersion" => Some(Value::from(begun.policy_version)),
        "policySnapshotFile" => Some(Value::from(begun.snapshot_file)),
        "policySnapshotHash" => Some(Value::from(begun.snapshot_hash)),
        "legacyPolicy" => Some(Value::from(false)),
        _ => None,
    }
}

fn fill_body(
    document: &mut String,
    body: &str,
    config: &Map<String, Value>,
    begun: &Begun<'_>,
    overrides: &Overrides,
) {
    let stories = stories(config);
    let value = |name: &str| {
        Some(match name {
            "epic" | "epicName" | "customInstructions" => text_of(config.get(name)),
            "storyRange" => stories.join(", "),
            "createdAt" => begun.now.to_owned(),
            "overrides.skipAutomate" => overrides.skip_automate.to_string(),
            "overrides.maxParallel" => overrides.max_parallel.to_string(),
            _ => return None,
        })
    };
    for line in body.split_inclusive('\n') {
        if line.trim_start().starts_with(ROWS) {
            if stories.is_empty() {
                document.push('\n');
            }
            for story in &stories {
                let _ = writeln!(document, "| {story} | ⏳ | ⏳ | ⏳ | ⏳ | ⏳ | pending |");
            }
            continue;
        }
        document.push_str(&prompt::fill(line, value));
    }
}

fn stories(config: &Map<String, Value>) -> Vec<String> {
    match config.get("storyRange") {
        Some(Value::Array(stories)) => stories.iter().map(|story| text_of(Some(story))).collect(),
        Some(Value::String(story)) => story.split(',').map(|one| one.trim().to_owned()).collect(),
        _ => Vec::new(),
    }
}

struct Overrides {
    skip_automate: bool,
    max_parallel: u64,
}

impl Overrides {
    fn read(given: Option<&Value>) -> Result<Self, InvalidMaxParallel> {
        let given = |key: &str| given.and_then(|given| given.get(key));
        let skip_automate = match given("skipAutomate") {
            Some(Value::Bool(skip)) => *skip,
            Some(Value::String(text)) => {
                !matches!(text.trim().to_lowercase().as_str(), "" | "false" | "no" | "0" | "off")
            }
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            _ => false,
        };
        let max_parallel = match given("maxParallel") {
            None | Some(Value::Null) => Some(1),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64(),
        };
        let max_parallel = max_parallel.filter(|most| *most > 0).ok_or(InvalidMaxParallel)?;
        Ok(Self { skip_automate, max_parallel })
    }
}

/// An epic as part of a file name: letters and digits, with one dash for everything else between them.
pub fn epic_slug(epic: Option<&Value>) -> String {
    let text = text_of(epic);
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let slug = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "epic".to_owned() } else { slug }
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// JSON on one line, with a blank after commas and colons, for use in YAML.
fn json_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json_line).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEMPLATE: &str = "---\n# doc\nepic: \"\"\nepicName: \"\"\nstoryRange: []\nstatus: \"INITIALIZING\"\ncurrentStory: null\nlastUpdated: \"\"\naiCommand: \"\"  # old\noverrides:\n  skipAutomate: false\n  maxParallel: 1\npolicyVersion: 0\npolicySnapshotFile: \"\"\nlegacyPolicy: false\nagentConfig:\n  defaultPrimary: \"auto\"\n  # perTask:\n\n# Session Tracking\nactiveSessions: []\n---\n\n# Log: {{epicName}} {{zap}}\nstatus: body\n{{storyRange}} {{overrides.maxParallel}}\n<!-- Progress rows will be appended here -->\nend\n";

    fn filled(config: &Value) -> Result<String, InvalidMaxParallel> {
        let begun = Begun {
            now: "2026-01-01T00:00:00Z",
            policy_version: 1,
            snapshot_file: "p/x.json",
            snapshot_hash: "abcd",
        };
        fill(TEMPLATE, config.as_object().unwrap(), &begun)
    }

    #[test]
    fn a_document_is_filled() {
        let config = json!({"epic": "1", "epicName": "A \"q\" é", "storyRange": ["1.1", "1.2"], "overrides": {"skipAutomate": true, "maxParallel": "2"}, "agentConfig": {"defaultPrimary": "codex"}});
        assert_eq!(
            filled(&config).unwrap(),
            "---\n# doc\nepic: \"1\"\nepicName: \"A \\\"q\\\" é\"\nstoryRange: [\"1.1\", \"1.2\"]\nstatus: \"READY\"\ncurrentStory: null\nlastUpdated: \"2026-01-01T00:00:00Z\"\naiCommand: \"\"\noverrides:\n  skipAutomate: true\n  maxParallel: 2\npolicyVersion: 1\npolicySnapshotFile: \"p/x.json\"\nlegacyPolicy: false\nagentConfig:\n  defaultPrimary: \"codex\"\n  defaultFallback: false\n\n# Session Tracking\nactiveSessions: []\n---\n\n# Log: A \"q\" é {{zap}}\nstatus: body\n1.1, 1.2 2\n| 1.1 | ⏳ | ⏳ | ⏳ | ⏳ | ⏳ | pending |\n| 1.2 | ⏳ | ⏳ | ⏳ | ⏳ | ⏳ | pending |\nend\n"
        );
        assert!(filled(&json!({})).unwrap().contains("  # perTask:\n\n# Session"));
        let last = TEMPLATE.replace("\n# Session Tracking\nactiveSessions: []\n", "");
        let begun = Begun { now: "t", policy_version: 1, snapshot_file: "", snapshot_hash: "" };
        let text = fill(&last, config.as_object().unwrap(), &begun).unwrap();
        assert!(text.contains("  defaultFallback: false\n---\n\n# Log"), "{text}");
        for bad in [json!("x"), json!(0), json!(-1), json!(1.5), json!([])] {
            assert_eq!(
                filled(&json!({"overrides": {"maxParallel": bad}})),
                Err(InvalidMaxParallel)
            );
        }
    }

    #[test]
    fn a_value_cannot_add_a_line() {
        let config = json!({"epic": "1\nstatus: ABORTED", "customInstructions": "a\n---\nb"});
        assert_eq!(filled(&config).unwrap().matches("\nstatus: ").count(), 2);
    }

    #[test]
    fn epics_in_file_names() {
        for (epic, slug) in [
            (json!("Epic A/1"), "Epic-A-1"),
            (json!("../../x y"), "x-y"),
            (json!(2), "2"),
            (json!(""), "epic"),
        ] {
            assert_eq!(epic_slug(Some(&epic)), slug);
        }
        assert_eq!(epic_slug(None), "epic");
    }
}
