//! The tools, as clients list them.

use dogwatch_core::mcp::Verb;
use dogwatch_protocol::{mcp, message, status};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::arguments::{
    AnswerArgs, AskPersonArgs, CaptureArgs, JobResultArgs, JobSubmitArgs, SendArgs, SessionsArgs,
    SinceArgs, SpawnArgs, WhyArgs,
};

/// Instructions for the client about all of them.
pub(crate) const INSTRUCTIONS: &str = "\
dogwatch runs AI coding agents in tmux and reports what each one is really doing. Start workers with `spawn`, give work with \
`job_submit`, then wait with `since` (cursor of the last result, wait 45): it returns when a worker finished, asks, failed or hit a limit. \
Never poll `sessions` or `capture`. Answer questions with `answer` and the mark; what you may not decide goes to `ask_person`.";

pub(crate) fn describe(verb: Verb) -> Tool {
    match verb {
        Verb::Sessions => reading::<SessionsArgs, mcp::SessionList>(
            verb,
            "List sessions and what each one is doing. Not for polling: use since",
        ),
        Verb::Why => reading::<WhyArgs, status::StatusReport>(
            verb,
            "Explain the state of a session with all evidence",
        ),
        Verb::JobResult => {
            reading::<JobResultArgs, mcp::JobAnswer>(verb, "State and result of a job")
        }
        Verb::Since => reading::<SinceArgs, mcp::Changes>(
            verb,
            "What changed after a cursor: sessions that wait, finished, failed or are limited, ended jobs, questions. Waits for it",
        ),
        Verb::Capture => reading::<CaptureArgs, mcp::Screen>(
            verb,
            "Last lines of a session's screen. Only if since and why do not tell enough",
        ),
        Verb::Spawn => {
            acting::<SpawnArgs, mcp::Spawned>(verb, "Start an agent in its own tmux session", false)
        }
        Verb::Send => acting::<SendArgs, mcp::Sent>(
            verb,
            "Send a message to an agent; never into a dialog or beside a draft",
            false,
        ),
        Verb::JobSubmit => acting::<JobSubmitArgs, mcp::JobAnswer>(
            verb,
            "Give an agent a task whose end is tracked; returns at once",
            true,
        ),
        Verb::AskPerson => acting::<AskPersonArgs, mcp::Asked>(
            verb,
            "Ask the person in charge; the answer comes by since",
            true,
        ),
        Verb::Answer => {
            let described = acting::<AnswerArgs, message::Answered>(
                verb,
                "Answer an agent's open dialog, if it is still the one with this mark",
                false,
            );
            let hints = ToolAnnotations::new().read_only(false).destructive(true);
            described.with_annotations(hints.idempotent(false).open_world(false))
        }
    }
}

fn reading<A: JsonSchema + 'static, R: JsonSchema + 'static>(
    verb: Verb,
    about: &'static str,
) -> Tool {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    described::<A, R>(verb, about).with_annotations(hints)
}

fn acting<A: JsonSchema + 'static, R: JsonSchema + 'static>(
    verb: Verb,
    about: &'static str,
    is_idempotent: bool,
) -> Tool {
    let hints = ToolAnnotations::new().read_only(false).destructive(false);
    let hints = hints.idempotent(is_idempotent).open_world(false);
    described::<A, R>(verb, about).with_annotations(hints)
}

fn described<A: JsonSchema + 'static, R: JsonSchema + 'static>(
    verb: Verb,
    about: &'static str,
) -> Tool {
    let input = Tool::new(verb.as_str(), about, JsonObject::new()).with_input_schema::<A>();
    // Of what is written: a field that may be left out is not required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let output = settings.into_generator().into_root_schema_for::<R>().to_value();
    let Value::Object(output) = short(output) else { return input };
    let input_schema = short_input(&input.input_schema);
    let mut tool = input.with_raw_output_schema(output.into());
    tool.input_schema = input_schema.into();
    tool
}

/// Without the descriptions: `dogwatch schema` has them, and some clients hand all of it to the model.
fn short(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let is_text = |name: &str, value: &Value| {
                let is_width = name == "format" && *value != "date-time";
                is_width || matches!(name, "description" | "title" | "$schema") && value.is_string()
            };
            let fields = fields.into_iter().filter(|(name, value)| !is_text(name, value));
            Value::Object(fields.map(|(name, value)| (name, short(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(short).collect()),
        other => other,
    }
}

/// Without what says nothing to a model.
fn short_input(schema: &JsonObject) -> JsonObject {
    let mut schema = schema.clone();
    for word in ["$schema", "title", "description"] {
        schema.remove(word);
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.remove("format");
            // `["string", "null"]`: what may be left out need not be null.
            if let Some(Value::Array(types)) = field.get_mut("type")
                && let [one, _] = types.as_slice()
            {
                field["type"] = one.clone();
            }
            if field.get("default").is_some_and(|value| value.is_null() || *value == false) {
                field.remove("default");
            }
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tools_with_schemas_and_hints() {
        let tools = Verb::ALL.map(describe);
        for (verb, tool) in Verb::ALL.iter().zip(&tools) {
            assert_eq!(Verb::from_name(&tool.name), Some(*verb));
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
            let output = tool.output_schema.as_ref().unwrap();
            assert_eq!(output["type"], "object", "{}", tool.name);
            let required = output["required"].as_array().unwrap();
            for optional in ["left_out", "more", "missed", "repeated", "notes"] {
                assert!(!required.iter().any(|name| name == optional), "{}: {optional}", tool.name);
            }
            assert!(tool.annotations.as_ref().unwrap().read_only_hint.is_some());
        }
        // Of what a model gets to read: name, description and input. Measured: 3.8 characters are a token (docs/mcp.md).
        let read: usize = tools
            .iter()
            .map(|tool| {
                let input = serde_json::to_string(&tool.input_schema).unwrap();
                tool.name.len() + tool.description.as_ref().unwrap().len() + input.len()
            })
            .sum();
        assert!(read < 6_000, "{read} characters");
    }
}
