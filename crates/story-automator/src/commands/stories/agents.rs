//! `orchestrator-helper agents-build`, `agents-resolve`, `retro-agent`: the agents of all tasks of stories.

use std::path::Path;

use crate::decide::agents_plan::{self, Head, NoChoice};
use dogwatch_bmad::format::agent_config::{self, Choice};
use dogwatch_bmad::format::front_matter;
use dogwatch_bmad::provider;
use dogwatch_bmad::write_text;
use serde_json::{Map, Value};

use super::{Call, Reply, no, trouble};
use crate::answers::{
    AgentResolved, AgentsBuilt, AgentsFileInvalid, Detail, RetroAgent, TaskAgent, failure, success,
};
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
        Reply::json(&failure("complexity_file_invalid", Detail { detail })).failed()
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
    let skipped = Some(plan.skipped).filter(|skipped| *skipped > 0);
    Reply::json(&success(AgentsBuilt { path: output, stories: plan.stories, skipped }))
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
        Err(NoChoice::Invalid(detail)) => Reply::json(&AgentsFileInvalid {
            ok: false,
            story,
            task,
            error: "agents_file_invalid",
            detail,
        })
        .failed(),
        Ok((choice, level)) => {
            let agent = agent(&choice);
            Reply::json(&success(AgentResolved { story, task, agent, complexity: level }))
        }
    }
}

fn agent(choice: &Choice) -> TaskAgent<'_> {
    TaskAgent {
        primary: &choice.primary,
        fallback: choice.fallback.as_deref().unwrap_or("false"),
        model: choice.model.as_deref(),
    }
}

pub(super) fn retro(call: &Call) -> Reply {
    let Some(state_file) = given(call, "--state-file") else { return no("missing_args") };
    let Some(state) = project::text_of(Path::new(state_file)) else {
        return no("file_not_found");
    };
    let front = front_matter::split(&state).0.unwrap_or_default();
    let config = match front_matter::tree(front, "agentConfig") {
        None => Value::Object(Map::new()),
        Some(Ok(config)) => config,
        Some(Err(detail)) => {
            return Reply::json(&failure("agent_config_invalid", Detail { detail })).failed();
        }
    };
    let choice = agent_config::choose(&config, "retro", "medium", provider(&project::here()));
    Reply::json(&success(RetroAgent { task: "retro", agent: agent(&choice) }))
}
