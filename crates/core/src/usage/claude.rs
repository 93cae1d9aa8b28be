//! Claude Code: a line for each content block of an answer, all with the answer's id and the tokens so far. Subagents write files of
//! their own (up to 2.0: lines of the same file). A fork copies the lines, with the ids of answers as they were.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Answer, Batch, State, Tokens, key, lines_with, second};

/// Also in what a tool returned; such lines are no answers.
const MARK: &[u8] = b"\"usage\"";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
}

#[derive(Deserialize)]
struct Usage<'a> {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<Written>,
    #[serde(borrow)]
    speed: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Written {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

pub(super) fn read(text: &[u8], state: &mut State, batch: &mut Batch) {
    for line in lines_with(text, MARK) {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        add(&line, state, batch);
    }
}

fn add(line: &Line<'_>, state: &mut State, batch: &mut Batch) -> Option<()> {
    let message = line.message.as_ref()?;
    let usage = message.usage.as_ref()?;
    let id = message.id.as_deref()?;
    let model = message.model.as_deref().filter(|model| *model != "<synthetic>")?;
    let second = second(line.timestamp.as_deref()?)?;
    if let Some(id) = line.session_id.as_deref().filter(|id| state.conversation != *id) {
        id.clone_into(&mut state.conversation);
    }
    if state.cwd.is_empty() {
        line.cwd.as_deref().unwrap_or_default().clone_into(&mut state.cwd);
    }
    let in_an_hour = usage.cache_creation.as_ref().and_then(|c| c.ephemeral_1h_input_tokens);
    let in_minutes = usage.cache_creation.as_ref().and_then(|c| c.ephemeral_5m_input_tokens);
    let (in_an_hour, in_minutes) = (in_an_hour.unwrap_or(0), in_minutes.unwrap_or(0));
    let written = usage.cache_creation_input_tokens.unwrap_or(0);
    let tokens = Tokens {
        input: usage.input_tokens.unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0),
        cache_read: usage.cache_read_input_tokens.unwrap_or(0),
        cache_write: written.max(in_an_hour.saturating_add(in_minutes)),
        cache_write_1h: in_an_hour,
    };
    let fast;
    let model = if usage.speed.as_deref() == Some("fast") {
        fast = format!("{model} (fast)");
        &fast
    } else {
        model
    };
    // 2.1.2xx and later name no request for an API key of another provider.
    let request = line.request_id.as_deref().unwrap_or_default();
    batch.add(Answer {
        key: key(&[b"claude", id.as_bytes(), request.as_bytes()]),
        second,
        model,
        conversation: &state.conversation,
        cwd: line.cwd.as_deref().unwrap_or(&state.cwd),
        is_subagent: line.is_sidechain,
        tokens,
        prompt: None,
    });
    Some(())
}
