//! `orchestrator-helper agents-build`, `agents-resolve`, `retro-agent`: who does which task of which story.

use std::path::Path;

use crate::decide::agents_plan::{self, Head, NoChoice};
use dogwatch_bmad::format::agent_config::{self, Choice};
use dogwatch_bmad::format::front_matter;
use dogwatch_bmad::provider;
use dogwatch_bmad::write_text;
use serde_json::{Map, Value, json};

use super::{Call, Reply, no, trouble};
use crate::project;
use crate::reply::pretty;

fn given<'a>(call: &Call<'a>, option: &str) -> Option<&'a str> {
    call.option(option).filter(|value| !value.is_empty())
}

pub(super) fn build(call: &Call) -> Reply {
    let options = ["--state-file", "--complexity-file", "--output", "--config-json"];
    let [Some(state_file), Some(complexity_file), Some(output), Some(config)] =
        options.map(|option| given(call, option))
    else {
        return no("missing_args");
    };
    let read = |path: &str| project::text_of(Path::new(path));
    let (Some(state), Some(complexity)) = (read(state_file), read(complexity_file)) else {
        return no("file_not_found");
    };
    let invalid = |detail: String| {
        let reply = json!({"ok": false, "error": "complexity_file_invalid", "detail": detail});
        Reply::json(&reply).failed()
    };
    let complexity = match object(&complexity) {
        Ok(complexity) => complexity,
        Err(fault) => return invalid(format!("{complexity_file}: {fault}")),
    };
    let config = match object(config) {
        Ok(config) => config,
        Err(fault) => return invalid(format!("--config-json: {fault}")),
    };
    let front = front_matter::split(&state).0.unwrap_or_default();
    let text = |key: &str| front_matter::text(front, key).unwrap_or_default();
    let head = Head {
        state_file,
        epic: &text("epic"),
        epic_name: &text("epicName"),
        created_at: &super::now(),
        provider: provider(&project::here()),
    };
    let plan = agents_plan::build(head, &complexity, &config, pretty);
    if let Err(error) = write_text(&call.project(), Path::new(output), &plan.markdown) {
        return trouble(call, &error);
    }
    let mut reply = Map::new();
    reply.insert("ok".into(), json!(true));
    reply.insert("path".into(), json!(output));
    reply.insert("stories".into(), json!(plan.stories));
    if plan.skipped > 0 {
        reply.insert("skipped".into(), json!(plan.skipped));
    }
    Reply::json(&reply)
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err("not an object".to_owned()) }
}

pub(super) fn resolve(call: &Call) -> Reply {
    let plan_file = given(call, "--agents-file");
    let state_file = given(call, "--state-file");
    let (Some(story), Some(task)) = (given(call, "--story"), given(call, "--task")) else {
        return no("missing_args");
    };
    let plan_file = match (plan_file, state_file) {
        (Some(file), _) => Some(file.to_owned()),
        (None, None) => return no("missing_args"),
        (None, Some(state)) => project::text_of(Path::new(state))
            .and_then(|state| front_matter::text(front_matter::split(&state).0?, "agentsFile")),
    };
    let plan = plan_file
        .filter(|file| !file.is_empty())
        .and_then(|file| project::text_of(Path::new(&file)));
    let Some(plan) = plan else { return no("agents_file_not_found") };
    match agents_plan::find(&plan, story, task, provider(&project::here())) {
        Err(NoChoice::NoStory) => no("story_not_found"),
        Err(NoChoice::NoTask) => no("task_not_found"),
        Err(NoChoice::Invalid(detail)) => Reply::json(&json!({
            "ok": false, "story": story, "task": task, "error": "agents_file_invalid", "detail": detail,
        }))
        .failed(),
        Ok((choice, level)) => {
            let mut reply = Map::new();
            reply.insert("ok".into(), json!(true));
            reply.insert("story".into(), json!(story));
            reply.insert("task".into(), json!(task));
            add(&mut reply, &choice);
            reply.insert("complexity".into(), json!(level));
            Reply::json(&reply)
        }
    }
}

/// No fallback is the text `false`, as it always was; a model is told if there is one.
fn add(reply: &mut Map<String, Value>, choice: &Choice) {
    reply.insert("primary".into(), json!(choice.primary));
    reply.insert("fallback".into(), json!(choice.fallback.as_deref().unwrap_or("false")));
    if let Some(model) = &choice.model {
        reply.insert("model".into(), json!(model));
    }
}

pub(super) fn retro(call: &Call) -> Reply {
    let Some(state_file) = given(call, "--state-file") else { return no("missing_args") };
    let Some(state) = project::text_of(Path::new(state_file)) else {
        return no("file_not_found");
    };
    let front = front_matter::split(&state).0.unwrap_or_default();
    let config = match front_matter::tree(front, "agentConfig") {
        None => json!({}),
        Some(Ok(config)) => config,
        Some(Err(detail)) => {
            let reply = json!({"ok": false, "error": "agent_config_invalid", "detail": detail});
            return Reply::json(&reply).failed();
        }
    };
    let choice = agent_config::choose(&config, "retro", "medium", provider(&project::here()));
    let mut reply = Map::new();
    reply.insert("ok".into(), json!(true));
    reply.insert("task".into(), json!("retro"));
    add(&mut reply, &choice);
    Reply::json(&reply)
}
