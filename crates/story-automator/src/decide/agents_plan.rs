//! The plan of a run: a Markdown file with one JSON block that says which agent does which task.

use serde::Serialize;
use serde_json::{Map, Value};

use dogwatch_bmad::format::agent_config::{self, Choice, TASKS};

/// The header of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub state_file: &'a str,
    pub epic: &'a str,
    pub epic_name: &'a str,
    pub created_at: &'a str,
    /// What `auto` stands for.
    pub provider: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub markdown: String,
    pub stories: usize,
    /// Entries without an id.
    pub skipped: usize,
}

/// Why a plan has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoChoice {
    Invalid(String),
    NoStory,
    NoTask,
}

/// The JSON block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: &'a str,
    state_file: &'a str,
    epic: &'a str,
    epic_name: &'a str,
    created_at: &'a str,
    stories: Vec<PlannedStory>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedStory {
    story_id: String,
    title: String,
    complexity: String,
    /// Agents by task.
    tasks: Map<String, Value>,
}

/// Builds a plan from the stories (`{"stories": […]}`) and the user's configuration. `to_text` writes the
/// plan as JSON; the front matter above it is YAML, unescaped.
pub fn build(
    head: Head,
    complexity: &Value,
    config: &Value,
    to_text: impl Fn(&Value) -> String,
) -> Plan {
    let entries =
        complexity.get("stories").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let stories: Vec<PlannedStory> =
        entries.iter().filter_map(|entry| story(entry, config, head.provider)).collect();
    let (count, skipped) = (stories.len(), entries.len() - stories.len());
    let plan = Document {
        version: "1.0.0",
        state_file: head.state_file,
        epic: head.epic,
        epic_name: head.epic_name,
        created_at: head.created_at,
        stories,
    };
    // Texts and maps of them: cannot fail.
    let plan = serde_json::to_value(plan).unwrap_or_default();
    let markdown = format!(
        "---\nstateFile: {}\ncreatedAt: {}\n---\n\n# Agents Plan: {}\n\n```json\n{}\n```\n",
        Value::from(head.state_file),
        Value::from(head.created_at),
        head.epic_name,
        to_text(&plan),
    );
    Plan { markdown, stories: count, skipped }
}

fn story(entry: &Value, config: &Value, provider: &str) -> Option<PlannedStory> {
    let id = text(entry.get("storyId")).filter(|id| !id.trim().is_empty())?;
    let level = entry.get("complexity").and_then(|complexity| {
        text(complexity.get("level")).or_else(|| complexity.as_str().map(str::to_owned))
    });
    let level = level.filter(|level| !level.is_empty()).unwrap_or_else(|| "medium".to_owned());
    let level = level.to_lowercase();
    let tasks: Map<String, Value> = TASKS
        .iter()
        .map(|task| {
            let choice = agent_config::choose(config, task, &level, provider);
            ((*task).to_owned(), choice.to_json())
        })
        .collect();
    let title = text(entry.get("title")).unwrap_or_default();
    Some(PlannedStory { story_id: id, title, complexity: level, tasks })
}

/// The agents of a story's task, and the story's complexity, from a plan's text.
pub fn find(
    markdown: &str,
    story: &str,
    task: &str,
    provider: &str,
) -> Result<(Choice, String), NoChoice> {
    let block = json_block(markdown)
        .or_else(|| markdown.trim_start().starts_with('{').then_some(markdown))
        .ok_or_else(|| NoChoice::Invalid("no ```json block in it".to_owned()))?;
    let plan: Value =
        serde_json::from_str(block).map_err(|error| NoChoice::Invalid(error.to_string()))?;
    let stories = plan.get("stories").and_then(Value::as_array).ok_or(NoChoice::NoStory)?;
    let is_it = |entry: &&Value| text(entry.get("storyId")).as_deref() == Some(story);
    let entry = stories.iter().find(is_it).ok_or(NoChoice::NoStory)?;
    let choice = entry.get("tasks").and_then(|tasks| tasks.get(task)).ok_or(NoChoice::NoTask)?;
    let level = text(entry.get("complexity")).unwrap_or_default();
    Ok((Choice::of_entry(choice, provider), level))
}

fn json_block(markdown: &str) -> Option<&str> {
    let start = markdown.find("```json")? + "```json".len();
    let rest = &markdown[start..];
    Some(&rest[..rest.find("\n```")?])
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HEAD: Head =
        Head { state_file: "s.md", epic: "1", epic_name: "A", created_at: "t", provider: "claude" };

    #[test]
    fn a_plan_is_built_and_read_again() {
        let complexity = json!({"stories": [{"storyId": "1.1", "title": "T", "complexity": {"level": "Low"}},
            {"storyId": "1.2"}, {"title": "no id"}]});
        let config = json!({"low": {"dev": {"primary": "codex"}}, "defaultModel": "m"});
        let plan =
            build(HEAD, &complexity, &config, |plan| serde_json::to_string_pretty(plan).unwrap());
        assert_eq!((plan.stories, plan.skipped), (2, 1));
        assert!(plan.markdown.starts_with("---\nstateFile: \"s.md\"\n"));
        let find = |story: &str, task: &str| find(&plan.markdown, story, task, "claude");
        let (choice, level) = find("1.1", "dev").unwrap();
        assert_eq!((choice.primary.as_str(), level.as_str()), ("codex", "low"));
        assert_eq!(choice.model.as_deref(), Some("m"));
        assert_eq!(find("1.2", "dev").unwrap().1, "medium");
        assert_eq!(find("1-1", "dev"), Err(NoChoice::NoStory));
        assert_eq!(find("1.1", "retro"), Err(NoChoice::NoTask));
    }

    #[test]
    fn a_broken_plan_is_no_plan() {
        for text in ["# x\n", "```json\n{\"stories\": [\n```\n", "```json\n{}"] {
            assert!(
                matches!(find(text, "1.1", "dev", "claude"), Err(NoChoice::Invalid(_))),
                "{text}"
            );
        }
    }
}
