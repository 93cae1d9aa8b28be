//! Codex: from 0.15x on a `token_usage_record` for each answer, with its id. Before, only `token_count` events with the totals of the
//! thread, which are repeated when nothing has changed; differences count. The file of a forked thread repeats the events of the
//! first one, with the times of the fork but the turns as they were.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Answer, Batch, State, Tokens, key, second};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Payload<'a>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    // session_meta
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    source: Option<Source>,
    // turn_context, task_started
    #[serde(borrow)]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    // token_count
    info: Option<Info>,
    // token_usage_record
    #[serde(borrow)]
    response_id: Option<Cow<'a, str>>,
    usage: Option<Usage>,
    thread_token_usage: Option<Usage>,
}

/// Where a thread came from: a word, or an object for subagents.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Subagent { subagent: Subagent },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Subagent {
    Spawned { thread_spawn: Spawn },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Spawn {
    parent_thread_id: Option<String>,
}

#[derive(Deserialize)]
struct Info {
    total_token_usage: Option<Usage>,
    last_token_usage: Option<Usage>,
}

#[derive(Deserialize, Clone, Copy)]
struct Usage {
    /// With those of the cache.
    #[serde(default, rename = "input_tokens")]
    input: u64,
    #[serde(default, rename = "cached_input_tokens")]
    read: u64,
    #[serde(default, rename = "cache_write_input_tokens")]
    written: u64,
    /// With those of reasoning.
    #[serde(default, rename = "output_tokens")]
    output: u64,
}

impl Usage {
    fn tokens(self) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(self.read.saturating_add(self.written)),
            output: self.output,
            cache_read: self.read,
            cache_write: self.written,
            cache_write_1h: 0,
        }
    }
}

pub(super) fn read(text: &[u8], state: &mut State, batch: &mut Batch) {
    for line in text.split(|byte| *byte == b'\n') {
        // What kind of line it is stands near its beginning, and most are long.
        let head = &line[..line.len().min(160)];
        let is_wanted = |word: &[u8]| memchr::memmem::find(head, word).is_some();
        let is_wanted = is_wanted(b"\"token_")
            || is_wanted(b"\"turn_context\"")
            || is_wanted(b"\"session_meta\"")
            || is_wanted(b"\"task_started\"");
        if !is_wanted {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { continue };
        take(&line, state, batch);
    }
}

fn take(line: &Line<'_>, state: &mut State, batch: &mut Batch) -> Option<()> {
    let payload = &line.payload;
    match (&*line.kind, payload.kind.as_deref()) {
        // A fork repeats those of its origin after its own.
        ("session_meta", _) if state.conversation.is_empty() => begin(payload, state),
        ("turn_context", _) | ("event_msg", Some("task_started")) => {
            if let Some(model) = payload.model.as_deref() {
                model.clone_into(&mut state.model);
            }
            if let Some(turn) = payload.turn_id.as_deref() {
                turn.clone_into(&mut state.turn);
            }
        }
        ("token_usage_record", _) => {
            let (usage, id) = (payload.usage?.tokens(), payload.response_id.as_deref()?);
            let key = key(&[b"codex", id.as_bytes()]);
            if let Some(total) = payload.thread_token_usage {
                state.total = Some(total.tokens());
            }
            add(line, key, usage, usage.prompt(), state, batch)?;
        }
        ("event_msg", Some("token_count")) => {
            let info = payload.info.as_ref()?;
            let total = info.total_token_usage?.tokens();
            let last = info.last_token_usage.map(Usage::tokens);
            let before = state.total.replace(total);
            if before == Some(total) {
                return None;
            }
            let usage = match (before.and_then(|before| total.without(before)), last) {
                (Some(added), _) => added,
                // The first of its file, or it began to count anew.
                (None, Some(last)) => last,
                (None, None) => total,
            };
            let turn = if state.turn.is_empty() { &state.conversation } else { &state.turn };
            let numbers = [total, last.unwrap_or_default()].map(Tokens::numbers);
            let numbers: Vec<u8> = numbers.iter().flatten().flat_map(|n| n.to_le_bytes()).collect();
            let key = key(&[b"codex-total", turn.as_bytes(), &numbers]);
            add(line, key, usage, last.unwrap_or(usage).prompt(), state, batch)?;
        }
        _ => {}
    }
    Some(())
}

fn begin(meta: &Payload<'_>, state: &mut State) {
    let spawned = match &meta.source {
        Some(Source::Subagent { subagent }) => {
            state.is_subagent = true;
            match subagent {
                Subagent::Spawned { thread_spawn } => thread_spawn.parent_thread_id.as_deref(),
                Subagent::Other(_) => None,
            }
        }
        _ => None,
    };
    // The conversation of a subagent is the one that it works for.
    let own = || meta.id.as_deref();
    let conversation = if state.is_subagent {
        meta.session_id.as_deref().filter(|id| Some(*id) != own()).or(spawned).or_else(own)
    } else {
        own()
    };
    conversation.unwrap_or_default().clone_into(&mut state.conversation);
    meta.cwd.as_deref().unwrap_or_default().clone_into(&mut state.cwd);
}

fn add(
    line: &Line<'_>,
    key: i64,
    tokens: Tokens,
    prompt: u64,
    state: &State,
    batch: &mut Batch,
) -> Option<()> {
    batch.add(Answer {
        key,
        second: second(line.timestamp.as_deref()?)?,
        // Before 0.2x no line says which.
        model: if state.model.is_empty() { "unknown" } else { &state.model },
        conversation: &state.conversation,
        cwd: &state.cwd,
        is_subagent: state.is_subagent,
        tokens,
        prompt: Some(prompt),
    });
    Some(())
}
