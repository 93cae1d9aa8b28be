//! Gemini CLI: a line for each message, written again when it is complete, and all of them again when they are replaced. Up to 0.39 one
//! JSON document.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Answer, Batch, State, Tokens, key, lines_with, second};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "$set")]
    set: Option<Set<'a>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    tokens: Option<Counts>,
}

#[derive(Deserialize)]
struct Set<'a> {
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    tokens: Option<Counts>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Counts {
    /// With those from the cache.
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
    /// What tools of the service added to the prompt.
    tool: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

pub(super) fn read(text: &[u8], state: &mut State, batch: &mut Batch) {
    if state.conversation.is_empty() {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Ok(line) = serde_json::from_slice::<Line<'_>>(first) {
            line.session_id.as_deref().unwrap_or_default().clone_into(&mut state.conversation);
            state.is_subagent = line.kind.as_deref() == Some("subagent");
        }
    }
    for line in lines_with(text, b"\"tokens\"") {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        let Line { id, timestamp, model, tokens, set, .. } = line;
        let own = Message { id, timestamp, model, tokens };
        for message in set.iter().flat_map(|set| &set.messages).chain([&own]) {
            add(message, state, batch);
        }
    }
}

pub(super) fn read_document(text: &[u8], state: &mut State, batch: &mut Batch) {
    let Ok(document) = serde_json::from_slice::<Document<'_>>(text) else { return };
    document.session_id.as_deref().unwrap_or_default().clone_into(&mut state.conversation);
    for message in &document.messages {
        add(message, state, batch);
    }
}

fn add(message: &Message<'_>, state: &State, batch: &mut Batch) -> Option<()> {
    let (id, counts) = (message.id.as_deref()?, message.tokens.as_ref()?);
    let tokens = Tokens {
        input: counts.input.saturating_sub(counts.cached).saturating_add(counts.tool),
        output: counts.output.saturating_add(counts.thoughts),
        cache_read: counts.cached,
        ..Tokens::default()
    };
    batch.add(Answer {
        key: key(&[b"gemini", id.as_bytes()]),
        second: second(message.timestamp.as_deref()?)?,
        model: message.model.as_deref().unwrap_or("unknown"),
        conversation: &state.conversation,
        cwd: &state.cwd,
        is_subagent: state.is_subagent,
        tokens,
        prompt: None,
    });
    Some(())
}
