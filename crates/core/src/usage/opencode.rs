//! opencode: messages in a database, before 1.2 a file each. Its own counts have what was read from the cache apart from the input.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Answer, Batch, State, Tokens, key};

/// A row of its database.
#[derive(Debug, Clone, Copy)]
pub struct OpencodeMessage<'a> {
    pub id: &'a str,
    /// Its session, or the one that its session works for.
    pub conversation: &'a str,
    pub is_subagent: bool,
    pub cwd: &'a str,
    /// JSON.
    pub data: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionID")]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "modelID")]
    model_id: Option<Cow<'a, str>>,
    time: Option<Times>,
    tokens: Option<Counts>,
    #[serde(borrow)]
    path: Option<Folders<'a>>,
}

#[derive(Deserialize)]
struct Folders<'a> {
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Times {
    /// Milliseconds.
    created: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Counts {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: Cached,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cached {
    read: u64,
    write: u64,
}

pub(super) fn read(text: &[u8], state: &mut State, batch: &mut Batch) {
    let Ok(data) = serde_json::from_slice::<Data<'_>>(text) else { return };
    data.session_id.as_deref().unwrap_or_default().clone_into(&mut state.conversation);
    if let Some(id) = data.id.as_deref() {
        take(&data, id, &state.conversation, "", false, batch);
    }
}

pub(super) fn add(message: &OpencodeMessage<'_>, batch: &mut Batch) {
    let Ok(data) = serde_json::from_str::<Data<'_>>(message.data) else { return };
    let OpencodeMessage { id, conversation, is_subagent, cwd, .. } = *message;
    take(&data, id, conversation, cwd, is_subagent, batch);
}

fn take(
    data: &Data<'_>,
    id: &str,
    conversation: &str,
    cwd: &str,
    is_subagent: bool,
    batch: &mut Batch,
) -> Option<()> {
    let counts = data.tokens.as_ref().filter(|_| data.role.as_deref() == Some("assistant"))?;
    let its_cwd = data.path.as_ref().and_then(|path| path.cwd.as_deref());
    batch.add(Answer {
        key: key(&[b"opencode", id.as_bytes()]),
        second: data.time.as_ref()?.created?.div_euclid(1000),
        model: data.model_id.as_deref().unwrap_or("unknown"),
        conversation,
        cwd: if cwd.is_empty() { its_cwd.unwrap_or_default() } else { cwd },
        is_subagent,
        tokens: Tokens {
            input: counts.input,
            output: counts.output.saturating_add(counts.reasoning),
            cache_read: counts.cache.read,
            cache_write: counts.cache.write,
            cache_write_1h: 0,
        },
        prompt: None,
    });
    Some(())
}
